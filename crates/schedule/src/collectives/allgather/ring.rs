//! Ring: every block is passed on from rank to rank until it has been everywhere, in P - 1 rounds.

use crate::collectives::{
    CollectiveError, Job, Meaning, Name, PLACE, Take, add_modulo, at_most, subtract_modulo,
};
use crate::steps::{MOST_STAGES, Message, Step, Steps};
use std::ops::Range;
use straggler_model::Rank;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ring {
    job: Job,
}

impl Ring {
    pub fn new(job: &Job) -> Result<Ring, CollectiveError> {
        at_most(Name::Ring, job.processes, MOST_STAGES)?;
        Ok(Ring { job: job.clone() })
    }

    /// In round s rank r passes on the block it got before, which is that of rank r - s.
    #[inline(always)]
    fn sent(&self, rank: Rank, stage: u32) -> u64 {
        u64::from(subtract_modulo(rank, stage, self.job.processes))
    }
}

impl Steps for Ring {
    fn processes(&self) -> u32 {
        self.job.processes
    }

    #[inline]
    fn stages(&self, _rank: Rank) -> u32 {
        self.job.processes - 1
    }

    #[inline]
    fn step(&self, rank: Rank, stage: u32) -> Step {
        let after = add_modulo(rank, 1, self.job.processes);
        let before = subtract_modulo(rank, 1, self.job.processes);
        let message =
            |peer, from| Message { peer, tag: stage, bytes: self.job.sizes.of(self.sent(from, stage)) };
        Step::exchange(message(after, rank), message(before, before))
    }

    fn largest_message(&self) -> u64 {
        if self.job.processes == 1 { 0 } else { self.job.sizes.largest_before(self.job.processes.into()) }
    }

    fn messages(&self) -> u64 {
        u64::from(self.job.processes) * u64::from(self.job.processes - 1)
    }
}

impl Meaning for Ring {
    fn carries(&self, rank: Rank, stage: u32) -> Vec<Range<u64>> {
        let sent = self.sent(rank, stage);
        vec![self.job.sizes.range(sent..sent + 1)]
    }

    fn takes(&self, _: Rank, _: u32) -> &'static [Take] {
        PLACE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collectives::sizes::Sizes;

    #[test]
    fn blocks_go_round_once() {
        let sizes = Sizes::repeating(&[10, 11, 12, 13]);
        let steps = Ring::new(&Job { sizes, ..Job::new(4, 0) }).unwrap();
        let of_1 =
            |stage| (steps.step(1, stage).send.unwrap().bytes, steps.step(1, stage).recv.unwrap().bytes);
        assert_eq!([of_1(0), of_1(1), of_1(2)], [(11, 10), (10, 13), (13, 12)]);
    }
}
