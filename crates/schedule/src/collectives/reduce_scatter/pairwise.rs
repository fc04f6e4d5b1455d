//! Pairwise exchange: in round s, every rank sends the rank s after it that rank's block, and combines its
//! own block with the contribution of the rank s before it (Thakur, Rabenseifner and Gropp 2005).

use crate::collectives::blockwise::{Blockwise, Rounds};
use crate::collectives::{Job, Name};
use straggler_model::Rank;

pub type Pairwise = Blockwise<TheirBlock>;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TheirBlock;

impl Rounds for TheirBlock {
    const NAME: Name = Name::Pairwise;
    const COMBINES: bool = true;

    #[inline(always)]
    fn block(_: &Job, _: Rank, to: Rank, _: u32) -> u64 {
        u64::from(to)
    }
}
