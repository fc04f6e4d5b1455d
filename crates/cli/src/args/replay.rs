//! `straggler-mpi replay` as typed.

use super::predict::ReadingOptions;
use super::report::ReportOption;
use super::whatif::{Changes, TypedMode, WhatIf};
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use straggler_model::Time;

#[derive(Clone, Debug, Args)]
pub struct Replay {
    /// The trace: a folder, or a file of it
    pub trace: PathBuf,
    #[command(flatten)]
    pub changes: Changes,
    /// Who decides what MPI leaves open: this run, or the trace
    #[arg(long, value_enum, default_value_t)]
    pub mode: TypedMode,
    /// How a process spends the time in which the traced one computed
    #[arg(long, value_enum, default_value_t)]
    pub compute: Compute,
    /// The network of the simulations: LogGOPS parameters, a preset or a .toml file; fitted unless given
    #[arg(long, value_name = "NETWORK")]
    pub base_network: Option<String>,
    /// Shorter times between unsuccessful tests or probes are waiting, not computation: 1us unless given
    #[arg(long, value_name = "TIME")]
    pub spin: Option<Time>,
    #[command(flatten)]
    pub reading: ReadingOptions,
    /// Give up when a call waits longer than this: a minute and the length of the traced run unless given
    #[arg(long, value_name = "TIME")]
    pub patience: Option<Time>,
    /// Where the trace of the new run goes
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    #[command(flatten)]
    pub report: ReportOption,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Compute {
    /// It keeps its core busy
    #[default]
    Spin,
    /// It sleeps, for programs that sleep or more ranks than cores
    Sleep,
}

impl Replay {
    /// The question that is answered when the run is over.
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
