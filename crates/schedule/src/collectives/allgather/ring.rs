//! Ring: every rank passes blocks on to the next until all have every block, in P - 1 rounds.

use crate::collectives::blockwise::{Blockwise, Rounds};
use crate::collectives::{Job, Name, add_modulo, subtract_modulo};
use straggler_model::Rank;

pub type Ring = Blockwise<PassOn>;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PassOn;

impl Rounds for PassOn {
    const NAME: Name = Name::Ring;

    #[inline(always)]
    fn target(job: &Job, rank: Rank, _: u32) -> Rank {
        add_modulo(rank, 1, job.processes)
    }

    #[inline(always)]
    fn source(job: &Job, rank: Rank, _: u32) -> Rank {
        subtract_modulo(rank, 1, job.processes)
    }

    /// In round s, rank r passes on the block it received in the round before, that of rank r - s.
    #[inline(always)]
    fn block(job: &Job, from: Rank, _: Rank, round: u32) -> u64 {
        u64::from(subtract_modulo(from, round, job.processes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Steps;
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
