//! A traced run, re-enacted by as many processes as it had.

use super::{agreed, gathered, run};
use crate::args::Common;
use crate::args::replay::{Compute, Replay};
use crate::commands::whatif::reenact::Scene;
use crate::commands::{self, whatif};
use crate::console::Console;
use crate::exit::{Failure, Outcome};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::process::ExitCode;
use straggler_analysis::whatif::reenacted;
use straggler_model::Time;
use straggler_report::numbers::counted;
use straggler_schedule::traced::{Decisions, Recording};
use straggler_sim::RunError;
use straggler_sim::cluster::Cluster;
use straggler_sim::programs::Replayed;
use straggler_trace::format::save;

/// Where a run is re-enacted.
pub trait Stage {
    /// What this member does with real messages. All members begin together; where something fails, the job ends.
    fn play(&self, recording: &Recording, compute: Compute, patience: Time) -> Played;
    /// The MPI library, as it names itself.
    fn library(&self) -> String;
}

/// What one member did, and where.
#[derive(Debug, Serialize, Deserialize)]
pub struct Played {
    pub replayed: Replayed,
    pub host: String,
    pub cores: Vec<u32>,
    /// How far its clock may be off that of the first one.
    pub clock_error: Time,
}

/// How long a call may wait beyond the length of the traced run, unless something else is asked for.
const PATIENCE: Time = Time::from_ns(60_000_000_000);

/// Re-enacts a trace on all members, writes the new one, and compares it with the simulation.
pub fn replay(typed: &Replay, common: &Common, cluster: &dyn Cluster, stage: &dyn Stage) -> ExitCode {
    run(common, cluster, |console| {
        commands::use_threads(common);
        let scene = agreed(cluster, Scene::read(typed, cluster.size(), console), &[])?;
        same_trace(typed, &scene, cluster)?;
        let decisions = decide(typed, common, &scene, cluster, console)?;
        let recording = agreed(cluster, scene.recording(typed, decisions), &[])?;
        let patience = typed.patience.unwrap_or(PATIENCE + recording.traced_end());
        let played = stage.play(&recording, typed.compute, patience);
        let all = cluster.collect_values(&played).map_err(|_| Failure::from(RunError::Garbled))?;
        let written = match cluster.rank() {
            0 => write(typed, scene, &recording, all, &stage.library()),
            _ => Ok(()),
        };
        agreed(cluster, written, &[])?;
        let answered = match cluster.rank() {
            0 => whatif::run(&typed.whatif(), common, console),
            _ => Ok(()),
        };
        agreed(cluster, answered, &[])
    })
}

/// Members that re-enact different runs would wait for each other in vain.
fn same_trace(typed: &Replay, scene: &Scene, cluster: &dyn Cluster) -> Outcome<()> {
    let prints = gathered(cluster, &scene.print())?;
    match (0..).zip(&prints).find(|(_, print)| **print != prints[0]) {
        Some((rank, _)) => Err(Failure::bad_input(format!(
            "{}: {} reads another trace than {}: give a path that all nodes share, or copy the trace to each",
            typed.trace.display(),
            cluster.name(rank),
            cluster.name(0)
        ))),
        None => Ok(()),
    }
}

/// Who decides in the new run. The first member simulates it, and looks whether the trace can be written.
fn decide(
    typed: &Replay,
    common: &Common,
    scene: &Scene,
    cluster: &dyn Cluster,
    console: &Console,
) -> Outcome<Decisions> {
    let own = match cluster.rank() {
        0 => refuse_full(&typed.output).and_then(|()| scene.decisions(typed, common)),
        _ => Ok(Decisions::AsRecorded),
    };
    let number = agreed(cluster, own, &[])? as u8;
    let told = gathered(cluster, &number)?.first().copied().unwrap_or_default();
    let all = [Decisions::AsRecorded, Decisions::RedecideRequests, Decisions::Redecide];
    let decisions = all.into_iter().find(|one| *one as u8 == told).unwrap_or_default();
    if decisions != typed.mode.decisions() {
        console.warn(
            "the program would hang if it decided everything itself: it decides as in the trace where it must",
        );
    }
    Ok(decisions)
}

/// The new trace must not be mixed with another.
fn refuse_full(folder: &Path) -> Outcome<()> {
    let is_empty = folder.read_dir().is_ok_and(|mut files| files.next().is_none());
    if folder.exists() && !is_empty {
        return Err(Failure::bad_input(format!(
            "{} is there already: remove it, or give another -o",
            folder.display()
        )));
    }
    commands::refuse_missing_folder(folder)
}

fn write(
    typed: &Replay,
    scene: Scene,
    recording: &Recording,
    all: Vec<Played>,
    library: &str,
) -> Outcome<()> {
    let changes: usize = all.iter().map(|played| played.replayed.changes.len()).sum();
    let error = all.iter().map(|played| played.clock_error).max().unwrap_or_default();
    let (replayed, places): (Vec<Replayed>, Vec<(String, Vec<u32>)>) =
        all.into_iter().map(|played| (played.replayed, (played.host, played.cores))).unzip();
    let mut trace = reenacted(scene.trace, recording, &replayed);
    for (rank, (host, cores)) in trace.ranks.iter_mut().zip(places) {
        (rank.host, rank.cores) = (host, cores);
        // Calls between those that were timed lie between them in proportion, and how far that is off nobody knows.
        rank.clock.error = None;
    }
    trace.meta.library = library.to_owned();
    // Of the run that was traced.
    trace.meta.more.retain(|key, _| key != "run" && key != "started_ns");
    let decided = counted(changes as u64, "decision differs", "decisions differ");
    trace.notes.push(format!("replayed: {decided} from the trace"));
    if error > Time::ZERO {
        trace.notes.push(format!("replayed: clocks of nodes are off by at most {error}"));
    }
    save::save(&trace, &typed.output)
        .map_err(|fault| Failure::bad_input(format!("{}: {fault}; give another -o", typed.output.display())))
}
