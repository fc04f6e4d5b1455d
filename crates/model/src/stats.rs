//! Order statistics and means. This is the only median in straggler.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// The median of a slice, which it reorders; for an even number of values the lower of the
/// middle two, so that the median of integers is one of them.
pub fn median_in_place<T: Ord + Copy>(values: &mut [T]) -> Option<T> {
    quantile_in_place(values, 0.5)
}

/// The smallest value with at least a share `q` of the values at or below it (the inverse of the
/// empirical distribution function). Reorders the slice.
pub fn quantile_in_place<T: Ord + Copy>(values: &mut [T], q: f64) -> Option<T> {
    if values.is_empty() {
        return None;
    }
    let position = (q.clamp(0.0, 1.0) * values.len() as f64).ceil() as usize;
    let index = position.clamp(1, values.len()) - 1;
    Some(*values.select_nth_unstable(index).1)
}

/// A mean and between what it lies.
#[derive(Clone, Copy, PartialEq, Debug)]
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
    }
}
