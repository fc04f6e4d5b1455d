//! Nodes whose noise differs from that of the others, by the tests of `compare`.
//!
//! Each node is compared with all others together, by the time lost in each window and by the durations of its
//! detours, with three tests each. Bonferroni's correction over all tests of all nodes keeps the expected number of
//! false alarms at [`FALSE_ALARMS`] if windows and detours are independent. With many detours the slightest
//! difference is significant, so a difference must also be large enough to matter.
//!
//! One noisy node among few makes all others differ from the rest. So the node that differs most is removed first,
//! and the other differing nodes are tested again without it, until none differs.

use super::samples::{durations, lost_by_window, of_others};
use super::{Cluster, NodeId};
use crate::latency::rank_tests::{Aligned, AndersonDarling, KolmogorovSmirnov, MannWhitney};
use serde::Serialize;

/// The expected number of false alarms among all nodes, if all are alike.
pub const FALSE_ALARMS: f64 = 0.05;

/// Kolmogorov–Smirnov, Mann–Whitney and Anderson–Darling.
const TESTS: usize = 3;
/// Lost time by window, and durations of detours.
const SAMPLES: usize = 2;

/// Samples that differ by less than this, by Cliff's delta and by the distance of their distribution functions, are
/// alike.
const MATTERS: f64 = 0.2;
/// A node is noisier if it loses this many times as much as the median node.
const NOISIER: f64 = 1.2;

/// Nodes that differ from the others.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Outliers {
    pub tests: usize,
    /// A node differs if the p-value of a test is below this.
    pub level: f64,
    pub expected_false_alarms: f64,
    /// The noisiest first.
    pub nodes: Vec<Outlier>,
}

/// A node whose noise differs from that of the others.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Outlier {
    pub name: String,
    #[serde(skip)]
    pub node: NodeId,
    pub kind: Kind,
    /// The ratio to the median loss of the other nodes; none if that is 0.
    pub times_lost: Option<f64>,
    pub windows: Option<Compared>,
    pub durations: Option<Compared>,
}

/// How the noise of an outlier differs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    Noisier,
    Quieter,
    /// It loses about as much time, but through other detours.
    Different,
}

/// A node compared with the others by one sample.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Compared {
    pub kolmogorov_smirnov: KolmogorovSmirnov,
    pub mann_whitney: MannWhitney,
    /// None for fewer than five values.
    pub anderson_darling: Option<AndersonDarling>,
}

impl Compared {
    /// None if a sample is empty.
    pub fn new(others: &[f64], own: &[f64]) -> Option<Compared> {
        if others.is_empty() || own.is_empty() {
            return None;
        }
        let aligned = Aligned::of_values(&[others, own]);
        Some(Compared {
            kolmogorov_smirnov: KolmogorovSmirnov::new(&aligned, 0, 1),
            mann_whitney: MannWhitney::new(&aligned, 0, 1),
            anderson_darling: AndersonDarling::new(&aligned),
        })
    }

    /// The smallest p-value. That of Anderson–Darling is at least 0.001, which is above most corrected levels.
    pub fn p(&self) -> f64 {
        let anderson_darling = self.anderson_darling.map_or(1.0, |test| test.p);
        self.kolmogorov_smirnov.p.min(self.mann_whitney.p).min(anderson_darling)
    }

    /// The effect size, from 0 to 1.
    fn size(&self) -> f64 {
        self.kolmogorov_smirnov.distance.max(self.mann_whitney.delta.abs())
    }

    /// Whether the difference is significant at this level and large enough to matter.
    pub fn differs(&self, level: f64) -> bool {
        self.p() < level && self.size() >= MATTERS
    }
}

/// The samples of all nodes; those of removed nodes are empty.
struct Pool {
    samples: [Vec<Vec<f64>>; SAMPLES],
    level: f64,
}

impl Pool {
    /// The comparison of a node with the others, if it differs.
    fn differing(&self, node: NodeId) -> Option<[Option<Compared>; SAMPLES]> {
        let compare = |samples: &Vec<Vec<f64>>| Compared::new(&of_others(samples, node), &samples[node]);
        let both = self.samples.each_ref().map(compare);
        both.iter().flatten().any(|compared| compared.differs(self.level)).then_some(both)
    }

    fn leave_out(&mut self, node: NodeId) {
        self.samples.iter_mut().for_each(|samples| samples[node].clear());
    }
}

impl Outliers {
    /// Finds none among fewer than two nodes.
    pub fn new(cluster: &Cluster) -> Outliers {
        let count = cluster.nodes.len();
        let tests = if count < 2 { 0 } else { count * SAMPLES * TESTS };
        let level = FALSE_ALARMS / tests.max(1) as f64;
        let expected_false_alarms = if count < 2 { 0.0 } else { FALSE_ALARMS };
        let mut found = Outliers { tests, level, expected_false_alarms, nodes: Vec::new() };
        if count < 2 {
            return found;
        }
        let samples: [Vec<Vec<f64>>; SAMPLES] = [
            cluster.nodes.iter().map(lost_by_window).collect(),
            cluster.nodes.iter().map(durations).collect(),
        ];
        let lost: Vec<f64> = cluster.nodes.iter().map(|node| node.lost().0).collect();
        let mut pool = Pool { samples, level };
        let mut suspects: Vec<NodeId> = (0..count).collect();
        loop {
            let differing: Vec<(NodeId, [Option<Compared>; SAMPLES])> =
                suspects.iter().filter_map(|&node| Some((node, pool.differing(node)?))).collect();
            let size = |both: &[Option<Compared>; SAMPLES]| {
                both.iter().flatten().map(Compared::size).fold(0.0, f64::max)
            };
            // If two differ equally, the one that loses more.
            let strongest = differing.iter().max_by(|(one, a), (other, b)| {
                size(a).total_cmp(&size(b)).then(lost[*one].total_cmp(&lost[*other]))
            });
            let Some(&(node, [windows, durations])) = strongest else { break };
            let (kind, times_lost) = judged(&lost, node);
            let name = cluster.name(node).to_string();
            found.nodes.push(Outlier { name, node, kind, times_lost, windows, durations });
            pool.leave_out(node);
            suspects = differing.into_iter().map(|(other, _)| other).filter(|&other| other != node).collect();
        }
        let times = |outlier: &Outlier| outlier.times_lost.unwrap_or(f64::INFINITY);
        found.nodes.sort_by(|one, other| times(other).total_cmp(&times(one)));
        found
    }

    pub fn of_kind(&self, kind: Kind) -> impl Iterator<Item = &Outlier> {
        self.nodes.iter().filter(move |outlier| outlier.kind == kind)
    }
}

/// Classifies a node by its loss relative to the median of the others.
fn judged(lost: &[f64], node: NodeId) -> (Kind, Option<f64>) {
    let mut others: Vec<f64> =
        lost.iter().enumerate().filter(|&(other, _)| other != node).map(|(_, &lost)| lost).collect();
    others.sort_unstable_by(f64::total_cmp);
    let median = others.get((others.len().max(1) - 1) / 2).copied().unwrap_or(0.0);
    let own = lost.get(node).copied().unwrap_or(0.0);
    match () {
        () if own > NOISIER * median => (Kind::Noisier, (median > 0.0).then(|| own / median)),
        () if own < median / NOISIER => (Kind::Quieter, Some(own / median)),
        () => (Kind::Different, Some(own / median.max(f64::MIN_POSITIVE))),
    }
}
