//! `straggler noise`: what noise is, measured or described.

mod compare;
mod convert;
mod fit;
mod input;
mod list;
mod show;
mod words;

pub use show::opening;
pub use words::{evidence, explained};

use crate::args::noise::NoiseCommand;
use crate::console::Console;
use crate::exit::Outcome;

pub fn run(command: &NoiseCommand, seed: u64, console: &Console) -> Outcome<()> {
    match command {
        NoiseCommand::Show(typed) => show::run(typed, seed, console),
        NoiseCommand::Fit(typed) => fit::run(typed, seed, console),
        NoiseCommand::Compare(typed) => compare::run(typed, seed, console),
        NoiseCommand::Convert(typed) => convert::run(typed, console),
        NoiseCommand::List(typed) => list::run(typed.name.as_deref(), console),
    }
}
