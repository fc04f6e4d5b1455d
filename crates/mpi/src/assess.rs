//! `straggler mpi assess`: noise on all cores of the job at the same time.
//!
//! ```text
//!  who measures what ─► clocks ─► agree on a moment ─► threads measure, processes sleep ─► clocks ─► rank 0
//! ```
//! What follows on rank 0 needs no MPI, and is left to the caller.

mod clocks;
mod measured;
mod shares;

use crate::session::{Session, alone};
use anyhow::{Result, bail};
use clocks::{Line, Moment};
use measured::{About, Measured};
use shares::{Allowed, shares};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use straggler_analysis::nodes::{Measurement, Part};
use straggler_measure::noise::{self, Kernel};
use straggler_measure::sources::{Observation, Wish};
use straggler_measure::{cores, machine, timer};
use straggler_model::Time;
use straggler_model::provenance::{Machine, Origin};
use straggler_report::numbers::{counted, significant};

/// Time from the agreement to the agreed moment. Meanwhile threads are started and examine their cores.
const LEAD_SECONDS: f64 = 0.5;

/// How many detours a core can record, and how many all cores together keep.
const CAPACITY: usize = 1 << 18;
const KEPT_OF_ALL: usize = 1 << 24;
const FEWEST_KEPT: usize = 1000;

/// A process that begins this much later than agreed is reported.
const LATE: Time = Time::from_ns(1_000_000);

/// Interval between two checks of a process that has nothing to measure.
const NAP: Duration = Duration::from_millis(50);

/// How the noise of a job's cores is measured.
#[derive(Clone, Debug)]
pub struct Options {
    pub kernel: Kernel,
    pub length: Time,
    /// How to find out what took the cores.
    pub sources: Wish,
    /// The command line, for the recordings.
    pub command: String,
}

/// Measures on all processes, until a signal arrives or the time is over. Only rank 0 gets the result. `progress` prints a line
/// of progress.
pub fn run(session: &Session, options: &Options, progress: &dyn Fn(&str)) -> Result<Option<Measurement>> {
    let shares = who_measures_what(session)?;
    let own = shares.get(session.rank as usize).map_or(&[][..], Vec::as_slice);
    let all: usize = shares.iter().map(Vec::len).sum();
    progress(&format!(
        "measuring {} of {} for {}",
        counted(all as u64, "core", "cores"),
        counted(session.nodes().into(), "node", "nodes"),
        options.length
    ));
    let before = clocks::compare(session);
    let measured = measure(session, options, own, &before);
    // A process that is done sleeps until all are, so that it does not disturb those still measuring.
    session.any_of(false, true);
    let measured = agreed(session, measured)?;
    let after = clocks::compare(session);
    let mut measured = measured;
    measured.part.keep_longest((KEPT_OF_ALL / all.max(1)).clamp(FEWEST_KEPT, CAPACITY));
    let bytes = measured.to_bytes().map_err(alone)?;
    drop(measured);
    match session.collect(&bytes) {
        Some(pieces) => Ok(Some(put_together(session, pieces, &before, &after)?)),
        None => Ok(None),
    }
}

fn who_measures_what(session: &Session) -> Result<Vec<Vec<u32>>> {
    let own = cores::allowed().map_err(|fault| fault.to_string()).map(|list| cores::write(&list));
    let lists = session.gather_all(&own)?;
    let mut processes = Vec::with_capacity(lists.len());
    for (rank, list) in lists.into_iter().enumerate() {
        let node = session.processes.get(rank).and_then(|process| process.node).unwrap_or(0);
        let cores = list.and_then(|list| cores::parse(&list).map_err(|fault| fault.to_string()));
        match cores {
            Ok(cores) => processes.push(Allowed { node, cores }),
            Err(fault) => bail!("rank {rank}: its cores are unknown: {fault}"),
        }
    }
    Ok(shares(&processes))
}

/// The own measurement if all processes succeeded, else the first error of any process, on all of them.
fn agreed(session: &Session, own: Result<Measured>) -> Result<Measured> {
    if session.any(own.is_err()) {
        let faults = session.gather_all(&own.as_ref().err().map(|fault| format!("{fault:#}")))?;
        let first = faults.into_iter().enumerate().find_map(|(rank, fault)| Some((rank, fault?)));
        let (rank, fault) = first.unwrap_or_default();
        let host = session.processes.get(rank).and_then(|process| process.host.clone()).unwrap_or_default();
        bail!("rank {rank} on {host}: {fault}");
    }
    own
}

/// Measures on the cores of this process, starting at the moment agreed on.
fn measure(session: &Session, options: &Options, own: &[u32], clocks: &[Moment]) -> Result<Measured> {
    let observation = match own {
        [] => None,
        _ => Some(Observation::begin(options.sources, own, timer::ticks)),
    };
    let begin_ticks = appointment(session, clocks);
    let process = &session.processes[session.rank as usize];
    let mut about = About {
        host: process.host.clone().unwrap_or_default(),
        node: process.node.unwrap_or(0),
        ticks_per_second: session.timer.ticks_per_second,
        ..About::default()
    };
    let Some(observation) = observation else {
        wait(session, options);
        return Ok(Measured { about, part: Part::default() });
    };
    let observation = observation?;
    let machine = machine::this();
    let stolen = || machine::stolen(Path::new("/"), own);
    let stolen_before = stolen();
    let settings = noise::Options {
        cores: own.to_vec(),
        kernel: options.kernel,
        length: options.length,
        events: None,
        capacity: CAPACITY,
        begin_ticks: Some(begin_ticks),
    };
    let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let mut found = noise::measure(&settings, &session.timer, session.stop(), None)?;
    let steal_ps = stolen_before.zip(stolen()).map(|(before, after)| after.since(before).ps());
    // A measurement without names is better than none.
    if let Err(fault) = observation.end(&mut found.recording, &found.timebase, &found.workers) {
        found.recording.attribution.hindrance = Some(fault.to_string());
    }
    let (version, command) = (env!("CARGO_PKG_VERSION").into(), options.command.clone());
    found.recording.origin = Origin::Measured { version, command, started };
    about.notes = doubts(session, &machine, own.len());
    found.recording.machine = Machine { steal_ps, ..machine };
    about.start_ticks = found.timebase.start_ticks;
    about.late_ps = found.timebase.length(about.start_ticks.saturating_sub(begin_ticks)).ps();
    about.iteration_ps = found.iteration_ps;
    let part = Part { host: about.host.clone(), recording: found.recording, ..Part::default() };
    Ok(Measured { about, part })
}

/// The moment at which all processes begin, in ticks of this node.
fn appointment(session: &Session, clocks: &[Moment]) -> u64 {
    let rate = session.timer.ticks_per_second;
    // The moment must not be chosen before all processes have arrived.
    session.world.barrier();
    let mut appointment = [timer::ticks(), rate.to_bits()];
    session.world.broadcast(bytemuck::cast_slice_mut(&mut appointment));
    let [now, first_rate] = appointment;
    let node = session.processes[session.rank as usize].node.unwrap_or(0);
    let moment = clocks.get(node as usize).copied().unwrap_or_default();
    let since = now.wrapping_sub(moment.first) as f64 / f64::from_bits(first_rate) + LEAD_SECONDS;
    moment.node + (since * rate) as u64
}

/// Sleeps while the others measure, for a process without cores of its own.
fn wait(session: &Session, options: &Options) {
    let length = Duration::from_secs_f64(LEAD_SECONDS + options.length.seconds());
    let end = std::time::Instant::now() + length;
    while std::time::Instant::now() < end && !session.stopped() {
        std::thread::sleep(NAP.min(length));
    }
}

/// Reasons not to trust this process's measurement.
fn doubts(session: &Session, machine: &Machine, cores: usize) -> Vec<String> {
    let host = session.processes[session.rank as usize].host.clone().unwrap_or_default();
    let timer = session
        .timer
        .not_invariant
        .as_ref()
        .map(|doubt| format!("{host}: {} may not run at a constant rate: {doubt}", session.timer.name));
    let quota = machine.cgroup_quota_cores.filter(|&quota| quota < cores as f64).map(|quota| {
        format!(
            "{host}: a control group limits a process to the time of {} cores, but {cores} are measured: throttling looks like \
             noise",
            significant(quota)
        )
    });
    timer.into_iter().chain(quota).collect()
}

fn put_together(
    session: &Session,
    pieces: Vec<Vec<u8>>,
    before: &[Moment],
    after: &[Moment],
) -> Result<Measurement> {
    let rate = session.timer.ticks_per_second;
    let zero = before.iter().map(|moment| moment.first).min().unwrap_or(0);
    let mut said: Vec<String> = Vec::new();
    let mut late = Vec::new();
    let mut parts = Vec::with_capacity(pieces.len());
    for (rank, piece) in pieces.into_iter().enumerate() {
        let measured =
            Measured::of_bytes(&piece).map_err(|fault| alone(format!("from rank {rank}: {fault:#}")))?;
        let node = measured.about.node as usize;
        let moments = before.get(node).copied().zip(after.get(node).copied()).unwrap_or_default();
        if measured.about.late_ps > LATE.ps() {
            late.push(rank.to_string());
        }
        for note in &measured.about.notes {
            if !said.contains(note) {
                said.push(note.clone());
            }
        }
        if !measured.part.recording.cores.is_empty() {
            parts.push(measured.placed(&Line::new(moments.0, moments.1, rate, zero)));
        }
    }
    if !late.is_empty() {
        said.push(format!("ranks {} started late: their nodes are busy", late.join(", ")));
    }
    Ok(Measurement { parts: Part::join(parts), clock_error: clocks::error(before, after, rate), said })
}
