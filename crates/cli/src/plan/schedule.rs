//! `straggler schedule`, validated.

use super::valid::Check;
use crate::args::schedule::ScheduleCommand;
use crate::exit::Outcome;
use crate::places::refuse_missing_folder;

impl Check for ScheduleCommand {
    fn check(&self) -> Outcome<()> {
        match self {
            ScheduleCommand::Convert(typed) => refuse_missing_folder(&typed.output),
            ScheduleCommand::Generate(typed) => refuse_missing_folder(&typed.output),
            _ => Ok(()),
        }
    }
}
