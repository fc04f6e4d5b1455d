//! `straggler predict` as typed, and the options of all commands that replay a trace.

use crate::kernel::checks::ChecksOption;
use crate::kernel::exit::{Failure, Outcome};
use crate::kernel::gates::refuse_unknown;
use crate::kernel::outputs::refuse_missing_folder;
use crate::kernel::typed::{count, text};
use crate::kernel::valid::Check;
use crate::latency::drawn::LatencyOptions;
use crate::predict;
use crate::simulate::workload::TypedOnly;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use straggler_analysis::study::FIT;
use straggler_model::network::PerByte;
use straggler_schedule::traced::{Begin, Options, Progress};
use straggler_schedule::workloads::Only;

const EXAMPLES: &str = "\
EXAMPLES
  straggler predict fixtures/traces/halo --fit

  straggler predict fixtures/traces/halo --network chic --json

  straggler predict fixtures/traces/halo --network chic --copies 256 \\
      --only collectives

  Fail if the model is off by more than 20 %:
  straggler predict fixtures/traces/halo --fit --fail-if 'error>20%'

METRICS  for --fail-if and --prometheus
  error       relative error of the prediction, as an absolute value:
              'error>10%'
  predicted   run time that the model predicts: 'predicted>2s'
  traced      run time in the trace
  The exit code is 5 if a limit is exceeded.

TRACE   a recording of `straggler trace -o DIR -- mpirun …`, an OTF2 archive,
        text files of liballprof, an SST DUMPI trace or a SimGrid
        time-independent trace: the folder, or a file in it
TIME    between calls comes from the trace, time inside calls from the model.
        --fit finds the parameters of the network from matching sends and
        receives
COPIES  --copies repeats the traced ranks; collectives of all ranks span all
        copies (weak scaling)";

/// Predict the run time of a traced program and compare it with the measured one
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Predict {
    /// The trace: its folder, or a file in it
    pub trace: PathBuf,
    /// The network: LogGOPS parameters, a preset, a .toml file, `measured` (measured.toml) or `fit`
    #[arg(long, value_name = "NETWORK", conflicts_with = "fit", value_parser = text())]
    pub network: Option<String>,
    /// Fit the parameters of the network to the trace; the default without --network
    #[arg(long)]
    pub fit: bool,
    /// Write the fitted network to a file for --network
    #[arg(long, value_name = "FILE.toml")]
    pub save_network: Option<PathBuf>,
    #[command(flatten)]
    pub checks: ChecksOption,
    #[command(flatten)]
    pub latency: LatencyOptions,
    /// Replay only this kind of communication
    #[arg(long, value_enum, value_name = "KIND")]
    pub only: Option<TypedOnly>,
    /// Table that selects the algorithms of collectives: paper, mpich, open-mpi or a file [default: paper]
    #[arg(long, value_name = "PRESET|FILE.toml", value_parser = text())]
    pub algorithms: Option<String>,
    /// Reductions are idempotent, like a maximum: a contribution may count twice
    #[arg(long)]
    pub idempotent: bool,
    /// Cost of combining one received byte in a reduction: 0.5ns, or 2GB/s [default: 0]
    #[arg(long, value_name = "TIME")]
    pub reduction_cost: Option<PerByte>,
    #[command(flatten)]
    pub replay: ReplayOptions,
}

/// How a trace is replayed.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Replay of a trace")]
pub struct ReplayOptions {
    /// Simulate this many copies of the traced processes
    #[arg(long, value_name = "K", value_parser = count::<u32>(1..))]
    pub copies: Option<u32>,
    #[command(flatten)]
    pub reading: ReadingOptions,
}

/// How a trace is read.
#[derive(Clone, Debug, Default, Args)]
pub struct ReadingOptions {
    /// When ranks start: as traced, or all at once
    #[arg(long, value_enum, value_name = "WHEN")]
    pub begin: Option<TypedBegin>,
    /// Drop messages without a counterpart in the trace, instead of rejecting the trace
    #[arg(long)]
    pub drop_unmatched: bool,
    /// Nonblocking collectives progress only while a rank waits in MPI calls, or also while it computes, by a thread
    /// of the library with a core of its own or by the network [default: calls]
    #[arg(long, value_enum, value_name = "HOW")]
    pub progress: Option<TypedProgress>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TypedProgress {
    Calls,
    Thread,
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
        self.begin.is_some() || self.drop_unmatched || self.progress.is_some()
    }

    pub fn options(&self, only: Only) -> Options {
        Options {
            only,
            begin: match self.begin {
                Some(TypedBegin::Together) => Begin::Together,
                _ => Begin::AsTraced,
            },
            drop_unmatched: self.drop_unmatched,
            progress: match self.progress {
                Some(TypedProgress::Thread) => Progress::Thread,
                _ => Progress::Calls,
            },
            ..Options::default()
        }
    }
}

impl Check for Predict {
    fn check(&self) -> Outcome<()> {
        if self.save_network.is_some() && self.network.as_deref().is_some_and(|name| name != FIT) {
            return Err(Failure::usage(
                "--save-network keeps a fitted network: leave out --network, or give --network fit",
            ));
        }
        refuse_unknown(&self.checks, predict::KINDS)?;
        self.save_network.iter().try_for_each(|path| refuse_missing_folder(path))
    }
}
