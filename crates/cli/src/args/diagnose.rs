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

HINTS  two modes that split by pair     topology, or a protocol that depends on the peer
       a mode above a number of peers   resources for each peer run out
       a tail in steps of a timer tick  the operating system gave the processor to others
       also drift, warm-up, bursts, coarse or costly timers, heavy tails, small modes, too few cores,
       slow processes and slow pairs. Each hint has its evidence; none is a proof";

/// What the shape of measured latencies hints at, with the evidence
///
/// Reports quantiles with confidence intervals, moments, modes, fitted distributions, whether cycles are steady, and clusters
/// of pairs compared with nodes, sockets, NUMA domains and switches; then what may be behind the shape.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Diagnose {
    /// Measured latencies: a .lat file, or measured times, one a line
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// A recording of noise taken at the same time on the same node: how much of the tail does it explain?
    #[arg(long, value_name = "FILE")]
    pub with_noise: Option<PathBuf>,
    /// Which switch each node is connected to, as Slurm's topology.conf says: SwitchName=leaf1 Nodes=n[001-016]
    #[arg(long, value_name = "FILE")]
    pub topology: Option<PathBuf>,
    /// Only series whose name contains this, such as `1 B`, `0-1` or `rank 3`
    #[arg(long, value_name = "TEXT")]
    pub series: Option<String>,
    /// The unit of plain numbers in files of times: ns, us, ms, …
    #[arg(long, value_name = "UNIT")]
    pub unit: Option<TimeUnit>,
    #[command(flatten)]
    pub report: ReportOption,
}
