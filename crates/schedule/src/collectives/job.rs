//! The parameters of a collective, independent of the algorithm.

use super::sizes::Sizes;
use super::{Data, Operation};
use straggler_model::network::PerByte;
use straggler_model::{Rank, Time};

/// Parameters of a collective operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Job {
    pub processes: u32,
    /// Only used by operations with a root.
    pub root: Rank,
    /// Sizes of the blocks, see [`super::Data`].
    pub sizes: Sizes,
    /// Cost of combining a received byte.
    pub reduction: PerByte,
}

impl Job {
    pub fn new(processes: u32, bytes: u64) -> Job {
        Job { processes, root: 0, sizes: Sizes::uniform(bytes), reduction: PerByte::ZERO }
    }

    /// Limit for all data together: sizes of runs of blocks are computed in 64 bits.
    pub const MOST_BYTES: u64 = 1 << 62;

    /// Whether all data of an operation stays within [`Job::MOST_BYTES`].
    pub fn fits(&self, operation: Operation) -> bool {
        let processes = u64::from(self.processes);
        let blocks = match operation.data() {
            Data::Vector => 1,
            Data::BlockForEachRank => processes,
            Data::BlockForEachPair => processes.saturating_mul(processes),
        };
        self.sizes.start(blocks) <= Job::MOST_BYTES && self.sizes.largest() <= Job::MOST_BYTES
    }

    /// Size in bytes of the vector that every rank has.
    pub fn vector(&self) -> u64 {
        self.sizes.size(0)
    }

    /// Cost of combining `bytes` received bytes.
    #[inline(always)]
    pub fn cost(&self, bytes: u64) -> Time {
        self.reduction.total(bytes)
    }

    /// Byte ranges of the blocks of `count` ranks from `first` on, wrapping around: one or two ranges.
    pub fn blocks_from(&self, first: Rank, count: u32) -> Vec<std::ops::Range<u64>> {
        let (first, count, all) = (u64::from(first), u64::from(count), u64::from(self.processes));
        if first + count <= all {
            vec![self.sizes.range(first..first + count)]
        } else {
            vec![self.sizes.range(first..all), self.sizes.range(0..first + count - all)]
        }
    }
}
