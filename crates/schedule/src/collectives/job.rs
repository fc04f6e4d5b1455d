//! What a collective is asked to do, whatever the algorithm.

use super::sizes::Sizes;
use super::{Data, Operation};
use straggler_model::network::PerByte;
use straggler_model::{Rank, Time};

/// The parameters of a collective operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Job {
    pub processes: u32,
    /// Of operations that have one.
    pub root: Rank,
    /// Of the blocks, see [`super::Data`].
    pub sizes: Sizes,
    /// What combining a received byte costs.
    pub reduction: PerByte,
}

impl Job {
    pub fn new(processes: u32, bytes: u64) -> Job {
        Job { processes, root: 0, sizes: Sizes::uniform(bytes), reduction: PerByte::ZERO }
    }

    /// The most bytes of all data together: sizes of runs of blocks are computed in 64 bits.
    pub const MOST_BYTES: u64 = 1 << 62;

    /// Whether all data of an operation is no more than can be counted.
    pub fn fits(&self, operation: Operation) -> bool {
        let processes = u64::from(self.processes);
        let blocks = match operation.data() {
            Data::Vector => 1,
            Data::BlockForEachRank => processes,
            Data::BlockForEachPair => processes.saturating_mul(processes),
        };
        self.sizes.start(blocks) <= Job::MOST_BYTES && self.sizes.largest() <= Job::MOST_BYTES
    }

    /// The bytes of a vector that everybody has.
    pub fn vector(&self) -> u64 {
        self.sizes.of(0)
    }

    /// What combining `bytes` received bytes costs.
    #[inline(always)]
    pub fn cost(&self, bytes: u64) -> Time {
        self.reduction.of(bytes)
    }

    /// Where the blocks of `count` ranks from `first` on lie, counted round: in one or two pieces.
    pub fn blocks_from(&self, first: Rank, count: u32) -> Vec<std::ops::Range<u64>> {
        let (first, count, all) = (u64::from(first), u64::from(count), u64::from(self.processes));
        if first + count <= all {
            vec![self.sizes.range(first..first + count)]
        } else {
            vec![self.sizes.range(first..all), self.sizes.range(0..first + count - all)]
        }
    }
}
