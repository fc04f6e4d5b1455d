//! `straggler predict` as typed, and what every command that replays a trace takes.

use super::drawn_latency::LatencyOptions;
use super::workload::TypedOnly;
use crate::args::count::count;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use straggler_model::network::PerByte;
use straggler_schedule::traced::{Begin, Options};
use straggler_schedule::workloads::Only;

const EXAMPLES: &str = "\
EXAMPLES
  straggler predict fixtures/traces/halo --fit

  straggler predict fixtures/traces/halo --network chic --json

  straggler predict fixtures/traces/halo --network chic --copies 256 \\
      --only collectives

THE TRACE is what `straggler trace -o DIR -- mpirun …` recorded, or an OTF2 archive, liballprof's text files, an SST
DUMPI trace or a SimGrid time-independent trace: give the folder or one of its files.
TIME between calls is taken from the trace; time inside of calls is what the model says. --fit finds the parameters of
the network from the times of matching sends and receives. With --copies the traced ranks are repeated, and collectives
of all ranks become collectives of all copies: a weak scaling.";

/// How long does the model say that a traced program runs, and how long did it?
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Predict {
    /// The trace: a folder, or a file of it
    pub trace: PathBuf,
    /// The network: LogGOPS parameters, a preset, a .toml file, measured (measured.toml), or fit
    #[arg(long, value_name = "NETWORK", conflicts_with = "fit")]
    pub network: Option<String>,
    /// Find the network's parameters from the trace itself; done unless --network is given
    #[arg(long)]
    pub fit: bool,
    /// Write the fitted network to a file that --network takes
    #[arg(long, value_name = "FILE.toml")]
    pub save_network: Option<PathBuf>,
    #[command(flatten)]
    pub latency: LatencyOptions,
    /// Replay only this kind of communication
    #[arg(long, value_enum, value_name = "KIND")]
    pub only: Option<TypedOnly>,
    /// The table that finds the algorithms of collectives: paper (unless given), mpich, open-mpi or a file
    #[arg(long, value_name = "PRESET|FILE.toml")]
    pub algorithms: Option<String>,
    /// Contributions to reductions that are counted twice do no harm
    #[arg(long)]
    pub idempotent: bool,
    /// What combining a received byte costs: 0.5ns, or 2GB/s; nothing unless given
    #[arg(long, value_name = "TIME")]
    pub reduction_cost: Option<PerByte>,
    #[command(flatten)]
    pub replay: ReplayOptions,
}

/// How a trace becomes a program.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Replay of a trace")]
pub struct ReplayOptions {
    /// Simulate this many times the traced processes
    #[arg(long, value_name = "K", value_parser = count::<u32>(1..))]
    pub copies: Option<u32>,
    #[command(flatten)]
    pub reading: ReadingOptions,
}

/// How a trace is read.
#[derive(Clone, Debug, Default, Args)]
pub struct ReadingOptions {
    /// When ranks begin: as traced, or all at once
    #[arg(long, value_enum, value_name = "WHEN")]
    pub begin: Option<TypedBegin>,
    /// Leave out messages that have no counterpart in the trace, instead of refusing it
    #[arg(long)]
    pub drop_unmatched: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TypedBegin {
    AsTraced,
    Together,
}

impl ReplayOptions {
    pub fn is_given(&self) -> bool {
        self.copies.is_some() || self.reading.is_given()
    }

    pub fn copies(&self) -> u32 {
        self.copies.unwrap_or(1)
    }
}

impl ReadingOptions {
    pub fn is_given(&self) -> bool {
        self.begin.is_some() || self.drop_unmatched
    }

    pub fn options(&self, only: Only) -> Options {
        Options {
            only,
            begin: match self.begin {
                Some(TypedBegin::Together) => Begin::Together,
                _ => Begin::AsTraced,
            },
            drop_unmatched: self.drop_unmatched,
            ..Options::default()
        }
    }
}
