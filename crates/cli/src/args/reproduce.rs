//! `straggler reproduce`, as it is typed.

use super::device::DeviceOption;
use clap::Args;
use std::path::PathBuf;
use straggler_model::units::Bytes;

/// Simulate the figures and tables of published papers, beside what the papers say
#[derive(Args, Debug)]
#[command(after_help = "EXAMPLES
  What there is, and how much work each is:
  straggler reproduce --list

  One figure, small, in seconds:
  straggler reproduce sc10-fig4 --quick

  A figure at the size of the paper; killed and started again it goes on where it was:
  straggler reproduce sc10-fig5a

SIZES   --quick takes seconds each and fewer processes and replicas than the paper; without it the sizes are those
        of the paper, or the largest that make sense, and some take hours
OUTPUT  a folder for each, with the results of its study, and report.html of all that were asked for
INPUT   traces of the papers are not public: where noise or applications had to be synthesised, every table and
        chart says so. Slowdown is T/T0 - 1; where a paper means T/T0, the text says so")]
pub struct Reproduce {
    /// Figures and tables, as --list names them; all: every one of them
    #[arg(value_name = "NAME", required_unless_present = "list")]
    pub names: Vec<String>,
    /// Show what there is
    #[arg(long, conflicts_with_all = ["names", "quick", "output", "markdown", "exchanges"])]
    pub list: bool,
    /// Small sizes: seconds each
    #[arg(long)]
    pub quick: bool,
    /// The folder for results
    #[arg(short, long, value_name = "DIR", default_value = "reproductions")]
    pub output: PathBuf,
    /// Throw away what earlier runs left in the folder
    #[arg(long)]
    pub fresh: bool,
    /// Take measured exchanges (FILE.lat of straggler-mpi latency) instead of synthesised ones, for sp2-table1 and sp2-fig5-6
    #[arg(long, value_name = "FILE")]
    pub exchanges: Option<PathBuf>,
    /// Which messages of --exchanges to take; else the smallest
    #[arg(long, value_name = "BYTES", requires = "exchanges")]
    pub size: Option<Bytes>,
    /// Write what was published and what was simulated as Markdown, too
    #[arg(long, value_name = "OUT.md")]
    pub markdown: Option<PathBuf>,
    #[command(flatten)]
    pub device: DeviceOption,
}
