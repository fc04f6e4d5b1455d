//! Binomial tree: the tree of the broadcast in the opposite direction, last round first.

use crate::collectives::{COMBINE, Job, Meaning, Take, bcast};
use crate::steps::{Step, Steps};
use std::ops::Range;
use straggler_model::{Rank, Time};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Binomial {
    mirrored: bcast::Binomial,
    reduction: Time,
}

impl Binomial {
    pub fn new(job: &Job) -> Binomial {
        Binomial { mirrored: bcast::Binomial::new(job), reduction: job.cost(job.vector()) }
    }
}

impl Steps for Binomial {
    fn processes(&self) -> u32 {
        self.mirrored.processes()
    }

    #[inline]
    fn stages(&self, rank: Rank) -> u32 {
        self.mirrored.stages(rank)
    }

    #[inline]
    fn step(&self, rank: Rank, stage: u32) -> Step {
        let step = self.mirrored.step(rank, self.stages(rank) - 1 - stage);
        let mirrored = Step { send: step.recv, recv: step.send, ..step };
        if mirrored.recv.is_some() { mirrored.after(self.reduction) } else { mirrored }
    }

    fn largest_message(&self) -> u64 {
        self.mirrored.largest_message()
    }

    fn messages(&self) -> u64 {
        self.mirrored.messages()
    }
}

impl Meaning for Binomial {
    fn carries(&self, rank: Rank, stage: u32) -> Vec<Range<u64>> {
        self.mirrored.carries(rank, stage)
    }

    fn takes(&self, _: Rank, _: u32) -> &'static [Take] {
        COMBINE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_send_first() {
        let steps = Binomial::new(&Job { root: 2, ..Job::new(8, 8) });
        // Rank 3 is place 1: it receives from places 5 and 3, then sends to the root.
        let of_3: Vec<Step> = (0..steps.stages(3)).map(|stage| steps.step(3, stage)).collect();
        assert_eq!(of_3[0].recv.unwrap().peer, 7);
        assert_eq!(of_3[1].recv.unwrap().peer, 5);
        assert_eq!(of_3[2].send.unwrap().peer, 2);
        assert_eq!(of_3.len(), 3);
    }
}
