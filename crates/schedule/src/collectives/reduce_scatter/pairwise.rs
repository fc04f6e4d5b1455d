//! Pairwise exchange: in round s everyone sends to the rank s after it that rank's block, and combines its
//! own block with what the rank s before it has of it (Thakur, Rabenseifner and Gropp 2005, section 4.3).

use crate::collectives::{
    COMBINE, CollectiveError, Job, Meaning, Name, Take, add_modulo, at_most, subtract_modulo,
};
use crate::steps::{MOST_STAGES, Message, Step, Steps};
use std::ops::Range;
use straggler_model::Rank;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pairwise {
    job: Job,
}

impl Pairwise {
    pub fn new(job: &Job) -> Result<Pairwise, CollectiveError> {
        at_most(Name::Pairwise, job.processes, MOST_STAGES)?;
        Ok(Pairwise { job: job.clone() })
    }

    #[inline(always)]
    fn to(&self, rank: Rank, stage: u32) -> Rank {
        add_modulo(rank, stage + 1, self.job.processes)
    }
}

impl Steps for Pairwise {
    fn processes(&self) -> u32 {
        self.job.processes
    }

    #[inline]
    fn stages(&self, _rank: Rank) -> u32 {
        self.job.processes - 1
    }

    #[inline]
    fn step(&self, rank: Rank, stage: u32) -> Step {
        let message = |peer, to: Rank| Message { peer, tag: stage, bytes: self.job.sizes.of(u64::from(to)) };
        let to = self.to(rank, stage);
        let received = message(subtract_modulo(rank, stage + 1, self.job.processes), rank);
        Step::exchange(message(to, to), received).after(self.job.cost(received.bytes))
    }

    fn largest_message(&self) -> u64 {
        if self.job.processes == 1 { 0 } else { self.job.sizes.largest_before(self.job.processes.into()) }
    }

    fn messages(&self) -> u64 {
        u64::from(self.job.processes) * u64::from(self.job.processes - 1)
    }
}

impl Meaning for Pairwise {
    fn carries(&self, rank: Rank, stage: u32) -> Vec<Range<u64>> {
        let to = u64::from(self.to(rank, stage));
        vec![self.job.sizes.range(to..to + 1)]
    }

    fn takes(&self, _: Rank, _: u32) -> &'static [Take] {
        COMBINE
    }
}
