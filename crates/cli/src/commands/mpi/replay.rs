//! Replays a traced run with real messages, on as many processes as it had.

use crate::args::Common;
use crate::args::mpi::replay::Replay;
use crate::cluster::{agreed, gathered};
use crate::commands::whatif;
use crate::commands::whatif::reenact::Scene;
use crate::console::Console;
use crate::exit::{Failure, Outcome};
use crate::places::refuse_missing_folder;
use crate::plan::valid::Valid;
use crate::threads::use_threads;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use straggler_analysis::whatif::reenacted;
use straggler_model::Time;
use straggler_mpi::Session;
use straggler_mpi::replay::Played;
use straggler_report::numbers::counted;
use straggler_schedule::traced::{Decisions, TracedRun};
use straggler_sim::RunError;
use straggler_sim::cluster::Cluster;
use straggler_sim::programs::Replayed;
use straggler_trace::format::save;

/// How long a call may wait beyond the length of the traced run, by default.
const PATIENCE: Time = Time::from_ns(60_000_000_000);

/// Replays a trace on all members, writes the new trace, and compares it with the simulation.
pub fn run(
    typed: &Replay,
    common: &Common,
    cluster: &dyn Cluster,
    session: &Session,
    console: &Console,
) -> Outcome<()> {
    use_threads(common);
    let scene = agreed(cluster, Scene::read(typed, cluster.size(), console), &[])?;
    same_trace(typed, &scene, cluster)?;
    let decisions = decide(typed, common, &scene, cluster, console)?;
    let recording = agreed(cluster, scene.recording(typed, decisions), &[])?;
    let patience = typed.patience.unwrap_or(PATIENCE + recording.traced_end());
    let played = session.play(&recording, typed.compute.into(), patience);
    let all = cluster.collect_values(&played).map_err(|_| Failure::from(RunError::Garbled))?;
    crowded(all.iter().map(|one| (&one.host[..], &one.cores[..]))).iter().for_each(|note| console.warn(note));
    let written = match cluster.rank() {
        0 => write(typed, scene, &recording, all, &session.library()),
        _ => Ok(()),
    };
    agreed(cluster, written, &[])?;
    let answered = match cluster.rank() {
        0 => whatif::run(&Valid::new(typed.whatif())?, common, console),
        _ => Ok(()),
    };
    agreed(cluster, answered, &[])
}

/// The hosts with more ranks than cores, where replayed times are those of the scheduler. Every rank names the cores
/// that it may use.
fn crowded<'a>(ranks: impl Iterator<Item = (&'a str, &'a [u32])>) -> Vec<String> {
    let mut hosts: BTreeMap<&str, (u64, BTreeSet<u32>)> = BTreeMap::new();
    for (host, cores) in ranks {
        let (count, all) = hosts.entry(host).or_default();
        *count += 1;
        all.extend(cores);
    }
    hosts.retain(|_, (count, cores)| *count > cores.len() as u64);
    let warning = |(host, (count, cores)): (&str, (u64, BTreeSet<u32>))| {
        format!(
            "{host} has {} for {}: they wait for each other's cores, so the replayed times are longer than on as many \
             cores as ranks; replay on more nodes or cores",
            counted(count, "rank", "ranks"),
            counted(cores.len() as u64, "core", "cores")
        )
    };
    hosts.into_iter().map(warning).collect()
}

/// Members that replay different runs would wait for each other forever.
fn same_trace(typed: &Replay, scene: &Scene, cluster: &dyn Cluster) -> Outcome<()> {
    let prints = gathered(cluster, &scene.print())?;
    match (0..).zip(&prints).find(|(_, print)| **print != prints[0]) {
        Some((rank, _)) => Err(Failure::bad_input(format!(
            "{}: {} reads a different trace than {}: give a path that all nodes share, or copy the trace to each",
            typed.trace.display(),
            cluster.name(rank),
            cluster.name(0)
        ))),
        None => Ok(()),
    }
}

/// Which decisions the new run takes from the trace. The first member simulates it, and checks that the trace can be written.
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
            "the replay would hang if it decided everything itself: where needed, it takes decisions from the trace",
        );
    }
    Ok(decisions)
}

/// The new trace must not mix with an existing one.
fn refuse_full(folder: &Path) -> Outcome<()> {
    let is_empty = folder.read_dir().is_ok_and(|mut files| files.next().is_none());
    if folder.exists() && !is_empty {
        return Err(Failure::bad_input(format!(
            "{} already exists: remove it, or give another -o",
            folder.display()
        )));
    }
    refuse_missing_folder(folder)
}

fn write(
    typed: &Replay,
    scene: Scene,
    recording: &TracedRun,
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
        // Calls between timed ones are placed in proportion between them; the error is unknown.
        rank.clock.error = None;
    }
    trace.meta.library = library.to_owned();
    // These belong to the traced run.
    trace.meta.more.retain(|key, _| key != "run" && key != "started_ns");
    let decided = counted(changes as u64, "decision differs", "decisions differ");
    trace.notes.push(format!("replayed: {decided} from the trace"));
    if error > Time::ZERO {
        trace.notes.push(format!("replayed: clocks of nodes are off by at most {error}"));
    }
    save::save(&trace, &typed.output)
        .map_err(|fault| Failure::bad_input(format!("{}: {fault}; give another -o", typed.output.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_ranks_than_cores_are_told() {
        let two = [0, 1];
        let found = crowded([("one", &two[..]), ("one", &two), ("one", &two), ("two", &two)].into_iter());
        assert!(found.len() == 1 && found[0].starts_with("one has 3 ranks for 2 cores"), "{found:?}");
        // Each is bound to a core of its own.
        assert!(crowded([("one", &two[..1]), ("one", &two[1..])].into_iter()).is_empty());
    }
}
