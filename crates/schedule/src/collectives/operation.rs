//! The collective operations of MPI.

use super::barrier;
use std::fmt;
use std::str::FromStr;
use straggler_model::spelling::hint_of_list;

/// An operation of MPI; an [`super::Algorithm`] defines how it is done.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Operation {
    Allgather,
    Allgatherv,
    Allreduce,
    Alltoall,
    Alltoallv,
    Barrier,
    Bcast,
    Exscan,
    Gather,
    Gatherv,
    Reduce,
    ReduceScatter,
    ReduceScatterBlock,
    Scan,
    Scatter,
    Scatterv,
}

impl Operation {
    pub const ALL: [Operation; 16] = [
        Operation::Allgather,
        Operation::Allgatherv,
        Operation::Allreduce,
        Operation::Alltoall,
        Operation::Alltoallv,
        Operation::Barrier,
        Operation::Bcast,
        Operation::Exscan,
        Operation::Gather,
        Operation::Gatherv,
        Operation::Reduce,
        Operation::ReduceScatter,
        Operation::ReduceScatterBlock,
        Operation::Scan,
        Operation::Scatter,
        Operation::Scatterv,
    ];

    /// The name in MPI, without the prefix and in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Operation::Allgather => "allgather",
            Operation::Allgatherv => "allgatherv",
            Operation::Allreduce => "allreduce",
            Operation::Alltoall => "alltoall",
            Operation::Alltoallv => "alltoallv",
            Operation::Barrier => "barrier",
            Operation::Bcast => "bcast",
            Operation::Exscan => "exscan",
            Operation::Gather => "gather",
            Operation::Gatherv => "gatherv",
            Operation::Reduce => "reduce",
            Operation::ReduceScatter => "reduce_scatter",
            Operation::ReduceScatterBlock => "reduce_scatter_block",
            Operation::Scan => "scan",
            Operation::Scatter => "scatter",
            Operation::Scatterv => "scatterv",
        }
    }

    /// Whether it carries data of a size that may be chosen.
    pub fn has_size(self) -> bool {
        self != Operation::Barrier
    }

    /// The bytes it carries if this size is asked for; 8 if none is. A barrier carries a token, whatever is asked for.
    pub fn bytes(self, asked: Option<u64>) -> u64 {
        if self.has_size() { asked.unwrap_or(8) } else { barrier::BYTES }
    }

    /// The same operation with blocks of equal size, which has the same algorithms.
    pub fn uniform(self) -> Operation {
        match self {
            Operation::Allgatherv => Operation::Allgather,
            Operation::Alltoallv => Operation::Alltoall,
            Operation::Gatherv => Operation::Gather,
            Operation::ReduceScatter => Operation::ReduceScatterBlock,
            Operation::Scatterv => Operation::Scatter,
            same => same,
        }
    }

    /// Whether blocks may differ in size.
    pub fn is_vector(self) -> bool {
        self != self.uniform()
    }

    /// Whether one rank is the root.
    pub fn has_root(self) -> bool {
        matches!(
            self,
            Operation::Bcast
                | Operation::Gather
                | Operation::Gatherv
                | Operation::Reduce
                | Operation::Scatter
                | Operation::Scatterv
        )
    }

    /// Whether the operation combines data.
    pub fn reduces(self) -> bool {
        matches!(
            self,
            Operation::Allreduce
                | Operation::Exscan
                | Operation::Reduce
                | Operation::ReduceScatter
                | Operation::ReduceScatterBlock
                | Operation::Scan
        )
    }

    /// How the data is divided: one vector that every rank has, a block for each rank, or a block
    /// for each pair of ranks.
    pub fn data(self) -> Data {
        match self.uniform() {
            Operation::Alltoall => Data::BlockForEachPair,
            Operation::Allgather | Operation::Gather | Operation::Scatter | Operation::ReduceScatterBlock => {
                Data::BlockForEachRank
            }
            _ => Data::Vector,
        }
    }
}

/// What the sizes of a [`super::Job`] refer to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Data {
    /// One vector: only the first size counts.
    Vector,
    /// Block b belongs to rank b.
    BlockForEachRank,
    /// Block s·P + d goes from rank s to rank d.
    BlockForEachPair,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The text names no known operation.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("unknown collective operation `{operation}` (known: {known}){}", hint_of_list(.operation, .known))]
pub struct UnknownOperation {
    pub operation: String,
    pub known: String,
}

impl FromStr for Operation {
    type Err = UnknownOperation;

    fn from_str(text: &str) -> Result<Operation, UnknownOperation> {
        let name = match text.to_ascii_lowercase().replace('-', "_") {
            name if name == "broadcast" => "bcast".to_string(),
            name => name,
        };
        let same = |operation: &Operation| operation.name() == name;
        Operation::ALL.into_iter().find(same).ok_or_else(|| UnknownOperation {
            operation: text.to_string(),
            known: Operation::ALL.map(Operation::name).join(", "),
        })
    }
}
