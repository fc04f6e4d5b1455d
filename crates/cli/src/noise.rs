//! `straggler noise`: measured or described noise.

pub mod args;
pub mod compare;
pub mod convert;
pub mod file;
pub mod fit;
pub mod gates;
pub mod list;
pub mod measure;
pub mod measured;
pub mod page;
pub mod show;
pub mod spec;
pub mod words;
use crate::kernel::{Console, Outcome, Valid};
use crate::noise::args::NoiseCommand;

pub fn run(command: &Valid<NoiseCommand>, seed: u64, console: &Console) -> Outcome<()> {
    match &**command {
        // Has a plan of its own.
        NoiseCommand::Measure(_) => Ok(()),
        NoiseCommand::Show(typed) => show::run(typed, seed, console),
        NoiseCommand::Fit(typed) => fit::run(typed, seed, console),
        NoiseCommand::Compare(typed) => compare::run(typed, seed, console),
        NoiseCommand::Convert(typed) => convert::run(typed, console),
        NoiseCommand::List(typed) => list::run(typed.name.as_deref(), console),
    }
}
