//! Recursive doubling: in round k, ranks whose numbers differ in bit k exchange the reductions of
//! their groups of 2^k; the upper rank also combines what it receives into its result. This is
//! MPICH's method; prefix sums in parallel steps go back to Hillis and Steele (1986).
//!
//! A rank whose partner does not exist skips the round: missing ranks are above it, and its result
//! needs only the ranks below, which are complete.

use super::{Own, PASS_ON};
use crate::collectives::{COMBINE, Job, Meaning, Take, bits, piece};
use crate::steps::{Message, Step, Steps};
use std::ops::Range;
use straggler_model::Rank;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecursiveDoubling {
    own: Own,
    job: Job,
}

impl RecursiveDoubling {
    pub fn new(job: &Job, own: Own) -> RecursiveDoubling {
        RecursiveDoubling { own, job: job.clone() }
    }

    /// The bits for which the rank has a partner: its one bits, as that partner is below it, and
    /// its zero bits as long as there are ranks that far above.
    #[inline(always)]
    fn bits(&self, rank: Rank) -> u32 {
        let above = self.job.processes - 1 - rank;
        rank | ((1u64 << bits(above)) - 1) as u32
    }

    /// The bit of a stage.
    #[inline(always)]
    fn bit(&self, rank: Rank, stage: u32) -> u32 {
        let left = (0..stage).fold(self.bits(rank), |bits, _| bits & (bits - 1));
        left & left.wrapping_neg()
    }

    /// Number of vectors that the rank combines in a step: one for the data it passes on, and one
    /// for the result if the message comes from below. In an exclusive scan, the first message from
    /// below is the result so far and needs no combining.
    #[inline(always)]
    fn combined(&self, rank: Rank, bit: u32) -> u64 {
        let from_below = rank & bit != 0;
        let first = rank & (bit - 1) == 0 && self.own == Own::LeftOut;
        1 + u64::from(from_below && !first)
    }
}

impl Steps for RecursiveDoubling {
    fn processes(&self) -> u32 {
        self.job.processes
    }

    #[inline]
    fn stages(&self, rank: Rank) -> u32 {
        self.bits(rank).count_ones()
    }

    #[inline]
    fn step(&self, rank: Rank, stage: u32) -> Step {
        let (bit, bytes) = (self.bit(rank, stage), self.job.vector());
        let message = Message { peer: rank ^ bit, tag: bit.trailing_zeros(), bytes };
        let combined = bytes.saturating_mul(self.combined(rank, bit));
        Step::exchange(message, message).after(self.job.cost(combined))
    }

    fn largest_message(&self) -> u64 {
        if self.job.processes == 1 { 0 } else { self.job.vector() }
    }

    /// Two messages for every pair of ranks that differ in one bit.
    fn messages(&self) -> u64 {
        let all = u64::from(self.job.processes);
        let upper = |bit: u32| {
            let turn = 2u64 << bit;
            all / turn * (turn / 2) + (all % turn).saturating_sub(turn / 2)
        };
        2 * (0..bits(self.job.processes - 1)).map(upper).sum::<u64>()
    }
}

impl Meaning for RecursiveDoubling {
    fn carries(&self, _: Rank, _: u32) -> Vec<Range<u64>> {
        piece(0..self.job.vector())
    }

    fn takes(&self, rank: Rank, stage: u32) -> &'static [Take] {
        if rank & self.bit(rank, stage) != 0 { PASS_ON } else { COMBINE }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partners_that_do_not_exist_are_left_out() {
        let steps = RecursiveDoubling::new(&Job::new(6, 8), Own::Included);
        let partners = |rank| -> Vec<Rank> {
            (0..steps.stages(rank)).map(|stage| steps.step(rank, stage).send.unwrap().peer).collect()
        };
        assert_eq!(partners(1), [0, 3, 5]);
        assert_eq!(partners(2), [3, 0]);
        assert_eq!(partners(5), [4, 1]);
    }
}
