//! Reading traces, and errors in their files.

mod memory;
mod one_of_many;
mod streams;

pub use memory::{Work, open_trace_for};
pub use one_of_many::refuse_one_of_many;
pub use streams::{further_runs, runs};

use crate::console::Console;
use crate::exit::{Failure, Outcome, Wanted, mistaken, unknown};
use crate::inputs::training;
use std::collections::BTreeSet;
use std::path::Path;
use straggler_model::Rank;
use straggler_report::numbers::counted;
use straggler_trace::Trace;
use straggler_trace::disturbance::Disturbance;
use straggler_trace::format::assemble::{Finding, Severity};
use straggler_trace::format::directory;
use straggler_trace::import;

/// A trace, and the problems in its files.
pub struct Opened {
    pub trace: Trace,
    /// Errors and warnings about its files.
    pub findings: Vec<Finding>,
    /// Total size of its files, if known.
    pub bytes: Option<u64>,
}

/// Reads a trace in any supported format, or a training job as a trace.
pub fn open_trace(path: &Path) -> Outcome<Opened> {
    open_trace_with(path, &import::Options::default())
}

pub fn open_trace_with(path: &Path, options: &import::Options) -> Outcome<Opened> {
    let is_known = directory::is_trace(path) || import::detect(path).is_some();
    if path.exists() && !is_known && straggler_training::holds_job(path) {
        return Ok(Opened { trace: training::job_as_trace(path)?, findings: Vec::new(), bytes: None });
    }
    if path.exists() && !directory::is_trace(path) && import::detect(path).is_some() {
        let trace = import::read(path, options).map_err(Failure::bad_input_of)?;
        return Ok(Opened { trace, findings: Vec::new(), bytes: None });
    }
    // A stream with the extension .trace may be cut off too early to be recognised; it is opened anyway.
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
    pub fn errors(&self) -> usize {
        self.findings.iter().filter(|finding| finding.severity == Severity::Error).count()
    }

    /// Warnings for results of an incomplete trace.
    pub fn warn_of_errors(&self, path: &Path, console: &Console) {
        self.warnings(path).iter().for_each(|text| console.warn(text));
    }

    pub fn warnings(&self, path: &Path) -> Vec<String> {
        let disturbed = Disturbance::of(&self.trace).map(|found| found.sentence());
        self.unfinished(path).into_iter().chain(self.faults(path)).chain(disturbed).collect()
    }

    /// Warns of ranks that did not reach MPI_Finalize: a run that crashed or was killed looks like
    /// a short one.
    fn unfinished(&self, path: &Path) -> Option<String> {
        let ranks = self.unfinished_ranks();
        let text = || {
            format!(
                "{} did not reach MPI_Finalize; the last calls may be missing. `straggler trace check {}` \
                 names the last recorded call of each",
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
            say(first)
        ))
    }

    /// Ranks without a stream, about which nothing is known.
    pub fn ranks_without_a_stream(&self) -> Vec<u32> {
        let missing = self.findings.iter().filter(|finding| finding.is_about_a_missing_stream());
        missing.filter_map(|finding| finding.rank).collect()
    }

    /// Whether calls are missing at the end of the run, and nothing else is wrong.
    pub fn is_only_cut(&self) -> bool {
        let incomplete = incomplete(&self.trace, &self.findings);
        let faults = || straggler_trace::check::check(&self.trace, &incomplete);
        self.unfinished_ranks() > 0 && faults().iter().all(|finding| finding.severity == Severity::Warning)
    }

    /// Warns of further runs in the folder: a command that starts MPI again leaves several traces,
    /// and only the first is read.
    pub fn warn_of_further_runs(&self, path: &Path, console: &Console) {
        let further = further_runs(path);
        if let Some(first) = further.first() {
            let count = counted(further.len() as u64, "further run is", "further runs are");
            let path = path.display();
            console.warn(&format!(
                "{path}: this is the first run; {count} in the folder: use {first} for the next"
            ));
        }
    }

    /// Whether the notes say that the trace is synthetic.
    pub fn is_synthetic(&self) -> bool {
        self.trace.notes.iter().any(|note| note.starts_with("synthetic"))
    }
}

/// Ranks with missing calls: there are findings about their streams, or these are empty.
pub fn incomplete(trace: &Trace, findings: &[Finding]) -> BTreeSet<Rank> {
    let empty = (0..).zip(&trace.ranks).filter(|(_, rank)| rank.calls.is_empty()).map(|(rank, _)| rank);
    findings.iter().filter_map(|finding| finding.rank).chain(empty).collect()
}

/// "rank 3, byte 4711: the last block is cut off".
pub fn say(finding: &Finding) -> String {
    place(finding.rank, finding.offset) + &finding.what
}

pub fn place(rank: Option<u32>, offset: Option<u64>) -> String {
    match (rank, offset) {
        (Some(rank), Some(offset)) => format!("rank {rank}, byte {offset}: "),
        (Some(rank), None) => format!("rank {rank}: "),
        (None, Some(offset)) => format!("byte {offset}: "),
        (None, None) => String::new(),
    }
}
