//! Alltoall and alltoallv: everyone has a block for everyone.

mod bruck;
mod linear;
mod pairwise;
mod tournament;

pub use bruck::Bruck;
pub use linear::Linear;
pub use pairwise::Pairwise;
pub use tournament::Tournament;

use super::{Algorithm, Collective, CollectiveError, Job, Name};
use std::ops::Range;
use straggler_model::Rank;

pub const ALGORITHMS: &[Name] =
    &[Name::Bruck, Name::Dissemination, Name::Linear, Name::Pairwise, Name::Tournament];

/// Returns `None` if this module does not implement the algorithm.
pub(super) fn build(algorithm: &Algorithm, job: &Job) -> Result<Option<Collective>, CollectiveError> {
    Ok(Some(match algorithm.name {
        // Both send to the ranks at distances built from powers of the radix and forward blocks for others.
        Name::Bruck | Name::Dissemination => Collective::other(Bruck::new(job, algorithm.radix)?),
        Name::Linear => Collective::other(Linear::new(job)?),
        Name::Pairwise => Collective::other(Pairwise::new(job)?),
        Name::Tournament => Collective::other(Tournament::new(job)?),
        _ => return Ok(None),
    }))
}

/// Number of the block that goes from one rank to another.
#[inline(always)]
fn block(processes: u32, from: Rank, to: Rank) -> u64 {
    u64::from(from) * u64::from(processes) + u64::from(to)
}

/// Size in bytes of the block that goes from one rank to another.
#[inline(always)]
fn bytes(job: &Job, from: Rank, to: Rank) -> u64 {
    job.sizes.size(block(job.processes, from, to))
}

/// Byte range of the block that goes from one rank to another.
fn range(job: &Job, from: Rank, to: Rank) -> Range<u64> {
    let block = block(job.processes, from, to);
    job.sizes.range(block..block + 1)
}

/// Size of the largest block that goes to another rank. Blocks that ranks keep for themselves have numbers
/// that are multiples of P + 1. If a size of the list falls on such a block, it falls on a different kind of
/// block one period later, unless P + 1 divides the period: so two periods are enough to look at.
fn largest(job: &Job) -> u64 {
    let all = u64::from(job.processes);
    let travels = |block: u64| block < all * all && !block.is_multiple_of(all + 1);
    let period = job.sizes.period();
    let sent = (0..period.min(all * all)).filter(|&place| travels(place) || travels(place + period));
    sent.map(|place| job.sizes.size(place)).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collectives::sizes::Sizes;

    #[test]
    fn the_largest_block_that_travels() {
        // Lists shorter and longer than the number of blocks, with one size larger than all others.
        for processes in 1..6 {
            for length in 1..40 {
                for peak in 0..length {
                    let list: Vec<u64> =
                        (0..length).map(|place| place + 100 * u64::from(place == peak)).collect();
                    let job = Job { sizes: Sizes::repeating(&list), ..Job::new(processes, 0) };
                    let pairs = (0..processes).flat_map(|from| (0..processes).map(move |to| (from, to)));
                    let sizes = pairs.filter(|(from, to)| from != to).map(|(from, to)| bytes(&job, from, to));
                    assert_eq!(largest(&job), sizes.max().unwrap_or(0), "{job:?}");
                }
            }
        }
    }
}
