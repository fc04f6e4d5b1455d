//! What is only found out when asked for: finish times, critical path and timeline of the replica that
//! is shown. Each is a run of its own, for an observer costs time and memory.

use super::inputs::Inputs;
use super::replicas::{Replicas, Runner};
use crate::exit::{Failure, Outcome};
use crate::memory::available_bytes;
use crate::plan::simulate::{Plan, TimelinePlan};
use straggler_analysis::{CriticalPath, Recorder};
use straggler_model::Time;
use straggler_report::numbers::{counted, grouped, memory};
use straggler_sim::Control;
use straggler_sim::observers::TimelineObserver;
use straggler_trace::Timeline;

/// A viewer shows about this many processes at most.
const MOST_SHOWN: u32 = 4096;
/// A message is a send, a receive and its arrival; each is recorded in 48 bytes, in lists that double.
const RECORDED_BYTES_A_MESSAGE: u64 = 3 * 48 * 2;

#[derive(Debug, Default)]
pub struct Details {
    pub finish: Option<Vec<Time>>,
    pub critical_path: Option<CriticalPath>,
    pub timeline: Option<Timeline>,
}

/// Refuses what could only fail after the run.
pub fn check(plan: &Plan, inputs: &Inputs) -> Outcome<()> {
    if let Some(timeline) = &plan.timeline {
        check_timeline(timeline, inputs.workload.processes())?;
    }
    if plan.explain {
        check_memory(inputs.workload.expected_messages(), available_bytes())?;
    }
    Ok(())
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

fn check_memory(messages: u64, available: Option<u64>) -> Outcome<()> {
    let needed = messages.saturating_mul(RECORDED_BYTES_A_MESSAGE);
    match available {
        Some(available) if needed > available => Err(Failure::usage(format!(
            "--explain records every event, here in up to {}, but {} are available: take fewer processes or cycles",
            memory(needed),
            memory(available)
        ))),
        _ => Ok(()),
    }
}

impl Details {
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
    let mut progress = |_| {};
    let mut control = Control::new(inputs.threads, runner.stop, &mut progress);
    let run = inputs.workload.run_observed(&simulation, &mut control, Recorder::new)?;
    Ok(CriticalPath::of(&run.observers, &simulation))
}

fn record(runner: &Runner<'_>, replica: u32, timeline: &TimelinePlan) -> Outcome<Timeline> {
    let inputs = runner.inputs;
    let noise = inputs.noise.as_ref().map(|noise| noise.of_replica(replica));
    let simulation = inputs.simulation(runner.plan, noise.as_ref());
    let mut progress = |_| {};
    let mut control = Control::new(inputs.threads, runner.stop, &mut progress);
    let observer = |_, _| TimelineObserver::new(&timeline.selection);
    let run = inputs.workload.run_observed(&simulation, &mut control, observer)?;
    Ok(TimelineObserver::join(run.observers))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn explaining_too_much_is_refused_before_it_hurts() {
        assert!(check_memory(1_000_000, Some(1 << 30)).is_ok());
        assert!(check_memory(1_000_000_000, Some(1 << 30)).is_err());
        assert!(check_memory(1_000_000_000, None).is_ok());
    }
}
