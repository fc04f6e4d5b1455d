//! Linear: each rank adds its data and passes it on. Fewest messages and reductions, longest path.

use super::{COMBINE_RESULT, Own, PASS_ON, PLACE_RESULT};
use crate::collectives::{Buffer, Job, Meaning, Take, piece};
use crate::steps::{Message, Step, Steps};
use std::ops::Range;
use straggler_model::{Rank, Time};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Linear {
    own: Own,
    processes: u32,
    bytes: u64,
    reduction: Time,
}

impl Linear {
    pub fn new(job: &Job, own: Own) -> Linear {
        let bytes = job.vector();
        Linear { own, processes: job.processes, bytes, reduction: job.cost(bytes) }
    }

    fn is_last(&self, rank: Rank) -> bool {
        rank + 1 == self.processes
    }

    /// In an exclusive scan, no rank needs the data of the last one.
    fn combines(&self, rank: Rank) -> bool {
        self.own == Own::Included || !self.is_last(rank)
    }
}

impl Steps for Linear {
    fn processes(&self) -> u32 {
        self.processes
    }

    #[inline]
    fn stages(&self, rank: Rank) -> u32 {
        u32::from(rank > 0) + u32::from(!self.is_last(rank))
    }

    #[inline]
    fn step(&self, rank: Rank, stage: u32) -> Step {
        let message = |peer| Message { peer, tag: 0, bytes: self.bytes };
        if rank == 0 || stage == 1 {
            return Step::send(message(rank + 1));
        }
        let received = Step::recv(message(rank - 1));
        if self.combines(rank) { received.after(self.reduction) } else { received }
    }

    fn largest_message(&self) -> u64 {
        if self.processes == 1 { 0 } else { self.bytes }
    }

    fn messages(&self) -> u64 {
        u64::from(self.processes) - 1
    }
}

impl Meaning for Linear {
    fn carries(&self, _: Rank, _: u32) -> Vec<Range<u64>> {
        piece(0..self.bytes)
    }

    fn source(&self) -> Buffer {
        match self.own {
            Own::Included => Buffer::Result,
            Own::LeftOut => Buffer::Work,
        }
    }

    fn takes(&self, rank: Rank, _: u32) -> &'static [Take] {
        match self.own {
            Own::Included => COMBINE_RESULT,
            Own::LeftOut if self.combines(rank) => PASS_ON,
            Own::LeftOut => PLACE_RESULT,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use straggler_model::network::PerByte;

    #[test]
    fn only_what_is_passed_on_is_combined() {
        let job = Job { reduction: PerByte::from_ps(10), ..Job::new(3, 8) };
        let last = |own| Linear::new(&job, own).step(2, 0).after;
        assert_eq!((last(Own::Included), last(Own::LeftOut)), (Time::from_ps(80), Time::ZERO));
    }
}
