//! Pairs of processes: their matrix, clusters of similar pairs, and which property of a pair explains the clusters.

mod property;

pub use property::Property;

use super::Distribution;
use super::agreement::adjusted_mutual_information;
use serde::Serialize;
use std::collections::BTreeSet;
use straggler_model::Rank;
use straggler_model::latency::{Measurement, Outside, Pair, Series};
use straggler_model::stats::median_of;
use straggler_model::stats::robust::{self, deviation};

/// Findings on the pairs of one group.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Pairs {
    pub ranks: Vec<Rank>,
    pub pairs: Vec<PairFound>,
    /// From the fastest to the slowest.
    pub clusters: Vec<Cluster>,
    /// Properties that distinguish pairs, by descending agreement with the clusters; empty for a single cluster, or
    /// if it is unknown where processes ran.
    pub explanations: Vec<Explanation>,
    /// A property that all pairs share, such as "different nodes"; it explains no clusters.
    pub all_are: Option<&'static str>,
    pub slow_processes: Vec<SlowProcess>,
    pub slow_pairs: Vec<SlowPair>,
    /// How much the median of one pair typically changes from cycle to cycle, as a share.
    pub scatter: f64,
}

/// The typical latency from one process to another.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct PairFound {
    pub from: Rank,
    pub to: Rank,
    pub count: u64,
    /// The bound, if the median lies outside the bins.
    pub median_ps: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside: Option<Outside>,
    pub min_ps: f64,
    /// A position in [`Pairs::clusters`].
    pub cluster: usize,
}

/// Pairs whose medians lie close together.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Cluster {
    pub pairs: usize,
    /// The median of the pairs' medians, and the smallest and largest of them.
    pub median_ps: f64,
    pub low_ps: f64,
    pub high_ps: f64,
    /// Pairs whose median lies outside the bins and is replaced by its bound.
    pub outside: usize,
}

/// A property of pairs and its agreement with the clusters.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Explanation {
    pub property: Property,
    /// Adjusted mutual information: 1 if property and cluster determine each other, 0 for chance.
    pub agreement: f64,
    pub values: Vec<PropertyValue>,
}

impl Explanation {
    /// Whether property and cluster determine each other. The agreement is a sum of rounded terms.
    pub fn is_exact(&self) -> bool {
        self.agreement > 1.0 - 1e-9
    }
}

/// The pairs that share one value of a property, such as "same node".
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PropertyValue {
    pub name: &'static str,
    pub pairs: usize,
    /// The median of the pairs' medians, and the smallest and largest of them.
    pub median_ps: f64,
    pub low_ps: f64,
    pub high_ps: f64,
}

impl PropertyValue {
    /// Whether its pairs are all about equally fast.
    pub fn is_alike(&self) -> bool {
        self.high_ps <= self.low_ps * (1.0 + ALIKE)
    }
}

/// A process whose pairs are slower than similar ones.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct SlowProcess {
    pub rank: Rank,
    pub pairs: usize,
    /// How many times as long its pairs typically take as similar pairs.
    pub ratio: f64,
    /// Whether the ratio is a lower bound, because medians lie beyond the bins.
    pub at_least: bool,
}

/// A pair that is slower than similar ones.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct SlowPair {
    pub from: Rank,
    pub to: Rank,
    pub ratio: f64,
    /// Whether the ratio is a lower bound, because the median lies beyond the bins.
    pub at_least: bool,
}

/// Medians closer than this are alike, however significant the difference is.
const ALIKE: f64 = 0.05;
/// Gaps must also be wider than this multiple of the variation of one pair from cycle to cycle.
const SCATTERS: f64 = 4.0;
const MOST_CLUSTERS: usize = 8;
/// With at least this agreement, a property explains the clusters.
pub const EXPLAINS: f64 = 0.5;

impl Pairs {
    /// None for fewer than two pairs with trials.
    pub fn new(measurement: &Measurement, series: &[Series]) -> Option<Pairs> {
        let mut pairs: Vec<PairFound> = series.iter().filter_map(found).collect();
        if different(series) < 2 {
            return None;
        }
        let scatter = scatter(series);
        let clusters = cluster(&mut pairs, scatter);
        let mut ranks: Vec<Rank> = pairs.iter().flat_map(|pair| [pair.from, pair.to]).collect();
        ranks.sort_unstable();
        ranks.dedup();
        let explanations = explanations(measurement, &pairs, clusters.len());
        let all_are = all_are(measurement, &pairs);
        let residuals = smallest_residuals(measurement, &pairs);
        let slow_processes = slow_processes(&ranks, &pairs, &residuals, scatter);
        let slow_pairs = slow_pairs(&pairs, &residuals, &slow_processes, scatter);
        Some(Pairs { ranks, pairs, clusters, explanations, all_are, slow_processes, slow_pairs, scatter })
    }

    /// Whether there are two clusters, and the slower one consists exactly of the slow pairs and the pairs of slow
    /// processes.
    pub fn slow_ones_are_a_cluster(&self) -> bool {
        let is_slow = |pair: &PairFound| {
            let of = |process: &SlowProcess| process.rank == pair.from || process.rank == pair.to;
            let is = |slow: &SlowPair| (slow.from, slow.to) == (pair.from, pair.to);
            self.slow_processes.iter().any(of) || self.slow_pairs.iter().any(is)
        };
        self.clusters.len() == 2 && self.pairs.iter().all(|pair| is_slow(pair) == (pair.cluster == 1))
    }

    /// The property that explains the clusters, if one does.
    pub fn explanation(&self) -> Option<&Explanation> {
        self.explanations.first().filter(|best| best.agreement >= EXPLAINS)
    }
}

/// The number of pairs with trials; both directions count as one pair.
pub(super) fn different(series: &[Series]) -> usize {
    let filled = series.iter().filter(|one| !one.trials.is_empty()).filter_map(|one| one.labels.pair);
    filled.map(|Pair { from, to }| (from.min(to), from.max(to))).collect::<BTreeSet<_>>().len()
}

fn found(series: &Series) -> Option<PairFound> {
    let Pair { from, to } = series.labels.pair?;
    let distribution = Distribution::from_histogram(&series.trials)?;
    let outside = distribution.outside(0.5);
    let bound = outside.map(|outside| outside.bound().ps() as f64);
    let median_ps = bound.unwrap_or_else(|| distribution.median()).max(1.0);
    let (count, min_ps) = (distribution.count(), distribution.min_ps);
    Some(PairFound { from, to, count, median_ps, outside, min_ps, cluster: 0 })
}

/// How much the medians of a pair's cycles scatter on a logarithmic axis: the median over all pairs.
fn scatter(series: &[Series]) -> f64 {
    let of_pair = |series: &Series| {
        let known = series.cycles.iter().filter(|cycle| cycle.median_outside.is_none());
        let logs: Vec<f64> = known.map(|cycle| (cycle.median.ps().max(1) as f64).ln()).collect();
        (logs.len() >= 3).then(|| deviation(&logs))
    };
    median_of(series.iter().filter_map(of_pair).collect())
}

/// Cuts the sorted medians at every gap that is wide enough: single-linkage clustering. If that gives too many
/// clusters, only the widest gaps count.
fn cluster(pairs: &mut [PairFound], scatter: f64) -> Vec<Cluster> {
    let mut order: Vec<usize> = (0..pairs.len()).collect();
    order.sort_by(|&a, &b| pairs[a].median_ps.total_cmp(&pairs[b].median_ps));
    let gap = |place: usize| (pairs[order[place]].median_ps / pairs[order[place - 1]].median_ps).ln();
    let least = ALIKE.ln_1p().max(SCATTERS * scatter);
    let mut cuts: Vec<usize> = (1..order.len()).filter(|&place| gap(place) > least).collect();
    cuts.sort_by(|&a, &b| gap(b).total_cmp(&gap(a)));
    cuts.truncate(MOST_CLUSTERS - 1);
    cuts.sort_unstable();
    let starts = [0].into_iter().chain(cuts.iter().copied());
    let ends = cuts.iter().copied().chain([order.len()]);
    let ranges: Vec<(usize, usize)> = starts.zip(ends).collect();
    let clusters = ranges.iter().map(|&(start, end)| {
        let at = |place: usize| pairs[order[place]].median_ps;
        Cluster {
            pairs: end - start,
            median_ps: at((start + end - 1) / 2),
            low_ps: at(start),
            high_ps: at(end - 1),
            outside: order[start..end].iter().filter(|&&pair| pairs[pair].outside.is_some()).count(),
        }
    });
    let clusters: Vec<Cluster> = clusters.collect();
    for (number, &(start, end)) in ranges.iter().enumerate() {
        order[start..end].iter().for_each(|&pair| pairs[pair].cluster = number);
    }
    clusters
}

/// Properties by descending agreement; of equivalent ones, the simpler comes first.
fn explanations(measurement: &Measurement, pairs: &[PairFound], clusters: usize) -> Vec<Explanation> {
    if clusters < 2 {
        return Vec::new();
    }
    let labels: Vec<usize> = pairs.iter().map(|pair| pair.cluster).collect();
    let explained = |property: Property| {
        let names: Vec<&'static str> = pairs
            .iter()
            .map(|pair| property.between(measurement, pair.from, pair.to))
            .collect::<Option<_>>()?;
        let mut known = names.clone();
        known.sort_unstable();
        known.dedup();
        let number = |name: &&'static str| known.iter().position(|other| other == name).unwrap_or(0);
        let agreement =
            adjusted_mutual_information(&labels, &names.iter().map(number).collect::<Vec<usize>>());
        let value = |&name: &&'static str| {
            let medians: Vec<f64> = pairs
                .iter()
                .zip(&names)
                .filter(|(_, other)| **other == name)
                .map(|(pair, _)| pair.median_ps)
                .collect();
            let low_ps = medians.iter().copied().fold(f64::INFINITY, f64::min);
            let high_ps = medians.iter().copied().fold(0.0, f64::max);
            PropertyValue { name, pairs: medians.len(), low_ps, high_ps, median_ps: median_of(medians) }
        };
        let mut values: Vec<PropertyValue> = known.iter().map(value).collect();
        values.sort_by(|a, b| a.median_ps.total_cmp(&b.median_ps));
        (values.len() > 1).then_some(Explanation { property, agreement, values })
    };
    let mut list: Vec<Explanation> = Property::ALL.into_iter().filter_map(explained).collect();
    // The sort is stable: of equals, the simpler one stays first.
    list.sort_by_key(|explanation| std::cmp::Reverse((explanation.agreement * 1e6).round() as i64));
    list
}

/// The simplest property that all pairs share.
fn all_are(measurement: &Measurement, pairs: &[PairFound]) -> Option<&'static str> {
    let of_all = |property: Property| {
        let mut names = pairs.iter().map(|pair| property.between(measurement, pair.from, pair.to));
        let first = names.next()??;
        names.all(|name| name == Some(first)).then_some(first)
    };
    // Processes about which nothing is known also share a place.
    Property::ALL.into_iter().filter(|&property| property != Property::Place).find_map(of_all)
}

/// Residuals by the property that leaves the least unexplained. Clusters are no substitute: slow pairs form their
/// own.
fn smallest_residuals(measurement: &Measurement, pairs: &[PairFound]) -> Vec<f64> {
    let properties = [None].into_iter().chain(Property::ALL.map(Some));
    let tried = properties.map(|property| residuals(measurement, pairs, property));
    tried.min_by(|a, b| deviation(a).total_cmp(&deviation(b))).unwrap_or_default()
}

/// How much longer each pair takes than similar pairs, on a logarithmic axis.
fn residuals(measurement: &Measurement, pairs: &[PairFound], property: Option<Property>) -> Vec<f64> {
    let kind =
        |pair: &PairFound| property.and_then(|property| property.between(measurement, pair.from, pair.to));
    let usual = |name: Option<&'static str>| {
        median_of(pairs.iter().filter(|pair| kind(pair) == name).map(|pair| pair.median_ps.ln()).collect())
    };
    let mut known: Vec<(Option<&'static str>, f64)> = Vec::new();
    pairs
        .iter()
        .map(|pair| {
            let name = kind(pair);
            let own = known.iter().find(|(other, _)| *other == name).map(|&(_, usual)| usual);
            let own = own.unwrap_or_else(|| {
                known.push((name, usual(name)));
                known[known.len() - 1].1
            });
            pair.median_ps.ln() - own
        })
        .collect()
}

/// Processes whose pairs are typically slow. With fewer than four ranks, none can stand out.
fn slow_processes(ranks: &[Rank], pairs: &[PairFound], residuals: &[f64], scatter: f64) -> Vec<SlowProcess> {
    let score = |&rank: &Rank| {
        let own = pairs.iter().zip(residuals).filter(|(pair, _)| pair.from == rank || pair.to == rank);
        let own: Vec<f64> = own.map(|(_, &residual)| residual).collect();
        (rank, own.len(), median_of(own))
    };
    let scores: Vec<(Rank, usize, f64)> = ranks.iter().map(score).collect();
    if scores.len() < 4 {
        return Vec::new();
    }
    let levels: Vec<f64> = scores.iter().map(|score| score.2).collect();
    let limit = robust::PROCESS.log_margin(deviation(&levels)).max(SCATTERS * scatter);
    let slow = scores
        .into_iter()
        .filter(|&(_, count, level)| count >= 3 && level - median_of(levels.clone()) > limit);
    let is_beyond = |rank: Rank| {
        pairs.iter().any(|pair| (pair.from == rank || pair.to == rank) && pair.outside.is_some())
    };
    slow.map(|(rank, count, level)| SlowProcess {
        rank,
        pairs: count,
        ratio: level.exp(),
        at_least: is_beyond(rank),
    })
    .collect()
}

/// Pairs that are slower than their processes and their kind explain. If there are many, the cause is not the pair.
fn slow_pairs(pairs: &[PairFound], residuals: &[f64], slow: &[SlowProcess], scatter: f64) -> Vec<SlowPair> {
    let limit = robust::PAIR.log_margin(deviation(residuals)).max(SCATTERS * scatter);
    let of_process =
        |rank: Rank| slow.iter().find(|process| process.rank == rank).map_or(0.0, |one| one.ratio.ln());
    let beyond = |(pair, residual): (&PairFound, &f64)| {
        let rest = residual - of_process(pair.from).max(of_process(pair.to));
        let PairFound { from, to, outside, .. } = *pair;
        (rest > limit).then_some(SlowPair { from, to, ratio: rest.exp(), at_least: outside.is_some() })
    };
    let list: Vec<SlowPair> = pairs.iter().zip(residuals).filter_map(beyond).collect();
    if pairs.len() < 4 || list.len() > (pairs.len() / 20).max(1) { Vec::new() } else { list }
}

#[cfg(test)]
mod tests;
