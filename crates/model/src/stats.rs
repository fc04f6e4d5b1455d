//! Order statistics, means and distributions of plain values.
//!
//! A quantile is always one of the values: the smallest with at least the given share of all values at or
//! below it. [`Summary`] and [`distance`] take sorted values, so that a sample is sorted only once.

mod boxes;
mod histogram;
mod median;
mod ranks;
pub mod robust;

pub use boxes::BoxPlot;
pub use histogram::{Bin, histogram};
pub use median::{Middle, lower_median, median};
pub use ranks::quantile_ranks;

use statrs::distribution::{ContinuousCDF, StudentsT};

/// The confidence of all intervals that straggler states.
pub const CONFIDENCE: f64 = 0.95;

/// The median of a slice, which it reorders; for an even number of values the lower of the
/// middle two, so that the median of integers is one of them.
pub fn median_in_place<T: Ord + Copy>(values: &mut [T]) -> Option<T> {
    quantile_in_place(values, 0.5)
}

/// Like [`median_in_place`], for floats; 0 if there are none.
pub fn median_of(mut values: Vec<f64>) -> f64 {
    lower_median(&mut values)
}

/// The mean; 0 if there are no values.
pub fn mean_of(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The smallest value with at least a share `q` of the values at or below it (the inverse of the
/// empirical distribution function). Reorders the slice.
pub fn quantile_in_place<T: Ord + Copy>(values: &mut [T], q: f64) -> Option<T> {
    if values.is_empty() {
        return None;
    }
    Some(*values.select_nth_unstable(position(values.len(), q)).1)
}

/// Like [`quantile_in_place`], for a sorted slice.
pub fn quantile_of_sorted<T: Copy>(values: &[T], q: f64) -> Option<T> {
    values.get(position(values.len(), q)).copied()
}

/// Confidence interval of a quantile, from order statistics: two of the values. `None` if there are too few
/// values ([`quantile_ranks`]).
pub fn quantile_interval_of_sorted<T: Copy>(values: &[T], q: f64, confidence: f64) -> Option<(T, T)> {
    let (low, high) = quantile_ranks(values.len() as u64, q, confidence)?;
    let at = |rank: u64| values.get(rank as usize - 1).copied();
    at(low).zip(at(high))
}

/// The least number of values for a confidence interval of this quantile: the chance that all lie on one
/// side, (1 - q)^n or q^n, must be at most half of 1 - confidence. `None` for quantiles 0 and 1, for which no
/// number suffices, and for an invalid confidence.
pub fn samples_needed(q: f64, confidence: f64) -> Option<u64> {
    let doubt = (1.0 - confidence) / 2.0;
    let inside = |share: f64| share > 0.0 && share < 1.0;
    if !inside(q) || !inside(confidence) {
        return None;
    }
    // `ln_1p` gives ln(1 - q) accurately for tiny q.
    let log = q.ln().max((-q).ln_1p());
    let enough = |count: f64| log * count <= doubt.ln();
    // Rounding errors may push the quotient just above a whole number.
    let guess = (doubt.ln() / log).ceil();
    let count = if enough(guess - 1.0) { guess - 1.0 } else { guess };
    Some(count.max(1.0) as u64)
}

/// Why a quantile cannot be computed.
#[derive(Clone, Copy, PartialEq, Debug, thiserror::Error)]
pub enum QuantileError {
    #[error("{q} is not a quantile: give a number between 0 and 1, both excluded")]
    Outside { q: f64 },
    #[error(
        "the {q} quantile needs at least {needed} replicas for a {} % confidence interval, but there are {count}: \
         use a quantile nearer to 0.5, or run at least {needed} replicas",
        confidence * 100.0
    )]
    TooFew { q: f64, confidence: f64, needed: u64, count: usize },
}

/// A quantile of sorted values with its confidence interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Quantile<T> {
    pub value: T,
    pub low: T,
    pub high: T,
}

/// The quantile with its interval, or an error with the number of values needed.
pub fn quantile_with_interval<T: Copy>(
    sorted: &[T],
    q: f64,
    confidence: f64,
) -> Result<Quantile<T>, QuantileError> {
    let needed = samples_needed(q, confidence).ok_or(QuantileError::Outside { q })?;
    let found = quantile_of_sorted(sorted, q).zip(quantile_interval_of_sorted(sorted, q, confidence));
    match found {
        Some((value, (low, high))) => Ok(Quantile { value, low, high }),
        None => {
            let needed = needed.max(sorted.len() as u64 + 1);
            Err(QuantileError::TooFew { q, confidence, needed, count: sorted.len() })
        }
    }
}

/// T / T0 − 1: the relative increase of a run's time over the time without noise.
pub fn slowdown(time: crate::Time, quiet: crate::Time) -> f64 {
    if time == quiet {
        // Also when both are 0.
        return 0.0;
    }
    time.ps() as f64 / quiet.ps().max(1) as f64 - 1.0
}

/// The index of the quantile among `count` sorted values.
fn position(count: usize, q: f64) -> usize {
    let position = (q.clamp(0.0, 1.0) * count as f64).ceil() as usize;
    position.clamp(1, count.max(1)) - 1
}

/// A distribution in ten numbers.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Summary {
    pub count: usize,
    pub mean: f64,
    /// Of the sample, with n - 1 in the denominator. 0 for a single value.
    pub sd: f64,
    pub min: u64,
    pub p1: u64,
    pub p25: u64,
    pub median: u64,
    pub p75: u64,
    pub p99: u64,
    pub max: u64,
}

impl Summary {
    /// Returns `None` for no values.
    pub fn of_sorted(values: &[u64]) -> Option<Summary> {
        let at = |q| quantile_of_sorted(values, q);
        let mean = mean(values)?;
        let squares: f64 = values.iter().map(|&value| (value as f64 - mean).powi(2)).sum();
        let freedom = values.len().saturating_sub(1).max(1);
        Some(Summary {
            count: values.len(),
            mean,
            sd: (squares / freedom as f64).sqrt(),
            min: at(0.0)?,
            p1: at(0.01)?,
            p25: at(0.25)?,
            median: at(0.5)?,
            p75: at(0.75)?,
            p99: at(0.99)?,
            max: at(1.0)?,
        })
    }
}

/// The mean; the sum is exact, so that the order of the values does not matter.
pub fn mean(values: &[u64]) -> Option<f64> {
    let sum: u128 = values.iter().map(|&value| u128::from(value)).sum();
    (!values.is_empty()).then(|| sum as f64 / values.len() as f64)
}

/// The largest difference between the empirical distribution functions of two sorted samples
/// (Kolmogorov–Smirnov distance). 1 if exactly one sample is empty.
pub fn distance(one: &[u64], other: &[u64]) -> f64 {
    if one.is_empty() || other.is_empty() {
        return if one.is_empty() && other.is_empty() { 0.0 } else { 1.0 };
    }
    let (mut i, mut j, mut largest) = (0, 0, 0.0f64);
    while let (Some(&x), Some(&y)) = (one.get(i), other.get(j)) {
        // Advance both functions past equal values before comparing them.
        let at = x.min(y);
        i += one[i..].iter().take_while(|&&value| value == at).count();
        j += other[j..].iter().take_while(|&&value| value == at).count();
        let difference = i as f64 / one.len() as f64 - j as f64 / other.len() as f64;
        largest = largest.max(difference.abs());
    }
    largest
}

/// The value that the [`distance`] of two samples of the same distribution stays below in 99 of 100 cases, if
/// their values are independent: Smirnov's asymptotic formula, sqrt(-ln(0.01 / 2) / 2 · (1/n + 1/m)). `other`
/// is `None` for a sample compared with the distribution it was drawn from. Conservative for repeated values.
pub fn chance_distance(count: usize, other: Option<usize>) -> f64 {
    let inverse = |count: usize| 1.0 / count as f64;
    (-(0.01f64 / 2.0).ln() / 2.0 * (inverse(count) + other.map_or(0.0, inverse))).sqrt()
}

/// A mean with its confidence interval.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize)]
pub struct MeanInterval {
    pub mean: f64,
    pub low: f64,
    pub high: f64,
}

/// The mean of independent values with its confidence interval by Student's t, whose width is infinite
/// for a single value. `None` without any.
pub fn mean_interval(values: &[f64], confidence: f64) -> Option<MeanInterval> {
    if values.is_empty() {
        return None;
    }
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let half = match StudentsT::new(0.0, 1.0, count - 1.0) {
        Ok(t) => t.inverse_cdf(0.5 + confidence / 2.0) * (squares / (count - 1.0) / count).sqrt(),
        Err(_) => f64::INFINITY,
    };
    Some(MeanInterval { mean, low: mean - half, high: mean + half })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// t with 9 degrees of freedom leaves 2.5 % above 2.262 (any table of Student's distribution).
    #[test]
    fn an_interval_of_a_mean() {
        let values: Vec<f64> = (1..=10).map(f64::from).collect();
        let interval = mean_interval(&values, 0.95).unwrap();
        let half = 2.262 * (82.5f64 / 9.0 / 10.0).sqrt();
        assert!((interval.mean - 5.5).abs() < 1e-12);
        assert!((interval.high - 5.5 - half).abs() < 1e-3 && (5.5 - interval.low - half).abs() < 1e-3);
        assert_eq!(mean_interval(&[], 0.95), None);
        assert!(mean_interval(&[1.0], 0.95).unwrap().high.is_infinite());
        assert_eq!(mean_interval(&[3.0, 3.0], 0.95).unwrap().low, 3.0);
    }

    /// 2 · 0.5^6 = 3.1 % is the chance that all six lie on one side of the median; 2 · 0.5^5 is 6.3 %. The
    /// 22nd and the 39th of 60 are in tables of the sign test; and 0.99^n < 2.5 % needs n of 368.
    #[test]
    fn intervals_of_quantiles_are_order_statistics() {
        let values: Vec<u32> = (1..=1000).collect();
        let interval = |count: usize, q| quantile_interval_of_sorted(&values[..count], q, 0.95);
        assert_eq!(interval(5, 0.5), None);
        assert_eq!(interval(6, 0.5), Some((1, 6)));
        assert_eq!(interval(60, 0.5), Some((22, 39)));
        assert_eq!(interval(367, 0.99), None);
        assert!(interval(368, 0.99).is_some());
        assert_eq!(interval(0, 0.5), None);
    }

    #[test]
    fn what_a_quantile_needs_is_what_its_interval_needs() {
        assert_eq!(samples_needed(0.5, 0.95), Some(6));
        assert_eq!(samples_needed(0.99, 0.95), Some(368));
        assert_eq!(samples_needed(0.0, 0.95), None);
        assert_eq!(samples_needed(1.0, 0.95), None);
        let values: Vec<u32> = (0..800).collect();
        for q in [0.01, 0.05, 0.1, 0.25, 0.3, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995] {
            for confidence in [0.8, 0.9, 0.95] {
                let needed = samples_needed(q, confidence).unwrap() as usize;
                let there = |count| quantile_interval_of_sorted(&values[..count], q, confidence).is_some();
                assert!(there(needed) && !there(needed - 1), "{q} {confidence} {needed}");
            }
        }
        let fault = quantile_with_interval(&values[..100], 0.99, 0.95).unwrap_err();
        let text = "the 0.99 quantile needs at least 368 replicas for a 95 % confidence interval, but there are \
                    100: use a quantile nearer to 0.5, or run at least 368 replicas";
        assert_eq!(fault.to_string(), text);
        let median = quantile_with_interval(&values[..60], 0.5, 0.95).unwrap();
        assert_eq!(median, Quantile { value: 29, low: 21, high: 38 });
        assert!(quantile_with_interval(&values, 1.0, 0.95).is_err());
    }

    #[test]
    fn slowdowns() {
        use crate::Time;
        assert_eq!(slowdown(Time(30), Time(20)), 0.5);
        assert_eq!(slowdown(Time(20), Time(20)), 0.0);
        assert!(slowdown(Time(1), Time(0)).is_finite());
    }

    #[test]
    fn median_is_a_member() {
        assert_eq!(median_in_place::<u64>(&mut []), None);
        assert_eq!(median_in_place(&mut [7]), Some(7));
        assert_eq!(median_in_place(&mut [4, 1, 3, 2]), Some(2));
        assert_eq!(median_in_place(&mut [5, 4, 1, 3, 2]), Some(3));
    }

    #[test]
    fn quantiles_hit_both_ends() {
        let mut values: Vec<u32> = (1..=100).rev().collect();
        assert_eq!(quantile_in_place(&mut values, 0.0), Some(1));
        assert_eq!(quantile_in_place(&mut values, 0.99), Some(99));
        assert_eq!(quantile_in_place(&mut values, 1.0), Some(100));
        assert_eq!(quantile_of_sorted::<u32>(&[], 0.5), None);
    }

    /// 2, 4, 4, 4, 5, 5, 7, 9: mean 5, squares add up to 32, and 32 / 7 is the variance.
    #[test]
    fn a_summary_by_hand() {
        let summary = Summary::of_sorted(&[2, 4, 4, 4, 5, 5, 7, 9]).unwrap();
        assert_eq!((summary.count, summary.mean, summary.sd), (8, 5.0, (32.0f64 / 7.0).sqrt()));
        assert_eq!((summary.min, summary.p1, summary.p25, summary.median), (2, 2, 4, 4));
        assert_eq!((summary.p75, summary.p99, summary.max), (5, 9, 9));
        assert_eq!(Summary::of_sorted(&[]), None);
        assert_eq!(Summary::of_sorted(&[3]).map(|summary| summary.sd), Some(0.0));
        assert_eq!(mean(&[u64::MAX, u64::MAX]), Some(u64::MAX as f64));
    }

    #[test]
    fn distances_by_hand() {
        assert_eq!(distance(&[1, 2, 3], &[1, 2, 3]), 0.0);
        assert_eq!(distance(&[1, 2], &[3, 4]), 1.0);
        assert_eq!(distance(&[1, 1, 2, 2], &[2, 2]), 0.5);
        assert_eq!(distance(&[], &[1]), 1.0);
        assert_eq!(distance(&[], &[]), 0.0);
        // The tables' large-sample value: 1.628 / sqrt(n) for a sample against a known distribution.
        let limit = chance_distance(100, None);
        assert!((limit - 0.1628).abs() < 1e-4, "{limit}");
        assert!((chance_distance(200, Some(200)) - limit).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn sorted_or_not_quantiles_agree(mut values in prop::collection::vec(0u64..50, 1..60), q in 0.0..1.0) {
            let selected = quantile_in_place(&mut values, q);
            values.sort_unstable();
            prop_assert_eq!(selected, quantile_of_sorted(&values, q));
        }

        /// By definition: both functions at every value.
        #[test]
        fn distance_equals_its_definition(
            mut one in prop::collection::vec(0u64..30, 1..40),
            mut other in prop::collection::vec(0u64..30, 1..40),
        ) {
            one.sort_unstable();
            other.sort_unstable();
            let share = |values: &[u64], at| {
                values.iter().filter(|&&value| value <= at).count() as f64 / values.len() as f64
            };
            let expected = (0..30).map(|at| (share(&one, at) - share(&other, at)).abs()).fold(0.0, f64::max);
            prop_assert_eq!(distance(&one, &other), expected);
            prop_assert_eq!(distance(&other, &one), expected);
        }
    }
}
