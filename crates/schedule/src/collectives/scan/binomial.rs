//! Binomial trees, up and down (Blelloch 1990): work proportional to the ranks, in twice as many rounds.
//!
//! If the number of a rank ends with t one bits, its group is the 2^t ranks that end with it. On
//! the way up, it receives from the ranks 2^k below it for all k < t, the last ranks of the parts
//! of its group, and so gets the reduction of the group. If the group begins at rank 0, that is the
//! result. On the way down, ranks that have their result send it to the ranks 2^k above them for
//! all k < t, whose groups begin right after them, largest group first.

use super::COMBINE_RESULT;
use crate::collectives::{Buffer, Job, Meaning, Take, bits, piece};
use crate::steps::{Message, Step, Steps};
use std::ops::Range;
use straggler_model::{Rank, Time};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Binomial {
    processes: u32,
    bytes: u64,
    reduction: Time,
}

/// What a rank does in a stage, and with which rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Turn {
    Receive(Rank),
    Send(Rank),
}

impl Binomial {
    pub fn new(job: &Job) -> Binomial {
        let bytes = job.vector();
        Binomial { processes: job.processes, bytes, reduction: job.cost(bytes) }
    }

    /// t, the number of levels of a rank's group.
    #[inline(always)]
    fn levels(rank: Rank) -> u32 {
        rank.trailing_ones()
    }

    /// Whether the group that ends with the rank begins at rank 0.
    #[inline(always)]
    fn is_first(rank: Rank) -> bool {
        (rank + 1).is_power_of_two()
    }

    /// Whether there is a rank whose group is this one's plus as many ranks above it.
    #[inline(always)]
    fn sends_up(&self, rank: Rank) -> bool {
        let to = u64::from(rank) + (1 << Self::levels(rank));
        to < u64::from(self.processes)
    }

    /// Number of ranks that get this one's result on the way down.
    #[inline(always)]
    fn sends_down(&self, rank: Rank) -> u32 {
        let above = self.processes - 1 - rank;
        Self::levels(rank).min(bits(above))
    }

    #[inline(always)]
    fn turn(&self, rank: Rank, stage: u32) -> Turn {
        let mut stage = stage;
        let levels = Self::levels(rank);
        if stage < levels {
            return Turn::Receive(rank - (1 << stage));
        }
        stage -= levels;
        if self.sends_up(rank) {
            if stage == 0 {
                return Turn::Send(rank + (1 << levels));
            }
            stage -= 1;
        }
        if !Self::is_first(rank) {
            if stage == 0 {
                return Turn::Receive(rank - (1 << levels));
            }
            stage -= 1;
        }
        Turn::Send(rank + (1 << (self.sends_down(rank) - 1 - stage)))
    }
}

impl Steps for Binomial {
    fn processes(&self) -> u32 {
        self.processes
    }

    #[inline]
    fn stages(&self, rank: Rank) -> u32 {
        let received = Self::levels(rank) + u32::from(!Self::is_first(rank));
        received + u32::from(self.sends_up(rank)) + self.sends_down(rank)
    }

    #[inline]
    fn step(&self, rank: Rank, stage: u32) -> Step {
        // Two ranks exchange at most one message in each direction, so tags are not needed.
        let message = |peer| Message { peer, tag: 0, bytes: self.bytes };
        match self.turn(rank, stage) {
            Turn::Receive(from) => Step::recv(message(from)).after(self.reduction),
            Turn::Send(to) => Step::send(message(to)),
        }
    }

    fn largest_message(&self) -> u64 {
        if self.processes == 1 { 0 } else { self.bytes }
    }

    /// On the way up, rank r receives a message per trailing one bit; on the way down, one if it
    /// has no result yet.
    fn messages(&self) -> u64 {
        let all = u64::from(self.processes);
        let up: u64 = (1..=all.ilog2()).map(|level| all >> level).sum();
        let first = u64::from(all.ilog2()) + 1;
        up + all - first
    }
}

impl Meaning for Binomial {
    fn carries(&self, _: Rank, _: u32) -> Vec<Range<u64>> {
        piece(0..self.bytes)
    }

    fn source(&self) -> Buffer {
        Buffer::Result
    }

    fn takes(&self, _: Rank, _: u32) -> &'static [Take] {
        COMBINE_RESULT
    }
}
