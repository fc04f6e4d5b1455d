//! `straggler bench` as typed.

use super::device::DeviceOption;
use crate::args::count::count;
use clap::Args;
use std::path::PathBuf;

const EXAMPLES: &str = "\
EXAMPLES
  straggler bench --quick
  straggler bench --quick --repeat 1 -o bench.json

Each case runs in a separate process, so that its peak memory is its own. The
best repetition counts. Other load on the machine affects the results.";

/// Measure the speed and the memory use of the simulator on this machine
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Bench {
    /// Simulated processes in the main cases, and at most in all others
    #[arg(long, value_name = "P", value_parser = count::<u32>(2..))]
    pub processes: Option<u32>,
    /// Runs of each case; the best counts
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = count::<u32>(1..))]
    pub repeat: u32,
    /// Fewer processes; takes a few seconds
    #[arg(long, conflicts_with = "full")]
    pub quick: bool,
    /// Up to 67,108,864 processes; takes minutes and several gigabytes of memory
    #[arg(long)]
    pub full: bool,
    /// Write the results as JSON
    #[arg(short, long, value_name = "OUT.json")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub device: DeviceOption,
}

/// The case as JSON, from the parent process.
#[derive(Debug, Args)]
pub struct BenchCase {
    pub case: String,
}
