//! `straggler simulate`: a plan becomes inputs, inputs become runs, runs become an answer.

pub mod answer;
pub mod args;
pub mod checkpoints;
pub mod collective;
pub mod details;
pub mod inputs;
pub mod links;
pub mod page;
pub mod plan;
pub mod recorded;
pub mod repeated;
pub mod replicas;
pub mod stuck;
pub mod words;
pub mod workload;

use crate::kernel::devices::{self, GpuAnswer, TypedDevice};
use crate::kernel::prelude::*;
use crate::mpi::cluster::{self, Exchange, Metered, Sharing, speaks};
pub use crate::simulate::inputs::demand;
use crate::simulate::plan::{Plan, WorkloadPlan};
use crate::simulate::replicas::{ReplicaRunner, Replicas};
use crate::{
    kernel::gates::Checked, noise::file::has_drawn_source, simulate::answer::SimulateAnswer,
    simulate::checkpoints::Folder, simulate::details::Details, simulate::inputs::Inputs,
    simulate::repeated::Repeated, simulate::stuck::stuck_simulation,
};
use flate2::{Compression, write::GzEncoder};
use straggler_analysis::partition::divide;
use straggler_report::finish_times as finish_files;
use straggler_schedule::Graph;
use straggler_sim::{Accelerator, Stuck, checkpoint::Checkpoints, cluster::Cluster};
use straggler_trace::Timeline;

/// Approximate size of a timeline event in JSON.
const EVENT_BYTES: u64 = 160;
/// The largest file that viewers open without trouble.
const LARGE_TIMELINE: u64 = 200_000_000;

/// The results of the runs.
pub struct Findings {
    replicas: Replicas,
    quiet_makespan: Option<Time>,
    /// The makespan, had nothing waited for shared links.
    without_waiting: Option<Time>,
    repeated: Repeated,
    wall_seconds: f64,
    load_seconds: f64,
    /// Data exchanged by the members of a cluster.
    exchange: Option<Exchange>,
    details: Details,
    gpus: Vec<GpuAnswer>,
    /// The folder of checkpoints, on the member that removes them.
    checkpoints: Option<Folder>,
}

/// Runs the plan, with all members of a cluster if there is one.
pub fn run(plan: &Plan, console: &Console, cluster: Option<&dyn Cluster>) -> Outcome<()> {
    let began = Instant::now();
    let (graph, sharing) = read_shared(plan, cluster)?.unzip();
    let load = || {
        let inputs = Inputs::load(plan, console, graph)?;
        details::check(plan, &inputs, cluster)?;
        let written = [&plan.report, &plan.finish_times, &plan.output, &plan.save_network];
        written.into_iter().flatten().try_for_each(|path| refuse_missing_folder(path))?;
        Ok(inputs)
    };
    let inputs = match cluster {
        None => load()?,
        Some(cluster) => cluster::agreed(cluster, load(), &inputs::files(plan))?,
    };
    inputs.warnings.iter().for_each(|warning| console.warn(warning));
    inputs::check(plan, &inputs, console)?;
    let load_seconds = began.elapsed().as_secs_f64();
    console.detail(&format!("loaded in {load_seconds:.3} s"));
    if let (Some(cluster), Some(path)) = (cluster, &plan.finish_times) {
        if path.metadata().is_ok_and(|there| !there.is_file()) {
            let why = "is not a regular file, and many processes write to it: give --finish-times a file";
            return Err(Failure::usage(format!("{} {why}", path.display())));
        }
        cluster::seen_by_all(
            cluster,
            path.parent().filter(|folder| *folder != "").unwrap_or(Path::new(".")),
        )?;
    }
    let findings = simulate(plan, &inputs, console, load_seconds, cluster, sharing.as_ref());
    let findings = match cluster {
        Some(cluster) => cluster::agreed(cluster, findings, &[])?,
        None => findings?,
    };
    let mut answer = SimulateAnswer::new(plan, &inputs, &findings);
    let stuck = blocking(plan, &findings);
    if stuck.is_none() {
        write_finish_times(plan, &findings, cluster)?;
    }
    let checked = match stuck {
        None if speaks(cluster) => Some(Checked::new(&plan.checks, answer.metrics())?),
        _ => None,
    };
    answer.limits = checked.as_ref().map_or_else(Vec::new, |checked| checked.limits.clone());
    if stuck.is_none() && speaks(cluster) {
        write_files(plan, &inputs, &findings, &answer, console)?;
        pages::write_asked(plan.report.as_ref(), console, || {
            page::page(&answer, &inputs, &findings, is_synthetic(plan, &answer))
        })?;
    }
    match (console.json, stuck) {
        (true, _) => console.print_json(&answer)?,
        (false, None) => console.print(&words::summary(&answer, &inputs, &findings.repeated))?,
        (false, Some(_)) => {}
    }
    // Not before the results are written: a run that is killed until then resumes.
    findings.checkpoints.iter().for_each(Folder::finish);
    match (stuck, checked) {
        (Some(stuck), _) => Err(stuck_simulation(stuck)),
        (None, Some(checked)) => checked.finish(console),
        (None, None) => Ok(()),
    }
}

/// Reads a schedule that the members of a cluster divide. None if every member needs the whole, as for checkpoints and
/// observed runs.
fn read_shared(plan: &Plan, cluster: Option<&dyn Cluster>) -> Outcome<Option<(Graph, Sharing)>> {
    let whole = plan.checkpoints.is_some() || plan.explain || plan.timeline.is_some();
    match (&plan.workload, cluster) {
        (WorkloadPlan::File(path), Some(cluster)) if !whole => cluster::read_shared(path, cluster, divide),
        _ => Ok(None),
    }
}

/// The checkpoint folder, if checkpoints are enabled. All members of a cluster must see the same one.
fn open_checkpoints(
    plan: &Plan,
    inputs: &Inputs,
    console: &Console,
    cluster: Option<&dyn Cluster>,
) -> Outcome<Option<Folder>> {
    let Some(wanted) = &plan.checkpoints else { return Ok(None) };
    let opened = inputs.identity(plan).and_then(|identity| Folder::open(wanted, identity));
    let folder = match cluster {
        None => opened?,
        Some(cluster) => {
            let folder = cluster::agreed(cluster, opened, &[])?;
            let all = cluster::gathered(cluster, &folder.position())?;
            if let Some((rank, _)) = (0..).zip(&all).find(|(_, position)| Some(*position) != all.first()) {
                return Err(Failure::bad_input(format!(
                    "{}: {} does not see the checkpoint that {} sees: use a folder that all nodes share",
                    wanted.folder.display(),
                    cluster.name(rank),
                    cluster.name(0)
                )));
            }
            folder
        }
    };
    if speaks(cluster) {
        folder.clean();
    }
    cluster.map_or(Ok(()), |cluster| cluster::seen_by_all(cluster, &wanted.folder))?;
    match folder.position() {
        Some(position) => console.note(&format!(
            "resuming from the checkpoint at {} of simulated time",
            Time(position.simulated_ps)
        )),
        None if wanted.resume => console.note("there is no checkpoint yet: starting from the beginning"),
        None => {}
    }
    Ok(Some(folder))
}

fn simulate(
    plan: &Plan,
    inputs: &Inputs,
    console: &Console,
    load_seconds: f64,
    cluster: Option<&dyn Cluster>,
    sharing: Option<&Sharing>,
) -> Outcome<Findings> {
    let _orderly = Orderly::begin();
    let runs = plan.replicas.len() as u64 + u64::from(plan.compare_quiet) + Details::runs(plan);
    let members = cluster.map_or(1, |cluster| u64::from(cluster.size()));
    // Each member counts its own messages.
    let meter = Meter::new(console, inputs.workload.workload.messages().saturating_mul(runs) / members);
    let advance = |more| meter.advance(more);
    let checkpoints = open_checkpoints(plan, inputs, console, cluster)?;
    let metered = cluster.map(|cluster| Metered::new(cluster, sharing));
    let timed = metered.as_ref().map(|metered| metered as &dyn Cluster);
    let replicas = plan.replicas.len() as u64;
    // A single replica runs best on CPUs.
    let gpus = match cluster.is_none() && (replicas > 1 || plan.device == TypedDevice::Gpu) {
        true => {
            devices::open(plan.device, inputs.workload.workload.messages().saturating_mul(replicas), console)?
        }
        false => None,
    };
    let accelerator = gpus.as_ref().map(|gpus| gpus as &dyn Accelerator);
    let mut runner = ReplicaRunner::new(plan, inputs, timed, accelerator, &advance);
    runner.replicas.checkpoints = checkpoints.as_ref().map(|folder| folder as _);
    let began = Instant::now();
    let replicas = runner.all(plan.finish_times.is_some() || inputs.recorded.is_some())?;
    let took = began.elapsed();
    let exchange = metered.as_ref().map(|metered| metered.summary(took)).transpose()?;
    let quiet_makespan = if plan.compare_quiet { Some(runner.quiet()?) } else { None };
    let repeated = match replicas.stuck() {
        None => Repeated::find(plan, inputs, &runner.replicas)?,
        Some(_) => Repeated::NotSingle,
    };
    let details = if replicas.stuck().is_none_or(|stuck| stuck.unfinished == 0) {
        Details::find(&runner, &replicas)?
    } else {
        Details::default()
    };
    let without_waiting = runner.without_waiting(&replicas)?;
    let gpus = devices::report(gpus.as_ref(), plan.device, console);
    interrupt::check()?;
    let (wall_seconds, windows) = (took.as_secs_f64(), replicas.shown().windows);
    console.detail(&format!("simulated in {wall_seconds:.3} s, {windows} windows"));
    let checkpoints = checkpoints.filter(|_| speaks(cluster));
    Ok(Findings {
        replicas,
        quiet_makespan,
        without_waiting,
        repeated,
        wall_seconds,
        load_seconds,
        exchange,
        details,
        gpus,
        checkpoints,
    })
}

/// Why the run counts as unfinished, if it does.
fn blocking<'a>(plan: &Plan, findings: &'a Findings) -> Option<&'a Stuck> {
    let stuck = findings.replicas.stuck()?;
    let only_leftovers = stuck.unfinished == 0;
    (!(only_leftovers && plan.allow_leftovers)).then_some(stuck)
}

fn write_finish_times(plan: &Plan, findings: &Findings, cluster: Option<&dyn Cluster>) -> Outcome<()> {
    let _orderly = Orderly::begin();
    match (&plan.finish_times, &findings.details.finish, cluster) {
        (Some(path), Some(share), Some(cluster)) => cluster::write_finish_times(path, share, cluster),
        (Some(path), Some(share), None) => Ok(finish_files::write(path, &share.finish)?),
        _ => Ok(()),
    }
}

/// Whether noise or latencies were drawn from a description.
fn is_synthetic(plan: &Plan, answer: &SimulateAnswer) -> bool {
    let latency = answer.latency.as_ref().is_some_and(|latency| latency.is_synthetic());
    has_drawn_source(&plan.noise.spec) || latency
}

/// Warns if viewers would be slow or fail.
fn warn_of_size(timeline: &Timeline, console: &Console) {
    let bytes = EVENT_BYTES * (timeline.activities.len() + 2 * timeline.arrows.len()) as u64;
    if bytes >= LARGE_TIMELINE {
        console.warn(&format!(
            "the timeline takes about {} of JSON, which viewers may not open: choose a part of it with --timeline-ranks and \
             --timeline-range",
            Bytes(bytes)
        ));
    }
}

fn write_files(
    plan: &Plan,
    inputs: &Inputs,
    findings: &Findings,
    answer: &SimulateAnswer,
    console: &Console,
) -> Outcome<()> {
    if let (Some(wanted), Some(timeline)) = (&plan.timeline, &findings.details.timeline) {
        let about = serde_json::json!({
            "workload": answer.workload, "network": answer.network, "latency": answer.latency,
            "noise": answer.noise,
            "seed": answer.seed, "replica": findings.replicas.shown().replica,
            "command": command_line(), "synthetic": is_synthetic(plan, answer),
        });
        warn_of_size(timeline, console);
        replace_file(&wanted.path, |out| {
            if !wanted.is_compressed {
                return straggler_formats::chrome::write(timeline, &about, out);
            }
            let mut packed = GzEncoder::new(out, Compression::default());
            straggler_formats::chrome::write(timeline, &about, &mut packed)?;
            packed.finish().map(|_| ())
        })?;
    }
    if let Some(path) = &plan.save_network {
        let text = inputs.network.to_toml()?;
        replace_file(path, |out| out.write_all(text.as_bytes()))?;
    }
    if let Some(path) = &plan.output {
        let text = to_json(answer)?;
        replace_file(path, |out| out.write_all(text.as_bytes()))?;
    }
    Ok(())
}
