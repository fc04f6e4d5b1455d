//! What a rank holds before an operation, and what it must hold after it.

use super::super::{Data, Job, Operation, piece};
use std::ops::Range;
use straggler_model::Rank;

/// Size in bytes of the data of an operation.
pub fn extent(operation: Operation, job: &Job) -> u64 {
    let processes = u64::from(job.processes);
    match operation.data() {
        Data::Vector => job.vector(),
        Data::BlockForEachRank => job.sizes.start(processes),
        Data::BlockForEachPair => job.sizes.start(processes * processes),
    }
}

/// Byte ranges of the blocks.
pub fn blocks(operation: Operation, job: &Job) -> Vec<Range<u64>> {
    let processes = u64::from(job.processes);
    let count = match operation.data() {
        Data::Vector => return piece(0..job.vector()),
        Data::BlockForEachRank => processes,
        Data::BlockForEachPair => processes * processes,
    };
    (0..count).map(|block| job.sizes.range(block..block + 1)).collect()
}

/// The bytes that a rank holds at the start, all its own contribution.
pub fn owned(operation: Operation, job: &Job, rank: Rank) -> Range<u64> {
    let (own, all) = (u64::from(rank), u64::from(job.processes));
    let whole = 0..extent(operation, job);
    match operation.uniform() {
        Operation::Bcast | Operation::Scatter if rank == job.root => whole,
        Operation::Bcast | Operation::Scatter => 0..0,
        Operation::Gather | Operation::Allgather => job.sizes.range(own..own + 1),
        Operation::Alltoall => job.sizes.range(own * all..(own + 1) * all),
        _ => whole,
    }
}

/// The bytes that a rank must hold at the end, with the ranks that contribute to each range.
pub fn promised(operation: Operation, job: &Job, rank: Rank) -> Vec<(Range<u64>, Range<Rank>)> {
    let whole = 0..extent(operation, job);
    let own = u64::from(rank);
    let everyone = 0..job.processes;
    let block = |block: u64| job.sizes.range(block..block + 1);
    let of_each = || (0..job.processes).map(|of| (block(u64::from(of)), of..of + 1)).collect();
    match operation.uniform() {
        Operation::Bcast => vec![(whole, job.root..job.root + 1)],
        Operation::Scatter => vec![(block(own), job.root..job.root + 1)],
        Operation::Gather | Operation::Reduce if rank != job.root => Vec::new(),
        Operation::Gather | Operation::Allgather => of_each(),
        Operation::Alltoall => {
            let all = u64::from(job.processes);
            (0..job.processes).map(|from| (block(u64::from(from) * all + own), from..from + 1)).collect()
        }
        Operation::ReduceScatterBlock => vec![(block(own), everyone)],
        Operation::Scan => vec![(whole, 0..rank + 1)],
        Operation::Exscan if rank == 0 => Vec::new(),
        Operation::Exscan => vec![(whole, 0..rank)],
        // Reduce at the root, allreduce, barrier.
        _ => vec![(whole, everyone)],
    }
}
