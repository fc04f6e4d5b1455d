//! `straggler-mpi loggp`: the parameters of LogGP between two processes.
//!
//! Rank 0 drives the measurement, and the first process on another node follows its commands
//! (`probe.rs`); all others sleep until it is over. `straggler_analysis::loggp` derives the
//! parameters from the times.

mod probe;
mod summary;

use crate::args::LogGpOptions;
use crate::latency::library;
use crate::session::Session;
use anyhow::{Context, Result, bail};
use mpi::topology::Rank;
use mpi::traits::*;
use probe::Driver;
use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use straggler::on_cluster::Common;
use straggler_analysis::loggp::{LogGp, Provenance, Settings, Stage, measure};
use straggler_model::date::utc_now;
use straggler_model::latency::Process;
use straggler_model::replace::{refuse_missing_folder, replace_file};
use straggler_model::units::Bytes;

/// The largest message, since MPI's counts have 31 bits.
const LARGEST: u64 = 1 << 30;

/// Bytes of the largest short message.
const SHORT: u64 = 64;

/// Interval between two lines of progress.
const TELL: Duration = Duration::from_secs(5);

pub fn run(session: &Session, options: &LogGpOptions, common: &Common) -> Result<ExitCode> {
    let partner = partner(&session.processes)?;
    if options.largest.0 == 0 || options.largest.0 > LARGEST {
        bail!("--largest {}: messages have 1 B to {}", options.largest, Bytes(LARGEST));
    }
    // All processes check this together, before minutes are spent on the measurement.
    let folder = if session.is_first() { refuse_missing_folder(&options.output) } else { Ok(()) };
    if session.any(folder.is_err()) {
        folder?;
        bail!("rank 0 cannot write the file");
    }
    let outcome = match session.rank {
        0 => drive(session, options, common, partner),
        rank if rank == partner => {
            probe::follow(&session.world.process_at_rank(0), &session.timer, options.largest.0);
            Ok(ExitCode::SUCCESS)
        }
        _ => Ok(ExitCode::SUCCESS),
    };
    // Idle processes wait here, asleep.
    let is_idle = session.rank != 0 && session.rank != partner;
    if session.any_of(outcome.is_err(), is_idle) && outcome.is_ok() {
        bail!("rank 0 could not finish the measurement");
    }
    outcome
}

/// The parameters for short messages, measured within milliseconds. All processes take part; only
/// rank 0 gets the result.
pub fn between_two(session: &Session, seed: u64) -> Result<Option<LogGp>> {
    let partner = partner(&session.processes)?;
    let settings = Settings { largest: SHORT, batches: 7, repetitions: 12, draws: 40, seed };
    let measured = match session.rank {
        0 => {
            let other = session.world.process_at_rank(partner as Rank);
            let mut driver = Driver::new(&other, &session.timer, settings.largest);
            let Ok(measured) = measure(&mut driver, &settings, &mut |_| true);
            driver.stop();
            measured
        }
        rank if rank == partner => {
            probe::follow(&session.world.process_at_rank(0), &session.timer, settings.largest);
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
            "LogGP parameters are measured between two processes, but this job has one: start it with `mpirun -n 2 \
             straggler-mpi loggp …`. If you did, mpirun belongs to a different MPI library than the one straggler-mpi was \
             built with"
        );
    };
    let elsewhere = processes.iter().position(|process| process.node != first.node);
    Ok(elsewhere.unwrap_or(1) as u32)
}

fn drive(session: &Session, options: &LogGpOptions, common: &Common, partner: u32) -> Result<ExitCode> {
    let settings = Settings {
        largest: options.largest.0,
        batches: options.batches,
        repetitions: options.repetitions,
        seed: common.seed,
        ..Settings::default()
    };
    let other = session.world.process_at_rank(partner as Rank);
    let mut driver = Driver::new(&other, &session.timer, settings.largest);
    let mut meter = Meter { session, quiet: common.quiet, started: Instant::now(), told: Instant::now() };
    let Ok(measured) = measure(&mut driver, &settings, &mut |stage| meter.proceed(stage));
    driver.stop();
    let Some(mut measured) = measured else {
        session.tell("stopped before enough was measured: no file was written");
        return Ok(ExitCode::from(130));
    };
    measured.doubts.extend(circumstances(session, partner));
    let provenance = provenance(session, options, partner);
    let text = measured.to_file(&provenance)?;
    replace_file(&options.output, |file| file.write_all(text.as_bytes()))?;
    print(options, common, &measured, &provenance)?;
    Ok(if session.stopped() { ExitCode::from(130) } else { ExitCode::SUCCESS })
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

fn provenance(session: &Session, options: &LogGpOptions, partner: u32) -> Provenance {
    let place = |rank: u32| {
        let process = session.processes.get(rank as usize);
        let host = process.and_then(|process| process.host.as_deref()).unwrap_or("an unknown host");
        let core = process.and_then(|process| process.core);
        format!("rank {rank} on {host}{}", core.map_or_else(String::new, |core| format!(", core {core}")))
    };
    let name = options.name.clone().unwrap_or_else(|| {
        options
            .output
            .file_stem()
            .map_or_else(|| "measured".into(), |stem| stem.to_string_lossy().into_owned())
    });
    let command = std::env::args().collect::<Vec<_>>().join(" ");
    Provenance {
        name,
        how: format!(
            "{command}: {} batches of {} repetitions of each experiment, messages up to {}",
            options.batches, options.repetitions, options.largest
        ),
        when: utc_now(),
        place: vec![place(0), place(partner), library()],
    }
}

fn print(options: &LogGpOptions, common: &Common, measured: &LogGp, provenance: &Provenance) -> Result<()> {
    let text = if common.json {
        serde_json::to_string_pretty(&summary::json(measured, provenance, &options.output))?
    } else {
        summary::text(measured, provenance, &options.output)
    };
    writeln!(std::io::stdout(), "{text}").context("cannot print")
}

/// Reports progress, and decides whether to continue.
struct Meter<'a> {
    session: &'a Session,
    quiet: bool,
    started: Instant,
    told: Instant,
}

impl Meter<'_> {
    fn proceed(&mut self, stage: Stage) -> bool {
        if let Stage::Batches { done, of } = stage
            && !self.quiet
            && done > 0
            && self.told.elapsed() >= TELL
        {
            self.told = Instant::now();
            let left = self.started.elapsed().as_secs_f64() / done as f64 * (of - done) as f64;
            let left = straggler_report::numbers::seconds(left);
            self.session.tell(&format!("batch {done} of {of}, {left} left"));
        }
        !self.session.stopped()
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
