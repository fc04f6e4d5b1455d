//! Barrier: nobody leaves before everybody has come.

use super::allreduce::disseminate;
use super::{Algorithm, Collective, CollectiveError, Job, Name};

/// A barrier's messages carry nothing; one byte costs the same as none.
pub const BYTES: u64 = 1;

pub const ALGORITHMS: &[Name] = &[Name::Dissemination];

/// `None` for an algorithm that is not one of these.
pub(super) fn build(algorithm: &Algorithm, job: &Job) -> Result<Option<Collective>, CollectiveError> {
    Ok(Some(match algorithm.name {
        // The dissemination barrier is the dissemination allreduce of next to no data.
        Name::Dissemination => disseminate(algorithm, job)?,
        _ => return Ok(None),
    }))
}
