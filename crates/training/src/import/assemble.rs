//! From the recordings of single ranks to a job of all of them.

use super::clocks::{self, Clocks};
use super::matching::Matched;
use super::recorded::Recorded;
use super::steps::Assembly;
use super::{ImportError, rows, source, words};
use crate::{Job, KindInfo, Worker, derive};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::RangeInclusive;

/// More kinds than this do not fit into [`Op::kind`]; then those of a class are taken for one.
const KINDS: usize = 60_000;
/// A recording that stops so many steps before the others has not stopped with them.
const EARLY: usize = 2;

pub fn job(mut workers: Vec<Recorded>) -> Result<Job, ImportError> {
    let unranked = name_ranks(&mut workers);
    check_one_job(&workers)?;
    workers.sort_by_key(|worker| worker.rank);
    let mut notes: Vec<String> = unranked.into_iter().collect();
    let missing = missing_ranks(&workers);
    let matched = Matched::new(&workers);
    let clocks = clocks::align(&workers, &matched);
    let steps = common_steps(&workers, &mut notes);
    let table = rows::rows(&workers, &steps, &clocks.shift_ps, &mut notes);
    let mut job = match table.map(|rows| derive::job_of(rows, "", size(&workers))) {
        // Where a worker is a rank, this has named the missing ones.
        Some(Ok(job)) if workers[0].world == u32::try_from(job.workers.len()).ok() => job,
        Some(Ok(job)) => {
            notes.extend(missing.clone());
            job
        }
        other => {
            notes.extend(
                other.and_then(Result::err).map(|error| format!("Kernels are analysed one by one: {error}.")),
            );
            notes.extend(missing.clone());
            notes.extend(in_part(&workers, &steps));
            of_kernels(&workers, &steps, &matched, &clocks)
        }
    };
    job.steps_left_out = steps_in_all(&workers).saturating_sub(job.steps.len());
    job.synthetic = workers.iter().any(|worker| worker.synthetic);
    notes.append(&mut job.notes);
    job.notes = notes;
    if job.steps.is_empty() {
        let why = if job.notes.is_empty() { "no step has an operation".into() } else { job.notes.join(" ") };
        return Err(ImportError::NoSteps { why });
    }
    job.notes.extend(matched.notes(&steps, missing.is_none()));
    job.notes.extend(clocks.notes);
    job.remarks.extend(clocks.remark);
    job.notes.extend(said_once(&workers, |worker| &worker.common_notes));
    job.remarks.extend(said_once(&workers, |worker| &worker.remarks));
    job.notes.extend(about_files(&workers));
    Ok(job)
}

/// Data-parallel ranks and stages, as the files know them.
fn size(workers: &[Recorded]) -> (u32, u32) {
    workers.iter().fold((0, 0), |(dp, pp), worker| (dp.max(worker.size.0), pp.max(worker.size.1)))
}

/// What files say of the whole job.
fn said_once(workers: &[Recorded], of: impl Fn(&Recorded) -> &Vec<String>) -> BTreeSet<String> {
    workers.iter().flat_map(|worker| of(worker).clone()).collect()
}

/// A graph of single kernels, all workers in one.
fn of_kernels(workers: &[Recorded], steps: &[i64], matched: &Matched, clocks: &Clocks) -> Job {
    let workers_of = workers.iter().map(worker).collect();
    let mut job = Job { workers: workers_of, of_kernels: true, ..Job::default() };
    let kinds = kinds(workers, &mut job);
    Assembly::new(workers, kinds, matched, &clocks.shift_ps).add_steps(steps, &mut job);
    job
}

/// Ranks that no file tells are taken from the names of files, or else from their order.
fn name_ranks(workers: &mut [Recorded]) -> Option<String> {
    if workers.iter().all(|worker| worker.rank.is_some()) {
        return None;
    }
    for worker in workers.iter_mut().filter(|worker| worker.rank.is_none()) {
        worker.rank = source::rank_in_name(&worker.path);
    }
    let unnamed: Vec<usize> = (0..workers.len()).filter(|&worker| workers[worker].rank.is_none()).collect();
    if unnamed.is_empty() {
        return Some("The files do not say their rank: it was taken from their names.".into());
    }
    let taken: HashSet<u32> = workers.iter().filter_map(|worker| worker.rank).collect();
    let free = (0..).filter(|rank| !taken.contains(rank));
    unnamed.iter().zip(free).for_each(|(&worker, rank)| workers[worker].rank = Some(rank));
    let names: Vec<String> = unnamed.iter().map(|&worker| workers[worker].name()).collect();
    let ranks: Vec<u32> = unnamed.iter().filter_map(|&worker| workers[worker].rank).collect();
    Some(format!(
        "Neither content nor name tells the rank of {}: called {}.",
        words::list(&names),
        words::of("rank", &ranks)
    ))
}

fn check_one_job(workers: &[Recorded]) -> Result<(), ImportError> {
    let two = |first: &Recorded, second: &Recorded, why: String| {
        Err(ImportError::TwoJobs { first: first.path.clone(), second: second.path.clone(), why })
    };
    let mut seen: HashMap<u32, &Recorded> = HashMap::new();
    let mut sized: Option<&Recorded> = None;
    for worker in workers {
        if let Some(first) = worker.rank.and_then(|rank| seen.insert(rank, worker)) {
            return two(first, worker, format!("both have rank {}", worker.rank.unwrap_or(0)));
        }
        let Some(world) = worker.world else { continue };
        match sized.and_then(|first| first.world.map(|size| (first, size))) {
            Some((first, size)) if size != world => {
                return two(first, worker, format!("one has {size} ranks, the other {world}"));
            }
            Some(_) => {}
            None => sized = Some(worker),
        }
    }
    Ok(())
}

fn worker(recorded: &Recorded) -> Worker {
    Worker {
        rank: recorded.rank.unwrap_or(0),
        dp_rank: recorded.dp_rank,
        stage: recorded.stage,
        host: recorded.host.clone(),
        recorded: true,
    }
}

fn missing_ranks(workers: &[Recorded]) -> Option<String> {
    let world = workers.iter().find_map(|worker| worker.world)?;
    let given: Vec<u32> = workers.iter().filter_map(|worker| worker.rank).collect();
    let missing: Vec<u32> =
        (0..world.min(1 << 20)).filter(|rank| given.binary_search(rank).is_err()).collect();
    (!missing.is_empty()).then(|| {
        format!(
            "The job has {world} ranks, of which {} {} recorded: {} {} missing. What these did is unknown: if a \
             collective waits for them, only its long duration shows.",
            given.len(),
            words::plural(given.len(), "was", "were"),
            words::of("rank", &missing),
            words::plural(missing.len(), "is", "are")
        )
    })
}

/// Steps that all workers have, but for those whose recording ends early or begins late; and sentences about the others.
fn common_steps(workers: &[Recorded], notes: &mut Vec<String>) -> Vec<i64> {
    let mut having: BTreeMap<i64, usize> = BTreeMap::new();
    workers.iter().flat_map(|worker| &worker.steps).for_each(|&step| *having.entry(step).or_default() += 1);
    let mut reasons: BTreeMap<(i64, &'static str), Vec<u32>> = BTreeMap::new();
    for worker in workers {
        for &(step, why) in &worker.left_out {
            reasons.entry((step, why)).or_default().push(worker.rank.unwrap_or(0));
        }
    }
    let named: Vec<String> = reasons
        .iter()
        .map(|((step, why), ranks)| format!("step {step} ({why} on {})", words::of("rank", ranks)))
        .collect();
    if !named.is_empty() {
        notes.push(format!("Left out: {}.", words::list(&named)));
    }
    let all: Vec<i64> = having.keys().copied().collect();
    let spans: Vec<RangeInclusive<i64>> = workers.iter().map(|worker| span(worker, &all)).collect();
    let is_whole = |step: i64, count: usize| {
        let lacks = |(worker, span): (&Recorded, &RangeInclusive<i64>)| {
            span.contains(&step) && worker.steps.binary_search(&step).is_err()
        };
        2 * count >= workers.len() && !workers.iter().zip(&spans).any(lacks)
    };
    let (mut whole, mut partial) = (Vec::new(), Vec::new());
    for (step, count) in having {
        match is_whole(step, count) {
            _ if reasons.keys().any(|(of, _)| *of == step) => {}
            true => whole.push(step),
            false => partial.push(format!("{step} ({count} of {} ranks)", workers.len())),
        }
    }
    if !partial.is_empty() {
        notes
            .push(format!("Left out, because not all ranks recorded them: {}.", words::of("step", &partial)));
    }
    whole
}

/// The steps in which a worker was recorded: those of all, unless it ends two or more before the others, or begins so much later.
fn span(worker: &Recorded, all: &[i64]) -> RangeInclusive<i64> {
    let place = |step: Option<&i64>| step.map_or(0, |step| all.partition_point(|of| of < step));
    let (first, last) = (place(worker.steps.first()), place(worker.steps.last()));
    let begin = if first < EARLY { i64::MIN } else { all[first] };
    let end = if last + EARLY >= all.len() { i64::MAX } else { all[last] };
    begin..=end
}

/// Names the workers that lack steps which are analysed.
fn in_part(workers: &[Recorded], steps: &[i64]) -> Option<String> {
    let lacks = |worker: &&Recorded| steps.iter().any(|step| worker.steps.binary_search(step).is_err());
    let ranks: Vec<u32> = workers.iter().filter(lacks).filter_map(|worker| worker.rank).collect();
    (!ranks.is_empty()).then(|| {
        format!(
            "Recorded in a part of the steps only: {}. What such a rank did in the other steps shows there as waiting of the \
             others.",
            words::of("rank", &ranks)
        )
    })
}

/// How many steps there are in any file, whole or not.
fn steps_in_all(workers: &[Recorded]) -> usize {
    let left_out = |worker: &'_ Recorded| worker.left_out.iter().map(|(step, _)| *step).collect::<Vec<i64>>();
    let all = workers.iter().flat_map(|worker| worker.steps.iter().copied().chain(left_out(worker)));
    all.collect::<BTreeSet<i64>>().len()
}

/// By worker: what its kinds are in the job.
fn kinds(workers: &[Recorded], job: &mut Job) -> Vec<Vec<u16>> {
    let mut places: HashMap<KindInfo, u16> = HashMap::new();
    let count = workers.iter().map(|worker| worker.kinds.len()).sum::<usize>();
    let distinct: HashSet<&KindInfo> = if count > KINDS {
        workers.iter().flat_map(|worker| &worker.kinds).collect()
    } else {
        Default::default()
    };
    let by_class = distinct.len() > KINDS;
    let mut place = |kind: &KindInfo| {
        let mut kind = kind.clone();
        if by_class || job.kinds.len() >= KINDS {
            kind.name = kind.class.clone();
        }
        *places.entry(kind).or_insert_with_key(|kind| {
            job.kinds.push(kind.clone());
            (job.kinds.len() - 1).min(usize::from(u16::MAX)) as u16
        })
    };
    workers.iter().map(|worker| worker.kinds.iter().map(&mut place).collect()).collect()
}

/// Sentences about single files, with the name of the first file that they are true of; the first few of them.
fn about_files(workers: &[Recorded]) -> Vec<String> {
    const SHOWN: usize = 6;
    let mut files: BTreeMap<&str, Vec<&Recorded>> = BTreeMap::new();
    for worker in workers {
        worker.notes.iter().for_each(|note| files.entry(note).or_default().push(worker));
    }
    let mut notes: Vec<(usize, &str)> = files.iter().map(|(note, files)| (files.len(), *note)).collect();
    notes.sort_by_key(|&(count, note)| (std::cmp::Reverse(count), note));
    let mut sentences: Vec<String> = notes
        .iter()
        .take(SHOWN)
        .map(|&(count, note)| {
            let others = words::plural(count - 1, "other file", "other files");
            let more = if count > 1 { format!(" and {} {others}", count - 1) } else { String::new() };
            let each = if count > 1 { ", in each" } else { "" };
            format!("{}{more}{each}: {note}", files[note][0].name())
        })
        .collect();
    if notes.len() > SHOWN {
        sentences.push(format!("{} more notes about single files are not shown.", notes.len() - SHOWN));
    }
    sentences
}
