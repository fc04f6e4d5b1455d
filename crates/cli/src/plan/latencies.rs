//! Commands that read measured latencies, validated.

use super::valid::Check;
use crate::args::compare::Compare;
use crate::args::diagnose::Diagnose;
use crate::args::measure::Merge;
use crate::exit::{Failure, Outcome};
use crate::places::refuse_missing_folder;
use std::path::Path;

impl Check for Compare {
    fn check(&self) -> Outcome<()> {
        self.report.report.iter().try_for_each(|path| refuse_missing_folder(path))?;
        if self.files.len() < 2 {
            return Err(Failure::usage(
                "compare needs at least two files; `straggler diagnose FILE` looks at one alone",
            ));
        }
        if self.series.len() > 1 && self.series.len() != self.files.len() {
            return Err(Failure::usage(format!(
                "--series is given {} times for {} files: give it once for all of them, or once for each",
                self.series.len(),
                self.files.len()
            )));
        }
        Ok(())
    }
}

impl Check for Diagnose {
    fn check(&self) -> Outcome<()> {
        self.report.report.iter().try_for_each(|path| refuse_missing_folder(path))
    }
}

impl Check for Merge {
    fn check(&self) -> Outcome<()> {
        refuse_missing_folder(&self.output)?;
        refuse_same_files(self)
    }
}

/// Rejects a file given twice, whose trials would count twice, and an output that is one of the inputs.
fn refuse_same_files(typed: &Merge) -> Outcome<()> {
    let place = |path: &Path| path.canonicalize().ok();
    for (number, path) in typed.files.iter().enumerate() {
        let is_this = |other: &Path| place(other).is_some() && place(other) == place(path);
        if typed.files[..number].iter().any(|other| is_this(other)) {
            return Err(Failure::usage(format!(
                "{}: it is given twice, and its trials would count twice: give it once",
                path.display()
            )));
        }
        if is_this(&typed.output) {
            return Err(Failure::usage(format!(
                "-o {}: this is one of the files that are merged, and it would be written over: choose another name",
                typed.output.display()
            )));
        }
    }
    Ok(())
}
