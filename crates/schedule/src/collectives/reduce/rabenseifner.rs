//! Rabenseifner's reduce (2004, "Optimization of collective reduction operations"): recursive halving
//! scatters the reduction, a binomial tree gathers it at the root. About 2·log2 P rounds, and at most
//! twice the vector over every rank's network port, whatever P is.
//!
//! Ranks are counted from the root as places. With P = 2^m + r processes, the first 2r places fold in pairs:
//! the odd one hands its vector to the even one and is done. The remaining places are renumbered.

use crate::collectives::sizes::Split;
use crate::collectives::tree::{Contiguous, Neighbours, Tree};
use crate::collectives::{COMBINE, Job, Meaning, PLACE, Take, add_modulo, piece, subtract_modulo};
use crate::steps::{Message, Step, Steps};
use std::ops::Range;
use straggler_model::Rank;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rabenseifner {
    job: Job,
    /// m, the number of halving rounds.
    rounds: u32,
    /// 2r: places below it fold in pairs.
    folded: u32,
    /// One part for each of the 2^m remaining places.
    parts: Split,
    gather: Contiguous,
}

/// What a place does in a stage. Numbers are those of the remaining places.
enum Does {
    FoldInto,
    TakeFold,
    /// Sends the parts in the first range and keeps those in the second.
    Halve {
        partner: u32,
        sends: Range<u32>,
        keeps: Range<u32>,
    },
    Receive {
        child: u32,
    },
    Send {
        number: u32,
    },
}

impl Rabenseifner {
    pub fn new(job: &Job) -> Rabenseifner {
        let rounds = job.processes.ilog2();
        let remain = 1 << rounds;
        Rabenseifner {
            job: job.clone(),
            rounds,
            folded: 2 * (job.processes - remain),
            parts: Split::new(job.vector(), remain),
            gather: Contiguous::new(remain, 2),
        }
    }

    fn place(&self, rank: Rank) -> u32 {
        subtract_modulo(rank, self.job.root, self.job.processes)
    }

    /// The rank with a number.
    fn rank(&self, number: u32) -> Rank {
        let pairs = self.folded / 2;
        let place = if number < pairs { 2 * number } else { number + pairs };
        add_modulo(place, self.job.root, self.job.processes)
    }

    fn number(&self, place: u32) -> u32 {
        if place < self.folded { place / 2 } else { place - self.folded / 2 }
    }

    fn does(&self, place: u32, stage: u32) -> Does {
        let is_folded = place < self.folded;
        if is_folded && stage == 0 {
            return if place % 2 == 1 { Does::FoldInto } else { Does::TakeFold };
        }
        let (number, stage) = (self.number(place), stage - u32::from(is_folded));
        let Some(gathers) = stage.checked_sub(self.rounds) else {
            return self.halve(number, stage);
        };
        // Small subtrees are ready first, so they are received first.
        match self.gather.children(number).checked_sub(gathers + 1) {
            Some(index) => Does::Receive { child: self.gather.child(number, index) },
            None => Does::Send { number },
        }
    }

    /// In round j partners differ in bit m - 1 - j; each keeps the half with its own part.
    fn halve(&self, number: u32, round: u32) -> Does {
        let half = 1 << (self.rounds - 1 - round);
        let partner = number ^ half;
        let run = |of: u32| of & !(half - 1)..(of & !(half - 1)) + half;
        Does::Halve { partner, sends: run(partner), keeps: run(number) }
    }

    /// The parts gathered from a number: its own and those of its subtree.
    fn gathered(&self, number: u32) -> Range<u64> {
        self.parts.range(number..number + self.gather.below(number))
    }

    fn message(&self, number: u32, tag: u32, bytes: &Range<u64>) -> Message {
        Message { peer: self.rank(number), tag, bytes: bytes.end - bytes.start }
    }

    fn whole(&self) -> Range<u64> {
        0..self.job.vector()
    }
}

/// Tags of folding and gathering; the halving uses the round as its tag.
const FOLD: u32 = 100;
const GATHER: u32 = 101;

impl Steps for Rabenseifner {
    fn processes(&self) -> u32 {
        self.job.processes
    }

    fn stages(&self, rank: Rank) -> u32 {
        let place = self.place(rank);
        if place < self.folded && place % 2 == 1 {
            return 1;
        }
        let number = self.number(place);
        let fold = u32::from(place < self.folded);
        fold + self.rounds + self.gather.children(number) + u32::from(number != 0)
    }

    fn step(&self, rank: Rank, stage: u32) -> Step {
        let place = self.place(rank);
        match self.does(place, stage) {
            Does::FoldInto => Step::send(self.message(self.number(place), FOLD, &self.whole())),
            Does::TakeFold => {
                let peer = add_modulo(rank, 1, self.job.processes);
                let bytes = self.job.vector();
                Step::recv(Message { peer, tag: FOLD, bytes }).after(self.job.cost(bytes))
            }
            Does::Halve { partner, sends, keeps } => {
                let tag = self.parts.parts().trailing_zeros() - (sends.end - sends.start).trailing_zeros();
                let keeps = self.message(partner, tag, &self.parts.range(keeps));
                let sends = self.message(partner, tag, &self.parts.range(sends));
                Step::exchange(sends, keeps).after(self.job.cost(keeps.bytes))
            }
            Does::Receive { child } => Step::recv(self.message(child, GATHER, &self.gathered(child))),
            Does::Send { number } => {
                Step::send(self.message(self.gather.parent(number), GATHER, &self.gathered(number)))
            }
        }
    }

    fn largest_message(&self) -> u64 {
        match (self.folded, self.rounds) {
            (0, 0) => 0,
            (0, _) => self.parts.start(self.parts.parts() / 2),
            _ => self.job.vector(),
        }
    }

    fn messages(&self) -> u64 {
        let remain = u64::from(self.parts.parts());
        u64::from(self.folded / 2) + remain * u64::from(self.rounds) + remain - 1
    }
}

impl Meaning for Rabenseifner {
    fn carries(&self, rank: Rank, stage: u32) -> Vec<Range<u64>> {
        piece(match self.does(self.place(rank), stage) {
            Does::Halve { sends, .. } => self.parts.range(sends),
            Does::Send { number } => self.gathered(number),
            _ => self.whole(),
        })
    }

    fn takes(&self, rank: Rank, stage: u32) -> &'static [Take] {
        match self.does(self.place(rank), stage) {
            Does::Receive { .. } => PLACE,
            _ => COMBINE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_of_a_power_of_two_sends_less_than_twice_the_vector() {
        // Thakur, Rabenseifner and Gropp 2005: 2·log2 P rounds and 2·n·(P - 1)/P bytes at the busiest
        // rank, the root: it sends and receives its share of the halving and receives the gather.
        let steps = Rabenseifner::new(&Job { root: 3, ..Job::new(16, 1600) });
        let root: Vec<Step> = (0..steps.stages(3)).map(|stage| steps.step(3, stage)).collect();
        assert_eq!(root.len(), 8);
        assert_eq!(root.iter().filter_map(|step| step.recv).map(|m| m.bytes).sum::<u64>(), 2 * 1500);
        assert_eq!(root.iter().filter_map(|step| step.send).map(|m| m.bytes).sum::<u64>(), 1500);
    }
}
