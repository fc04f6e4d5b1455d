//! Ring: a block starts at the rank after its owner and gathers a contribution at every rank on its way
//! round, which ends at its owner.

use crate::collectives::{
    COMBINE, CollectiveError, Job, Meaning, Name, Take, add_modulo, at_most, subtract_modulo,
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

    /// In round s rank r sends block r - 1 - s.
    #[inline(always)]
    fn sent(&self, rank: Rank, stage: u32) -> u64 {
        u64::from(subtract_modulo(rank, stage + 1, self.job.processes))
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
        let message =
            |peer, from| Message { peer, tag: stage, bytes: self.job.sizes.of(self.sent(from, stage)) };
        let before = subtract_modulo(rank, 1, self.job.processes);
        let received = message(before, before);
        let after = add_modulo(rank, 1, self.job.processes);
        Step::exchange(message(after, rank), received).after(self.job.cost(received.bytes))
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
        COMBINE
    }
}
