//! The one interval of a comparison: the table, the verdict and the gates all use it.
//!
//! Each side estimates a statistic, on a logarithmic scale, with its standard deviations towards smaller and larger
//! values and their degrees of freedom. Runs are the unit of replication if a side has three or more: the statistic is
//! computed of each run, and its mean has the variance of the runs. Otherwise quantiles are resampled from the trials,
//! which count as fewer if they depend on each other. Both sides give an ellipse of pairs of values, whose size is
//! Student's quantile at the degrees of freedom of Welch and Satterthwaite. The interval of the ratio is the range of
//! ratios in it, that of the difference the range of differences: both exclude equality, or neither does. With runs
//! on both sides, the interval of the ratio is Welch's on the logarithms of the runs.
//!
//! Student's quantile of three runs that jump between microseconds and milliseconds reaches seconds, which no
//! observation supports. So no interval reaches farther beyond the values of the runs than these differ from each
//! other. That cuts off next to nothing where runs vary evenly: with three, Student's interval reaches at most 1.1 times
//! their range beyond them.

use super::{Distribution, Draws};
use crate::latency::variation::student;
use statrs::distribution::{ContinuousCDF, Normal};
use straggler_model::stats::{CONFIDENCE, quantile_of_sorted};

/// Bounds on a value; equal unless it lies outside the bins.
pub type Ends = (f64, f64);

/// The scale on which a statistic varies evenly.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Scale {
    /// For times and widths.
    Logarithm,
    /// For differences of times, which may be 0 or negative.
    Plain,
}

impl Scale {
    fn on(self, value: f64) -> f64 {
        if self == Scale::Logarithm { value.max(1.0).ln() } else { value }
    }

    fn back(self, value: f64) -> f64 {
        if self == Scale::Logarithm { value.exp() } else { value }
    }
}

/// A statistic of one side.
#[derive(Clone, Copy, Debug)]
pub struct Estimate {
    pub ends: Ends,
    scale: Scale,
    /// Standard deviations on the scale, towards smaller and towards larger values.
    deviations: [f64; 2],
    freedom: f64,
    /// What the values of runs support.
    supported: Ends,
}

/// Without runs, the trials support any value.
const ANY: Ends = (f64::NEG_INFINITY, f64::INFINITY);

/// Points on a quarter of the ellipse.
const ANGLES: u32 = 64;

impl Estimate {
    /// The mean of all trials; none for a single one.
    pub fn of_mean(one: &Distribution) -> Option<Estimate> {
        let (count, scale) = (one.count() as f64, Scale::Logarithm);
        let ends = (one.mean_ps, one.mean_ps);
        if one.variation.between_runs {
            let means: Vec<f64> = one.runs.iter().map(|run| scale.on(run.mean_ps)).collect();
            let (_, deviation) = mean(&means);
            let supported = supported(one.runs.iter().map(|run| (run.mean_ps, run.mean_ps)), one.min_ps, 0.0);
            let freedom = one.freedom();
            return Some(Estimate { ends, scale, deviations: [deviation; 2], freedom, supported });
        }
        let variance = one.variance_ps2? / count * one.variation.mean;
        let deviations = [variance.sqrt() / one.mean_ps.max(1.0); 2];
        let freedom = one.freedom().min(count - 1.0);
        Some(Estimate { ends, scale, deviations, freedom, supported: ANY })
    }

    /// The interval of this side alone.
    pub fn interval(&self) -> [f64; 2] {
        let size = size(&[self], 1.0);
        [self.lower(size, true), self.upper(size, true)]
    }

    /// Whether the runs differ so much that the interval ends where they no longer support it.
    pub fn is_cut(&self) -> bool {
        let size = size(&[self], 1.0);
        let (low, high) = self.supported;
        self.reach_down(size) < CUT * low || self.reach_up(size) * CUT > high
    }

    fn lower(&self, deviations: f64, supported: bool) -> f64 {
        let low = self.reach_down(deviations);
        if supported { low.max(self.supported.0).min(self.ends.0) } else { low }
    }

    fn upper(&self, deviations: f64, supported: bool) -> f64 {
        let high = self.reach_up(deviations);
        if supported { high.min(self.supported.1).max(self.ends.1) } else { high }
    }

    fn reach_down(&self, deviations: f64) -> f64 {
        match self.scale {
            Scale::Logarithm => self.ends.0 * (-deviations * self.deviations[0]).exp(),
            Scale::Plain => self.ends.0 - deviations * self.deviations[0],
        }
    }

    fn reach_up(&self, deviations: f64) -> f64 {
        match self.scale {
            Scale::Logarithm => self.ends.1 * (deviations * self.deviations[1]).exp(),
            Scale::Plain => self.ends.1 + deviations * self.deviations[1],
        }
    }

    fn variance(&self) -> f64 {
        ((self.deviations[0] + self.deviations[1]) / 2.0).powi(2)
    }
}

/// An interval is cut if it would reach beyond what runs support by more than this factor.
const CUT: f64 = 0.5;

/// The range of values that runs support: at most as far beyond them as they differ, or as bins are wide. No time is
/// shorter than 0: then `least`, the shortest trial, is the limit.
fn supported(runs: impl Iterator<Item = Ends>, least: f64, half_bin: f64) -> Ends {
    let widest = |all: Ends, run: Ends| (all.0.min(run.0), all.1.max(run.1));
    let (low, high) = runs.fold((f64::INFINITY, f64::NEG_INFINITY), widest);
    let range = high - low + BINS * half_bin;
    (if low > range { low - range } else { least.min(low) }, high + range)
}

/// Student's interval of three runs in the same bin reaches this many halves of the bin.
const BINS: f64 = 2.5;

/// The intervals of second minus first and of second / first, with 95 % confidence for this many statements together.
pub fn intervals([first, second]: [&Estimate; 2], statements: f64) -> ([f64; 2], [f64; 2]) {
    let size = size(&[first, second], statements);
    // With more confidence than 95 % for each statement, intervals reach farther.
    let supported = statements <= 1.0;
    let pairs = (0..=ANGLES).map(|step| {
        let angle = f64::from(step) / f64::from(ANGLES) * std::f64::consts::FRAC_PI_2;
        let (sine, cosine) = angle.sin_cos();
        let [one, other] = [sine, cosine].map(|part| part * size);
        [
            (first.upper(one, supported), second.lower(other, supported)),
            (first.lower(one, supported), second.upper(other, supported)),
        ]
    });
    let (mut difference, mut ratio) =
        ([f64::INFINITY, f64::NEG_INFINITY], [f64::INFINITY, f64::NEG_INFINITY]);
    for [low, high] in pairs {
        difference = [difference[0].min(low.1 - low.0), difference[1].max(high.1 - high.0)];
        ratio = [ratio[0].min(low.1 / low.0.max(1.0)), ratio[1].max(high.1 / high.0.max(1.0))];
    }
    (difference, ratio)
}

/// How many standard deviations the interval of a sum of estimates reaches.
fn size(parts: &[&Estimate], statements: f64) -> f64 {
    let variance: f64 = parts.iter().map(|part| part.variance()).sum();
    let squares: f64 = parts.iter().map(|part| part.variance().powi(2) / part.freedom).sum();
    let freedom = if squares > 0.0 { variance * variance / squares } else { f64::INFINITY };
    student(freedom, 1.0 - (1.0 - CONFIDENCE) / statements)
}

/// The mean of independent values, and its standard deviation.
fn mean(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / (count - 1.0) / count).sqrt())
}

/// Quantiles of one side again and again: a row for each run, or for each time its trials are resampled; a column for
/// each level.
pub struct Rows<'a> {
    one: &'a Distribution,
    levels: &'a [f64],
    rows: Vec<Vec<Ends>>,
}

const REPLICATES: usize = 1000;
/// Quantiles up to this one vary like the median, those beyond it like the 99 % quantile.
pub const BODY: f64 = 0.9;

impl<'a> Rows<'a> {
    /// `levels` ascend; the same seed and side give the same rows.
    pub fn new(one: &'a Distribution, levels: &'a [f64], seed: u64, side: u32) -> Rows<'a> {
        let at = |sample: &Distribution, levels: &[f64]| -> Vec<Ends> {
            levels.iter().map(|&level| sample.quantile_ends(level)).collect()
        };
        if one.variation.between_runs {
            return Rows { one, levels, rows: one.runs.iter().map(|run| at(run, levels)).collect() };
        }
        let mut draws = Draws::new(seed, side);
        let (body, tail) = levels.split_at(levels.partition_point(|&level| level <= BODY));
        let count = one.count() as f64;
        let [for_body, for_tail] = [one.variation.body, one.variation.tail];
        let mut row = || {
            // If both vary alike, body and tail are drawn together.
            let drawn = match for_body == for_tail {
                true => draws.levels(count / for_body, levels),
                false => {
                    [draws.levels(count / for_body, body), draws.levels(count / for_tail, tail)].concat()
                }
            };
            at(one, &drawn)
        };
        Rows { one, levels, rows: (0..REPLICATES).map(|_| row()).collect() }
    }

    pub fn place(&self, q: f64) -> Option<usize> {
        self.levels.iter().position(|level| (level - q).abs() < 1e-12)
    }

    /// A function of the quantiles at some places, which are known to half a bin; outside the bins, the bounds hold the
    /// uncertainty.
    pub fn estimate(&self, scale: Scale, places: &[usize], number: impl Fn(&[Ends]) -> Ends) -> Estimate {
        let (lows, highs): (Vec<f64>, Vec<f64>) = self
            .rows
            .iter()
            .map(|row| number(row))
            .map(|(low, high)| (scale.on(low), scale.on(high)))
            .unzip();
        let half: f64 = places.iter().map(|&place| self.half_bin(self.levels[place])).sum();
        let mut of_runs = ANY;
        let (ends, deviations) = if self.one.variation.between_runs {
            let ((low, below), (high, above)) = (mean(&lows), mean(&highs));
            if scale == Scale::Logarithm {
                let least = if places.len() == 1 { self.one.min_ps } else { 0.0 };
                of_runs = supported(self.rows.iter().map(|row| number(row)), least, half);
            }
            ((scale.back(low), scale.back(high)), [below, above])
        } else {
            let own: Vec<Ends> = self.levels.iter().map(|&level| self.one.quantile_ends(level)).collect();
            let ends = number(&own);
            (ends, resampled(lows, highs, (scale.on(ends.0), scale.on(ends.1))))
        };
        // A time is anywhere in its bin with the same probability.
        let within = half / 3f64.sqrt() / if scale == Scale::Logarithm { ends.0.max(1.0) } else { 1.0 };
        let deviations = deviations.map(|deviation| deviation.hypot(within));
        Estimate { ends, scale, deviations, freedom: self.one.freedom(), supported: of_runs }
    }

    fn half_bin(&self, q: f64) -> f64 {
        let (low, high) = self.one.bounds(q);
        if self.one.outside(q).is_some() { 0.0 } else { (high - low) / 2.0 }
    }
}

/// How far the central 95 % of resampled values reach, in the standard deviations of a normal distribution.
fn resampled(mut lows: Vec<f64>, mut highs: Vec<f64>, (low, high): Ends) -> [f64; 2] {
    lows.sort_by(f64::total_cmp);
    highs.sort_by(f64::total_cmp);
    let doubt = (1.0 - CONFIDENCE) / 2.0;
    let normal = Normal::standard().inverse_cdf(1.0 - doubt);
    let below = low - quantile_of_sorted(&lows, doubt).unwrap_or(low);
    let above = quantile_of_sorted(&highs, 1.0 - doubt).unwrap_or(high) - high;
    [below, above].map(|reach| reach.max(0.0) / normal)
}
