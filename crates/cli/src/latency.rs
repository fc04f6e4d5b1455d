//! Latencies: measuring, showing, comparing and diagnosing them, and drawing them in simulations.

pub mod args;
pub mod compare;
pub mod diagnose;
pub mod drawn;
pub mod file;
pub mod measure;
pub mod merge;
pub mod page;
pub mod plan;
pub mod show;
pub mod words;

use crate::kernel::console::Console;
use crate::kernel::exit::Outcome;
use crate::kernel::valid::Valid;
use crate::latency::args::LatencyCommand;

pub fn run(command: &Valid<LatencyCommand>, seed: u64, console: &Console) -> Outcome<()> {
    match &**command {
        LatencyCommand::Show(typed) => show::run(typed, console),
        LatencyCommand::Compare(typed) => compare::run(typed, seed, console),
        LatencyCommand::Diagnose(typed) => diagnose::run(typed, console),
        LatencyCommand::Merge(typed) => merge::run(typed, console),
        // They have plans of their own.
        LatencyCommand::Measure(_) | LatencyCommand::Resample(_) => Ok(()),
    }
}
