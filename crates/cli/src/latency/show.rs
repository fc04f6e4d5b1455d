//! `straggler latency show`: the distributions in a file, as `straggler latency measure` prints them.

use crate::kernel::console::Console;
use crate::kernel::exit::Outcome;
use crate::latency::file;
use crate::latency::measure::{MeasureLatencyAnswer, words};
use clap::Args;
use std::path::PathBuf;
use straggler_model::units::TimeUnit;

const EXAMPLES: &str = "\
EXAMPLES
  straggler latency show fixtures/latency/before.lat
  straggler latency show fixtures/latency/before.lat --json
  straggler latency show fixtures/latency/synthetic.txt";

/// Show the distributions in a file of measured latencies
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Show {
    /// Measured latencies: a .lat file, or text with one time per line
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Unit of plain numbers in a text file: ns, us, ms, …
    #[arg(long, value_name = "UNIT")]
    pub unit: Option<TimeUnit>,
}

pub fn run(typed: &Show, console: &Console) -> Outcome<()> {
    let file = file::read(&typed.file, typed.unit)?;
    if console.json {
        return console.print_json(&MeasureLatencyAnswer::new(&file.measurement));
    }
    file.warnings.iter().for_each(|warning| console.warn(warning));
    console.print(&words::summary(&file.measurement))
}
