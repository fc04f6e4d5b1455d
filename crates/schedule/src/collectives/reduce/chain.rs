//! Pipelined chain: the broadcast with time reversed.

use crate::collectives::tree::Mirror;
use crate::collectives::{CollectiveError, Job, bcast};

pub type Chain = Mirror<bcast::Chain>;

pub fn chain(job: &Job, segment: u64) -> Result<Chain, CollectiveError> {
    Ok(Mirror::combining(bcast::chain(job, segment)?, job))
}
