//! Allreduce: everyone gets the reduction of everyone's data.

mod dissemination;
mod recursive_doubling;
mod ring;

pub use dissemination::Dissemination;
pub use recursive_doubling::RecursiveDoubling;
pub use ring::Ring;

use super::{Algorithm, Collective, CollectiveError, Job, Name};

pub const ALGORITHMS: &[Name] = &[Name::Dissemination, Name::RecursiveDoubling, Name::Ring, Name::TwoLevel];

/// `None` for an algorithm that is not one of these.
pub(super) fn build(algorithm: &Algorithm, job: &Job) -> Result<Option<Collective>, CollectiveError> {
    Ok(Some(match algorithm.name {
        Name::Dissemination => Collective::Dissemination(Dissemination::new(job)),
        Name::RecursiveDoubling => Collective::RecursiveDoubling(RecursiveDoubling::new(job)),
        Name::Ring => Collective::other(Ring::new(job)?),
        _ => return Ok(None),
    }))
}
