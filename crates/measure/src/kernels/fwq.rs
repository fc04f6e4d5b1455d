//! Fixed work: repeats and times the same work.
//!
//! The excess of a quantum over the best one was lost to noise. A quantum is longer than an iteration of the
//! detour kernel, so interruptions within one merge. In exchange every quantum is kept, and the numbers are
//! comparable with those of LLNL's and Netgauge's programs of this name.

use super::quanta::{self, Quanta};
use super::{Seen, Work, has_room, touched};
use crate::timer::Clock;

/// Parameters of the kernel, in ticks.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    /// Steps of work in a quantum.
    pub steps: u64,
    pub t_min: u64,
    /// A quantum that takes this much longer was disturbed.
    pub least: u64,
    /// Quanta that are kept.
    pub capacity: usize,
}

/// Number of attempts, of which the best counts.
const ATTEMPTS: u32 = 20;

/// Returns the number of steps that take about `target` ticks, and their best time.
pub fn calibrate<C: Clock>(clock: &mut C, worker: &mut impl Work, target: u64) -> (u64, u64) {
    let mut steps = 16;
    let mut took = best_of(clock, worker, steps, ATTEMPTS);
    while took < target / 8 && steps < 1 << 40 {
        steps *= 2;
        took = best_of(clock, worker, steps, 3);
    }
    let wanted = (steps as f64 * target as f64 / took.max(1) as f64).round();
    let steps = (wanted as u64).max(1);
    (steps, best_of(clock, worker, steps, ATTEMPTS))
}

fn best_of<C: Clock>(clock: &mut C, worker: &mut impl Work, steps: u64, attempts: u32) -> u64 {
    let mut best = u64::MAX;
    for _ in 0..attempts {
        let before = clock.fenced();
        worker.work(steps);
        best = best.min(clock.fenced().saturating_sub(before));
    }
    best.max(1)
}

/// The loop and its memory.
#[derive(Debug)]
pub struct Kernel {
    settings: Settings,
    times: Vec<(u64, u64)>,
    lost: u64,
    lost_ticks: u64,
    disturbed: u64,
}

impl Kernel {
    pub fn new(settings: Settings) -> Kernel {
        Kernel { settings, times: touched(settings.capacity), lost: 0, lost_ticks: 0, disturbed: 0 }
    }

    /// Measures from `start` until `deadline`, or until `enough` returns true for the number of disturbed
    /// quanta.
    pub fn run<C: Clock>(
        mut self,
        clock: &mut C,
        worker: &mut impl Work,
        start: u64,
        deadline: u64,
        mut enough: impl FnMut(u64) -> bool,
    ) -> Seen {
        let (mut before, mut iterations) = (start, 0);
        while before < deadline && !enough(self.disturbed) {
            worker.work(self.settings.steps);
            let now = clock.fenced();
            self.keep(before, now.saturating_sub(before));
            before = now;
            iterations += 1;
        }
        self.close(start, before, iterations)
    }

    fn keep(&mut self, start: u64, ticks: u64) {
        let more = ticks.saturating_sub(self.settings.t_min);
        let disturbed = more > self.settings.least;
        self.disturbed += u64::from(disturbed);
        if has_room(&self.times) {
            self.times.push((start, ticks));
        } else if disturbed {
            self.lost += 1;
            self.lost_ticks += more;
        }
    }

    fn close(self, start: u64, end: u64, iterations: u64) -> Seen {
        let seen = self.times.iter().map(|&(_, ticks)| ticks).min();
        let t_min = seen.unwrap_or(u64::MAX).min(self.settings.t_min).max(1);
        let (detours, slow) = quanta::judge(&Times { times: &self.times, t_min }, self.settings.least);
        Seen {
            start,
            end,
            t_min,
            threshold: t_min + self.settings.least,
            iterations,
            iteration: t_min as f64,
            detours,
            lost: self.lost,
            lost_ticks: self.lost_ticks,
            slow,
            quanta: self.times,
        }
    }
}

struct Times<'a> {
    times: &'a [(u64, u64)],
    t_min: u64,
}

impl Quanta for Times<'_> {
    fn count(&self) -> usize {
        self.times.len()
    }

    fn start(&self, index: usize) -> u64 {
        self.times[index].0
    }

    fn end(&self, index: usize) -> u64 {
        self.times[index].0 + self.times[index].1
    }

    fn slowdown(&self, index: usize) -> f64 {
        self.times[index].1 as f64 / self.t_min as f64
    }

    fn lost(&self, index: usize, slowdown: f64) -> u64 {
        self.times[index].1.saturating_sub((self.t_min as f64 * slowdown).round() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timer::simulated::{Bench, Simulated};
    use proptest::prelude::*;

    const STEPS: u64 = 100;

    fn run(script: Simulated, deadline: u64, capacity: usize) -> Seen {
        let (mut clock, mut worker) = Bench::new(script);
        let settings = Settings { steps: STEPS, t_min: STEPS + 2, least: 5, capacity };
        Kernel::new(settings).run(&mut clock, &mut worker, 0, deadline, |_| false)
    }

    #[test]
    fn work_is_calibrated() {
        let (mut clock, mut worker) = Bench::new(Simulated::new(2).with_detour(50, 1000));
        let (steps, took) = calibrate(&mut clock, &mut worker, 10_000);
        assert!(steps.abs_diff(10_000) < 200, "{steps}");
        assert_eq!(took, steps + 2);
    }

    proptest! {
        /// Finds the lengths of detours that are far enough apart for at most one per quantum.
        #[test]
        fn injected_detours_are_found(gaps in prop::collection::vec((300u64..3000, 6u64..500), 0..50)) {
            let mut at = 0;
            let detours: Vec<_> = gaps.iter().map(|&(gap, ticks)| {
                at += gap + 500;
                (at, ticks)
            }).collect();
            let seen = run(Simulated::new(2).with_detours(detours.clone()), at + 5000, 100_000);
            let found: Vec<u64> = seen.detours.iter().map(|span| span.length).collect();
            let injected: Vec<u64> = detours.iter().map(|&(_, ticks)| ticks).collect();
            prop_assert_eq!(found, injected);
            prop_assert_eq!(seen.quanta.len() as u64, seen.iterations);
            let total: u64 = seen.quanta.iter().map(|&(_, ticks)| ticks).sum();
            prop_assert_eq!(total, seen.end - seen.start);
        }
    }

    #[test]
    fn a_slow_phase_is_no_detour() {
        let seen = run(Simulated::new(2).slow_between(10_000, 100_000, 12), 200_000, 100_000);
        assert_eq!(seen.slow.len(), 1);
        // The first and the last quantum of the phase are only partly slow.
        assert!(seen.detours.len() <= 2, "{:?}", seen.detours);
        assert!(seen.slow[0].slowdown > 3.0 && seen.slow[0].slowdown <= 12.0);
    }

    #[test]
    fn what_a_full_buffer_cannot_keep_is_counted() {
        let detours: Vec<_> = (1..=10).map(|index| (index * 1000, 50)).collect();
        let seen = run(Simulated::new(2).with_detours(detours), 20_000, 20);
        assert_eq!(seen.quanta.len(), 20);
        assert_eq!(seen.detours.len() as u64 + seen.lost, 10);
        assert_eq!(seen.lost_ticks, seen.lost * 50);
    }
}
