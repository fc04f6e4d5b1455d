//! How much the trials of a run depend on each other: a run whose level changes from cycle to cycle tells less about
//! the next run than equally many independent trials.
//!
//! Trials are cut into blocks: the runs, if a file has three or more, otherwise up to 20 parts of consecutive cycles.
//! Each block shows which share of its trials lies below the median (and the 99 % quantile) of all trials. For
//! independent trials, the variance of this share is binomial; the design effect is how many times larger it actually
//! is. The number of trials divided by it is the equivalent number of independent ones. Few blocks estimate their
//! variance badly, so the effect is scaled up by Student's quantile in place of the normal one.

use super::Distribution;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};
use straggler_model::latency::Cycle;
use straggler_model::noise::recording::Origin;
use straggler_model::stats::CONFIDENCE;

/// Design effects: how many trials are worth one independent trial. 1 for independent trials, or if no cycles are
/// known.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Variation {
    /// Runs in the file, as far as it tells.
    pub runs: usize,
    /// Runs, or parts of a run, that were compared; 0 if there are too few.
    pub blocks: usize,
    /// Whether blocks are runs: then intervals include the variation between runs.
    pub between_runs: bool,
    /// For quantiles up to 90 %.
    pub body: f64,
    /// For quantiles beyond.
    pub tail: f64,
    pub mean: f64,
}

impl Default for Variation {
    fn default() -> Variation {
        Variation { runs: 1, blocks: 0, between_runs: false, body: 1.0, tail: 1.0, mean: 1.0 }
    }
}

/// Fewer blocks or runs do not show their own variance.
pub const LEAST_BLOCKS: usize = 3;
/// If there are more cycles, neighbours, which may depend on each other, are combined.
const MOST_BLOCKS: usize = 20;

impl Variation {
    /// `cycles` are those of a [`super::Group`], each list in order of time; `origins` are the runs of the
    /// measurement.
    pub fn of(whole: &Distribution, cycles: &[Vec<Cycle>], origins: &[Origin]) -> Variation {
        let starts = starts(origins);
        let by_run = runs(cycles, &starts);
        let between_runs = by_run.len() >= LEAST_BLOCKS;
        let blocks = if between_runs { by_run } else { parts(cycles) };
        let runs = origins.len().max(1);
        if blocks.len() < LEAST_BLOCKS {
            return Variation { runs, ..Variation::default() };
        }
        let body = effect(&blocks, 0.25, |cycle| {
            let known = cycle.median_outside.is_none();
            known.then(|| distance(whole, cycle.median.ps() as f64, 0.5))
        });
        let tail =
            effect(&blocks, 0.99 * 0.01, |cycle| cycle.p99.map(|p99| distance(whole, p99.ps() as f64, 0.99)));
        let mean = effect(&blocks, whole.variance_ps2.unwrap_or(0.0), |cycle| {
            Some(cycle.sum_ps as f64 / cycle.count.max(1) as f64 - whole.mean_ps)
        });
        Variation { runs, blocks: blocks.len(), between_runs, body, tail: tail.max(body), mean }
    }
}

/// The start times of the runs in ns since 1970, ascending and without duplicates.
fn starts(origins: &[Origin]) -> Vec<u64> {
    let start = |origin: &Origin| match origin {
        Origin::Measured { started, .. } => Some(started.saturating_mul(1_000_000_000)),
        Origin::Imported | Origin::Synthetic { .. } => None,
    };
    let mut starts: Vec<u64> = origins.iter().filter_map(start).collect();
    starts.sort_unstable();
    starts.dedup();
    starts
}

/// The cycles of each non-empty run; a cycle belongs to the last run that began before it.
fn runs<'a>(cycles: &'a [Vec<Cycle>], starts: &[u64]) -> Vec<Vec<&'a Cycle>> {
    let mut runs = vec![Vec::new(); starts.len()];
    for cycle in cycles.iter().flatten() {
        let before = starts.partition_point(|&start| start <= cycle.started_ns);
        if let Some(run) = before.checked_sub(1) {
            runs[run].push(cycle);
        }
    }
    runs.retain(|run: &Vec<&Cycle>| !run.is_empty());
    runs
}

/// Cycles with the same number run at the same time on all pairs, so they go into one block, together with their
/// neighbours.
fn parts(cycles: &[Vec<Cycle>]) -> Vec<Vec<&Cycle>> {
    let longest = cycles.iter().map(Vec::len).max().unwrap_or(0);
    let together = longest.div_ceil(MOST_BLOCKS).max(1);
    let mut parts = vec![Vec::new(); longest.div_ceil(together)];
    for list in cycles {
        list.iter().enumerate().for_each(|(place, cycle)| parts[place / together].push(cycle));
    }
    parts
}

/// How far a cycle's quantile, as a share of all trials, lies from `level`; 0 if both are in the same cell.
fn distance(whole: &Distribution, ps: f64, level: f64) -> f64 {
    let (low, high) = whole.cell_around(ps);
    level.clamp(whole.share_below(low), whole.share_below(high)) - level
}

/// The variance of block means relative to that of independent trials with this variance; at least 1. Cycles with an
/// unknown deviation are left out. Deviations are taken from their own mean, because coarse bins of pairs shift all
/// of them alike.
fn effect(blocks: &[Vec<&Cycle>], variance: f64, deviation: impl Fn(&Cycle) -> Option<f64>) -> f64 {
    let of_block = |block: &Vec<&Cycle>| {
        let known = block.iter().filter_map(|cycle| Some((cycle.count as f64, deviation(cycle)?)));
        known.fold((0.0, 0.0), |(trials, sum), (count, off)| (trials + count, sum + count * off))
    };
    let known: Vec<(f64, f64)> = blocks.iter().map(of_block).filter(|(trials, _)| *trials > 0.0).collect();
    if known.len() < LEAST_BLOCKS || variance <= 0.0 {
        return 1.0;
    }
    let trials: f64 = known.iter().map(|(trials, _)| trials).sum();
    let mean = known.iter().map(|(_, sum)| sum).sum::<f64>() / trials;
    let squares: f64 = known.iter().map(|(trials, sum)| (sum - mean * trials).powi(2)).sum();
    let freedom = known.len() as f64 - 1.0;
    let found = squares * (freedom + 1.0) / freedom / (trials * variance);
    (found * student(freedom).powi(2)).clamp(1.0, trials)
}

/// The ratio of Student's quantile to the normal one.
fn student(freedom: f64) -> f64 {
    let level = 0.5 + CONFIDENCE / 2.0;
    let normal = Normal::standard().inverse_cdf(level);
    StudentsT::new(0.0, 1.0, freedom).map_or(1.0, |of| of.inverse_cdf(level) / normal)
}

#[cfg(test)]
mod tests;
