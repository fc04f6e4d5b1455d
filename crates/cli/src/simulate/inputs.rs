//! The inputs of a plan: reads files and draws traces, within the memory that a job has. Later stages do not see
//! command-line text.

use crate::kernel::devices::{self, threads};
use crate::kernel::memory::{Demand, LONG_SECONDS, available_bytes, in_words, seconds_for};
use crate::kernel::prelude::*;
use crate::latency::drawn::{self, LoadedLatency};
use crate::network::{NetworkAnswer, fitted, load_network, network_file, scaled};
use crate::simulate::plan::{Plan, WorkloadPlan};
use crate::simulate::workload::{self, Named};
use crate::simulate::{collective, links};
use crate::trace::traced::{self, Replayed};
use crate::{
    mpi::cluster::fingerprint, noise::file::LoadedNoise, simulate::checkpoints::Identity,
    simulate::details::check_timeline, simulate::recorded::Recorded, simulate::replicas::Replica,
};
use straggler_model::Network;
use straggler_schedule::{Graph, goal};
use straggler_sim::{Fabric, Simulation, Workload, replicas::is_small};

#[derive(Debug)]
pub struct Inputs {
    pub workload: Named,
    pub network: Network,
    pub fabric: Option<Fabric>,
    pub latency: Option<LoadedLatency>,
    pub noise: Option<LoadedNoise>,
    /// The recorded run, if the workload is a trace.
    pub recorded: Option<Recorded>,
    pub threads: usize,
    pub warnings: Vec<String>,
}

impl Inputs {
    /// Reads the inputs of the plan. `graph` is the schedule if it has already been read.
    pub fn load(plan: &Plan, console: &Console, graph: Option<Graph>) -> Outcome<Inputs> {
        let given = plan.network.as_deref().map(|text| load_network(text, plan.network_scale)).transpose()?;
        let mut warnings = plan.warnings.clone();
        let (workload, replayed) = load_workload(&plan.workload, graph, &mut warnings, console)?;
        let (network, fit) = match (given, &replayed) {
            (Some(network), _) => (network, None),
            (None, Some((_, replayed))) => {
                let fit = fitted(&replayed.trace)?;
                (scaled(fit.network.clone(), plan.network_scale)?, Some(fit))
            }
            (None, None) => return Err(Failure::usage("--network is missing")),
        };
        let fabric = links::load(plan, &network, workload.processes())?;
        let recorded = replayed.map(|(path, replayed)| Recorded::new(path, &replayed, fit));
        let latency = drawn::load(&plan.latency, &network, plan.seed, !plan.noise.spec.is_none())?;
        latency.iter().for_each(|latency| warnings.extend(latency.warnings.clone()));
        let noise = if plan.noise.spec.is_none() {
            None
        } else {
            Some(LoadedNoise::load(&plan.noise, plan.seed, workload.processes(), &mut warnings)?)
        };
        let threads = threads(plan.threads);
        Ok(Inputs { workload, network, fabric, latency, noise, recorded, threads, warnings })
    }

    /// All inputs that affect the result: a checkpoint is valid only for the same ones.
    pub fn identity(&self, plan: &Plan) -> Outcome<Identity> {
        let files: Vec<String> =
            files(plan).iter().map(|path| format!("{:016x}", fingerprint(path).unwrap_or(0))).collect();
        let latency = self.latency.as_ref().map(|latency| in_one_line(&latency.answer)).transpose()?;
        let all = [
            ("the version of straggler", env!("CARGO_PKG_VERSION").to_string()),
            ("the workload", format!("{:?}", plan.workload)),
            ("the number of processes", self.workload.processes().to_string()),
            ("the network", in_one_line(&NetworkAnswer::new(&self.network))?),
            ("the topology", plan.topology.clone().unwrap_or_else(|| "none".into())),
            ("degraded and failed links", format!("{:?}", plan.changed_links)),
            ("the placement", plan.placement.clone().unwrap_or_else(|| "cyclic".into())),
            ("the drawn latency", latency.unwrap_or_else(|| "none".into())),
            ("the noise", format!("{:?}", plan.noise)),
            ("the random seed", plan.seed.to_string()),
            ("the replica", plan.replicas.start.to_string()),
            ("--acknowledgement", format!("{:?}", plan.acknowledgement)),
            ("--receive-overlap", plan.receive_overlap.to_string()),
            ("what is in the input files", files.join(" ")),
        ];
        Ok(all.map(|(name, value)| (name.to_string(), value)).into())
    }

    /// The library's options for a run, with the noise of replica 0.
    pub fn simulation(&self, plan: &Plan) -> Simulation<'_> {
        let mut simulation = Simulation::new(&self.network);
        simulation.noise = self.noise.as_ref().map(LoadedNoise::injection);
        simulation.latency = self.latency.as_ref().map(|latency| &latency.drawn);
        simulation.fabric = self.fabric.as_ref();
        simulation.acknowledgement = plan.acknowledgement;
        simulation.receive_overlap = plan.receive_overlap;
        simulation.engine = plan.engine;
        simulation
    }
}

fn in_one_line(value: &impl Serialize) -> Outcome<String> {
    serde_json::to_string(value).map_err(|error| Failure::new(Exit::CheckFailed, error))
}

/// The files named by a plan that exist.
pub fn files(plan: &Plan) -> Vec<PathBuf> {
    let workload = match &plan.workload {
        WorkloadPlan::File(path) => Some(path.clone()),
        WorkloadPlan::Trace(request) => Some(request.path.clone()),
        WorkloadPlan::Collective(_) | WorkloadPlan::Application(_) => None,
    };
    let network = plan.network.as_deref().map(network_file);
    let latency = [&plan.latency.latency_distribution, &plan.latency.overhead_distribution];
    let topology = plan.topology.as_deref().map(PathBuf::from);
    let hosts = plan.placement.as_deref().and_then(links::file_of_hosts);
    let mut files: Vec<PathBuf> =
        workload.into_iter().chain(network).chain(topology).chain(hosts).chain(plan.noise.files()).collect();
    files.extend(latency.into_iter().flatten().map(|file| file.path.clone()));
    files.retain(|path| path.exists());
    files
}

/// The workload, and the replay of a trace if it is one.
fn load_workload(
    plan: &WorkloadPlan,
    graph: Option<Graph>,
    warnings: &mut Vec<String>,
    console: &Console,
) -> Outcome<(Named, Option<(PathBuf, Replayed)>)> {
    let named = match plan {
        WorkloadPlan::Collective(request) => {
            let chosen = collective::load(request)?;
            warnings.extend(chosen.warnings);
            Named::collective(&chosen.plan)
        }
        WorkloadPlan::Application(request) => Named::application(workload::load(request)?),
        WorkloadPlan::Trace(request) => {
            let replayed = traced::load(request, console)?;
            replayed.print_notes(console);
            let named = Named::traced(replayed.playback.clone(), &request.path);
            return Ok((named, Some((request.path.clone(), replayed))));
        }
        WorkloadPlan::File(path) => {
            let graph = graph.map_or_else(|| goal::read_path(path).map(|loaded| loaded.graph), Ok)?;
            Named::graph(graph, path)
        }
    };
    Ok((named, None))
}

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
