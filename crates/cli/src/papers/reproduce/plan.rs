//! `straggler papers run` as typed.

use crate::kernel::devices;
use crate::kernel::devices::DeviceOption;
use crate::kernel::exit::Outcome;
use crate::kernel::outputs::refuse_unwritable;
use crate::kernel::valid::Check;
use clap::Args;
use std::path::PathBuf;
use straggler_model::units::Bytes;

/// Reproduce figures and tables of published papers and compare them with the published values
#[derive(Args, Debug)]
#[command(after_help = "EXAMPLES
  A small version of one figure, in seconds:
  straggler papers run sc10-fig4 --quick

  A figure at the size of the paper; if interrupted, the same command resumes
  it:
  straggler papers run sc10-fig5a

SIZES   --quick uses fewer processes and replicas than the paper and takes
        seconds per item. Without it the sizes are those of the paper, or the
        largest reasonable ones; some take hours
OUTPUT  one folder per item with the results of its study, and one report.html
        for all
INPUT   the traces of the papers are not public. Where noise or applications
        are synthetic, every table and chart says so. Slowdown is T/T0 - 1;
        where a paper means T/T0, the text says so")]
pub struct Reproduce {
    /// Figures and tables by their names in `straggler papers list`, or `all`
    #[arg(value_name = "NAME", required = true)]
    pub names: Vec<String>,
    /// Use small sizes that take seconds
    #[arg(long)]
    pub quick: bool,
    /// Folder for the results
    #[arg(short, long, value_name = "DIR", default_value = "reproductions")]
    pub output: PathBuf,
    /// Discard the results of earlier runs in the folder
    #[arg(long)]
    pub fresh: bool,
    /// Use measured exchanges (a .lat file of straggler mpi latency) instead of synthetic ones, for sp2-table1 and sp2-fig5-6
    #[arg(long, value_name = "FILE")]
    pub exchanges: Option<PathBuf>,
    /// Message size to take from --exchanges [default: the smallest]
    #[arg(long, value_name = "BYTES", requires = "exchanges")]
    pub size: Option<Bytes>,
    /// Also write published and simulated values as Markdown
    #[arg(long, value_name = "OUT.md")]
    pub markdown: Option<PathBuf>,
    #[command(flatten)]
    pub device: DeviceOption,
}

impl Check for Reproduce {
    fn check(&self) -> Outcome<()> {
        devices::refuse_missing(self.device.device)?;
        refuse_unwritable(&self.output)?;
        self.markdown.as_deref().map_or(Ok(()), refuse_unwritable)
    }
}
