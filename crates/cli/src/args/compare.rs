//! `straggler compare` as typed.

use super::report::ReportOption;
use clap::Args;
use std::path::PathBuf;
use straggler_analysis::latency::Gate;
use straggler_model::units::TimeUnit;

const EXAMPLES: &str = "\
EXAMPLES
  straggler compare fixtures/latency/before.lat fixtures/latency/after.lat

  Three measurements, with a page of charts:
  straggler compare fixtures/latency/before.lat fixtures/latency/after.lat \\
      fixtures/latency/tail.lat --report compared.html

  Times of any benchmark, one per line; exit code 5 if the median is more than
  50 % slower:
  straggler compare fixtures/resampling/exchanges.txt \\
      fixtures/resampling/uninterrupted.txt --fail-if 'median>+50%'

FILES  .lat files of `straggler measure latency` and straggler mpi, or text
       with one time per line
GATES  median, mean, min, max or pNN, then > or <, then the limit:
         p99>+5%      the 99th percentile is more than 5 % above that of the
                      first file
         median>+1us  the median is more than 1 us above that of the first file
         p99.9>50us   the 99.9th percentile is above 50 us, whatever the first
                      file says
       A gate trips if the whole 95 % interval is beyond the limit. If only the
       value is, the gate is undecided and a warning says so. min and max have
       no interval. For a quantile outside the bins only a bound is known; it
       is used where it decides the gate

EXIT CODES
  0  success, whether or not the files differ
  3  a file cannot be read, or a gate cannot be evaluated: a file lacks the
     series, there are too few trials, or the quantile lies outside the bins
     and its bound does not decide
  5  a gate tripped";

/// Compare measured latencies: where they differ, by how much, and with what confidence
///
/// Compares every file with the first: quantile by quantile with confidence intervals, and with distribution-free tests
/// (Kolmogorov–Smirnov, Anderson–Darling, Mann–Whitney). Distinguishes a shift of all times from a wider spread and from a
/// longer tail.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Compare {
    /// Measured latencies, at least two files; the first is the baseline
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Only series whose name contains this text, such as `1 B`, `0-1` or `rank 3`; given once per file, it selects one
    /// series of each
    #[arg(long, value_name = "TEXT")]
    pub series: Vec<String>,
    /// Exit with code 5 if this is true of a file; repeatable
    #[arg(long, value_name = "GATE")]
    pub fail_if: Vec<Gate>,
    /// Unit of plain numbers in text files: ns, us, ms, …
    #[arg(long, value_name = "UNIT")]
    pub unit: Option<TimeUnit>,
    #[command(flatten)]
    pub report: ReportOption,
}
