//! The results of the replays: slowdowns by step, stage, data-parallel rank, class and worker, and the gain from repairing workers.

use super::breakdown::{Breakdowns, breakdowns};
use super::causes::{Cause, Split, causes};
use super::intervals::Draws;
use super::isolated::Alone;
use super::repairs::{CurvePoint, Repaired, Repairs};
use super::{Cut, Replays, Scratch, TimedOp, mean};
use crate::{Job, Role};
use serde::Serialize;
use std::collections::BTreeMap;
use straggler_model::parallel;

/// Slowdowns, by name.
pub type Slowdowns = BTreeMap<String, f64>;

/// Launch delays are a class of their own.
pub const LAUNCH: &str = "launch-delay";
/// Percentage of the workers whose repairing is evaluated, as in the published analysis.
const SLOWEST_PERCENT: u64 = 3;
/// No verdict is given if negative transfer times show that clocks differ by more than this share of a step.
const CLOCKS_DIFFER: f64 = 0.1;
/// With a replay error this large, the replay explains nothing.
const FAR_OFF: f64 = 0.1;
/// If steps without a cause take less than this part of the ideal steps, the ideal itself is slow.
const FASTER_THAN_IDEAL: f64 = 0.99;
/// If steps of kernels take less than this part of what one class alone explains, their dependencies are wrong.
const TOO_FAST: f64 = 0.98;

/// What the replays of a job show.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Answers {
    pub workers_recorded: usize,
    /// Workers that were not recorded, as far as the recorded ones reveal them.
    pub workers_missing: usize,
    pub steps: usize,
    pub stages: usize,
    pub dp_ranks: usize,
    pub operations: usize,
    /// Mean seconds of a step: recorded; replayed; ideal.
    pub step_seconds: f64,
    pub replayed_seconds: f64,
    pub ideal_seconds: f64,
    /// How much longer the steps are than with the times of a typical worker, and its 95 % interval over the steps.
    pub s: f64,
    pub s_interval: [f64; 2],
    /// The slowdown relative to steps without the largest cause, if it exceeds S: then so many workers are slow that typical
    /// times are slow, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub s_at_least: Option<f64>,
    /// S if workers are compared only within their stage, and what the partition adds to it.
    pub s_stage_pooled: f64,
    pub partition: f64,
    /// The part of the recorded time that the replay does not explain.
    pub replay_error: f64,
    pub by_step: BTreeMap<i64, f64>,
    /// Slowdowns from each part alone, with everything else ideal.
    pub by_stage: Slowdowns,
    pub by_dp_rank: Slowdowns,
    pub by_type: Slowdowns,
    /// The 95 % intervals of these over the steps.
    pub intervals: Intervals,
    /// The slowest first.
    pub workers: Vec<WorkerAnswer>,
    /// The part of the lost time saved by repairing the slowest 3 % of the workers, or the last stage.
    pub m_w: Option<f64>,
    pub m_s: Option<f64>,
    pub repaired_workers: Repaired,
    pub repaired_last_stage: Repaired,
    /// How much of the lost time the slowest 1, 2, 3, … workers account for.
    pub curve: Vec<CurvePoint>,
    /// What workers do during a step.
    pub breakdown: Breakdowns,
    /// Transfers that end before all members have started; they count as 0.
    pub early_ends: u64,
    pub early_end_seconds: f64,
    /// Operations that overlap with one they should wait for on the same worker, and the largest overlap.
    pub overlaps: u64,
    pub overlap_seconds: f64,
    /// The time per step spent waiting for something that was not recorded: the mean over the workers.
    pub unexplained_seconds: f64,
    /// The operation that follows most of these waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unexplained_before: Option<String>,
    /// Whether transfers have durations. True if there are none.
    pub transfers_timed: bool,
    /// Why no causes are given, if the numbers do not support any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distrust: Option<Distrust>,
    /// What slows the job, by gain. [`crate::phrases::CauseAnswer`] serializes it.
    #[serde(skip)]
    pub causes: Vec<Cause>,
    /// The best split of the layers, if their number is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split: Option<Split>,
    pub notes: Vec<String>,
    /// Remarks about how the job was read that are not warnings.
    pub remarks: Vec<String>,
    /// Steps of the recording that were not analysed.
    pub steps_left_out: usize,
}

/// What one worker costs the job.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct WorkerAnswer {
    pub rank: u32,
    pub dp_rank: u32,
    pub stage: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The slowdown from this worker alone, with everything else ideal.
    pub s_w: f64,
    /// The 95 % interval over the steps.
    pub s_w_interval: [f64; 2],
}

/// The 95 % intervals of slowdowns, by the names of [`Slowdowns`].
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Intervals {
    pub by_stage: BTreeMap<String, [f64; 2]>,
    pub by_dp_rank: BTreeMap<String, [f64; 2]>,
    pub by_type: BTreeMap<String, [f64; 2]>,
}

/// Why no rank can be blamed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Distrust {
    /// Rows are missing, so transfers may be matched wrongly.
    Rows,
    /// Nothing that computes has a duration.
    Durations,
    /// There are unknown operations, and no known forward or no known backward computation.
    Operations,
    /// Times of workers contradict each other.
    Clocks,
    /// The replay error is too large.
    Replay,
    /// The inferred dependencies of kernels are wrong: typical times give longer steps than were recorded.
    Kernels,
}

impl Answers {
    fn doubted(&self, job: &Job) -> Option<Distrust> {
        // With one class as recorded and all else ideal, steps are no longer than recorded, unless waits were mistaken for
        // delays.
        let most = self.by_type.values().copied().fold(1.0, f64::max);
        if !job.has_durations() {
            return Some(Distrust::Durations);
        }
        if job.unknown_operations && !job.computes() {
            return Some(Distrust::Operations);
        }
        if job.of_kernels && self.s < TOO_FAST * most {
            return Some(Distrust::Kernels);
        }
        let differ = self.early_end_seconds > CLOCKS_DIFFER * self.step_seconds;
        let far_off = self.replay_error.abs() > FAR_OFF;
        match (differ, far_off) {
            (false, false) => None,
            _ if job.incomplete => Some(Distrust::Rows),
            (true, _) => Some(Distrust::Clocks),
            _ => Some(Distrust::Replay),
        }
    }
}

/// Whether the times of a recording contradict each other, or its steps as replayed differ from those recorded, by so much that
/// nothing should be concluded. `replayed` are the steps with recorded times.
pub fn is_doubtful(replays: &Replays<'_>, replayed: &[i64]) -> bool {
    let recorded = mean(&replays.times.iter().map(|times| times.recorded).collect::<Vec<i64>>());
    let early_ends = replays.times.iter().map(|times| times.early_ends.largest).max().unwrap_or(0);
    let far_off = (1.0 - ratio(mean(replayed), recorded)).abs() > FAR_OFF;
    let job = replays.job;
    let unknown = job.unknown_operations && !job.computes();
    far_off || early_ends as f64 > CLOCKS_DIFFER * recorded || !job.has_durations() || unknown
}

/// Does the whole analysis. `layers` has the number of layers of each stage, if known.
pub fn analyse(replays: &Replays<'_>, layers: Option<&[u32]>) -> Answers {
    let job = replays.job;
    let replayed = |room: &mut Scratch, step: usize| OfStep::replayed(replays, step, room);
    let steps = parallel::map_with(job.steps.len(), Scratch::default, replayed);
    answers(replays, &steps, layers)
}

/// The replays of a step, each in picoseconds.
struct OfStep {
    real: i64,
    ideal: i64,
    stage_ideal: i64,
    by_stage: Vec<i64>,
    by_class: Vec<i64>,
    /// `None` for ranks not recorded in the step.
    by_dp_rank: Vec<Option<i64>>,
    by_worker: Vec<Option<i64>>,
}

impl OfStep {
    fn replayed(replays: &Replays<'_>, step: usize, room: &mut Scratch) -> OfStep {
        let job = replays.job;
        let stages = job.stages();
        let stage_ideal = |at: &TimedOp<'_>| {
            let stage = job.workers[at.worker].stage;
            let ideal = &replays.stage_ideal;
            (ideal.takes(stage, at.op), ideal.delay(at.op))
        };
        let stage = |stage: usize, room: &mut Scratch| {
            let choose = |at: &TimedOp<'_>| at.real_if(job.workers[at.worker].stage as usize == stage);
            replays.step(step, room, &choose)
        };
        let class = |name: &str, room: &mut Scratch| {
            let launches = name == LAUNCH;
            let is_it: Vec<bool> = job.kinds.iter().map(|kind| kind.class == name).collect();
            let choose = |at: &TimedOp<'_>| {
                let takes = if is_it[at.op.kind as usize] { at.takes } else { at.ideal_takes };
                (takes, if launches { at.delay } else { at.ideal_delay })
            };
            replays.step(step, room, &choose)
        };
        // The whole rank, then each of its workers.
        let parts: Vec<Option<usize>> =
            [None].into_iter().chain((0..replays.places.per_rank).map(Some)).collect();
        let mut by_part = Alone::new(replays, step).by_rank(room, &parts).into_iter();
        let by_dp_rank = by_part.next().unwrap_or_default();
        let by_worker = by_worker(replays, step, &by_part.collect::<Vec<_>>());
        OfStep {
            real: replays.step(step, room, &|at: &TimedOp<'_>| at.real()),
            ideal: replays.step(step, room, &|at: &TimedOp<'_>| at.ideal()),
            stage_ideal: replays.step(step, room, &stage_ideal),
            by_stage: (0..stages).map(|number| stage(number, room)).collect(),
            by_class: classes(job).iter().map(|name| class(name, room)).collect(),
            by_dp_rank,
            by_worker,
        }
    }
}

/// The classes that results are reported for, including launch delays.
fn classes(job: &Job) -> Vec<String> {
    let used = job.shapes.iter().flat_map(|shape| &shape.ops).map(|op| op.kind as usize);
    let mut seen = vec![false; job.kinds.len()];
    used.for_each(|kind| seen[kind] = true);
    let mut names: Vec<String> =
        job.kinds.iter().zip(&seen).filter(|(_, seen)| **seen).map(|(kind, _)| kind.class.clone()).collect();
    names.push(LAUNCH.into());
    names.sort_unstable();
    names.dedup();
    names
}

/// By worker: how long the step takes if only this worker has its recorded times. `None` if it was not recorded in the step.
fn by_worker(replays: &Replays<'_>, step: usize, by_place: &[Vec<Option<i64>>]) -> Vec<Option<i64>> {
    let (job, places) = (replays.job, &replays.places);
    let slowed = |(worker, there): (usize, bool)| {
        let of_place = by_place.get(places.place_of(worker)).filter(|_| there)?;
        of_place[job.workers[worker].dp_rank as usize]
    };
    job.takes_part(step).into_iter().enumerate().map(slowed).collect()
}

fn answers(replays: &Replays<'_>, steps: &[OfStep], layers: Option<&[u32]>) -> Answers {
    let job = replays.job;
    let over = |of: &dyn Fn(&OfStep) -> i64| mean(&steps.iter().map(of).collect::<Vec<i64>>());
    let (real, ideal) = (over(&|step| step.real), over(&|step| step.ideal));
    let stage_ideal = over(&|step| step.stage_ideal);
    let recorded = mean(&replays.times.iter().map(|times| times.recorded).collect::<Vec<i64>>());
    let draws = Draws::new(steps.len());
    let named = |names: Vec<String>, of: &dyn Fn(&OfStep) -> &Vec<i64>| -> Slowdowns {
        let at = |place: usize| ratio(over(&|step| of(step)[place]), ideal);
        names.into_iter().enumerate().map(|(place, name)| (name, at(place))).collect()
    };
    let named_intervals = |names: Vec<String>, of: &dyn Fn(&OfStep) -> &Vec<i64>| {
        let at = |place: usize| draws.interval(|step| Some((of(&steps[step])[place], steps[step].ideal)));
        names.into_iter().enumerate().map(|(place, name)| (name, at(place))).collect()
    };
    let numbered = |count: usize| (0..count).map(|number| number.to_string()).collect();
    // Compares with the ideal of only those steps in which the rank or worker was recorded.
    let alone = |of: &dyn Fn(&OfStep) -> Option<i64>| {
        let there = steps.iter().filter_map(|step| Some((of(step)?, step.ideal)));
        let (real, ideal): (Vec<i64>, Vec<i64>) = there.unzip();
        (!real.is_empty()).then(|| ratio(mean(&real), mean(&ideal)))
    };
    let alone_interval = |of: &dyn Fn(&OfStep) -> Option<i64>| {
        draws.interval(|step| Some((of(&steps[step])?, steps[step].ideal)))
    };
    let workers = workers(
        job,
        |worker| alone(&|step| step.by_worker[worker]).unwrap_or(1.0),
        |worker| alone_interval(&|step| step.by_worker[worker]),
    );
    let of_dp_rank = |rank: usize| Some((rank.to_string(), alone(&|step| step.by_dp_rank[rank])?));
    let order: Vec<usize> = workers.iter().map(|(place, _)| *place).collect();
    let repairing = Repairs { replays, real, ideal, recorded: order.len() };
    let slowest = (order.len() as u64 * SLOWEST_PERCENT).div_ceil(100) as usize;
    let stages = job.stages();
    let last: Vec<usize> =
        order.iter().copied().filter(|&place| job.workers[place].stage as usize + 1 == stages).collect();
    let repaired_workers = repairing.repair(&order[..slowest.min(order.len())], true);
    let repaired_last_stage = repairing.repair(&last, false);
    let early_ends = replays.times.iter().map(|times| times.early_ends).fold(Cut::default(), Cut::and);
    let overlap = replays.times.iter().map(|times| times.overlap).fold(Cut::default(), Cut::and);
    let s = ratio(real, ideal);
    let found = causes(replays, &order, layers);
    let answers = Answers {
        workers_recorded: order.len(),
        workers_missing: job.workers.iter().filter(|worker| !worker.recorded).count(),
        steps: steps.len(),
        stages,
        dp_ranks: job.dp_ranks(),
        operations: job.operations(),
        step_seconds: recorded / 1e12,
        replayed_seconds: real / 1e12,
        ideal_seconds: ideal / 1e12,
        s,
        s_interval: draws.interval(|step| Some((steps[step].real, steps[step].ideal))),
        s_at_least: at_least(&found.causes, real, ideal),
        s_stage_pooled: ratio(real, stage_ideal),
        partition: ratio(stage_ideal, ideal),
        replay_error: 1.0 - ratio(real, recorded),
        by_step: (job.steps.iter().zip(steps))
            .map(|(step, of)| (step.number, ratio(of.real as f64, of.ideal as f64)))
            .collect(),
        by_stage: named(numbered(stages), &|step| &step.by_stage),
        by_dp_rank: (0..job.dp_ranks()).filter_map(of_dp_rank).collect(),
        by_type: named(classes(job), &|step| &step.by_class),
        intervals: Intervals {
            by_stage: named_intervals(numbered(stages), &|step| &step.by_stage),
            by_dp_rank: parallel::flat_map(job.dp_ranks(), |rank| {
                let replayed = steps.iter().any(|step| step.by_dp_rank[rank].is_some());
                replayed.then(|| (rank.to_string(), alone_interval(&|step| step.by_dp_rank[rank])))
            })
            .into_iter()
            .collect(),
            by_type: named_intervals(classes(job), &|step| &step.by_class),
        },
        curve: repairing.curve(&order),
        workers: workers.into_iter().map(|(_, worker)| worker).collect(),
        m_w: repaired_workers.share_saved,
        m_s: repaired_last_stage.share_saved,
        repaired_workers,
        repaired_last_stage,
        breakdown: breakdowns(replays),
        early_ends: early_ends.count,
        early_end_seconds: early_ends.largest as f64 / 1e12,
        overlaps: overlap.count,
        overlap_seconds: overlap.largest as f64 / 1e12,
        unexplained_seconds: replays.unexplained / 1e12,
        unexplained_before: replays.unexplained_before.map(|kind| job.kinds[kind].name.clone()),
        transfers_timed: transfers_timed(replays),
        distrust: None,
        causes: found.causes,
        split: found.split,
        notes: job.notes.clone(),
        remarks: job.remarks.clone(),
        steps_left_out: job.steps_left_out,
    };
    match answers.doubted(job) {
        None => answers,
        distrust => Answers { distrust, causes: Vec::new(), split: None, s_at_least: None, ..answers },
    }
}

/// The slowdown from the largest cause alone, if steps would be faster than ideal without it.
fn at_least(causes: &[Cause], real: f64, ideal: f64) -> Option<f64> {
    let first = causes.first()?;
    let without = real - 1e12 * first.seconds;
    (without > 0.0 && without < FASTER_THAN_IDEAL * ideal).then(|| real / without)
}

fn transfers_timed(replays: &Replays<'_>) -> bool {
    let job = replays.job;
    let mut transfers = (0..job.steps.len()).flat_map(|step| {
        let columns = job.steps[step].columns as usize;
        let ops = job.shape(step).ops.iter().enumerate();
        let ops = ops.filter(|(_, op)| job.kinds[op.kind as usize].role == Role::Communication);
        ops.flat_map(move |(place, _)| &replays.times[step].takes[place * columns..(place + 1) * columns])
    });
    let first = transfers.next().copied();
    first.is_none_or(|first| first > 0) || transfers.any(|&takes| takes > 0)
}

/// The ratio, or 1 if there is nothing to compare with.
fn ratio(above: f64, below: f64) -> f64 {
    if below > 0.0 { above / below } else { 1.0 }
}

/// Recorded workers with their index in the job, the slowest first; ties by rank.
fn workers(
    job: &Job,
    s_w: impl Fn(usize) -> f64 + Sync,
    interval: impl Fn(usize) -> [f64; 2] + Sync,
) -> Vec<(usize, WorkerAnswer)> {
    let mut workers = parallel::flat_map(job.workers.len(), |place| {
        let worker = &job.workers[place];
        worker.recorded.then(|| {
            let answer = WorkerAnswer {
                rank: worker.rank,
                dp_rank: worker.dp_rank,
                stage: worker.stage,
                host: worker.host.clone(),
                s_w: s_w(place),
                s_w_interval: interval(place),
            };
            (place, answer)
        })
    });
    workers.sort_by(|(_, a), (_, b)| b.s_w.total_cmp(&a.s_w).then(a.rank.cmp(&b.rank)));
    workers
}
