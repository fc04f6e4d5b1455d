//! `straggler trace`: traces of MPI programs.

pub mod check;
pub mod convert;
pub mod file;
pub mod info;
pub mod merge;
pub mod page;
pub mod plan;
pub mod reading;
pub mod record;
pub mod regions;
pub mod show;
pub mod sites;
pub mod tables;
pub mod traced;
pub mod waits;
pub mod words;
use crate::kernel::{Console, Outcome, Valid};
use crate::trace::plan::TraceCommand;

pub fn run(command: &Valid<TraceCommand>, console: &Console) -> Outcome<()> {
    match &**command {
        TraceCommand::Record(typed) => record::run(typed, console),
        TraceCommand::Info(typed) => info::run(&typed.trace, console),
        TraceCommand::Show(typed) => show::run(typed, console),
        TraceCommand::Waits(typed) => waits::run(typed, console),
        TraceCommand::Check(typed) => check::run(&typed.trace, console),
        TraceCommand::Merge(typed) => merge::run(typed, console),
        TraceCommand::Convert(typed) => convert::run(typed, console),
    }
}
