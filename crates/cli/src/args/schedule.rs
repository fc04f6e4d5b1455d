//! `straggler schedule` as typed.

use super::workload::WorkloadOptions;
use clap::{Args, Subcommand};
use std::path::PathBuf;
use straggler_model::Time;
use straggler_model::units::Bytes;
use straggler_schedule::collectives::Choice;

/// Convert, inspect, check and generate schedules
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Schedule {
    #[command(subcommand)]
    pub command: ScheduleCommand,
}

const EXAMPLES: &str = "\
EXAMPLES
  straggler schedule info fixtures/conformance/eager-00.goal
  straggler schedule convert fixtures/conformance/eager-00.goal -o eager.bin
  straggler schedule validate fixtures/conformance/wildcard-02.bin
  straggler schedule generate --collective barrier --processes 16 -o bar.goal";

const CONVERT_EXAMPLES: &str = "\
EXAMPLES
  straggler schedule convert fixtures/conformance/eager-00.goal -o eager.bin
  straggler schedule convert fixtures/conformance/wildcard-02.bin -o wild.goal";

const INFO_EXAMPLES: &str = "\
EXAMPLES
  straggler schedule info fixtures/conformance/eager-00.goal
  straggler schedule info fixtures/conformance/irequires-03.bin --json";

const VALIDATE_EXAMPLES: &str = "\
EXAMPLES
  straggler schedule validate fixtures/conformance/rendezvous-00.goal
  straggler schedule validate fixtures/conformance/wildcard-02.bin --json

Ends with code 4 if there is an error, and with 0 if there are only warnings.";

const GENERATE_EXAMPLES: &str = "\
EXAMPLES
  straggler schedule generate --collective allreduce:ring --processes 16 \\
      --size 1KiB -o ring.goal
  straggler schedule generate --collective barrier --processes 1024 \\
      --cycles 10 --compute 1ms -o barrier.bin
  straggler schedule generate --workload halo2d,iterations=10 --processes 64 \\
      -o halo.bin";

#[derive(Debug, Subcommand)]
pub enum ScheduleCommand {
    /// Rewrite a schedule as GOAL text or binary, by the ending of the output
    #[command(after_help = CONVERT_EXAMPLES)]
    Convert(Convert),
    /// What a schedule holds, in numbers
    #[command(after_help = INFO_EXAMPLES)]
    Info(Info),
    /// Everything that is wrong with a schedule, as far as that shows without running it
    #[command(after_help = VALIDATE_EXAMPLES)]
    Validate(Validate),
    /// Write a collective or a workload as a schedule
    #[command(after_help = GENERATE_EXAMPLES)]
    Generate(Generate),
}

#[derive(Debug, Args)]
pub struct Convert {
    /// GOAL text or binary
    pub file: PathBuf,
    /// Where to write; .bin is binary, all else is text
    #[arg(short, long, value_name = "FILE.goal|FILE.bin")]
    pub output: PathBuf,
}

#[derive(Debug, Args)]
pub struct Info {
    /// GOAL text or binary
    pub file: PathBuf,
}

#[derive(Debug, Args)]
pub struct Validate {
    /// GOAL text or binary
    pub file: PathBuf,
    /// How many findings to show
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub show: usize,
}

#[derive(Debug, Args)]
pub struct Generate {
    /// The collective: allreduce, allreduce:ring, barrier, bcast, reduce, …
    #[arg(long, value_name = "OPERATION[:ALGORITHM]", required_unless_present = "workload")]
    pub collective: Option<Choice>,
    /// Number of processes
    #[arg(long, value_name = "P", value_parser = clap::value_parser!(u32).range(1..))]
    pub processes: u32,
    /// Bytes of data; 8 unless given
    #[arg(long, value_name = "BYTES")]
    pub size: Option<Bytes>,
    #[command(flatten)]
    pub repetition: Repetition,
    /// The rank that a bcast begins with and a reduce ends with
    #[arg(long, value_name = "RANK")]
    pub root: Option<u32>,
    #[command(flatten)]
    pub workload: WorkloadOptions,
    /// Where to write; .bin is binary, all else is text
    #[arg(short, long, value_name = "FILE.goal|FILE.bin")]
    pub output: PathBuf,
}

/// How often a collective is done, and what comes between.
#[derive(Clone, Copy, Debug, Args)]
pub struct Repetition {
    /// How many times; once unless given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub cycles: Option<u32>,
    /// Computation before each, on every process
    #[arg(long, value_name = "TIME")]
    pub compute: Option<Time>,
}
