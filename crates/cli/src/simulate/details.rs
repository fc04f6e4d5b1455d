//! Results that are computed only on request: finish times, critical path and timeline of the shown replica. Each
//! takes a separate run, because observers cost time and memory; on a cluster one member does it alone.

use crate::kernel::memory::{available_bytes, refuse_too_much, refuse_too_much_of_share};
use crate::kernel::prelude::*;
use crate::mpi::cluster::{Share, speaks};
use crate::simulate::inputs::Inputs;
use crate::simulate::plan::{Plan, TimelinePlan};
use crate::simulate::replicas::{ReplicaRunner, Replicas};
use straggler_analysis::CriticalPath;
use straggler_sim::{Control, Progress, Simulation, Workload, cluster::Cluster, outcome::RunError};
use straggler_trace::Timeline;

/// Viewers show at most about this many processes.
const MOST_SHOWN: u32 = 4096;
#[derive(Debug, Default)]
pub struct Details {
    /// Finish times; on a cluster, those of this member.
    pub finish: Option<Share>,
    pub critical_path: Option<CriticalPath>,
    pub timeline: Option<Timeline>,
}

/// Fails early for anything that would otherwise fail during or after the run.
pub fn check(plan: &Plan, inputs: &Inputs, cluster: Option<&dyn Cluster>) -> Outcome<()> {
    if let Some(timeline) = &plan.timeline {
        check_timeline(timeline, inputs.workload.processes())?;
    }
    let (workload, simulation) = (&inputs.workload.workload, inputs.simulation(plan));
    let needed = simulation.memory_bytes(workload);
    refuse_too_much_of_share(workload.processes().into(), needed, cluster)?;
    match plan.explain || plan.timeline.is_some() {
        true if speaks(cluster) => check_memory(workload, &simulation, plan.explain, available_bytes()),
        _ => Ok(()),
    }
}

pub fn check_timeline(timeline: &TimelinePlan, processes: u32) -> Outcome<()> {
    let ranks = &timeline.selection.ranks;
    if ranks.is_empty() && processes > MOST_SHOWN {
        return Err(Failure::usage(format!(
            "a timeline of {} processes is too large for a viewer: choose some, as in --timeline-ranks 0-63",
            grouped(processes)
        )));
    }
    match ranks.iter().find(|(_, last)| *last >= processes) {
        Some((_, last)) => Err(Failure::usage(format!(
            "--timeline-ranks: there is no rank {last}, there are only {}",
            counted(processes.into(), "process", "processes")
        ))),
        None => Ok(()),
    }
}

fn check_memory(
    workload: &Workload,
    simulation: &Simulation<'_>,
    explain: bool,
    available: Option<u64>,
) -> Outcome<()> {
    refuse_too_much(workload.processes().into(), simulation.memory_bytes(workload), available)?;
    let Some(available) = available else { return Ok(()) };
    let needed = simulation.recorded_memory_bytes(workload);
    if explain && needed > available {
        return Err(Failure::usage(format!(
            "--explain records every event, which takes up to {}, but {} are available: use fewer \
             processes or cycles",
            memory(needed),
            memory(available)
        )));
    }
    Ok(())
}

impl Details {
    /// Number of runs needed for the requested details.
    pub fn runs(plan: &Plan) -> u64 {
        let finish = plan.finish_times.is_some() && plan.replicas.len() > 1;
        u64::from(finish) + u64::from(plan.explain) + u64::from(plan.timeline.is_some())
    }

    pub fn find(runner: &ReplicaRunner<'_>, replicas: &Replicas) -> Outcome<Details> {
        let shown = replicas.shown();
        let plan = runner.plan;
        let finish = match &plan.finish_times {
            Some(_) if shown.finish.is_none() => Some(runner.finish_times(shown.replica)?),
            _ => shown.finish.clone(),
        };
        // On a cluster, the first member observes a separate run.
        let observes = speaks(runner.replicas.cluster);
        let explained = (plan.explain && observes).then(|| explain(runner, shown.replica));
        let recorded = plan.timeline.as_ref().filter(|_| observes);
        let timeline = recorded.map(|timeline| record(runner, shown.replica, timeline)).transpose()?;
        let critical_path = explained.transpose()?;
        Ok(Details { finish, critical_path, timeline })
    }
}

fn explain(runner: &ReplicaRunner<'_>, replica: u32) -> Outcome<CriticalPath> {
    observed(runner, replica, |simulation, control| {
        let (_, recorders) = simulation.run_recorded(runner.workload, control)?;
        Ok(CriticalPath::new(&recorders, simulation))
    })
}

fn record(runner: &ReplicaRunner<'_>, replica: u32, timeline: &TimelinePlan) -> Outcome<Timeline> {
    observed(runner, replica, |simulation, control| {
        Ok(simulation.run_with_timeline(runner.workload, &timeline.selection, control)?.1)
    })
}

/// Repeats a replica with an observer.
fn observed<T>(
    runner: &ReplicaRunner<'_>,
    replica: u32,
    run: impl FnOnce(&Simulation<'_>, &mut Control<'_>) -> Result<T, RunError>,
) -> Outcome<T> {
    let replicas = &runner.replicas;
    let noise = replicas.simulation.noise.map(|noise| noise.of_replica(replica));
    let latency = replicas.simulation.latency.map(|drawn| drawn.of_replica(replica));
    let simulation =
        Simulation { noise: noise.as_ref(), latency: latency.as_ref(), ..replicas.simulation.clone() };
    let mut seen = 0;
    let mut progress = |progress: Progress| {
        (replicas.advance)(progress.messages.saturating_sub(seen));
        seen = progress.messages;
    };
    let mut control = Control::new(replicas.threads).stop_if(replicas.stop).progress(&mut progress);
    Ok(run(&simulation, &mut control)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use crate::simulate::collective;
    use crate::simulate::collective::CollectiveRequest;
    use clap::Parser;
    use straggler_model::Network;

    fn check(line: &str, explain: bool, available: Option<u64>) -> Outcome<()> {
        let words = ["straggler", "simulate", "--network", "chic", "--collective", "barrier"];
        let cli = Cli::try_parse_from(words.into_iter().chain(line.split(' '))).unwrap();
        let Command::Simulate(typed) = cli.command else { panic!("not simulate") };
        let request = CollectiveRequest::of_simulate(&typed.collective).unwrap().unwrap();
        let plan = collective::load(&request).unwrap().plan;
        let network = Network::load("chic").unwrap();
        check_memory(&plan.workload(), &Simulation::new(&network), explain, available)
    }

    const GIBIBYTE: u64 = 1 << 30;

    #[test]
    fn too_many_processes_are_refused_before_the_run() {
        assert!(check("--processes 1000000", false, Some(GIBIBYTE)).is_ok());
        assert!(check("--processes 2000000000", false, Some(64 * GIBIBYTE)).is_err());
        assert!(check("--processes 2000000000", false, None).is_ok());
    }

    #[test]
    fn explaining_too_much_is_refused_before_it_hurts() {
        assert!(check("--processes 1024 --cycles 100", true, Some(GIBIBYTE)).is_ok());
        let cycles = "--processes 1024 --cycles 100000";
        assert!(check(cycles, false, Some(GIBIBYTE)).is_ok());
        assert!(check(cycles, true, Some(GIBIBYTE)).is_err());
        assert!(check(cycles, true, None).is_ok());
        // A single process sends nothing, but its computations are recorded.
        let alone = "--processes 1 --cycles 400000000 --compute 1ns";
        assert!(check(alone, false, Some(32 * GIBIBYTE)).is_ok());
        assert!(check(alone, true, Some(32 * GIBIBYTE)).is_err());
    }
}
