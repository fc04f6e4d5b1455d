//! `straggler compare` as typed.

use super::report::ReportOption;
use clap::Args;
use std::path::PathBuf;
use straggler_analysis::latency::Gate;
use straggler_model::units::TimeUnit;

const EXAMPLES: &str = "\
EXAMPLES
  straggler compare fixtures/latency/before.lat fixtures/latency/after.lat

  Three measurements, as one page with charts:
  straggler compare fixtures/latency/before.lat fixtures/latency/after.lat \\
      fixtures/latency/tail.lat --report compared.html

  Times of any benchmark, one a line; ends with 5 if the median is slower by more than 50 %:
  straggler compare fixtures/resampling/exchanges.txt \\
      fixtures/resampling/uninterrupted.txt --fail-if 'median>+50%'

FILES  .lat, as `straggler measure latency` and straggler-mpi write them, or measured times, one a line
GATES  median, mean, min, max or pNN, then > or <, then the limit:
         p99>+5%      the quantile of 99 % is more than 5 % above that of the first file
         median>+1us  the median is more than 1 us above
         p99.9>50us   it is above 50 us, whatever the first file says
       A gate trips when the whole 95 % interval is beyond the limit. Where only the value is, the
       gate is undecided, and a warning says so. min and max have no interval. Of a quantile outside
       the bins a bound is known: where that decides, the gate is judged

EXIT CODES
  0  good, whether or not they differ
  3  a file cannot be read, or a gate cannot be judged: a series is missing in a file, there are too
     few trials, or the quantile lies outside the bins and its bound does not decide
  5  a gate tripped";

/// Whether measured latencies differ, where, by how much, and how surely
///
/// Compares every file with the first: quantile by quantile with confidence intervals, and by tests that assume no
/// distribution (Kolmogorov–Smirnov, Anderson–Darling, Mann–Whitney). Tells a shift of all times from a wider spread and from
/// a longer tail.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Compare {
    /// Measured latencies, at least two; all others are compared with the first
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Only series whose name contains this, such as `1 B`, `0-1` or `rank 3`; given once for each file, it chooses one
    /// series of each
    #[arg(long, value_name = "TEXT")]
    pub series: Vec<String>,
    /// Fail if this is true of a file; may be given several times
    #[arg(long, value_name = "GATE")]
    pub fail_if: Vec<Gate>,
    /// The unit of plain numbers in files of times: ns, us, ms, …
    #[arg(long, value_name = "UNIT")]
    pub unit: Option<TimeUnit>,
    #[command(flatten)]
    pub report: ReportOption,
}
