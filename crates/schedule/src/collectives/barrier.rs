//! Barrier: no rank leaves before all ranks have entered.

use super::allreduce::{RecursiveDoubling, disseminate};
use super::sequence::{Part, Sequence};
use super::{Algorithm, Collective, CollectiveError, Job, Name, at_most, bcast, reduce};
use crate::steps::MOST_STAGES;

/// Messages of a barrier carry no data; one byte costs the same as none.
pub const BYTES: u64 = 1;

pub const ALGORITHMS: &[Name] = &[
    Name::Dissemination,
    Name::Binomial,
    Name::KNomial,
    Name::Linear,
    Name::RecursiveDoubling,
    Name::TwoLevel,
];

/// Returns `None` if this module does not implement the algorithm.
pub(super) fn build(algorithm: &Algorithm, job: &Job) -> Result<Option<Collective>, CollectiveError> {
    Ok(match algorithm.name {
        // The dissemination barrier is a dissemination allreduce of almost no data.
        Name::Dissemination => Some(disseminate(algorithm, job)?),
        Name::RecursiveDoubling => Some(Collective::RecursiveDoubling(RecursiveDoubling::new(job))),
        Name::Binomial | Name::KNomial | Name::Linear => up_and_down(algorithm, job)?,
        _ => None,
    })
}

/// Rank 0 collects a message from every rank, then releases them all.
fn up_and_down(algorithm: &Algorithm, job: &Job) -> Result<Option<Collective>, CollectiveError> {
    // Rank 0 has up to two steps for every other rank.
    if algorithm.name != Name::Binomial {
        at_most(algorithm.name, job.processes, MOST_STAGES / 2)?;
    }
    let job = Job { root: 0, ..job.clone() };
    let (up, down) = (reduce::build(algorithm, &job)?, bcast::build(algorithm, &job)?);
    let parts = up.into_iter().chain(down).map(Part::everyone).collect();
    Ok(Some(Collective::other(Sequence::new(job.processes, parts))))
}
