//! The windowed engine: no global queue.
//!
//! Nothing a process does at t reaches another before t + lookahead. So time is cut into windows of that length.
//! Within a window every process runs independently, on any thread, with the messages that are already known; what it
//! sends arrives in a later window. Only processes with something to do in a window are touched, and windows without
//! events are skipped.
//!
//! ```text
//! block of ranks ──► slots      one process each: host, agenda, program state (64 bytes if implicit)
//!                ──► calendar   window → messages that arrive, processes that wake
//! domain = some blocks, run by one thread; what leaves a block goes through `Outgoing`
//! layout = which thread of which member of a cluster has which block
//! window: every domain runs its due blocks ─► exchange of outgoing messages ─► next due window
//! ```

mod actors;
mod backlog;
mod block;
mod calendar;
mod domain;
mod frame;
mod general;
mod graphs;
mod keeping;
mod layout;
mod mail;
mod message_count;
mod outgoing;
mod ports;
mod stepping;
mod transport;

use crate::checkpoint::Checkpoints;
use crate::cluster::{Cluster, Shares};
use crate::control::{Control, Progress};
use crate::host::{Host, OneLane};
use crate::huge_pages;
use crate::latency::Latency;
use crate::observer::{Nothing, Observer};
use crate::outcome::{Outcome, Remains, RunError};
use crate::program::Program;
use crate::programs::GraphProgram;
use crate::rules::{Overlap, Rules};
use crate::simulation::MakeObserver;
use actors::Actors;
use domain::{Concluded, Domain};
use frame::Frame;
use general::General;
use graphs::Graphs;
use keeping::Keeping;
use layout::Layout;
use ports::{FlightOf, Plan, Ports, Senders};
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::{Scope, ScopedJoinHandle};
use stepping::Stepping;
use straggler_model::Time;
use straggler_noise::Noise;
use straggler_schedule::Script;
use transport::threads::Threads;
use transport::{Agreed, State, Transport};

/// log2 of the ranks in a block, whose state stays in a core's second-level cache while the block runs.
fn block_shift(processes: u32) -> u32 {
    if processes > 1 << 24 { 14 } else { 12 }
}

/// The least number of blocks per thread on a cluster, if there are enough processes.
const BLOCKS_A_THREAD: u64 = 4;

/// Runs a program to its end. `observer` makes an observer for each part of the ranks, in order, from the part's
/// number and its ranks.
pub(crate) fn run<P: Program, N: Noise, L: Latency, O: Observer>(
    program: &P,
    rules: &Rules<'_, N, L>,
    control: &mut Control<'_>,
    observer: MakeObserver<'_, O>,
) -> Result<(Outcome, Vec<O>), RunError> {
    run_actors(&General::new(program, rules), control, observer)
}

/// Runs an implicit schedule whose steps wait for each other, without overlapped receives.
pub(crate) fn run_steps<S: Script + ?Sized, N: Noise, L: Latency>(
    script: &S,
    rules: &Rules<'_, N, L>,
    control: &mut Control<'_>,
) -> Result<Outcome, RunError> {
    debug_assert!(!script.overlaps() && rules.overlap == Overlap::Never);
    run_actors(&Stepping::new(script, rules), control, &mut |_, _| Nothing).map(|(outcome, _)| outcome)
}

/// Runs a materialised schedule with one CPU and one NIC, without overlapped receives.
pub(crate) fn run_graph<N: Noise, L: Latency>(
    program: &GraphProgram<'_, OneLane>,
    rules: &Rules<'_, N, L>,
    control: &mut Control<'_>,
) -> Result<Outcome, RunError> {
    debug_assert!(rules.overlap == Overlap::Never);
    run_actors(&Graphs::new(program, rules), control, &mut |_, _| Nothing).map(|(outcome, _)| outcome)
}

/// The initial state of a thread.
struct Start<'a, O> {
    observer: O,
    /// Output: the finish times of the part's processes.
    finish: &'a mut [Time],
}

/// Taken by the thread that runs the part.
type Part<'a, O> = Mutex<Option<Start<'a, O>>>;

/// State shared by all threads of a run.
struct Shared<'a, A: Actors> {
    lookahead: Time,
    threads: Threads<actors::MessageOf<A>>,
    /// Exchanges the flights of shared links, if there are any.
    flights: Option<Threads<FlightOf<A>>>,
    plan: Option<Plan>,
    parts: Vec<Part<'a, A::Observer>>,
    checkpoints: Option<&'a dyn Checkpoints>,
    stop: &'a AtomicBool,
}

/// Where a thread leaves the result of its part.
type Slot<O> = Mutex<Option<Worked<O>>>;

/// Starts a thread. Boxed, so that all engines share the machinery of threads.
fn spawn<'scope>(
    scope: &'scope Scope<'scope, '_>,
    job: Box<dyn FnOnce() + Send + 'scope>,
) -> Option<ScopedJoinHandle<'scope, ()>> {
    std::thread::Builder::new().spawn_scoped(scope, job).ok()
}

fn run_actors<A: Actors>(
    actors: &A,
    control: &mut Control<'_>,
    observer: MakeObserver<'_, A::Observer>,
) -> Result<(Outcome, Vec<A::Observer>), RunError> {
    let lookahead = actors.rules().lookahead(actors.largest_message());
    if lookahead == Time::ZERO {
        return Err(RunError::NoLookahead);
    }
    let layout = lay_out(actors.processes(), control);
    let ranks = layout.own_ranks();
    let wanted = control.threads.clamp(1, layout.blocks(0).len().max(1));
    // Zeroed lazily by the system, so that the thread that fills a page is the first to touch it.
    let mut finish: Vec<Time> = bytemuck::allocation::zeroed_vec(ranks.iter().map(Range::len).sum());
    let mut rest = &mut finish[..];
    let gate: OnceLock<Shared<'_, A>> = OnceLock::new();
    let (cluster, checkpoints, stop) = (control.cluster, control.checkpoints, control.stop.unwrap_or(&NEVER));
    let mut silent = |_| {};
    let progress = control.progress.as_deref_mut().unwrap_or(&mut silent);
    let results: Vec<Slot<_>> = (1..wanted).map(|_| Mutex::new(None)).collect();
    let own = std::thread::scope(|scope| {
        let gate = &gate;
        // If the system provides fewer threads, those do all the work.
        let helpers: Vec<_> = (1..wanted)
            .zip(&results)
            .map_while(|(part, result)| {
                spawn(
                    scope,
                    Box::new(move || {
                        let worked = work(actors, part, gate.wait(), None, &mut |_| {});
                        *result.lock().unwrap_or_else(PoisonError::into_inner) = Some(worked);
                    }),
                )
            })
            .collect();
        let layout = layout.in_parts(helpers.len() as u32 + 1);
        let mut part = |number: usize| {
            let finish = rest.split_off_mut(..layout.processes_of(number)).unwrap_or_default();
            Mutex::new(Some(Start { observer: observer(number as u32, layout.span(number)), finish }))
        };
        let parts = (0..layout.parts()).map(&mut part).collect();
        let plan =
            actors.rules().latency.fabric().map(|fabric| Plan::new(fabric, actors.rules().least_entry()));
        let flights = plan.as_ref().map(|plan| {
            let (members, own) = cluster.map_or((1, 0), |cluster| (cluster.size(), cluster.rank()));
            Threads::new(plan.layout(members, own, layout.parts() as u32), cluster.is_some())
        });
        let threads = Threads::new(layout, cluster.is_some());
        let shared =
            gate.get_or_init(|| Shared { lookahead, threads, flights, plan, parts, checkpoints, stop });
        let own = work(actors, 0, shared, cluster, progress);
        helpers.into_iter().for_each(|helper| helper.join().unwrap_or_else(|panic| resume_unwind(panic)));
        own
    });
    let result = |slot: Slot<_>| slot.into_inner().unwrap_or_else(PoisonError::into_inner);
    let parts = std::iter::once(own).chain(results.into_iter().filter_map(result)).collect();
    drop(gate);
    conclude(Outcome { ranks, finish, ..Outcome::default() }, parts, cluster)
}

/// For runs that nothing stops.
static NEVER: AtomicBool = AtomicBool::new(false);

/// Divides the processes into blocks and assigns them to members. On a cluster, small runs have small blocks, so that
/// every thread has some.
fn lay_out(processes: u32, control: &Control<'_>) -> Layout {
    let before = control.checkpoints.and_then(|checkpoints| checkpoints.position());
    let wanted = before.map(|position| position.shift).or(control.block_shift);
    let usual = wanted.unwrap_or_else(|| block_shift(processes)).min(20);
    let Some(cluster) = control.cluster else {
        return Layout::new(processes, usual, vec![0; processes.div_ceil(1 << usual) as usize], 0);
    };
    if let Some(Shares { shift, members }) = cluster.shares().filter(|_| before.is_none()) {
        return Layout::new(processes, *shift, members.clone(), cluster.rank());
    }
    let members = cluster.size();
    // The members may have different numbers of threads, but must have the same blocks.
    let threads = cluster.largest(control.threads as u64).saturating_mul(members.into());
    let blocks = threads.saturating_mul(BLOCKS_A_THREAD).max(1);
    let small = (u64::from(processes) / blocks).max(1).ilog2();
    let shift = if before.is_some() { usual } else { usual.min(small) };
    Layout::new(processes, shift, Layout::neighbours(processes.div_ceil(1 << shift), members), cluster.rank())
}

/// The result of a part: its final state, messages and windows.
type Worked<O> = Result<(Concluded<O>, u64, u64), RunError>;

/// The work of one thread: runs its part window by window, until all parts agree that nothing is left.
fn work<A: Actors>(
    actors: &A,
    part: usize,
    shared: &Shared<'_, A>,
    cluster: Option<&dyn Cluster>,
    progress: &mut dyn FnMut(Progress),
) -> Worked<A::Observer> {
    let layout = &shared.threads.layout;
    let mut transport = shared.threads.end(part, cluster);
    let taken = shared.parts[part].lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(Start { observer, finish }) = taken else { return Err(RunError::Interrupted) };
    // Memory is touched first by the thread that uses it.
    let mut slots = huge_pages::list_of(layout.processes_of(part), || actors.slot());
    let fabric = actors.rules().latency.fabric().zip(shared.plan.as_ref()).zip(shared.flights.as_ref());
    let rules = actors.rules();
    // Then a process that may send again has let its last message through its first port.
    let same_overheads =
        rules.network.links().all(|link| link.send_overhead == rules.network.base.send_overhead);
    let alone = A::Host::ONE_LANE && rules.latency.drawn().is_none() && same_overheads;
    let senders = Senders { alone, largest_message: actors.largest_message() };
    let ports =
        fabric.map(|((fabric, plan), flights)| Ports::new(fabric, plan, &flights.layout, part, senders));
    // One part alone keeps its flights.
    let apart = cluster.is_some() || layout.parts() > 1 || layout.is_shared();
    let mut flights = shared.flights.as_ref().filter(|_| apart).map(|flights| flights.end(part, cluster));
    let mut domain = Domain::new(actors, layout, part, &mut slots, ports, observer);
    let mut frame = Frame::new(0, shared.lookahead, layout.shift());
    let mut keeping =
        Keeping::new(shared.checkpoints, part == 0 && cluster.is_none_or(|cluster| cluster.rank() == 0));
    let mut windows = keeping.begin(&mut domain);
    // The checkpoint from which a run resumes is not written again.
    let begun = windows;
    let mut sent = u64::MAX;
    loop {
        let agreed = transport.agree(&mut || {
            domain.settle(&frame);
            let due = sent.min(domain.next_window());
            let checkpoint = windows > begun && keeping.is_due();
            State { due, messages: domain.messages, failed: domain.error.is_some(), checkpoint }
        });
        domain.receive(&frame, &mut transport);
        progress(Progress { simulated: frame.until, messages: transport.messages() });
        match agreed {
            Agreed::Window(window) => frame = Frame::new(window, shared.lookahead, layout.shift()),
            Agreed::Finished => break,
            Agreed::Failed => return Err(domain.error.unwrap_or(RunError::Interrupted)),
        }
        keeping.complete(&mut domain.error);
        if transport.wants_checkpoint() {
            keeping.keep(&mut domain, &frame, windows);
        }
        windows += 1;
        sent = domain.run(&frame, shared.stop, &mut transport, flights.as_mut());
    }
    let messages = domain.messages;
    Ok((domain.conclude(finish), messages, windows))
}

/// Combines the parts in order, over all members of a cluster.
fn conclude<O>(
    mut outcome: Outcome,
    parts: Vec<Worked<O>>,
    cluster: Option<&dyn Cluster>,
) -> Result<(Outcome, Vec<O>), RunError> {
    outcome.threads = parts.len();
    let mut own: Result<(Remains, u64, u64), RunError> = Ok(<_>::default());
    let mut observers = Vec::with_capacity(parts.len());
    let loads = &mut outcome.loads;
    for part in parts {
        own = join(
            own,
            part.map(|(concluded, messages, windows)| {
                observers.push(concluded.observer);
                loads.extend(concluded.loads);
                (concluded.remains, messages, windows)
            }),
        );
    }
    if let Ok((remains, ..)) = &mut own {
        remains.finished(&outcome.finish);
    }
    let all = match cluster {
        None => own,
        Some(cluster) => {
            let all = cluster.gather_values(&own).map_err(|_| RunError::Garbled)?;
            all.into_iter().reduce(join).unwrap_or(Err(RunError::Garbled))
        }
    };
    let (remains, messages, windows) = all?;
    (outcome.messages, outcome.windows, outcome.latest) = (messages, windows, remains.latest());
    outcome.stuck = remains.conclude()?;
    Ok((outcome, observers))
}

/// Combines two results. When a part fails, the others report an interruption, so other errors win.
fn join(
    before: Result<(Remains, u64, u64), RunError>,
    after: Result<(Remains, u64, u64), RunError>,
) -> Result<(Remains, u64, u64), RunError> {
    match (before, after) {
        (Ok((mut remains, messages, windows)), Ok((more, later, same))) => {
            remains.append(more);
            Ok((remains, messages + later, windows.max(same)))
        }
        (Err(RunError::Interrupted), Err(error)) | (Err(error), _) | (_, Err(error)) => Err(error),
    }
}
