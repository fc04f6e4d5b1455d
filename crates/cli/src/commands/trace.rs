//! `straggler trace`: traces of MPI programs.

mod check;
mod convert;
mod functions;
mod info;
mod launch;
mod merge;
mod page;
mod record;
mod regions;
mod show;
mod sites;
mod sizes;
mod tables;
pub mod waits;
mod words;

use crate::args::trace::{Trace as Typed, TraceCommand};
use crate::console::Console;
use crate::exit::Outcome;
use crate::plan::valid::Valid;

pub fn run(typed: &Valid<Typed>, console: &Console) -> Outcome<()> {
    let Typed { command, record } = &**typed;
    let Some(command) = command else { return record::run(record, console) };
    match command {
        TraceCommand::Info(typed) => info::run(&typed.trace, console),
        TraceCommand::Show(typed) => show::run(typed, console),
        TraceCommand::Waits(typed) => waits::run(typed, console),
        TraceCommand::Check(typed) => check::run(&typed.trace, console),
        TraceCommand::Merge(typed) => merge::run(typed, console),
        TraceCommand::Convert(typed) => convert::run(typed, console),
    }
}
