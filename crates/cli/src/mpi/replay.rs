//! `straggler mpi replay` as typed.

use crate::args::Common;
use crate::kernel::devices::use_threads;
use crate::kernel::typed::text;
use crate::kernel::{Console, Failure, Outcome, Valid, refuse_missing_folder};
use crate::mpi::cluster::{agreed, gathered};
use crate::report::ReportOption;
use crate::trace::file::ReadingOptions;
use crate::whatif;
use crate::whatif::args::{Changes, TraceWhatIf, TypedMode};
use crate::whatif::reenact::Scene;
use clap::{Args, ValueEnum};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use straggler_analysis::whatif::reenacted;
use straggler_model::Time;
use straggler_mpi::Session;
use straggler_mpi::replay::{Compute, Played};
use straggler_report::numbers::counted;
use straggler_schedule::traced::{Decisions, TracedRun};
use straggler_sim::RunError;
use straggler_sim::cluster::Cluster;
use straggler_sim::programs::Replayed;
use straggler_trace::format::save;

const EXAMPLES: &str = "\
EXAMPLES
  straggler trace record -o run -- mpirun -n 4 ./program
  mpirun -n 4 straggler mpi replay run -o again

  mpirun -n 4 straggler mpi replay run --balance solve -o balanced
  straggler whatif run --balance solve --replayed balanced

  mpirun -n 4 straggler mpi replay run --scale all=0.5 --mode recorded \\
      --compute sleep -o half";

/// Run a trace again with real messages, unchanged or with the changes of `straggler whatif`
///
/// Needs as many processes as the trace has ranks. Messages, requests and collectives are real. A process computes by
/// keeping its core busy, or by sleeping, for as long as the traced one did, or would with the changes. Calls that cannot
/// be repeated (one-sided, files) are named and take their traced time. Writes a trace of the new run, and compares it with
/// the measured and the simulated one.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Replay {
    /// The trace: its folder, or a file in it
    pub trace: PathBuf,
    #[command(flatten)]
    pub changes: Changes,
    /// What decides the outcome of nondeterministic calls: this run, or the trace
    #[arg(long, value_enum, default_value_t)]
    pub mode: TypedMode,
    /// How a process spends the computation time of the traced one
    #[arg(long, value_enum, default_value_t)]
    pub compute: ComputeName,
    /// Network of the simulations: LogGOPS parameters, a preset or a .toml file [default: fitted to the trace]
    #[arg(long, value_name = "NETWORK", value_parser = text())]
    pub base_network: Option<String>,
    /// Gaps between unsuccessful tests or probes shorter than this are waiting, not computation [default: 1us]
    #[arg(long, value_name = "TIME")]
    pub spin: Option<Time>,
    #[command(flatten)]
    pub reading: ReadingOptions,
    /// Give up if a call waits longer than this [default: one minute plus the length of the traced run]
    #[arg(long, value_name = "TIME")]
    pub patience: Option<Time>,
    /// Folder for the trace of the new run
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    #[command(flatten)]
    pub report: ReportOption,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ComputeName {
    /// Keep the core busy
    #[default]
    Spin,
    /// Sleep; for programs that sleep, or more ranks than cores
    Sleep,
}

impl From<ComputeName> for Compute {
    fn from(name: ComputeName) -> Compute {
        match name {
            ComputeName::Spin => Compute::Spin,
            ComputeName::Sleep => Compute::Sleep,
        }
    }
}

impl Replay {
    /// The what-if analysis to do after the run.
    pub fn whatif(&self) -> TraceWhatIf {
        TraceWhatIf {
            trace: self.trace.clone(),
            changes: self.changes.clone(),
            file: None,
            search: false,
            base_network: self.base_network.clone(),
            mode: self.mode,
            spin: self.spin,
            reduction_cost: None,
            reading: self.reading.clone(),
            replayed: Some(self.output.clone()),
            save_trace: None,
            report: self.report.clone(),
        }
    }
}

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
        0 => Valid::new(typed.whatif()).and_then(|valid| whatif::run_trace(&valid, common, console)),
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
