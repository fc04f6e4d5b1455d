//! Simulates what nodes cost an allreduce: with the noise of all nodes, with the worst replaced by a median one, and
//! without one source on one node.
//!
//! Process r runs on core r modulo the number of measured cores, so with more processes than cores every node
//! represents several. All runs at one scale use the same random draws: only what was replaced or removed differs.

use super::layout::{Layout, Without};
use super::waits::Durations;
use super::{Cluster, NodeId};
use crate::assess::{AssessError, CauseId};
use crate::inflection::{LEAST_REPLICAS, Slowdown};
use serde::Serialize;
use straggler_model::Time;
use straggler_model::stats::CONFIDENCE;
use straggler_model::stats::{quantile_interval_of_sorted, quantile_of_sorted, slowdown};
use straggler_schedule::collectives::{Job, Operation};
use straggler_schedule::workloads::choose_default;
use straggler_sim::{Replicas, Run, Workload};

/// How many of the worst nodes are replaced, one variant each.
pub const REPLACED: [usize; 3] = [1, 2, 5];

/// All replicas together deliver at most this many messages, unless an interval needs more.
const MESSAGES: u64 = 16_000_000;
const MOST_REPLICAS: u64 = 40;

/// Pairs of a node and a source whose removal is simulated at each scale, and the number of nodes they are chosen
/// from.
const REMOVALS: usize = 4;
const SUSPECTS: usize = 8;

/// The question: what to simulate.
pub struct Question<'a> {
    /// Has no noise; the simulation adds it.
    pub runner: Replicas<'a>,
    pub seed: u64,
    pub cluster: &'a Cluster,
    /// Numbers of processes.
    pub scales: &'a [u32],
    pub bytes: u64,
    /// Called before each simulation with its description, the number of processes, and the estimated messages from
    /// here to the end.
    pub begins: &'a dyn Fn(&str, u32, u64),
}

impl std::fmt::Debug for Question<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Question").field("scales", &self.scales).finish_non_exhaustive()
    }
}

/// The results at every scale.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Costs {
    pub scales: Vec<Scale>,
}

/// The results at one number of processes.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Scale {
    pub processes: u32,
    pub replicas: u32,
    /// The duration of an allreduce without noise.
    pub quiet_ps: u64,
    pub slowdown: Slowdown,
    /// How long it would wait for each node if all others had no noise, by the formula of `waits.rs`, in ps.
    pub waits_ps: Vec<f64>,
    /// The nodes, by descending wait.
    #[serde(skip)]
    pub order: Vec<NodeId>,
    /// The node in the middle of that order, which replaces the worst nodes.
    #[serde(skip)]
    pub median: NodeId,
    pub replaced: Vec<Gain>,
    /// The most worthwhile first.
    pub removals: Vec<Removal>,
}

/// The gain from replacing or removing something.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Gain {
    /// Nodes whose noise is replaced or reduced.
    pub nodes: Vec<String>,
    /// The speedup: the median over pairs of runs with the same draws, and its interval.
    pub times: f64,
    pub low: f64,
    pub high: f64,
    /// The slowdown that remains.
    pub slowdown: Slowdown,
}

impl Gain {
    /// Whether the gain is significant and at least one percent.
    pub fn helps(&self) -> bool {
        self.low > 1.0 && self.times >= 1.01
    }
}

/// One node without one of its sources.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Removal {
    #[serde(skip)]
    pub node: NodeId,
    #[serde(skip)]
    pub cause: CauseId,
    pub source: String,
    /// The share of the node's time lost to the source.
    pub share: f64,
    #[serde(flatten)]
    pub gain: Gain,
}

/// A scale during its simulation.
struct AtScale<'a> {
    workload: &'a Workload,
    quiet: Time,
    replicas: u32,
    median: NodeId,
    /// Messages of all later scales.
    later: u64,
}

impl AtScale<'_> {
    /// Messages of this many more variants of this scale, plus all later scales.
    fn ahead(&self, variants: usize) -> u64 {
        let each = self.workload.messages().saturating_mul(self.replicas.into());
        each.saturating_mul(variants as u64).saturating_add(self.later)
    }
}

/// Variants simulated at each scale.
const VARIANTS: usize = 1 + REPLACED.len() + REMOVALS;

impl Question<'_> {
    pub fn answer(&self) -> Result<Costs, AssessError> {
        let durations: Vec<Durations> = self.cluster.nodes.iter().map(Durations::of_node).collect();
        let workloads = self.scales.iter().map(|&processes| allreduce(processes, self.bytes));
        let workloads = workloads.collect::<Result<Vec<Workload>, _>>()?;
        let messages = |workload: &Workload| {
            let variants = u64::from(replicas(workload)).saturating_mul(VARIANTS as u64);
            workload.messages().saturating_mul(variants)
        };
        let mut scales = Vec::with_capacity(workloads.len());
        for (done, workload) in (1..).zip(&workloads) {
            let later = workloads.iter().skip(done).map(messages).fold(0, u64::saturating_add);
            scales.push(self.scale(workload, later, &durations)?);
        }
        Ok(Costs { scales })
    }

    fn scale(&self, workload: &Workload, later: u64, durations: &[Durations]) -> Result<Scale, AssessError> {
        let processes = workload.processes();
        let quiet = finished(workload, self.runner.quiet(workload)?)?;
        let waits_ps = self.waits(processes, quiet, durations);
        let mut order: Vec<NodeId> = (0..waits_ps.len()).collect();
        order.sort_by(|&one, &other| waits_ps[other].total_cmp(&waits_ps[one]));
        let median = order.get(order.len() / 2).copied().unwrap_or(0);
        let at = AtScale { workload, quiet, replicas: replicas(workload), median, later };
        self.begin("an allreduce with the noise of all", &at, VARIANTS);
        let all = self.makespans(&at, None, &[])?;
        let replaced = self.replacements(&at, &all, &order)?;
        let removals = self.removals(&at, &all, &order)?;
        let slowdowns: Vec<f64> = all.iter().map(|&time| slowdown(time, quiet)).collect();
        let slowdown = Slowdown::new(&slowdowns).unwrap_or(QUIET);
        let (replicas, quiet_ps) = (at.replicas, quiet.ps());
        Ok(Scale { processes, replicas, quiet_ps, slowdown, waits_ps, order, median, replaced, removals })
    }

    fn begin(&self, what: &str, at: &AtScale<'_>, variants: usize) {
        (self.begins)(what, at.workload.processes(), at.ahead(variants));
    }

    /// How long an allreduce waits for each node alone, in ps.
    fn waits(&self, processes: u32, quiet: Time, durations: &[Durations]) -> Vec<f64> {
        let nodes = self.cluster.nodes.iter().zip(durations);
        nodes.map(|(node, durations)| durations.expected_delay(quiet, self.on(node, processes))).collect()
    }

    /// Processes on a node and on those it represents.
    fn on(&self, node: &super::Node, processes: u32) -> f64 {
        f64::from(processes) * node.cores.len() as f64 / self.cluster.cores().max(1) as f64
    }

    fn replacements(
        &self,
        at: &AtScale<'_>,
        all: &[Time],
        order: &[NodeId],
    ) -> Result<Vec<Gain>, AssessError> {
        let mut gains = Vec::new();
        // Replace at most half of the nodes, so the median node stays.
        for (done, count) in REPLACED.into_iter().filter(|&count| 2 * count <= order.len()).enumerate() {
            let replaced = order.get(..count).unwrap_or_default();
            self.begin("the worst replaced", at, VARIANTS - 1 - done);
            let left = self.makespans(at, None, replaced)?;
            let nodes = replaced.iter().map(|&node| self.cluster.name(node).to_string()).collect();
            gains.extend(gain(nodes, at.quiet, all, &left));
        }
        Ok(gains)
    }

    fn removals(
        &self,
        at: &AtScale<'_>,
        all: &[Time],
        order: &[NodeId],
    ) -> Result<Vec<Removal>, AssessError> {
        let mut removals = Vec::new();
        for (done, (node, cause)) in self.candidates(at, order).into_iter().enumerate() {
            self.begin("one source removed", at, REMOVALS - done);
            let left = self.makespans(at, Some((node, cause)), &[])?;
            let name = self.cluster.name(node).to_string();
            let Some(gain) = gain(vec![name], at.quiet, all, &left) else { continue };
            let (_, by_cause) = self.cluster.nodes[node].lost();
            let share = by_cause.iter().find(|&&(other, _)| other == cause).map_or(0.0, |&(_, share)| share);
            removals.push(Removal {
                node,
                cause,
                source: self.cluster.cause(cause).to_string(),
                share,
                gain,
            });
        }
        removals.sort_by(|one, other| other.gain.times.total_cmp(&one.gain.times));
        Ok(removals)
    }

    /// Sources on the worst nodes, by descending expected wait.
    fn candidates(&self, at: &AtScale<'_>, order: &[NodeId]) -> Vec<(NodeId, CauseId)> {
        let mut found = Vec::new();
        for &node in order.iter().take(SUSPECTS) {
            let one = &self.cluster.nodes[node];
            let processes = self.on(one, at.workload.processes());
            for cause in self.cluster.named_causes() {
                let wait = Durations::of_cause(one, cause).expected_delay(at.quiet, processes);
                if wait > 0.0 {
                    found.push((wait, node, cause));
                }
            }
        }
        found.sort_by(|(one, ..), (other, ..)| other.total_cmp(one));
        found.into_iter().take(REMOVALS).map(|(_, node, cause)| (node, cause)).collect()
    }

    /// The makespan of each replica. If a run outlasts the layout's horizon, all are repeated with a longer one.
    fn makespans(
        &self,
        at: &AtScale<'_>,
        without: Without,
        replaced: &[NodeId],
    ) -> Result<Vec<Time>, AssessError> {
        let mut horizon = HORIZON.max(Time(at.quiet.ps().saturating_mul(2)));
        loop {
            let layout = Layout::new(self.cluster, without, horizon)?;
            let (processes, seed, runner) = (at.workload.processes(), self.seed, &self.runner);
            let one = |replica: u32, threads: usize| {
                let noise = layout.injection(processes, replaced, at.median, (seed, replica));
                runner.run(at.workload, Some(&noise), threads)
            };
            let runs = runner.spread(processes, 0..at.replicas, one)?;
            let times =
                runs.into_iter().map(|run| finished(at.workload, run)).collect::<Result<Vec<_>, _>>()?;
            let longest = times.iter().copied().max().unwrap_or(Time::ZERO);
            if longest < horizon {
                return Ok(times);
            }
            horizon = Time(longest.ps().saturating_mul(2));
        }
    }
}

/// Runs are expected to be shorter than this.
const HORIZON: Time = Time::from_ns(100_000_000);

const QUIET: Slowdown = Slowdown { median: 0.0, low: 0.0, high: 0.0, largest: 0.0 };

fn replicas(workload: &Workload) -> u32 {
    (MESSAGES / workload.messages().max(1)).clamp(LEAST_REPLICAS.into(), MOST_REPLICAS) as u32
}

fn allreduce(processes: u32, bytes: u64) -> Result<Workload, AssessError> {
    let job = Job::new(processes, bytes);
    let built = choose_default(Operation::Allreduce, &job).build(Operation::Allreduce, &job);
    Ok(Workload::once(built?))
}

fn finished(workload: &Workload, run: Run) -> Result<Time, AssessError> {
    let processes = workload.processes();
    match run.outcome.stuck {
        Some(stuck) => Err(AssessError::Stuck { processes, stuck: Box::new(stuck) }),
        None => Ok(run.outcome.makespan()),
    }
}

fn gain(nodes: Vec<String>, quiet: Time, all: &[Time], left: &[Time]) -> Option<Gain> {
    let pairs = all.iter().zip(left);
    let mut ratios: Vec<f64> = pairs.map(|(all, left)| all.ps() as f64 / left.ps().max(1) as f64).collect();
    ratios.sort_unstable_by(f64::total_cmp);
    let times = quantile_of_sorted(&ratios, 0.5)?;
    let (low, high) = quantile_interval_of_sorted(&ratios, 0.5, CONFIDENCE)?;
    let slowdowns: Vec<f64> = left.iter().map(|&time| slowdown(time, quiet)).collect();
    Some(Gain { nodes, times, low, high, slowdown: Slowdown::new(&slowdowns)? })
}
