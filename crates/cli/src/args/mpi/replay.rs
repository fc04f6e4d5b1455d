//! `straggler mpi replay` as typed.

use crate::args::predict::ReadingOptions;
use crate::args::report::ReportOption;
use crate::args::typed_text::text;
use crate::args::whatif::{Changes, TypedMode, WhatIf};
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use straggler_model::Time;
use straggler_mpi::replay::Compute;

const EXAMPLES: &str = "\
EXAMPLES
  straggler trace -o run -- mpirun -n 4 ./program
  mpirun -n 4 straggler mpi replay run -o again

  mpirun -n 4 straggler mpi replay run --balance solve -o balanced
  straggler whatif run --balance solve --replayed balanced

  mpirun -n 4 straggler mpi replay run --scale all=0.5 --mode recorded \\
      --compute sleep -o half";

/// Run a trace again with real messages, unchanged or with the changes of `straggler whatif`
///
/// Needs as many processes as the trace has ranks. Messages, requests and collectives are real. A process computes by
/// keeping its core busy, or by sleeping, for as long as the traced one did, or would with the changes. Calls that cannot
/// be repeated (one-sided, files) are named and take their traced time. Writes a trace of the new run, and compares it with
/// the measured and the simulated one.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Replay {
    /// The trace: its folder, or a file in it
    pub trace: PathBuf,
    #[command(flatten)]
    pub changes: Changes,
    /// What decides the outcome of nondeterministic calls: this run, or the trace
    #[arg(long, value_enum, default_value_t)]
    pub mode: TypedMode,
    /// How a process spends the computation time of the traced one
    #[arg(long, value_enum, default_value_t)]
    pub compute: ComputeName,
    /// Network of the simulations: LogGOPS parameters, a preset or a .toml file [default: fitted to the trace]
    #[arg(long, value_name = "NETWORK", value_parser = text())]
    pub base_network: Option<String>,
    /// Gaps between unsuccessful tests or probes shorter than this are waiting, not computation [default: 1us]
    #[arg(long, value_name = "TIME")]
    pub spin: Option<Time>,
    #[command(flatten)]
    pub reading: ReadingOptions,
    /// Give up if a call waits longer than this [default: one minute plus the length of the traced run]
    #[arg(long, value_name = "TIME")]
    pub patience: Option<Time>,
    /// Folder for the trace of the new run
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    #[command(flatten)]
    pub report: ReportOption,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ComputeName {
    /// Keep the core busy
    #[default]
    Spin,
    /// Sleep; for programs that sleep, or more ranks than cores
    Sleep,
}

impl From<ComputeName> for Compute {
    fn from(name: ComputeName) -> Compute {
        match name {
            ComputeName::Spin => Compute::Spin,
            ComputeName::Sleep => Compute::Sleep,
        }
    }
}

impl Replay {
    /// The what-if analysis to do after the run.
    pub fn whatif(&self) -> WhatIf {
        WhatIf {
            trace: self.trace.clone(),
            changes: self.changes.clone(),
            file: None,
            search: false,
            base_network: self.base_network.clone(),
            mode: self.mode,
            spin: self.spin,
            reduction_cost: None,
            reading: self.reading.clone(),
            replayed: Some(self.output.clone()),
            save_trace: None,
            report: self.report.clone(),
        }
    }
}
