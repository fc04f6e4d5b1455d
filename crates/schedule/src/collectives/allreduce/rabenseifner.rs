//! Rabenseifner's algorithm: a reduce-scatter by recursive halving, then an allgather by recursive doubling.
//!
//! The vector is cut into 2^m parts. In round k of the reduce-scatter, partners are 2^k apart and
//! divide the run of parts that both still hold: each sends the half it gives up and combines the
//! half it keeps. So the largest messages go to the nearest ranks. The allgather goes the same way
//! back (Thakur, Rabenseifner and Gropp 2005).

use crate::collectives::Job;
use crate::collectives::fold::{Exchanges, Fold, Folded, Turn};
use crate::collectives::sizes::Split;
use std::ops::Range;
use straggler_model::Rank;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Halves {
    job: Job,
    fold: Fold,
    parts: Split,
}

/// Allreduce by Rabenseifner's algorithm.
pub type Rabenseifner = Folded<Halves>;

impl Rabenseifner {
    pub fn new(job: &Job) -> Rabenseifner {
        let fold = Fold::new(job.processes);
        Folded(Halves { job: job.clone(), fold, parts: Split::new(job.vector(), fold.places()) })
    }
}

impl Halves {
    /// The parts that a place still holds after some rounds. Bits of its number, from the lowest,
    /// select the lower half (0) or the upper half (1).
    fn kept(&self, place: u32, rounds: u32) -> Range<u64> {
        let doublings = self.fold.doublings;
        let decided = place & ((1 << rounds) - 1);
        // The lowest bit selects among the two halves of all parts, so it is worth most.
        let first = decided.reverse_bits().checked_shr(u32::BITS - doublings).unwrap_or(0);
        self.parts.range(first..first + (1 << (doublings - rounds)))
    }

    fn whole(&self) -> Range<u64> {
        0..self.job.vector()
    }
}

impl Exchanges for Halves {
    fn job(&self) -> &Job {
        &self.job
    }

    fn fold(&self) -> &Fold {
        &self.fold
    }

    fn rounds(&self) -> u32 {
        2 * self.fold.doublings
    }

    fn bit(&self, round: u32) -> u32 {
        round.min(self.rounds() - 1 - round)
    }

    fn sent(&self, place: u32, round: u32) -> Range<u64> {
        let bit = self.bit(round);
        let giving_up = round < self.fold.doublings;
        self.kept(if giving_up { place ^ (1 << bit) } else { place }, bit + 1)
    }

    fn combines(&self, turn: Turn) -> bool {
        match turn {
            Turn::HandOver => true,
            Turn::Round(round) => round < self.fold.doublings,
            Turn::GiveBack => false,
        }
    }

    fn handed_over(&self, _: Rank) -> Range<u64> {
        self.whole()
    }

    fn given_back(&self, _: Rank) -> [Range<u64>; 2] {
        [self.whole(), 0..0]
    }

    fn largest_message(&self) -> u64 {
        match (self.fold.pairs, self.fold.doublings) {
            (0, 0) => 0,
            // The first parts may be a byte longer.
            (0, _) => self.kept(0, 1).end,
            _ => self.job.vector(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Steps;

    #[test]
    fn eight_ranks_halve_and_double() {
        // Seventeen bytes in eight parts: the first has three bytes, the others two.
        let steps = Rabenseifner::new(&Job::new(8, 17));
        let of_5: Vec<(Rank, u64, u64)> = (0..6)
            .map(|stage| steps.step(5, stage))
            .map(|step| (step.send.unwrap().peer, step.send.unwrap().bytes, step.recv.unwrap().bytes))
            .collect();
        // Place 5 (binary 101) keeps parts 4 to 7, then 4 and 5, then 5.
        assert_eq!(of_5, [(4, 9, 8), (7, 4, 4), (1, 2, 2), (1, 2, 2), (7, 4, 4), (4, 8, 9)]);
    }
}
