//! Allgather and allgatherv: everyone gets everyone's block.

mod bruck;
mod linear;
mod recursive_doubling;
mod ring;

pub use bruck::Bruck;
pub use linear::Linear;
pub use recursive_doubling::RecursiveDoubling;
pub use ring::Ring;

use super::{Algorithm, Collective, CollectiveError, Job, Name};

pub const ALGORITHMS: &[Name] =
    &[Name::Bruck, Name::Dissemination, Name::Linear, Name::RecursiveDoubling, Name::Ring, Name::TwoLevel];

/// Returns `None` if this module does not implement the algorithm.
pub(super) fn build(algorithm: &Algorithm, job: &Job) -> Result<Option<Collective>, CollectiveError> {
    Ok(Some(match algorithm.name {
        // Bruck's algorithm is a dissemination in which every rank passes on all it has gathered.
        Name::Bruck | Name::Dissemination => Collective::other(Bruck::new(job, algorithm.radix)?),
        Name::Linear => Collective::other(Linear::new(job)?),
        Name::RecursiveDoubling => Collective::other(RecursiveDoubling::new(job)),
        Name::Ring => Collective::other(Ring::new(job)?),
        _ => return Ok(None),
    }))
}
