//! `straggler noise` as typed.

pub mod convert;

use super::report::ReportOption;
use clap::{Args, Subcommand};
use std::path::PathBuf;
use straggler_model::Time;
use straggler_model::noise::NoiseSpec;

const EXAMPLES: &str = "\
EXAMPLES
  straggler noise show periodic:period=1ms,duration=100us
  straggler noise show fixtures/noise/selfish.0
  straggler noise show periodic:rate=10Hz,duration=25us \\
      delay:rank=4,at=10us,duration=50us
  straggler noise show chic
  straggler noise show 'poisson:rate=1kHz,duration=uniform(1us,5us)' --json";

const FIT_EXAMPLES: &str = "\
EXAMPLES
  straggler noise fit fixtures/noise/selfish.0
  straggler noise fit fixtures/conformance/eager-noise-00.noise -o eager.toml
  straggler noise fit fixtures/noise/sysjitter.0 --json";

const COMPARE_EXAMPLES: &str = "\
EXAMPLES
  straggler noise compare fixtures/noise/selfish.0 fixtures/noise/sysjitter.0
  straggler noise compare fixtures/conformance/eager-noise-00.noise \\
      fixtures/conformance/eager-noise-01.noise --json
  straggler noise compare chic altix

EXIT CODES
  0  equal or not
  5  not equal, and --fail-if-different was given";

const LIST_EXAMPLES: &str = "\
EXAMPLES
  straggler noise list
  straggler noise list chic
  straggler noise list chic > mine.toml
  straggler noise list --json";

/// What a description of noise means
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Noise {
    #[command(subcommand)]
    pub command: NoiseCommand,
}

#[derive(Debug, Subcommand)]
pub enum NoiseCommand {
    /// What a noise does: its overhead, detours, frequencies and sources
    ///
    /// Of measured noise: the overhead with its confidence interval, how long detours are and how far apart,
    /// at which frequencies they come back, who makes them, and what cores have in common. Of a description:
    /// its sources, their detours and the share of time they take.
    #[command(after_help = EXAMPLES)]
    Show(Show),
    /// Make a signature of measured noise: a few sources that draw the same noise
    #[command(after_help = FIT_EXAMPLES)]
    Fit(Fit),
    /// Whether two recordings or descriptions are the same noise
    #[command(after_help = COMPARE_EXAMPLES)]
    Compare(Compare),
    /// Write noise files in another format
    #[command(after_help = convert::EXAMPLES)]
    Convert(convert::Convert),
    /// The signatures that are built in, or the file of one with the reasons for its numbers
    #[command(after_help = LIST_EXAMPLES)]
    List(List),
}

#[derive(Debug, Args)]
pub struct Show {
    /// Noise files, which are the cores of one node, or descriptions as --noise takes them, which are superposed
    #[arg(value_name = "FILE|SPEC", required = true, value_parser = NoiseSpec::of_typed)]
    pub noise: Vec<NoiseSpec>,
    #[command(flatten)]
    pub report: ReportOption,
}

#[derive(Debug, Args)]
pub struct Fit {
    /// Noise files; several are the cores of one node
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<String>,
    /// Write the signature to a file instead of stdout
    #[arg(short, long, value_name = "SIG.toml")]
    pub output: Option<PathBuf>,
    /// Of this core only
    #[arg(long, value_name = "CORE")]
    pub core: Option<u32>,
    /// What the signature is called; the name of the file unless given
    #[arg(long, value_name = "TEXT")]
    pub name: Option<String>,
}

#[derive(Debug, Args)]
pub struct Compare {
    /// A noise file, or a description as --noise takes it
    #[arg(value_name = "A", value_parser = NoiseSpec::of_typed)]
    pub first: NoiseSpec,
    /// What it is compared with
    #[arg(value_name = "B", value_parser = NoiseSpec::of_typed)]
    pub second: NoiseSpec,
    /// How much of a description is drawn; as much as the other one was measured unless given
    #[arg(long, value_name = "TIME")]
    pub length: Option<Time>,
    /// End with exit code 5 if they are not the same
    #[arg(long)]
    pub fail_if_different: bool,
    #[command(flatten)]
    pub report: ReportOption,
}

#[derive(Debug, Args)]
pub struct List {
    /// Print this one as a signature file
    pub name: Option<String>,
}
