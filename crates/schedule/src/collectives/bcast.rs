//! Broadcast: everyone gets the root's data.

mod binomial;

pub use binomial::Binomial;

use super::{Algorithm, Collective, CollectiveError, Job, Name};

pub const ALGORITHMS: &[Name] = &[Name::Binomial];

/// `None` for an algorithm that is not one of these.
pub(super) fn build(algorithm: &Algorithm, job: &Job) -> Result<Option<Collective>, CollectiveError> {
    Ok(Some(match algorithm.name {
        Name::Binomial => Collective::BinomialBcast(Binomial::new(job)),
        _ => return Ok(None),
    }))
}
