//! Dissemination (Hensgen, Finkel and Manber 1988): in round k everyone sends to the rank 2^k after
//! it and receives from the rank 2^k before it, for any number of processes.

use crate::collectives::{COMBINE, Job, Meaning, Take, add_modulo, bits, piece, subtract_modulo};
use crate::steps::{Message, Step, Steps, Symmetry};
use std::ops::Range;
use straggler_model::{Rank, Time};

/// Allreduce by dissemination.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dissemination {
    processes: u32,
    rounds: u32,
    bytes: u64,
    reduction: Time,
}

impl Dissemination {
    pub fn new(job: &Job) -> Dissemination {
        let bytes = job.vector();
        let rounds = bits(job.processes.saturating_sub(1));
        Dissemination { processes: job.processes, rounds, bytes, reduction: job.cost(bytes) }
    }

    /// Number of rounds, the same for every rank.
    pub fn rounds(&self) -> u32 {
        self.rounds
    }
}

impl Steps for Dissemination {
    fn processes(&self) -> u32 {
        self.processes
    }

    #[inline]
    fn stages(&self, _rank: Rank) -> u32 {
        self.rounds
    }

    #[inline]
    fn step(&self, rank: Rank, stage: u32) -> Step {
        let distance = 1 << stage;
        let message = |peer| Message { peer, tag: stage, bytes: self.bytes };
        Step::exchange(
            message(add_modulo(rank, distance, self.processes)),
            message(subtract_modulo(rank, distance, self.processes)),
        )
        .after(self.reduction)
    }

    fn largest_message(&self) -> u64 {
        if self.rounds == 0 { 0 } else { self.bytes }
    }

    fn symmetry(&self) -> Symmetry {
        Symmetry::Shifted
    }

    fn messages(&self) -> u64 {
        u64::from(self.processes) * u64::from(self.rounds)
    }
}

impl Meaning for Dissemination {
    fn carries(&self, _: Rank, _: u32) -> Vec<Range<u64>> {
        piece(0..self.bytes)
    }

    fn takes(&self, _: Rank, _: u32) -> &'static [Take] {
        COMBINE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_ranks_take_three_rounds() {
        let steps = Dissemination::new(&Job::new(5, 8));
        let peers = |rank, stage| {
            let step = steps.step(rank, stage);
            (step.send.unwrap().peer, step.recv.unwrap().peer)
        };
        assert_eq!(steps.stages(0), 3);
        assert_eq!([peers(0, 0), peers(0, 1), peers(0, 2)], [(1, 4), (2, 3), (4, 1)]);
        assert_eq!([peers(4, 0), peers(4, 1), peers(4, 2)], [(0, 3), (1, 2), (3, 0)]);
    }

    #[test]
    fn the_largest_number_of_processes_does_not_overflow() {
        let steps = Dissemination::new(&Job::new(1 << 31, 8));
        let step = steps.step((1 << 31) - 1, 30);
        assert_eq!(steps.rounds(), 31);
        assert_eq!((step.send.unwrap().peer, step.recv.unwrap().peer), ((1 << 30) - 1, (1 << 30) - 1));
    }
}
