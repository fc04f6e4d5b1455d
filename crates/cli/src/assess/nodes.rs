//! `straggler mpi assess`, from the measurements of the processes to the report, also against an earlier assessment
//! (`--baseline`). This part does not need MPI.

pub mod findings;
pub mod kept;
pub mod page;
#[cfg(test)]
pub mod tests;

pub use crate::assess::nodes::kept::read;
use crate::kernel::memory::{available_bytes, refuse_too_much, seconds_for};
use crate::kernel::pages::{Finding, FindingKind, make_folder};
use crate::kernel::prelude::*;
use crate::network::{NetworkAnswer, load_network};
use crate::{
    args::Common, kernel::devices::threads, kernel::meter::Stages, mpi::assess::AssessNodes as Typed,
    noise::measure, simulate::stuck::stuck_failure,
};
use straggler_analysis::nodes::{
    Cluster, Costs, Measurement, Moments, Outliers, Question, Speeds, Summary, Unit,
};
use straggler_analysis::{assess::AssessError, nodes::baseline::Compare};
use straggler_measure::sources::names::{OWN, SAMPLER};
use straggler_measure::{noise::Kernel, sources::Wish};
use straggler_model::Network;
use straggler_sim::{Replicas, Simulation};

#[derive(Debug)]
pub struct Plan {
    pub kernel: Kernel,
    pub length: Time,
    pub sources: Wish,
    /// An existing measurement.
    pub from: Option<PathBuf>,
    pub scales: Vec<u32>,
    pub bytes: u64,
    pub network: String,
    pub baseline: Option<PathBuf>,
    pub output: PathBuf,
    pub seed: u64,
    pub threads: Option<usize>,
}

impl Plan {
    pub fn new(typed: Typed, common: &Common) -> Outcome<Plan> {
        let measure::Plan { kernel, length, sources, .. } =
            measure::Plan::of_detours(typed.time, None, typed.sources)?;
        let Bytes(bytes) = typed.size;
        Ok(Plan {
            kernel,
            length,
            sources,
            from: typed.from,
            scales: typed.scale,
            bytes,
            network: typed.network,
            baseline: typed.baseline,
            output: typed.output,
            seed: common.seed,
            threads: common.threads.map(Into::into),
        })
    }
}

/// Names of the measurement itself in recordings: its threads, and the other processes of the job.
const OWN_NAMES: [&str; 4] = [OWN, SAMPLER, "straggler", "straggler-mpi"];

/// Bytes per simulated process of an allreduce with noise, including its start position in the noise.
const BYTES_A_PROCESS: u64 = 300;

/// Inputs read before the measurement.
pub struct Prepared {
    network: Network,
    earlier: Option<Earlier>,
}

/// Finds problems before the measurement that would otherwise show only after it.
pub fn prepare(plan: &Plan) -> Outcome<Prepared> {
    refuse_unwritable(&plan.output)?;
    kept::check(&plan.output)?;
    let network = load_network(&plan.network, None)?;
    let earlier = plan.baseline.as_deref().map(Earlier::read).transpose()?;
    // Fail before the measurement, which may take hours.
    make_folder(&plan.output)?;
    let largest = u64::from(plan.scales.iter().copied().max().unwrap_or(2));
    refuse_too_much(largest, largest.saturating_mul(BYTES_A_PROCESS), available_bytes())?;
    Ok(Prepared { network, earlier })
}

/// All results and their inputs.
pub struct Report {
    pub cluster: Cluster,
    pub hosts: Vec<String>,
    pub cores: usize,
    pub network: NetworkAnswer,
    pub costs: Costs,
    pub outliers: Outliers,
    pub speeds: Speeds,
    pub moments: Option<Moments>,
    pub summaries: Vec<Summary>,
    pub compared: Option<Compare>,
    pub baseline: Option<String>,
    pub clock_error: Time,
    pub notes: Vec<String>,
    pub seed: u64,
    pub bytes: u64,
}

impl Report {
    /// The scale of the job itself: one process on each measured core.
    pub fn job_scale(&self) -> u32 {
        job_scale(self.cores)
    }
}

fn job_scale(cores: usize) -> u32 {
    u32::try_from(cores).unwrap_or(u32::MAX).max(2)
}

/// Saves the measurement, analyses it, simulates, and reports.
pub fn conclude(plan: &Plan, prepared: Prepared, measured: Measurement, console: &Console) -> Outcome<()> {
    let hosts: Vec<String> = measured.parts.iter().map(|part| part.host.clone()).collect();
    if measured.parts.iter().all(|part| part.recording.cores.is_empty()) {
        return Err(Failure::bad_input("no core was measured: there is no result"));
    }
    if plan.from.is_none() {
        kept::keep(&measured, &plan.output)?;
        interrupt::check().map_err(|_| kept(plan, hosts.len()))?;
    }
    let stopped = |failure: Failure| match (failure.exit, &plan.from) {
        (Exit::Interrupted, None) => kept(plan, hosts.len()),
        _ => failure,
    };
    let report = analyse(plan, prepared, measured, hosts.clone(), console).map_err(stopped)?;
    let findings = findings::findings(&report);
    let json = Json::new(&report, &findings);
    let written = kept::write(&plan.output, &report, &findings, &json).map_err(stopped)?;
    if console.json {
        console.print_json(&json)?;
    } else {
        console.print(&page::summary(&report, &findings))?;
        console.note(&format!("The report is in {}: {}", plan.output.display(), written.join(", ")));
    }
    worse(&report)
}

fn kept(plan: &Plan, nodes: usize) -> Failure {
    let folder = quoted(&plan.output.display().to_string());
    Failure::new(
        Exit::Interrupted,
        anyhow::Error::msg(format!(
            "interrupted: the measurement of {} is in {folder}; assess it with: straggler mpi assess --from \
             {folder}, with the same other options",
            counted(nodes as u64, "node", "nodes")
        )),
    )
}

/// Fails with the exit code of a failed check if something is worse.
fn worse(report: &Report) -> Outcome<()> {
    let (Some(compared), Some(baseline)) = (&report.compared, &report.baseline) else { return Ok(()) };
    if compared.worse.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = compared.worse.iter().map(|node| node.name.as_str()).collect();
    let text = format!("worse than in {baseline}: {}", names.join(", "));
    Err(Failure::new(Exit::CheckFailed, anyhow::Error::msg(text)))
}

fn analyse(
    plan: &Plan,
    prepared: Prepared,
    measured: Measurement,
    hosts: Vec<String>,
    console: &Console,
) -> Outcome<Report> {
    let Prepared { network, earlier } = prepared;
    let (clock_error, notes) = (measured.clock_error, kept::notes(&measured));
    let cluster = Cluster::of_parts(&measured.parts, &OWN_NAMES);
    drop(measured);
    let cluster = if cluster.nodes.len() == 1 { cluster.by_core() } else { cluster };
    let speeds = Speeds::new(&cluster);
    let summaries: Vec<Summary> =
        (0..cluster.nodes.len()).filter_map(|node| Summary::new(&cluster, node, &speeds)).collect();
    let compared = match &earlier {
        Some(earlier) => Some(earlier.compare(&summaries, cluster.unit, &hosts)?),
        None => None,
    };
    Ok(Report {
        costs: simulate(plan, &cluster, &network, console)?,
        outliers: Outliers::new(&cluster),
        moments: Moments::new(&cluster, clock_error, plan.seed),
        cores: cluster.cores(),
        network: NetworkAnswer::new(&network),
        baseline: plan.baseline.as_ref().map(|path| path.display().to_string()),
        seed: plan.seed,
        bytes: plan.bytes,
        cluster,
        hosts,
        speeds,
        summaries,
        compared,
        clock_error,
        notes,
    })
}

fn simulate(plan: &Plan, cluster: &Cluster, network: &Network, console: &Console) -> Outcome<Costs> {
    let threads = threads(plan.threads);
    let stages = Stages::new(console, 1.0 / seconds_for(1.0, threads));
    let mut scales: Vec<u32> = plan.scales.iter().copied().chain([job_scale(cluster.cores())]).collect();
    scales.sort_unstable();
    scales.dedup();
    console.note(&format!(
        "simulating allreduces over up to {} processes with this noise; large scales take minutes",
        grouped(scales.last().copied().unwrap_or(0))
    ));
    let question = Question {
        runner: Replicas {
            stop: interrupt::flag(),
            advance: &|more| stages.advance(more),
            ..Replicas::new(Simulation::new(network), threads)
        },
        seed: plan.seed,
        cluster,
        scales: &scales,
        bytes: plan.bytes,
        begins: &|what, processes, ahead| {
            stages.begin(format!("{what}, {} processes", grouped(processes)), ahead);
        },
    };
    match question.answer() {
        Err(AssessError::Stuck { processes, stuck }) => {
            Err(stuck_failure(&format!("{} processes: ", grouped(processes)), &stuck))
        }
        answer => Ok(answer?),
    }
}

/// The report as JSON. A later assessment reads `nodes` as its baseline.
#[derive(Serialize)]
pub struct Json<'a> {
    format: &'static str,
    version: u32,
    straggler: &'static str,
    command: String,
    verdict: Vec<String>,
    findings: &'a [Finding],
    unit: Unit,
    hosts: &'a [String],
    nodes: &'a [Summary],
    network: &'a NetworkAnswer,
    bytes: u64,
    seed: u64,
    #[serde(flatten)]
    costs: &'a Costs,
    outliers: &'a Outliers,
    slow: &'a Speeds,
    moments: Option<&'a Moments>,
    clock_error_ps: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    compared: Option<&'a Compare>,
}

impl<'a> Json<'a> {
    fn new(report: &'a Report, findings: &'a [Finding]) -> Json<'a> {
        Json {
            format: FORMAT,
            version: VERSION,
            straggler: env!("CARGO_PKG_VERSION"),
            command: command_line(),
            verdict: FindingKind::Verdict.select(findings),
            findings,
            unit: report.cluster.unit,
            hosts: &report.hosts,
            nodes: &report.summaries,
            network: &report.network,
            bytes: report.bytes,
            seed: report.seed,
            costs: &report.costs,
            outliers: &report.outliers,
            slow: &report.speeds,
            moments: report.moments.as_ref(),
            clock_error_ps: report.clock_error.ps(),
            compared: report.compared.as_ref(),
        }
    }
}

const FORMAT: &str = "straggler cluster assessment";
const VERSION: u32 = 1;

/// The part of its JSON that is used.
#[derive(Debug, Deserialize)]
struct Written {
    format: Option<String>,
    version: Option<u32>,
    unit: Option<Unit>,
    #[serde(default)]
    hosts: Vec<String>,
    #[serde(default)]
    nodes: Vec<serde_json::Value>,
}

/// An earlier assessment, given by `--baseline`.
#[derive(Debug)]
pub struct Earlier {
    path: PathBuf,
    unit: Unit,
    hosts: Vec<String>,
    nodes: Vec<Summary>,
}

impl Earlier {
    fn read(path: &Path) -> Outcome<Earlier> {
        let text = std::fs::read_to_string(path).map_err(|fault| unreadable(path, &fault))?;
        let bad = |fault: String| Failure::bad_input(format!("{}: {fault}", path.display()));
        let other = "it is not an assess.json of `straggler mpi assess`";
        let written: Written =
            serde_json::from_str(&text).map_err(|fault| bad(format!("{other}: {fault}")))?;
        if written.format.as_deref() != Some(FORMAT) {
            return Err(bad(other.into()));
        }
        if written.version != Some(VERSION) {
            return Err(bad(format!("its version is not {VERSION}: assess again with this straggler")));
        }
        let node = |value| serde_json::from_value::<Summary>(value);
        let nodes = written.nodes.into_iter().map(node).collect::<Result<Vec<_>, _>>();
        let nodes = nodes.map_err(|fault| bad(format!("a node cannot be read: {fault}")))?;
        let unit = written.unit.unwrap_or_default();
        Ok(Earlier { path: path.to_path_buf(), unit, hosts: written.hosts, nodes })
    }

    /// Compares with it; fails if it is an assessment of something else.
    pub fn compare(&self, now: &[Summary], unit: Unit, hosts: &[String]) -> Outcome<Compare> {
        let bad = |fault: &str| Err(Failure::bad_input(format!("{}: {fault}", self.path.display())));
        if self.unit != unit {
            return bad("one assessment is of a single node, the other of several: they cannot be compared");
        }
        if unit == Unit::Core && self.hosts != hosts {
            return bad("it describes another node: use an assessment of this node");
        }
        let compared = Compare::new(&self.nodes, now);
        if compared.nodes == 0 {
            return bad("none of its nodes is part of this job: use an assessment of the same nodes");
        }
        Ok(compared)
    }
}
