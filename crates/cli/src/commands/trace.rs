//! `straggler trace`: traces of MPI programs.

mod check;
mod convert;
mod info;
mod launch;
mod merge;
mod one_of_many;
mod page;
mod record;
mod regions;
mod show;
pub mod waits;
mod words;

use crate::args::trace::{Trace as Typed, TraceCommand};
use crate::commands::training::files;
use crate::console::Console;
use crate::exit::{Failure, Outcome, Wanted, mistaken, unknown};
use std::path::Path;
use straggler_report::numbers::counted;
use straggler_trace::Trace;
use straggler_trace::disturbance::Disturbance;
use straggler_trace::format::assemble::{Finding, Severity};
use straggler_trace::format::directory;
use straggler_trace::import;

pub fn run(typed: Typed, console: &Console) -> Outcome<()> {
    let Typed { command, record } = typed;
    let Some(command) = command else { return record::run(&record, console) };
    if record.output.is_some() || record.force || record.no_command_line || !record.program.is_empty() {
        return Err(Failure::usage(
            "give either a command to record (straggler trace -o DIR -- COMMAND) or a subcommand with its options \
             behind it, not both",
        ));
    }
    match command {
        TraceCommand::Info(typed) => info::run(&typed.trace, console),
        TraceCommand::Show(typed) => show::run(&typed, console),
        TraceCommand::Waits(typed) => waits::run(&typed, console),
        TraceCommand::Check(typed) => check::run(&typed.trace, console),
        TraceCommand::Merge(typed) => merge::run(&typed, console),
        TraceCommand::Convert(typed) => convert::run(&typed, console),
    }
}

pub use one_of_many::refuse_one_of_many;

/// A trace as it was read.
pub struct Opened {
    pub trace: Trace,
    /// What is wrong with its files.
    findings: Vec<Finding>,
    /// Of all its files; none where that is not known.
    bytes: Option<u64>,
}

/// Reads a trace in any format that is known, or a training job as one.
pub fn open_trace(path: &Path) -> Outcome<Opened> {
    let is_known = directory::is_trace(path) || import::detect(path).is_some();
    if path.exists() && !is_known && straggler_training::holds_job(path) {
        return Ok(Opened { trace: files::job_as_trace(path)?, findings: Vec::new(), bytes: None });
    }
    if path.exists() && !directory::is_trace(path) && import::detect(path).is_some() {
        let trace = import::read(path, &import::Options::default()).map_err(Failure::bad_input_of)?;
        return Ok(Opened { trace, findings: Vec::new(), bytes: None });
    }
    // A stream may be cut off before it can be told from others.
    if path.is_file() && !directory::is_trace(path) && path.extension().is_none_or(|ending| ending != "trace")
    {
        return Err(mistaken(path, Wanted::Trace).unwrap_or_else(|| unknown(path, Wanted::Trace)));
    }
    let (trace, findings) = directory::open(path)?;
    let files = directory::files(path)?;
    let sizes: Option<Vec<u64>> =
        files.iter().map(|file| file.metadata().ok().map(|about| about.len())).collect();
    Ok(Opened { trace, findings, bytes: sizes.map(|sizes| sizes.iter().sum()) })
}

impl Opened {
    fn errors(&self) -> usize {
        self.findings.iter().filter(|finding| finding.severity == Severity::Error).count()
    }

    /// What is shown of a trace that is not whole must say so.
    pub fn warn_of_errors(&self, path: &Path, console: &Console) {
        self.warnings(path).iter().for_each(|text| console.warn(text));
    }

    pub fn warnings(&self, path: &Path) -> Vec<String> {
        let disturbed = Disturbance::of(&self.trace).map(|found| found.sentence());
        self.unfinished(path).into_iter().chain(self.faults(path)).chain(disturbed).collect()
    }

    /// A run that crashed or was killed looks like a short one.
    fn unfinished(&self, path: &Path) -> Option<String> {
        let ranks = self.unfinished_ranks();
        let text = || {
            format!(
                "{} did not end by MPI_Finalize; the last calls may be missing. `straggler trace check {}` names the last \
                 recorded call of each",
                counted(ranks as u64, "rank", "ranks"),
                path.display()
            )
        };
        (ranks > 0).then(text)
    }

    fn unfinished_ranks(&self) -> usize {
        self.findings.iter().filter(|finding| finding.is_about_the_end()).count()
    }

    fn faults(&self, path: &Path) -> Option<String> {
        let errors = counted(self.errors() as u64, "error", "errors");
        let first = self.findings.iter().find(|finding| finding.severity == Severity::Error)?;
        Some(format!(
            "{}: {errors} in the streams, first: {}; `straggler trace check` lists all",
            path.display(),
            check::say(first)
        ))
    }

    /// Ranks that left nothing: what they did is not known at all.
    pub fn ranks_without_a_stream(&self) -> Vec<u32> {
        let missing = self.findings.iter().filter(|finding| finding.is_about_a_missing_stream());
        missing.filter_map(|finding| finding.rank).collect()
    }

    /// Whether calls are missing at the end of the run, and nothing else is wrong.
    pub fn is_only_cut(&self) -> bool {
        let incomplete = check::incomplete(&self.trace, &self.findings);
        let faults = || straggler_trace::check::check(&self.trace, &incomplete);
        self.unfinished_ranks() > 0 && faults().iter().all(|finding| finding.severity == Severity::Warning)
    }

    /// A command that starts MPI again leaves several traces, of which only one is read.
    pub fn warn_of_further_runs(&self, path: &Path, console: &Console) {
        let further = info::further_runs(path);
        if let Some(first) = further.first() {
            let count = counted(further.len() as u64, "further run is", "further runs are");
            let path = path.display();
            console.warn(&format!("{path}: this is the first run; {count} in it: name {first} for the next"));
        }
    }

    /// Whether its notes say that no program ran.
    pub fn is_synthetic(&self) -> bool {
        self.trace.notes.iter().any(|note| note.starts_with("synthetic"))
    }
}
