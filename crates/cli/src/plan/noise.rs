//! `straggler noise`, validated.

use super::valid::Check;
use crate::args::noise::NoiseCommand;
use crate::exit::Outcome;
use crate::metrics::{self, refuse_unknown};
use crate::places::refuse_missing_folder;

impl Check for NoiseCommand {
    fn check(&self) -> Outcome<()> {
        let report = match self {
            NoiseCommand::Show(typed) => {
                refuse_unknown(&typed.checks, metrics::noise::KINDS)?;
                &typed.report.report
            }
            NoiseCommand::Compare(typed) => &typed.report.report,
            NoiseCommand::Fit(typed) => &typed.output,
            NoiseCommand::Convert(_) | NoiseCommand::List(_) => &None,
        };
        report.iter().try_for_each(|path| refuse_missing_folder(path))
    }
}
