//! Recursive doubling: in round k, ranks whose numbers differ in bit k exchange their data.
//!
//! With P = 2^m + r processes, the first 2r ranks fold in pairs: the even rank hands its data to
//! the odd one before the rounds and gets the result after them.

use crate::collectives::{COMBINE, Job, Meaning, PLACE, Take, piece};
use crate::steps::{Message, Step, Steps, Symmetry};
use std::ops::Range;
use straggler_model::{Rank, Time};

/// Allreduce by recursive doubling.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecursiveDoubling {
    processes: u32,
    /// m, the number of doubling rounds. Their tags are 1 to m; folding uses tags 0 and m + 1.
    rounds: u32,
    /// 2r: ranks below this fold in pairs.
    folded: u32,
    bytes: u64,
    reduction: Time,
}

impl RecursiveDoubling {
    pub fn new(job: &Job) -> RecursiveDoubling {
        let (processes, bytes) = (job.processes.max(1), job.vector());
        let rounds = processes.ilog2();
        let folded = 2 * (processes - (1 << rounds));
        RecursiveDoubling { processes, rounds, folded, bytes, reduction: job.cost(bytes) }
    }

    #[inline(always)]
    fn message(&self, peer: Rank, tag: u32) -> Message {
        Message { peer, tag, bytes: self.bytes }
    }

    /// The rank that exchanges with `rank` in a round.
    #[inline(always)]
    fn partner(&self, rank: Rank, round: u32) -> Rank {
        let pairs = self.folded / 2;
        let place = if rank < self.folded { rank / 2 } else { rank - pairs };
        let partner = place ^ (1 << round);
        if partner < pairs { 2 * partner + 1 } else { partner + pairs }
    }

    /// Whether the rank takes no part in the rounds.
    #[inline(always)]
    fn rests(&self, rank: Rank) -> bool {
        rank < self.folded && rank.is_multiple_of(2)
    }
}

impl Steps for RecursiveDoubling {
    fn processes(&self) -> u32 {
        self.processes
    }

    #[inline]
    fn stages(&self, rank: Rank) -> u32 {
        if self.rests(rank) {
            2
        } else if rank < self.folded {
            self.rounds + 2
        } else {
            self.rounds
        }
    }

    #[inline]
    fn step(&self, rank: Rank, stage: u32) -> Step {
        let last = self.rounds + 1;
        if self.rests(rank) {
            return match stage {
                0 => Step::send(self.message(rank + 1, 0)),
                _ => Step::recv(self.message(rank + 1, last)),
            };
        }
        let tag = if rank < self.folded { stage } else { stage + 1 };
        if tag == 0 {
            Step::recv(self.message(rank - 1, 0)).after(self.reduction)
        } else if tag == last {
            Step::send(self.message(rank - 1, last))
        } else {
            let message = self.message(self.partner(rank, tag - 1), tag);
            Step::exchange(message, message).after(self.reduction)
        }
    }

    fn largest_message(&self) -> u64 {
        if self.processes == 1 { 0 } else { self.bytes }
    }

    fn symmetry(&self) -> Symmetry {
        if self.folded == 0 { Symmetry::Flipped } else { Symmetry::Unknown }
    }

    fn messages(&self) -> u64 {
        (u64::from(self.rounds) << self.rounds) + u64::from(self.folded)
    }
}

impl Meaning for RecursiveDoubling {
    fn carries(&self, _: Rank, _: u32) -> Vec<Range<u64>> {
        piece(0..self.bytes)
    }

    /// A resting rank receives the final result; all others combine what they receive.
    fn takes(&self, rank: Rank, _: u32) -> &'static [Take] {
        if self.rests(rank) { PLACE } else { COMBINE }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_ranks_fold_four() {
        let steps = RecursiveDoubling::new(&Job::new(6, 8));
        let partners = |rank: Rank| -> Vec<(Option<Rank>, Option<Rank>)> {
            let steps = (0..steps.stages(rank)).map(|stage| steps.step(rank, stage));
            steps.map(|step| (step.send.map(|m| m.peer), step.recv.map(|m| m.peer))).collect()
        };
        assert_eq!(partners(0), [(Some(1), None), (None, Some(1))]);
        assert_eq!(partners(1), [(None, Some(0)), (Some(3), Some(3)), (Some(4), Some(4)), (Some(0), None)]);
        assert_eq!(partners(4), [(Some(5), Some(5)), (Some(1), Some(1))]);
    }
}
