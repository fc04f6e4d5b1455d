//! `straggler-mpi assess` as typed.

use super::measure::SourcesName;
use crate::args::count::count;
use clap::Args;
use std::path::PathBuf;
use straggler_model::Time;
use straggler_model::units::Bytes;

const EXAMPLES: &str = "\
EXAMPLES
  Which node holds up the job? One process a core, all nodes at the same time:
  mpirun straggler-mpi assess
  srun --ntasks-per-node=1 straggler-mpi assess --time 60s --scale 1024,65536

  Has anything become worse since last week? Ends with 5 if it has:
  mpirun straggler-mpi assess -o today --baseline last-week/assess.json

  The same measurement on another network, without measuring again:
  straggler-mpi assess --from today --network chic -o on-chic

WHAT IT DOES
  1. Measures noise on all cores that the processes of the job may use, all begun at the same moment by clocks
     that were compared over MPI, and asks the kernel what it did meanwhile. Every core is measured once, by one of
     the processes that may use it.
  2. Simulates an allreduce with this noise, at the number of measured cores and at each --scale: with all of it, with
     the worst nodes replaced by a median one, and without one source on one node.
  3. Tells which nodes differ from the others, which are slow instead of noisy, and whether noise hits nodes at the same
     moment.
  The measurement, all numbers and a page are written to a folder. With one node, its cores are compared.";

/// Which nodes of this job hold it up, and by what
///
/// Run it with the launcher, nodes and processes of the job that it is about.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct AssessNodes {
    /// How long to measure
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub time: Time,
    /// Numbers of processes to simulate besides the number of measured cores; beyond that, every node stands for several
    /// like it
    #[arg(long, value_name = "P,…", value_delimiter = ',', default_value = "65536", value_parser = count::<u32>(2..=1 << 24))]
    pub scale: Vec<u32>,
    /// The network: LogGOPS parameters, a preset or a .toml file
    #[arg(long, value_name = "NETWORK", default_value = "slingshot-11")]
    pub network: String,
    /// Data of the allreduce
    #[arg(long, value_name = "BYTES", default_value = "8")]
    pub size: Bytes,
    /// How to find out what took the CPU
    #[arg(long, value_enum, default_value_t)]
    pub sources: SourcesName,
    /// Compare with the assess.json of an earlier assessment; ends with 5 if a node has become noisier or slower
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// Take the measurement that an earlier assessment left in this folder instead of measuring
    #[arg(long, value_name = "DIR", conflicts_with_all = ["time", "sources"])]
    pub from: Option<PathBuf>,
    /// The folder for the report, on the host of rank 0: measurement, JSON and page
    #[arg(short, long, value_name = "DIR", default_value = "straggler-cluster")]
    pub output: PathBuf,
}
