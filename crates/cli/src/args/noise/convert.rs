//! `straggler noise convert` as typed.

use clap::Args;
use std::path::PathBuf;
use straggler_model::Time;
use straggler_model::noise::Format;

pub const EXAMPLES: &str = "\
EXAMPLES
  straggler noise convert fixtures/noise/selfish.0 -o node.noise
  straggler noise convert fixtures/noise/sysjitter.0 --to columns -o two.txt
  straggler noise convert fixtures/noise/llnl-fwq-serial.dat --ghz 2.1 \\
      --from llnl-fwq -o fwq.noise
  straggler noise convert fixtures/noise/selfish.0 fixtures/noise/columns.txt \\
      --to selfish -o core --json

FORMATS
    straggler     a whole node, with everything that is known
    selfish       Netgauge: detours of a core
    columns       LogGOPSim: start and duration in ns
    sysjitter     its raw output: detours of a core
    netgauge-fwq  times of fixed work
    llnl-fwq      cycles of fixed work
    netgauge-ftq  work done in fixed time
    ftq           work done in fixed time, with starts

All but the first hold one core a file: several cores are written to OUT.<core>.";

#[derive(Debug, Args)]
pub struct Convert {
    /// Noise files; several are the cores of one node, numbered as their names end (trace.7)
    #[arg(value_name = "IN", required = true)]
    pub inputs: Vec<PathBuf>,
    /// Where to write
    #[arg(short, long, value_name = "OUT")]
    pub output: PathBuf,
    /// The format of the files; detected unless given
    #[arg(long, value_name = "FORMAT")]
    pub from: Option<Format>,
    /// The format to write
    #[arg(long, value_name = "FORMAT", default_value_t = Format::Straggler)]
    pub to: Format,
    /// Cycles in a nanosecond, for counts of cycles that come without
    #[arg(long, value_name = "X")]
    pub ghz: Option<f64>,
    /// The length of a quantum of fixed time, where the file does not state it
    #[arg(long, value_name = "TIME")]
    pub interval: Option<Time>,
    /// The loss above which a quantum of fixed work or time counts as disturbed; a thousandth of the quantum
    /// unless given
    #[arg(long, value_name = "TIME")]
    pub threshold: Option<Time>,
    /// How long was measured, where the file does not state it
    #[arg(long, value_name = "TIME")]
    pub length: Option<Time>,
}
