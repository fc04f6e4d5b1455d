//! Linear: everyone sends its block to everyone else at once, to the next rank first.

use crate::collectives::{
    CollectiveError, Job, Meaning, Name, PLACE, Take, add_modulo, at_most, subtract_modulo,
};
use crate::steps::{MOST_STAGES, Message, Step, Steps};
use std::ops::Range;
use straggler_model::Rank;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Linear {
    job: Job,
}

impl Linear {
    pub fn new(job: &Job) -> Result<Linear, CollectiveError> {
        at_most(Name::Linear, job.processes, MOST_STAGES)?;
        Ok(Linear { job: job.clone() })
    }
}

impl Steps for Linear {
    fn processes(&self) -> u32 {
        self.job.processes
    }

    #[inline]
    fn stages(&self, _rank: Rank) -> u32 {
        self.job.processes - 1
    }

    #[inline]
    fn step(&self, rank: Rank, stage: u32) -> Step {
        let all = self.job.processes;
        let message =
            |peer, from: Rank| Message { peer, tag: stage, bytes: self.job.sizes.of(u64::from(from)) };
        let from = subtract_modulo(rank, stage + 1, all);
        let step = Step::exchange(message(add_modulo(rank, stage + 1, all), rank), message(from, from));
        if stage + 2 == all { step } else { step.go() }
    }

    fn largest_message(&self) -> u64 {
        if self.job.processes == 1 { 0 } else { self.job.sizes.largest_before(self.job.processes.into()) }
    }

    fn overlaps(&self) -> bool {
        self.job.processes > 2
    }

    fn messages(&self) -> u64 {
        u64::from(self.job.processes) * u64::from(self.job.processes - 1)
    }
}

impl Meaning for Linear {
    fn carries(&self, rank: Rank, _: u32) -> Vec<Range<u64>> {
        vec![self.job.sizes.range(u64::from(rank)..u64::from(rank) + 1)]
    }

    fn takes(&self, _: Rank, _: u32) -> &'static [Take] {
        PLACE
    }
}
