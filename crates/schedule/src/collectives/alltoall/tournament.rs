//! Tournament: ranks are paired like the players of a chess tournament and exchange their blocks
//! (Tabe, Hardwick and Stout, *Statistical Analysis of Communication Time on the IBM SP2*, figure
//! 2). With an odd number of ranks, one has no partner in each round and goes on to its next round.

use crate::collectives::blockwise::{Blockwise, Rounds};
use crate::collectives::{Job, Name};
use crate::tournament::partner;
use straggler_model::Rank;

pub type Tournament = Blockwise<Meetings>;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Meetings;

impl Rounds for Meetings {
    const NAME: Name = Name::Tournament;

    /// With an odd number of ranks, rank r skips round r.
    #[inline(always)]
    fn round(job: &Job, rank: Rank, stage: u32) -> u32 {
        stage + u32::from(!job.processes.is_multiple_of(2) && stage >= rank)
    }

    #[inline(always)]
    fn target(job: &Job, rank: Rank, round: u32) -> Rank {
        // Skipped rounds are not asked for, so there always is a partner.
        partner(job.processes, rank, round).unwrap_or(rank)
    }

    #[inline(always)]
    fn source(job: &Job, rank: Rank, round: u32) -> Rank {
        Self::target(job, rank, round)
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
    fn who_sits_out_goes_on_to_the_next_round() {
        let job = Job::new(5, 8);
        let meeting = |stage| {
            let round = Meetings::round(&job, 1, stage);
            (round, Meetings::target(&job, 1, round))
        };
        assert_eq!([0, 1, 2, 3].map(meeting), [(0, 4), (2, 3), (3, 0), (4, 2)]);
    }
}
