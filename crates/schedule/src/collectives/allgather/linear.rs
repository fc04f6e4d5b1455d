//! Linear: everyone sends its block to everyone else at once, to the next rank first.

use crate::collectives::blockwise::{Blockwise, Rounds};
use crate::collectives::{Job, Name};
use straggler_model::Rank;

pub type Linear = Blockwise<OwnBlock>;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OwnBlock;

impl Rounds for OwnBlock {
    const NAME: Name = Name::Linear;
    const AT_ONCE: bool = true;

    #[inline(always)]
    fn block(_: &Job, from: Rank, _: Rank, _: u32) -> u64 {
        u64::from(from)
    }
}
