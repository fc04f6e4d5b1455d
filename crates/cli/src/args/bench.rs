//! `straggler bench` as typed.

use super::device::DeviceOption;
use crate::args::count::count;
use clap::Args;
use std::path::PathBuf;

const EXAMPLES: &str = "\
EXAMPLES
  straggler bench --quick
  straggler bench --quick --repeat 1 -o bench.json

Every case runs in a process of its own, so that its peak of memory is its own. The best of the
repetitions counts. The numbers are those of this machine and of what else runs on it.";

/// How fast this machine simulates, and in how much memory
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Bench {
    /// Processes of the main cases
    #[arg(long, value_name = "P", value_parser = count::<u32>(2..))]
    pub processes: Option<u32>,
    /// Runs of each case, of which the best counts
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = count::<u32>(1..))]
    pub repeat: u32,
    /// A few seconds: fewer processes
    #[arg(long, conflicts_with = "full")]
    pub quick: bool,
    /// Minutes: up to 67,108,864 processes, which takes several gigabytes
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
