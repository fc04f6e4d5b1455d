//! Two distributions side by side: where they differ, by how much, and how.

use super::draws::Draws;
use super::rank_tests::{Aligned, AndersonDarling, KolmogorovSmirnov, MannWhitney};
use super::summary::ladder;
use super::{CONFIDENCE, Distribution};
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, Normal};
use straggler_model::latency::Outside;
use straggler_model::stats::quantile_of_sorted;

/// What differs between a first and a second distribution; differences are the second less the first.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Comparison {
    pub counts: [u64; 2],
    pub min_ps: [f64; 2],
    pub max_ps: [f64; 2],
    pub mean: MeanDifference,
    /// Those that both counts support.
    pub quantiles: Vec<Difference>,
    /// From 10 to 90 % of the trials, the second's by the first's.
    pub width: Option<Ratio>,
    pub kolmogorov_smirnov: KolmogorovSmirnov,
    pub mann_whitney: MannWhitney,
    /// Nothing where all trials are equal.
    pub anderson_darling: Option<AndersonDarling>,
    /// Whether both have the same bins, so that counts could be compared as they are.
    pub same_bins: bool,
    pub change: Change,
}

#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct MeanDifference {
    pub values_ps: [f64; 2],
    pub difference_ps: f64,
    /// Nothing for single trials.
    pub interval_ps: Option<[f64; 2]>,
}

/// A quantile of both.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Difference {
    pub q: f64,
    /// Nothing where it lies outside the bins.
    pub values_ps: [Option<f64>; 2],
    /// The bounds of those outside the bins.
    pub outside: [Option<Outside>; 2],
    /// Nothing where one of them is not known.
    pub difference_ps: Option<f64>,
    /// Between what the difference lies with 95 % confidence, if trials are independent: a bootstrap, and half a bin more.
    /// Quantiles outside the bins lie anywhere between their bound and the minimum or maximum.
    pub interval_ps: [f64; 2],
    /// What is left of the difference when the medians are brought together.
    pub beyond_shift_ps: Option<f64>,
    pub beyond_interval_ps: [f64; 2],
}

impl Difference {
    /// As a share of the first.
    pub fn share(&self) -> Option<f64> {
        Some(self.difference_ps? / self.values_ps[0]?.max(1.0))
    }

    /// The first, or its bound.
    fn base_ps(&self) -> f64 {
        let bound = self.outside[0].map_or(0.0, |outside| outside.bound().ps() as f64);
        self.values_ps[0].unwrap_or(bound).max(1.0)
    }

    /// The difference, or what it is at least.
    fn least_ps(&self) -> f64 {
        self.difference_ps.unwrap_or_else(|| nearest_to_zero(self.interval_ps))
    }

    fn least_beyond_shift_ps(&self) -> f64 {
        self.beyond_shift_ps.unwrap_or_else(|| nearest_to_zero(self.beyond_interval_ps))
    }

    pub fn is_sure(&self) -> bool {
        excludes(self.interval_ps, 0.0)
    }

    /// Whether it is sure among so many statements.
    fn is_sure_among(&self, statements: f64) -> bool {
        excludes(stretched(self.least_ps(), self.interval_ps, statements), 0.0)
    }

    fn differs_beyond_shift(&self, statements: f64) -> bool {
        excludes(stretched(self.least_beyond_shift_ps(), self.beyond_interval_ps, statements), 0.0)
    }
}

#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Ratio {
    pub value: f64,
    pub interval: [f64; 2],
}

/// How the second differs; several may be true. Samples of one distribution are told apart in 5 of 100 cases at most:
/// tests and intervals are corrected for their number. Only what is large enough to matter counts: 1 % of the median for
/// the shift, 10 % for the spread, 5 % for the tail.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Change {
    /// The median.
    pub shift: Option<Direction>,
    /// The range from 10 to 90 %.
    pub spread: Option<Direction>,
    /// What is beyond 99 %, with the medians brought together.
    pub tail: Option<Direction>,
    /// There is a difference, but none that matters.
    pub slight: bool,
    /// The counts do not even support an interval of the median.
    pub too_few: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    Less,
    More,
}

impl Direction {
    fn of(value: f64) -> Direction {
        if value > 0.0 { Direction::More } else { Direction::Less }
    }
}

const REPLICATES: usize = 1000;
const SHIFT: f64 = 0.01;
const SPREAD: f64 = 0.1;
const TAIL: f64 = 0.05;
/// Kolmogorov–Smirnov, Mann–Whitney and Anderson–Darling.
const TESTS: f64 = 3.0;

impl Comparison {
    /// The same seed gives the same numbers.
    pub fn of(first: &Distribution, second: &Distribution, seed: u64) -> Comparison {
        let both = [first, second];
        let aligned = Aligned::of(&both);
        let levels = levels(both);
        let drawn = Drawn::of(both, &levels, seed);
        let quantiles = drawn.differences();
        let width = drawn.width();
        let mut comparison = Comparison {
            counts: both.map(Distribution::count),
            min_ps: both.map(|one| one.min_ps),
            max_ps: both.map(|one| one.max_ps),
            mean: MeanDifference::of(both),
            quantiles,
            width,
            kolmogorov_smirnov: KolmogorovSmirnov::of(&aligned, 0, 1),
            mann_whitney: MannWhitney::of(&aligned, 0, 1),
            anderson_darling: AndersonDarling::of(&aligned),
            same_bins: match (first.bins, second.bins) {
                (Some(one), Some(other)) => one == other,
                _ => aligned.exact,
            },
            change: Change::default(),
        };
        comparison.change = comparison.judged(both.map(range));
        comparison
    }

    pub fn at(&self, q: f64) -> Option<&Difference> {
        self.quantiles.iter().find(|difference| (difference.q - q).abs() < 1e-12)
    }

    /// Several tests and a dozen quantiles all get their chance to see a difference where there is none. Bonferroni's
    /// correction keeps the chance that any of them does at 5 %.
    fn judged(&self, widths: [Option<f64>; 2]) -> Change {
        let Some(median) = self.at(0.5) else { return Change { too_few: true, ..Change::default() } };
        let statements = TESTS + 2.0 * self.quantiles.len() as f64;
        if !self.differs(statements) {
            return Change::default();
        }
        let (base, moved) = (median.base_ps(), median.least_ps());
        let shift = (median.is_sure() && moved.abs() >= SHIFT * base).then(|| Direction::of(moved));
        let spread = self.spread(widths, SHIFT * base);
        let tail = self.quantiles.iter().rfind(|found| {
            let matters = found.least_beyond_shift_ps().abs() >= TAIL * found.base_ps();
            found.q >= 0.99 && found.differs_beyond_shift(statements) && matters
        });
        let tail = tail.map(|found| Direction::of(found.least_beyond_shift_ps()));
        let slight = shift.is_none() && spread.is_none() && tail.is_none();
        Change { shift, spread, tail, slight, too_few: false }
    }

    fn differs(&self, statements: f64) -> bool {
        let anderson_darling = self.anderson_darling.map_or(1.0, |test| test.p);
        let tests = [self.kolmogorov_smirnov.p, self.mann_whitney.p, anderson_darling];
        tests.into_iter().any(|p| p < (1.0 - CONFIDENCE) / statements)
            || self
                .quantiles
                .iter()
                .any(|found| found.is_sure_among(statements) || found.differs_beyond_shift(statements))
    }

    /// Trials that are all equal have no width to compare with: any that matters is more.
    fn spread(&self, widths: [Option<f64>; 2], least: f64) -> Option<Direction> {
        let [first, second] = [widths[0]?, widths[1]?];
        let is_sure = match self.width {
            Some(width) => excludes(width.interval, 1.0) && (width.value - 1.0).abs() >= SPREAD,
            None => first <= 0.0,
        };
        (is_sure && (second - first).abs() >= least).then(|| Direction::of(second - first))
    }
}

/// An interval as wide as it must be to hold with 95 % confidence together with so many others: by the deviates of a
/// normal distribution, and on both sides what the wider side needs.
fn stretched(value: f64, [low, high]: [f64; 2], statements: f64) -> [f64; 2] {
    let deviate = |doubt: f64| Normal::standard().inverse_cdf(1.0 - doubt / 2.0);
    let doubt = 1.0 - CONFIDENCE;
    let half = (value - low).max(high - value) * deviate(doubt / statements) / deviate(doubt);
    [value - half, value + half]
}

/// From 10 to 90 % of the trials; nothing where these lie outside the bins.
fn range(one: &Distribution) -> Option<f64> {
    Some(one.known_quantile(0.9)? - one.known_quantile(0.1)?)
}

/// The number of an interval that is closest to 0.
fn nearest_to_zero([low, high]: [f64; 2]) -> f64 {
    0f64.clamp(low.min(high), high)
}

fn excludes([low, high]: [f64; 2], value: f64) -> bool {
    low > value || high < value
}

/// Whether any of several distributions differs from the others.
pub fn all_alike(samples: &[&Distribution]) -> Option<AndersonDarling> {
    AndersonDarling::of(&Aligned::of(samples))
}

impl MeanDifference {
    /// Means and variances are exact; their difference is normal to a good approximation.
    pub fn of(both: [&Distribution; 2]) -> MeanDifference {
        let values_ps = both.map(|one| one.mean_ps);
        let difference_ps = values_ps[1] - values_ps[0];
        let share = |one: &Distribution| one.variance_ps2.map(|variance| variance / one.count() as f64);
        let variance = share(both[0]).zip(share(both[1])).map(|(a, b)| a + b);
        let deviate = Normal::standard().inverse_cdf(0.5 + CONFIDENCE / 2.0);
        let around = |variance: f64| [-1.0, 1.0].map(|side| difference_ps + side * deviate * variance.sqrt());
        MeanDifference { values_ps, difference_ps, interval_ps: variance.map(around) }
    }
}

/// The quantiles of a comparison: those that both counts support, ascending.
fn levels(both: [&Distribution; 2]) -> Vec<f64> {
    ladder().filter(|&q| both.iter().all(|one| one.interval(q, CONFIDENCE).is_some())).collect()
}

/// The difference of a single quantile: where a comparison has it, the same numbers.
pub fn difference(both: [&Distribution; 2], q: f64, seed: u64) -> Option<Difference> {
    let mut levels = levels(both);
    let is_other = |level: &f64| (level - q).abs() >= 1e-12;
    if levels.iter().all(is_other) {
        levels.insert(levels.partition_point(|&level| level < q), q);
    }
    Drawn::of(both, &levels, seed).differences().into_iter().find(|found| !is_other(&found.q))
}

/// Quantiles of both as they might have been: a row for each replicate, a column for each level. Each is known to lie between
/// two ends, which are equal within the bins.
struct Drawn<'a> {
    both: [&'a Distribution; 2],
    levels: &'a [f64],
    rows: [Vec<Vec<Ends>>; 2],
}

type Ends = (f64, f64);

/// The ends of a difference.
fn less((low, high): Ends, (other_low, other_high): Ends) -> Ends {
    (low - other_high, high - other_low)
}

impl<'a> Drawn<'a> {
    fn of(both: [&'a Distribution; 2], levels: &'a [f64], seed: u64) -> Drawn<'a> {
        let rows = [0, 1].map(|side| {
            let sample: &Distribution = both[side];
            let mut draws = Draws::new(seed, side as u32);
            let mut row = || {
                let drawn = draws.levels(sample.count(), levels);
                drawn.into_iter().map(|level| sample.quantile_ends(level)).collect()
            };
            (0..REPLICATES).map(|_| row()).collect()
        });
        Drawn { both, levels, rows }
    }

    fn place(&self, q: f64) -> Option<usize> {
        self.levels.iter().position(|level| (level - q).abs() < 1e-12)
    }

    /// The middle of what a number comes to over the replicates.
    fn interval(&self, number: impl Fn(&[Ends], &[Ends]) -> Ends, more: f64) -> [f64; 2] {
        let pairs = self.rows[0].iter().zip(&self.rows[1]);
        let (mut lows, mut highs): (Vec<f64>, Vec<f64>) =
            pairs.map(|(first, second)| number(first, second)).unzip();
        lows.sort_by(f64::total_cmp);
        highs.sort_by(f64::total_cmp);
        let at = |values: &[f64], q: f64| quantile_of_sorted(values, q).unwrap_or(0.0);
        let doubt = (1.0 - CONFIDENCE) / 2.0;
        [at(&lows, doubt) - more, at(&highs, 1.0 - doubt) + more]
    }

    /// A quantile is known to half a bin of either; outside the bins, its ends say how well.
    fn half_bin(&self, q: f64) -> f64 {
        let half = |one: &Distribution| match one.outside(q) {
            Some(_) => 0.0,
            None => {
                let (low, high) = one.bounds(q);
                (high - low) / 2.0
            }
        };
        self.both.map(half).into_iter().fold(0.0, f64::max)
    }

    fn differences(&self) -> Vec<Difference> {
        let known = |values: [Option<f64>; 2]| Some(values[1]? - values[0]?);
        let at = |q: f64| self.both.map(|one| one.known_quantile(q));
        let (shift, middle) = (known(at(0.5)), self.place(0.5));
        let ends = self.both.map(|one| one.quantile_ends(0.5));
        let difference = |(place, &q): (usize, &f64)| {
            let difference_ps = known(at(q));
            let half = self.half_bin(q);
            let moved = |first: &[Ends], second: &[Ends]| match middle {
                Some(middle) => less(second[middle], first[middle]),
                None => less(ends[1], ends[0]),
            };
            let own = Some(place) == middle;
            let beyond = |first: &[Ends], second: &[Ends]| match own {
                true => (0.0, 0.0),
                false => less(less(second[place], first[place]), moved(first, second)),
            };
            let wider = if own { 0.0 } else { half + self.half_bin(0.5) };
            Difference {
                q,
                values_ps: at(q),
                outside: self.both.map(|one| one.outside(q)),
                difference_ps,
                interval_ps: self.interval(|first, second| less(second[place], first[place]), half),
                beyond_shift_ps: if own {
                    Some(0.0)
                } else {
                    difference_ps.zip(shift).map(|(all, shift)| all - shift)
                },
                beyond_interval_ps: self.interval(beyond, wider),
            }
        };
        self.levels.iter().enumerate().map(difference).collect()
    }

    /// Nothing where the first has no width, or where one is not known.
    fn width(&self) -> Option<Ratio> {
        let (low, high) = self.place(0.1).zip(self.place(0.9))?;
        let (first, second) = (range(self.both[0])?, range(self.both[1])?);
        let least = self.half_bin(0.9) + self.half_bin(0.1);
        if first <= 0.0 {
            return None;
        }
        let ratio = |a: &[Ends], b: &[Ends]| {
            let (a, b) = (less(a[high], a[low]), less(b[high], b[low]));
            (b.0 / a.1.max(1.0), b.1 / a.0.max(1.0))
        };
        Some(Ratio { value: second / first, interval: self.interval(ratio, least / first) })
    }
}

#[cfg(test)]
mod tests;
