//! Stalls that hit any worker at any time: a daemon, a network storage, a page migration. They are not the fault of the workers
//! that they hit, and cost more the more workers there are, because every step waits for all.

use super::workers::Slow;
use super::{Candidate, CauseSearch, Evidence, Finding, StallCost};

/// Stalls are random if they hit at least this many workers, or two that stall once each.
const FEWEST: usize = 3;
/// A worker that stalls so often that chance would cause it in fewer than one job in this many is slow itself.
const BY_CHANCE: f64 = 100.0;
/// The numbers of workers for which the cost is given, as multiples of those recorded.
const SCALES: [usize; 3] = [1, 8, 64];

impl CauseSearch<'_> {
    /// Splits the slow workers into those that are slow themselves and those that random stalls hit.
    pub fn without_random(&self, order: &[usize], slow: Vec<Slow>) -> (Vec<Slow>, Vec<Slow>) {
        let sporadic = || slow.iter().filter(|slow| slow.is_sporadic());
        let stalls: usize = sporadic().map(|slow| slow.stalls().len()).sum();
        let lasting = slow.len() - sporadic().count();
        let each = stalls as f64 / (order.len() - lasting).max(1) as f64;
        let is_random = |slow: &Slow| {
            slow.is_sporadic() && at_least(slow.stalls().len(), each) * order.len() as f64 * BY_CHANCE >= 1.0
        };
        let random: Vec<&Slow> = slow.iter().filter(|slow| is_random(slow)).collect();
        let once_each = random.len() > 1 && random.iter().all(|slow| slow.stalls().len() == 1);
        match random.len() {
            count if count >= FEWEST || once_each => slow.into_iter().partition(|slow| !is_random(slow)),
            _ => (slow, Vec::new()),
        }
    }

    pub fn random_stalls(&self, order: &[usize], slow: Vec<Slow>) -> Option<Candidate<'_>> {
        let mut stalls: Vec<f64> = (slow.iter())
            .flat_map(|slow| slow.stalls().iter().map(|&(step, factor)| (step, slow.worker, factor)))
            .map(|(step, worker, factor)| self.facts.computed[step][worker] as f64 * (1.0 - 1.0 / factor))
            .collect();
        stalls.sort_by(|a, b| b.total_cmp(a));
        let (longest, sum) = (*stalls.first()?, stalls.iter().sum::<f64>());
        let chances = order.len() * self.replays.job.steps.len();
        let finding = Finding::RandomStalls {
            stalls: stalls.len(),
            mean_stall_seconds: sum / stalls.len() as f64 / 1e12,
            workers_hit: slow.len(),
            of_workers: order.len(),
        };
        let mut candidate = self.repaired(finding, self.as_typical(slow));
        let cost = |times: usize| {
            let workers = times * order.len();
            StallCost { workers, seconds: expected_longest(&stalls, chances, workers) / 1e12 }
        };
        let seconds = self.usual_step / 1e12 * chances as f64;
        candidate.cause.evidence = vec![
            Evidence::StallRate {
                worker_steps: chances as f64 / stalls.len() as f64,
                longest_seconds: longest / 1e12,
            },
            Evidence::StallCosts { costs: SCALES.map(cost).to_vec() },
            Evidence::StallNoise {
                rate_hertz: stalls.len() as f64 / seconds.max(1e-12),
                quantiles: quantiles(&stalls),
            },
        ];
        Some(candidate)
    }
}

/// The probability of at least `count` events where `mean` are expected, if they are independent.
fn at_least(count: usize, mean: f64) -> f64 {
    let mut term = (-mean).exp();
    let mut below = 0.0;
    for number in 0..count {
        below += term;
        term *= mean / (number + 1) as f64;
    }
    (1.0 - below).max(0.0)
}

/// The mean of the longest stall of a step in which so many workers take part. `stalls` of `chances` steps are known, the longest
/// first.
fn expected_longest(stalls: &[f64], chances: usize, workers: usize) -> f64 {
    // The probability that no worker has one of the `count` longest stalls.
    let none_of = |count: usize| (1.0 - count as f64 / chances.max(count).max(1) as f64).powf(workers as f64);
    (0..stalls.len()).map(|place| stalls[place] * (none_of(place) - none_of(place + 1))).sum()
}

/// The distribution of stalls, in seconds.
fn quantiles(stalls: &[f64]) -> Vec<(f64, f64)> {
    let place = |share: f64| ((stalls.len() - 1) as f64 * (1.0 - share)).round() as usize;
    [0.0, 0.5, 0.9, 1.0].map(|share| (share, stalls[place(share)] / 1e12)).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chance_is_that_of_independent_events() {
        assert_eq!(at_least(0, 0.3), 1.0);
        assert!((at_least(1, 0.5) - (1.0 - (-0.5f64).exp())).abs() < 1e-12);
        assert!(at_least(9, 0.1) < 1e-9);
    }

    /// With one stall of 8 in 100 steps of one worker, two workers wait for it in 1 - 0.99² of their steps.
    #[test]
    fn the_longest_of_several() {
        assert!((expected_longest(&[8.0], 100, 1) - 0.08).abs() < 1e-12);
        assert!((expected_longest(&[8.0], 100, 2) - 8.0 * (1.0 - 0.99 * 0.99)).abs() < 1e-12);
        assert!((expected_longest(&[8.0, 4.0], 100, 1_000_000) - 8.0).abs() < 1e-9);
        assert_eq!(quantiles(&[9e9, 4e9, 1e9]), [(0.0, 0.001), (0.5, 0.004), (0.9, 0.009), (1.0, 0.009)]);
    }
}
