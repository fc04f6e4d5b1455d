//! Whether a distribution stays the same from the first cycle to the last.
//!
//! Every test ignores changes below 1 %. At most about one in twenty samples of a constant distribution is not called
//! steady.

mod apart;

pub use apart::Apart;

use super::rank_tests::{Aligned, MannWhitney, two_sided};
use serde::Serialize;
use straggler_model::latency::Cycle;
use straggler_model::stats::{median_in_place, median_of, quantile_of_sorted};

/// Findings on the cycles.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Stationarity {
    /// Cycles of the pair that has the most.
    pub cycles: usize,
    /// None if there are too few cycles.
    pub trend: Option<Trend>,
    pub runs: Option<Runs>,
    pub spread: Option<Spread>,
    /// The first cycles, if they lie apart from all others.
    pub warm_up: Option<Apart>,
    /// Consecutive slow cycles, or a single one that is far slower than all others.
    pub bursts: Option<Apart>,
    pub verdict: Steadiness,
}

/// How the medians of cycles change during a measurement.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Steadiness {
    /// Fewer than 8 cycles, or fewer than 8 after the warm-up.
    TooFew,
    /// Medians of cycles lie outside the bins.
    OutsideBins,
    Steady,
    /// The first cycles lie apart; the others are steady.
    WarmsUp,
    /// Medians go up or down.
    Drifts,
    /// Medians stay at one level for a while, then at another.
    Jumps,
    /// Medians switch back and forth between levels from cycle to cycle.
    Alternates,
    /// A few consecutive cycles are slow, or a single one is far slower.
    Bursts,
    /// Medians scatter more in one half of the run than in the other.
    SpreadChanges,
}

/// The Mann–Kendall test for a trend in the medians of cycles.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Trend {
    pub p: f64,
    /// The relative change of medians from the first cycle to the last, by the Theil–Sen slope.
    pub change: f64,
}

/// The Wald–Wolfowitz runs test: how often the cycles' medians cross their own median. Lasting levels cross it
/// rarely, alternating ones often.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Runs {
    /// The probability of so few runs by chance, or of so many if there are more than expected.
    pub p: f64,
    pub runs: u64,
    pub expected: f64,
    /// The interquartile range of the cycles' medians, as a share of their median.
    pub quartiles_apart: f64,
}

/// Whether medians scatter equally in both halves of the run: the Brown–Forsythe test, on ranks.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Spread {
    pub p: f64,
    /// The median distance from the median of the half: second half divided by first.
    pub ratio: f64,
}

/// With fewer cycles, nothing can be said.
const LEAST: usize = 8;
/// If there are more cycles, neighbours are combined, to limit the number of pairs of cycles.
const MOST: usize = 800;
/// Differences with a larger p-value than this count as chance.
const LEVEL: f64 = 0.01;
/// Differences below this share of the median are negligible.
const RELEVANT: f64 = 0.01;

impl Stationarity {
    /// Tests the cycles of one series or of several pairs. Each pair is compared with its own median, so a slower
    /// pair is not mistaken for a change over time.
    pub fn new(pairs: &[Vec<Cycle>]) -> Stationarity {
        let (levels, cycles) = (levels(pairs), longest(pairs));
        if levels.len() < LEAST {
            return Stationarity::untested(cycles, Steadiness::TooFew);
        }
        if pairs.iter().flatten().any(|cycle| cycle.median_outside.is_some()) {
            return Stationarity::untested(cycles, Steadiness::OutsideBins);
        }
        let first = apart::first(&levels);
        let rest = Stationarity::of_levels(&levels[first..], cycles);
        let warm_up = Apart::new(&levels, |place| place < first);
        match rest.verdict {
            Steadiness::Steady if first > 0 => Stationarity { verdict: Steadiness::WarmsUp, warm_up, ..rest },
            _ => Stationarity { warm_up, ..rest },
        }
    }

    fn untested(cycles: usize, verdict: Steadiness) -> Stationarity {
        Stationarity { cycles, trend: None, runs: None, spread: None, warm_up: None, bursts: None, verdict }
    }

    fn of_levels(levels: &[f64], cycles: usize) -> Stationarity {
        if levels.len() < LEAST {
            return Stationarity::untested(cycles, Steadiness::TooFew);
        }
        let slow = apart::bursts(levels);
        let bursts = Apart::new(levels, |place| slow.contains(&place));
        // Test for other changes without the bursts, which would look like one.
        let places = (0..levels.len()).filter(|place| !slow.contains(place));
        let calm: Vec<f64> = places.map(|place| levels[place]).collect();
        let (trend, runs, spread) = (Trend::new(&calm), Runs::new(&calm), Spread::new(&calm));
        let drifts = trend.p < LEVEL && trend.change.abs() >= RELEVANT;
        let is_wide = runs.is_some_and(|runs| runs.quartiles_apart >= RELEVANT);
        let crosses = runs.filter(|runs| runs.p < LEVEL && is_wide);
        let wider =
            spread.is_some_and(|spread| spread.p < LEVEL && !(0.5..=2.0).contains(&spread.ratio)) && is_wide;
        let verdict = match crosses {
            _ if drifts => Steadiness::Drifts,
            _ if bursts.is_some() => Steadiness::Bursts,
            Some(runs) if (runs.runs as f64) < runs.expected => Steadiness::Jumps,
            Some(_) => Steadiness::Alternates,
            None if wider => Steadiness::SpreadChanges,
            None => Steadiness::Steady,
        };
        Stationarity { cycles, trend: Some(trend), runs, spread, warm_up: None, bursts, verdict }
    }
}

/// One level for each cycle, in order: the median over all pairs of the cycle's median relative to the pair's own
/// median. Cycles are matched by number: those of one process begin at the same time for all its peers, those of
/// different processes nearly so.
fn levels(pairs: &[Vec<Cycle>]) -> Vec<f64> {
    let mut cycles: Vec<Vec<f64>> = vec![Vec::new(); longest(pairs)];
    for pair in pairs {
        let mut medians: Vec<u64> = pair.iter().map(|cycle| cycle.median.ps()).collect();
        let own = median_in_place(&mut medians).unwrap_or(0).max(1) as f64;
        let shares = pair.iter().map(|cycle| cycle.median.ps() as f64 / own);
        cycles.iter_mut().zip(shares).for_each(|(cycle, share)| cycle.push(share));
    }
    let levels: Vec<f64> = cycles.into_iter().map(median_of).collect();
    let together = levels.len().div_ceil(MOST).max(1);
    levels.chunks(together).map(|chunk| median_of(chunk.to_vec())).collect()
}

/// The number of cycles of the pair that has the most.
fn longest(pairs: &[Vec<Cycle>]) -> usize {
    pairs.iter().map(|cycles| cycles.len()).max().unwrap_or(0)
}

impl Trend {
    fn new(levels: &[f64]) -> Trend {
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
        Trend { p: two_sided(z), change: median_of(slopes) * (n - 1) as f64 }
    }
}

impl Runs {
    /// None if most cycles have the same median.
    fn new(levels: &[f64]) -> Option<Runs> {
        let middle = median_of(levels.to_vec());
        // If there are only two levels, the median may be either of them.
        let split = |is_above: &dyn Fn(f64) -> bool| -> Option<Vec<bool>> {
            let sides: Vec<bool> = levels.iter().map(|&level| is_above(level)).collect();
            let above = sides.iter().filter(|&&above| above).count();
            (above >= 4 && sides.len() - above >= 4).then_some(sides)
        };
        let sides = split(&|level| level > middle).or_else(|| split(&|level| level >= middle))?;
        let above = sides.iter().filter(|&&above| above).count() as f64;
        let below = sides.len() as f64 - above;
        let runs = sides.chunk_by(|a, b| a == b).count() as u64;
        let all = above + below;
        let expected = 2.0 * above * below / all + 1.0;
        let variance = (expected - 1.0) * (expected - 2.0) / (all - 1.0);
        let z = ((expected - runs as f64).abs() - 0.5) / variance.sqrt();
        let p = if z > 0.0 { two_sided(z) / 2.0 } else { 1.0 };
        let mut sorted = levels.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |q| quantile_of_sorted(&sorted, q).unwrap_or(middle);
        Some(Runs { p, runs, expected, quartiles_apart: (at(0.75) - at(0.25)) / middle })
    }
}

impl Spread {
    fn new(levels: &[f64]) -> Option<Spread> {
        let halves = [&levels[..levels.len() / 2], &levels[levels.len() / 2..]];
        let deviations = halves.map(|half| {
            let middle = median_of(half.to_vec());
            half.iter().map(|level| (level - middle).abs()).collect::<Vec<f64>>()
        });
        let found = MannWhitney::new(&Aligned::of_values(&[&deviations[0], &deviations[1]]), 0, 1);
        let [first, second] = deviations.map(median_of);
        (first > 0.0).then(|| Spread { p: found.p, ratio: second / first })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latency::draws::Draws;
    use straggler_model::Time;
    use straggler_model::latency::Outside;

    fn cycles(seed: u64, count: usize, level: impl Fn(usize) -> f64) -> Vec<Cycle> {
        let mut draws = Draws::new(seed, 1);
        let cycle = |index: usize| {
            let median = Time((5e6 * level(index) * (1.0 + 0.005 * draws.normal())) as u64);
            Cycle { started_ns: index as u64, count: 100, median, max: median, ..Cycle::default() }
        };
        (0..count).map(cycle).collect()
    }

    fn verdict(seed: u64, count: usize, level: impl Fn(usize) -> f64) -> Steadiness {
        Stationarity::new(&[cycles(seed, count, level)]).verdict
    }

    /// Medians that scatter by 3 %, far more than the ignored 1 %, in any number of cycles.
    #[test]
    fn samples_of_one_distribution_are_steady() {
        for count in [8, 10, 20, 40, 200] {
            let wrong = (0..200).filter(|&seed| {
                let mut cycles = cycles(seed, count, |_| 1.0);
                cycles.iter_mut().for_each(|cycle| cycle.median = Time(cycle.median.ps() * 6 - 25_000_000));
                Stationarity::new(&[cycles]).verdict != Steadiness::Steady
            });
            let wrong = wrong.count();
            assert!(wrong <= 10, "{wrong} of 200 with {count} cycles");
        }
    }

    /// Other distributions, with few trials in a cycle: exponential times, and times in steps of a coarse timer.
    #[test]
    fn other_shapes_are_steady() {
        let (mut skewed, mut coarse) = (0, 0);
        for seed in 0..200 {
            let mut draws = Draws::new(seed, 7);
            let mut of = |level: &mut dyn FnMut(&mut Draws) -> f64| {
                let cycle = |index: u64| {
                    let median = Time((5e6 * level(&mut draws)) as u64);
                    Cycle { started_ns: index, count: 2, median, max: median, ..Cycle::default() }
                };
                let cycles: Vec<Cycle> = (0..20).map(cycle).collect();
                usize::from(Stationarity::new(&[cycles]).verdict != Steadiness::Steady)
            };
            skewed += of(&mut |draws| 1.0 - draws.unit().ln());
            coarse += of(&mut |draws| if draws.unit() < 0.15 { 1.2 } else { 1.0 });
        }
        assert!(skewed <= 12 && coarse <= 12, "{skewed} {coarse}");
    }

    #[test]
    fn warm_up_alternation_and_bursts_are_told_apart() {
        for seed in 0..60 {
            for count in [10, 20, 40] {
                let warm = |index: usize| if index == 0 { 1.3 } else { 1.0 };
                assert_eq!(verdict(seed, count, warm), Steadiness::WarmsUp, "{seed} {count}");
                let back_and_forth = |index: usize| 1.0 + 0.1 * (index % 2) as f64;
                assert_eq!(verdict(seed, count, back_and_forth), Steadiness::Alternates, "{seed} {count}");
            }
            let burst = |index: usize| if (12..15).contains(&index) { 1.5 } else { 1.0 };
            assert_eq!(verdict(seed, 40, burst), Steadiness::Bursts, "{seed}");
            let single = |index: usize| if index == 7 { 2.0 } else { 1.0 };
            assert_eq!(verdict(seed, 20, single), Steadiness::Bursts, "{seed}");
        }
        let found = Stationarity::new(&[cycles(1, 20, |index| if index < 2 { 1.5 } else { 1.0 })]);
        let warm_up = found.warm_up.unwrap();
        assert_eq!((found.verdict, warm_up.cycles), (Steadiness::WarmsUp, 2));
        assert!((warm_up.change - 0.5).abs() < 0.02, "{warm_up:?}");
        // With 8 cycles, too few are left after the warm-up to call them steady.
        let few = Stationarity::new(&[cycles(1, 8, |index| if index == 0 { 1.5 } else { 1.0 })]);
        assert_eq!((few.verdict, few.warm_up.map(|first| first.cycles)), (Steadiness::TooFew, Some(1)));
        // A median outside the bins is unknown.
        let mut unknown = cycles(1, 20, |_| 1.0);
        unknown[3].median_outside = Some(Outside::Above(Time(100)));
        assert_eq!(Stationarity::new(&[unknown]).verdict, Steadiness::OutsideBins);
        // Exact levels, one of which is the median itself.
        let exact = |index: usize| -> Cycle {
            let median = Time(5_000_000 + 500_000 * (index as u64 % 2));
            Cycle { started_ns: index as u64, count: 100, median, max: median, ..Cycle::default() }
        };
        for count in [20, 21] {
            let cycles: Vec<Cycle> = (0..count).map(exact).collect();
            assert_eq!(Stationarity::new(&[cycles]).verdict, Steadiness::Alternates, "{count}");
        }
        // A drift after the warm-up is found.
        let both = |index: usize| if index == 0 { 3.0 } else { 1.0 + 0.005 * index as f64 };
        assert_eq!(verdict(1, 40, both), Steadiness::Drifts);
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
        assert_eq!(Stationarity::new(&[]).verdict, Steadiness::TooFew);
        let found = Stationarity::new(&[cycles(5, 40, |index| 1.0 + 0.002 * index as f64)]);
        assert!((found.trend.unwrap().change - 0.078).abs() < 0.02, "{found:?}");
    }

    /// Pairs measured one after another, at different levels, are not a drift.
    #[test]
    fn pairs_at_different_levels_are_steady() {
        let pair = |index: usize| -> Vec<Cycle> {
            let mut cycles = cycles(index as u64, 10, |_| 1.0 + 0.2 * index as f64);
            cycles.iter_mut().for_each(|cycle| cycle.started_ns += 10 * index as u64);
            cycles
        };
        let pairs: Vec<Vec<Cycle>> = (0..6).map(pair).collect();
        assert_eq!(Stationarity::new(&pairs).verdict, Steadiness::Steady);
        let whole: Vec<Cycle> = pairs.concat();
        assert_eq!(Stationarity::new(&[whole]).verdict, Steadiness::Drifts);
    }

    /// The peers of a process have cycles that begin at the same time; differences between them are not a change over
    /// time.
    #[test]
    fn peers_of_a_process_share_their_times() {
        let mut wrong = 0;
        for seed in 0..50 {
            let pair = |index: u64| -> Vec<Cycle> {
                let mut cycles = cycles(100 * seed + index, 10, |_| 1.0 + 0.01 * index as f64);
                cycles.iter_mut().for_each(|cycle| cycle.median = Time(cycle.median.ps() * 4 - 15_000_000));
                // The processes begin shortly after one another.
                cycles
                    .iter_mut()
                    .for_each(|cycle| cycle.started_ns = 1_000_000 * cycle.started_ns + index / 7);
                cycles
            };
            let pairs: Vec<Vec<Cycle>> = (0..56).map(pair).collect();
            wrong += usize::from(Stationarity::new(&pairs).verdict != Steadiness::Steady);
        }
        assert!(wrong <= 3, "{wrong}");
    }
}
