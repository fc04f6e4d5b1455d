//! Reduce: the root gets the reduction of everyone's data.

mod binary;
mod binomial;
mod chain;
mod double_tree;
mod k_nomial;
mod linear;
mod rabenseifner;

pub use binary::binary;
pub use binomial::Binomial;
pub use chain::chain;
pub use double_tree::double_tree;
pub use k_nomial::k_nomial;
pub use linear::linear;
pub use rabenseifner::Rabenseifner;

use super::tree::{SEGMENT, radix};
use super::{Algorithm, Collective, CollectiveError, Job, Name};

pub const ALGORITHMS: &[Name] = &[
    Name::Binomial,
    Name::Binary,
    Name::Chain,
    Name::DoubleTree,
    Name::KNomial,
    Name::Linear,
    Name::Rabenseifner,
    Name::TwoLevel,
];

/// Returns `None` if this module does not implement the algorithm.
pub(super) fn build(algorithm: &Algorithm, job: &Job) -> Result<Option<Collective>, CollectiveError> {
    let segment = algorithm.segment;
    Ok(Some(match algorithm.name {
        Name::Binomial => Collective::other(Binomial::new(job)),
        Name::Binary => Collective::other(binary(job, segment)?),
        Name::Chain => Collective::other(chain(job, segment.unwrap_or(SEGMENT))?),
        Name::DoubleTree => Collective::other(double_tree(job, segment.unwrap_or(SEGMENT))?),
        Name::KNomial => Collective::other(k_nomial(job, radix(algorithm)?)?),
        Name::Linear => Collective::other(linear(job)?),
        Name::Rabenseifner => Collective::other(Rabenseifner::new(job)),
        _ => return Ok(None),
    }))
}
