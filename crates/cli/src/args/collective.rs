//! The options of a collective as typed, shared by all commands that take one. Commands that flatten them
//! have an option `--collective`.

use crate::args::count::count;
use crate::args::typed_text::text;
use clap::Args;
use straggler_model::Time;
use straggler_model::network::PerByte;
use straggler_model::units::Bytes;

/// The data of a collective, and how it is combined.
#[derive(Clone, Debug, Default, Args)]
pub struct DataOptions {
    /// Size of the vector (bcast, reduce, allreduce, scan, exscan), of the block of each rank (gather,
    /// scatter, allgather, reduce_scatter) or of the block of each pair of ranks (alltoall) [default: 8]
    #[arg(long, value_name = "BYTES", requires = "collective")]
    pub size: Option<Bytes>,
    /// Block sizes for gatherv, scatterv, allgatherv, alltoallv and reduce_scatter; the list repeats over the
    /// ranks, or over the pairs of ranks
    #[arg(long, value_name = "BYTES,…", requires = "collective", conflicts_with = "size")]
    #[arg(value_delimiter = ',')]
    pub sizes: Vec<Bytes>,
    /// Root of a bcast, scatter, reduce or gather [default: 0]
    #[arg(long, value_name = "RANK", requires = "collective", value_parser = count::<u32>(0..))]
    pub root: Option<u32>,
    /// Cost of combining one received byte in a reduction: 0.5ns, or 2GB/s [default: 0]
    #[arg(long, value_name = "TIME")]
    pub reduction_cost: Option<PerByte>,
    /// The reduction is idempotent, like a maximum: a contribution may count twice
    #[arg(long)]
    pub idempotent: bool,
    /// Table that selects the algorithm if none is named: paper, mpich, open-mpi or a file [default: paper]
    #[arg(long, value_name = "PRESET|FILE.toml", value_parser = text())]
    pub algorithms: Option<String>,
}

/// How often a collective runs, and the computation before each.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct Repetition {
    /// Number of repetitions [default: 1]
    #[arg(long, value_name = "N", value_parser = count::<u32>(1..))]
    pub cycles: Option<u32>,
    /// Computation time on every process before each repetition
    #[arg(long, value_name = "TIME")]
    pub compute: Option<Time>,
}

impl DataOptions {
    /// Whether any option about the execution of collectives was given.
    pub fn is_given(&self) -> bool {
        self.algorithms.is_some() || self.idempotent || self.reduction_cost.is_some()
    }
}
