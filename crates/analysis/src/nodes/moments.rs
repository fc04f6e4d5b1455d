//! Whether noise hits several nodes at the same time.
//!
//! Time is cut into windows at least twice as long as the clock error. A node is hit in the windows in which it loses
//! the most time, at most a twentieth of them. The statistic is the number of pairs of nodes hit in the same window.
//! If nodes are independent, two that are hit in a and b of n windows coincide in a·b/n of them. Significance is
//! judged by shifting the windows of every node cyclically by a random distance, which keeps each node's rhythm and
//! breaks what nodes have in common.

use super::samples::add;
use super::{Cluster, Node};
use serde::Serialize;
use std::collections::BTreeMap;
use straggler_model::Time;
use straggler_model::philox::Stream;

/// The shortest window, unless the clocks need a longer one; also ten and a hundred times that.
const SHORTEST: Time = Time::from_ns(100_000);
const WIDTHS: [u64; 3] = [1, 10, 100];
const FEWEST_WINDOWS: usize = 100;
/// At most this many windows of all nodes together.
const MOST_WINDOWS: usize = 1 << 23;
/// At most this share of its windows count as hits of a node.
const HIT: f64 = 0.05;
const SHIFTS: usize = 999;
/// A p-value below this, corrected for the number of widths, is significant.
const LEVEL: f64 = 0.01;

/// Coincidence of noise on several nodes.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Moments {
    /// How far the clocks may differ.
    pub clock_error_ps: u64,
    /// One for each width of the windows.
    pub widths: Vec<Width>,
    pub together: bool,
    /// The source with the most time in windows in which at least half of the nodes were hit; none if there are no
    /// such windows.
    pub source: Option<String>,
}

/// Simultaneous hits, counted with one width of the windows.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Width {
    pub window_ps: u64,
    pub windows: usize,
    /// Pairs of nodes hit in the same window.
    pub pairs: u64,
    pub pairs_if_independent: f64,
    /// The most nodes that were hit in one window.
    pub most: u32,
    /// The probability of at least this many pairs by chance.
    pub p: f64,
}

impl Moments {
    /// None for fewer than two nodes with noise, or if the measurement is too short.
    pub fn new(cluster: &Cluster, clock_error: Time, seed: u64) -> Option<Moments> {
        let nodes: Vec<&Node> = cluster
            .nodes
            .iter()
            .filter(|node| node.cores.iter().any(|core| !core.detours.is_empty()))
            .collect();
        if nodes.len() < 2 {
            return None;
        }
        let least = SHORTEST.max(Time(clock_error.ps().saturating_mul(2)));
        let all: Vec<(Hits, Width)> = (0..)
            .zip(WIDTHS)
            .filter_map(|(index, times)| {
                let hits = Hits::new(&nodes, least.ps().saturating_mul(times))?;
                let width = hits.judged(seed, index);
                Some((hits, width))
            })
            .collect();
        let (hits, best) = all.iter().min_by(|(_, one), (_, other)| one.p.total_cmp(&other.p))?;
        let together = best.p * (all.len() as f64) < LEVEL;
        let source = if together { hits.source(&nodes, cluster) } else { None };
        let widths = all.iter().map(|(_, width)| *width).collect();
        Some(Moments { clock_error_ps: clock_error.ps(), widths, together, source })
    }

    /// The most significant width.
    pub fn clearest(&self) -> Option<&Width> {
        self.widths.iter().min_by(|one, other| one.p.total_cmp(&other.p))
    }
}

/// The windows in which each node is hit, ascending.
struct Hits {
    begin: u64,
    width: u64,
    windows: usize,
    of_nodes: Vec<Vec<u32>>,
}

impl Hits {
    /// Covers the time in which all cores of all nodes were measured.
    fn new(nodes: &[&Node], width: u64) -> Option<Hits> {
        let cores = || nodes.iter().flat_map(|node| &node.cores);
        let begin = cores().map(|core| core.began.ps()).max()?;
        let end = cores().map(|core| core.began.ps().saturating_add(core.length.ps())).min()?;
        let windows = usize::try_from(end.checked_sub(begin)? / width).ok()?;
        let windows = windows.min(MOST_WINDOWS / nodes.len());
        if windows < FEWEST_WINDOWS {
            return None;
        }
        let of_nodes = nodes.iter().map(|node| hit(&lost(node, begin, width, windows))).collect();
        Some(Hits { begin, width, windows, of_nodes })
    }

    fn judged(&self, seed: u64, index: u32) -> Width {
        let counts = self.counts(|_| 0);
        let pairs = pairs(&counts);
        let mut stream = Stream::new(seed, u32::MAX - 3, index, 0);
        let mut as_many = 0;
        for _ in 0..SHIFTS {
            let shifts: Vec<usize> =
                self.of_nodes.iter().map(|_| stream.below(self.windows as u64) as usize).collect();
            as_many += usize::from(self::pairs(&self.counts(|node| shifts[node])) >= pairs);
        }
        let hits: Vec<f64> = self.of_nodes.iter().map(|hit| hit.len() as f64).collect();
        let (sum, squares) = (hits.iter().sum::<f64>(), hits.iter().map(|hits| hits * hits).sum::<f64>());
        Width {
            window_ps: self.width,
            windows: self.windows,
            pairs,
            pairs_if_independent: (sum * sum - squares) / 2.0 / self.windows as f64,
            most: counts.iter().copied().max().unwrap_or(0),
            p: (as_many + 1) as f64 / (SHIFTS + 1) as f64,
        }
    }

    /// The number of nodes hit in each window, with the windows of each node shifted.
    fn counts(&self, shift: impl Fn(usize) -> usize) -> Vec<u32> {
        let mut counts = vec![0; self.windows];
        for (node, hit) in self.of_nodes.iter().enumerate() {
            let shift = shift(node);
            for &window in hit {
                counts[(window as usize + shift) % self.windows] += 1;
            }
        }
        counts
    }

    /// The source with the most time in windows in which at least half of the nodes were hit.
    fn source(&self, nodes: &[&Node], cluster: &Cluster) -> Option<String> {
        let half = nodes.len().div_ceil(2).max(2) as u32;
        let counts = self.counts(|_| 0);
        let mut lost: BTreeMap<u16, u64> = BTreeMap::new();
        for core in nodes.iter().flat_map(|node| &node.cores) {
            for detour in &core.detours {
                let at = (core.began + detour.start).ps().checked_sub(self.begin);
                let window = at.and_then(|at| counts.get((at / self.width) as usize));
                if window.is_some_and(|&count| count >= half) {
                    *lost.entry(detour.source).or_default() += detour.duration.ps();
                }
            }
        }
        let (&cause, _) = lost.iter().max_by_key(|&(_, time)| time)?;
        Some(cluster.cause(cause).to_string())
    }
}

fn pairs(counts: &[u32]) -> u64 {
    counts.iter().map(|&count| u64::from(count) * u64::from(count.saturating_sub(1)) / 2).sum()
}

/// Time lost in each window, summed over the cores of a node.
fn lost(node: &Node, begin: u64, width: u64, windows: usize) -> Vec<f64> {
    let mut lost = vec![0.0; windows];
    for core in &node.cores {
        for detour in &core.detours {
            let start = (core.began + detour.start).ps();
            let end = start.saturating_add(detour.duration.ps());
            if end > begin {
                add(&mut lost, width, start.saturating_sub(begin), end - begin);
            }
        }
    }
    lost
}

/// The windows with the most lost time: at most a twentieth, and only those with any.
fn hit(lost: &[f64]) -> Vec<u32> {
    let most = ((lost.len() as f64 * HIT) as usize).max(1);
    let mut order: Vec<u32> = (0..lost.len() as u32).filter(|&window| lost[window as usize] > 0.0).collect();
    order.sort_by(|&one, &other| lost[other as usize].total_cmp(&lost[one as usize]));
    order.truncate(most);
    order.sort_unstable();
    order
}
