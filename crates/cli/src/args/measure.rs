//! `straggler measure` as typed.

use super::latency::Latency;
use super::report::ReportOption;
use crate::args::count::count;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;
use straggler_measure::cores;
use straggler_measure::kernels::Threshold;
use straggler_model::Time;

const EXAMPLES: &str = "\
EXAMPLES
  Half a second of noise on every core, and a file for later:
  straggler measure noise --time 0.5s -o node.noise

  One core alone and then all of them, as in Table I of the paper:
  straggler measure noise --time 0.2s --one-and-all

  Round trips over TCP, as a distribution:
  straggler measure latency --kernel tcp --trials 1000 -o tcp.lat

  Does it measure what it should? (ends with 5 if not; try it on an idle machine)
  straggler measure noise --self-test --time 0.2s --json || true";

/// Measure this machine
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Measure {
    #[command(subcommand)]
    pub command: MeasureCommand,
}

#[derive(Debug, Subcommand)]
pub enum MeasureCommand {
    /// What takes the CPU from a program that does nothing but compute
    Noise(Box<Noise>),
    /// How long communication, system calls or a command take, as a distribution
    Latency(Box<Latency>),
    /// Make one file of several that measured the same latencies
    #[command(after_help = MERGE_EXAMPLES)]
    Merge(Merge),
}

const MERGE_EXAMPLES: &str = "\
EXAMPLES
  Two drawn measurements of the same kernel as one, with the trials of both:
  straggler measure merge fixtures/latency/before.lat \\
      fixtures/latency/after.lat -o both.lat

Files must be of the same kernel, layout of bins and placement; `straggler compare` takes others.";

#[derive(Debug, Args)]
pub struct Merge {
    /// Measured latencies (.lat), two or more
    #[arg(value_name = "FILE", required = true, num_args = 2..)]
    pub files: Vec<PathBuf>,
    /// Write the merged measurement to a file
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
}

const NOISE_EXAMPLES: &str = "\
EXAMPLES
  straggler measure noise --time 0.5s -o node.noise
  straggler measure noise --time 0.2s --runs 3 --choose quietest
  straggler measure noise --time 0.2s --events 1000 --json
  straggler measure noise --time 0.2s --method ftq --quantum 1ms

METHODS
  detour  reads the clock in a tight loop and keeps every iteration longer than the threshold:
          start and length of each interruption
  fwq     fixed work: the same work again and again, each time timed
  ftq     fixed time: how much work is done in every quantum of time

HOW TO READ IT
  An undisturbed iteration takes t_min; noise faster than 1 / (2 t_min) cannot be seen. Overhead is
  the share of time lost in detours. Slow phases are stretches in which everything took longer,
  as on machines that share their cores: they are no detours and are told apart.";

/// What takes the CPU from a program that does nothing but compute
#[derive(Debug, Args)]
#[command(after_help = NOISE_EXAMPLES)]
pub struct Noise {
    /// How long to measure; 10s unless given, or at most 10min with --events
    #[arg(long, value_name = "TIME")]
    pub time: Option<Time>,
    /// Stop when every core has found so many detours
    #[arg(long, value_name = "N", value_parser = count::<u64>(1..))]
    pub events: Option<u64>,
    /// The cores to measure, as in 0-3,8; all that this process may use unless given
    #[arg(long, value_name = "LIST", value_parser = cores_list)]
    pub cores: Option<CoreList>,
    /// The kernel that measures
    #[arg(long, value_enum, default_value_t)]
    pub method: MethodName,
    /// What is longer is a detour: a number of undisturbed iterations or a time [default: 9 for detour,
    /// 1.02 for fwq and ftq, whose times are what a quantum lost]
    #[arg(long, value_name = "FACTOR|TIME", value_parser = threshold)]
    pub threshold: Option<Threshold>,
    /// Length of a quantum of fixed work
    #[arg(long, value_name = "TIME", default_value = "100us")]
    pub work: Time,
    /// Length of a quantum of fixed time
    #[arg(long, value_name = "TIME", default_value = "1ms")]
    pub quantum: Time,
    /// Measure so many times
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = count::<u32>(1..=1000))]
    pub runs: u32,
    /// Which of several runs to report and to write
    #[arg(long, value_enum, default_value_t)]
    pub choose: Choose,
    /// Measure the first core alone, then all of them
    #[arg(long, conflicts_with_all = ["runs", "self_test"])]
    pub one_and_all: bool,
    /// How to find out what took the CPU
    #[arg(long, value_enum, default_value_t)]
    pub sources: SourcesName,
    /// Detours kept on each core; of those beyond, number and time are
    #[arg(long, value_name = "N", value_parser = count::<u32>(1..=1 << 28))]
    pub buffer: Option<u32>,
    /// Inject known detours and tell how many are found again, and how exactly
    #[arg(long, conflicts_with_all = ["events", "runs", "output", "report"])]
    pub self_test: bool,
    /// Write the recording to a file
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub report: ReportOption,
}

/// The kernels by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum MethodName {
    #[default]
    Detour,
    Fwq,
    Ftq,
}

/// Which of several runs counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Choose {
    /// The one with the lowest total detour
    #[default]
    Quietest,
    First,
    Last,
}

/// How the kernel is observed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum SourcesName {
    /// The best way that is permitted
    #[default]
    Auto,
    /// Tracepoints of the kernel; needs root
    Tracepoints,
    /// The kernel's osnoise tracer; needs root
    Osnoise,
    /// Counters of /proc
    Counters,
    None,
}

/// `0-3,8`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoreList(pub Vec<u32>);

pub fn cores_list(text: &str) -> Result<CoreList, String> {
    cores::parse(text).map(CoreList).map_err(|fault| fault.to_string())
}

/// A plain number is a factor, `9` or `9x`; what has a unit is a time.
fn threshold(text: &str) -> Result<Threshold, String> {
    let number = text.strip_suffix('x').unwrap_or(text);
    match number.parse::<f64>() {
        Ok(factor) if factor.is_finite() => Ok(Threshold::Factor(factor)),
        Ok(_) => Err(format!("`{text}` is no number of iterations; write one like 9")),
        Err(_) => text
            .parse()
            .map(Threshold::Time)
            .map_err(|fault| format!("{fault}; or write a number of undisturbed iterations, like 9")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_factors_or_times() {
        assert_eq!(threshold("9"), Ok(Threshold::Factor(9.0)));
        assert_eq!(threshold("1.5x"), Ok(Threshold::Factor(1.5)));
        assert_eq!(threshold("2us"), Ok(Threshold::Time(Time::from_ns(2000))));
        for wrong in ["", "x", "inf", "nanx", "9y", "2 us s"] {
            assert!(threshold(wrong).is_err(), "{wrong}");
        }
    }
}
