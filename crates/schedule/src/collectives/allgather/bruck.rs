//! Bruck's algorithm (Bruck, Ho, Kipnis, Upfal and Weathersby 1997): before the round of distance d
//! a rank has d blocks, starting with its own, and sends them to the rank d before it. It takes log
//! P rounds for any number of processes; the last round sends only the missing blocks.
//!
//! With radix k, a round has k - 1 distances, and the number of known blocks grows k-fold.

use crate::collectives::hops::{Hop, Hops};
use crate::collectives::{CollectiveError, Job, Meaning, Name, PLACE, Take, add_modulo, subtract_modulo};
use crate::steps::{Message, Step, Steps};
use std::ops::Range;
use straggler_model::Rank;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bruck {
    job: Job,
    hops: Hops,
}

impl Bruck {
    pub fn new(job: &Job, radix: Option<u32>) -> Result<Bruck, CollectiveError> {
        Ok(Bruck { job: job.clone(), hops: Hops::new(Name::Bruck, job.processes, radix)? })
    }

    /// Number of blocks to send: all that the rank has, or as many as the receiver lacks.
    #[inline(always)]
    fn count(&self, hop: Hop) -> u32 {
        hop.distance.min(self.job.processes - hop.shift)
    }

    #[inline(always)]
    fn bytes(&self, rank: Rank, count: u32) -> u64 {
        self.job.sizes.cyclic(rank.into(), count.into(), self.job.processes.into())
    }
}

impl Steps for Bruck {
    fn processes(&self) -> u32 {
        self.job.processes
    }

    #[inline]
    fn stages(&self, _rank: Rank) -> u32 {
        self.hops.stages()
    }

    #[inline]
    fn step(&self, rank: Rank, stage: u32) -> Step {
        let hop = self.hops.at(stage);
        let count = self.count(hop);
        let message = |peer, from| Message { peer, tag: stage, bytes: self.bytes(from, count) };
        let to = subtract_modulo(rank, hop.shift, self.job.processes);
        let from = add_modulo(rank, hop.shift, self.job.processes);
        let step = Step::exchange(message(to, rank), message(from, from));
        if hop.closes.is_some() { step } else { step.go() }
    }

    /// A run of blocks contains all shorter runs, so only the longest ones can be the largest message.
    fn largest_message(&self) -> u64 {
        let all = self.job.processes;
        let counts = self.hops.distances().map(|distance| distance.min(all - distance));
        let most = counts.max().unwrap_or(0);
        let ranks = if self.job.sizes.is_uniform() { 1 } else { all };
        (0..ranks).map(|rank| self.bytes(rank, most)).max().unwrap_or(0)
    }

    fn overlaps(&self) -> bool {
        self.hops.overlap()
    }

    fn messages(&self) -> u64 {
        u64::from(self.job.processes) * u64::from(self.hops.stages())
    }
}

impl Meaning for Bruck {
    fn carries(&self, rank: Rank, stage: u32) -> Vec<Range<u64>> {
        self.job.blocks_from(rank, self.count(self.hops.at(stage)))
    }

    fn takes(&self, _: Rank, _: u32) -> &'static [Take] {
        PLACE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_round_sends_what_is_missing() {
        let steps = Bruck::new(&Job::new(6, 10), None).unwrap();
        let of_1 = |stage| steps.step(1, stage).send.map(|m| (m.peer, m.bytes)).unwrap();
        assert_eq!([of_1(0), of_1(1), of_1(2)], [(0, 10), (5, 20), (3, 20)]);
        // Blocks 5, 0, 1 and 2, except those that the receiver already has.
        assert_eq!(steps.carries(5, 2), [50..60, 0..10]);
    }
}
