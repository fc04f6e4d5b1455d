//! How a trace is read and replayed, as typed.

use crate::kernel::typed::count;
use clap::{Args, ValueEnum};
use straggler_schedule::traced::{Begin, Options, Progress};
use straggler_schedule::workloads::Only;

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
