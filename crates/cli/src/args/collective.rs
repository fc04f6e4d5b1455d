//! A collective as typed; the same for every command that takes one. Commands that flatten these options
//! have an option `--collective`.

use crate::args::count::count;
use clap::Args;
use straggler_model::Time;
use straggler_model::network::PerByte;
use straggler_model::units::Bytes;

/// What is done, to how much data.
#[derive(Clone, Debug, Default, Args)]
pub struct DataOptions {
    /// Bytes of the vector (bcast, reduce, allreduce, scan, exscan), of the block of each rank (gather,
    /// scatter, allgather, reduce_scatter) or of the block of each pair of ranks (alltoall); 8 unless given
    #[arg(long, value_name = "BYTES", requires = "collective")]
    pub size: Option<Bytes>,
    /// Sizes of blocks that repeat over the ranks, or over the pairs of ranks: for gatherv, scatterv,
    /// allgatherv, alltoallv and reduce_scatter
    #[arg(long, value_name = "BYTES,…", requires = "collective", conflicts_with = "size")]
    #[arg(value_delimiter = ',')]
    pub sizes: Vec<Bytes>,
    /// The rank that a bcast or scatter begins with and a reduce or gather ends with; 0 unless given
    #[arg(long, value_name = "RANK", requires = "collective")]
    pub root: Option<u32>,
    /// What combining a received byte costs: 0.5ns, or 2GB/s; nothing unless given
    #[arg(long, value_name = "TIME")]
    pub reduction_cost: Option<PerByte>,
    /// A contribution that is counted twice does no harm, as in a maximum
    #[arg(long)]
    pub idempotent: bool,
    /// The table that finds the algorithm if none is named: paper (unless given), mpich, open-mpi or a file
    #[arg(long, value_name = "PRESET|FILE.toml")]
    pub algorithms: Option<String>,
}

/// How often a collective is done, and what comes between.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct Repetition {
    /// How many times; once unless given
    #[arg(long, value_name = "N", value_parser = count::<u32>(1..))]
    pub cycles: Option<u32>,
    /// Computation before each, on every process
    #[arg(long, value_name = "TIME")]
    pub compute: Option<Time>,
}

impl DataOptions {
    /// Whether anything was said about how collectives are done.
    pub fn is_given(&self) -> bool {
        self.algorithms.is_some() || self.idempotent || self.reduction_cost.is_some()
    }
}
