//! `straggler mpi loggp`: the parameters of LogGP between two processes.
//!
//! Rank 0 drives the measurement, and the first process on another node follows its commands
//! (`probe.rs`); all others sleep until it is over. With levels, rank 0 then measures with a process of each closer part
//! of the machine, one after another (`levels.rs`). `straggler_analysis::loggp` derives the parameters from the times.

mod levels;
mod probe;

use crate::session::Session;
use anyhow::{Result, bail};
use probe::Driver;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use straggler_analysis::loggp::{LogGp, MeasuredLevel, Progress, Provenance, Settings, measure};
use straggler_model::date::utc_now;
use straggler_model::latency::Process;
use straggler_model::replace::refuse_missing_folder;
use straggler_model::units::Bytes;

/// The largest message, since MPI's counts have 31 bits.
const LARGEST: u64 = 1 << 30;

/// Bytes of the largest short message.
const SHORT: u64 = 64;

/// Interval between two lines of progress.
const TELL: Duration = Duration::from_secs(5);

/// How the parameters of LogGP are measured.
#[derive(Clone, Debug)]
pub struct Options {
    /// Size of the largest message.
    pub largest: Bytes,
    pub batches: usize,
    pub repetitions: usize,
    /// Whether to measure a pair for each level of the machine.
    pub levels: bool,
    pub seed: u64,
    /// Name of the network.
    pub name: String,
    /// The file that the caller will write.
    pub output: PathBuf,
    /// The command line, for the file.
    pub command: String,
}

/// The result, on rank 0.
#[derive(Clone, Debug)]
pub struct Found {
    pub base: LogGp,
    pub provenance: Provenance,
    /// From the innermost outwards.
    pub levels: Vec<MeasuredLevel>,
}

/// Measures on two processes, or on two for each level. Only rank 0 gets the result; `None` if it was stopped before
/// enough was measured. `progress` prints a line of progress.
pub fn run(session: &Session, options: &Options, progress: &dyn Fn(&str)) -> Result<Option<Found>> {
    let mut partner = partner(&session.processes)?;
    if options.largest.0 == 0 || options.largest.0 > LARGEST {
        bail!("--largest {}: messages have 1 B to {}", options.largest, Bytes(LARGEST));
    }
    // All processes check this together, before minutes are spent on the measurement.
    let folder = if session.is_first() { refuse_missing_folder(&options.output) } else { Ok(()) };
    if session.any(folder.is_err()) {
        folder?;
        bail!("rank 0 cannot write the file");
    }
    let inner = if options.levels { levels::find(&session.processes, session.unbound) } else { Vec::new() };
    // Without another node, the farthest level is the base.
    if let Some(last) = inner.last().filter(|_| session.nodes() == 1) {
        partner = last.partner;
    }
    let inner: Vec<_> = inner.into_iter().filter(|level| level.partner != partner).collect();
    let Some(mut base) = between(session, options, progress, partner)? else { return Ok(None) };
    let (mut levels, wanted) = (Vec::new(), inner.len());
    for level in inner {
        progress(&format!("level {}", level.name));
        if let Some(Some(measured)) = between(session, options, progress, level.partner)? {
            let (place, name) = (places(session, level.partner), level.name.into());
            levels.push(MeasuredLevel { name, grouping: level.grouping, measured, place });
        }
    }
    let doubt = match wanted {
        0 if options.levels => {
            Some("rank 0 is equally close to all processes: there are no levels to measure")
        }
        _ if levels.len() < wanted => Some("the measurement was stopped before all levels were done"),
        _ => None,
    };
    if let Some(base) = &mut base {
        base.doubts.extend(doubt.map(String::from));
    }
    let provenance = provenance(session, options, partner);
    Ok(base.map(|base| Found { base, provenance, levels }))
}

/// Measures between rank 0 and one other process. None on all processes if it was stopped before enough was measured;
/// otherwise rank 0 has the result.
fn between(
    session: &Session,
    options: &Options,
    progress: &dyn Fn(&str),
    partner: u32,
) -> Result<Option<Option<LogGp>>> {
    let measured = match session.rank {
        0 => drive(session, options, progress, partner),
        rank if rank == partner => {
            probe::follow(&session.world, &session.timer, options.largest.0);
            None
        }
        _ => None,
    };
    // Idle processes wait here, asleep.
    let idle = session.rank != 0 && session.rank != partner;
    let too_few = session.any_of(session.is_first() && measured.is_none(), idle);
    Ok((!too_few).then_some(measured))
}

/// The parameters for short messages, measured within milliseconds. All processes take part; only
/// rank 0 gets the result.
pub fn between_two(session: &Session, seed: u64) -> Result<Option<LogGp>> {
    let partner = partner(&session.processes)?;
    let settings = Settings { largest: SHORT, batches: 7, repetitions: 12, draws: 40, seed };
    let measured = match session.rank {
        0 => {
            let mut driver = Driver::new(session, partner, settings.largest);
            let measured = measure(&mut driver, &settings, &mut |_| ());
            driver.stop();
            measured.ok()
        }
        rank if rank == partner => {
            probe::follow(&session.world, &session.timer, settings.largest);
            None
        }
        _ => None,
    };
    session.any_of(false, session.rank != 0 && session.rank != partner);
    Ok(measured)
}

/// The process that rank 0 measures with: the first process on another node, or else the next one.
fn partner(processes: &[Process]) -> Result<u32> {
    let Some(first) = processes.first().filter(|_| processes.len() > 1) else {
        bail!(
            "LogGP parameters are measured between two processes, but this job has one: start it with `mpirun -n 2 straggler \
             mpi loggp …`"
        );
    };
    let elsewhere = processes.iter().position(|process| process.node != first.node);
    Ok(elsewhere.unwrap_or(1) as u32)
}

fn drive(session: &Session, options: &Options, progress: &dyn Fn(&str), partner: u32) -> Option<LogGp> {
    let settings = Settings {
        largest: options.largest.0,
        batches: options.batches,
        repetitions: options.repetitions,
        seed: options.seed,
        ..Settings::default()
    };
    let mut driver = Driver::new(session, partner, settings.largest);
    let mut meter = Meter { progress, started: Instant::now(), printed: Instant::now() };
    let measured = measure(&mut driver, &settings, &mut |batches| meter.report(batches));
    driver.stop();
    let mut measured = measured.ok()?;
    measured.doubts.extend(circumstances(session, partner));
    Some(measured)
}

/// Circumstances of the machine that make the result doubtful.
fn circumstances(session: &Session, partner: u32) -> Vec<String> {
    let mut doubts = Vec::new();
    let core = |rank: u32| session.processes.get(rank as usize).map(|process| (process.node, process.core));
    if core(0) == core(partner) {
        doubts.push(
            "both processes started on the same core: they may have waited for it rather than for messages"
                .into(),
        );
    } else if session.unbound {
        doubts.push(
            "the processes are not each bound to a core, and the system may have moved them: bind them with `mpirun \
             --bind-to core`"
                .into(),
        );
    }
    if let Some(doubt) = &session.timer.not_invariant {
        doubts.push(format!(
            "the machine has no invariant timer ({}), {doubt}: times may be wrong",
            session.timer.name
        ));
    }
    if session.stopped() {
        doubts.push("the measurement was stopped before all batches were done".into());
    }
    doubts
}

/// The two processes and the library.
fn places(session: &Session, partner: u32) -> Vec<String> {
    let place = |rank: u32| {
        let process = session.processes.get(rank as usize);
        let host = process.and_then(|process| process.host.as_deref()).unwrap_or("an unknown host");
        let core = process.and_then(|process| process.core);
        format!("rank {rank} on {host}{}", core.map_or_else(String::new, |core| format!(", core {core}")))
    };
    vec![place(0), place(partner), session.library()]
}

fn provenance(session: &Session, options: &Options, partner: u32) -> Provenance {
    Provenance {
        name: options.name.clone(),
        how: format!(
            "{}: {} batches of {} repetitions of each experiment, messages up to {}",
            options.command, options.batches, options.repetitions, options.largest
        ),
        when: utc_now(),
        place: places(session, partner),
    }
}

/// Reports progress.
struct Meter<'a> {
    progress: &'a dyn Fn(&str),
    started: Instant,
    printed: Instant,
}

impl Meter<'_> {
    fn report(&mut self, Progress { done, of }: Progress) {
        if done > 0 && self.printed.elapsed() >= TELL {
            self.printed = Instant::now();
            let left = self.started.elapsed().as_secs_f64() / done as f64 * (of - done) as f64;
            let left = straggler_report::numbers::seconds(left);
            (self.progress)(&format!("batch {done} of {of}, {left} left"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_node_is_preferred() {
        let on = |nodes: &[u32]| -> Vec<Process> {
            let process = |(rank, &node)| Process { rank, node: Some(node), ..Process::default() };
            (0..).zip(nodes).map(process).collect()
        };
        assert_eq!(partner(&on(&[0, 0, 1, 1])).unwrap(), 2);
        assert_eq!(partner(&on(&[0, 0, 0])).unwrap(), 1);
        assert!(partner(&on(&[0])).unwrap_err().to_string().contains("mpirun -n 2"));
        assert!(partner(&[]).is_err());
    }
}
