//! Tournament: ranks are paired as the players of a chess tournament, and exchange their blocks
//! (Tabe, Hardwick and Stout, *Statistical Analysis of Communication Time on the IBM SP2*, figure 2). Among
//! an odd number of ranks one sits out every step: it just goes on to its next.

use super::{bytes, largest, pairs, range};
use crate::collectives::{CollectiveError, Job, Meaning, Name, PLACE, Take, at_most};
use crate::steps::{MOST_STAGES, Message, Step, Steps};
use crate::tournament::partner;
use std::ops::Range;
use straggler_model::Rank;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tournament {
    job: Job,
}

impl Tournament {
    pub fn new(job: &Job) -> Result<Tournament, CollectiveError> {
        at_most(Name::Tournament, job.processes, MOST_STAGES)?;
        Ok(Tournament { job: job.clone() })
    }

    /// The step of the tournament, and the partner in it. Rank r would sit out step r.
    #[inline(always)]
    fn meeting(&self, rank: Rank, stage: u32) -> (u32, Rank) {
        let odd = !self.job.processes.is_multiple_of(2);
        let step = stage + u32::from(odd && stage >= rank);
        // There is a partner in every step that is not sat out.
        (step, partner(self.job.processes, rank, step).unwrap_or(rank))
    }
}

impl Steps for Tournament {
    fn processes(&self) -> u32 {
        self.job.processes
    }

    #[inline]
    fn stages(&self, _rank: Rank) -> u32 {
        self.job.processes - 1
    }

    #[inline]
    fn step(&self, rank: Rank, stage: u32) -> Step {
        let (tag, peer) = self.meeting(rank, stage);
        Step::exchange(
            Message { peer, tag, bytes: bytes(&self.job, rank, peer) },
            Message { peer, tag, bytes: bytes(&self.job, peer, rank) },
        )
    }

    fn largest_message(&self) -> u64 {
        largest(&self.job)
    }

    fn messages(&self) -> u64 {
        pairs(self.job.processes)
    }
}

impl Meaning for Tournament {
    fn carries(&self, rank: Rank, stage: u32) -> Vec<Range<u64>> {
        vec![range(&self.job, rank, self.meeting(rank, stage).1)]
    }

    fn takes(&self, _: Rank, _: u32) -> &'static [Take] {
        PLACE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_sits_out_goes_on_to_the_next_step() {
        let steps = Tournament::new(&Job::new(5, 8)).unwrap();
        let of_1: Vec<(u32, Rank)> = (0..4).map(|stage| steps.meeting(1, stage)).collect();
        assert_eq!(of_1, [(0, 4), (2, 3), (3, 0), (4, 2)]);
    }
}
