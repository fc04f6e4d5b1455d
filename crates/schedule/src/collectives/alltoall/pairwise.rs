//! Pairwise exchange: in round s ranks whose numbers differ by the bits of s exchange their blocks (Thakur,
//! Rabenseifner and Gropp 2005, section 4.2). If the number of processes is no power of two not everyone has
//! such a partner, and everyone sends to the rank s after it instead.

use super::{bytes, largest, pairs, range};
use crate::collectives::{
    CollectiveError, Job, Meaning, Name, PLACE, Take, add_modulo, at_most, subtract_modulo,
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

    /// Whom a rank sends to and whom it receives from.
    #[inline(always)]
    fn peers(&self, rank: Rank, stage: u32) -> (Rank, Rank) {
        let (all, round) = (self.job.processes, stage + 1);
        if all.is_power_of_two() {
            (rank ^ round, rank ^ round)
        } else {
            (add_modulo(rank, round, all), subtract_modulo(rank, round, all))
        }
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
        let (to, from) = self.peers(rank, stage);
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

impl Meaning for Pairwise {
    fn carries(&self, rank: Rank, stage: u32) -> Vec<Range<u64>> {
        vec![range(&self.job, rank, self.peers(rank, stage).0)]
    }

    fn takes(&self, _: Rank, _: u32) -> &'static [Take] {
        PLACE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_exchange_in_pairs() {
        let peers = |processes, rank| -> Vec<(Rank, Rank)> {
            let steps = Pairwise::new(&Job::new(processes, 8)).unwrap();
            (0..processes - 1).map(|stage| steps.peers(rank, stage)).collect()
        };
        assert_eq!(peers(4, 1), [(0, 0), (3, 3), (2, 2)]);
        assert_eq!(peers(5, 1), [(2, 0), (3, 4), (4, 3), (0, 2)]);
    }
}
