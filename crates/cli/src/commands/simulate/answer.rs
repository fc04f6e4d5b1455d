//! The result of `simulate` as one object: the JSON that other programs rely on.

use super::Findings;
use super::inputs::Inputs;
use super::replicas::Replicas;
use super::stuck::StuckAnswer;
use crate::commands::drawn_latency::LatencyAnswer;
use crate::commands::gpu::GpuAnswer;
use crate::memory::peak_rss_bytes;
use crate::on_cluster::Exchange;
use crate::plan::simulate::Plan;
use serde::{Deserialize, Serialize};
use straggler_analysis::CriticalPath;
use straggler_model::stats::{median_in_place, slowdown};
use straggler_model::units::{limit_in_words, write_limit, write_per_byte, write_time};
use straggler_model::{Link, Network, Time};

#[derive(Debug, Serialize)]
pub struct Answer {
    pub processes: u32,
    /// Of one run.
    pub messages: u64,
    pub makespan_ps: u64,
    pub finish_ps: Spread,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quiet_makespan_ps: Option<u64>,
    /// T / T0 - 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slowdown: Option<f64>,
    pub engine: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine_reason: Option<&'static str>,
    pub no_lookahead: bool,
    /// What GPUs ran of the replicas.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<GpuAnswer>,
    pub threads: usize,
    pub seed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replica_makespan_ps: Option<Spread>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub replicas: Vec<ReplicaAnswer>,
    /// Simulation only, of all replicas; loading and the run without noise are not in it.
    pub wall_seconds: f64,
    pub load_seconds: f64,
    pub messages_per_second: f64,
    pub peak_rss_bytes: Option<u64>,
    /// What the ranks of an MPI job told each other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<Exchange>,
    pub workload: String,
    /// As `--collective` takes it, with the algorithm that was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collective: Option<String>,
    pub network: NetworkAnswer,
    /// What messages draw their latencies from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<LatencyAnswer>,
    pub noise: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stuck: Option<StuckAnswer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub critical_path: Option<CriticalPath>,
    pub warnings: Vec<String>,
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

/// A network and its parameters, written so that `--network` reads them.
#[derive(Debug, Serialize, Deserialize)]
pub struct NetworkAnswer {
    pub name: String,
    #[serde(flatten)]
    pub base: LinkAnswer,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<LevelAnswer>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct LevelAnswer {
    pub name: String,
    #[serde(flatten)]
    pub link: LinkAnswer,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct LinkAnswer {
    #[serde(rename = "L")]
    pub latency: String,
    #[serde(rename = "os")]
    pub send_overhead: String,
    #[serde(rename = "or")]
    pub recv_overhead: String,
    #[serde(rename = "g")]
    pub gap: String,
    #[serde(rename = "G")]
    pub gap_per_byte: String,
    #[serde(rename = "O")]
    pub overhead_per_byte: String,
    #[serde(rename = "S")]
    pub eager_limit: String,
}

const NO_LOOKAHEAD: &str = "the lookahead is 0 (o_s + L, and the acknowledgement where messages exceed S), \
                            so only the sequential engine is exact";

impl Answer {
    pub(super) fn new(plan: &Plan, inputs: &Inputs, findings: &Findings) -> Answer {
        let replicas = &findings.replicas;
        let shown = replicas.shown();
        let several = replicas.runs.len() > 1;
        let quiet = findings.quiet_makespan;
        Answer {
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
            network: NetworkAnswer::of(&inputs.network),
            latency: inputs.latency.as_ref().map(|latency| latency.answer.clone()),
            noise: inputs.noise.as_ref().map_or_else(|| "no noise".into(), |noise| noise.describe()),
            stuck: replicas.stuck().map(StuckAnswer::of),
            critical_path: findings.details.critical_path.clone(),
            warnings: inputs.warnings.clone(),
        }
    }
}

fn each(plan: &Plan, replicas: &Replicas, quiet: Option<Time>) -> Vec<ReplicaAnswer> {
    let answer = |run: &super::replicas::Replica| ReplicaAnswer {
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

impl NetworkAnswer {
    pub fn of(network: &Network) -> NetworkAnswer {
        let level = |level: &straggler_model::network::Level| LevelAnswer {
            name: level.name.clone(),
            link: LinkAnswer::of(&level.link),
        };
        NetworkAnswer {
            name: network.name.clone(),
            base: LinkAnswer::of(&network.base),
            levels: network.levels.iter().map(level).collect(),
        }
    }

    /// As `--network` takes them: "L=5330ns,os=770ns,…".
    pub fn parameters(&self) -> String {
        let link = &self.base;
        format!(
            "L={},os={},or={},g={},G={},O={},S={}",
            link.latency,
            link.send_overhead,
            link.recv_overhead,
            link.gap,
            link.gap_per_byte,
            link.overhead_per_byte,
            link.eager_limit
        )
    }
}

impl LinkAnswer {
    pub fn of(link: &Link) -> LinkAnswer {
        LinkAnswer {
            latency: write_time(link.latency),
            send_overhead: write_time(link.send_overhead),
            recv_overhead: write_time(link.recv_overhead),
            gap: write_time(link.gap),
            gap_per_byte: write_per_byte(link.gap_per_byte),
            overhead_per_byte: write_per_byte(link.overhead_per_byte),
            eager_limit: write_limit(link.eager_limit),
        }
    }
}

/// "chic: L 5.330 µs, o 770 ns, …".
pub fn network_in_words(network: &Network) -> String {
    let link = &network.base;
    let overhead = if link.send_overhead == link.recv_overhead {
        format!("o {}", link.send_overhead)
    } else {
        format!("o_s {}, o_r {}", link.send_overhead, link.recv_overhead)
    };
    let per_byte = if link.overhead_per_byte.bits() == 0 {
        String::new()
    } else {
        format!(", O {}", link.overhead_per_byte)
    };
    let levels = match network.levels.len() {
        0 => String::new(),
        count => format!(", and {count} closer link classes"),
    };
    let parameters = format!(
        "L {}, {overhead}, g {}, G {}{per_byte}, S {}{levels}",
        link.latency,
        link.gap,
        link.gap_per_byte,
        limit_in_words(link.eager_limit)
    );
    if network.name.contains('=') { parameters } else { format!("{}: {parameters}", network.name) }
}
