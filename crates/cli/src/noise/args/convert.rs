//! `straggler noise convert` as typed.

use clap::Args;
use std::path::PathBuf;
use straggler_model::Time;
use straggler_noise::Format;

pub const EXAMPLES: &str = "\
EXAMPLES
  straggler noise convert fixtures/noise/selfish.0 -o node.noise
  straggler noise convert fixtures/noise/sysjitter.0 --to columns -o two.txt
  straggler noise convert fixtures/noise/llnl-fwq-serial.dat --ghz 2.1 \\
      --from llnl-fwq -o fwq.noise
  straggler noise convert fixtures/noise/selfish.0 fixtures/noise/columns.txt \\
      --to selfish -o core --json

FORMATS
    straggler     a whole node, with sources and metadata
    selfish       Netgauge: detours of one core
    columns       LogGOPSim: start and duration in ns
    sysjitter     raw output of sysjitter: detours of one core
    netgauge-fwq  times of fixed work
    llnl-fwq      cycles of fixed work
    netgauge-ftq  work done in fixed time
    ftq           work done in fixed time, with start times

All but the first hold one core per file: several cores are written to
OUT.<core>.";

#[derive(Debug, Args)]
pub struct Convert {
    /// Noise files; several are the cores of one node, numbered by their extensions (trace.7)
    #[arg(value_name = "IN", required = true)]
    pub inputs: Vec<PathBuf>,
    /// Output file
    #[arg(short, long, value_name = "OUT")]
    pub output: PathBuf,
    /// Format of the input [default: detected]
    #[arg(long, value_name = "FORMAT")]
    pub from: Option<Format>,
    /// Format of the output
    #[arg(long, value_name = "FORMAT", default_value_t = Format::Straggler)]
    pub to: Format,
    /// Clock rate in GHz, for files that count cycles without stating it
    #[arg(long, value_name = "X")]
    pub ghz: Option<f64>,
    /// Length of a fixed-time quantum, if the file does not state it
    #[arg(long, value_name = "TIME")]
    pub interval: Option<Time>,
    /// Loss above which a quantum of fixed work or time counts as disturbed [default: a thousandth of the quantum]
    #[arg(long, value_name = "TIME")]
    pub threshold: Option<Time>,
    /// Length of the measurement, if the file does not state it
    #[arg(long, value_name = "TIME")]
    pub length: Option<Time>,
}
