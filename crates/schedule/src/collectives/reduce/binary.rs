//! Binary tree, pipelined if in segments: the broadcast's, with time reversed.

use crate::collectives::tree::Mirror;
use crate::collectives::{CollectiveError, Job, bcast};

pub type Binary = Mirror<bcast::Binary>;

/// Without a segment the vector goes as a whole.
pub fn binary(job: &Job, segment: Option<u64>) -> Result<Binary, CollectiveError> {
    Ok(Mirror::combining(bcast::binary(job, segment)?, job))
}
