//! Trace files in all supported formats, and the options of reading and replaying them.

use crate::kernel::exit::{Wanted, mistaken, unknown};
use crate::kernel::memory::{available_bytes, resident_bytes};
use crate::kernel::prelude::*;
use crate::{kernel::typed::count, training::file};
use std::{collections::BTreeSet, ffi::OsStr};
use straggler_analysis::waits::{Missing, MissingRank};
use straggler_formats::import;
use straggler_model::Rank;
use straggler_schedule::traced::{Begin, Options, Progress};
use straggler_schedule::workloads::Only;
use straggler_trace::format::assemble::{Finding, Severity};
use straggler_trace::format::directory::{self, EXTENSION};
use straggler_trace::{Trace, disturbance::Disturbance};

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
        return Ok(Opened { trace: file::job_as_trace(path)?, findings: Vec::new(), bytes: None });
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
        let disturbed = Disturbance::new(&self.trace).map(|found| found.sentence());
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
            sentence(first)
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

    /// What is missing, if it is so much that a simulation would not be of this run.
    pub fn much_missing(&self) -> Option<String> {
        let missing = Missing::new(&self.trace);
        what_is_missing(&missing).filter(|_| missing.share() > MUCH_MISSING)
    }

    /// Refuses a trace that lacks much of a rank: without its calls, the others would not wait for it.
    pub fn refuse_much_missing(&self, path: &Path) -> Outcome<()> {
        self.much_missing().map_or(Ok(()), |what| {
            Err(Failure::bad_input(format!(
                "{}: {what}: what the others waited for is unknown, so a simulation would not be of this run. Record it \
                 again, or simulate what there is with --drop-unmatched",
                path.display()
            )))
        })
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

/// A simulation may lack this share of the run of a rank: a process that is killed loses its last calls.
const MUCH_MISSING: f64 = 0.05;
/// Ranks that are named if calls of them are missing.
const MOST_NAMED: usize = 3;

/// "rank 1 has no calls in the trace"; none if nothing is missing.
pub fn what_is_missing(missing: &Missing) -> Option<String> {
    let named = |of: &MissingRank| match of.end {
        None => format!("rank {} has no calls in the trace", of.rank),
        Some(end) => format!(
            "the calls of rank {} end at {} of {}",
            of.rank,
            seconds(end.seconds()),
            seconds(missing.length.seconds())
        ),
    };
    let mut parts: Vec<String> = missing.ranks.iter().take(MOST_NAMED).map(named).collect();
    let more = missing.ranks.len().saturating_sub(MOST_NAMED) as u64;
    parts.extend(
        (more > 0).then(|| format!("calls of {} are missing", counted(more, "other rank", "other ranks"))),
    );
    (!parts.is_empty()).then(|| parts.join(", and "))
}

/// Ranks with missing calls: there are findings about their streams, or these are empty.
pub fn incomplete(trace: &Trace, findings: &[Finding]) -> BTreeSet<Rank> {
    let empty = (0..).zip(&trace.ranks).filter(|(_, rank)| rank.calls.is_empty()).map(|(rank, _)| rank);
    findings.iter().filter_map(|finding| finding.rank).chain(empty).collect()
}

/// "rank 3, byte 4711: the last block is cut off".
fn sentence(finding: &Finding) -> String {
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

/// What a command does with a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    Show,
    Waits,
    Check,
    Simulate,
    WhatIf,
    Search,
}

impl Work {
    /// The most memory it takes per call, the trace included: measured with 8 million calls.
    fn bytes_per_call(self) -> u64 {
        match self {
            Work::Show => 133,
            Work::Waits => 148,
            Work::Check => 184,
            Work::Simulate => 248,
            Work::WhatIf => 263,
            Work::Search => 334,
        }
    }
}

/// A record of straggler's format takes at most this many bytes on average.
const BYTES_OF_A_RECORD: u64 = 20;

/// Reads a trace, unless it takes more memory than there is: first by the size of its files, then by its calls.
pub fn open_trace_for(path: &Path, work: Work) -> Outcome<Opened> {
    let files =
        if directory::is_trace(path) { directory::files(path).unwrap_or_default() } else { Vec::new() };
    let bytes: u64 = files.iter().filter_map(|file| Some(file.metadata().ok()?.len())).sum();
    refuse_too_long(path, bytes / BYTES_OF_A_RECORD, work, room())?;
    let opened = open_trace(path)?;
    refuse_too_long(path, opened.trace.calls(), work, room())?;
    Ok(opened)
}

/// All memory that this process may use, if the system reports it.
fn room() -> Option<u64> {
    Some(available_bytes()?.saturating_add(resident_bytes()?))
}

fn refuse_too_long(path: &Path, calls: u64, work: Work, room: Option<u64>) -> Outcome<()> {
    let needed = calls.saturating_mul(work.bytes_per_call());
    match room {
        Some(room) if needed > room => Err(Failure::usage(format!(
            "{}: at least {} take about {} of memory, but only {} are available: use a machine with more, or \
                 record less of the run (MPI_Pcontrol)",
            path.display(),
            counted(calls, "call", "calls"),
            memory(needed),
            memory(room)
        ))),
        _ => Ok(()),
    }
}

/// Rejects the stream of one rank if the run has others: it cannot be replayed alone.
pub fn refuse_one_of_many(path: &Path, trace: &Trace) -> Result<(), Failure> {
    let there = trace.ranks.iter().filter(|rank| !rank.calls.is_empty()).count();
    let folder = path.parent().filter(|_| path.is_file() && there == 1 && trace.processes() > 1);
    let Some(folder) = folder.filter(|folder| straggler_trace::format::directory::is_trace(folder)) else {
        return Ok(());
    };
    Err(Failure::bad_input(format!(
        "{} is the stream of one rank of {}: give the folder with all of them, {}",
        path.display(),
        trace.processes(),
        folder.display()
    )))
}

/// The streams in a folder and its direct subfolders. Each folder with streams is a run.
pub fn runs(folder: &Path) -> Vec<(PathBuf, Vec<PathBuf>)> {
    let mut inner: Vec<PathBuf> = entries(folder).into_iter().filter(|path| path.is_dir()).collect();
    inner.sort();
    let folders = std::iter::once(folder.to_path_buf()).chain(inner);
    let streams = |folder: PathBuf| {
        let mut files = entries(&folder);
        files.retain(|path| path.is_file() && is_stream(path));
        files.sort();
        (folder, files)
    };
    folders.map(streams).filter(|(_, files)| !files.is_empty()).collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect()
}

/// Recognises a stream by its name, so that only files of the recorder are ever removed.
fn is_stream(path: &Path) -> bool {
    let name = path.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
    name.starts_with("rank-") && path.extension().is_some_and(|ending| ending == EXTENSION)
}

/// Folders of further runs inside the one that was opened, in order.
pub fn further_runs(path: &Path) -> Vec<String> {
    let mut runs = runs(path).into_iter().map(|(folder, _)| folder);
    // If the folder itself holds no streams, the opened run is in one of its subfolders.
    if runs.next().as_deref() != Some(path) {
        return Vec::new();
    }
    let mut names: Vec<String> = runs.map(|folder| folder.display().to_string()).collect();
    names.sort_by_key(|name| (name.len(), name.clone()));
    names
}

/// How a trace is replayed.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Replay of a trace")]
pub struct ReplayOptions {
    /// Simulate this many copies of the traced processes
    #[arg(long, value_name = "K", value_parser = count::<u32>(1..))]
    pub copies: Option<u32>,
    #[command(flatten)]
    pub reading: ReadingOptions,
}

/// How a trace is read.
#[derive(Clone, Debug, Default, Args)]
pub struct ReadingOptions {
    /// When ranks start: as traced, or all at once
    #[arg(long, value_enum, value_name = "WHEN")]
    pub begin: Option<TypedBegin>,
    /// Drop messages without a counterpart in the trace, instead of rejecting the trace
    #[arg(long)]
    pub drop_unmatched: bool,
    /// Nonblocking collectives progress only while a rank waits in MPI calls, or also while it computes, by a thread
    /// of the library with a core of its own or by the network [default: calls]
    #[arg(long, value_enum, value_name = "HOW")]
    pub progress: Option<TypedProgress>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TypedProgress {
    Calls,
    Thread,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TypedBegin {
    AsTraced,
    Together,
}

impl ReplayOptions {
    pub fn is_given(&self) -> bool {
        self.copies.is_some() || self.reading.is_given()
    }

    pub fn copies(&self) -> u32 {
        self.copies.unwrap_or(1)
    }
}

impl ReadingOptions {
    pub fn is_given(&self) -> bool {
        self.begin.is_some() || self.drop_unmatched || self.progress.is_some()
    }

    pub fn options(&self, only: Only) -> Options {
        Options {
            only,
            begin: match self.begin {
                Some(TypedBegin::Together) => Begin::Together,
                _ => Begin::AsTraced,
            },
            drop_unmatched: self.drop_unmatched,
            progress: match self.progress {
                Some(TypedProgress::Thread) => Progress::Thread,
                _ => Progress::Calls,
            },
            ..Options::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_that_do_not_fit_are_refused() {
        let refused = |calls, work| refuse_too_long(Path::new("run"), calls, work, Some(2 << 30));
        assert!(refused(6_000_000, Work::Search).is_ok());
        assert!(refused(8_000_000, Work::Waits).is_ok());
        let failure = refused(8_000_000, Work::Search).unwrap_err();
        let text = format!("{:#}", failure.error);
        assert!(text.starts_with("run: at least 8,000,000 calls take about"), "{text}");
        assert!(refuse_too_long(Path::new("run"), u64::MAX, Work::Show, None).is_ok());
    }
}
