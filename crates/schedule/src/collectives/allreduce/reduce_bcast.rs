//! Reduction to rank 0 over a binomial tree, then broadcast over the same tree.

use crate::collectives::{Job, Meaning, Take, bcast, reduce};
use crate::steps::{Step, Steps};
use std::ops::Range;
use straggler_model::Rank;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReduceBcast {
    up: reduce::Binomial,
    down: bcast::Binomial,
}

impl ReduceBcast {
    pub fn new(job: &Job) -> ReduceBcast {
        let job = Job { root: 0, ..job.clone() };
        ReduceBcast { up: reduce::Binomial::new(&job), down: bcast::Binomial::new(&job) }
    }

    /// The part a stage belongs to, and its number there. The parts may use the same tags: over every edge
    /// one goes up, the other down.
    #[inline(always)]
    fn part(&self, rank: Rank, stage: u32) -> (&dyn Meaning, u32) {
        let up = self.up.stages(rank);
        if stage < up { (&self.up, stage) } else { (&self.down, stage - up) }
    }
}

impl Steps for ReduceBcast {
    fn processes(&self) -> u32 {
        self.down.processes()
    }

    #[inline]
    fn stages(&self, rank: Rank) -> u32 {
        self.up.stages(rank) + self.down.stages(rank)
    }

    #[inline]
    fn step(&self, rank: Rank, stage: u32) -> Step {
        let (part, stage) = self.part(rank, stage);
        part.step(rank, stage)
    }

    fn largest_message(&self) -> u64 {
        self.down.largest_message()
    }

    fn messages(&self) -> u64 {
        self.up.messages() + self.down.messages()
    }
}

impl Meaning for ReduceBcast {
    fn carries(&self, rank: Rank, stage: u32) -> Vec<Range<u64>> {
        let (part, stage) = self.part(rank, stage);
        part.carries(rank, stage)
    }

    fn takes(&self, rank: Rank, stage: u32) -> &'static [Take] {
        let (part, stage) = self.part(rank, stage);
        part.takes(rank, stage)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn up_and_down_the_same_edges() {
        // The root of an operation without one is ignored.
        let steps = ReduceBcast::new(&Job { root: 9, ..Job::new(4, 8) });
        let of_1: Vec<Step> = (0..steps.stages(1)).map(|stage| steps.step(1, stage)).collect();
        assert_eq!(of_1[0].recv.unwrap().peer, 3);
        assert_eq!(of_1[1].send.unwrap().peer, 0);
        assert_eq!(of_1[2].recv.unwrap().peer, 0);
        assert_eq!(of_1[3].send.unwrap().peer, 3);
    }
}
