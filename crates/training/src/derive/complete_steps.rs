//! Selects the steps that can be analysed: those with all workers that were being recorded, and all their rows.
//!
//! If a recording ends early or begins late, its worker counts as not recorded in the steps it lacks. If it lacks a step in
//! between, that step is left out.

use super::lost::{Lost, lost};
use super::workers::Workers;
use super::{JobError, same_worker};
use crate::words::{listed, plural};
use crate::{Kind, Row};
use std::collections::{BTreeMap, BTreeSet};
use straggler_model::parallel;

/// A recording ends early if it stops at least this many steps before the others.
const EARLY: usize = 2;

/// The steps to analyse, and notes about the others.
pub struct Chosen<'a> {
    pub steps: Vec<&'a [Row]>,
    /// Whether these steps lack rows.
    pub incomplete: bool,
    pub notes: Vec<String>,
}

/// The data-parallel rank and the stage of a worker.
type WorkerAt = (u32, u32);

/// Selects steps from rows sorted by step and worker.
pub fn chosen<'a>(rows: &'a [Row], workers: &Workers) -> Result<Chosen<'a>, JobError> {
    let steps: Vec<&[Row]> = rows.chunk_by(|a, b| a.step == b.step).collect();
    let there: Vec<There> = parallel::map_list(&steps, |of_step| There::new(of_step, workers));
    refuse_two_jobs(&steps, &there, workers)?;
    let spans = spans(&there);
    let mut incomplete: BTreeMap<i64, String> = BTreeMap::new();
    let mut whole = Vec::new();
    for (place, of_step) in steps.iter().enumerate() {
        let expected = |worker: &WorkerAt| spans.get(worker).is_some_and(|span| span.contains(&place));
        let There { ended: there, begun } = &there[place];
        let absent = workers
            .ranks
            .iter()
            .find(|(worker, _)| !there.contains(worker) && (expected(worker) || begun.contains(worker)));
        let few = 2 * there.len() < workers.ranks.len();
        match absent.or(workers.ranks.iter().find(|(worker, _)| few && !there.contains(worker))) {
            Some((worker, rank)) => {
                let what = if begun.contains(worker) { "the end" } else { "everything" };
                incomplete.insert(of_step[0].step, format!("{what} of rank {rank}"));
            }
            None => whole.push(*of_step),
        }
    }
    if whole.is_empty() {
        let (step, lacks) = incomplete.pop_first().ok_or(JobError::Empty)?;
        return Err(JobError::NoWholeStep { workers: workers.ranks.len(), step, lacks });
    }
    let mut notes = shorter(&steps, &spans, workers);
    if let Some((step, lacks)) = incomplete.first_key_value() {
        notes.push(format!(
            "left out, because workers or the ends of their steps are missing: {} {} (step {step} lacks {lacks})",
            plural(incomplete.len(), "step", "steps"),
            listed(incomplete.keys().map(i64::to_string))
        ));
    }
    let lost = lost(&whole);
    let incomplete = !without_lost(&mut whole, &lost, &mut notes);
    Ok(Chosen { steps: whole, incomplete, notes })
}

/// Rejects workers that share no step with the others, directly or through a third worker: they belong to another job.
fn refuse_two_jobs(steps: &[&[Row]], there: &[There], workers: &Workers) -> Result<(), JobError> {
    let number = |place: WorkerAt| (place.0 * workers.pp + place.1) as usize;
    let mut same: Vec<usize> = (0..workers.all()).collect();
    fn root(same: &mut [usize], mut worker: usize) -> usize {
        while same[worker] != worker {
            same[worker] = same[same[worker]];
            worker = same[worker];
        }
        worker
    }
    for (of_step, there) in steps.iter().zip(there) {
        let first = root(&mut same, number(at(&of_step[0])));
        for &place in &there.begun {
            let own = root(&mut same, number(place));
            same[own] = first;
        }
    }
    let mut of = |rows: &[Row]| root(&mut same, number(at(&rows[0])));
    let job = of(steps[0]);
    let Some(other) = steps.iter().position(|rows| of(rows) != job) else { return Ok(()) };
    let (one, other) = (&steps[0][0], &steps[other][0]);
    Err(JobError::NeverTogether { rank: one.rank, step: one.step, other: other.rank, other_step: other.step })
}

fn at(row: &Row) -> WorkerAt {
    (row.dp_rank, row.stage)
}

/// The workers with any rows in a step, and those with the end of the step.
struct There {
    begun: BTreeSet<WorkerAt>,
    ended: BTreeSet<WorkerAt>,
}

impl There {
    fn new(of_step: &[Row], workers: &Workers) -> There {
        let has_end = |rows: &&[Row]| !workers.ends || rows.iter().any(|row| row.kind == Kind::Optimizer);
        let all = || of_step.chunk_by(same_worker);
        There {
            begun: all().map(|rows| at(&rows[0])).collect(),
            ended: all().filter(has_end).map(|rows| at(&rows[0])).collect(),
        }
    }
}

/// By worker: the range from its first to its last complete step, as indices. Ends that differ by less than [`EARLY`] steps count
/// as equal.
fn spans(steps: &[There]) -> BTreeMap<WorkerAt, std::ops::Range<usize>> {
    let mut spans: BTreeMap<WorkerAt, std::ops::Range<usize>> = BTreeMap::new();
    for (place, of_step) in steps.iter().enumerate() {
        for &worker in &of_step.ended {
            spans.entry(worker).or_insert(place..place).end = place + 1;
        }
    }
    for span in spans.values_mut() {
        if span.start < EARLY {
            span.start = 0;
        }
        if span.end + EARLY > steps.len() {
            span.end = steps.len();
        }
    }
    spans
}

/// A note that names the workers recorded in only some of the steps.
fn shorter(
    steps: &[&[Row]],
    spans: &BTreeMap<WorkerAt, std::ops::Range<usize>>,
    workers: &Workers,
) -> Vec<String> {
    let number = |place: usize| steps[place][0].step;
    let says = |(place, rank): (&WorkerAt, &u32)| match spans.get(place) {
        None => Some(format!("rank {rank} in no complete step")),
        Some(span) if span.len() == steps.len() => None,
        Some(span) if span.start == 0 => Some(format!("rank {rank} up to step {}", number(span.end - 1))),
        Some(span) if span.end == steps.len() => {
            Some(format!("rank {rank} from step {} on", number(span.start)))
        }
        Some(span) => {
            Some(format!("rank {rank} from step {} to {}", number(span.start), number(span.end - 1)))
        }
    };
    let list: Vec<String> = workers.ranks.iter().filter_map(says).collect();
    let note = format!(
        "recorded in only some of the steps: {}. In the other steps, delays caused by such a worker show up as waiting time of \
         the others and cannot be attributed to it, and removing other causes may save more than stated, since the others \
         still wait for it; its slowdown covers only its recorded steps",
        listed(list.iter().cloned())
    );
    if list.is_empty() { Vec::new() } else { vec![note] }
}

/// Removes steps that lack rows, unless no step would be left, and adds a note. Returns whether all remaining steps are complete.
fn without_lost(steps: &mut Vec<&[Row]>, lost: &[Lost], notes: &mut Vec<String>) -> bool {
    let faulty: BTreeSet<i64> = lost.iter().map(|lost| lost.step).collect();
    if lost.is_empty() {
        return true;
    }
    let names = listed(lost.iter().map(Lost::to_string));
    let rows = format!("{} {} missing: {names}", lost.len(), plural(lost.len(), "row is", "rows are"));
    let left = steps.iter().filter(|rows| !faulty.contains(&rows[0].step)).count();
    if left == 0 {
        notes.push(format!(
            "{rows}. No step has all its rows: steps are analysed without the missing rows, as if nothing had waited there"
        ));
        return false;
    }
    steps.retain(|rows| !faulty.contains(&rows[0].step));
    let numbers = listed(faulty.iter().map(i64::to_string));
    notes.push(format!(
        "{rows}. Left out for this reason: {} {numbers}",
        plural(faulty.len(), "step", "steps")
    ));
    true
}
