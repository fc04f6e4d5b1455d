//! Detects a series that rises at some step and stays high. Used for workers, stages, links, data loading and delays.

use crate::median::{mean, median};

/// The minimum change, as a share of the mean.
const CHANGE: f64 = 0.05;
/// The minimum change, in standard errors.
const SURE: f64 = 6.0;

/// A permanent rise of a series.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rise {
    /// The index of the first higher value.
    pub at: usize,
    /// The mean before and from then on.
    pub before: f64,
    pub after: f64,
}

impl Rise {
    /// The permanent rise of a series, if it has a significant one.
    pub fn of(values: &[f64]) -> Option<Rise> {
        let scale = mean(values);
        if scale <= 0.0 {
            return None;
        }
        let relative: Vec<f64> = values.iter().map(|value| value / scale).collect();
        let at = change(&relative)?;
        let rises = median(&mut values[at..].to_vec()) > median(&mut values[..at].to_vec());
        rises.then(|| Rise { at, before: mean(&values[..at]), after: mean(&values[at..]) })
    }

    /// The mean after the rise, as a multiple of that before.
    pub fn factor(&self) -> f64 {
        if self.before > 0.0 { self.after / self.before } else { f64::INFINITY }
    }
}

/// Where a series changes its level permanently, if it does: the split with the largest gap in standard errors.
fn change(values: &[f64]) -> Option<usize> {
    let mut sums = Vec::with_capacity(values.len() + 1);
    sums.push((0.0, 0.0));
    for (at, value) in values.iter().enumerate() {
        let (sum, squares) = sums[at];
        sums.push((sum + value, squares + value * value));
    }
    let level = |from: usize, to: usize| {
        let count = (to - from) as f64;
        let mean = (sums[to].0 - sums[from].0) / count;
        (mean, (sums[to].1 - sums[from].1 - count * mean * mean).max(0.0), count)
    };
    let at = |split: usize| {
        let ((low, one, before), (high, other, after)) = (level(0, split), level(split, values.len()));
        let spread = ((one + other) / (values.len() - 2) as f64).sqrt();
        let error = spread * (1.0 / before + 1.0 / after).sqrt();
        let gap = (high - low).abs();
        let sure = if error > 0.0 { gap / error } else { f64::INFINITY };
        (split, gap, sure)
    };
    // At least two steps on each side: a single one is not a level.
    (2..values.len().saturating_sub(1))
        .map(at)
        .filter(|(_, gap, sure)| *gap >= CHANGE && *sure >= SURE)
        .max_by(|a, b| a.2.total_cmp(&b.2).then(b.0.cmp(&a.0)))
        .map(|(split, _, _)| split)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_change_once_and_for_good() {
        let noise = |at: usize| 0.01 * ((at * 7919 % 13) as f64 / 13.0 - 0.5);
        let series = |from: usize| -> Vec<f64> {
            (0..40).map(|at| noise(at) + if at >= from { 1.5 } else { 1.0 }).collect()
        };
        assert_eq!(change(&series(40)), None);
        assert_eq!(change(&series(17)), Some(17));
        assert_eq!(change(&series(0)), None);
        assert_eq!(Rise::of(&series(17)).map(|rise| rise.at), Some(17));
        let recovers: Vec<f64> = (0..20).map(|at| if at < 12 { 1.6 } else { 1.0 }).collect();
        assert_eq!(Rise::of(&recovers), None);
        let from_nothing: Vec<f64> = (0..20).map(|at| if at < 12 { 0.0 } else { 3.0 }).collect();
        assert_eq!(Rise::of(&from_nothing), Some(Rise { at: 12, before: 0.0, after: 3.0 }));
        assert_eq!((change(&[]), Rise::of(&[])), (None, None));
        assert_eq!(change(&[1.0, 1.0, 1.0]), None);
    }
}
