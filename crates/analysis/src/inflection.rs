//! Where noise becomes the bottleneck.

use straggler_model::stats::{CONFIDENCE, quantile_interval_of_sorted, quantile_of_sorted};

/// The default slowdown from which noise counts as a bottleneck.
pub const THRESHOLD: f64 = 0.1;

/// The smallest number of runs whose median has an interval.
pub const LEAST_REPLICAS: u32 = 6;

/// Slowdowns T / T0 − 1 of runs that differ only in their random draws: the median, its interval
/// and the largest.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize)]
pub struct Slowdown {
    pub median: f64,
    pub low: f64,
    pub high: f64,
    pub largest: f64,
}

impl Slowdown {
    /// None for fewer than [`LEAST_REPLICAS`] values.
    pub fn new(values: &[f64]) -> Option<Slowdown> {
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let (low, high) = quantile_interval_of_sorted(&sorted, 0.5, CONFIDENCE)?;
        Some(Slowdown { median: quantile_of_sorted(&sorted, 0.5)?, low, high, largest: *sorted.last()? })
    }
}

/// The smallest number of processes for which the whole interval of the median slowdown lies above
/// `threshold`.
pub fn inflection_point(curve: &[(u32, Slowdown)], threshold: f64) -> Option<u32> {
    curve.iter().filter(|(_, slowdown)| slowdown.low > threshold).map(|&(processes, _)| processes).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_interval_must_lie_above() {
        let around =
            |median: f64| Slowdown::new(&[0.9, 0.95, 1.0, 1.0, 1.05, 1.1].map(|x| x * median)).unwrap();
        let curve: Vec<_> = [(2, 0.01), (4, 0.105), (8, 0.2), (16, 0.15), (32, 3.0)]
            .map(|(processes, median)| (processes, around(median)))
            .into();
        assert_eq!(inflection_point(&curve, 0.1), Some(8));
        assert_eq!(inflection_point(&curve, 0.0), Some(2));
        assert_eq!(inflection_point(&curve, 5.0), None);
        assert_eq!(inflection_point(&[], 0.1), None);
    }

    #[test]
    fn five_runs_have_no_interval() {
        assert_eq!(Slowdown::new(&[1.0; 5]), None);
        let six = Slowdown::new(&[3.0, 1.0, 2.0, 6.0, 5.0, 4.0]).unwrap();
        assert_eq!(six, Slowdown { median: 3.0, low: 1.0, high: 6.0, largest: 6.0 });
    }
}
