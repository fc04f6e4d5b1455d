//! Two distributions side by side: where they differ, by how much, and how.

use super::Distribution;
use super::Variation;
use super::draws::Draws;
use super::rank_tests::{Aligned, AndersonDarling, KolmogorovSmirnov, MannWhitney};
use super::summary::ladder;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};
use straggler_model::latency::Outside;
use straggler_model::stats::CONFIDENCE;
use straggler_model::stats::quantile_of_sorted;

/// The comparison of two distributions; differences are the second minus the first.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Comparison {
    pub counts: [u64; 2],
    /// How strongly the trials of each depend on each other.
    pub variation: [Variation; 2],
    pub min_ps: [f64; 2],
    pub max_ps: [f64; 2],
    pub mean: MeanDifference,
    /// The quantiles that both counts support.
    pub quantiles: Vec<Difference>,
    /// The width from the 10 % to the 90 % quantile: the second divided by the first.
    pub width: Option<Ratio>,
    pub kolmogorov_smirnov: KolmogorovSmirnov,
    pub mann_whitney: MannWhitney,
    /// None for fewer than five trials.
    pub anderson_darling: Option<AndersonDarling>,
    /// Whether both have the same bins, so that their counts are directly comparable.
    pub same_bins: bool,
    pub change: Change,
}

#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct MeanDifference {
    pub values_ps: [f64; 2],
    pub difference_ps: f64,
    /// None for single trials.
    pub interval_ps: Option<[f64; 2]>,
    /// The interval of second / first − 1.
    pub share_interval: Option<[f64; 2]>,
}

/// One quantile of both distributions.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Difference {
    pub q: f64,
    /// None if it lies outside the bins.
    pub values_ps: [Option<f64>; 2],
    /// The bounds of quantiles outside the bins.
    pub outside: [Option<Outside>; 2],
    /// None if one of them is unknown.
    pub difference_ps: Option<f64>,
    /// Bounds on the difference of these samples; both equal the difference if it is known.
    pub ends_ps: [f64; 2],
    /// The 95 % confidence interval of the difference: a bootstrap, plus half a bin. Dependent trials count as fewer.
    /// Quantiles outside the bins lie anywhere between their bound and the minimum or maximum.
    pub interval_ps: [f64; 2],
    /// The same for second / first − 1.
    pub share_ends: [f64; 2],
    pub share_interval: [f64; 2],
    /// The difference that remains after the medians are aligned.
    pub beyond_shift_ps: Option<f64>,
    pub beyond_ends_ps: [f64; 2],
    pub beyond_interval_ps: [f64; 2],
}

impl Difference {
    /// The difference as a share of the first.
    pub fn share(&self) -> Option<f64> {
        Some(self.difference_ps? / self.values_ps[0]?.max(1.0))
    }

    /// The first, or its bound.
    fn base_ps(&self) -> f64 {
        let bound = self.outside[0].map_or(0.0, |outside| outside.bound().ps() as f64);
        self.values_ps[0].unwrap_or(bound).max(1.0)
    }

    /// The difference, or its least possible size.
    fn least_ps(&self) -> f64 {
        nearest_to_zero(self.ends_ps)
    }

    fn least_beyond_shift_ps(&self) -> f64 {
        nearest_to_zero(self.beyond_ends_ps)
    }

    /// Whether a difference that matters may be hidden outside the bins: the bounds allow it but do not prove it.
    fn may_hide(&self, matters: f64) -> bool {
        self.difference_ps.is_none() && farthest_from_zero(self.ends_ps) >= matters * self.base_ps()
    }

    fn may_hide_beyond_shift(&self, matters: f64) -> bool {
        self.beyond_shift_ps.is_none() && farthest_from_zero(self.beyond_ends_ps) >= matters * self.base_ps()
    }

    pub fn is_sure(&self) -> bool {
        excludes(self.interval_ps, 0.0)
    }

    /// Whether it is significant, corrected for this many tests.
    fn is_sure_among(&self, statements: f64) -> bool {
        excludes(stretched(self.ends_ps, self.interval_ps, statements), 0.0)
    }

    fn differs_beyond_shift(&self, statements: f64) -> bool {
        excludes(stretched(self.beyond_ends_ps, self.beyond_interval_ps, statements), 0.0)
    }

    /// Whether the tail differs here with the medians aligned, significantly and by enough to matter.
    fn shows_tail(&self, statements: f64) -> bool {
        let matters = self.least_beyond_shift_ps().abs() >= TAIL * self.base_ps();
        self.q >= DEEP && matters && self.differs_beyond_shift(statements)
    }
}

#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Ratio {
    /// None if it depends on times outside the bins.
    pub value: Option<f64>,
    /// Its bounds; both equal the value if it is known.
    pub ends: [f64; 2],
    pub interval: [f64; 2],
}

/// How the second differs; several fields may be set. Two samples of one distribution are told apart in at most 5 of
/// 100 cases: tests and intervals are corrected for their number and for dependent trials. Only differences that
/// matter count: 1 % of the median for the shift, 10 % for the spread, 5 % for the tail.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Change {
    /// The median.
    pub shift: Option<Direction>,
    /// The range from 10 to 90 %.
    pub spread: Option<Direction>,
    /// Beyond 99 %, with the medians aligned.
    pub tail: Option<Direction>,
    /// The deepest quantile at which the tail differs.
    pub tail_at: Option<f64>,
    /// There is a difference, but none that matters.
    pub slight: bool,
    /// The counts do not even support an interval for the median.
    pub too_few: bool,
    pub unknown: Unknown,
}

/// Properties that are undecided because the deciding times lie outside the bins.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Unknown {
    pub shift: bool,
    pub spread: bool,
    pub tail: bool,
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
/// Quantiles up to this one vary like the median, those beyond it like the 99 % quantile.
const BODY: f64 = 0.9;
/// Where the tail begins.
const DEEP: f64 = 0.99;
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
            variation: both.map(|one| one.variation),
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
        comparison.change = comparison.judged(both.map(range_ends));
        comparison
    }

    pub fn at(&self, q: f64) -> Option<&Difference> {
        self.quantiles.iter().find(|difference| (difference.q - q).abs() < 1e-12)
    }

    /// Several tests and a dozen quantiles may each find a difference by chance. Bonferroni's correction keeps the
    /// probability that any of them does at 5 %.
    fn judged(&self, widths: [Ends; 2]) -> Change {
        let Some(median) = self.at(0.5) else { return Change { too_few: true, ..Change::default() } };
        let statements = TESTS + 2.0 * self.quantiles.len() as f64;
        let found = match self.differs(statements) {
            true => self.found(median, widths, statements),
            false => Change::default(),
        };
        let [first, second] = widths;
        let spread_hides = self.width.is_none_or(|width| width.value.is_none())
            && [first, second].iter().any(|(low, high)| low < high)
            && (second.1 - first.0).max(first.1 - second.0) >= SHIFT * median.base_ps();
        let tail_hides = |found: &Difference| found.q >= DEEP && found.may_hide_beyond_shift(TAIL);
        let unknown = Unknown {
            shift: found.shift.is_none() && median.may_hide(SHIFT),
            spread: found.spread.is_none() && spread_hides,
            tail: found.tail.is_none() && self.quantiles.iter().any(tail_hides),
        };
        Change { unknown, ..found }
    }

    /// How they differ, given that they do.
    fn found(&self, median: &Difference, widths: [Ends; 2], statements: f64) -> Change {
        let (base, moved) = (median.base_ps(), median.least_ps());
        let shift = (median.is_sure() && moved.abs() >= SHIFT * base).then(|| Direction::of(moved));
        let spread = self.spread(widths, SHIFT * base);
        let tail = self.quantiles.iter().rfind(|found| found.shows_tail(statements));
        let (tail_at, tail) =
            tail.map(|found| (found.q, Direction::of(found.least_beyond_shift_ps()))).unzip();
        let slight = shift.is_none() && spread.is_none() && tail.is_none();
        Change { shift, spread, tail, tail_at, slight, ..Change::default() }
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

    /// If all trials of the first are equal, there is no ratio of widths: any width that matters is wider.
    fn spread(&self, [first, second]: [Ends; 2], least: f64) -> Option<Direction> {
        let wider = nearest_to_zero(less(second, first).into());
        let is_sure = match self.width {
            Some(Ratio { ends: [low, high], interval, .. }) => {
                excludes(interval, 1.0) && nearest_to_zero([low - 1.0, high - 1.0]).abs() >= SPREAD
            }
            None => first.1 <= 0.0,
        };
        (is_sure && wider.abs() >= least).then(|| Direction::of(wider))
    }
}

/// Widens an interval so that it holds with 95 % confidence together with this many others. The part beyond the `ends`
/// known of the samples grows like the quantiles of a normal distribution, equally on both sides, by the wider one.
fn stretched(ends: [f64; 2], [low, high]: [f64; 2], statements: f64) -> [f64; 2] {
    let deviate = |doubt: f64| Normal::standard().inverse_cdf(1.0 - doubt / 2.0);
    let doubt = 1.0 - CONFIDENCE;
    let more = (ends[0] - low).max(high - ends[1]).max(0.0) * deviate(doubt / statements) / deviate(doubt);
    [ends[0] - more, ends[1] + more]
}

/// Bounds on the width from 10 to 90 % of the trials.
fn range_ends(one: &Distribution) -> Ends {
    let (low, high) = less(one.quantile_ends(0.9), one.quantile_ends(0.1));
    (low.max(0.0), high)
}

/// The value in an interval that is closest to 0.
fn nearest_to_zero([low, high]: [f64; 2]) -> f64 {
    0f64.clamp(low.min(high), high)
}

fn farthest_from_zero([low, high]: [f64; 2]) -> f64 {
    low.abs().max(high.abs())
}

fn excludes([low, high]: [f64; 2], value: f64) -> bool {
    low > value || high < value
}

/// Whether any of several distributions differs from the others.
pub fn all_alike(samples: &[&Distribution]) -> Option<AndersonDarling> {
    AndersonDarling::of(&Aligned::of(samples))
}

impl MeanDifference {
    /// Means and variances are exact; the interval is Welch's. The interval of the ratio uses the relative variances.
    pub fn of(both: [&Distribution; 2]) -> MeanDifference {
        let values_ps = both.map(|one| one.mean_ps);
        let difference_ps = values_ps[1] - values_ps[0];
        let ratio = values_ps[1] / values_ps[0].max(1.0);
        let parts = both.map(MeanVariance::of);
        let around = |middle: f64, weights: [f64; 2]| -> Option<[f64; 2]> {
            let half = half_width(&[parts[0]?.times(weights[0]), parts[1]?.times(weights[1])]);
            Some([middle - half, middle + half])
        };
        let base = values_ps[0].max(1.0);
        MeanDifference {
            values_ps,
            difference_ps,
            interval_ps: around(difference_ps, [1.0, 1.0]),
            share_interval: around(ratio - 1.0, [(ratio / base).powi(2), base.powi(-2)]),
        }
    }
}

/// The interval of the mean of one distribution.
pub fn mean_interval(one: &Distribution) -> Option<[f64; 2]> {
    let half = half_width(&[MeanVariance::of(one)?]);
    Some([one.mean_ps - half, one.mean_ps + half])
}

/// The variance of a mean, and its degrees of freedom.
#[derive(Clone, Copy)]
struct MeanVariance {
    variance: f64,
    freedom: f64,
}

impl MeanVariance {
    /// None for a single trial.
    fn of(one: &Distribution) -> Option<MeanVariance> {
        let count = one.count() as f64;
        let variance = one.variance_ps2? / count * one.variation.mean;
        Some(MeanVariance { variance, freedom: count - 1.0 })
    }

    fn times(self, weight: f64) -> MeanVariance {
        MeanVariance { variance: self.variance * weight, ..self }
    }
}

/// Half the width of the interval of a sum of means, with the degrees of freedom of Welch and Satterthwaite.
fn half_width(parts: &[MeanVariance]) -> f64 {
    let variance: f64 = parts.iter().map(|part| part.variance).sum();
    if variance <= 0.0 {
        return 0.0;
    }
    let squares: f64 = parts.iter().map(|part| part.variance.powi(2) / part.freedom).sum();
    let deviate = StudentsT::new(0.0, 1.0, variance * variance / squares)
        .map_or(f64::INFINITY, |student| student.inverse_cdf(0.5 + CONFIDENCE / 2.0));
    deviate * variance.sqrt()
}

/// The quantiles of a comparison: those that both counts support, ascending.
fn levels(both: [&Distribution; 2]) -> Vec<f64> {
    ladder().filter(|&q| both.iter().all(|one| one.interval(q, CONFIDENCE).is_some())).collect()
}

/// The difference of a single quantile; the same numbers as in a full comparison.
pub fn difference(both: [&Distribution; 2], q: f64, seed: u64) -> Option<Difference> {
    let mut levels = levels(both);
    let is_other = |level: &f64| (level - q).abs() >= 1e-12;
    if levels.iter().all(is_other) {
        levels.insert(levels.partition_point(|&level| level < q), q);
    }
    Drawn::of(both, &levels, seed).differences().into_iter().find(|found| !is_other(&found.q))
}

/// The interval of one quantile of one distribution.
pub fn quantile_interval(one: &Distribution, q: f64, seed: u64) -> [f64; 2] {
    let levels = [q];
    let drawn = Drawn::of([one, one], &levels, seed);
    drawn.interval(|_, second| second[0], drawn.half_bin(q))
}

/// Resampled quantiles of both: a row for each replicate, a column for each level. Each has two bounds, which are
/// equal within the bins.
struct Drawn<'a> {
    both: [&'a Distribution; 2],
    levels: &'a [f64],
    rows: [Vec<Vec<Ends>>; 2],
}

type Ends = (f64, f64);

/// The bounds of second / first − 1.
fn share(first: Ends, second: Ends) -> Ends {
    (second.0 / first.1.max(1.0) - 1.0, second.1 / first.0.max(1.0) - 1.0)
}

/// The bounds of a difference.
fn less((low, high): Ends, (other_low, other_high): Ends) -> Ends {
    (low - other_high, high - other_low)
}

impl<'a> Drawn<'a> {
    fn of(both: [&'a Distribution; 2], levels: &'a [f64], seed: u64) -> Drawn<'a> {
        let rows = [0, 1].map(|side| {
            let sample: &Distribution = both[side];
            let mut draws = Draws::new(seed, side as u32);
            let (body, tail) = levels.split_at(levels.partition_point(|&level| level <= BODY));
            let count = sample.count() as f64;
            let Variation { body: for_body, tail: for_tail, .. } = sample.variation;
            let mut row = || {
                // If both vary alike, body and tail are drawn together.
                let drawn = match for_body == for_tail {
                    true => draws.levels(count / for_body, levels),
                    false => {
                        [draws.levels(count / for_body, body), draws.levels(count / for_tail, tail)].concat()
                    }
                };
                drawn.into_iter().map(|level| sample.quantile_ends(level)).collect()
            };
            (0..REPLICATES).map(|_| row()).collect()
        });
        Drawn { both, levels, rows }
    }

    fn place(&self, q: f64) -> Option<usize> {
        self.levels.iter().position(|level| (level - q).abs() < 1e-12)
    }

    /// The central 95 % of a statistic over the replicates.
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

    /// A quantile is known to half a bin; outside the bins, its bounds hold the uncertainty.
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
        let moved_ends = less(ends[1], ends[0]);
        let difference = |(place, &q): (usize, &f64)| {
            let difference_ps = known(at(q));
            let half = self.half_bin(q);
            let [first, second] = self.both.map(|one| one.quantile_ends(q));
            let ends_ps = less(second, first);
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
                ends_ps: ends_ps.into(),
                interval_ps: self.interval(|first, second| less(second[place], first[place]), half),
                share_ends: share(first, second).into(),
                share_interval: self.interval(|a, b| share(a[place], b[place]), half / first.0.max(1.0)),
                beyond_shift_ps: if own {
                    Some(0.0)
                } else {
                    difference_ps.zip(shift).map(|(all, shift)| all - shift)
                },
                beyond_ends_ps: if own { [0.0; 2] } else { less(ends_ps, moved_ends).into() },
                beyond_interval_ps: self.interval(beyond, wider),
            }
        };
        self.levels.iter().enumerate().map(difference).collect()
    }

    /// None if the first has no width, or if the counts do not support it.
    fn width(&self) -> Option<Ratio> {
        let (low, high) = self.place(0.1).zip(self.place(0.9))?;
        let [first, second] = self.both.map(range_ends);
        let least = self.half_bin(0.9) + self.half_bin(0.1);
        if first.1 <= 0.0 {
            return None;
        }
        let divided = |a: Ends, b: Ends| (b.0.max(0.0) / a.1.max(1.0), b.1 / a.0.max(1.0));
        let ratio = |a: &[Ends], b: &[Ends]| divided(less(a[high], a[low]), less(b[high], b[low]));
        let ends = match first.0 == first.1 && second.0 == second.1 {
            true => [second.0 / first.0; 2],
            false => divided(first, second).into(),
        };
        let interval = self.interval(ratio, least / first.1);
        Some(Ratio { value: (ends[0] == ends[1]).then_some(ends[0]), ends, interval })
    }
}

#[cfg(test)]
mod tests;
