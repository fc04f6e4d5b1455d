//! Everything a plan names, fetched: files are read, traces drawn. From here on nothing is typed text.

use super::answer::NetworkAnswer;
use super::workload::Named;
use crate::checkpoints::Identity;
use crate::commands::drawn_latency::{self, LoadedLatency};
use crate::commands::{application, collective, threads, traced};
use crate::console::Console;
use crate::exit::{Exit, Failure, Outcome};
use crate::on_cluster::fingerprint;
use crate::plan::simulate::{NoisePlan, Plan, WorkloadPlan};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use straggler_analysis::predict::fit;
use straggler_analysis::study::FIT;
use straggler_model::network::Factor;
use straggler_model::noise::{Injection, Phases, Repairs, Who, offsets};
use straggler_model::{Network, Time};
use straggler_report::numbers::{counted, grouped};
use straggler_schedule::{Graph, goal};
use straggler_sim::Simulation;
use straggler_trace::Trace;

#[derive(Debug)]
pub struct Inputs {
    pub workload: Named,
    pub network: Network,
    pub latency: Option<LoadedLatency>,
    pub noise: Option<LoadedNoise>,
    pub threads: usize,
    pub warnings: Vec<String>,
}

/// Noise with the phases of replica 0.
#[derive(Debug)]
pub struct LoadedNoise {
    injection: Injection,
}

impl Inputs {
    /// Reads what the plan names. A graph that is given has been read from its file.
    pub fn load(plan: &Plan, console: &Console, graph: Option<Graph>) -> Outcome<Inputs> {
        let given = plan.network.as_deref().map(|text| load_network(text, plan.network_scale)).transpose()?;
        let mut warnings = plan.warnings.clone();
        let (workload, trace) = load_workload(&plan.workload, graph, &mut warnings, console)?;
        let network = match (given, trace) {
            (Some(network), _) => network,
            (None, trace) => fitted(&trace.unwrap_or_default(), plan.network_scale, console)?,
        };
        let latency = drawn_latency::load(&plan.latency, &network, plan.seed)?;
        latency.iter().for_each(|latency| warnings.extend(latency.warnings.clone()));
        let noise = if plan.noise.spec.is_none() {
            None
        } else {
            Some(LoadedNoise::load(&plan.noise, plan.seed, workload.processes(), &mut warnings)?)
        };
        Ok(Inputs { workload, network, latency, noise, threads: threads(plan.threads), warnings })
    }

    /// Everything that the numbers of a run depend on, by name: a checkpoint belongs to nothing else.
    pub fn identity(&self, plan: &Plan) -> Outcome<Identity> {
        let files: Vec<String> =
            files(plan).iter().map(|path| format!("{:016x}", fingerprint(path).unwrap_or(0))).collect();
        let latency = self.latency.as_ref().map(|latency| in_one_line(&latency.answer)).transpose()?;
        let noise = self.noise.as_ref().map_or_else(|| "none".into(), LoadedNoise::describe);
        let all = [
            ("the version of straggler", env!("CARGO_PKG_VERSION").to_string()),
            ("the workload", self.workload.description.clone()),
            ("the number of processes", self.workload.processes().to_string()),
            ("the network", in_one_line(&NetworkAnswer::of(&self.network))?),
            ("the drawn latency", latency.unwrap_or_else(|| "none".into())),
            ("the noise", noise),
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
        simulation.acknowledgement = plan.acknowledgement;
        simulation.receive_overlap = plan.receive_overlap;
        simulation.engine = plan.engine;
        simulation
    }
}

fn in_one_line(value: &impl Serialize) -> Outcome<String> {
    serde_json::to_string(value).map_err(|error| Failure::new(Exit::CheckFailed, error))
}

/// The files that a plan names, as far as they are there.
pub fn files(plan: &Plan) -> Vec<PathBuf> {
    let workload = match &plan.workload {
        WorkloadPlan::File(path) => Some(path.clone()),
        WorkloadPlan::Trace(request) => Some(request.path.clone()),
        WorkloadPlan::Collective(_) | WorkloadPlan::Application(_) => None,
    };
    let network = plan.network.as_deref().map(network_file);
    let latency = [&plan.latency.latency_distribution, &plan.latency.overhead_distribution];
    let mut files: Vec<PathBuf> = workload.into_iter().chain(network).chain(plan.noise.files()).collect();
    files.extend(latency.into_iter().flatten().map(|file| file.path.clone()));
    files.retain(|path| path.exists());
    files
}

/// Where a network would be read from, if it is a file.
pub fn network_file(text: &str) -> PathBuf {
    text.split(',').next().unwrap_or(text).into()
}

/// A network by name, parameters or file.
pub fn load_network(text: &str, scale: Option<Factor>) -> Outcome<Network> {
    if text == FIT {
        return Err(Failure::usage(format!(
            "--network {FIT} is the network that is fitted from a trace, and there is no trace here: name a preset, \
             parameters or a file (`straggler network list`)"
        )));
    }
    scaled(Network::load(text)?, scale)
}

/// The network that a trace was recorded on.
fn fitted(trace: &Trace, scale: Option<Factor>, console: &Console) -> Outcome<Network> {
    let fit = fit(trace)
        .map_err(|fault| Failure::bad_input(format!("{fault}; or give the network with --network")))?;
    fit.assumed.iter().for_each(|assumed| console.note(&format!("assumed: {assumed}")));
    scaled(fit.network, scale)
}

fn scaled(network: Network, scale: Option<Factor>) -> Outcome<Network> {
    match scale {
        Some(factor) => Ok(network.scaled(factor)?),
        None => Ok(network),
    }
}

/// The workload, and the trace if it is one.
fn load_workload(
    plan: &WorkloadPlan,
    graph: Option<Graph>,
    warnings: &mut Vec<String>,
    console: &Console,
) -> Outcome<(Named, Option<Trace>)> {
    let named = match plan {
        WorkloadPlan::Collective(request) => {
            let chosen = collective::load(request)?;
            warnings.extend(chosen.warnings);
            Named::collective(&chosen.plan)
        }
        WorkloadPlan::Application(request) => Named::application(application::load(request)?),
        WorkloadPlan::Trace(request) => {
            let replayed = traced::load(request, console)?;
            replayed.tell(console);
            return Ok((Named::traced(replayed.playback, &request.path), Some(replayed.trace)));
        }
        WorkloadPlan::File(path) => {
            let graph = graph.map_or_else(|| goal::read_path(path).map(|loaded| loaded.graph), Ok)?;
            Named::graph(graph, path)
        }
    };
    Ok((named, None))
}

impl LoadedNoise {
    pub fn load(
        plan: &NoisePlan,
        seed: u64,
        processes: u32,
        warnings: &mut Vec<String>,
    ) -> Outcome<LoadedNoise> {
        let loaded = plan.spec.load(seed)?;
        for (path, noticed) in &loaded.files {
            warnings.extend(what_was_noticed(path, noticed));
        }
        for source in &loaded.sources {
            if let Who::Ranks(first, _) = source.who
                && first >= processes
            {
                let last = processes.saturating_sub(1);
                warnings.push(format!("noise `{}` disturbs nobody: ranks go from 0 to {last}", source.name));
            }
        }
        let phases = match &plan.offsets {
            Some(path) => Phases::Given(load_offsets(path, processes, warnings)?),
            None if plan.cosched => Phases::Together { seed, replica: 0 },
            None => Phases::Drawn { seed, replica: 0 },
        };
        Ok(LoadedNoise { injection: Injection::new(loaded.sources, phases, plan.wallclock)? })
    }

    pub fn injection(&self) -> &Injection {
        &self.injection
    }

    pub fn describe(&self) -> String {
        self.injection.to_string()
    }
}

/// One offset for every process; a process without one would silently begin at 0.
fn load_offsets(path: &Path, processes: u32, warnings: &mut Vec<String>) -> Outcome<Arc<[Time]>> {
    let offsets = offsets::read(path)?;
    let (found, wanted) = (offsets.len() as u64, u64::from(processes));
    if found < wanted {
        let (found, wanted) = (counted(found, "offset", "offsets"), counted(wanted, "process", "processes"));
        return Err(Failure::bad_input(format!(
            "{}: {found} for {wanted}: write one number of nanoseconds a line for every rank",
            path.display()
        )));
    }
    if found > wanted {
        let extra = grouped(found - wanted);
        warnings.push(format!("{}: the last {extra} offsets belong to no process", path.display()));
    }
    Ok(offsets.into())
}

/// What a reader of the result should know about a noise trace.
pub fn what_was_noticed(path: &Path, repairs: &Repairs) -> Vec<String> {
    repairs.warnings().iter().map(|warning| format!("{}: {warning}", path.display())).collect()
}
