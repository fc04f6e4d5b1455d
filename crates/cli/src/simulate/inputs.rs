//! The inputs of a plan: reads files and draws traces. Later stages do not see command-line text.

use crate::kernel::devices::threads;
use crate::kernel::{Console, Exit, Failure, Outcome};
use crate::latency::drawn;
use crate::latency::drawn::LoadedLatency;
use crate::mpi::cluster::fingerprint;
use crate::network::{NetworkAnswer, fitted, load_network, network_file, scaled};
use crate::noise::spec::LoadedNoise;
use crate::simulate::checkpoints::Identity;
use crate::simulate::plan::{Plan, WorkloadPlan};
use crate::simulate::recorded::Recorded;
use crate::simulate::workload::build::Named;
use crate::simulate::{collective, links, workload};
use crate::trace::traced::{self, Replayed};
use serde::Serialize;
use std::path::PathBuf;
use straggler_model::Network;
use straggler_schedule::{Graph, goal};
use straggler_sim::{Fabric, Simulation};

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
        let load = |text: &str| links::load(text, &network, workload.processes(), plan.replicas.len());
        let fabric = plan.topology.as_deref().map(load).transpose()?;
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
    let mut files: Vec<PathBuf> =
        workload.into_iter().chain(network).chain(topology).chain(plan.noise.files()).collect();
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
