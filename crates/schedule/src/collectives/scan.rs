//! Scan and exscan: rank r gets the reduction of the data of all ranks up to itself, or of all before it.

mod binomial;
mod linear;
mod recursive_doubling;

pub use binomial::Binomial;
pub use linear::Linear;
pub use recursive_doubling::RecursiveDoubling;

use super::{Algorithm, Buffer, Collective, CollectiveError, Job, Name, Take};

/// Of a scan.
pub const ALGORITHMS: &[Name] = &[Name::Binomial, Name::Linear, Name::RecursiveDoubling];
/// Of a scan that leaves out a rank's own data.
pub const EXCLUSIVE_ALGORITHMS: &[Name] = &[Name::Linear, Name::RecursiveDoubling];

/// Whether a rank's own data is part of its result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Own {
    Included,
    LeftOut,
}

/// `None` for an algorithm that is not one of these.
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

/// The result is all there is.
const COMBINE_RESULT: &[Take] = &[Take::Combine(Buffer::Result)];
/// What is received is the result.
const PLACE_RESULT: &[Take] = &[Take::Place(Buffer::Result)];
/// What is received is the result, or a part of it, and with the rank's own is to be passed on.
const PASS_ON: &[Take] = &[Take::Combine(Buffer::Work), Take::Combine(Buffer::Result)];
