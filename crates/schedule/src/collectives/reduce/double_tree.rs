//! Two complementary binary trees, each with half of the vector: the broadcast's, with time reversed.

use crate::collectives::tree::{self, Mirror};
use crate::collectives::{CollectiveError, Job};

pub type DoubleTree = Mirror<tree::DoubleTree>;

pub fn double_tree(job: &Job, segment: u64) -> Result<DoubleTree, CollectiveError> {
    Ok(Mirror::combining(tree::DoubleTree::new(job, segment)?, job))
}
