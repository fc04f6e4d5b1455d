//! What the replays say: slowdowns by step, stage, data-parallel rank, class and worker, and how much mending would win.

use super::causes::{Cause, CauseKind, Split, causes};
use super::mending::{CurvePoint, Mended, Mending};
use super::{At, Cut, Replays, Room, mean};
use crate::{Job, Role};
use rayon::prelude::*;
use serde::Serialize;
use std::collections::BTreeMap;
use straggler_model::philox::Stream;

/// Slowdowns, by name.
pub type Slowdowns = BTreeMap<String, f64>;

/// Launch delays are a class of their own.
pub const LAUNCH: &str = "launch-delay";
/// Of so many workers in a hundred it is asked what mending them wins, as the published analysis does.
const SLOWEST_PERCENT: u64 = 3;
/// Clocks that differ by this share of a step, as times below zero show, allow no verdict.
const CLOCKS_DIFFER: f64 = 0.1;
/// A replay that is so far off the recorded steps explains nothing.
const FAR_OFF: f64 = 0.1;
/// Steps without a cause that take less than this part of the ideal ones show that the ideal is slow itself.
const FASTER_THAN_IDEAL: f64 = 0.98;

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Answers {
    pub workers_recorded: usize,
    /// Workers of which nothing was recorded, as far as the others show them.
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
    /// How much longer they are than without the largest cause, where that is more than S: so much is slow that what is typical is
    /// slow, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub s_at_least: Option<f64>,
    /// The same as S where workers are compared with those of their own stage, and what the partition adds to it.
    pub s_stage_pooled: f64,
    pub partition: f64,
    /// What of the recorded time the replay does not explain.
    pub replay_error: f64,
    pub by_step: BTreeMap<i64, f64>,
    /// Ideal but for these.
    pub by_stage: Slowdowns,
    pub by_dp_rank: Slowdowns,
    pub by_type: Slowdowns,
    /// The slowest first.
    pub workers: Vec<WorkerAnswer>,
    /// The part of the lost time that goes if the slowest 3 % of the workers are mended, or the last stage is.
    pub m_w: Option<f64>,
    pub m_s: Option<f64>,
    pub mended_workers: Mended,
    pub mended_last_stage: Mended,
    /// How much of the lost time goes with the slowest 1, 2, 3, … workers.
    pub curve: Vec<CurvePoint>,
    /// Transfers that end before all have started, and were taken as 0.
    pub cut: u64,
    pub cut_seconds: f64,
    /// Operations that overlap with what they should wait for on the same worker, and by how much at most.
    pub overlaps: u64,
    pub overlap_seconds: f64,
    /// Waits before operations for something that was not recorded: the mean of all in a step, over the workers.
    pub unexplained_seconds: f64,
    /// The operation that most of them are before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unexplained_before: Option<String>,
    /// Whether transfers have durations, where there are any.
    pub transfers_timed: bool,
    /// Why there are no causes, where the numbers do not allow any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distrust: Option<Distrust>,
    /// What slows the job, by gain.
    pub causes: Vec<Cause>,
    /// Which split of the layers would be best, where their number is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split: Option<Split>,
    pub notes: Vec<String>,
    /// How the job was read, where nothing is wrong with that.
    pub remarks: Vec<String>,
    /// Steps of the recording that were not analysed.
    pub steps_left_out: usize,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct WorkerAnswer {
    pub rank: u32,
    pub dp_rank: u32,
    pub stage: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// How much longer a step is than ideal if only this worker is as it was.
    pub s_w: f64,
}

/// Why nobody can be blamed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Distrust {
    /// Rows are missing, and what meets does not fit together without them.
    Rows,
    /// Times of workers contradict each other.
    Clocks,
    /// The replay is far off the recorded steps.
    Replay,
    /// Which kernel waited for which was guessed wrongly: typical times give longer steps than there were.
    Kernels,
}

impl Answers {
    fn doubted(&self, job: &Job) -> Option<Distrust> {
        // With one class as it was and all else ideal, steps are no longer than they were, unless waits are taken for delays.
        let most = self.by_type.values().copied().fold(1.0, f64::max);
        if job.of_kernels && self.s < FASTER_THAN_IDEAL * most {
            return Some(Distrust::Kernels);
        }
        let differ = self.cut_seconds > CLOCKS_DIFFER * self.step_seconds;
        let far_off = self.replay_error.abs() > FAR_OFF;
        match (differ, far_off) {
            (false, false) => None,
            _ if job.incomplete => Some(Distrust::Rows),
            (true, _) => Some(Distrust::Clocks),
            _ => Some(Distrust::Replay),
        }
    }
}

/// Does the whole analysis. `layers` are those of the stages, where they are known.
pub fn analyse(replays: &Replays<'_>, layers: Option<&[u32]>) -> Answers {
    let job = replays.job;
    let steps: Vec<OfStep> = (0..job.steps.len())
        .into_par_iter()
        .map_init(Room::default, |room, step| OfStep::replayed(replays, step, room))
        .collect();
    answers(replays, &steps, layers)
}

/// The replays of a step, each in picoseconds.
struct OfStep {
    real: i64,
    ideal: i64,
    stage_ideal: i64,
    by_stage: Vec<i64>,
    by_class: Vec<i64>,
    /// Of those that were recorded in the step.
    by_dp_rank: Vec<Option<i64>>,
    by_worker: Vec<Option<i64>>,
}

impl OfStep {
    fn replayed(replays: &Replays<'_>, step: usize, room: &mut Room) -> OfStep {
        let job = replays.job;
        let stages = job.stages();
        let stage_ideal = |at: &At<'_>| {
            let stage = job.workers[at.worker].stage;
            let ideal = &replays.stage_ideal;
            (ideal.takes(stage, at.op), ideal.delay(at.op))
        };
        let stage = |stage: usize, room: &mut Room| {
            let choose = |at: &At<'_>| at.real_if(job.workers[at.worker].stage as usize == stage);
            replays.step(step, room, &choose)
        };
        let class = |name: &str, room: &mut Room| {
            let launches = name == LAUNCH;
            let is_it: Vec<bool> = job.kinds.iter().map(|kind| kind.class == name).collect();
            let choose = |at: &At<'_>| {
                let takes = if is_it[at.op.kind as usize] { at.takes } else { at.ideal_takes };
                (takes, if launches { at.delay } else { at.ideal_delay })
            };
            replays.step(step, room, &choose)
        };
        let takes_part = job.takes_part(step);
        OfStep {
            real: replays.step(step, room, &|at: &At<'_>| at.real()),
            ideal: replays.step(step, room, &|at: &At<'_>| at.ideal()),
            stage_ideal: replays.step(step, room, &stage_ideal),
            by_stage: (0..stages).map(|number| stage(number, room)).collect(),
            by_class: classes(job).iter().map(|name| class(name, room)).collect(),
            by_dp_rank: by_dp_rank(replays, step, &takes_part, room),
            by_worker: by_worker(replays, step, &takes_part, room),
        }
    }
}

/// The classes that results are given for, and that of launch delays.
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

fn by_dp_rank(replays: &Replays<'_>, step: usize, takes_part: &[bool], room: &mut Room) -> Vec<Option<i64>> {
    let (job, columns) = (replays.job, replays.job.steps[step].columns as usize);
    let ranks = job.dp_ranks();
    if columns == ranks {
        return replays.each_column(step, room, &|at: &At<'_>| at.real()).into_iter().map(Some).collect();
    }
    let mut is_there = vec![false; ranks];
    for (worker, _) in job.workers.iter().zip(takes_part).filter(|(_, there)| **there) {
        is_there[worker.dp_rank as usize] = true;
    }
    let one = |rank: usize, room: &mut Room| {
        replays.step(step, room, &|at: &At<'_>| at.real_if(job.workers[at.worker].dp_rank as usize == rank))
    };
    (0..ranks).map(|rank| is_there[rank].then(|| one(rank, room))).collect()
}

fn by_worker(replays: &Replays<'_>, step: usize, takes_part: &[bool], room: &mut Room) -> Vec<Option<i64>> {
    let (job, columns) = (replays.job, replays.job.steps[step].columns as usize);
    let per_column = job.workers.len() / columns;
    let mut slowed = vec![None; job.workers.len()];
    let is_there = |own: &usize| (0..columns).any(|column| takes_part[column * per_column + own]);
    for own in (0..per_column).filter(is_there) {
        let spans = replays.each_column(step, room, &|at: &At<'_>| at.real_if(at.op.worker as usize == own));
        spans.iter().enumerate().for_each(|(column, span)| slowed[column * per_column + own] = Some(*span));
    }
    slowed
}

fn answers(replays: &Replays<'_>, steps: &[OfStep], layers: Option<&[u32]>) -> Answers {
    let job = replays.job;
    let over = |of: &dyn Fn(&OfStep) -> i64| mean(&steps.iter().map(of).collect::<Vec<i64>>());
    let (real, ideal) = (over(&|step| step.real), over(&|step| step.ideal));
    let stage_ideal = over(&|step| step.stage_ideal);
    let recorded = mean(&replays.times.iter().map(|times| times.recorded).collect::<Vec<i64>>());
    let named = |names: Vec<String>, of: &dyn Fn(&OfStep) -> &Vec<i64>| -> Slowdowns {
        let at = |place: usize| ratio(over(&|step| of(step)[place]), ideal);
        names.into_iter().enumerate().map(|(place, name)| (name, at(place))).collect()
    };
    let numbered = |count: usize| (0..count).map(|number| number.to_string()).collect();
    // Against the ideal of the steps in which it was recorded.
    let alone = |of: &dyn Fn(&OfStep) -> Option<i64>| {
        let there = steps.iter().filter_map(|step| Some((of(step)?, step.ideal)));
        let (real, ideal): (Vec<i64>, Vec<i64>) = there.unzip();
        (!real.is_empty()).then(|| ratio(mean(&real), mean(&ideal)))
    };
    let workers = workers(job, |worker| alone(&|step| step.by_worker[worker]).unwrap_or(1.0));
    let of_dp_rank = |rank: usize| Some((rank.to_string(), alone(&|step| step.by_dp_rank[rank])?));
    let order: Vec<usize> = workers.iter().map(|(place, _)| *place).collect();
    let mending = Mending { replays, real, ideal, recorded: order.len() };
    let slowest = (order.len() as u64 * SLOWEST_PERCENT).div_ceil(100) as usize;
    let stages = job.stages();
    let last: Vec<usize> =
        order.iter().copied().filter(|&place| job.workers[place].stage as usize + 1 == stages).collect();
    let mended_workers = mending.of(&order[..slowest.min(order.len())], true);
    let mended_last_stage = mending.of(&last, false);
    let cut = replays.times.iter().map(|times| times.cut).fold(Cut::default(), Cut::and);
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
        s_interval: interval(steps),
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
        curve: mending.curve(&order),
        workers: workers.into_iter().map(|(_, worker)| worker).collect(),
        m_w: mended_workers.rem,
        m_s: mended_last_stage.rem,
        mended_workers,
        mended_last_stage,
        cut: cut.count,
        cut_seconds: cut.largest as f64 / 1e12,
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

/// What the largest cause alone makes of the steps, if they would be faster than ideal without it.
fn at_least(causes: &[Cause], real: f64, ideal: f64) -> Option<f64> {
    // A few steps at the beginning are not what is typical.
    let first = causes.iter().find(|cause| cause.kind != CauseKind::StartUp)?;
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

/// 1 where there is nothing to compare.
fn ratio(above: f64, below: f64) -> f64 {
    if below > 0.0 { above / below } else { 1.0 }
}

/// The slowest first; of equals, the smaller rank. With their places in the job.
fn workers(job: &Job, s_w: impl Fn(usize) -> f64) -> Vec<(usize, WorkerAnswer)> {
    let recorded = job.workers.iter().enumerate().filter(|(_, worker)| worker.recorded);
    let mut workers: Vec<(usize, WorkerAnswer)> = recorded
        .map(|(place, worker)| {
            let answer = WorkerAnswer {
                rank: worker.rank,
                dp_rank: worker.dp_rank,
                stage: worker.stage,
                host: worker.host.clone(),
                s_w: s_w(place),
            };
            (place, answer)
        })
        .collect();
    workers.sort_by(|(_, a), (_, b)| b.s_w.total_cmp(&a.s_w).then(a.rank.cmp(&b.rank)));
    workers
}

/// The 95 % interval of S by bootstrap over the steps.
fn interval(steps: &[OfStep]) -> [f64; 2] {
    const DRAWS: usize = 1000;
    let mut random = Stream::new(0, 0, 0, 0);
    let mut drawn: Vec<f64> = (0..DRAWS)
        .map(|_| {
            let (mut real, mut ideal) = (0i128, 0i128);
            for _ in 0..steps.len() {
                let step = &steps[random.below(steps.len() as u64) as usize];
                real += i128::from(step.real);
                ideal += i128::from(step.ideal);
            }
            ratio(real as f64, ideal as f64)
        })
        .collect();
    drawn.sort_unstable_by(f64::total_cmp);
    [drawn[DRAWS * 25 / 1000], drawn[DRAWS * 975 / 1000 - 1]]
}
