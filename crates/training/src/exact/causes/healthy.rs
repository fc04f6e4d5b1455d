//! The times of workers and links as they would be without faults.

use super::super::{Replays, TimedOp, mean};
use super::CauseSearch;
use crate::Role;

/// The times of healthy workers and links.
#[allow(missing_debug_implementations, reason = "it is built and asked, never shown")]
pub struct Healthy<'a> {
    looking: CauseSearch<'a>,
    /// By step, then by stage and kind: the computing time of typical workers.
    typical: Vec<Vec<f64>>,
    slow_with_all: Vec<bool>,
}

impl<'a> Healthy<'a> {
    pub fn new(replays: &'a Replays<'a>) -> Healthy<'a> {
        let looking = CauseSearch::at(replays, mean(&replays.all(|_, at| at.real())));
        let (typical, slow_with_all) = (looking.facts.typical_by_step(replays.job), looking.slow_with_all());
        Healthy { looking, typical, slow_with_all }
    }

    /// The times of an operation that is not a transfer, if its worker is as fast as the typical ones of its stage: in the same
    /// step, or before the whole stage became slower.
    pub fn times(&self, step: usize, at: &TimedOp<'_>) -> (i64, i64) {
        let Replays { job, stage_ideal, .. } = self.looking.replays;
        let kind = at.op.kind as usize;
        let own = self.looking.replays.once_usual(step, at).unwrap_or(at.takes);
        let takes = match job.kinds[kind].role {
            Role::Communication => at.takes,
            Role::Compute => {
                let slower = self.looking.facts.times_typical(&self.typical, step, at.worker, kind);
                (own as f64 / (slower * self.looking.risen(step, job.workers[at.worker].stage as usize)))
                    as i64
            }
            Role::Other => own.min(stage_ideal.takes(job.workers[at.worker].stage, at.op)),
        };
        (takes, at.delay.min(at.ideal_delay))
    }

    /// The duration of a transfer if its link is healthy. Unchanged if not all members were recorded.
    pub fn transfer(&self, step: usize, at: &TimedOp<'_>) -> i64 {
        let Replays { job, links, .. } = self.looking.replays;
        let column = at.worker / (job.workers.len() / job.steps[step].columns as usize);
        match links.link(job, step, at.place, column) {
            Some(_) => at.takes.min(self.looking.usual[at.op.kind as usize].takes),
            None => at.takes,
        }
    }

    /// Whether a worker is to blame for slow transfers of a group with this many members. All members of a collective end
    /// together, so only messages show whose fault it is.
    pub fn is_blamed(&self, worker: usize, members: usize) -> bool {
        members == 2 || self.slow_with_all[worker]
    }
}
