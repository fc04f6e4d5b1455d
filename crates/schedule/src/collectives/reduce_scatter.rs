//! Reduce-scatter, with blocks of equal or different sizes: every rank gets the reduction of its block.

mod pairwise;
mod recursive_halving;
mod ring;

pub use pairwise::Pairwise;
pub use recursive_halving::RecursiveHalving;
pub use ring::Ring;

use super::{Algorithm, Collective, CollectiveError, Job, Name};

pub const ALGORITHMS: &[Name] = &[Name::RecursiveHalving, Name::Pairwise, Name::Ring];

/// Returns `None` if this module does not implement the algorithm.
pub(super) fn build(algorithm: &Algorithm, job: &Job) -> Result<Option<Collective>, CollectiveError> {
    Ok(Some(match algorithm.name {
        Name::Pairwise => Collective::other(Pairwise::new(job)?),
        Name::RecursiveHalving => Collective::other(RecursiveHalving::new(job)),
        Name::Ring => Collective::other(Ring::new(job)?),
        _ => return Ok(None),
    }))
}
