//! Who held a job up: every step replayed on its own graph with some times as they were and the others ideal.
//!
//! ```text
//! Job ─► StepTimes (takes, launch delays) ─► Ideal (a typical worker) ─► replays ─► Answers
//!                                                                       └─► what-ifs of causes ─► Cause, by gain
//! ```
//! Times are whole picoseconds: the same job gives the same answers on any number of threads.

mod answers;
mod by_kind;
mod causes;
mod links;
mod mending;
mod pictures;
mod pools;
mod replay;
mod times;

pub use answers::{Answers, Distrust, Slowdowns, WorkerAnswer, analyse};
pub use causes::{Cause, CauseKind, Split};
pub use mending::{CurvePoint, Mended};
pub use pictures::{Bar, bars, slowness};
pub use pools::{Ideal, Pool};
pub(crate) use replay::replay_disturbed;
pub use replay::{Meet, Room, replay};
pub use times::{Cut, StepTimes, times};

use crate::{Job, Op};
use by_kind::ByKind;
use links::Links;
use rayon::prelude::*;

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum AnalysisError {
    #[error("the job has no steps")]
    Empty,
    #[error("step {step}: the operations take longer than 50 days together: are the times in seconds?")]
    TooLong { step: i64 },
}

/// The most that the longest of all columns may take together for the operations of a step, in picoseconds: then no path through
/// it takes more.
const LONGEST: i128 = 1 << 62;

/// A job with its times, ready for replays.
#[derive(Debug)]
pub struct Replays<'a> {
    pub job: &'a Job,
    pub times: Vec<StepTimes>,
    pub ideal: Ideal,
    /// Compared with the same stage only.
    pub stage_ideal: Ideal,
    links: Links,
    by_kind: ByKind,
    /// Picoseconds of a worker and step in the mean that it waited for something that was not recorded.
    pub unexplained: f64,
    /// The kind of operation that most of it is before, where there is any.
    pub unexplained_before: Option<usize>,
}

/// An operation of a worker in a step, and its times.
#[derive(Clone, Copy, Debug)]
pub struct At<'a> {
    pub op: &'a Op,
    /// Its place in the shape of the step.
    pub place: usize,
    /// The place of its worker in the job.
    pub worker: usize,
    pub takes: i64,
    pub delay: i64,
    pub ideal_takes: i64,
    pub ideal_delay: i64,
}

impl At<'_> {
    pub fn real(&self) -> (i64, i64) {
        (self.takes, self.delay)
    }

    pub fn ideal(&self) -> (i64, i64) {
        (self.ideal_takes, self.ideal_delay)
    }

    /// As it was where something holds, ideal where not.
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
        let links = Links::of(job);
        let by_kind = ByKind::of(job);
        let ideal = Ideal::of(job, &times, &by_kind, Pool::Kind);
        let stage_ideal = Ideal::of(job, &times, &by_kind, Pool::KindAndStage);
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
        Ok(Replays { job, times, ideal, stage_ideal, links, by_kind, unexplained, unexplained_before })
    }

    /// How long a step takes with the times that are chosen.
    pub fn step(&self, step: usize, room: &mut Room, choose: &impl Fn(&At<'_>) -> (i64, i64)) -> i64 {
        self.fill(step, room, Meet::All, choose);
        let columns = self.job.steps[step].columns as usize;
        replay(self.job, self.job.shape(step), columns, Meet::All, room)[0]
    }

    /// How long a step takes if only one column has the times that are chosen, and all others are ideal: for every column.
    pub fn each_column(
        &self,
        step: usize,
        room: &mut Room,
        choose: &impl Fn(&At<'_>) -> (i64, i64),
    ) -> Vec<i64> {
        let columns = self.job.steps[step].columns as usize;
        if columns == 1 {
            return vec![self.step(step, room, choose)];
        }
        self.fill(step, room, Meet::InPairs, choose);
        replay(self.job, self.job.shape(step), 2 * columns, Meet::InPairs, room)
    }

    /// Puts times into the room, for pairs the ideal ones behind those of all columns.
    pub(crate) fn fill(
        &self,
        step: usize,
        room: &mut Room,
        meet: Meet,
        choose: &impl Fn(&At<'_>) -> (i64, i64),
    ) {
        let (job, times) = (self.job, &self.times[step]);
        let (shape, columns) = (job.shape(step), job.steps[step].columns as usize);
        let per_column = job.workers.len() / columns;
        let rows = if meet == Meet::InPairs { 2 * columns } else { columns };
        room.takes.resize(shape.ops.len() * rows, 0);
        room.delays.resize(shape.ops.len() * rows, 0);
        room.carried.clone_from(&times.carried);
        room.absent.clear();
        let rooms = room.takes.chunks_exact_mut(rows).zip(room.delays.chunks_exact_mut(rows));
        for ((place, op), (room_takes, room_delays)) in shape.ops.iter().enumerate().zip(rooms) {
            let stage = job.workers[job.worker(step, 0, place)].stage;
            let (ideal_takes, ideal_delay) = (self.ideal.takes(stage, op), self.ideal.delay(op));
            let range = place * columns..(place + 1) * columns;
            let (own_takes, ideal) = room_takes.split_at_mut(columns);
            ideal.fill(ideal_takes);
            let (own_delays, ideal) = room_delays.split_at_mut(columns);
            ideal.fill(ideal_delay);
            let own = own_takes.iter_mut().zip(own_delays);
            let all = times.takes[range.clone()].iter().zip(&times.delays[range]);
            for (column, ((&takes, &delay), own)) in all.zip(own).enumerate() {
                let worker = column * per_column + op.worker as usize;
                (*own.0, *own.1) = choose(&At { op, place, worker, takes, delay, ideal_takes, ideal_delay });
            }
        }
    }

    /// Every step with the times that are chosen, which may differ from step to step.
    pub fn all(&self, choose: impl Fn(usize, &At<'_>) -> (i64, i64) + Sync) -> Vec<i64> {
        self.all_told(choose, &|| {})
    }

    /// The same, and tells of every step that is done.
    pub fn all_told(
        &self,
        choose: impl Fn(usize, &At<'_>) -> (i64, i64) + Sync,
        done: &(dyn Fn() + Sync),
    ) -> Vec<i64> {
        let one = |room: &mut Room, step: usize| {
            let takes = self.step(step, room, &|at: &At<'_>| choose(step, at));
            done();
            takes
        };
        (0..self.job.steps.len()).into_par_iter().map_init(Room::default, one).collect()
    }
}

impl Replays<'_> {
    /// Some of the steps, every so many, with the times that are chosen.
    pub fn every(&self, many: usize, choose: impl Fn(usize, &At<'_>) -> (i64, i64) + Sync) -> Vec<i64> {
        let one = |room: &mut Room, step: usize| self.step(step, room, &|at: &At<'_>| choose(step, at));
        (0..self.job.steps.len()).into_par_iter().step_by(many).map_init(Room::default, one).collect()
    }

    /// The job with the times that are chosen: what its recording would be.
    pub fn changed(&self, choose: impl Fn(usize, &At<'_>) -> (i64, i64) + Sync) -> Job {
        let mut job = self.job.clone();
        let mut room = Room::default();
        for step in 0..job.steps.len() {
            self.step(step, &mut room, &|at: &At<'_>| choose(step, at));
            record(&mut job, step, &room);
        }
        job
    }
}

/// Puts the times of a step that was replayed into a job of the same shape.
pub(crate) fn record(job: &mut Job, step: usize, room: &Room) {
    let Job { shapes, steps, start, duration, .. } = job;
    let (shape, columns) = (&shapes[steps[step].shape as usize], steps[step].columns as usize);
    let (ops, first) = (shape.ops.len(), steps[step].first);
    for (op, column) in (0..ops).flat_map(|op| (0..columns).map(move |column| (op, column))) {
        let before = shape.graph.before.of(op).iter();
        let ready = before.map(|&before| room.ends[before as usize * columns + column]).max();
        let at = op * columns + column;
        let begins = ready.unwrap_or(0).saturating_add(room.delays[at]);
        start[first + column * ops + op] = begins;
        duration[first + column * ops + op] = room.ends[at] - begins;
    }
}

/// Delays that are not the host's become the usual ones. Returns what they were longer, by kind.
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
