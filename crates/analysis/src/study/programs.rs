//! Programs of a study: traces and GOAL files, each read once.

use super::schedule_error::ScheduleError;
use crate::predict::fit;
use std::cell::RefCell;
use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use straggler_formats::import;
use straggler_model::Network;
use straggler_schedule::collectives::Selector;
use straggler_schedule::traced::{Building, Options, Playback, TracedRun};
use straggler_schedule::workloads::{Only, choose_default};
use straggler_schedule::{Graph, goal};
use straggler_trace::Trace;
use straggler_trace::disturbance::Disturbance;
use straggler_trace::format::assemble::Severity;
use straggler_trace::format::{directory, save};

/// A loaded trace, and a hash of its contents.
#[derive(Debug)]
struct LoadedTrace {
    trace: Trace,
    mark: u32,
    recordings: Vec<(Only, Arc<TracedRun>)>,
}

/// A network fitted to a trace.
#[derive(Clone, PartialEq, Debug)]
pub struct Fitted {
    /// The name of the trace in the study.
    pub trace: String,
    pub network: Network,
}

/// Everything read so far.
#[derive(Debug)]
pub(super) struct Programs<'a> {
    /// The folder that paths are relative to.
    folder: &'a Path,
    graphs: HashMap<String, (Arc<Graph>, u32)>,
    traces: HashMap<String, LoadedTrace>,
    pub fitted: Vec<Fitted>,
    pub warnings: Vec<String>,
}

impl<'a> Programs<'a> {
    pub fn new(folder: &'a Path) -> Programs<'a> {
        let (graphs, traces) = (HashMap::new(), HashMap::new());
        Programs { folder, graphs, traces, fitted: Vec::new(), warnings: Vec::new() }
    }

    /// The schedule of a GOAL file, and a hash of the file.
    pub fn graph(&mut self, text: &str) -> Result<(Arc<Graph>, u32), ScheduleError> {
        if let Some(known) = self.graphs.get(text) {
            return Ok(known.clone());
        }
        let path = self.folder.join(text);
        let loaded = goal::read_path(&path)?;
        let read = (Arc::new(loaded.graph), mark_of_file(&path)?);
        self.graphs.insert(text.into(), read.clone());
        Ok(read)
    }

    /// A trace as a program, and a hash of its contents.
    pub fn recording(&mut self, text: &str, only: Only) -> Result<(Arc<TracedRun>, u32), ScheduleError> {
        let loaded = self.trace(text)?;
        if let Some((_, known)) = loaded.recordings.iter().find(|(kind, _)| *kind == only) {
            return Ok((known.clone(), loaded.mark));
        }
        let options = Options { only, ..Options::default() };
        let recording = TracedRun::from_trace(&loaded.trace, &options);
        let recording = Arc::new(recording.map_err(|fault| ScheduleError::Trace(fault.to_string()))?);
        loaded.recordings.push((only, recording.clone()));
        let mark = loaded.mark;
        for note in recording.notes() {
            self.warn(format!("{text}: {note}"));
        }
        Ok((recording, mark))
    }

    /// The network fitted to a trace.
    pub fn network(&mut self, text: &str) -> Result<Network, ScheduleError> {
        let fitted =
            fit(&self.trace(text)?.trace).map_err(|fault| ScheduleError::Trace(fault.to_string()))?;
        for assumed in &fitted.assumed {
            self.warn(format!("{text}: fitted network: {assumed}"));
        }
        if self.fitted.iter().all(|known| known.trace != text) {
            self.fitted.push(Fitted { trace: text.into(), network: fitted.network.clone() });
        }
        Ok(fitted.network)
    }

    fn trace(&mut self, text: &str) -> Result<&mut LoadedTrace, ScheduleError> {
        if !self.traces.contains_key(text) {
            let (trace, faults) = open(&self.folder.join(text))?;
            if faults > 0 {
                self.warn(format!(
                    "{text} is incomplete ({faults} faults): see `straggler trace check {text}`"
                ));
            }
            if let Some(found) = Disturbance::new(&trace) {
                self.warn(format!("{text}: {}", found.sentence()));
            }
            let mut mark = crc32fast::Hasher::new();
            (0..trace.ranks.len() as u32).for_each(|rank| mark.update(&save::stream(&trace, rank)));
            let loaded = LoadedTrace { trace, mark: mark.finalize(), recordings: Vec::new() };
            self.traces.insert(text.into(), loaded);
        }
        self.traces.get_mut(text).ok_or_else(|| ScheduleError::Trace(format!("{text} is lost")))
    }

    fn warn(&mut self, warning: String) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }
}

/// Reads a trace of any known format; also returns the number of errors in its files.
fn open(path: &Path) -> Result<(Trace, usize), ScheduleError> {
    let unreadable = |fault: String| ScheduleError::Trace(fault);
    if path.exists() && !directory::is_trace(path) && import::detect(path).is_some() {
        let trace = import::read(path, &import::Options::default());
        return Ok((trace.map_err(|fault| unreadable(fault.to_string()))?, 0));
    }
    let (trace, findings) = directory::open(path).map_err(|fault| unreadable(fault.to_string()))?;
    let faults = findings.iter().filter(|finding| finding.severity == Severity::Error).count();
    Ok((trace, faults))
}

fn mark_of_file(path: &Path) -> Result<u32, ScheduleError> {
    let unreadable = |source| goal::ReadError::Io { path: PathBuf::from(path), source };
    let mut file = std::fs::File::open(path).map_err(unreadable)?;
    let (mut mark, mut buffer) = (crc32fast::Hasher::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut buffer).map_err(unreadable)? {
            0 => return Ok(mark.finalize()),
            length => mark.update(&buffer[..length]),
        }
    }
}

/// A traced run in copies, with collectives built by the rules of a table.
pub(super) fn play(
    recording: Arc<TracedRun>,
    copies: u32,
    selector: &Selector,
    idempotent: bool,
) -> Result<Playback, ScheduleError> {
    let failed = RefCell::new(None);
    let choose = |operation, job: &_| {
        selector.choose(operation, job, idempotent).cloned().unwrap_or_else(|error| {
            failed.replace(Some(error));
            choose_default(operation, job)
        })
    };
    let playback = Playback::new(recording, copies, &Building { choose: &choose, ..Building::default() })?;
    match failed.into_inner() {
        Some(error) => Err(error.into()),
        None => Ok(playback),
    }
}
