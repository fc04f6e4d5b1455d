//! Gather: the root gets the blocks of all ranks. Blocks may differ in size.

mod k_nomial;
mod linear;

pub use k_nomial::k_nomial;
pub use linear::linear;

use super::tree::radix;
use super::{Algorithm, Collective, CollectiveError, Job, Name};

pub const ALGORITHMS: &[Name] = &[Name::Binomial, Name::KNomial, Name::Linear, Name::TwoLevel];

/// Returns `None` if this module does not implement the algorithm.
pub(super) fn build(algorithm: &Algorithm, job: &Job) -> Result<Option<Collective>, CollectiveError> {
    Ok(Some(match algorithm.name {
        Name::Binomial => Collective::other(k_nomial(job, 2)?),
        Name::KNomial => Collective::other(k_nomial(job, radix(algorithm)?)?),
        Name::Linear => Collective::other(linear(job)?),
        _ => return Ok(None),
    }))
}
