//! What is only found out when asked for: finish times, critical path and timeline of the replica that
//! is shown. Each is a run of its own, for an observer costs time and memory.

use super::inputs::Inputs;
use super::replicas::{Replicas, Runner};
use super::workload::Workload;
use crate::exit::{Failure, Outcome};
use crate::memory::{available_bytes, refuse_too_many};
use crate::plan::simulate::{Plan, TimelinePlan};
use straggler_analysis::{CriticalPath, Recorder};
use straggler_model::Time;
use straggler_report::numbers::{counted, grouped, memory};
use straggler_schedule::{Script, Steps};
use straggler_sim::Control;
use straggler_sim::observers::TimelineObserver;
use straggler_trace::Timeline;

/// A viewer shows about this many processes at most.
const MOST_SHOWN: u32 = 4096;
/// What the engine keeps of a process whose steps are computed, its messages on the way included.
const BYTES_A_PROCESS: u64 = 110;
/// The same where noise runs on one thread, in rounds: with a slot for each round's message.
const NOISY_BYTES_A_PROCESS: u64 = 310;
/// The same where several steps can be under way.
const OVERLAPPING_BYTES_A_PROCESS: u64 = 350;
/// Every operation and every arrival is an event; each is recorded in 48 bytes, in lists that double.
const RECORDED_BYTES_AN_EVENT: u64 = 48 * 2;
/// What the recorder keeps of a process.
const RECORDED_BYTES_A_PROCESS: u64 = 250;

#[derive(Debug, Default)]
pub struct Details {
    pub finish: Option<Vec<Time>>,
    pub critical_path: Option<CriticalPath>,
    pub timeline: Option<Timeline>,
}

/// Refuses what could only fail after the run or in the middle of it.
pub fn check(plan: &Plan, inputs: &Inputs) -> Outcome<()> {
    if let Some(timeline) = &plan.timeline {
        check_timeline(timeline, inputs.workload.processes())?;
    }
    check_memory(&inputs.workload, inputs.noise.is_some(), plan.explain, available_bytes())
}

fn check_timeline(timeline: &TimelinePlan, processes: u32) -> Outcome<()> {
    let ranks = &timeline.selection.ranks;
    if ranks.is_empty() && processes > MOST_SHOWN {
        return Err(Failure::usage(format!(
            "a timeline of {} processes is more than a viewer shows: choose some, as in --timeline-ranks 0-63",
            grouped(processes)
        )));
    }
    match ranks.iter().find(|(_, last)| *last >= processes) {
        Some((_, last)) => Err(Failure::usage(format!(
            "--timeline-ranks: there is no rank {last}, only {}",
            counted(processes.into(), "process", "processes")
        ))),
        None => Ok(()),
    }
}

fn check_memory(workload: &Workload, noisy: bool, explain: bool, available: Option<u64>) -> Outcome<()> {
    let processes = u64::from(workload.processes());
    let each = match workload {
        // A schedule that could be read lies in memory already.
        Workload::Graph { .. } => 0,
        Workload::Traced { .. } => OVERLAPPING_BYTES_A_PROCESS,
        Workload::Application(application) if application.overlaps() => OVERLAPPING_BYTES_A_PROCESS,
        Workload::Collective(plan) if plan.collective.overlaps() => OVERLAPPING_BYTES_A_PROCESS,
        Workload::Collective(_) if noisy => NOISY_BYTES_A_PROCESS,
        Workload::Collective(_) | Workload::Application(_) => BYTES_A_PROCESS,
    };
    refuse_too_many(processes, each, available)?;
    let Some(available) = available else { return Ok(()) };
    let engine = processes * each;
    let events = workload.expected_operations().saturating_add(workload.expected_messages());
    let recorded = events.saturating_mul(RECORDED_BYTES_AN_EVENT);
    let needed = recorded.saturating_add(processes * RECORDED_BYTES_A_PROCESS).saturating_add(engine);
    if explain && needed > available {
        return Err(Failure::usage(format!(
            "--explain records every event, here in up to {}, but {} are available: take fewer processes or cycles",
            memory(needed),
            memory(available)
        )));
    }
    Ok(())
}

impl Details {
    /// How many runs it takes to find out what the plan asks for.
    pub fn runs(plan: &Plan) -> u64 {
        let finish = plan.finish_times.is_some() && plan.replicas.len() > 1;
        u64::from(finish) + u64::from(plan.explain) + u64::from(plan.timeline.is_some())
    }

    pub fn find(runner: &Runner<'_>, replicas: &Replicas) -> Outcome<Details> {
        let shown = replicas.shown();
        let plan = runner.plan;
        let finish = match &plan.finish_times {
            Some(_) if shown.finish.is_none() => Some(runner.finish_times(shown.replica)?),
            _ => shown.finish.clone(),
        };
        let critical_path = if plan.explain { Some(explain(runner, shown.replica)?) } else { None };
        let timeline = match &plan.timeline {
            Some(timeline) => Some(record(runner, shown.replica, timeline)?),
            None => None,
        };
        Ok(Details { finish, critical_path, timeline })
    }
}

fn explain(runner: &Runner<'_>, replica: u32) -> Outcome<CriticalPath> {
    let inputs = runner.inputs;
    let noise = inputs.noise.as_ref().map(|noise| noise.of_replica(replica));
    let simulation = inputs.simulation(runner.plan, noise.as_ref());
    let mut progress = runner.meter.run();
    let mut control = Control::new(inputs.threads, runner.stop, &mut progress);
    let run = inputs.workload.run_observed(&simulation, &mut control, Recorder::new)?;
    Ok(CriticalPath::of(&run.observers, &simulation))
}

fn record(runner: &Runner<'_>, replica: u32, timeline: &TimelinePlan) -> Outcome<Timeline> {
    let inputs = runner.inputs;
    let noise = inputs.noise.as_ref().map(|noise| noise.of_replica(replica));
    let simulation = inputs.simulation(runner.plan, noise.as_ref());
    let mut progress = runner.meter.run();
    let mut control = Control::new(inputs.threads, runner.stop, &mut progress);
    let observer = |_, _| TimelineObserver::new(&timeline.selection);
    let run = inputs.workload.run_observed(&simulation, &mut control, observer)?;
    Ok(TimelineObserver::join(run.observers))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use crate::commands::collective;
    use crate::plan::collective::CollectiveRequest;
    use clap::Parser;

    fn check(line: &str, explain: bool, available: Option<u64>) -> Outcome<()> {
        let words = ["straggler", "simulate", "--network", "chic", "--collective", "barrier"];
        let cli = Cli::try_parse_from(words.into_iter().chain(line.split(' '))).unwrap();
        let Command::Simulate(typed) = cli.command else { panic!("not simulate") };
        let request = CollectiveRequest::of_simulate(&typed.collective).unwrap().unwrap();
        let plan = collective::load(&request).unwrap().plan;
        check_memory(&Workload::Collective(plan), false, explain, available)
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
        // One process sends nothing; its computations are recorded all the same.
        let alone = "--processes 1 --cycles 400000000 --compute 1ns";
        assert!(check(alone, false, Some(32 * GIBIBYTE)).is_ok());
        assert!(check(alone, true, Some(32 * GIBIBYTE)).is_err());
    }
}
