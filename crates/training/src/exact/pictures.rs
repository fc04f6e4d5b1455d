//! Data for pictures of a job: computing time by worker and step, and a step next to its ideal version.

use super::{Replays, Scratch};
use crate::Role;
use straggler_model::stats::median;

/// An operation as it was replayed, in picoseconds since the step began. Waiting is not part of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bar {
    /// An index into the job's workers.
    pub worker: usize,
    pub kind: u16,
    pub stream: u16,
    pub start: i64,
    pub end: i64,
}

/// The operations of a step, with recorded or with ideal times, sorted by worker and start.
pub fn bars(replays: &Replays<'_>, step: usize, ideal: bool) -> Vec<Bar> {
    let (job, mut room) = (replays.job, Scratch::default());
    replays.step(step, &mut room, &|at| if ideal { at.ideal() } else { at.real() });
    let columns = job.steps[step].columns as usize;
    let ops = job.shape(step).ops.iter().enumerate();
    let mut bars: Vec<Bar> = ops
        .flat_map(|(place, op)| (0..columns).map(move |column| (place, op, column)))
        .filter(|&(place, _, column)| !job.is_filler(job.instance(step, column, place)))
        .map(|(place, op, column)| {
            let end = room.ends[place * columns + column];
            let start = end - room.takes[place * columns + column];
            Bar { worker: job.worker(step, column, place), kind: op.kind, stream: op.stream, start, end }
        })
        .collect();
    bars.sort_by_key(|bar| (bar.worker, bar.start, bar.end));
    bars
}

/// By worker, then by step: how long it computed, as a multiple of what is usual on its stage. NaN if it was not recorded.
pub fn slowness(replays: &Replays<'_>) -> Vec<Vec<f64>> {
    let job = replays.job;
    let mut computed = vec![vec![0i64; job.steps.len()]; job.workers.len()];
    for (step, times) in replays.times.iter().enumerate() {
        let columns = job.steps[step].columns as usize;
        for (place, op) in job.shape(step).ops.iter().enumerate() {
            if job.kinds[op.kind as usize].role != Role::Compute {
                continue;
            }
            for column in 0..columns {
                computed[job.worker(step, column, place)][step] += times.takes[place * columns + column];
            }
        }
    }
    let usual = |stage: u32| {
        let of_stage = job.workers.iter().zip(&computed).filter(|(worker, _)| worker.stage == stage);
        median(
            &mut of_stage
                .flat_map(|(_, steps)| steps.iter().copied())
                .filter(|&computed| computed > 0)
                .collect::<Vec<i64>>(),
        )
    };
    let stages: Vec<i64> = (0..job.stages() as u32).map(usual).collect();
    let takes_part: Vec<Vec<bool>> = (0..job.steps.len()).map(|step| job.takes_part(step)).collect();
    let relative = |(place, steps): (usize, &Vec<i64>)| {
        let usual = stages[job.workers[place].stage as usize].max(1) as f64;
        let steps = steps.iter().zip(&takes_part);
        steps
            .map(|(&computed, there)| if there[place] { computed as f64 / usual } else { f64::NAN })
            .collect()
    };
    computed.iter().enumerate().map(relative).collect()
}
