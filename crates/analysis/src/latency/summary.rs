//! A distribution in numbers: minimum, quantiles with their intervals, moments.

use super::Distribution;
use serde::Serialize;
use straggler_model::latency::Outside;
use straggler_model::stats::CONFIDENCE;

/// Statistics of one distribution. Count, minimum, maximum, mean and standard deviation are exact; quantiles and
/// higher moments are known to the width of a bin.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Summary {
    pub count: u64,
    /// 0 if trials were shorter than the timer's cost; then `min_outside` has the bound.
    pub min_ps: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_outside: Option<Outside>,
    pub max_ps: f64,
    /// As deep as the count supports; each has an interval.
    pub quantiles: Vec<Level>,
    pub mean_ps: f64,
    /// Of the sample; none for a single trial.
    pub sd_ps: Option<f64>,
    /// Trials outside the bins: shorter than the timer's cost, and beyond the last bin. If there are any, skew and
    /// kurtosis are unknown.
    pub outside: [u64; 2],
    /// The third central moment divided by the cubed standard deviation: 0 for symmetric distributions.
    pub skew: Option<f64>,
    /// The fourth central moment divided by the squared variance, less the 3 of a normal distribution.
    pub kurtosis: Option<f64>,
    /// None if trials were shorter than the timer's cost, because the minimum is then unknown.
    pub about_minimum: Option<AboutMinimum>,
}

/// A quantile of the underlying distribution.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Level {
    pub q: f64,
    /// None if it lies outside the bins.
    pub value_ps: Option<f64>,
    /// Its bound, if it lies outside the bins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside: Option<Outside>,
    /// 95 % confidence interval, if trials are independent.
    pub low_ps: f64,
    pub high_ps: f64,
}

/// Moments about the minimum, the best that the machine can do: the rest was lost.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct AboutMinimum {
    pub mean_ps: f64,
    /// Root mean square.
    pub rms_ps: f64,
    /// The third moment divided by the cubed root mean square; none if all trials are equal or some lie outside the
    /// bins.
    pub skew: Option<f64>,
    /// The fourth moment divided by the fourth power of the root mean square, less 3 as for the moments about the mean.
    pub kurtosis: Option<f64>,
}

/// Levels up to 99 %; each further level has one more 9, as long as the count supports it.
const LEVELS: [f64; 9] = [0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99];
const MOST_NINES: i32 = 12;

/// The quantiles to report if the count supports them.
pub fn ladder() -> impl Iterator<Item = f64> {
    LEVELS.into_iter().chain((3..=MOST_NINES).map(|nines| 1.0 - 10f64.powi(-nines)))
}

/// The usual name of a quantile: `median`, `p99.9`.
pub fn level_name(q: f64) -> String {
    if q == 0.5 {
        return "median".into();
    }
    let text = format!("{:.10}", q * 100.0);
    format!("p{}", text.trim_end_matches('0').trim_end_matches('.'))
}

impl Summary {
    pub fn new(distribution: &Distribution) -> Summary {
        let level = |q: f64| {
            let (low_ps, high_ps) = distribution.interval(q, CONFIDENCE)?;
            let (least, most) = distribution.quantile_ends(q);
            let (value_ps, outside) = (distribution.known_quantile(q), distribution.outside(q));
            Some(Level { q, value_ps, outside, low_ps: low_ps.min(least), high_ps: high_ps.max(most) })
        };
        let sd = distribution.variance_ps2.map(f64::sqrt);
        let central = |power: i32| moment(distribution, distribution.mean_ps, power);
        let outside = distribution.unknown();
        let known_sd = sd.filter(|&sd| sd > 0.0 && outside == [0, 0]);
        let scaled = |power: i32| known_sd.map(|sd| central(power) / sd.powi(power));
        Summary {
            count: distribution.count(),
            min_ps: distribution.min_ps,
            min_outside: distribution.outside(0.0),
            max_ps: distribution.max_ps,
            quantiles: ladder().filter_map(level).collect(),
            mean_ps: distribution.mean_ps,
            sd_ps: sd,
            outside,
            skew: scaled(3),
            kurtosis: scaled(4).map(|ratio| ratio - 3.0),
            about_minimum: AboutMinimum::new(distribution),
        }
    }

    pub fn at(&self, q: f64) -> Option<&Level> {
        self.quantiles.iter().find(|level| (level.q - q).abs() < 1e-12)
    }
}

impl AboutMinimum {
    fn new(distribution: &Distribution) -> Option<AboutMinimum> {
        if distribution.unknown()[0] > 0 {
            return None;
        }
        let about = |power: i32| moment(distribution, distribution.min_ps, power);
        let mean_ps = distribution.mean_ps - distribution.min_ps;
        // The mean square about any point is the variance plus the squared distance from the mean, both exact.
        let count = distribution.count() as f64;
        let variance = distribution.variance_ps2.unwrap_or(0.0) * (count - 1.0) / count;
        let rms_ps = (variance + mean_ps * mean_ps).sqrt();
        let is_known = rms_ps > 0.0 && distribution.unknown() == [0, 0];
        let scaled = |power: i32| is_known.then(|| about(power) / rms_ps.powi(power));
        Some(AboutMinimum { mean_ps, rms_ps, skew: scaled(3), kurtosis: scaled(4).map(|ratio| ratio - 3.0) })
    }
}

/// The mean power of the distance from a point, with every trial in the middle of its cell.
fn moment(distribution: &Distribution, about: f64, power: i32) -> f64 {
    let middle = |cell: &super::distribution::Cell| {
        cell.middle().clamp(distribution.min_ps, distribution.max_ps) - about
    };
    let sum: f64 = distribution.cells().iter().map(|cell| cell.count as f64 * middle(cell).powi(power)).sum();
    sum / distribution.count() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latency::samples::{distribution, lognormal};
    use straggler_model::Time;
    use straggler_model::latency::{Bins, Histogram};

    /// 2, 4, 4, 4, 5, 5, 7, 9: about the mean of 5, the cubes add up to 42 and the fourth powers to 356; about the
    /// minimum of 2, the values add up to 24 and the squares to 104.
    #[test]
    fn moments_by_hand() {
        let values = [2, 4, 4, 4, 5, 5, 7, 9].map(|value| Time(value * 1_000_000));
        let found = Summary::new(&Distribution::of_sorted(&values).unwrap());
        let sd = (32f64 / 7.0).sqrt();
        let near = |one: f64, other: f64| assert!((one - other).abs() < 1e-5 * other.abs(), "{one} {other}");
        near(found.sd_ps.unwrap(), sd * 1e6);
        near(found.skew.unwrap(), 42.0 / 8.0 / sd.powi(3));
        near(found.kurtosis.unwrap(), 356.0 / 8.0 / sd.powi(4) - 3.0);
        near(found.about_minimum.unwrap().mean_ps, 3e6);
        near(found.about_minimum.unwrap().rms_ps, 13f64.sqrt() * 1e6);
        // The fourth powers of 0, 2, 2, 2, 3, 3, 5 and 7 add up to 3236.
        near(found.about_minimum.unwrap().kurtosis.unwrap(), 3236.0 / 8.0 / 169.0 - 3.0);
        assert_eq!(found.quantiles.iter().map(|level| level.q).collect::<Vec<f64>>(), [0.5]);
        let one = Summary::new(&Distribution::of_sorted(&values[..1]).unwrap());
        assert_eq!((one.sd_ps, one.skew, one.quantiles.len()), (None, None, 0));
    }

    /// The interval misses a known quantile in about 5 of 100 samples.
    #[test]
    fn intervals_hold_known_quantiles() {
        let mut missed = [0; 3];
        for seed in 0..100 {
            let found = Summary::new(&distribution(&lognormal(seed, 2000, 0.0, 5e6, 0.3)));
            for (place, (q, z)) in [(0.25, -0.67449), (0.5, 0.0), (0.99, 2.32635)].into_iter().enumerate() {
                let (level, truth) = (found.at(q).unwrap(), 5e6 * (0.3f64 * z).exp());
                missed[place] += i32::from(!(level.low_ps..=level.high_ps).contains(&truth));
            }
        }
        assert!(missed.iter().all(|&missed| missed <= 12), "{missed:?}");
    }

    /// Half of the trials lie beyond the last bin: quantiles there have a bound and an interval, but no value.
    #[test]
    fn nothing_is_made_up_beyond_the_bins() {
        let bins = Bins::FixedWidth { width_ps: 10, count: 10 };
        let mut times = Histogram::new(bins);
        (0..1000u64).for_each(|ps| times.record(Time(if ps < 500 { 50 } else { 1000 + ps })));
        let found = Summary::new(&Distribution::from_histogram(&times).unwrap());
        let level = |q: f64| *found.at(q).unwrap();
        assert!(level(0.25).value_ps.is_some() && level(0.25).outside.is_none());
        let deep = level(0.9);
        assert_eq!((deep.value_ps, deep.outside), (None, Some(Outside::Above(Time(100)))));
        assert_eq!((deep.low_ps, deep.high_ps), (100.0, 1999.0));
        assert_eq!((found.outside, found.skew, found.kurtosis), ([0, 500], None, None));
        let about = found.about_minimum.unwrap();
        assert_eq!((about.skew, about.kurtosis), (None, None));
        // These are exact for any bins.
        assert!(found.sd_ps.is_some() && about.rms_ps > 0.0);
        // Below the timer's cost there is only a bound, for quantiles and for the minimum.
        (0..200).for_each(|_| times.record_underflow());
        let found = Summary::new(&Distribution::from_histogram(&times).unwrap());
        let bound = Some(Outside::Below(Time(60)));
        assert_eq!((found.min_outside, found.at(0.05).unwrap().outside), (bound, bound));
        assert_eq!((found.about_minimum, found.at(0.05).unwrap().high_ps), (None, 60.0));
    }

    #[test]
    fn deep_as_the_count_supports() {
        let deepest = |count| {
            Summary::new(&distribution(&lognormal(1, count, 0.0, 5e6, 0.3))).quantiles.last().unwrap().q
        };
        assert_eq!(deepest(367), 0.95);
        assert_eq!(deepest(368), 0.99);
        assert_eq!(deepest(40_000), 0.9999);
        let names: Vec<String> = ladder().map(level_name).collect();
        assert_eq!(names[4..11], ["median", "p75", "p90", "p95", "p99", "p99.9", "p99.99"]);
    }
}
