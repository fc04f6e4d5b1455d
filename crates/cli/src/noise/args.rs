//! `straggler noise` as typed.

pub mod convert;
use crate::kernel::gates::{ChecksOption, LimitsOption, limits_help};
use crate::kernel::typed::{noise, text};
use crate::noise::measure::plan::Measure;
use crate::report::ReportOption;
use clap::{Args, Subcommand};
use std::path::PathBuf;
use straggler_model::Time;
use straggler_noise::NoiseSpec;

/// The metrics of a noise recording, the same wherever one is judged.
macro_rules! noise_metrics_help {
    () => {
        "\
METRICS  for --fail-if and --prometheus
  overhead             share of time lost in detours: 'overhead>0.1%'
  source_overhead      the same for each source: 'source_overhead[timer]>0.05%'
  detours_per_second   per core: 'detours_per_second>1000'
  longest              the longest detour: 'longest>50us'
"
    };
}
pub(crate) use noise_metrics_help;

const EXAMPLES: &str = concat!(
    "\
EXAMPLES
  straggler noise show periodic:period=1ms,duration=100us
  straggler noise show fixtures/noise/selfish.0
  straggler noise show periodic:rate=10Hz,duration=25us \\
      delay:rank=4,at=10us,duration=50us
  straggler noise show chic
  straggler noise show 'poisson:rate=1kHz,duration=uniform(1us,5us)' --json

  A gate for a health check:
  straggler noise show fixtures/noise/selfish.0 --fail-if 'longest>10ms'

",
    noise_metrics_help!(),
    limits_help!()
);

const FIT_EXAMPLES: &str = "\
EXAMPLES
  straggler noise fit fixtures/noise/selfish.0
  straggler noise fit fixtures/conformance/eager-noise-00.noise -o eager.toml
  straggler noise fit fixtures/noise/sysjitter.0 --json";

const COMPARE_EXAMPLES: &str = concat!(
    "\
EXAMPLES
  straggler noise compare fixtures/noise/selfish.0 fixtures/noise/sysjitter.0
  straggler noise compare fixtures/conformance/eager-noise-00.noise \\
      fixtures/conformance/eager-noise-01.noise --json
  straggler noise compare chic altix

  A gate for a script:
  straggler noise compare chic chic --fail-if different

METRICS  for --fail-if
  different  whether they differ: 'different', which has no limit
",
    limits_help!()
);

const LIST_EXAMPLES: &str = "\
EXAMPLES
  straggler noise list
  straggler noise list chic
  straggler noise list chic > mine.toml
  straggler noise list --json";

/// Measure, show, fit, compare and convert noise
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Noise {
    #[command(subcommand)]
    pub command: NoiseCommand,
}

#[derive(Debug, Subcommand)]
pub enum NoiseCommand {
    /// Measure noise: interruptions of a program that only computes
    Measure(Box<Measure>),
    /// Show the overhead, detours, frequencies and sources of noise
    ///
    /// For measured noise: the overhead with its confidence interval, the lengths and distances of detours, their
    /// frequencies, their sources, and the correlation between cores. For a noise spec: its sources, their
    /// detours and the share of time they take.
    #[command(after_help = EXAMPLES)]
    Show(Show),
    /// Fit a signature to measured noise: a few sources that generate similar noise
    #[command(after_help = FIT_EXAMPLES)]
    Fit(Fit),
    /// Test whether two recordings or noise specs differ
    #[command(after_help = COMPARE_EXAMPLES)]
    Compare(Compare),
    /// Convert noise files to another format
    #[command(after_help = convert::EXAMPLES)]
    Convert(convert::Convert),
    /// List the built-in signatures, or print one as a file with the reasons for its numbers
    #[command(after_help = LIST_EXAMPLES)]
    List(List),
}

#[derive(Debug, Args)]
pub struct Show {
    /// Noise files, taken as the cores of one node, or noise specs as in --noise, which are superposed
    #[arg(value_name = "FILE|SPEC", required = true, value_parser = noise())]
    pub noise: Vec<NoiseSpec>,
    #[command(flatten)]
    pub checks: ChecksOption,
    #[command(flatten)]
    pub report: ReportOption,
}

#[derive(Debug, Args)]
pub struct Fit {
    /// Noise files; several are the cores of one node
    #[arg(value_name = "FILE", required = true, value_parser = text())]
    pub files: Vec<String>,
    /// Write the signature to a file instead of stdout
    #[arg(short, long, value_name = "SIG.toml")]
    pub output: Option<PathBuf>,
    /// Only this core
    #[arg(long, value_name = "CORE")]
    pub core: Option<u32>,
    /// Name of the signature [default: the name of the file]
    #[arg(long, value_name = "TEXT")]
    pub name: Option<String>,
}

#[derive(Debug, Args)]
pub struct Compare {
    /// A noise file, or a noise spec as in --noise
    #[arg(value_name = "A", value_parser = noise())]
    pub first: NoiseSpec,
    /// The noise file or noise spec to compare it with
    #[arg(value_name = "B", value_parser = noise())]
    pub second: NoiseSpec,
    /// Length of the sample drawn from a noise spec [default: the length of the other recording]
    #[arg(long, value_name = "TIME")]
    pub length: Option<Time>,
    #[command(flatten)]
    pub limits: LimitsOption,
    /// The former name of `--fail-if different`
    #[arg(long, hide = true)]
    pub fail_if_different: bool,
    #[command(flatten)]
    pub report: ReportOption,
}

#[derive(Debug, Args)]
pub struct List {
    /// Print this signature as a file
    pub name: Option<String>,
}
