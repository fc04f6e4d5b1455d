//! Scan and exscan: rank r gets the reduction of the data of all ranks up to r (scan) or before r (exscan).

mod binomial;
mod linear;
mod recursive_doubling;

pub use binomial::Binomial;
pub use linear::Linear;
pub use recursive_doubling::RecursiveDoubling;

use super::{Algorithm, Buffer, Collective, CollectiveError, Job, Name, Take};

/// Algorithms of the inclusive scan.
pub const ALGORITHMS: &[Name] = &[Name::RecursiveDoubling, Name::Binomial, Name::Linear];
/// Algorithms of the exclusive scan, which leaves out a rank's own data.
pub const EXCLUSIVE_ALGORITHMS: &[Name] = &[Name::RecursiveDoubling, Name::Linear];

/// Whether a rank's own data is part of its result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Own {
    Included,
    LeftOut,
}

/// Returns `None` if this module does not implement the algorithm.
pub(super) fn build(
    own: Own,
    algorithm: &Algorithm,
    job: &Job,
) -> Result<Option<Collective>, CollectiveError> {
    Ok(Some(match (algorithm.name, own) {
        (Name::Binomial, Own::Included) => Collective::other(Binomial::new(job)),
        (Name::Linear, _) => Collective::other(Linear::new(job, own)),
        (Name::RecursiveDoubling, _) => Collective::other(RecursiveDoubling::new(job, own)),
        _ => return Ok(None),
    }))
}

/// Received data is combined into the result, the only buffer in use.
const COMBINE_RESULT: &[Take] = &[Take::Combine(Buffer::Result)];
/// Received data is the result.
const PLACE_RESULT: &[Take] = &[Take::Place(Buffer::Result)];
/// Received data is combined into the result and into the data that the rank passes on.
const PASS_ON: &[Take] = &[Take::Combine(Buffer::Work), Take::Combine(Buffer::Result)];
