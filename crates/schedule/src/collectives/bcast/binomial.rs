//! Binomial tree: in round k, every rank that has the data (the first 2^k counted from the root)
//! sends it 2^k ranks further.

use crate::collectives::{Job, Meaning, PLACE, Take, add_modulo, bits, piece, subtract_modulo};
use crate::steps::{Message, Step, Steps};
use std::ops::Range;
use straggler_model::Rank;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Binomial {
    processes: u32,
    root: Rank,
    bytes: u64,
}

impl Binomial {
    pub fn new(job: &Job) -> Binomial {
        Binomial { processes: job.processes, root: job.root, bytes: job.vector() }
    }

    /// Number of a rank counted from the root.
    #[inline(always)]
    fn place(&self, rank: Rank) -> u32 {
        subtract_modulo(rank, self.root, self.processes)
    }

    /// Number of children of a place: one per round after it got the data, as long as the place
    /// 2^round further exists.
    #[inline(always)]
    fn children(&self, place: u32) -> u32 {
        bits(self.processes - 1 - place).saturating_sub(bits(place))
    }

    /// The message over the tree edge used in a round; `place` is the other end.
    #[inline(always)]
    fn message(&self, place: u32, round: u32) -> Message {
        Message { peer: add_modulo(place, self.root, self.processes), tag: round, bytes: self.bytes }
    }
}

impl Steps for Binomial {
    fn processes(&self) -> u32 {
        self.processes
    }

    #[inline]
    fn stages(&self, rank: Rank) -> u32 {
        let place = self.place(rank);
        u32::from(place != 0) + self.children(place)
    }

    #[inline]
    fn step(&self, rank: Rank, stage: u32) -> Step {
        let place = self.place(rank);
        let first_send = bits(place);
        if place != 0 && stage == 0 {
            let round = first_send - 1;
            return Step::recv(self.message(place - (1 << round), round));
        }
        let round = first_send + stage - u32::from(place != 0);
        Step::send(self.message(place + (1 << round), round))
    }

    fn largest_message(&self) -> u64 {
        if self.processes == 1 { 0 } else { self.bytes }
    }

    fn messages(&self) -> u64 {
        u64::from(self.processes) - 1
    }
}

impl Meaning for Binomial {
    fn carries(&self, _: Rank, _: u32) -> Vec<Range<u64>> {
        piece(0..self.bytes)
    }

    fn takes(&self, _: Rank, _: u32) -> &'static [Take] {
        PLACE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_sixteen_ranks() {
        let steps = Binomial::new(&Job { root: 0, ..Job::new(16, 8) });
        let children = |rank: Rank| -> Vec<Rank> {
            (0..steps.stages(rank)).filter_map(|stage| steps.step(rank, stage).send).map(|m| m.peer).collect()
        };
        assert_eq!(children(0), [1, 2, 4, 8]);
        assert_eq!(children(1), [3, 5, 9]);
        assert_eq!(children(3), [7, 11]);
        assert_eq!(children(6), [14]);
        assert!(children(8).is_empty());
        assert_eq!(steps.step(14, 0).recv.unwrap().peer, 6);
    }
}
