//! Resources of a simulation that runs in a job.

use crate::kernel::memory::{Demand, LONG_SECONDS, available_bytes, in_words, seconds_for};
use crate::kernel::{Console, Failure, Outcome, devices, refuse_missing_folder};
use crate::simulate::details::check_timeline;
use crate::simulate::inputs::Inputs;
use crate::simulate::plan::{Plan, WorkloadPlan};
use crate::simulate::replicas::Replica;
use std::path::Path;
use straggler_report::numbers::{counted, memory};
use straggler_schedule::goal;
use straggler_sim::Workload;
use straggler_sim::replicas::is_small;

/// Memory per byte of a stream: a call takes 6 to 9 bytes there, and up to 150 in memory (call, operation and
/// instruction).
const TRACE_IN_MEMORY: u64 = 20;

/// Reads and checks all inputs like a run, and returns the memory of each rank of a job with this many threads.
pub fn demand(plan: &Plan, threads: u32, console: &Console) -> Outcome<Demand> {
    let inputs = Inputs::load(plan, console, None)?;
    if let Some(timeline) = &plan.timeline {
        check_timeline(timeline, inputs.workload.processes())?;
    }
    plan.report.iter().try_for_each(|path| refuse_missing_folder(path))?;
    inputs.warnings.iter().for_each(|warning| console.warn(warning));
    let workload = &inputs.workload.workload;
    let simulation = inputs.simulation(plan);
    let run = if plan.explain {
        simulation.recorded_memory_bytes(workload)
    } else {
        simulation.memory_bytes(workload)
    };
    Ok(with_workload(run, workload, plan, threads))
}

/// The memory of a run by rank. Small runs are not divided: every rank runs one replica per thread.
fn with_workload(run: u64, workload: &Workload, plan: &Plan, threads: u32) -> Demand {
    let schedule = match workload {
        Workload::Graph(graph) => graph.memory_bytes(),
        _ => 0,
    };
    let trace = match &plan.workload {
        WorkloadPlan::Trace(request) => bytes_on_disk(&request.path).saturating_mul(TRACE_IN_MEMORY),
        _ => 0,
    };
    if is_small(workload.processes()) {
        let beside = u64::from(threads).min(plan.replicas.len() as u64);
        let each = run.saturating_mul(beside).saturating_add(schedule).saturating_add(trace);
        return Demand { spread_bytes: 0, each_bytes: each };
    }
    let is_divided = match &plan.workload {
        WorkloadPlan::File(path) => {
            plan.checkpoints.is_none() && goal::binary_ranks(path).is_ok_and(|ranks| ranks.is_some())
        }
        _ => true,
    };
    let (shared, whole) = if is_divided { (schedule, 0) } else { (0, schedule) };
    // Messages that arrive while a thread waits for the others are buffered a second time.
    let run = if threads > 1 { run.saturating_add(run / 3) } else { run };
    Demand { spread_bytes: run.saturating_add(shared), each_bytes: trace.saturating_add(whole) }
}

/// The size of a file, or of all files in a folder.
fn bytes_on_disk(path: &Path) -> u64 {
    let length = |path: &Path| std::fs::metadata(path).map_or(0, |about| about.len());
    match std::fs::read_dir(path) {
        Ok(entries) => entries.flatten().map(|entry| length(&entry.path())).fold(0, u64::saturating_add),
        Err(_) => length(path),
    }
}

/// The fixed cost of a replica, in messages.
const MESSAGES_TO_BEGIN: f64 = 200.0;

/// Fails if the results of the replicas would not fit into memory, and announces a long run time.
pub fn check(plan: &Plan, inputs: &Inputs, console: &Console) -> Outcome<()> {
    let replicas = plan.replicas.len() as u64;
    refuse_too_many(replicas, available_bytes())?;
    let messages = inputs.workload.workload.messages() as f64 + MESSAGES_TO_BEGIN;
    let time = seconds_for(messages * replicas as f64, inputs.threads);
    // GPUs are about a hundred times as fast, but their speed is not known in advance.
    if time > LONG_SECONDS && !devices::is_there(plan.device)? {
        let count = counted(replicas, "replica", "replicas");
        let shorter =
            if replicas > 1 { "fewer --replicas or processes" } else { "fewer processes or cycles" };
        let time = in_words(time);
        console.warn(&format!("{count} will take about {time} (rough estimate): {shorter} reduce it"));
    }
    Ok(())
}

fn refuse_too_many(replicas: u64, available: Option<u64>) -> Outcome<()> {
    // Room for the result of each replica and its line of the answer.
    let needed = replicas.saturating_mul(4 * size_of::<Replica>() as u64);
    match available.filter(|&available| needed > available) {
        Some(available) => Err(Failure::usage(format!(
            "the results of {} take about {}, but {} are available: use fewer --replicas, or run a study, \
             which stores only their makespans",
            counted(replicas, "replica", "replicas"),
            memory(needed),
            memory(available)
        ))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_that_do_not_fit_are_refused() {
        let text = refuse_too_many(4_000_000_000, Some(64 << 30)).unwrap_err().error.to_string();
        assert!(text.contains("4,000,000,000 replicas") && text.contains("64.0 GiB are available"), "{text}");
        assert!(refuse_too_many(1000, Some(64 << 30)).is_ok() && refuse_too_many(u64::MAX, None).is_ok());
    }
}
