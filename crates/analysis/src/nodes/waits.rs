//! The expected wait of a job for one node, by a formula. It is cheap enough to rank thousands of nodes; only the
//! worst ones are simulated.
//!
//! A process that begins a collective of length T at a random time is delayed by more than x if a detour longer than x
//! (of duration d) begins during the collective, or began so shortly before it that more than x is left. In a
//! recording of length L, this happens with the rate h(x) = Σ (T + d − x) / L over the detours longer than x. With
//! probability exp(−m h(x)), none of the m processes of a node is delayed by more than x, so the expected delay is the
//! integral of 1 − exp(−m h(x)). Further detours during a delay are not counted, so heavy noise costs more than this.

use super::{CoreNoise, Node};
use crate::assess::CauseId;
use straggler_model::Time;

/// Points of the integral, evenly spaced in the logarithm of the delay.
const POINTS: usize = 200;
const SHORTEST_PS: f64 = 1e4;

/// Durations of detours, longest first, with their sums, and the core time over which they are spread.
#[derive(Clone, PartialEq, Debug)]
pub struct Durations {
    longest_first: Vec<f64>,
    /// Cumulative: of the first, the first two, and so on.
    sums: Vec<f64>,
    core_time: f64,
}

impl Durations {
    pub fn of_node(node: &Node) -> Durations {
        Durations::new(&node.cores, |_| true)
    }

    pub fn of_cause(node: &Node, cause: CauseId) -> Durations {
        Durations::new(&node.cores, |source| source == cause)
    }

    fn new(cores: &[CoreNoise], counts: impl Fn(CauseId) -> bool) -> Durations {
        let detours = cores.iter().flat_map(|core| &core.detours).filter(|detour| counts(detour.source));
        let mut longest_first: Vec<f64> = detours.map(|detour| detour.duration.ps() as f64).collect();
        longest_first.sort_unstable_by(|one, other| other.total_cmp(one));
        let add = |sum: &mut f64, duration: &f64| {
            *sum += duration;
            Some(*sum)
        };
        let sums = longest_first.iter().scan(0.0, add).collect();
        let core_time = cores.iter().map(|core| core.length.ps() as f64).sum();
        Durations { longest_first, sums, core_time }
    }

    /// The expected delay in ps of a collective of length `quiet` with this many processes on the node.
    pub fn expected_delay(&self, quiet: Time, processes: f64) -> f64 {
        let Some(&longest) = self.longest_first.first() else { return 0.0 };
        let ratio = (longest.max(2.0 * SHORTEST_PS) / SHORTEST_PS).powf(1.0 / (POINTS - 1) as f64);
        let points = std::iter::successors(Some(SHORTEST_PS), |x| Some(x * ratio)).take(POINTS);
        let share = |x: f64| 1.0 - (-processes * self.rate(quiet, x)).exp();
        let (mut sum, mut last) = (0.0, (0.0, share(0.0)));
        for x in points {
            let delayed = share(x);
            sum += (x - last.0) * (delayed + last.1) / 2.0;
            last = (x, delayed);
        }
        sum
    }

    /// h(x).
    fn rate(&self, quiet: Time, x: f64) -> f64 {
        let longer = self.longest_first.partition_point(|&duration| duration > x);
        let Some(last) = longer.checked_sub(1) else { return 0.0 };
        (longer as f64 * (quiet.ps() as f64 - x) + self.sums[last]) / self.core_time.max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use straggler_noise::recording::Detour;

    /// One detour of duration d in every period p: the integral has a closed form.
    #[test]
    fn equal_detours_by_hand() {
        let (d, p, quiet) = (1e9f64, 1e11f64, 2e7f64);
        let detours =
            (0..100u64).map(|i| Detour { start: Time(i * p as u64), duration: Time(d as u64), source: 0 });
        let core =
            CoreNoise { length: Time(100 * p as u64), detours: detours.collect(), ..Default::default() };
        let node = Node { cores: vec![core], ..Node::default() };
        let durations = Durations::of_node(&node);
        for m in [1.0, 10.0, 1000.0] {
            let exact = d - p / m * ((-m * quiet / p).exp() - (-m * (quiet + d) / p).exp());
            let found = durations.expected_delay(Time(quiet as u64), m);
            assert!((found / exact - 1.0).abs() < 0.01, "{m} processes: {found}, not {exact}");
        }
        assert_eq!(Durations::of_cause(&node, 1).expected_delay(Time(1), 10.0), 0.0);
    }
}
