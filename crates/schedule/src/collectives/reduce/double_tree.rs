//! Two complementary binary trees, each with half of the vector: the broadcast with time reversed.

use crate::collectives::tree::Mirror;
use crate::collectives::{CollectiveError, Job, bcast};

pub type DoubleTree = Mirror<bcast::DoubleTree>;

pub fn double_tree(job: &Job, segment: u64) -> Result<DoubleTree, CollectiveError> {
    Ok(Mirror::combining(bcast::DoubleTree::new(job, segment)?, job))
}
