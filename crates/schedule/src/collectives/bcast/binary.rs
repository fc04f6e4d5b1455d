//! Binary tree; with segments, the pipelined binary tree.

use crate::collectives::tree::{self, Vector, Walk};
use crate::collectives::{CollectiveError, Job, Name};

pub type Binary = Walk<tree::Binary, Vector>;

/// Without a segment size, the vector is sent whole.
pub fn binary(job: &Job, segment: Option<u64>) -> Result<Binary, CollectiveError> {
    let load = Vector(tree::segments(job.vector(), segment)?);
    Walk::new(Name::Binary, job, tree::Binary::new(job.processes), load)
}
