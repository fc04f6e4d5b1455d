//! Pages and pictures, validated.

use super::valid::Check;
use crate::args::generated::Examples;
use crate::args::plot::PlotCommand;
use crate::args::report::{Report, Serve};
use crate::exit::Outcome;
use crate::places::{refuse_missing_folder, refuse_unwritable};

impl Check for Report {
    fn check(&self) -> Outcome<()> {
        refuse_unwritable(&self.output)
    }
}

impl Check for Serve {
    fn check(&self) -> Outcome<()> {
        Ok(())
    }
}

impl Check for Examples {
    fn check(&self) -> Outcome<()> {
        refuse_unwritable(&self.directory.join("fixtures"))
    }
}

impl Check for PlotCommand {
    fn check(&self) -> Outcome<()> {
        match self {
            PlotCommand::Noise(typed) => refuse_missing_folder(&typed.output),
            PlotCommand::Page(typed) => typed.output.iter().try_for_each(|path| refuse_missing_folder(path)),
        }
    }
}
