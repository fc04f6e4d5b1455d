//! `straggler-mpi replay` as typed.

use super::predict::ReadingOptions;
use super::report::ReportOption;
use super::whatif::{Changes, TypedMode, WhatIf};
use crate::args::typed_text::text;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use straggler_model::Time;

#[derive(Clone, Debug, Args)]
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
    pub compute: Compute,
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
pub enum Compute {
    /// Keep the core busy
    #[default]
    Spin,
    /// Sleep; for programs that sleep, or more ranks than cores
    Sleep,
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
