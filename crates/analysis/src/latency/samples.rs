//! Synthetic trials of known distributions, for tests.

use super::Distribution;
use super::draws::Draws;
use straggler_model::Time;
use straggler_model::latency::{Bins, Histogram};

/// Times in ps: `shift` plus a log-normal time.
pub fn lognormal(seed: u64, count: usize, shift: f64, median: f64, sigma: f64) -> Vec<u64> {
    let mut draws = Draws::new(seed, 7);
    (0..count).map(|_| (shift + median * (sigma * draws.normal()).exp()).round() as u64).collect()
}

pub fn histogram(values: &[u64]) -> Histogram {
    let mut histogram = Histogram::new(Bins::default());
    values.iter().for_each(|&ps| histogram.record(Time(ps)));
    histogram
}

pub fn distribution(values: &[u64]) -> Distribution {
    Distribution::from_histogram(&histogram(values)).expect("there are trials")
}
