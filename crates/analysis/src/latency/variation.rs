//! How much the trials of a run depend on each other: a run whose level changes from cycle to cycle tells less about
//! the next run than equally many independent trials.
//!
//! Trials are cut into blocks: the runs, if a file has three or more, otherwise up to 20 parts of consecutive cycles.
//! Each block shows which share of its trials lies below the median (and beyond the 99 % quantile) of all trials, and
//! the mean rank of its trials. For independent trials, the variance of a share is binomial; the design effect is how
//! many times larger it actually is. The number of trials divided by it is the equivalent number of independent ones.
//!
//! Runs have histograms, so their shares are exact. Cycles have a few numbers, from which the shares are estimated:
//! the cycle's median is ranked among all trials, and the trials beyond its 99 % quantile are taken as exponential.

use super::Distribution;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};
use straggler_model::latency::Cycle;

/// Design effects: how many trials are worth one independent trial. 1 for independent trials, or if no cycles are
/// known.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Variation {
    /// Runs in the file.
    pub runs: usize,
    /// Runs, or parts of a run, that were compared; 0 if there are too few.
    pub blocks: usize,
    /// Whether blocks are runs: then the intervals of a comparison are those of the runs' own quantiles.
    pub between_runs: bool,
    /// For quantiles up to 90 %.
    pub body: f64,
    /// For quantiles beyond.
    pub tail: f64,
    pub mean: f64,
    /// For tests that compare ranks.
    pub ranks: f64,
}

impl Default for Variation {
    fn default() -> Variation {
        Variation { runs: 1, blocks: 0, between_runs: false, body: 1.0, tail: 1.0, mean: 1.0, ranks: 1.0 }
    }
}

/// Fewer blocks or runs do not show their own variance.
pub const LEAST_BLOCKS: usize = 3;
/// If there are more cycles, neighbours, which may depend on each other, are combined.
const MOST_BLOCKS: usize = 20;
/// A cycle whose trials are all among this share of the trials has their middle rank, more precisely than its median,
/// which is known to a bin.
const NARROW: f64 = 0.25;
/// The variance of a share of one half, and that of a rank between 0 and 1.
const SHARE: f64 = 0.25;
const RANK: f64 = 1.0 / 12.0;

impl Variation {
    /// `cycles` are those of a [`super::Group`], each list in order of time.
    pub fn new(whole: &Distribution, cycles: &[Vec<Cycle>]) -> Variation {
        let runs = whole.runs.len().max(1);
        if runs >= LEAST_BLOCKS {
            return Variation::of_runs(whole);
        }
        let blocks = parts(cycles);
        if blocks.len() < LEAST_BLOCKS {
            return Variation { runs, ..Variation::default() };
        }
        Variation { runs, ..Variation::of_cycles(whole, &blocks) }
    }

    fn of_runs(whole: &Distribution) -> Variation {
        let effect = |variance: f64, deviation: &dyn Fn(&Distribution) -> f64| {
            let blocks = whole.runs.iter().map(|run| vec![(run.count() as f64, deviation(run))]);
            effect(blocks, variance)
        };
        let [middle, deep] = [0.5, 0.99].map(|level| whole.quantile(level));
        let body = effect(SHARE, &|run| run.share_below(middle));
        let tail = effect(0.99 * 0.01, &|run| run.share_below(deep));
        let mean = effect(whole.variance_ps2.unwrap_or(0.0), &|run| run.mean_ps);
        let ranks = effect(RANK, &|run| {
            let rank =
                |cell: &super::distribution::Cell| cell.count as f64 * whole.share_below(cell.middle());
            run.cells().iter().map(rank).sum::<f64>() / run.count() as f64
        });
        let runs = whole.runs.len();
        Variation { runs, blocks: runs, between_runs: true, body, tail: tail.max(body), mean, ranks }
    }

    fn of_cycles(whole: &Distribution, blocks: &[Vec<&Cycle>]) -> Variation {
        let each = |deviation: &dyn Fn(&Cycle) -> Option<f64>, variance: f64| {
            let numbers = |cycle: &&Cycle| Some((cycle.count as f64, deviation(cycle)?));
            effect(blocks.iter().map(|block| block.iter().filter_map(numbers).collect()), variance)
        };
        let rank = |cycle: &Cycle| {
            let [low, high] = [cycle.min, cycle.max].map(|time| whole.share_below(time.ps() as f64));
            match cycle.median_outside {
                None if high - low < NARROW => Some((low + high) / 2.0 - 0.5),
                None => Some(distance(whole, cycle.median.ps() as f64, 0.5)),
                Some(_) => None,
            }
        };
        let found = each(&rank, SHARE) - 1.0;
        let [to_share, to_rank] = from_medians(level_variance(blocks, rank));
        let (body, ranks) = (1.0 + found * to_share, 1.0 + found * to_rank);
        let deep = whole.quantile(0.99);
        let beyond = || blocks.iter().flatten().filter_map(|cycle| Some((cycle, share_above(cycle, deep)?)));
        let (sum, trials) = beyond().fold((0.0, 0.0), |(sum, trials), (cycle, share)| {
            (sum + share * cycle.count as f64, trials + cycle.count as f64)
        });
        // One in a hundred of all trials lies there, so the shares of the cycles have this mean.
        let tail = each(&|cycle| Some(0.01 * share_above(cycle, deep)? * trials / sum), 0.99 * 0.01);
        let tail = if sum > 0.0 { tail } else { 1.0 };
        let mean = each(
            &|cycle| Some(cycle.sum_ps as f64 / cycle.count.max(1) as f64),
            whole.variance_ps2.unwrap_or(0.0),
        );
        Variation {
            runs: 1,
            blocks: blocks.len(),
            between_runs: false,
            body,
            tail: tail.max(body),
            mean,
            ranks,
        }
    }

    /// The degrees of freedom of these estimates, infinite for independent trials.
    pub fn freedom(&self) -> f64 {
        if self.blocks == 0 { f64::INFINITY } else { self.blocks as f64 - 1.0 }
    }
}

/// Student's two-sided quantile; the normal one for infinitely many degrees of freedom.
pub fn student(freedom: f64, confidence: f64) -> f64 {
    let level = 0.5 + confidence / 2.0;
    match StudentsT::new(0.0, 1.0, freedom) {
        Ok(of) if freedom < 1e6 => of.inverse_cdf(level),
        _ => Normal::standard().inverse_cdf(level),
    }
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

/// The variance of the ranks of cycles' medians, without that of medians of independent trials.
fn level_variance(blocks: &[Vec<&Cycle>], rank: impl Fn(&Cycle) -> Option<f64>) -> f64 {
    let known: Vec<(f64, f64)> =
        blocks.iter().flatten().filter_map(|cycle| Some((cycle.count as f64, rank(cycle)?))).collect();
    let trials: f64 = known.iter().map(|(count, _)| count).sum();
    if trials <= 0.0 {
        return 0.0;
    }
    let mean = known.iter().map(|(count, off)| count * off).sum::<f64>() / trials;
    let squares: f64 = known.iter().map(|(count, off)| count * (off - mean).powi(2)).sum();
    ((squares - SHARE * known.len() as f64) / trials).clamp(0.0, RANK)
}

/// The factors from the variance of the ranks of cycles' medians to those of the share of their trials below the
/// median, and of the mean ranks of their trials. For normal times of which a share ρ of the variance is that of the
/// levels, these variances are asin(ρ/(1 + ρ)), asin(ρ) and asin(ρ/2), divided by 2π. The effects divide them by
/// 1/4, 1/4 and 1/12.
fn from_medians(variance: f64) -> [f64; 2] {
    let sine = (std::f64::consts::TAU * variance).sin();
    if sine < 1e-6 {
        return [1.0, 0.5 * SHARE / RANK];
    }
    let rho = (sine / (1.0 - sine)).min(1.0);
    [rho.asin() / sine.asin(), (rho / 2.0).asin() / sine.asin() * SHARE / RANK]
}

/// The share of a cycle's trials beyond a time: exponential between its minimum, median, 99 % quantile and maximum.
/// None without the quantile: the maximum alone says little about the tail.
fn share_above(cycle: &Cycle, ps: f64) -> Option<f64> {
    let p99 = cycle.p99.filter(|_| cycle.median_outside.is_none())?.clamp(cycle.median, cycle.max);
    let least = 1.0 / cycle.count.max(2) as f64;
    let points = [(cycle.min, 1.0), (cycle.median, 0.5), (p99, 0.01f64.max(least)), (cycle.max, least)]
        .map(|(at, share)| (at.ps() as f64, share));
    let next = points.partition_point(|&(at, _)| at < ps);
    Some(match (next.checked_sub(1), points.get(next)) {
        (None, _) => 1.0,
        (_, None) => 0.0,
        (Some(before), Some(&(to, lower))) => {
            let (from, upper) = points[before];
            upper * (lower / upper).powf((ps - from) / (to - from))
        }
    })
}

/// The variance of block means relative to that of independent trials with this variance; at least 1. A block is a
/// list of numbers of trials with their deviation. Deviations are taken from their own mean, because coarse bins of
/// pairs shift all of them alike.
fn effect(blocks: impl Iterator<Item = Vec<(f64, f64)>>, variance: f64) -> f64 {
    let of_block = |block: Vec<(f64, f64)>| {
        block.iter().fold((0.0, 0.0), |(trials, sum), (count, off)| (trials + count, sum + count * off))
    };
    let known: Vec<(f64, f64)> = blocks.map(of_block).filter(|(trials, _)| *trials > 0.0).collect();
    if known.len() < LEAST_BLOCKS || variance <= 0.0 {
        return 1.0;
    }
    let trials: f64 = known.iter().map(|(trials, _)| trials).sum();
    let mean = known.iter().map(|(_, sum)| sum).sum::<f64>() / trials;
    let squares: f64 = known.iter().map(|(trials, sum)| (sum - mean * trials).powi(2)).sum();
    let freedom = known.len() as f64 - 1.0;
    (squares * (freedom + 1.0) / freedom / (trials * variance)).clamp(1.0, trials.max(1.0))
}

#[cfg(test)]
mod tests;
