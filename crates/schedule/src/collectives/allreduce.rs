//! Allreduce: everyone gets the reduction of everyone's data.

mod dissemination;
mod n_way_dissemination;
mod rabenseifner;
mod recursive_doubling;
mod ring;
mod up_and_down;

pub use dissemination::Dissemination;
pub use n_way_dissemination::NWayDissemination;
pub use rabenseifner::Rabenseifner;
pub use recursive_doubling::RecursiveDoubling;
pub use ring::Ring;
pub use up_and_down::up_and_down;

use super::{Algorithm, Collective, CollectiveError, Job, Name};

/// The algorithms of allreduce.
pub const ALGORITHMS: &[Name] = &[
    Name::Dissemination,
    Name::RecursiveDoubling,
    Name::Ring,
    Name::Rabenseifner,
    Name::ReduceBcast,
    Name::Binary,
    Name::Chain,
    Name::DoubleTree,
    Name::KNomial,
    Name::TwoLevel,
];

/// Returns `None` if this module does not implement the algorithm.
pub(super) fn build(algorithm: &Algorithm, job: &Job) -> Result<Option<Collective>, CollectiveError> {
    Ok(Some(match algorithm.name {
        Name::Dissemination => disseminate(algorithm, job)?,
        Name::Binary | Name::Chain | Name::DoubleTree | Name::KNomial => {
            Collective::other(up_and_down(algorithm, job)?)
        }
        Name::Rabenseifner => Collective::other(Rabenseifner::new(job)),
        Name::RecursiveDoubling => Collective::RecursiveDoubling(RecursiveDoubling::new(job)),
        Name::ReduceBcast => Collective::other(up_and_down(&Name::Binomial.into(), job)?),
        Name::Ring => Collective::other(Ring::new(job)?),
        _ => return Ok(None),
    }))
}

/// Dissemination with one partner per round, or with several.
pub(super) fn disseminate(algorithm: &Algorithm, job: &Job) -> Result<Collective, CollectiveError> {
    Ok(match algorithm.radix {
        None | Some(2) => Collective::Dissemination(Dissemination::new(job)),
        Some(radix) => Collective::other(NWayDissemination::new(job, radix)?),
    })
}
