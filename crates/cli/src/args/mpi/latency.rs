//! `straggler mpi latency` as typed.

use crate::args::count::count;
use crate::invocation::command_line;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;
use straggler_model::units::Bytes;
use straggler_mpi::latency::{Kernel, Options};

const EXAMPLES: &str = "\
EXAMPLES
  mpirun -n 4 straggler mpi latency -o four.lat

  mpirun -n 8 straggler mpi latency --sweep --trials 10000 -o sweep.lat

  mpirun -n 4 straggler mpi latency --kernel allreduce --sizes 8,64KiB \\
      -o allreduce.lat";

/// Measure the latency distributions between all pairs of processes
///
/// Every process cycles through all of its peers, in an order in which no process has to wait for a third, and exchanges
/// messages with each (Settlemyer et al., "Confidence"). Times are kept as histograms, by pair and by class of pairs.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Latency {
    /// What to time
    #[arg(long, value_enum, default_value_t)]
    pub kernel: KernelName,
    /// Sizes of the messages, measured one after the other
    #[arg(long, value_name = "BYTES,…", value_delimiter = ',', default_value = "1")]
    pub sizes: Vec<Bytes>,
    /// Passes through all peers in each cycle
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = count::<u64>(1..))]
    pub trials: u64,
    /// Number of cycles; the minimum of each is kept
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = count::<u32>(1..))]
    pub cycles: u32,
    /// Numbers of peers per process, measured one after the other [default: all]
    #[arg(long, value_name = "N,…", value_delimiter = ',', conflicts_with = "sweep")]
    pub peers: Vec<u32>,
    /// Numbers of processes per node that communicate while the others wait, measured one after the other [default: all]
    #[arg(long, value_name = "N,…", value_delimiter = ',', conflicts_with = "sweep")]
    pub per_node: Vec<u32>,
    /// Measure 1, 2, 4, … processes per node, each with 1, 2, 4, … peers, and on 1, 2, 4, … switches if Slurm reports
    /// them
    #[arg(long)]
    pub sweep: bool,
    /// Stop after this many seconds and keep what was measured
    #[arg(long, value_name = "SECONDS", value_parser = count::<u64>(1..))]
    pub time_limit: Option<u64>,
    /// File for the distributions
    #[arg(short, long, value_name = "FILE", default_value = "latency.lat")]
    pub output: PathBuf,
}

#[derive(ValueEnum, Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum KernelName {
    /// MPI_Sendrecv between the two processes of a pair
    #[default]
    Exchange,
    /// One message there and one back
    PingPong,
    /// MPI_Irecv and MPI_Isend between a pair, then MPI_Wait for both
    Nonblocking,
    /// MPI_Barrier
    Barrier,
    /// MPI_Bcast from the first process
    Bcast,
    /// MPI_Allreduce
    Allreduce,
    /// MPI_Alltoall, with --sizes bytes to each process
    Alltoall,
}

impl Latency {
    pub fn options(self) -> Options {
        Options {
            kernel: match self.kernel {
                KernelName::Exchange => Kernel::Exchange,
                KernelName::PingPong => Kernel::PingPong,
                KernelName::Nonblocking => Kernel::Nonblocking,
                KernelName::Barrier => Kernel::Barrier,
                KernelName::Bcast => Kernel::Bcast,
                KernelName::Allreduce => Kernel::Allreduce,
                KernelName::Alltoall => Kernel::Alltoall,
            },
            sizes: self.sizes,
            trials: self.trials,
            cycles: self.cycles,
            peers: self.peers,
            per_node: self.per_node,
            sweep: self.sweep,
            time_limit: self.time_limit.map(Duration::from_secs),
            output: self.output,
            command: command_line(),
        }
    }
}
