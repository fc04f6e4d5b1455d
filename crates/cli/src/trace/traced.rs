//! The replay of a trace, validated.

use crate::kernel::memory::{available_bytes, refuse_too_much};
use crate::kernel::prelude::*;
use crate::trace::file::{Opened, ReplayOptions, Work, open_trace_for, refuse_one_of_many};
use crate::{simulate::collective::DataOptions, simulate::workload::WorkloadOptions};
use std::{cell::RefCell, sync::Arc};
use straggler_formats::import;
use straggler_model::network::PerByte;
use straggler_mpi::Launcher;
use straggler_schedule::traced::{Building, Options, Playback, TraceError, TracedRun};
use straggler_schedule::{collectives::Selector, workloads::choose_default};
use straggler_sim::memory::replay_memory_bytes;
use straggler_trace::{Trace, format::assemble::MOST_MISSING, format::directory, pauses::Pauses};

/// The replay as requested, before the trace is read.
#[derive(Clone, Debug)]
pub struct TraceRequest {
    pub path: PathBuf,
    pub options: Options,
    pub copies: u32,
    /// The table that selects the algorithms of its collectives.
    pub algorithms: Option<String>,
    pub idempotent: bool,
    pub reduction: PerByte,
}

impl TraceRequest {
    /// A request to replay the trace at a path, or the path if it holds no trace.
    pub fn new(
        path: PathBuf,
        replay: ReplayOptions,
        workload: &WorkloadOptions,
        data: &DataOptions,
    ) -> Result<TraceRequest, PathBuf> {
        let is_trace = path.is_dir()
            || directory::is_trace(&path)
            || import::detect(&path).is_some()
            || straggler_training::holds_job(&path);
        if !is_trace {
            return Err(path);
        }
        Ok(TraceRequest {
            path,
            options: replay.reading.options(workload.only()),
            copies: replay.copies(),
            algorithms: data.algorithms.clone(),
            idempotent: data.idempotent,
            reduction: data.reduction_cost.unwrap_or(PerByte::ZERO),
        })
    }

    /// One copy without changes, with the default table of algorithms.
    pub fn plain(path: PathBuf, options: Options) -> TraceRequest {
        let (algorithms, idempotent, reduction) = (None, false, PerByte::ZERO);
        TraceRequest { path, options, copies: 1, algorithms, idempotent, reduction }
    }
}

/// A trace and how it is replayed.
#[derive(Debug)]
pub struct Replayed {
    pub trace: Trace,
    pub recording: Arc<TracedRun>,
    pub playback: Arc<Playback>,
    pub is_synthetic: bool,
    pub ranks_without_a_stream: Vec<u32>,
}

/// "there is no stream of rank 2"; of many ranks, only the first three are named.
pub fn no_stream_of(ranks: &[u32]) -> Option<String> {
    let each: Vec<String> = ranks.iter().map(u32::to_string).collect();
    match each.as_slice() {
        [] => None,
        [one] => Some(format!("there is no stream of rank {one}")),
        [first, second, third, rest @ ..] if rest.len() > 1 => {
            // The list of missing ranks ends at MOST_MISSING, so the number of further ones is unknown.
            let more =
                if each.len() < MOST_MISSING { format!("{} more", rest.len()) } else { "others".into() };
            Some(format!("there is no stream of ranks {first}, {second}, {third} and {more}"))
        }
        [most @ .., last] => Some(format!("there is no stream of ranks {} and {last}", most.join(", "))),
    }
}

impl Replayed {
    /// Prints what is not replayed and what is guessed.
    pub fn print_notes(&self, console: &Console) {
        print_notes(&self.recording, console);
    }
}

fn print_notes(recording: &TracedRun, console: &Console) {
    recording.notes().iter().for_each(|note| console.note(note));
}

/// Reads a trace and builds its collectives. The notes of the recording list what was dropped or guessed.
pub fn load(request: &TraceRequest, console: &Console) -> Outcome<Replayed> {
    let opened = open_trace_for(&request.path, Work::Simulate)?;
    refuse_one_of_many(&request.path, &opened.trace)?;
    opened.warn_of_errors(&request.path, console);
    opened.warn_of_further_runs(&request.path, console);
    if request.options.drop_unmatched
        && let Some(what) = opened.much_missing()
    {
        console.warn(&format!(
            "{what}: what the others waited for is missing, so the times are not those of the program"
        ));
    }
    let is_synthetic = opened.is_synthetic();
    let recording = match recorded(&opened.trace, request) {
        Err(Unusable::Unmatched(_)) if is_cut(&opened) => {
            opened.refuse_much_missing(&request.path)?;
            without_partners(&opened.trace, request, console)
        }
        other => other
            .map_err(|unusable| unusable.failure(request, &opened.trace, &opened.ranks_without_a_stream())),
    }?;
    let ranks_without_a_stream = opened.ranks_without_a_stream();
    let trace = opened.trace;
    refuse_too_many_copies(&recording, request)?;
    let playback = Arc::new(play(recording.clone(), request)?);
    Ok(Replayed { trace, recording, playback, is_synthetic, ranks_without_a_stream })
}

/// Whether calls of recorded ranks are missing. Streams that are missing altogether are reported otherwise.
fn is_cut(opened: &Opened) -> bool {
    opened.is_only_cut() || opened.ranks_without_a_stream().is_empty() && opened.much_missing().is_some()
}

/// Refuses copies that do not fit into memory before they are built, which takes minutes for very many. Of a job, every
/// process may hold its share on a node of its own.
fn refuse_too_many_copies(recording: &TracedRun, request: &TraceRequest) -> Outcome<()> {
    let members = Launcher::of_this_process().size.unwrap_or(1).max(1);
    let processes = u64::from(recording.processes()) * u64::from(request.copies) / u64::from(members);
    refuse_too_much(processes, replay_memory_bytes(processes), available_bytes())
}

/// Builds a replay of a trace; prints what was dropped or guessed.
pub fn replayable(trace: &Trace, request: &TraceRequest, console: &Console) -> Outcome<Playback> {
    let recording = recorded(trace, request).map_err(|unusable| unusable.failure(request, trace, &[]))?;
    print_notes(&recording, console);
    play(recording, request)
}

/// Why a trace cannot be replayed.
enum Unusable {
    /// Messages or collectives lack their partners.
    Unmatched(TraceError),
    Other(TraceError),
}

impl Unusable {
    /// If streams are missing, reports these: unmatched calls are only a consequence.
    fn failure(self, request: &TraceRequest, trace: &Trace, without_a_stream: &[u32]) -> Failure {
        let paused = trace.ranks.iter().position(|rank| !Pauses::new(rank).is_empty());
        let path = request.path.display();
        match (self, no_stream_of(without_a_stream)) {
            (Unusable::Unmatched(error), Some(missing)) => Failure::bad_input(format!(
                "{path}: {missing}: add the missing streams, or use --drop-unmatched to drop the calls \
                 that involve them\n{error}"
            )),
            (Unusable::Unmatched(error), None) => {
                let paused = match paused {
                    Some(rank) => format!(
                        "recording was paused (MPI_Pcontrol) on rank {rank}, but not at the same point on \
                         the others: pause and resume all ranks where no message is in flight, such as \
                         after a barrier\n"
                    ),
                    None => String::new(),
                };
                Failure::bad_input(format!("{path}: {paused}{error}\nuse --drop-unmatched to drop these"))
            }
            (Unusable::Other(error), _) => Failure::bad_input(format!("{path}: {error}")),
        }
    }
}

/// Drops unmatched calls: a killed run ends at a different call on every rank.
fn without_partners(trace: &Trace, request: &TraceRequest, console: &Console) -> Outcome<Arc<TracedRun>> {
    console.warn("the run was cut short: calls at its end without a partner are dropped");
    let mut request = request.clone();
    request.options.drop_unmatched = true;
    recorded(trace, &request).map_err(|unusable| unusable.failure(&request, trace, &[]))
}

fn recorded(trace: &Trace, request: &TraceRequest) -> Result<Arc<TracedRun>, Unusable> {
    let recording = TracedRun::from_trace(trace, &request.options).map_err(|error| match error {
        TraceError::Unmatched(_) => Unusable::Unmatched(error),
        _ => Unusable::Other(error),
    })?;
    Ok(Arc::new(recording))
}

/// Builds the collectives of a recording, for as many copies as the request asks for.
pub fn play(recording: Arc<TracedRun>, request: &TraceRequest) -> Outcome<Playback> {
    let selector = Selector::load(request.algorithms.as_deref().unwrap_or(Selector::PRESETS[0]))?;
    let failed = RefCell::new(None);
    let choose = |operation, job: &_| match selector.choose(operation, job, request.idempotent) {
        Ok(algorithm) => algorithm.clone(),
        Err(error) => {
            failed.replace(Some(error));
            choose_default(operation, job)
        }
    };
    let building = Building { choose: &choose, reduction: request.reduction };
    let playback = Playback::new(recording, request.copies, &building).map_err(Failure::bad_input_of)?;
    match failed.into_inner() {
        Some(error) => Err(error.into()),
        None => Ok(playback),
    }
}
