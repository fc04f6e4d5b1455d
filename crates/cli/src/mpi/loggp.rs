//! `straggler mpi loggp` as typed.

pub mod run;

use crate::kernel::invocation::command_line;
use crate::kernel::typed::count;
use clap::Args;
use std::path::PathBuf;
use straggler_model::units::Bytes;
use straggler_mpi::loggp::Options;

const EXAMPLES: &str = "\
EXAMPLES
  mpirun -n 2 straggler mpi loggp
  straggler predict run --network measured

  mpirun -n 2 --map-by node straggler mpi loggp --largest 1MiB -o net.toml

  All processes of two nodes: links within a socket, a node, and between nodes:
  mpirun --map-by core --bind-to core straggler mpi loggp --levels -o net.toml";

/// Measure the LogGP parameters between two processes, for --network
///
/// Measures L, o_s, o_r, g, G, O and S of the model, with confidence intervals, from trains of messages with and without
/// computation between them (Hoefler et al., "Low-overhead LogGP parameter assessment"). Rank 0 measures with the first
/// process on another node; all other processes are idle. If the protocol changes with the message size, each protocol
/// gets its own line.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct LogGp {
    /// Size of the largest message
    #[arg(long, value_name = "BYTES", default_value = "4MiB")]
    pub largest: Bytes,
    /// Runs of all experiments; confidence intervals need six
    #[arg(long, value_name = "N", default_value_t = 21, value_parser = count::<usize>(6..=100_000))]
    pub batches: usize,
    /// Repetitions of each experiment in a batch, of which the lower quartile counts
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = count::<usize>(1..=100_000))]
    pub repetitions: usize,
    /// Measure one pair for each level: within a NUMA domain, a socket and a node, as far as rank 0 shares them with other
    /// processes; each becomes a level of the file
    #[arg(long)]
    pub levels: bool,
    /// Name of the network in reports [default: the file name]
    #[arg(long)]
    pub name: Option<String>,
    /// File for the network; `--network measured` reads the default one
    #[arg(short, long, value_name = "FILE", default_value = straggler_model::network::MEASURED_FILE)]
    pub output: PathBuf,
}

impl LogGp {
    pub fn options(self, seed: u64) -> Options {
        let stem = self.output.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        Options {
            largest: self.largest,
            batches: self.batches,
            repetitions: self.repetitions,
            levels: self.levels,
            seed,
            name: self.name.or(stem).unwrap_or_else(|| "measured".into()),
            output: self.output,
            command: command_line(),
        }
    }
}
