//! Ring: in round s everyone sends to the rank s after it and receives from the rank s before it, one
//! exchange after the other.

use super::{bytes, largest, pairs, range};
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

    #[inline(always)]
    fn to(&self, rank: Rank, stage: u32) -> Rank {
        add_modulo(rank, stage + 1, self.job.processes)
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
        let to = self.to(rank, stage);
        let from = subtract_modulo(rank, stage + 1, self.job.processes);
        Step::exchange(
            Message { peer: to, tag: stage, bytes: bytes(&self.job, rank, to) },
            Message { peer: from, tag: stage, bytes: bytes(&self.job, from, rank) },
        )
    }

    fn largest_message(&self) -> u64 {
        largest(&self.job)
    }

    fn messages(&self) -> u64 {
        pairs(self.job.processes)
    }
}

impl Meaning for Ring {
    fn carries(&self, rank: Rank, stage: u32) -> Vec<Range<u64>> {
        vec![range(&self.job, rank, self.to(rank, stage))]
    }

    fn takes(&self, _: Rank, _: u32) -> &'static [Take] {
        PLACE
    }
}
