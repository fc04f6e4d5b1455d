//! Whether a distribution stays the same from the first cycle to the last.

use super::rank_tests::{Aligned, MannWhitney, two_sided};
use serde::Serialize;
use straggler_model::latency::Cycle;
use straggler_model::stats::median_in_place;

/// What the cycles say.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Stationarity {
    /// Of the pair that has most.
    pub cycles: usize,
    /// Nothing where there are too few cycles.
    pub trend: Option<Trend>,
    pub runs: Option<Runs>,
    pub spread: Option<Spread>,
    pub verdict: Steadiness,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Steadiness {
    /// Less than 8 cycles.
    TooFew,
    Steady,
    /// Medians go up or down.
    Drifts,
    /// Medians stay at one level for a while, then at another.
    Jumps,
    /// Medians scatter more in one half of the run than in the other.
    SpreadChanges,
}

/// Mann and Kendall's test for a trend of the medians of cycles.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Trend {
    pub p: f64,
    /// By how much medians change from the first cycle to the last, as a share: the slope of Theil and Sen.
    pub change: f64,
}

/// Wald and Wolfowitz' test: how often medians cross their own median. Levels that last cross it seldom.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Runs {
    pub p: f64,
    pub runs: u64,
    pub expected: f64,
    /// The distance of the quartiles of the cycles' medians, as a share of their median.
    pub quartiles_apart: f64,
}

/// Whether medians scatter as much in the second half as in the first, as Brown and Forsythe ask, by ranks.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Spread {
    pub p: f64,
    /// The typical distance from the median of the half: the second half's by the first's.
    pub ratio: f64,
}

/// Fewer cycles tell nothing.
const LEAST: usize = 8;
/// More are taken together, so that pairs of cycles stay countable.
const MOST: usize = 800;
/// What is less sure than this is chance.
const LEVEL: f64 = 0.01;
/// What is smaller than this share of the median matters to nobody.
const RELEVANT: f64 = 0.01;

impl Stationarity {
    /// Of the cycles of one series, or of several pairs: each pair is measured by its own median, so that a pair that is
    /// slower than others is no change over time.
    pub fn of(pairs: &[&[Cycle]]) -> Stationarity {
        let levels = levels(pairs);
        let count = longest(pairs);
        if levels.len() < LEAST {
            let verdict = Steadiness::TooFew;
            return Stationarity { cycles: count, trend: None, runs: None, spread: None, verdict };
        }
        let (trend, runs, spread) = (Trend::of(&levels), Runs::of(&levels), Spread::of(&levels));
        let drifts = trend.p < LEVEL && trend.change.abs() >= RELEVANT;
        let jumps = runs.is_some_and(|runs| runs.p < LEVEL && runs.quartiles_apart >= RELEVANT);
        let wider = spread.is_some_and(|spread| spread.p < LEVEL && !(0.5..=2.0).contains(&spread.ratio))
            && runs.is_some_and(|runs| runs.quartiles_apart >= RELEVANT);
        let verdict = match (drifts, jumps, wider) {
            (true, ..) => Steadiness::Drifts,
            (_, true, _) => Steadiness::Jumps,
            (.., true) => Steadiness::SpreadChanges,
            _ => Steadiness::Steady,
        };
        Stationarity { cycles: count, trend: Some(trend), runs, spread, verdict }
    }
}

/// One level for each cycle, in order: the median over all pairs of what each pair's cycle took, as a share of that pair's own
/// median. Cycles are matched by their number: those of one process begin at the same time for all its peers, those of different
/// processes nearly so.
fn levels(pairs: &[&[Cycle]]) -> Vec<f64> {
    let mut cycles: Vec<Vec<f64>> = vec![Vec::new(); longest(pairs)];
    for pair in pairs {
        let mut medians: Vec<u64> = pair.iter().map(|cycle| cycle.median.ps()).collect();
        let own = median_in_place(&mut medians).unwrap_or(0).max(1) as f64;
        let shares = pair.iter().map(|cycle| cycle.median.ps() as f64 / own);
        cycles.iter_mut().zip(shares).for_each(|(cycle, share)| cycle.push(share));
    }
    let levels: Vec<f64> = cycles.into_iter().map(median).collect();
    let together = levels.len().div_ceil(MOST).max(1);
    levels.chunks(together).map(|chunk| median(chunk.to_vec())).collect()
}

/// The cycles of the pair that has most.
fn longest(pairs: &[&[Cycle]]) -> usize {
    pairs.iter().map(|cycles| cycles.len()).max().unwrap_or(0)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    straggler_model::stats::quantile_of_sorted(&values, 0.5).unwrap_or(0.0)
}

impl Trend {
    fn of(levels: &[f64]) -> Trend {
        let n = levels.len();
        let pairs = || (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j)));
        let score: f64 = pairs()
            .map(|(i, j)| (levels[j] - levels[i]).partial_cmp(&0.0).map_or(0.0, |order| order as i8 as f64))
            .sum();
        let slopes: Vec<f64> = pairs().map(|(i, j)| (levels[j] - levels[i]) / (j - i) as f64).collect();
        let mut sorted = levels.to_vec();
        sorted.sort_by(f64::total_cmp);
        let term = |count: f64| count * (count - 1.0) * (2.0 * count + 5.0);
        let tied: f64 = sorted.chunk_by(|a, b| a == b).map(|same| term(same.len() as f64)).sum();
        let variance = (term(n as f64) - tied) / 18.0;
        let z = if variance > 0.0 { (score.abs() - 1.0).max(0.0) / variance.sqrt() } else { 0.0 };
        Trend { p: two_sided(z), change: median(slopes) * (n - 1) as f64 }
    }
}

impl Runs {
    /// Nothing where most cycles have the same median.
    fn of(levels: &[f64]) -> Option<Runs> {
        let middle = median(levels.to_vec());
        let sides: Vec<bool> =
            levels.iter().filter(|&&level| level != middle).map(|&level| level > middle).collect();
        let above = sides.iter().filter(|&&above| above).count() as f64;
        let below = sides.len() as f64 - above;
        if above < 4.0 || below < 4.0 {
            return None;
        }
        let runs = sides.chunk_by(|a, b| a == b).count() as u64;
        let all = above + below;
        let expected = 2.0 * above * below / all + 1.0;
        let variance = (expected - 1.0) * (expected - 2.0) / (all - 1.0);
        // Only too few runs speak of levels that last.
        let z = (expected - runs as f64 - 0.5) / variance.sqrt();
        let p = if z > 0.0 { two_sided(z) / 2.0 } else { 1.0 };
        let mut sorted = levels.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |q| straggler_model::stats::quantile_of_sorted(&sorted, q).unwrap_or(middle);
        Some(Runs { p, runs, expected, quartiles_apart: (at(0.75) - at(0.25)) / middle })
    }
}

impl Spread {
    fn of(levels: &[f64]) -> Option<Spread> {
        let halves = [&levels[..levels.len() / 2], &levels[levels.len() / 2..]];
        let deviations = halves.map(|half| {
            let middle = median(half.to_vec());
            half.iter().map(|level| (level - middle).abs()).collect::<Vec<f64>>()
        });
        let found = MannWhitney::of(&Aligned::of_values(&[&deviations[0], &deviations[1]]), 0, 1);
        let [first, second] = deviations.map(median);
        (first > 0.0).then(|| Spread { p: found.p, ratio: second / first })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latency::draws::Draws;
    use straggler_model::Time;

    fn cycles(seed: u64, count: usize, level: impl Fn(usize) -> f64) -> Vec<Cycle> {
        let mut draws = Draws::new(seed, 1);
        let cycle = |index: usize| {
            let median = Time((5e6 * level(index) * (1.0 + 0.005 * draws.normal())) as u64);
            Cycle { started_ns: index as u64, count: 100, sum_ps: 0, min: Time(0), median, max: median }
        };
        (0..count).map(cycle).collect()
    }

    fn verdict(seed: u64, count: usize, level: impl Fn(usize) -> f64) -> Steadiness {
        Stationarity::of(&[&cycles(seed, count, level)]).verdict
    }

    #[test]
    fn what_is_steady_and_what_is_not() {
        let mut wrong = 0;
        for seed in 0..60 {
            wrong += usize::from(verdict(seed, 40, |_| 1.0) != Steadiness::Steady);
            assert_eq!(verdict(seed, 40, |index| 1.0 + 0.002 * index as f64), Steadiness::Drifts);
            let jumps = |index: usize| if (10..30).contains(&index) { 1.1 } else { 1.0 };
            assert_eq!(verdict(seed, 40, jumps), Steadiness::Jumps);
        }
        assert!(wrong <= 3, "{wrong}");
        assert_eq!(verdict(1, 7, |index| index as f64), Steadiness::TooFew);
        assert_eq!(Stationarity::of(&[]).verdict, Steadiness::TooFew);
        let found = Stationarity::of(&[&cycles(5, 40, |index| 1.0 + 0.002 * index as f64)]);
        assert!((found.trend.unwrap().change - 0.078).abs() < 0.02, "{found:?}");
    }

    /// Pairs that are measured one after the other, at different levels, are no drift.
    #[test]
    fn pairs_at_different_levels_are_steady() {
        let pair = |index: usize| -> Vec<Cycle> {
            let mut cycles = cycles(index as u64, 10, |_| 1.0 + 0.2 * index as f64);
            cycles.iter_mut().for_each(|cycle| cycle.started_ns += 10 * index as u64);
            cycles
        };
        let pairs: Vec<Vec<Cycle>> = (0..6).map(pair).collect();
        let lists: Vec<&[Cycle]> = pairs.iter().map(Vec::as_slice).collect();
        assert_eq!(Stationarity::of(&lists).verdict, Steadiness::Steady);
        let whole: Vec<Cycle> = pairs.concat();
        assert_eq!(Stationarity::of(&[&whole]).verdict, Steadiness::Drifts);
    }

    /// All peers of a process have cycles that begin at the same time; which of them is slower is no change over time.
    #[test]
    fn peers_of_a_process_share_their_times() {
        let mut wrong = 0;
        for seed in 0..50 {
            let pair = |index: u64| -> Vec<Cycle> {
                let mut cycles = cycles(100 * seed + index, 10, |_| 1.0 + 0.01 * index as f64);
                cycles.iter_mut().for_each(|cycle| cycle.median = Time(cycle.median.ps() * 4 - 15_000_000));
                // The processes begin a little after each other.
                cycles
                    .iter_mut()
                    .for_each(|cycle| cycle.started_ns = 1_000_000 * cycle.started_ns + index / 7);
                cycles
            };
            let pairs: Vec<Vec<Cycle>> = (0..56).map(pair).collect();
            let lists: Vec<&[Cycle]> = pairs.iter().map(Vec::as_slice).collect();
            wrong += usize::from(Stationarity::of(&lists).verdict != Steadiness::Steady);
        }
        assert!(wrong <= 3, "{wrong}");
    }
}
