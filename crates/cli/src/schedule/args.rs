//! `straggler schedule` as typed.

use crate::kernel::prelude::*;
use crate::kernel::typed::{count, text};
use crate::simulate::collective::{DataOptions, Repetition};
use crate::simulate::workload::WorkloadOptions;
use straggler_schedule::collectives::{Choice, Operation};

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
  straggler schedule check fixtures/conformance/wildcard-02.bin
  straggler schedule generate --collective barrier --processes 16 -o bar.goal
  straggler schedule algorithms allreduce
  straggler schedule prove --collective allreduce:ring --processes 13";

const CONVERT_EXAMPLES: &str = "\
EXAMPLES
  straggler schedule convert fixtures/conformance/eager-00.goal -o eager.bin
  straggler schedule convert fixtures/conformance/wildcard-02.bin -o wild.goal";

const INFO_EXAMPLES: &str = "\
EXAMPLES
  straggler schedule info fixtures/conformance/eager-00.goal
  straggler schedule info fixtures/conformance/irequires-03.bin --json";

const CHECK_EXAMPLES: &str = "\
EXAMPLES
  straggler schedule check fixtures/conformance/rendezvous-00.goal
  straggler schedule check fixtures/conformance/wildcard-02.bin --json

The exit code is 0 if there are at most warnings, 4 if there are errors, and 3
if the file is no schedule, for example because its operations form a cycle.";

const GENERATE_EXAMPLES: &str = "\
EXAMPLES
  straggler schedule generate --collective allreduce:ring --processes 16 \\
      --size 1KiB -o ring.goal
  straggler schedule generate --collective barrier --processes 1024 \\
      --cycles 10 --compute 1ms -o barrier.bin
  straggler schedule generate --workload halo2d,iterations=10 --processes 64 \\
      -o halo.bin";

const PROVE_EXAMPLES: &str = "\
EXAMPLES
  straggler schedule prove --collective allreduce:ring --processes 13
  straggler schedule prove --collective bcast:chain,segment=100 --processes 7 \\
      --root 3 --size 1000
  straggler schedule prove --collective allreduce:dissemination \\
      --processes 12 --idempotent --json

The check runs the collective symbolically: each byte counts the contributions
of each rank. The proof holds for this number of processes, these sizes and
this root. The exit code is 5 if a check fails.";

const ALGORITHMS_EXAMPLES: &str = "\
EXAMPLES
  straggler schedule algorithms
  straggler schedule algorithms allreduce
  straggler schedule algorithms --json";

const WORKLOADS_EXAMPLES: &str = "\
EXAMPLES
  straggler schedule workloads
  straggler schedule workloads training
  straggler schedule workloads --json";

const SELECTOR_EXAMPLES: &str = "\
EXAMPLES
  straggler schedule selector paper
  straggler schedule selector open-mpi --operation bcast
  straggler schedule selector mpich --toml > table.toml
  straggler schedule selector table.toml";

#[derive(Debug, Subcommand)]
pub enum ScheduleCommand {
    /// Convert a schedule to GOAL text or binary, by file extension
    #[command(after_help = CONVERT_EXAMPLES)]
    Convert(Convert),
    /// Show statistics of a schedule
    #[command(after_help = INFO_EXAMPLES)]
    Info(Info),
    /// Check a schedule for dependency cycles, unmatched messages and receives that are too small
    #[command(after_help = CHECK_EXAMPLES)]
    Check(CheckSchedule),
    /// Write a collective or a workload as a schedule
    #[command(after_help = GENERATE_EXAMPLES)]
    #[command(
        override_usage = "straggler schedule generate [OPTIONS] --processes <P>\n           --output <FILE.goal|FILE.bin>"
    )]
    Generate(Generate),
    /// List collective operations and their algorithms
    #[command(after_help = ALGORITHMS_EXAMPLES)]
    Algorithms(Algorithms),
    /// Show the rules that select an algorithm when none is named
    #[command(after_help = SELECTOR_EXAMPLES)]
    Selector(SelectorShow),
    /// List workloads and their parameters
    #[command(after_help = WORKLOADS_EXAMPLES)]
    Workloads(Workloads),
    /// Prove that the algorithm of a collective is correct
    #[command(after_help = PROVE_EXAMPLES)]
    #[command(
        override_usage = "straggler schedule prove [OPTIONS] --processes <P>\n           --collective <OPERATION[:ALGORITHM[,KEY=VALUE…]]>"
    )]
    Prove(Prove),
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
pub struct CheckSchedule {
    /// GOAL text or binary
    pub file: PathBuf,
    /// How many findings to show
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = count::<usize>(0..))]
    pub show: usize,
}

#[derive(Debug, Args)]
pub struct Generate {
    /// The collective: allreduce, allreduce:ring, bcast:chain,segment=8KiB, …
    #[arg(long, value_name = "OPERATION[:ALGORITHM[,KEY=VALUE…]]")]
    pub collective: Option<Choice>,
    /// Number of processes
    #[arg(long, value_name = "P", value_parser = count::<u32>(1..))]
    pub processes: u32,
    #[command(flatten)]
    pub data: DataOptions,
    #[command(flatten)]
    pub repetition: Repetition,
    #[command(flatten)]
    pub workload: WorkloadOptions,
    /// Where to write; .bin is binary, all else is text
    #[arg(short, long, value_name = "FILE.goal|FILE.bin")]
    pub output: PathBuf,
}

/// A collective and its number of processes.
#[derive(Debug, Args)]
pub struct CheckedCollective {
    /// The collective: allreduce, allreduce:ring, bcast:chain,segment=8KiB, …
    #[arg(long, value_name = "OPERATION[:ALGORITHM[,KEY=VALUE…]]")]
    pub collective: Choice,
    /// Number of processes
    #[arg(long, value_name = "P", value_parser = count::<u32>(1..))]
    pub processes: u32,
    #[command(flatten)]
    pub data: DataOptions,
}

#[derive(Debug, Args)]
pub struct Algorithms {
    /// Only the algorithms of this operation
    pub operation: Option<Operation>,
}

#[derive(Debug, Args)]
pub struct Workloads {
    /// Only this workload
    pub name: Option<String>,
}

#[derive(Debug, Args)]
pub struct SelectorShow {
    /// A preset (paper, mpich, open-mpi) or a file of rules
    #[arg(value_name = "PRESET|FILE.toml", value_parser = text())]
    pub selector: String,
    /// Only the rules of this operation
    #[arg(long)]
    pub operation: Option<Operation>,
    /// Print the rules as a file that you can edit
    #[arg(long, conflicts_with = "operation")]
    pub toml: bool,
}

#[derive(Debug, Args)]
pub struct Prove {
    #[command(flatten)]
    pub what: CheckedCollective,
}
