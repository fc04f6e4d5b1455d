//! The result of `simulate` as one JSON object, which other programs rely on.

use crate::kernel::metrics::{MAKESPAN, Metric, SLOWDOWN};
use crate::kernel::prelude::*;
use crate::network::NetworkAnswer;
use crate::simulate::links::{self, KindLoad, LinkLoad};
use crate::{
    kernel::devices::GpuAnswer, kernel::gates::LimitAnswer, kernel::memory::peak_rss_bytes,
    latency::drawn::LatencyAnswer, mpi::cluster::Exchange, simulate::Findings, simulate::inputs::Inputs,
    simulate::plan::Plan, simulate::recorded::RecordedAnswer, simulate::replicas::Replicas,
    simulate::stuck::StuckAnswer,
};
use straggler_analysis::{CriticalPath, assess::ProgramPoint};
use straggler_model::stats::{CONFIDENCE, median_in_place, quantile_interval_of_sorted, slowdown};

#[derive(Debug, Serialize)]
pub struct SimulateAnswer {
    pub processes: u32,
    /// Messages in one run.
    pub messages: u64,
    pub makespan_ps: u64,
    pub finish_ps: Spread,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quiet_makespan_ps: Option<u64>,
    /// T / T0 - 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slowdown: Option<f64>,
    /// What a program pays that repeats the collective every millisecond.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeated: Option<ProgramPoint>,
    pub engine: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine_reason: Option<&'static str>,
    pub no_lookahead: bool,
    /// The replicas that ran on GPUs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<GpuAnswer>,
    pub threads: usize,
    pub seed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replica_makespan_ps: Option<Spread>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub replicas: Vec<ReplicaAnswer>,
    /// Simulation time of all replicas, without loading and the run without noise.
    pub wall_seconds: f64,
    pub load_seconds: f64,
    pub messages_per_second: f64,
    pub peak_rss_bytes: Option<u64>,
    /// Data exchanged by the ranks of an MPI job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<Exchange>,
    pub workload: String,
    /// In the syntax of `--collective`, with the chosen algorithm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collective: Option<String>,
    pub network: NetworkAnswer,
    /// The distribution that message latencies are drawn from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<LatencyAnswer>,
    /// What messages did to the links they share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topology: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placement: Option<String>,
    /// The makespan, had nothing waited for them; missing if the run is long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub without_waiting_ps: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub links: Option<Vec<LinkLoad>>,
    /// The same for each kind of link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_kinds: Option<Vec<KindLoad>>,
    pub noise: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stuck: Option<StuckAnswer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub critical_path: Option<CriticalPath>,
    pub warnings: Vec<String>,
    /// The recorded run, if the workload is a trace.
    #[serde(flatten)]
    pub recorded: Option<RecordedAnswer>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<LimitAnswer>,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct Spread {
    pub min: u64,
    pub median: u64,
    pub max: u64,
}

#[derive(Debug, Serialize)]
pub struct ReplicaAnswer {
    pub seed: u64,
    pub replica: u32,
    pub makespan_ps: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slowdown: Option<f64>,
}

const NO_LOOKAHEAD: &str = "the lookahead is 0 (o_s + L, and the acknowledgement where messages exceed S), \
                            so only the sequential engine is exact";

impl SimulateAnswer {
    pub fn new(plan: &Plan, inputs: &Inputs, findings: &Findings) -> SimulateAnswer {
        let replicas = &findings.replicas;
        let shown = replicas.shown();
        let several = replicas.runs.len() > 1;
        let quiet = findings.quiet_makespan;
        // A member of a cluster has only its own share of the finish times.
        let finish = findings.details.finish.as_ref().map(|share| share.finish.as_slice());
        let finish = finish.filter(|finish| finish.len() == inputs.workload.processes() as usize);
        let is_repeated = inputs.noise.is_none() && !several;
        let recorded = inputs.recorded.as_ref();
        SimulateAnswer {
            processes: inputs.workload.processes(),
            messages: shown.messages,
            makespan_ps: shown.makespan.ps(),
            finish_ps: Spread {
                min: shown.earliest.ps(),
                median: shown.median.ps(),
                max: shown.makespan.ps(),
            },
            quiet_makespan_ps: quiet.map(Time::ps),
            slowdown: quiet.map(|quiet| slowdown(shown.makespan, quiet)),
            repeated: findings.repeated.point().copied(),
            engine: shown.engine.name(),
            engine_reason: shown.no_lookahead.then_some(NO_LOOKAHEAD),
            no_lookahead: shown.no_lookahead,
            gpus: findings.gpus.clone(),
            threads: replicas.threads,
            seed: plan.seed,
            replica_makespan_ps: several.then(|| makespans(replicas)),
            replicas: if several || plan.replicas.start > 0 {
                each(plan, replicas, quiet)
            } else {
                Vec::new()
            },
            wall_seconds: findings.wall_seconds,
            load_seconds: findings.load_seconds,
            messages_per_second: replicas.messages() as f64 / findings.wall_seconds.max(1e-9),
            peak_rss_bytes: match &findings.exchange {
                Some(exchange) => exchange.peak_rss_bytes,
                None => peak_rss_bytes(),
            },
            cluster: findings.exchange.clone(),
            workload: inputs.workload.description.clone(),
            collective: inputs.workload.collective.clone(),
            network: NetworkAnswer::new(&inputs.network),
            latency: inputs.latency.as_ref().map(|latency| latency.answer.clone()),
            topology: inputs.fabric.as_ref().map(|fabric| fabric.topology.to_string()),
            placement: plan.placement.clone(),
            without_waiting_ps: findings.without_waiting.map(Time::ps),
            link_kinds: inputs.fabric.as_ref().map(|fabric| links::by_kind(fabric, &shown.loads)),
            links: inputs.fabric.as_ref().map(|fabric| links::loads(fabric, &shown.loads)),
            noise: inputs.noise.as_ref().map_or_else(|| "no noise".into(), |noise| noise.describe()),
            stuck: replicas.stuck().map(StuckAnswer::new),
            critical_path: findings.details.critical_path.clone(),
            warnings: inputs.warnings.clone(),
            recorded: recorded.map(|recorded| {
                RecordedAnswer::new(recorded, shown.makespan, finish.filter(|_| is_repeated))
            }),
            limits: Vec::new(),
        }
    }

    /// Makespan and slowdown, with their intervals if there are enough replicas.
    pub fn metrics(&self) -> Vec<Metric> {
        let mut times: Vec<Time> = self.replicas.iter().map(|run| Time(run.makespan_ps)).collect();
        times.sort_unstable();
        let interval = quantile_interval_of_sorted(&times, 0.5, CONFIDENCE);
        let metric = |kind, value: &dyn Fn(Time) -> f64| {
            let metric = Metric::new(kind, value(Time(self.makespan_ps)));
            let metric = metric.label("workload", &self.workload).on(self.processes);
            match interval {
                Some((low, high)) => metric.within(value(low), value(high)),
                None => metric,
            }
        };
        let mut metrics = vec![metric(&MAKESPAN, &Time::seconds)];
        if let Some(quiet) = self.quiet_makespan_ps {
            metrics.push(metric(&SLOWDOWN, &|time| slowdown(time, Time(quiet))));
        }
        metrics.extend(self.recorded.iter().flat_map(RecordedAnswer::metrics));
        metrics
    }
}

fn each(plan: &Plan, replicas: &Replicas, quiet: Option<Time>) -> Vec<ReplicaAnswer> {
    let answer = |run: &crate::simulate::replicas::Replica| ReplicaAnswer {
        seed: plan.seed,
        replica: run.replica,
        makespan_ps: run.makespan.ps(),
        slowdown: quiet.map(|quiet| slowdown(run.makespan, quiet)),
    };
    replicas.runs.iter().map(answer).collect()
}

fn makespans(replicas: &Replicas) -> Spread {
    let mut times: Vec<u64> = replicas.runs.iter().map(|run| run.makespan.ps()).collect();
    let min = times.iter().copied().min().unwrap_or(0);
    let max = times.iter().copied().max().unwrap_or(0);
    Spread { min, median: median_in_place(&mut times).unwrap_or(0), max }
}
