//! Two distributions side by side: where they differ, by how much, and how.

mod interval;

use super::Distribution;
use super::Variation;
use super::draws::Draws;
use super::rank_tests::{Aligned, AndersonDarling, KolmogorovSmirnov, MannWhitney};
use super::summary::ladder;
use interval::{Ends, Estimate, Rows, Scale, intervals};
use serde::Serialize;
use straggler_model::latency::Outside;
use straggler_model::stats::CONFIDENCE;

pub use interval::BODY;

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

/// The means of two samples and their difference.
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
    /// The 95 % confidence interval of the difference (see `interval.rs`). Quantiles outside the bins lie anywhere
    /// between their bound and the minimum or maximum.
    pub interval_ps: [f64; 2],
    /// The same for second / first − 1.
    pub share_ends: [f64; 2],
    pub share_interval: [f64; 2],
    /// By side: whether its runs are too few for how much they differ, so that the interval ends where they support no
    /// further values.
    pub few_runs: [bool; 2],
    /// The difference that remains after the medians are aligned.
    pub beyond_shift_ps: Option<f64>,
    pub beyond_ends_ps: [f64; 2],
    pub beyond_interval_ps: [f64; 2],
    /// The same, together with the other statements of the verdict.
    #[serde(skip)]
    beyond_corrected_ps: [f64; 2],
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

    /// Whether the tail differs here with the medians aligned, significantly and by enough to matter.
    fn shows_tail(&self) -> bool {
        let matters = self.least_beyond_shift_ps().abs() >= TAIL * self.base_ps();
        self.q >= DEEP && matters && excludes(self.beyond_corrected_ps, 0.0)
    }
}

/// How many times as long a quantile of the second sample is as that of the first.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Ratio {
    /// None if it depends on times outside the bins.
    pub value: Option<f64>,
    /// Its bounds; both equal the value if it is known.
    pub ends: [f64; 2],
    pub interval: [f64; 2],
    #[serde(skip)]
    corrected: [f64; 2],
}

/// How the second differs; several fields may be set. The shift is decided by the interval of the median: two samples
/// of one distribution get one in at most 5 of 100 cases. The other statements together add at most 1. Only
/// differences that matter count: 1 % of the median for the shift, 10 % for the spread, 5 % for the tail.
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
    /// There is a difference, but none that is known to matter.
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

/// Whether the second sample has less or more of something.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    Less,
    More,
}

impl Direction {
    fn from_sign(value: f64) -> Direction {
        if value > 0.0 { Direction::More } else { Direction::Less }
    }
}

/// Smaller differences of the medians do not matter.
pub const SHIFT: f64 = 0.01;
const SPREAD: f64 = 0.1;
const TAIL: f64 = 0.05;
/// Where the tail begins.
const DEEP: f64 = 0.99;
/// Kolmogorov–Smirnov, Mann–Whitney and Anderson–Darling.
const TESTS: f64 = 3.0;

impl Comparison {
    /// The same seed gives the same numbers.
    pub fn new(first: &Distribution, second: &Distribution, seed: u64) -> Comparison {
        let both = [first, second];
        let aligned = Aligned::new(&both);
        let levels = levels(both);
        let sampled = Sampled::new(both, &levels, seed);
        let quantiles = sampled.differences();
        let width = sampled.width();
        let mut comparison = Comparison {
            counts: both.map(Distribution::count),
            variation: both.map(|one| one.variation),
            min_ps: both.map(|one| one.min_ps),
            max_ps: both.map(|one| one.max_ps),
            mean: MeanDifference::new(both),
            quantiles,
            width,
            kolmogorov_smirnov: KolmogorovSmirnov::new(&aligned, 0, 1),
            mann_whitney: MannWhitney::new(&aligned, 0, 1),
            anderson_darling: AndersonDarling::new(&aligned),
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

    fn judged(&self, widths: [Ends; 2]) -> Change {
        let Some(median) = self.at(0.5) else { return Change { too_few: true, ..Change::default() } };
        let found = self.found(median, widths);
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

    fn found(&self, median: &Difference, widths: [Ends; 2]) -> Change {
        let (base, moved) = (median.base_ps(), median.least_ps());
        let shift = (median.is_sure() && moved.abs() >= SHIFT * base).then(|| Direction::from_sign(moved));
        let spread = self.spread(widths, SHIFT * base);
        let tail = self.quantiles.iter().rfind(|found| found.shows_tail());
        let (tail_at, tail) =
            tail.map(|found| (found.q, Direction::from_sign(found.least_beyond_shift_ps()))).unzip();
        let differs = median.is_sure() || self.tests_differ();
        let slight = differs && shift.is_none() && spread.is_none() && tail.is_none();
        Change { shift, spread, tail, tail_at, slight, ..Change::default() }
    }

    fn tests_differ(&self) -> bool {
        let anderson_darling = self.anderson_darling.map_or(1.0, |test| test.p);
        let tests = [self.kolmogorov_smirnov.p, self.mann_whitney.p, anderson_darling];
        let levels: Vec<f64> = self.quantiles.iter().map(|found| found.q).collect();
        tests.into_iter().any(|p| p < (1.0 - CONFIDENCE) / statements(&levels))
    }

    /// If all trials of the first are equal, there is no ratio of widths: any width that matters is wider.
    fn spread(&self, [first, second]: [Ends; 2], least: f64) -> Option<Direction> {
        let wider = nearest_to_zero(less(second, first).into());
        let is_sure = match self.width {
            Some(Ratio { ends: [low, high], corrected, .. }) => {
                excludes(corrected, 1.0) && nearest_to_zero([low - 1.0, high - 1.0]).abs() >= SPREAD
            }
            None => first.1 <= 0.0,
        };
        (is_sure && wider.abs() >= least).then(|| Direction::from_sign(wider))
    }
}

/// The statements of a verdict other than that on the median: the spread, the tail at each quantile, and three tests.
/// By Bonferroni's correction, chance makes any of them in at most 1 of 100 cases: as five times as many statements with
/// 95 % confidence.
fn statements(levels: &[f64]) -> f64 {
    5.0 * (1.0 + levels.iter().filter(|&&level| level >= DEEP).count() as f64 + TESTS)
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
    AndersonDarling::new(&Aligned::new(samples))
}

impl MeanDifference {
    /// The means of all trials, which are exact.
    pub fn new(both: [&Distribution; 2]) -> MeanDifference {
        let values_ps = both.map(|one| one.mean_ps);
        let parts = both.map(Estimate::of_mean);
        let found = parts[0].as_ref().zip(parts[1].as_ref()).map(|(one, other)| intervals([one, other], 1.0));
        MeanDifference {
            values_ps,
            difference_ps: values_ps[1] - values_ps[0],
            interval_ps: found.map(|(difference, _)| difference),
            share_interval: found.map(|(_, ratio)| ratio.map(|ratio| ratio - 1.0)),
        }
    }
}

/// The interval of the mean of one distribution.
pub fn mean_interval(one: &Distribution) -> Option<[f64; 2]> {
    Estimate::of_mean(one).map(|mean| mean.interval())
}

/// The quantiles of a comparison: those that both support, ascending.
fn levels(both: [&Distribution; 2]) -> Vec<f64> {
    ladder().filter(|&q| both.iter().all(|one| one.lacks(q).is_none())).collect()
}

/// The difference of a single quantile; the same numbers as in a full comparison.
pub fn difference(both: [&Distribution; 2], q: f64, seed: u64) -> Option<Difference> {
    let mut levels = levels(both);
    let is_other = |level: &f64| (level - q).abs() >= 1e-12;
    if levels.iter().all(is_other) {
        levels.insert(levels.partition_point(|&level| level < q), q);
    }
    Sampled::new(both, &levels, seed).differences().into_iter().find(|found| !is_other(&found.q))
}

/// One quantile of one distribution: its bounds and its interval.
pub fn quantile_interval(one: &Distribution, q: f64, seed: u64) -> ([f64; 2], [f64; 2]) {
    let levels = [q];
    let found = Rows::new(one, &levels, seed, 1).estimate(Scale::Logarithm, &[0], |row| row[0]);
    (found.ends.into(), found.interval())
}

/// Quantiles of both, resampled or by run.
struct Sampled<'a> {
    both: [&'a Distribution; 2],
    levels: &'a [f64],
    rows: [Rows<'a>; 2],
}

/// The bounds of a difference.
fn less((low, high): Ends, (other_low, other_high): Ends) -> Ends {
    (low - other_high, high - other_low)
}

fn divided(first: Ends, second: Ends) -> [f64; 2] {
    [second.0 / first.1.max(1.0), second.1 / first.0.max(1.0)]
}

fn known((low, high): Ends) -> Option<f64> {
    (low == high).then_some(low)
}

impl<'a> Sampled<'a> {
    fn new(both: [&'a Distribution; 2], levels: &'a [f64], seed: u64) -> Sampled<'a> {
        Sampled { both, levels, rows: [0, 1].map(|side| Rows::new(both[side], levels, seed, side as u32)) }
    }

    fn estimates(&self, scale: Scale, places: &[usize], number: impl Fn(&[Ends]) -> Ends) -> [Estimate; 2] {
        self.rows.each_ref().map(|rows| rows.estimate(scale, places, &number))
    }

    fn differences(&self) -> Vec<Difference> {
        let middle = self.rows[0].place(0.5);
        (0..self.levels.len()).map(|place| self.difference(place, middle.unwrap_or(place))).collect()
    }

    fn difference(&self, place: usize, middle: usize) -> Difference {
        let q = self.levels[place];
        let found = self.estimates(Scale::Logarithm, &[place], |row| row[place]);
        let (interval_ps, ratio) = intervals(found.each_ref(), 1.0);
        let few_runs = found.each_ref().map(Estimate::is_cut);
        let [first, second] = found.map(|one| one.ends);
        let ends_ps = less(second, first);
        let (mut beyond_ends, mut beyond_interval_ps, mut beyond_corrected_ps) =
            ((0.0, 0.0), [0.0; 2], [0.0; 2]);
        if place != middle {
            let beyond = self.estimates(Scale::Plain, &[place, middle], |row| less(row[place], row[middle]));
            beyond_ends = less(beyond[1].ends, beyond[0].ends);
            beyond_interval_ps = intervals(beyond.each_ref(), 1.0).0;
            beyond_corrected_ps = intervals(beyond.each_ref(), statements(self.levels)).0;
        }
        Difference {
            q,
            values_ps: [first, second].map(known),
            outside: self.both.map(|one| one.outside_of_runs(q)),
            difference_ps: known(ends_ps),
            ends_ps: ends_ps.into(),
            interval_ps,
            share_ends: divided(first, second).map(|ratio| ratio - 1.0),
            share_interval: ratio.map(|ratio| ratio - 1.0),
            few_runs,
            beyond_shift_ps: known(beyond_ends),
            beyond_ends_ps: beyond_ends.into(),
            beyond_interval_ps,
            beyond_corrected_ps,
        }
    }

    /// None if the first has no width, or if the counts do not support it.
    fn width(&self) -> Option<Ratio> {
        let (low, high) = self.rows[0].place(0.1).zip(self.rows[0].place(0.9))?;
        if range_ends(self.both[0]).1 <= 0.0 {
            return None;
        }
        let wide = |row: &[Ends]| {
            let (least, most) = less(row[high], row[low]);
            (least.max(0.0), most)
        };
        let found = self.estimates(Scale::Logarithm, &[low, high], wide);
        let ends = divided(found[0].ends, found[1].ends);
        let [interval, corrected] =
            [1.0, statements(self.levels)].map(|statements| intervals(found.each_ref(), statements).1);
        Some(Ratio { value: known(ends.into()), ends, interval, corrected })
    }
}

#[cfg(test)]
mod tests;
