//! `straggler study`, validated.

use crate::kernel::exit::{Failure, Outcome};
use crate::kernel::gates;
use crate::kernel::gates::refuse_unknown;
use crate::kernel::outputs::{refuse_missing_folder, refuse_unwritable};
use crate::kernel::valid::Check;
use crate::study::args::{Export, Run, StudyCommand};
use std::path::PathBuf;
use straggler_report::study_results::Format;

impl Check for StudyCommand {
    fn check(&self) -> Outcome<()> {
        match self {
            StudyCommand::Run(typed) => typed.check(),
            StudyCommand::Show(typed) => refuse_unknown(&typed.checks, gates::OF_STUDY),
            StudyCommand::Export(typed) => {
                typed.format()?;
                refuse_missing_folder(&typed.output)
            }
            StudyCommand::Check(_) => Ok(()),
        }
    }
}

impl Check for Run {
    fn check(&self) -> Outcome<()> {
        refuse_unknown(&self.checks, gates::OF_STUDY)?;
        let folder = self.folder();
        // A missing file or a folder is rejected when it is read, with the same message as in other commands.
        if folder == self.file && self.file.is_file() {
            return Err(Failure::usage(
                "the results cannot lie where the study's own file is: give another folder with -o",
            ));
        }
        refuse_unwritable(&folder)
    }
}

impl Run {
    /// The folder for the results.
    pub fn folder(&self) -> PathBuf {
        self.output.clone().unwrap_or_else(|| self.file.with_extension(""))
    }
}

impl Export {
    /// The format of the file extension. A summary cannot be Parquet, which holds tables of runs.
    pub fn format(&self) -> Outcome<Format> {
        match Format::for_path(&self.output) {
            None => Err(Failure::usage(format!(
                "{}: unknown extension; use .csv, .json or .parquet",
                self.output.display()
            ))),
            Some(Format::Parquet) if self.summary => {
                Err(Failure::usage("--summary is written as .csv or .json"))
            }
            Some(format) => Ok(format),
        }
    }
}
