//! Pipelined chain: every rank passes a segment on to the next while it receives the following one.

use crate::collectives::tree::{self, Vector, Walk};
use crate::collectives::{CollectiveError, Job, Name};

pub type Chain = Walk<tree::Chain, Vector>;

pub fn chain(job: &Job, segment: u64) -> Result<Chain, CollectiveError> {
    let load = Vector(tree::segments(job.vector(), Some(segment))?);
    Walk::new(Name::Chain, job, tree::Chain::new(job.processes), load)
}
