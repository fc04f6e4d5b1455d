//! Pairwise exchange: in round s, ranks whose numbers differ in exactly the bits of s exchange
//! their blocks (Thakur, Rabenseifner and Gropp 2005). If the number of processes is not a power of
//! two, some ranks have no such partner, so every rank sends to the rank s after it instead.

use crate::collectives::blockwise::{Blockwise, Rounds};
use crate::collectives::{Job, Name, add_modulo, subtract_modulo};
use straggler_model::Rank;

pub type Pairwise = Blockwise<InPairs>;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InPairs;

impl Rounds for InPairs {
    const NAME: Name = Name::Pairwise;

    #[inline(always)]
    fn target(job: &Job, rank: Rank, round: u32) -> Rank {
        let all = job.processes;
        if all.is_power_of_two() { rank ^ (round + 1) } else { add_modulo(rank, round + 1, all) }
    }

    #[inline(always)]
    fn source(job: &Job, rank: Rank, round: u32) -> Rank {
        let all = job.processes;
        if all.is_power_of_two() { rank ^ (round + 1) } else { subtract_modulo(rank, round + 1, all) }
    }

    #[inline(always)]
    fn block(job: &Job, from: Rank, to: Rank, _: u32) -> u64 {
        super::block(job.processes, from, to)
    }

    fn largest(job: &Job) -> u64 {
        super::largest(job)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_exchange_in_pairs() {
        let peers = |processes, rank| -> Vec<(Rank, Rank)> {
            let job = Job::new(processes, 8);
            let of = |round| (InPairs::target(&job, rank, round), InPairs::source(&job, rank, round));
            (0..processes - 1).map(of).collect()
        };
        assert_eq!(peers(4, 1), [(0, 0), (3, 3), (2, 2)]);
        assert_eq!(peers(5, 1), [(2, 0), (3, 4), (4, 3), (0, 2)]);
    }
}
