//! `straggler simulate`, validated.

use crate::kernel::exit::{Wanted, mistaken};
use crate::kernel::gates::{self, ChecksOption, refuse_unknown};
use crate::kernel::prelude::*;
use crate::simulate::args::{
    ModelOptions, NoiseOptions, OutputOptions, Simulate, TypedAcknowledgement, TypedEngine,
};
use crate::{
    args::Common, kernel::devices::TypedDevice, kernel::metrics, latency::drawn::LatencyOptions,
    simulate::collective::CollectiveRequest, simulate::links::ChangedLink, simulate::recorded,
    simulate::workload::ApplicationRequest, trace::traced::TraceRequest,
};
use std::{ops::Range, time::Duration};
use straggler_analysis::study::FIT;
use straggler_model::network::Factor;
use straggler_noise::NoiseSpec;
use straggler_sim::{Acknowledgement, EngineChoice, observers::Selection};

/// All settings of a simulation, before any file is opened.
#[derive(Debug)]
pub struct Plan {
    pub workload: WorkloadPlan,
    /// None: fitted to the trace.
    pub network: Option<String>,
    pub network_scale: Option<Factor>,
    pub topology: Option<String>,
    pub placement: Option<String>,
    pub changed_links: Vec<ChangedLink>,
    /// Where the fitted network goes.
    pub save_network: Option<PathBuf>,
    pub latency: LatencyOptions,
    pub noise: NoisePlan,
    pub seed: u64,
    /// The numbers of the replicas to run; never empty.
    pub replicas: Range<u32>,
    pub compare_quiet: bool,
    pub acknowledgement: Acknowledgement,
    pub receive_overlap: bool,
    pub engine: EngineChoice,
    /// Where replicas run.
    pub device: TypedDevice,
    /// None: all available cores.
    pub threads: Option<usize>,
    pub allow_leftovers: bool,
    pub checkpoints: Option<CheckpointPlan>,
    pub finish_times: Option<PathBuf>,
    pub timeline: Option<TimelinePlan>,
    pub explain: bool,
    pub output: Option<PathBuf>,
    pub report: Option<PathBuf>,
    pub checks: ChecksOption,
    /// Options that have no effect.
    pub warnings: Vec<String>,
}

/// Where and how often the state of a run is saved.
#[derive(Debug)]
pub struct CheckpointPlan {
    pub folder: PathBuf,
    pub every: Duration,
    /// Resume from the checkpoint in the folder.
    pub resume: bool,
}

/// Which part of the run goes into which file.
#[derive(Debug)]
pub struct TimelinePlan {
    pub path: PathBuf,
    pub is_compressed: bool,
    pub selection: Selection,
}

#[derive(Debug)]
pub enum WorkloadPlan {
    File(PathBuf),
    Trace(TraceRequest),
    Collective(CollectiveRequest),
    Application(ApplicationRequest),
}

/// All noise sources, and the offsets of processes into them.
#[derive(Debug)]
pub struct NoisePlan {
    pub spec: NoiseSpec,
    pub offsets: Option<PathBuf>,
    pub cosched: bool,
    pub wallclock: bool,
}

impl NoisePlan {
    /// The files it reads.
    pub fn files(&self) -> Vec<PathBuf> {
        self.spec.files().into_iter().chain(self.offsets.clone()).collect()
    }
}

impl Plan {
    pub fn new(typed: Simulate, common: &Common) -> Outcome<Plan> {
        let replicas = replicas(&typed.noise)?;
        let checkpoints = checkpoints(&typed, &replicas)?;
        refuse_with_topology(&typed.model, &typed.outputs)?;
        let collective = CollectiveRequest::of_simulate(&typed.collective)?;
        let options = &typed.collective;
        let application = ApplicationRequest::new(&typed.workload, options.processes, &options.data)?;
        let workload = match (typed.file, collective, application) {
            (Some(file), None, None) => {
                let request = TraceRequest::new(file, typed.replay.clone(), &typed.workload, &options.data);
                request.map_or_else(WorkloadPlan::File, WorkloadPlan::Trace)
            }
            (None, Some(collective), None) => WorkloadPlan::Collective(collective),
            (None, None, Some(application)) => WorkloadPlan::Application(application),
            (None, None, None) => {
                return Err(Failure::usage(
                    "nothing to simulate: give a schedule or a trace, --collective or --workload, and --network",
                ));
            }
            _ => {
                return Err(Failure::usage(
                    "give either a schedule or a trace, or --collective, or --workload: only one is simulated",
                ));
            }
        };
        let is_trace = matches!(workload, WorkloadPlan::Trace(_));
        if let WorkloadPlan::File(path) = &workload
            && typed.model.network.is_none()
        {
            // It may be meant as a trace.
            path.metadata().map_err(|fault| unreadable(path, &fault))?;
            mistaken(path, Wanted::Schedule).map_or(Ok(()), Err)?;
        }
        if typed.model.network.is_none() && !typed.model.fit && !is_trace {
            return Err(Failure::usage(
                "--network is missing: give a preset such as chic, a .toml file or parameters such as \
                 L=2500ns,o=1500ns,g=1000ns,G=6ns",
            ));
        }
        if !is_trace && typed.replay.is_given() {
            return Err(Failure::usage(
                "--copies, --begin, --progress and --drop-unmatched are for traces: remove them",
            ));
        }
        if !is_trace && typed.model.fit {
            return Err(Failure::usage("--fit needs a trace to fit the network to: give --network instead"));
        }
        // A network of straggler.toml does not contradict --fit.
        let fits = |name: &String| is_trace && (typed.model.fit || name == FIT);
        let network = typed.model.network.filter(|name| !fits(name));
        if typed.model.save_network.is_some() && (!is_trace || network.is_some()) {
            return Err(Failure::usage(
                "--save-network keeps a network that is fitted to a trace: remove it or --network",
            ));
        }
        if matches!(workload, WorkloadPlan::File(_))
            && (options.data.is_given() || typed.workload.only.is_some())
        {
            return Err(Failure::usage(
                "the communication of a schedule is fixed: remove --only, --algorithms, --idempotent and --reduction-cost",
            ));
        }
        if typed.model.network_scale.is_some() && typed.model.latency.is_given() {
            return Err(Failure::usage(
                "--network-scale does not change measured latencies: remove it or --latency-distribution",
            ));
        }
        let warnings = ineffective(&typed.noise, typed.model.latency.is_given());
        let compare_quiet = typed.noise.compare_quiet;
        let noise = NoisePlan::new(typed.noise);
        if compare_quiet && noise.spec.is_none() {
            return Err(Failure::usage("--compare-quiet has nothing to compare: add --noise"));
        }
        refuse_checks(&typed.checks, compare_quiet, is_trace)?;
        let outputs = &typed.outputs;
        refuse_other_extensions("--finish-times", outputs.finish_times.as_deref(), &["csv", "parquet"])?;
        refuse_other_extensions("--output", outputs.output.as_deref(), &["json"])?;
        Ok(Plan {
            workload,
            network,
            save_network: typed.model.save_network,
            network_scale: typed.model.network_scale,
            topology: typed.model.topology,
            placement: typed.model.placement,
            changed_links: typed.model.degrade.into_iter().chain(typed.model.fail).collect(),
            latency: typed.model.latency,
            noise,
            seed: common.seed,
            replicas,
            compare_quiet,
            acknowledgement: acknowledgement(typed.model.rendezvous_ack),
            receive_overlap: typed.model.receive_overlap,
            engine: engine(typed.model.engine),
            device: typed.model.device.device,
            threads: common.threads.map(Into::into),
            allow_leftovers: typed.model.allow_leftovers,
            checkpoints,
            timeline: timeline(&typed.outputs)?,
            finish_times: typed.outputs.finish_times,
            explain: typed.outputs.explain,
            output: typed.outputs.output,
            report: typed.report.report,
            checks: typed.checks,
            warnings,
        })
    }
}

impl NoisePlan {
    fn new(typed: NoiseOptions) -> NoisePlan {
        let sources = typed.noise.into_iter().flat_map(|spec| spec.sources).collect();
        NoisePlan {
            spec: NoiseSpec { sources },
            offsets: typed.noise_offsets,
            cosched: typed.cosched,
            wallclock: typed.wallclock,
        }
    }
}

/// Rejects what cannot take a topology yet.
fn refuse_with_topology(model: &ModelOptions, outputs: &OutputOptions) -> Outcome<()> {
    let refused = [
        (model.device.device == TypedDevice::Gpu, "--device gpu does not simulate shared links yet"),
        (outputs.explain, "--explain does not know the waiting for shared links yet"),
        (outputs.timeline.is_some(), "--timeline does not show the waiting for shared links yet"),
    ];
    match refused.into_iter().find(|(given, _)| *given && model.topology.is_some()) {
        Some((_, why)) => Err(Failure::usage(format!("{why}: remove it or --topology"))),
        None => Ok(()),
    }
}

fn refuse_checks(checks: &ChecksOption, compare_quiet: bool, is_trace: bool) -> Outcome<()> {
    refuse_unknown(checks, if is_trace { recorded::KINDS } else { metrics::OF_SIMULATE })?;
    match checks.limits.fail_if.iter().find(|limit| limit.metric == metrics::SLOWDOWN.name && !compare_quiet)
    {
        Some(limit) => Err(gates::refused(
            limit,
            "the slowdown is not known without a run without noise: add --compare-quiet",
        )),
        None => Ok(()),
    }
}

/// Rejects unknown extensions. Names without one are accepted: pipes and devices have none.
fn refuse_other_extensions(option: &str, path: Option<&Path>, known: &[&str]) -> Outcome<()> {
    let Some(path) = path else { return Ok(()) };
    let Some(extension) = path.extension() else { return Ok(()) };
    if known.iter().any(|one| extension.eq_ignore_ascii_case(one)) {
        return Ok(());
    }
    let known: Vec<String> = known.iter().map(|one| format!(".{one}")).collect();
    let (path, known) = (path.display(), known.join(" or "));
    Err(Failure::usage(format!("{option} {path}: unknown extension; use {known}")))
}

fn timeline(typed: &OutputOptions) -> Outcome<Option<TimelinePlan>> {
    let ranks = typed.timeline_ranks.as_ref().map_or_else(Vec::new, |ranks| ranks.0.clone());
    let (from, to) = typed.timeline_range.map_or((Time::ZERO, Time::NEVER), |range| (range.from, range.to));
    let Some(path) = typed.timeline.clone() else { return Ok(None) };
    let name = path.to_string_lossy().to_lowercase();
    let is_compressed = name.ends_with(".json.gz");
    if !is_compressed && !name.ends_with(".json") {
        return Err(Failure::usage(format!(
            "--timeline {}: timelines are Chrome trace events for ui.perfetto.dev: use a name that ends in .json or .json.gz",
            path.display()
        )));
    }
    Ok(Some(TimelinePlan { path, is_compressed, selection: Selection { ranks, from, to } }))
}

fn checkpoints(typed: &Simulate, replicas: &Range<u32>) -> Outcome<Option<CheckpointPlan>> {
    let options = &typed.checkpoints;
    let Some(folder) = options.checkpoint.clone() else { return Ok(None) };
    if replicas.len() > 1 {
        return Err(Failure::usage(
            "--checkpoint is for one long run: remove --replicas, or run a study, which saves every finished run",
        ));
    }
    if typed.outputs.explain || typed.outputs.timeline.is_some() {
        return Err(Failure::usage(
            "--checkpoint does not save what --explain and --timeline record: remove one of them",
        ));
    }
    if typed.model.engine == TypedEngine::Reference {
        return Err(Failure::usage(
            "the reference engine has no checkpoints: remove --engine or --checkpoint",
        ));
    }
    if typed.model.device.device == TypedDevice::Gpu {
        return Err(Failure::usage("runs on a GPU have no checkpoints: remove --device gpu or --checkpoint"));
    }
    let every = Duration::from_nanos(options.checkpoint_every.ps() / 1000);
    Ok(Some(CheckpointPlan { folder, every, resume: options.resume }))
}

fn replicas(typed: &NoiseOptions) -> Outcome<Range<u32>> {
    match typed.replica {
        None => Ok(0..typed.replicas),
        Some(u32::MAX) => Err(Failure::usage("--replica: the largest value is 4294967294")),
        Some(replica) => Ok(replica..replica + 1),
    }
}

/// Options that have no effect because another one is missing.
fn ineffective(typed: &NoiseOptions, draws_latencies: bool) -> Vec<String> {
    let quiet = typed.noise.iter().all(NoiseSpec::is_none);
    let several = typed.replicas > 1;
    let conditions = [
        (typed.cosched && quiet, "--cosched has no effect without --noise"),
        (typed.noise_offsets.is_some() && quiet, "--noise-offsets has no effect without --noise"),
        (typed.wallclock && quiet, "--wallclock has no effect without --noise"),
        (
            several && quiet && !draws_latencies,
            "without --noise or --latency-distribution all replicas are the same",
        ),
        (
            several && !draws_latencies && typed.noise_offsets.is_some(),
            "with --noise-offsets all replicas are the same",
        ),
    ];
    conditions.into_iter().filter(|(holds, _)| *holds).map(|(_, text)| text.to_string()).collect()
}

fn acknowledgement(typed: TypedAcknowledgement) -> Acknowledgement {
    match typed {
        TypedAcknowledgement::Latency => Acknowledgement::Latency,
        TypedAcknowledgement::Fixed(time) => Acknowledgement::Fixed(time),
    }
}

fn engine(typed: TypedEngine) -> EngineChoice {
    match typed {
        TypedEngine::Auto => EngineChoice::Auto,
        TypedEngine::Reference => EngineChoice::Reference,
        TypedEngine::Windowed => EngineChoice::Windowed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use clap::Parser;

    fn plan(line: &str) -> Outcome<Plan> {
        let words = ["straggler", "simulate"].into_iter().chain(line.split(' '));
        let cli = Cli::try_parse_from(words).unwrap();
        match cli.command {
            Command::Simulate(typed) => Plan::new(*typed, &cli.common),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn noise_adds_up() {
        let plan = plan(
            "a.goal --network chic --noise periodic:period=1ms,duration=1us --noise b.txt+none+trace:file=c.txt --replicas 3",
        )
        .unwrap();
        assert_eq!(plan.noise.spec.sources.len(), 3);
        assert_eq!(plan.replicas, 0..3);
        assert!(plan.warnings.is_empty());
    }

    #[test]
    fn only_a_trace_can_be_fitted() {
        assert!(plan("a.goal --fit").is_err());
        let line = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/traces/halo --fit");
        assert_eq!(plan(line).unwrap().network, None);
        assert_eq!(plan(&line.replace("--fit", "--network fit")).unwrap().network, None);
    }

    #[test]
    fn one_replica_alone() {
        assert_eq!(plan("a.goal --network chic --replica 7").unwrap().replicas, 7..8);
    }

    #[test]
    fn what_has_no_effect_is_said() {
        let plan = plan("a.goal --network chic --cosched --replicas 2").unwrap();
        assert_eq!(plan.warnings.len(), 2, "{:?}", plan.warnings);
    }

    #[test]
    fn comparing_needs_noise() {
        assert!(plan("a.goal --network chic --compare-quiet").is_err());
        assert!(plan("a.goal --network chic --compare-quiet --noise none").is_err());
        let gated = "a.goal --network chic --noise chic --fail-if slowdown>2x";
        assert!(plan(gated).unwrap_err().error.to_string().contains("add --compare-quiet"));
        assert!(plan(&format!("{gated} --compare-quiet")).is_ok());
    }
}
