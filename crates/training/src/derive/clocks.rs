//! Corrects clocks that contradict each other: a worker ends a transfer before another member of its group has begun it. All
//! members end a transfer together, which shows how far each clock is off. In a job that is only data parallel, where all
//! transfers are collectives, these ends are enough: an offset shorter than a collective contradicts nothing. Other clocks are
//! not changed.
//!
//! ```text
//! all steps ─► one offset a worker ─► steps that still contradict themselves ─► offsets of their own: a clock has jumped
//!                                                                              └► left out: it has jumped within the step
//! ```

use super::workers::Workers;
use crate::clocks::{Ends, Offsets};
use crate::{Job, Row, words};
use std::collections::{BTreeMap, BTreeSet};
use straggler_model::parallel;
use straggler_model::stats::median;

/// Contradictions up to this occur with good clocks, in picoseconds.
const GOOD: i64 = 1_000_000_000;
/// Clocks are off if an offset is more than this many times the residual.
const CLEARLY: i64 = 10;
/// The maximum number of steps that are compared, spread over the job.
const COMPARED: usize = 32;
/// An offset that contradicts nothing counts from 1/`NOTABLE` of a typical step on. Workers may end a little apart.
const NOTABLE: i64 = 100;
/// A step cannot be analysed if its contradictions exceed 1/`HARMLESS` of a typical step.
const HARMLESS: i64 = 10;

/// With at least this many steps, clocks that move in half of them drift rather than jump.
const MANY: usize = 4;

/// Shifts that are added to the starts of workers.
#[derive(Default)]
pub struct Correction {
    /// By step number, then by worker of the job, in picoseconds.
    shift: BTreeMap<i64, Vec<i64>>,
    /// Steps in which no shift helps.
    pub left_out: BTreeSet<i64>,
    pub notes: Vec<String>,
}

/// The correction, if clocks are clearly off.
pub fn correction(job: &Job) -> Option<Correction> {
    let steps = job.steps.len();
    let worst_of =
        |shift: &[i64]| -> Vec<i64> { parallel::map(steps, |step| contradiction(job, step, shift)) };
    let none = vec![0; job.workers.len()];
    let before = worst_of(&none).into_iter().max().unwrap_or(0);
    let collectives = || job.stages() == 1;
    if before <= GOOD && !collectives() {
        return None;
    }
    let compared: Vec<Ends> = (0..steps)
        .step_by(steps.div_ceil(COMPARED).max(1))
        .flat_map(|step| meetings(job, step, &none))
        .collect();
    let rank = |worker: usize| job.workers[worker].rank;
    let overall = aligned(&compared, job.workers.len()).map(|offsets| (negated(&offsets), offsets));
    let notable = |offsets: &Offsets| {
        offsets.offset[offsets.furthest()].saturating_abs() > typical_span(job, &none) / NOTABLE
    };
    let overall = overall.filter(|(shift, offsets)| match worst_of(shift).into_iter().max().unwrap_or(0) {
        after if before > GOOD => after < before,
        after => after <= GOOD && notable(offsets),
    });
    if before <= GOOD && overall.is_none() {
        return None;
    }
    let mut notes = Vec::new();
    let common = overall.map_or(none, |(shift, offsets)| {
        notes.push(offsets.found(&compared, ["transfer", "transfers"], rank));
        shift
    });
    let of_steps: Vec<Vec<i64>> = parallel::map(steps, |step| of_step(job, step, &common));
    let jumps = jumps(job, &of_steps, &common);
    let bad = bad_steps(job, &of_steps);
    if 2 * bad.len() > steps {
        return Some(Correction { notes: vec![misfit(job, &bad)], ..Correction::default() });
    }
    let left_out: Vec<(i64, usize)> =
        bad.iter().map(|&step| (job.steps[step].number, suspect(job, step, &of_steps[step]))).collect();
    if jumps.len() + left_out.len() + notes.len() == 0 {
        return None;
    }
    let moved: BTreeSet<i64> = jumps.iter().map(|jump| jump.step).collect();
    if steps >= MANY && 2 * moved.len() >= steps {
        let ranks: BTreeSet<u32> = jumps.iter().map(|jump| rank(jump.worker)).collect();
        let ranks: Vec<u32> = ranks.into_iter().collect();
        let [clocks, are] = match ranks.len() {
            1 => ["clock", "drifts"],
            _ => ["clocks", "drift"],
        };
        notes.push(format!(
            "The {clocks} of {} {are} relative to the others in {} of {steps} steps, so each step was aligned separately: {} of \
             another job?",
            words::named("rank", &ranks),
            moved.len(),
            words::plural(ranks.len(), "is this a rank", "are these ranks")
        ));
    } else if !jumps.is_empty() {
        let told = |jump: &Jump| {
            format!("rank {} by {} at step {}", rank(jump.worker), words::time(jump.by), jump.step)
        };
        notes.push(format!(
            "Clocks jump during the recording: {}. Steps before and after a jump were aligned separately",
            words::list(&jumps.iter().map(told).collect::<Vec<String>>())
        ));
    }
    if !left_out.is_empty() {
        let names = left_out.iter().map(|(step, worker)| format!("{step} (rank {})", rank(*worker)));
        notes.push(format!(
            "left out, because a clock jumps within them: {} {}",
            words::plural(left_out.len(), "step", "steps"),
            words::listed(names)
        ));
    }
    let numbers = job.steps.iter().map(|step| step.number);
    Some(Correction {
        shift: numbers.zip(of_steps).collect(),
        left_out: left_out.into_iter().map(|(step, _)| step).collect(),
        notes,
    })
}

/// The clock offsets that these meetings show, if they are clearly off.
fn aligned(meetings: &[Ends], workers: usize) -> Option<Offsets> {
    let offsets = Offsets::new(meetings, workers);
    let largest = offsets.offset[offsets.furthest()].saturating_abs();
    let (residual, _) = offsets.residual(meetings);
    (largest > GOOD && largest > residual.saturating_mul(CLEARLY)).then_some(offsets)
}

fn negated(offsets: &Offsets) -> Vec<i64> {
    offsets.offset.iter().map(|offset| offset.saturating_neg()).collect()
}

/// The shift of a step: the common one, or its own if contradictions remain with the common one.
fn of_step(job: &Job, step: usize, common: &[i64]) -> Vec<i64> {
    let before = contradiction(job, step, common);
    let own = || {
        let offsets = aligned(&meetings(job, step, common), job.workers.len())?;
        let both = common.iter().zip(negated(&offsets)).map(|(common, own)| common.saturating_add(own));
        Some(both.collect::<Vec<i64>>()).filter(|shift| contradiction(job, step, shift) < before)
    };
    (before > GOOD).then(own).flatten().unwrap_or_else(|| common.to_vec())
}

/// A clock that jumps relative to most of the others.
struct Jump {
    worker: usize,
    /// The number of the first step after the jump.
    step: i64,
    by: i64,
}

/// Workers whose shift changes between consecutive steps by clearly more than chance explains.
fn jumps(job: &Job, of_steps: &[Vec<i64>], common: &[i64]) -> Vec<Jump> {
    let moved: Vec<Vec<i64>> = of_steps.windows(2).map(|pair| moved(&pair[0], &pair[1])).collect();
    let largest = |of: &[i64]| of.iter().map(|by| by.saturating_abs()).max().unwrap_or(0);
    // Between two steps that are each aligned separately, shifts differ only by chance.
    let both_own = |place: usize| of_steps[place] != common && of_steps[place + 1] != common;
    let mut of_own: Vec<i64> =
        (0..moved.len()).filter(|&place| both_own(place)).map(|place| largest(&moved[place])).collect();
    let usual = median(&mut of_own);
    let mut jumps = Vec::new();
    for (place, moved) in moved.iter().enumerate() {
        let mut distances: Vec<i64> = moved.iter().map(|by| by.saturating_abs()).collect();
        distances.sort_unstable();
        // Most clocks do not jump, so the lower quartile is due to chance.
        let by_chance = usual.max(distances.get(distances.len().saturating_sub(1) / 4).copied().unwrap_or(0));
        let clearly = GOOD.max(by_chance.saturating_mul(CLEARLY));
        for (worker, &by) in moved.iter().enumerate().filter(|(_, by)| by.saturating_abs() > clearly) {
            jumps.push(Jump { worker, step: job.steps[place + 1].number, by });
        }
    }
    jumps
}

/// By worker: how much its clock moves between two steps, relative to most of the others.
fn moved(before: &[i64], after: &[i64]) -> Vec<i64> {
    let moved: Vec<i64> =
        before.iter().zip(after).map(|(before, after)| before.saturating_sub(*after)).collect();
    let mut sorted = moved.clone();
    sorted.sort_unstable();
    let middle = sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or(0);
    moved.into_iter().map(|by| by.saturating_sub(middle)).collect()
}

/// Indices of steps whose remaining contradictions are too large.
fn bad_steps(job: &Job, of_steps: &[Vec<i64>]) -> Vec<usize> {
    let mut spans: Vec<i64> = (0..of_steps.len()).map(|step| span(job, step, &of_steps[step])).collect();
    let usual = median(&mut spans);
    let is_bad = |step: &usize| {
        let left = contradiction(job, *step, &of_steps[*step]);
        left > GOOD && left > usual / HARMLESS
    };
    (0..of_steps.len()).filter(is_bad).collect()
}

/// A sentence about the worst contradiction of all steps.
pub fn as_recorded(job: &Job) -> Option<String> {
    let rank = |worker: usize| job.workers[worker].rank;
    let as_recorded = vec![0; job.workers.len()];
    let worst = |step: usize| {
        worst_clash(job, step, &as_recorded).map(|clash| (clash.by, step, clash.early, clash.late))
    };
    let all: Vec<_> = parallel::flat_map(job.steps.len(), worst);
    let (by, step, early, late) = all.into_iter().max().filter(|(by, ..)| *by > GOOD)?;
    Some(format!(
        "clocks differ: in step {}, rank {} ends a transfer {} before rank {} begins it. Times are used as recorded",
        job.steps[step].number,
        rank(early),
        words::time(by),
        rank(late)
    ))
}

/// A note about times that no clock offset explains in most steps. Names the worst contradiction of the first such
/// step.
fn misfit(job: &Job, bad: &[usize]) -> String {
    let rank = |worker: usize| job.workers[worker].rank;
    let as_recorded = vec![0; job.workers.len()];
    let example = worst_clash(job, bad[0], &as_recorded).map_or(String::new(), |clash| {
        format!(
            " In step {}, rank {} ends a transfer {} before rank {} begins it.",
            job.steps[bad[0]].number,
            rank(clash.early),
            words::time(clash.by),
            rank(clash.late)
        )
    });
    format!(
        "The times of ranks contradict each other in {} of {} steps, and no clock offset explains this.{example} Are these \
         ranks of two jobs?",
        bad.len(),
        job.steps.len()
    )
}

/// The worker that is involved in the most contradictions of a step.
fn suspect(job: &Job, step: usize, shift: &[i64]) -> usize {
    let mut counts = vec![0u32; job.workers.len()];
    each_clash(job, step, shift, |clash| {
        if clash.by > GOOD {
            counts[clash.late] += 1;
            counts[clash.early] += 1;
        }
    });
    (0..counts.len()).rev().max_by_key(|&worker| counts[worker]).unwrap_or(0)
}

/// The time of a typical step.
fn typical_span(job: &Job, shift: &[i64]) -> i64 {
    median(&mut (0..job.steps.len()).map(|step| span(job, step, shift)).collect::<Vec<i64>>())
}

/// The time from the first start of a step to its last end.
fn span(job: &Job, step: usize, shift: &[i64]) -> i64 {
    let ops = job.shape(step).ops.len();
    let (mut first, mut last) = (i64::MAX, i64::MIN);
    for (place, instance) in job.instances(step).enumerate() {
        let shift = shift[job.worker(step, place / ops, place % ops)];
        let start = job.start[instance].saturating_add(shift);
        first = first.min(start);
        last = last.max(start.saturating_add(job.duration[instance]));
    }
    last.saturating_sub(first)
}

impl Correction {
    /// Whether there are only notes.
    pub fn changes_nothing(&self) -> bool {
        self.shift.is_empty() && self.left_out.is_empty()
    }

    /// Shifts the starts of rows, and removes the rows of steps that cannot be corrected.
    pub fn apply(&self, rows: &mut Vec<Row>, workers: &Workers) {
        rows.retain(|row| !self.left_out.contains(&row.step));
        for row in rows {
            if let Some(shift) = self.shift.get(&row.step) {
                row.start += shift[(row.dp_rank * workers.pp + row.stage) as usize] as f64 / 1e12;
            }
        }
    }
}

/// A member of a group.
struct Member {
    worker: usize,
    instance: usize,
    /// Whether it is the receiver of a message.
    receives: bool,
}

/// Calls `visit` with the members of each group of a step, if there are at least two.
fn each_group(job: &Job, step: usize, mut visit: impl FnMut(&[Member])) {
    let (shape, of) = (job.shape(step), job.steps[step]);
    let (graph, columns) = (&shape.graph, of.columns as usize);
    let member = |column: usize, op: u32| {
        let op = op as usize;
        Member {
            worker: job.worker(step, column, op),
            instance: of.first + column * shape.ops.len() + op,
            receives: job.kinds[shape.ops[op].kind as usize].posted,
        }
    };
    let mut members = Vec::new();
    for group in 0..graph.groups.len() {
        let ops = graph.groups.get(group);
        let together = if graph.wide[group] { columns } else { 1 };
        for first in (0..columns).step_by(together) {
            members.clear();
            let of_columns = first..first + together;
            members.extend(
                of_columns
                    .flat_map(|column| ops.iter().map(move |&op| (column, op)))
                    .map(|(column, op)| member(column, op)),
            );
            if members.len() > 1 {
                visit(&members);
            }
        }
    }
}

/// Calls `visit` with the worst contradiction, or the closest to one, of each group of a step.
fn each_clash(job: &Job, step: usize, shift: &[i64], mut visit: impl FnMut(Clash)) {
    each_group(job, step, |members| Clash::new(job, members, shift).into_iter().for_each(&mut visit));
}

/// The worst contradiction of a step.
fn worst_clash(job: &Job, step: usize, shift: &[i64]) -> Option<Clash> {
    let mut worst: Option<Clash> = None;
    each_clash(job, step, shift, |clash| {
        if worst.as_ref().is_none_or(|worst| worst.by < clash.by) {
            worst = Some(clash);
        }
    });
    worst
}

/// The worker with the last start of a group, the worker with the first end that depends on it, and how long this end
/// precedes that start. A receive ends after the send has started, and a collective ends after all members have
/// started. A send may return before it is received.
struct Clash {
    late: usize,
    early: usize,
    by: i64,
}

impl Clash {
    fn new(job: &Job, members: &[Member], shift: &[i64]) -> Option<Clash> {
        let start = |of: &Member| job.start[of.instance].saturating_add(shift[of.worker]);
        let end = |of: &Member| start(of).saturating_add(job.duration[of.instance]);
        let message = members.iter().any(|of| of.receives);
        let late = members.iter().filter(|of| !message || !of.receives).max_by_key(|of| start(of))?;
        let early = members.iter().filter(|of| !message || of.receives).min_by_key(|of| end(of))?;
        Some(Clash { late: late.worker, early: early.worker, by: start(late).saturating_sub(end(early)) })
    }
}

/// The largest contradiction of a step: how long a member ended before the last start of its group.
fn contradiction(job: &Job, step: usize, shift: &[i64]) -> i64 {
    worst_clash(job, step, shift).map_or(0, |clash| clash.by)
}

/// The ends of the members of each group of a step, in chronological order.
fn meetings(job: &Job, step: usize, shift: &[i64]) -> Vec<Ends> {
    let end = |of: &Member| {
        let end = job.start[of.instance].saturating_add(job.duration[of.instance]);
        (of.worker as u32, end.saturating_add(shift[of.worker]))
    };
    let mut meetings: Vec<Ends> = Vec::new();
    each_group(job, step, |members| meetings.push(members.iter().map(end).collect()));
    meetings.sort_by_key(|ends| ends.iter().map(|&(_, end)| end).max());
    meetings
}
