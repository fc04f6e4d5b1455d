//! Stalls that hit any worker at any time: a daemon, a network storage, a page migration. They are not the fault of the workers
//! that they hit, and cost more the more workers there are, because every step waits for all.

use super::workers::Slow;
use super::{Candidate, CauseKind, CauseSearch, time};
use std::fmt::Write as _;

/// Stalls are random if they hit at least this many workers.
const FEWEST: usize = 3;
/// A worker that stalls so often that chance would cause it in fewer than one job in this many is slow itself.
const BY_CHANCE: f64 = 100.0;
/// The numbers of workers for which the cost is told, as multiples of those recorded.
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
        match slow.iter().filter(|slow| is_random(slow)).count() {
            count if count >= FEWEST => slow.into_iter().partition(|slow| !is_random(slow)),
            _ => (slow, Vec::new()),
        }
    }

    pub fn random_stalls(&self, order: &[usize], slow: Vec<Slow>) -> Option<Candidate<'_>> {
        let workers = slow.len();
        let mut stalls: Vec<f64> = (slow.iter())
            .flat_map(|slow| slow.stalls().iter().map(|&(step, factor)| (step, slow.worker, factor)))
            .map(|(step, worker, factor)| self.facts.computed[step][worker] as f64 * (1.0 - 1.0 / factor))
            .collect();
        stalls.sort_by(|a, b| b.total_cmp(a));
        let (longest, sum) = (*stalls.first()?, stalls.iter().sum::<f64>());
        let chances = order.len() * self.replays.job.steps.len();
        let says = format!(
            "Workers stall at random: {} stalls of {} on average, on {workers} of {} workers",
            stalls.len(),
            time(sum / stalls.len() as f64),
            order.len()
        );
        let mut candidate = self.repaired(CauseKind::RandomStalls, says, self.as_typical(slow));
        let cause = &mut candidate.cause;
        cause.evidence.push(format!(
            "A worker stalls in one of {:.0} steps, for {} at most. None stalls more often than chance explains.",
            chances as f64 / stalls.len() as f64,
            time(longest)
        ));
        let costs = SCALES.map(|times| {
            format!(
                "{} with {} workers",
                time(expected_longest(&stalls, chances, times * order.len())),
                times * order.len()
            )
        });
        cause
            .evidence
            .push(format!("A step waits for every worker. On average it waits {}.", costs.join(", ")));
        let seconds = self.usual_step / 1e12 * chances as f64;
        cause.evidence.push(format!(
            "To simulate this with more workers: --noise 'poisson:rate={:.4}Hz,duration={}'.",
            stalls.len() as f64 / seconds.max(1e-12),
            quantiles(&stalls)
        ));
        cause.fix = "Look for what interrupts nodes now and then: daemons, file systems, checkpoints, page migration. \
                     `straggler assess` on a node names its sources of noise."
            .into();
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

/// The distribution of stalls as the program reads it.
fn quantiles(stalls: &[f64]) -> String {
    let mut text = String::from("quantiles(");
    for (share, name) in [(0.0, "0"), (0.5, "0.5"), (0.9, "0.9"), (1.0, "1")] {
        let place = ((stalls.len() - 1) as f64 * (1.0 - share)).round() as usize;
        let comma = if share > 0.0 { "," } else { "" };
        let _ = write!(text, "{comma}{name}={:.3}ms", stalls[place] / 1e9);
    }
    text + ")"
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
        assert_eq!(quantiles(&[9e9, 4e9, 1e9]), "quantiles(0=1.000ms,0.5=4.000ms,0.9=9.000ms,1=9.000ms)");
    }
}
