//! Whether times come in steps of a coarse timer.

use super::Distribution;
use serde::Serialize;

/// The trace of a coarse timer: few values at equal distances.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Steps {
    pub step_ps: f64,
    /// Distinct values among the middle 98 % of the trials.
    pub values: usize,
    /// The median of these trials, in steps.
    pub median_steps: f64,
}

/// Cells must be this many widths apart; otherwise steps cannot be distinguished from bins.
const APART: f64 = 4.0;
/// How far a time may be from a whole number of steps, in steps.
const TOLERANCE: f64 = 0.15;
/// The share of trials that must lie on a step.
const IN_STEP: f64 = 0.95;

impl Steps {
    /// The largest step that nearly all of the middle 98 % of trials keep; none if there is no such step, if there
    /// are fewer than three values, or if values hardly repeat.
    pub fn new(distribution: &Distribution) -> Option<Steps> {
        let [low, high] = [0.01, 0.99].map(|level| distribution.quantile_of_known(level));
        let cells: Vec<_> =
            distribution.known_cells().filter(|cell| cell.high > low && cell.low <= high).collect();
        let trials: u64 = cells.iter().map(|cell| cell.count).sum();
        if cells.len() < 3 || (cells.len() as u64) * 3 > trials {
            return None;
        }
        let widest = cells.iter().map(|cell| cell.high - cell.low).fold(0.0, f64::max);
        let gaps = cells.windows(2).map(|pair| pair[1].middle() - pair[0].middle());
        let gap = gaps.fold(f64::INFINITY, f64::min);
        if gap < APART * widest {
            return None;
        }
        let origin = cells[0].middle();
        let step_ps = refined(origin, gap, cells.iter().map(|cell| cell.middle()));
        let off = |middle: f64| {
            let steps = (middle - origin) / step_ps;
            (steps - steps.round()).abs()
        };
        let kept: u64 =
            cells.iter().filter(|cell| off(cell.middle()) <= TOLERANCE).map(|cell| cell.count).sum();
        let is_kept = kept as f64 >= IN_STEP * trials as f64;
        let median_steps = distribution.quantile_of_known(0.5) / step_ps;
        is_kept.then_some(Steps { step_ps, values: cells.len(), median_steps })
    }
}

/// Refines the step. The smallest gap has the error of two cells; values many steps away give the step more
/// precisely.
fn refined(origin: f64, gap: f64, middles: impl Iterator<Item = f64>) -> f64 {
    let mut step = gap;
    for middle in middles {
        let steps = ((middle - origin) / step).round();
        let exact = (middle - origin) / steps;
        if steps >= 1.0 && ((exact - step) / step).abs() < TOLERANCE / steps {
            step = exact;
        }
    }
    step
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latency::samples::{distribution, lognormal};

    #[test]
    fn steps_of_a_coarse_timer() {
        let values: Vec<u64> =
            lognormal(1, 5000, 4e6, 3e6, 0.4).iter().map(|ps| ps / 1_000_000 * 1_000_000).collect();
        let found = Steps::new(&distribution(&values)).unwrap();
        assert!((found.step_ps - 1e6).abs() < 2e4, "{found:?}");
        assert!((found.median_steps - 6.0).abs() < 1.1 && found.values < 12, "{found:?}");
    }

    #[test]
    fn no_steps_in_a_fine_timer() {
        for seed in 0..40 {
            for count in [20, 100, 5000] {
                assert_eq!(Steps::new(&distribution(&lognormal(seed, count, 4e6, 3e6, 0.4))), None);
            }
        }
        assert_eq!(Steps::new(&distribution(&[5; 10])), None);
    }
}
