//! `straggler simulate`: a plan becomes inputs, inputs become runs, runs become an answer.

mod answer;
mod demand;
mod details;
pub mod estimate;
mod inputs;
mod page;
mod replicas;
mod stuck;
mod words;
mod workload;

pub use answer::NetworkAnswer;
pub use demand::demand;
pub use inputs::{LoadedNoise, load_network, what_was_noticed};
pub use page::has_drawn_source;
pub use stuck::circle;

use crate::checkpoints::Folder;
use crate::commands::{command_line, refuse_missing_folder, report};
use crate::console::{Console, to_json};
use crate::exit::{Exit, Failure, Outcome};
use crate::interrupt::{self, Orderly};
use crate::meter::Meter;
use crate::on_cluster;
use crate::plan::simulate::Plan;
use answer::Answer;
use details::Details;
use inputs::Inputs;
use replicas::{Replicas, Runner};
use std::time::Instant;
use straggler_model::Time;
use straggler_report::{finish_times, replace_file};
use straggler_sim::Stuck;
use straggler_sim::checkpoint::Checkpoints;
use straggler_sim::cluster::Cluster;

/// What the stage found out, before it is put into words.
struct Findings {
    replicas: Replicas,
    quiet_makespan: Option<Time>,
    wall_seconds: f64,
    load_seconds: f64,
    details: Details,
}

/// Runs the plan, with all members of a cluster if there is one.
pub fn run(plan: &Plan, console: &Console, cluster: Option<&dyn Cluster>) -> Outcome<()> {
    let began = Instant::now();
    let load = || {
        let inputs = Inputs::load(plan, console)?;
        details::check(plan, &inputs, cluster)?;
        plan.report.iter().try_for_each(|path| refuse_missing_folder(path))?;
        Ok(inputs)
    };
    let inputs = match cluster {
        None => load()?,
        Some(cluster) => on_cluster::agreed(cluster, load(), &inputs::files(plan))?,
    };
    inputs.warnings.iter().for_each(|warning| console.warn(warning));
    estimate::check(plan, &inputs, console)?;
    let load_seconds = began.elapsed().as_secs_f64();
    console.detail(&format!("loaded in {load_seconds:.3} s"));
    let findings = simulate(plan, &inputs, console, load_seconds, cluster)?;
    let answer = Answer::new(plan, &inputs, &findings);
    let stuck = blocking(plan, &findings);
    if stuck.is_none() {
        write_finish_times(plan, &findings, cluster)?;
    }
    if stuck.is_none() && speaks(cluster) {
        write_files(plan, &findings, &answer)?;
        report::write_asked(plan.report.as_ref(), console, || {
            page::page(&answer, &inputs, &findings, has_drawn_source(&plan.noise.spec))
        })?;
    }
    match (console.json, stuck) {
        (true, _) => console.print_json(&answer)?,
        (false, None) => console.print(&words::say(&answer, &inputs))?,
        (false, Some(_)) => {}
    }
    match stuck {
        Some(stuck) => Err(stuck_failure("", stuck)),
        None => Ok(()),
    }
}

/// Whether this process writes what is written once.
fn speaks(cluster: Option<&dyn Cluster>) -> bool {
    cluster.is_none_or(|cluster| cluster.rank() == 0)
}

/// The folder of the checkpoints, if any are to be kept. All members of a cluster must see the same one.
fn open_checkpoints(
    plan: &Plan,
    inputs: &Inputs,
    console: &Console,
    cluster: Option<&dyn Cluster>,
) -> Outcome<Option<Folder>> {
    let Some(wanted) = &plan.checkpoints else { return Ok(None) };
    let opened = Folder::open(wanted, inputs.identity(plan));
    let folder = match cluster {
        None => opened?,
        Some(cluster) => {
            let folder = on_cluster::agreed(cluster, opened, &[])?;
            let all = on_cluster::gathered(cluster, &folder.position())?;
            if let Some((rank, _)) = (0..).zip(&all).find(|(_, position)| Some(*position) != all.first()) {
                return Err(Failure::bad_input(format!(
                    "{}: {} does not see the checkpoint that {} sees: give a folder that all nodes share",
                    wanted.folder.display(),
                    cluster.name(rank),
                    cluster.name(0)
                )));
            }
            folder
        }
    };
    match folder.position() {
        Some(position) => console.note(&format!(
            "goes on from the checkpoint at {} of simulated time",
            Time(position.simulated_ps)
        )),
        None if wanted.resume => console.note("there is no checkpoint yet: begins at the start"),
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
) -> Outcome<Findings> {
    let _orderly = Orderly::begin();
    let runs = plan.replicas.len() as u64 + u64::from(plan.compare_quiet) + Details::runs(plan);
    let members = cluster.map_or(1, |cluster| u64::from(cluster.size()));
    // Each member counts its own.
    let meter = Meter::new(console, inputs.workload.workload.messages().saturating_mul(runs) / members);
    let advance = |more| meter.advance(more);
    let checkpoints = open_checkpoints(plan, inputs, console, cluster)?;
    let mut runner = Runner::new(plan, inputs, cluster, &advance);
    runner.replicas.checkpoints = checkpoints.as_ref().map(|folder| folder as _);
    let began = Instant::now();
    let replicas = runner.all(plan.finish_times.is_some())?;
    let wall_seconds = began.elapsed().as_secs_f64();
    let quiet_makespan = if plan.compare_quiet { Some(runner.quiet()?) } else { None };
    let details = if replicas.stuck().is_none_or(|stuck| stuck.unfinished == 0) {
        Details::find(&runner, &replicas)?
    } else {
        Details::default()
    };
    interrupt::check()?;
    if let Some(folder) = checkpoints.filter(|_| speaks(cluster)) {
        folder.finish();
    }
    console.detail(&format!("simulated in {wall_seconds:.3} s, {} windows", replicas.shown().windows));
    Ok(Findings { replicas, quiet_makespan, wall_seconds, load_seconds, details })
}

/// Why the run counts as one that could not finish, if it does.
fn blocking<'a>(plan: &Plan, findings: &'a Findings) -> Option<&'a Stuck> {
    let stuck = findings.replicas.stuck()?;
    let only_leftovers = stuck.unfinished == 0;
    (!(only_leftovers && plan.allow_leftovers)).then_some(stuck)
}

/// Refuses a run that could not finish.
pub fn refuse_stuck(stuck: Option<&Stuck>) -> Outcome<()> {
    match stuck.filter(|stuck| stuck.unfinished > 0) {
        Some(stuck) => Err(stuck_failure("", stuck)),
        None => Ok(()),
    }
}

/// Says of `what` who waits for whom.
pub fn stuck_failure(what: &str, stuck: &Stuck) -> Failure {
    Failure::new(Exit::Stuck, anyhow::Error::msg(what.to_string() + &stuck::explain(stuck)))
}

fn write_finish_times(plan: &Plan, findings: &Findings, cluster: Option<&dyn Cluster>) -> Outcome<()> {
    let _orderly = Orderly::begin();
    match (&plan.finish_times, &findings.details.finish, cluster) {
        (Some(path), Some(share), Some(cluster)) => on_cluster::write_finish_times(path, share, cluster),
        (Some(path), Some(share), None) => Ok(finish_times::write(path, &share.finish)?),
        _ => Ok(()),
    }
}

/// Everything is known by now: what is written is written whole, and an interruption comes too late.
fn write_files(plan: &Plan, findings: &Findings, answer: &Answer) -> Outcome<()> {
    let _orderly = Orderly::begin();
    if let (Some(wanted), Some(timeline)) = (&plan.timeline, &findings.details.timeline) {
        let about = serde_json::json!({
            "workload": answer.workload, "network": answer.network, "latency": answer.latency,
            "noise": answer.noise,
            "seed": answer.seed, "replica": findings.replicas.shown().replica,
            "command": command_line(), "synthetic": has_drawn_source(&plan.noise.spec),
        });
        replace_file(&wanted.path, |out| straggler_trace::chrome::write(timeline, &about, out))?;
    }
    if let Some(path) = &plan.output {
        let text = to_json(answer)?;
        replace_file(path, |out| out.write_all(text.as_bytes()))?;
    }
    Ok(())
}
