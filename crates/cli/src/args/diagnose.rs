//! `straggler diagnose` as typed.

use super::report::ReportOption;
use clap::Args;
use std::path::PathBuf;
use straggler_model::units::TimeUnit;

const EXAMPLES: &str = "\
EXAMPLES
  straggler diagnose fixtures/latency/pairs.lat
  straggler diagnose fixtures/latency/peers.lat --report peers.html
  straggler diagnose fixtures/latency/tail.lat \\
      --with-noise fixtures/latency/tail.noise
  straggler diagnose fixtures/resampling/exchanges.txt --json

HINTS  two modes that separate pairs     topology, or a protocol that depends
                                         on the peer
       a mode above a number of peers    resources per peer run out
       a tail in steps of a timer tick   the operating system scheduled other
                                         tasks on the core
       Also drift, warm-up, bursts, coarse or slow timers, heavy tails, small
       modes, too few cores, slow processes and slow pairs. Each hint comes
       with its evidence; none is a proof.";

/// Find likely causes in the distribution of measured latencies, with the evidence
///
/// Reports quantiles with confidence intervals, moments, modes, fitted distributions, whether cycles are stationary, and
/// clusters of pairs compared with nodes, sockets, NUMA domains and switches. Then lists likely causes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Diagnose {
    /// Measured latencies: a .lat file, or a text file with one time per line
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// A noise recording of the same node from the same time, to test how much of the tail it explains
    #[arg(long, value_name = "FILE")]
    pub with_noise: Option<PathBuf>,
    /// The switch of each node, in the format of Slurm's topology.conf: SwitchName=leaf1 Nodes=n[001-016]
    #[arg(long, value_name = "FILE")]
    pub topology: Option<PathBuf>,
    /// Only series whose name contains this text, such as `1 B`, `0-1` or `rank 3`
    #[arg(long, value_name = "TEXT")]
    pub series: Option<String>,
    /// Unit of plain numbers in text files: ns, us, ms, …
    #[arg(long, value_name = "UNIT")]
    pub unit: Option<TimeUnit>,
    #[command(flatten)]
    pub report: ReportOption,
}
