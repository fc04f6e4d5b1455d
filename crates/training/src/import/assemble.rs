//! Builds a job from the recordings of single ranks.

use super::clocks::{self, Clocks};
use super::matching::Matched;
use super::recorded::Recorded;
use super::steps::Assembly;
use super::{ImportError, one_job, rows, words};
use crate::files::are_copies;
use crate::locations::Places;
use crate::{Job, KindInfo, Worker, derive};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::RangeInclusive;

/// More kinds than this do not fit into [`Op::kind`]. Then all kinds of a class become one.
const KINDS: usize = 60_000;
/// Ranks from this one on all count as data-parallel rank 0: tables of all data-parallel ranks would be huge.
const MOST_DP_RANKS: u32 = 1 << 16;
/// A recording ends early if it stops at least this many steps before the others.
const EARLY: usize = 2;

pub fn job(mut workers: Vec<Recorded>) -> Result<Job, ImportError> {
    let unranked = name_ranks(&mut workers);
    check_one_job(&workers)?;
    workers.sort_by_key(|worker| worker.rank);
    for worker in workers.iter_mut().filter(|worker| !worker.is_placed) {
        worker.dp_rank = worker.rank.filter(|&rank| rank < MOST_DP_RANKS).unwrap_or(0);
    }
    let mut notes = unranked;
    one_job::without_strangers(&mut workers, &mut notes)?;
    one_job::same_steps(&mut workers, &mut notes);
    let missing = missing_ranks(&workers);
    let matched = Matched::new(&workers);
    let clocks = clocks::align(&workers, &matched);
    let steps = common_steps(&workers, &mut notes);
    let table = rows::rows(&workers, &steps, &clocks.shift_ps, &mut notes);
    let with_bytes = |mut job: Job| {
        job.kinds.iter_mut().zip(rows::bytes(&workers)).for_each(|(kind, bytes)| kind.bytes = bytes);
        job
    };
    let derived = table.map(|rows| derive::job_of(rows, "", size(&workers)).map(with_bytes));
    let mut job = match derived {
        // If each worker is one rank, the job's notes already name the missing ones.
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
            let apart = clocks.steps_apart(&steps);
            let left_out = apart.as_ref().map(|kept| without(&steps, kept));
            notes.extend(clocks.jumps_note(&workers, left_out.as_deref()));
            of_kernels(&workers, &steps, &matched, &clocks, apart)
        }
    };
    let hosts: BTreeMap<u32, &String> =
        workers.iter().filter_map(|worker| Some((worker.rank?, worker.host.as_ref()?))).collect();
    for worker in &mut job.workers {
        worker.host = hosts.get(&worker.rank).map(|host| host.to_string());
    }
    let gpus = workers.iter().filter_map(|worker| Some((worker.rank?, worker.gpu?.to_string())));
    job.places.push(Places { what: "GPU".into(), of_rank: gpus.collect() });
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
    job.remarks.extend(queued(&workers));
    job.notes.extend(about_files(&workers));
    Ok(job)
}

/// A sentence about kernels that were in the queues of GPUs when their recording began.
fn queued(workers: &[Recorded]) -> Option<String> {
    let counts: Vec<usize> = workers.iter().map(|worker| worker.queued).filter(|&count| count > 0).collect();
    let (least, most) = (counts.iter().min()?, counts.iter().max()?);
    let kernels = match least == most {
        true => format!("{most} {}", words::plural(*most, "kernel", "kernels")),
        false => format!("{least} to {most} kernels"),
    };
    let whose = match (workers.len(), counts.len()) {
        (1, _) => String::new(),
        (_, 1) => " on one rank".into(),
        (_, ranks) => format!(" on each of {ranks} ranks"),
    };
    Some(format!(
        "Left out: {kernels}{whose} launched before the recording began, which {} to no step.",
        words::plural(*most, "belongs", "belong")
    ))
}

/// The numbers of data-parallel ranks and stages, as far as the files know them.
fn size(workers: &[Recorded]) -> (u32, u32) {
    workers.iter().fold((0, 0), |(dp, pp), worker| (dp.max(worker.size.0), pp.max(worker.size.1)))
}

/// Notes of all files about the whole job, without duplicates.
fn said_once(workers: &[Recorded], of: impl Fn(&Recorded) -> &Vec<String>) -> BTreeSet<String> {
    workers.iter().flat_map(|worker| of(worker).clone()).collect()
}

/// A job of single kernels, with all workers in one graph.
///
/// If clocks jump, `apart` has the remaining steps. The parts before and after a jump are aligned separately.
fn of_kernels(
    workers: &[Recorded],
    steps: &[i64],
    matched: &Matched,
    clocks: &Clocks,
    apart: Option<Vec<i64>>,
) -> Job {
    let workers_of = workers.iter().map(worker).collect();
    let mut job = Job { workers: workers_of, of_kernels: true, ..Job::default() };
    if workers.iter().any(|worker| worker.host_facts.is_some()) {
        job.hosts = workers.iter().map(|worker| worker.host_facts.clone().unwrap_or_default()).collect();
    }
    let kinds = kinds(workers, &mut job);
    match apart {
        Some(steps) => {
            let shift = |worker: usize, step: i64| clocks.shift_in(worker, step);
            Assembly::new(workers, kinds, matched, &shift).add_steps(&steps, &mut job);
        }
        None => {
            let shift = |worker: usize, _: i64| clocks.shift_ps[worker];
            Assembly::new(workers, kinds, matched, &shift).add_steps(steps, &mut job);
        }
    }
    job
}

/// The steps that are not in `kept`.
fn without(steps: &[i64], kept: &[i64]) -> Vec<i64> {
    steps.iter().copied().filter(|step| kept.binary_search(step).is_err()).collect()
}

/// Numbers the files whose rank is unknown. Returns notes about ranks that the files do not contain.
fn name_ranks(workers: &mut [Recorded]) -> Vec<String> {
    let mut notes = Vec::new();
    let named = workers.iter().filter(|worker| worker.rank_from_name && worker.rank.is_some());
    let named: Vec<String> = named.map(Recorded::name).collect();
    if !named.is_empty() {
        notes.push(format!(
            "{} {}.",
            words::list(&named),
            words::plural(
                named.len(),
                "does not contain its rank: it was taken from the file name",
                "do not contain their ranks: they were taken from the file names"
            )
        ));
    }
    let unnamed: Vec<usize> = (0..workers.len()).filter(|&worker| workers[worker].rank.is_none()).collect();
    if unnamed.is_empty() {
        return notes;
    }
    let taken: HashSet<u32> = workers.iter().filter_map(|worker| worker.rank).collect();
    let free = (0..).filter(|rank| !taken.contains(rank));
    unnamed.iter().zip(free).for_each(|(&worker, rank)| workers[worker].rank = Some(rank));
    let names: Vec<String> = unnamed.iter().map(|&worker| workers[worker].name()).collect();
    let ranks: Vec<u32> = unnamed.iter().filter_map(|&worker| workers[worker].rank).collect();
    notes.push(format!(
        "Neither the contents nor the name gives the rank of {}: numbered {}.",
        words::list(&names),
        words::named("rank", &ranks)
    ));
    notes
}

fn check_one_job(workers: &[Recorded]) -> Result<(), ImportError> {
    let two = |first: &Recorded, second: &Recorded, why: String| {
        let (first, second) = (first.path.clone(), second.path.clone());
        match are_copies(&first, &second) {
            true => Err(ImportError::Copied { copy: second, of: first }),
            false => Err(ImportError::TwoJobs { first, second, why }),
        }
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
            "The job has {world} ranks, of which {} {} recorded: {} {} missing. What {} did is unknown: if a collective \
             waits for {}, only its long duration shows it.",
            given.len(),
            words::plural(given.len(), "was", "were"),
            words::named("rank", &missing),
            words::plural(missing.len(), "is", "are"),
            words::plural(missing.len(), "it", "these"),
            words::plural(missing.len(), "it", "them")
        )
    })
}

/// The steps that all workers have, except workers whose recording ends early or begins late. Adds notes about the other steps.
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
        .map(|((step, why), ranks)| format!("step {step} ({why} on {})", words::named("rank", ranks)))
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
        notes.push(format!(
            "Left out, because not all ranks recorded them: {}.",
            words::named("step", &partial)
        ));
    }
    whole
}

/// The range of steps in which a worker should be recorded: all, unless it ends at least [`EARLY`] steps before the others, or
/// begins as much later.
fn span(worker: &Recorded, all: &[i64]) -> RangeInclusive<i64> {
    let place = |step: Option<&i64>| step.map_or(0, |step| all.partition_point(|of| of < step));
    let (first, last) = (place(worker.steps.first()), place(worker.steps.last()));
    let begin = if first < EARLY { i64::MIN } else { all[first] };
    let end = if last + EARLY >= all.len() { i64::MAX } else { all[last] };
    begin..=end
}

/// A sentence about workers that lack some of the analysed steps.
fn in_part(workers: &[Recorded], steps: &[i64]) -> Option<String> {
    let lacks = |worker: &&Recorded| steps.iter().any(|step| worker.steps.binary_search(step).is_err());
    let ranks: Vec<u32> = workers.iter().filter(lacks).filter_map(|worker| worker.rank).collect();
    (!ranks.is_empty()).then(|| {
        format!(
            "Recorded in only some of the steps: {}. In the other steps, delays caused by such a rank show up as waiting time \
             of the others.",
            words::named("rank", &ranks)
        )
    })
}

/// The number of steps in any file, complete or not.
fn steps_in_all(workers: &[Recorded]) -> usize {
    let left_out = |worker: &'_ Recorded| worker.left_out.iter().map(|(step, _)| *step).collect::<Vec<i64>>();
    let all = workers.iter().flat_map(|worker| worker.steps.iter().copied().chain(left_out(worker)));
    all.collect::<BTreeSet<i64>>().len()
}

/// By worker: the index in the job of each of its kinds.
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
            (kind.name, kind.bytes) = (kind.class.clone(), None);
        }
        *places.entry(kind).or_insert_with_key(|kind| {
            job.kinds.push(kind.clone());
            (job.kinds.len() - 1).min(usize::from(u16::MAX)) as u16
        })
    };
    workers.iter().map(|worker| worker.kinds.iter().map(&mut place).collect()).collect()
}

/// The first few notes about single files, each with the name of the first file that it applies to.
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
