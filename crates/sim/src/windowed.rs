//! The windowed engine: no global queue.
//!
//! Nothing a process does at t reaches another before t + lookahead. So time is cut into windows of
//! that length, and inside a window every process runs alone, on any thread, against the messages
//! that are already known; what it sends arrives in a later window. Only processes with something to
//! do in a window are touched, and windows in which nobody has anything to do are skipped.
//!
//! ```text
//! block of ranks ──► slots      one process each: host, agenda, program state (64 bytes if implicit)
//!                ──► calendar   window → messages that arrive, processes that wake
//! domain = some blocks, run by one thread; what leaves a block goes through `Outgoing`
//! window: every domain runs its due blocks ─► exchange of outgoing messages ─► next due window
//! ```

mod actors;
mod block;
mod calendar;
mod crowd;
mod domain;
mod frame;
mod general;
mod graphs;
mod hoard;
mod mail;
mod outgoing;
mod stepping;
mod transport;

use crate::control::{Control, Progress};
use crate::host::OneLane;
use crate::huge_pages;
use crate::latency::Latency;
use crate::observer::{Nothing, Observer};
use crate::outcome::{Outcome, Remains, RunError};
use crate::program::Program;
use crate::programs::GraphProgram;
use crate::rules::Rules;
use actors::Actors;
use domain::{Concluded, Domain, ranks_of};
use frame::Frame;
use general::General;
use graphs::Graphs;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, OnceLock, PoisonError};
use stepping::Stepping;
use straggler_model::noise::Noise;
use straggler_model::{Rank, Time};
use straggler_schedule::Script;
use transport::threads::Threads;
use transport::{Agreed, Transport};

/// Ranks in a block: their state stays in a core's second-level cache while the block runs.
fn block_shift(processes: u32) -> u32 {
    if processes > 1 << 24 { 14 } else { 12 }
}

/// Runs a program to its end. `observer` makes one observer for each part of the ranks, in order: it is
/// given the number of the part and its ranks.
pub(crate) fn run<P: Program, N: Noise, L: Latency, O: Observer>(
    program: &P,
    rules: &Rules<'_, N, L>,
    control: &mut Control<'_>,
    observer: impl FnMut(u32, Range<Rank>) -> O,
) -> Result<(Outcome, Vec<O>), RunError> {
    run_actors(&General::new(program, rules), control, observer)
}

/// Runs an implicit schedule whose steps wait for one another, where receives do not overlap.
pub(crate) fn run_steps<S: Script + ?Sized, N: Noise, L: Latency>(
    script: &S,
    rules: &Rules<'_, N, L>,
    control: &mut Control<'_>,
) -> Result<Outcome, RunError> {
    debug_assert!(!script.overlaps() && !rules.receive_overlap);
    run_actors(&Stepping::new(script, rules), control, |_, _| Nothing).map(|(outcome, _)| outcome)
}

/// Runs a materialised schedule of one CPU and one NIC, where receives do not overlap.
pub(crate) fn run_graph<N: Noise, L: Latency>(
    program: &GraphProgram<'_, OneLane>,
    rules: &Rules<'_, N, L>,
    control: &mut Control<'_>,
) -> Result<Outcome, RunError> {
    debug_assert!(!rules.receive_overlap);
    run_actors(&Graphs::new(program, rules), control, |_, _| Nothing).map(|(outcome, _)| outcome)
}

/// How a run is cut into blocks and windows.
#[derive(Clone, Copy, Debug)]
struct Cut {
    lookahead: Time,
    shift: u32,
    blocks: u32,
}

/// What a thread begins with.
struct Start<'a, O> {
    blocks: Range<u32>,
    observer: O,
    /// Where it is put when each process of the part has finished.
    finish: &'a mut [Time],
}

/// To be taken by the thread of its part.
type Part<'a, O> = Mutex<Option<Start<'a, O>>>;

fn run_actors<A: Actors>(
    actors: &A,
    control: &mut Control<'_>,
    mut observer: impl FnMut(u32, Range<Rank>) -> A::Observer,
) -> Result<(Outcome, Vec<A::Observer>), RunError> {
    let lookahead = actors.rules().lookahead(actors.largest_message());
    if lookahead == Time::ZERO {
        return Err(RunError::NoLookahead);
    }
    let processes = actors.processes();
    let shift = control.block_shift.unwrap_or_else(|| block_shift(processes)).min(20);
    let cut = Cut { lookahead, shift, blocks: processes.div_ceil(1 << shift) };
    let wanted = control.threads.clamp(1, cut.blocks.max(1) as usize);
    // Zeroed by the system: the thread that fills a page in is the first to touch it.
    let mut finish: Vec<Time> = bytemuck::allocation::zeroed_vec(processes as usize);
    let mut rest = &mut finish[..];
    let gate: OnceLock<(Threads<_>, Vec<Part<'_, A::Observer>>)> = OnceLock::new();
    let stop = control.stop;
    let parts = std::thread::scope(|scope| {
        let (gate, cut) = (&gate, &cut);
        let helper = |part| move || work(actors, part, gate.wait(), cut, stop, &mut |_| {});
        // Where the system gives fewer threads, those that there are do the work.
        let helpers: Vec<_> = (1..wanted)
            .map_while(|part| std::thread::Builder::new().spawn_scoped(scope, helper(part)).ok())
            .collect();
        let edges = edges(cut.blocks, helpers.len() as u32 + 1);
        let part = |(number, edge): (usize, &[u32])| {
            let ranks = ranks_of(edge[0], shift, processes).start..ranks_of(edge[1], shift, processes).start;
            let finish = rest.split_off_mut(..ranks.len()).unwrap_or_default();
            let observer = observer(number as u32, ranks);
            Mutex::new(Some(Start { blocks: edge[0]..edge[1], observer, finish }))
        };
        let parts = edges.windows(2).enumerate().map(part).collect();
        let gate = gate.get_or_init(|| (Threads::new(edges), parts));
        let mut worked = vec![work(actors, 0, gate, cut, stop, control.progress)];
        worked.extend(
            helpers.into_iter().map(|helper| helper.join().unwrap_or_else(|panic| resume_unwind(panic))),
        );
        worked
    });
    drop(gate);
    conclude(finish, parts)
}

/// The first block of every part, and the number of blocks.
fn edges(blocks: u32, parts: u32) -> Vec<u32> {
    (0..=parts).map(|part| (u64::from(blocks) * u64::from(part) / u64::from(parts)) as u32).collect()
}

/// A part that came to its end: what is left of it, its messages and windows.
type Worked<O> = Result<(Concluded<O>, u64, u64), RunError>;

/// What one thread does: it runs its part, window by window, until all parts agree that nothing is left.
fn work<A: Actors>(
    actors: &A,
    part: usize,
    (threads, parts): &(Threads<actors::MessageOf<A>>, Vec<Part<'_, A::Observer>>),
    cut: &Cut,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(Progress),
) -> Worked<A::Observer> {
    let mut transport = threads.end(part);
    let taken = parts[part].lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(Start { blocks, observer, finish }) = taken else { return Err(RunError::Interrupted) };
    let first_rank = |block| ranks_of(block, cut.shift, actors.processes()).start;
    let processes = first_rank(blocks.end) - first_rank(blocks.start);
    // Memory is touched first by the thread that uses it.
    let mut slots = huge_pages::list_of(processes as usize, || actors.slot());
    let mut domain = Domain::new(actors, blocks, cut.shift, &mut slots, observer);
    let mut frame = Frame::new(0, cut.lookahead, cut.shift);
    let (mut due, mut windows) = (domain.next_window(), 0);
    loop {
        let agreed = transport.agree(due, domain.messages, domain.error.is_some());
        transport.receive(|block, parcel| domain.accept(block, parcel, &frame));
        progress(Progress { simulated: frame.until, messages: transport.messages() });
        match agreed {
            Agreed::Window(window) => frame = Frame::new(window, cut.lookahead, cut.shift),
            Agreed::Finished => break,
            Agreed::Failed => return Err(domain.error.unwrap_or(RunError::Interrupted)),
        }
        windows += 1;
        domain.run(&frame, stop);
        let sent = domain.deliver(&frame, &mut transport);
        due = sent.min(domain.next_window());
    }
    let messages = domain.messages;
    Ok((domain.conclude(finish), messages, windows))
}

/// Puts the parts together, in their order.
fn conclude<O>(finish: Vec<Time>, parts: Vec<Worked<O>>) -> Result<(Outcome, Vec<O>), RunError> {
    // Parts that did nothing wrong say that they were interrupted.
    let mut errors: Vec<&RunError> = parts.iter().filter_map(|part| part.as_ref().err()).collect();
    errors.sort_by_key(|error| **error == RunError::Interrupted);
    if let Some(&error) = errors.first() {
        return Err(error.clone());
    }
    let mut outcome = Outcome { threads: parts.len(), finish, ..Outcome::default() };
    let mut remains = Remains::default();
    let mut observers = Vec::with_capacity(parts.len());
    for (part, messages, windows) in parts.into_iter().flatten() {
        remains.append(part.remains);
        observers.push(part.observer);
        outcome.messages += messages;
        outcome.windows = windows;
    }
    outcome.stuck = remains.conclude(&outcome.finish)?;
    Ok((outcome, observers))
}
