//! Where a call stands in a trace.

use straggler_model::Rank;

/// A call, by its rank and its number there; numbers count from 0 in the order of [`crate::RankTrace::calls`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CallPlace {
    pub rank: Rank,
    pub call: u32,
}
