//! Binary tree, pipelined with segments: the broadcast with time reversed.

use crate::collectives::tree::Mirror;
use crate::collectives::{CollectiveError, Job, bcast};

pub type Binary = Mirror<bcast::Binary>;

/// Without a segment size, the vector is sent whole.
pub fn binary(job: &Job, segment: Option<u64>) -> Result<Binary, CollectiveError> {
    Ok(Mirror::combining(bcast::binary(job, segment)?, job))
}
