//! `straggler latency` as typed.

use crate::kernel::exit::Outcome;
use crate::kernel::valid::Check;
use crate::latency::compare::Compare;
use crate::latency::diagnose::Diagnose;
use crate::latency::merge::Merge;
use crate::latency::plan::Measure;
use crate::latency::show::Show;
use crate::papers::resample::Resample;
use clap::{Args, Subcommand};

const EXAMPLES: &str = "\
EXAMPLES
  Round trips over TCP, measured and shown again:
  straggler latency measure --kernel tcp --trials 1000 -o tcp.lat
  straggler latency show tcp.lat

  Did an update make them slower?
  straggler latency compare fixtures/latency/before.lat \\
      fixtures/latency/after.lat

Between the processes of an MPI job: `straggler mpi latency` and, for the
parameters of a network, `straggler mpi loggp`.";

/// Measure, show, compare and diagnose latencies
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Latency {
    #[command(subcommand)]
    pub command: LatencyCommand,
}

#[derive(Debug, Subcommand)]
pub enum LatencyCommand {
    /// Measure the latency distribution of communication, system calls or a command
    Measure(Box<Measure>),
    /// Show the distributions in a file of measured latencies
    Show(Show),
    /// Compare measured latencies: where they differ, by how much, and with what confidence
    Compare(Box<Compare>),
    /// Find likely causes in the distribution of measured latencies, with the evidence
    Diagnose(Box<Diagnose>),
    /// Merge several measurements of the same latencies into one file
    Merge(Merge),
    /// Resample measured exchange times to all-to-alls on more processors
    Resample(Box<Resample>),
}

impl Check for LatencyCommand {
    fn check(&self) -> Outcome<()> {
        match self {
            LatencyCommand::Compare(typed) => typed.check(),
            LatencyCommand::Diagnose(typed) => typed.check(),
            LatencyCommand::Merge(typed) => typed.check(),
            LatencyCommand::Show(_) => Ok(()),
            // They have plans of their own.
            LatencyCommand::Measure(_) | LatencyCommand::Resample(_) => Ok(()),
        }
    }
}
