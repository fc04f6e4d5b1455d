//! Linear: every rank sends all its blocks at once, to the next rank first, so that not all ranks
//! begin with the same one.

use crate::collectives::blockwise::{Blockwise, Rounds};
use crate::collectives::{Job, Name};
use straggler_model::Rank;

pub type Linear = Blockwise<Everything>;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Everything;

impl Rounds for Everything {
    const NAME: Name = Name::Linear;
    const AT_ONCE: bool = true;

    #[inline(always)]
    fn block(job: &Job, from: Rank, to: Rank, _: u32) -> u64 {
        super::block(job.processes, from, to)
    }

    fn largest(job: &Job) -> u64 {
        super::largest(job)
    }
}
