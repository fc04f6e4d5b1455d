//! Ring: a block starts at the rank after its owner and collects a contribution at every rank until
//! it reaches its owner.

use crate::collectives::blockwise::{Blockwise, Rounds};
use crate::collectives::{Job, Name, add_modulo, subtract_modulo};
use straggler_model::Rank;

pub type Ring = Blockwise<GatherUp>;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GatherUp;

impl Rounds for GatherUp {
    const NAME: Name = Name::Ring;
    const COMBINES: bool = true;

    #[inline(always)]
    fn target(job: &Job, rank: Rank, _: u32) -> Rank {
        add_modulo(rank, 1, job.processes)
    }

    #[inline(always)]
    fn source(job: &Job, rank: Rank, _: u32) -> Rank {
        subtract_modulo(rank, 1, job.processes)
    }

    /// In round s rank r sends block r - 1 - s.
    #[inline(always)]
    fn block(job: &Job, from: Rank, _: Rank, round: u32) -> u64 {
        u64::from(subtract_modulo(from, round + 1, job.processes))
    }
}
