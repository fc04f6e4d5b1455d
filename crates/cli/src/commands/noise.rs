//! `straggler noise`: measured or described noise.

mod compare;
mod convert;
mod fit;
mod input;
mod list;
mod show;

use crate::args::noise::NoiseCommand;
use crate::console::Console;
use crate::exit::Outcome;
use crate::plan::valid::Valid;

pub fn run(command: &Valid<NoiseCommand>, seed: u64, console: &Console) -> Outcome<()> {
    match &**command {
        NoiseCommand::Show(typed) => show::run(typed, seed, console),
        NoiseCommand::Fit(typed) => fit::run(typed, seed, console),
        NoiseCommand::Compare(typed) => compare::run(typed, seed, console),
        NoiseCommand::Convert(typed) => convert::run(typed, console),
        NoiseCommand::List(typed) => list::run(typed.name.as_deref(), console),
    }
}
