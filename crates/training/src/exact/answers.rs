//! What the replays say: slowdowns by step, stage, data-parallel rank, class and worker, and how much mending would win.

use super::causes::{Cause, Split, causes};
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
/// The curve ends where so much of the lost time is won back.
const MOST_OF_IT: f64 = 0.98;

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Answers {
    pub workers_recorded: usize,
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
    /// The same where workers are compared with those of their own stage, and what the partition adds to it.
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
    /// What slows the job, by gain.
    pub causes: Vec<Cause>,
    /// Which split of the layers would be best, where their number is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split: Option<Split>,
    pub notes: Vec<String>,
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

/// What some operations are to blame for.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Mended {
    /// The part of the lost time that goes if they are ideal.
    pub rem: Option<f64>,
    /// The part of the lost time that comes if only they are as they were.
    pub add: Option<f64>,
    /// add − rem: what they do that others would do as well.
    pub interaction: Option<f64>,
    pub seconds_without: f64,
    pub seconds_with_only: f64,
    pub workers: usize,
    /// Of all recorded workers.
    pub share: f64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<u32>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CurvePoint {
    pub workers: usize,
    pub share: f64,
    pub rem: Option<f64>,
    pub seconds: f64,
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
    by_dp_rank: Vec<i64>,
    by_worker: Vec<i64>,
}

impl OfStep {
    fn replayed(replays: &Replays<'_>, step: usize, room: &mut Room) -> OfStep {
        let job = replays.job;
        let stages = job.stages();
        let stage_ideal = |at: &At<'_>| {
            let stage = job.workers[at.worker].stage;
            let ideal = &replays.stage_ideal;
            (ideal.takes(stage, at.op.kind), ideal.delay(at.op.kind))
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
        OfStep {
            real: replays.step(step, room, &|at: &At<'_>| at.real()),
            ideal: replays.step(step, room, &|at: &At<'_>| at.ideal()),
            stage_ideal: replays.step(step, room, &stage_ideal),
            by_stage: (0..stages).map(|number| stage(number, room)).collect(),
            by_class: classes(job).iter().map(|name| class(name, room)).collect(),
            by_dp_rank: by_dp_rank(replays, step, room),
            by_worker: by_worker(replays, step, room),
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

fn dp_ranks(job: &Job) -> usize {
    job.workers.iter().map(|worker| worker.dp_rank as usize + 1).max().unwrap_or(1)
}

fn by_dp_rank(replays: &Replays<'_>, step: usize, room: &mut Room) -> Vec<i64> {
    let (job, columns) = (replays.job, replays.job.steps[step].columns as usize);
    let ranks = dp_ranks(job);
    if columns == ranks {
        return replays.each_column(step, room, &|at: &At<'_>| at.real());
    }
    let one = |rank: usize, room: &mut Room| {
        replays.step(step, room, &|at: &At<'_>| at.real_if(job.workers[at.worker].dp_rank as usize == rank))
    };
    (0..ranks).map(|rank| one(rank, room)).collect()
}

fn by_worker(replays: &Replays<'_>, step: usize, room: &mut Room) -> Vec<i64> {
    let (job, columns) = (replays.job, replays.job.steps[step].columns as usize);
    let per_column = job.workers.len() / columns;
    let mut slowed = vec![0; job.workers.len()];
    for own in 0..per_column {
        let spans = replays.each_column(step, room, &|at: &At<'_>| at.real_if(at.op.worker as usize == own));
        spans.iter().enumerate().for_each(|(column, span)| slowed[column * per_column + own] = *span);
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
    let workers = workers(job, |worker| ratio(over(&|step| step.by_worker[worker]), ideal));
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
    Answers {
        workers_recorded: order.len(),
        steps: steps.len(),
        stages,
        dp_ranks: dp_ranks(job),
        operations: job.start.len(),
        step_seconds: recorded / 1e12,
        replayed_seconds: real / 1e12,
        ideal_seconds: ideal / 1e12,
        s,
        s_interval: interval(steps),
        s_stage_pooled: ratio(real, stage_ideal),
        partition: ratio(stage_ideal, ideal),
        replay_error: 1.0 - ratio(real, recorded),
        by_step: (job.steps.iter().zip(steps))
            .map(|(step, of)| (step.number, ratio(of.real as f64, of.ideal as f64)))
            .collect(),
        by_stage: named(numbered(stages), &|step| &step.by_stage),
        by_dp_rank: named(numbered(dp_ranks(job)), &|step| &step.by_dp_rank),
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
        causes: found.causes,
        split: found.split,
        notes: job.notes.clone(),
    }
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

struct Mending<'a> {
    replays: &'a Replays<'a>,
    real: f64,
    ideal: f64,
    recorded: usize,
}

impl Mending<'_> {
    /// So many of the recorded workers.
    fn share(&self, count: usize) -> f64 {
        count as f64 / self.recorded.max(1) as f64
    }

    fn rem(&self, without: f64) -> Option<f64> {
        let lost = self.real - self.ideal;
        (lost > 0.0).then(|| (self.real - without) / lost)
    }

    /// The mean step with some workers ideal, or real while all others are ideal.
    fn with(&self, chosen: &[usize], real: bool) -> f64 {
        let mut is_chosen = vec![false; self.replays.job.workers.len()];
        chosen.iter().for_each(|&place| is_chosen[place] = true);
        mean(&self.replays.all(|_, at| at.real_if(is_chosen[at.worker] == real)))
    }

    fn of(&self, chosen: &[usize], named: bool) -> Mended {
        let workers = &self.replays.job.workers;
        let (without, with_only) = (self.with(chosen, false), self.with(chosen, true));
        let (rem, lost) = (self.rem(without), self.real - self.ideal);
        let add = (lost > 0.0).then(|| (with_only - self.ideal) / lost);
        let ranks = chosen.iter().map(|&place| workers[place].rank);
        Mended {
            rem,
            add,
            interaction: add.zip(rem).map(|(add, rem)| add - rem),
            seconds_without: without / 1e12,
            seconds_with_only: with_only / 1e12,
            workers: chosen.len(),
            share: self.share(chosen.len()),
            ranks: if named { ranks.collect() } else { Vec::new() },
        }
    }

    /// 1, 2, 3, 4, 6, 8, 12, 16, … workers, until hardly anything is left to win.
    fn curve(&self, order: &[usize]) -> Vec<CurvePoint> {
        let mut points = Vec::new();
        let mut count = 1;
        while count <= order.len() && self.real > self.ideal {
            let without = self.with(&order[..count], false);
            let rem = self.rem(without);
            points.push(CurvePoint {
                workers: count,
                share: self.share(count),
                rem,
                seconds: without / 1e12,
            });
            if rem.is_some_and(|rem| rem >= MOST_OF_IT) || count == order.len() {
                break;
            }
            let next = if count.is_power_of_two() {
                count + count.div_ceil(2)
            } else {
                (count + 1).next_power_of_two()
            };
            count = next.min(order.len());
        }
        points
    }
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
