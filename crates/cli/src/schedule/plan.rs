//! `straggler schedule`, validated.

use crate::kernel::exit::Outcome;
use crate::kernel::outputs::refuse_missing_folder;
use crate::kernel::valid::Check;
use crate::schedule::args::ScheduleCommand;

impl Check for ScheduleCommand {
    fn check(&self) -> Outcome<()> {
        match self {
            ScheduleCommand::Convert(typed) => refuse_missing_folder(&typed.output),
            ScheduleCommand::Generate(typed) => refuse_missing_folder(&typed.output),
            _ => Ok(()),
        }
    }
}
