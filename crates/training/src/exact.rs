//! Finds what slows a job down: replays every step on its own graph, with some times as recorded and the others
//! ideal.
//!
//! ```text
//! Job ─► StepTimes (takes, launch delays) ─► Ideal (a typical worker) ─► replays ─► Answers
//!                                                                       └─► what-ifs of causes ─► Cause, by gain
//! ```
//! Times are whole picoseconds: the same job gives the same answers on any number of threads.

mod accidents;
mod answers;
mod breakdown;
mod by_kind;
mod causes;
mod intervals;
mod isolated;
mod links;
mod pictures;
mod pools;
mod repairs;
mod replay;
mod times;

pub(crate) use answers::LAUNCH;
pub use answers::{Answers, Distrust, Intervals, Slowdowns, WorkerAnswer, analyse, is_doubtful};
pub use breakdown::{Breakdown, Breakdowns};
pub use causes::{
    Cause, CauseKind, Change, Evidence, Finding, Healthy, HostActivity, OperationName, OperationTime, Order,
    Period, Split, StallCost,
};
pub use pictures::{Bar, bars, slowness};
pub use pools::{Ideal, Pool};
pub use repairs::{CurvePoint, Repaired};
pub(crate) use replay::replay_disturbed;
pub use replay::{Meet, Scratch, replay};
pub use times::{Cut, StepTimes, times};

use crate::{Job, Op};
use accidents::Once;
use by_kind::ByKind;
use isolated::{Places, Ranks};
use links::Links;
use rayon::prelude::*;
use straggler_model::parallel;

/// Why a job cannot be replayed.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum AnalysisError {
    #[error("the job has no steps")]
    Empty,
    #[error("step {step}: the operations take more than 50 days in total: are the times in seconds?")]
    TooLong { step: i64 },
}

/// The limit of a step, in picoseconds: the sum over its operations of the longest time of any column. No path through the step
/// takes longer than this sum.
const LONGEST: i128 = 1 << 62;

/// A job with its times, ready for replays.
#[derive(Debug)]
pub struct Replays<'a> {
    pub job: &'a Job,
    pub times: Vec<StepTimes>,
    pub ideal: Ideal,
    /// Like `ideal`, but operations are compared within their stage only.
    pub stage_ideal: Ideal,
    links: Links,
    /// Operations that took absurdly long once.
    once: Vec<Once>,
    by_kind: ByKind,
    places: Places,
    /// By shape; `None` where ranks cannot be separated.
    ranks: Vec<Option<Ranks>>,
    /// The mean time per worker and step spent waiting for something that was not recorded, in picoseconds.
    pub unexplained: f64,
    /// The kind of operation that follows most of these waits, if there are any.
    pub unexplained_before: Option<usize>,
}

/// An operation of a worker in a step, and its times.
#[derive(Clone, Copy, Debug)]
pub struct TimedOp<'a> {
    pub op: &'a Op,
    /// Its index in the shape of the step.
    pub place: usize,
    /// The index of its worker in the job.
    pub worker: usize,
    pub takes: i64,
    pub delay: i64,
    pub ideal_takes: i64,
    pub ideal_delay: i64,
}

impl TimedOp<'_> {
    pub fn real(&self) -> (i64, i64) {
        (self.takes, self.delay)
    }

    pub fn ideal(&self) -> (i64, i64) {
        (self.ideal_takes, self.ideal_delay)
    }

    /// The recorded times if `holds`, else the ideal ones.
    pub fn real_if(&self, holds: bool) -> (i64, i64) {
        if holds { self.real() } else { self.ideal() }
    }
}

impl<'a> Replays<'a> {
    pub fn new(job: &'a Job) -> Result<Replays<'a>, AnalysisError> {
        if job.steps.is_empty() {
            return Err(AnalysisError::Empty);
        }
        let mut times = times(job);
        for (step, times) in job.steps.iter().zip(&times) {
            let longest = |list: &[i64]| i128::from(list.iter().copied().max().unwrap_or(0));
            let by_op = |list: &[i64]| -> i128 { list.chunks(step.columns as usize).map(longest).sum() };
            if by_op(&times.takes) + by_op(&times.delays) > LONGEST {
                return Err(AnalysisError::TooLong { step: step.number });
            }
        }
        let links = Links::new(job);
        let by_kind = ByKind::new(job);
        let once = accidents::find(job, &mut times, &by_kind);
        let ideal = Ideal::new(job, &times, &by_kind, Pool::Kind);
        let stage_ideal = Ideal::new(job, &times, &by_kind, Pool::KindAndStage);
        let sums: Vec<Vec<i64>> = times
            .par_iter_mut()
            .enumerate()
            .map(|(step, times)| usual_where_not_launched(job, step, times, &ideal))
            .collect();
        let means: Vec<f64> = (0..job.kinds.len())
            .map(|kind| mean(&sums.iter().map(|sums| sums[kind]).collect::<Vec<i64>>()))
            .collect();
        let unexplained = means.iter().sum::<f64>() / job.workers.len().max(1) as f64;
        let most = (0..means.len()).max_by(|&a, &b| means[a].total_cmp(&means[b]));
        let unexplained_before = most.filter(|&kind| means[kind] > 0.0);
        let places = Places::new(job);
        let ranks = isolated::ranks(job, &places);
        Ok(Replays {
            job,
            times,
            ideal,
            stage_ideal,
            links,
            once,
            by_kind,
            places,
            ranks,
            unexplained,
            unexplained_before,
        })
    }

    /// Replays a step with the times that `choose` returns. Returns its duration.
    pub fn step(&self, step: usize, room: &mut Scratch, choose: &impl Fn(&TimedOp<'_>) -> (i64, i64)) -> i64 {
        self.fill(step, room, choose);
        let columns = self.job.steps[step].columns as usize;
        replay(self.job, self.job.shape(step), columns, Meet::All, room)[0]
    }

    /// Writes the times that `choose` returns into the room.
    pub(crate) fn fill(&self, step: usize, room: &mut Scratch, choose: &impl Fn(&TimedOp<'_>) -> (i64, i64)) {
        let (job, times) = (self.job, &self.times[step]);
        let (shape, columns) = (job.shape(step), job.steps[step].columns as usize);
        let per_column = job.workers.len() / columns;
        room.takes.resize(shape.ops.len() * columns, 0);
        room.delays.resize(shape.ops.len() * columns, 0);
        room.carried.clone_from(&times.carried);
        room.absent.clear();
        let rooms = room.takes.chunks_exact_mut(columns).zip(room.delays.chunks_exact_mut(columns));
        for ((place, op), (room_takes, room_delays)) in shape.ops.iter().enumerate().zip(rooms) {
            let stage = job.workers[job.worker(step, 0, place)].stage;
            let (ideal_takes, ideal_delay) = (self.ideal.takes(stage, op), self.ideal.delay(op));
            let range = place * columns..(place + 1) * columns;
            let own = room_takes.iter_mut().zip(room_delays);
            let all = times.takes[range.clone()].iter().zip(&times.delays[range]);
            for (column, ((&takes, &delay), own)) in all.zip(own).enumerate() {
                let worker = column * per_column + op.worker as usize;
                (*own.0, *own.1) =
                    choose(&TimedOp { op, place, worker, takes, delay, ideal_takes, ideal_delay });
            }
        }
    }

    /// Replays every step with the times that `choose` returns.
    pub fn all(&self, choose: impl Fn(usize, &TimedOp<'_>) -> (i64, i64) + Sync) -> Vec<i64> {
        self.all_told(choose, &|| {})
    }

    /// Like [`Replays::all`], but calls `done` after each step.
    pub fn all_told(
        &self,
        choose: impl Fn(usize, &TimedOp<'_>) -> (i64, i64) + Sync,
        done: &(dyn Fn() + Sync),
    ) -> Vec<i64> {
        let one = |room: &mut Scratch, step: usize| {
            let takes = self.step(step, room, &|at: &TimedOp<'_>| choose(step, at));
            done();
            takes
        };
        parallel::map_with(self.job.steps.len(), Scratch::default, one)
    }
}

impl Replays<'_> {
    /// Replays every `many`-th step.
    pub fn every(&self, many: usize, choose: impl Fn(usize, &TimedOp<'_>) -> (i64, i64) + Sync) -> Vec<i64> {
        let one = |room: &mut Scratch, number: usize| {
            self.step(number * many, room, &|at: &TimedOp<'_>| choose(number * many, at))
        };
        parallel::map_with(self.job.steps.len().div_ceil(many), Scratch::default, one)
    }

    /// The job as a recording would show it, had the operations taken the times that `choose` returns.
    pub fn changed(&self, choose: impl Fn(usize, &TimedOp<'_>) -> (i64, i64) + Sync) -> Job {
        let mut job = self.job.clone();
        let mut room = Scratch::default();
        for step in 0..job.steps.len() {
            self.step(step, &mut room, &|at: &TimedOp<'_>| choose(step, at));
            record(&mut job, step, &room);
        }
        job
    }
}

/// Writes the times of a replayed step into a job of the same shape.
pub(crate) fn record(job: &mut Job, step: usize, room: &Scratch) {
    let Job { shapes, steps, start, duration, .. } = job;
    let (shape, columns) = (&shapes[steps[step].shape as usize], steps[step].columns as usize);
    let (ops, first) = (shape.ops.len(), steps[step].first);
    for (op, column) in (0..ops).flat_map(|op| (0..columns).map(move |column| (op, column))) {
        let before = shape.graph.before.get(op).iter();
        let ready = before.map(|&before| room.ends[before as usize * columns + column]).max();
        let at = op * columns + column;
        let begins = ready.unwrap_or(0).saturating_add(room.delays[at]);
        start[first + column * ops + op] = begins;
        duration[first + column * ops + op] = room.ends[at] - begins;
    }
}

/// Replaces delays that the host did not cause with the usual ones. Returns the excess, by kind.
fn usual_where_not_launched(job: &Job, step: usize, times: &mut StepTimes, ideal: &Ideal) -> Vec<i64> {
    let columns = job.steps[step].columns as usize;
    let mut longer = vec![0i64; job.kinds.len()];
    for (place, op) in job.shape(step).ops.iter().enumerate() {
        let kind = &job.kinds[op.kind as usize];
        if kind.launched || kind.posted {
            continue;
        }
        let usual = ideal.delay(op);
        for delay in &mut times.delays[place * columns..(place + 1) * columns] {
            let sum = &mut longer[op.kind as usize];
            *sum = sum.saturating_add((*delay - usual).max(0));
            *delay = usual;
        }
    }
    longer
}

/// The mean in picoseconds.
pub fn mean(values: &[i64]) -> f64 {
    values.iter().map(|&value| i128::from(value)).sum::<i128>() as f64 / values.len().max(1) as f64
}
