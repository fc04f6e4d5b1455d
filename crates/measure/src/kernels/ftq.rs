//! Fixed time: how much work is done in every quantum of time (Sottile and Minnich, 2004).
//!
//! The sampling rate is constant, so that the counts can be Fourier transformed. For that the quanta must not
//! drift: quantum k ends at start + k·quantum, whatever happened before, and a detour longer than a quantum
//! leaves quanta without work.

use super::quanta::{self, Quanta};
use super::{Seen, Work, has_room, touched};
use crate::timer::Clock;

/// Parameters of the kernel, in ticks.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    pub quantum: u64,
    /// Steps per unit of work counted.
    pub steps: u64,
    /// A quantum that lost more than this was disturbed.
    pub least: u64,
    /// Quanta that are kept.
    pub capacity: usize,
}

/// The loop and its memory.
#[derive(Debug)]
pub struct Kernel {
    settings: Settings,
    counts: Vec<(u64, u64)>,
    most: u64,
    lost: u64,
    lost_ticks: u64,
    disturbed: u64,
}

impl Kernel {
    pub fn new(settings: Settings) -> Kernel {
        let counts = touched(settings.capacity);
        Kernel { settings, counts, most: 0, lost: 0, lost_ticks: 0, disturbed: 0 }
    }

    /// Measures whole quanta from `start` until `deadline`, or until `enough` returns true for the number of
    /// disturbed ones.
    pub fn run<C: Clock>(
        mut self,
        clock: &mut C,
        worker: &mut impl Work,
        start: u64,
        deadline: u64,
        mut enough: impl FnMut(u64) -> bool,
    ) -> Seen {
        let quantum = self.settings.quantum.max(1);
        let quanta = deadline.saturating_sub(start) / quantum;
        let (mut index, mut iterations) = (0, 0);
        while index < quanta && !enough(self.disturbed) {
            let (count, now) = self.quantum(clock, worker, start + (index + 1) * quantum);
            iterations += count;
            self.keep(start + index * quantum, count);
            // Those that passed meanwhile did no work.
            let next = (now.saturating_sub(start) / quantum).clamp(index + 1, quanta);
            (index + 1..next).for_each(|skipped| self.keep(start + skipped * quantum, 0));
            index = next;
        }
        self.close(start, start + index * quantum, iterations)
    }

    /// Works until `end`; returns the units of work and the actual end.
    #[inline]
    fn quantum<C: Clock>(&self, clock: &mut C, worker: &mut impl Work, end: u64) -> (u64, u64) {
        let mut count = 0;
        loop {
            worker.work(self.settings.steps);
            count += 1;
            let now = clock.now();
            if now >= end {
                return (count, now);
            }
        }
    }

    fn keep(&mut self, start: u64, count: u64) {
        self.most = self.most.max(count);
        let lost = lost(count, self.most as f64, self.settings.quantum);
        let disturbed = lost > self.settings.least;
        self.disturbed += u64::from(disturbed);
        if has_room(&self.counts) {
            self.counts.push((start, count));
        } else if disturbed {
            self.lost += 1;
            self.lost_ticks += lost;
        }
    }

    fn close(self, start: u64, end: u64, iterations: u64) -> Seen {
        let Settings { quantum, least, .. } = self.settings;
        let most = self.most.max(1);
        let (detours, slow) = quanta::judge(&Counts { counts: &self.counts, most, quantum }, least);
        Seen {
            start,
            end,
            t_min: (quantum / most).max(1),
            threshold: least,
            iterations,
            iteration: quantum as f64 / most as f64,
            detours,
            lost: self.lost,
            lost_ticks: self.lost_ticks,
            slow,
            quanta: self.counts,
        }
    }
}

/// The time that the missing work would have taken.
fn lost(count: u64, most: f64, quantum: u64) -> u64 {
    if most <= 0.0 {
        return 0;
    }
    (quantum as f64 * (1.0 - (count as f64 / most).min(1.0))).round() as u64
}

struct Counts<'a> {
    counts: &'a [(u64, u64)],
    most: u64,
    quantum: u64,
}

impl Quanta for Counts<'_> {
    fn count(&self) -> usize {
        self.counts.len()
    }

    fn start(&self, index: usize) -> u64 {
        self.counts[index].0
    }

    fn end(&self, index: usize) -> u64 {
        self.counts[index].0 + self.quantum
    }

    fn slowdown(&self, index: usize) -> f64 {
        self.most as f64 / self.counts[index].1.max(1) as f64
    }

    fn lost(&self, index: usize, slowdown: f64) -> u64 {
        lost(self.counts[index].1, self.most as f64 / slowdown, self.quantum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timer::simulated::{Bench, Simulated};
    use proptest::prelude::*;

    const QUANTUM: u64 = 10_000;

    fn run(script: Simulated, deadline: u64) -> Seen {
        let (mut clock, mut worker) = Bench::new(script);
        let settings = Settings { quantum: QUANTUM, steps: 8, least: 100, capacity: 10_000 };
        Kernel::new(settings).run(&mut clock, &mut worker, 0, deadline, |_| false)
    }

    proptest! {
        /// Quanta are at their places, and the missing work matches the injected time to a few units of work
        /// (10 ticks each).
        #[test]
        fn work_lost_is_time_injected(gaps in prop::collection::vec((1000u64..80_000, 200u64..50_000), 0..30)) {
            let mut at = 0;
            let detours: Vec<_> = gaps.iter().map(|&(gap, ticks)| {
                at += gap + 50_000;
                (at, ticks)
            }).collect();
            let quanta = (at + 200_000) / QUANTUM;
            let seen = run(Simulated::new(2).with_detours(detours.clone()), quanta * QUANTUM);
            prop_assert_eq!(seen.quanta.len() as u64, quanta);
            for (index, &(start, _)) in seen.quanta.iter().enumerate() {
                prop_assert_eq!(start, index as u64 * QUANTUM);
            }
            let found: u64 = seen.detours.iter().map(|span| span.length).sum();
            let injected: u64 = detours.iter().map(|&(_, ticks)| ticks).sum();
            prop_assert!(found.abs_diff(injected) <= 220 * detours.len() as u64, "{} {}", found, injected);
            prop_assert_eq!(seen.slow.len(), 0);
        }
    }

    #[test]
    fn a_slow_phase_is_no_detour() {
        let seen = run(Simulated::new(2).slow_between(200_000, 1_000_000, 12), 2_000_000);
        assert_eq!(seen.slow.len(), 1, "{:?}", seen.slow);
        assert!(seen.detours.len() <= 2, "{:?}", seen.detours);
        assert!((seen.slow[0].slowdown - 12.0).abs() < 0.5, "{:?}", seen.slow);
    }

    /// Another program had the core for a whole time slice.
    #[test]
    fn a_stop_of_many_quanta_is_no_slow_phase() {
        let seen = run(Simulated::new(2).with_detour(205_000, 30 * QUANTUM), 1_000_000);
        assert_eq!(seen.slow.len(), 0, "{:?}", seen.slow);
        let lost: u64 = seen.detours.iter().map(|span| span.length).sum();
        assert!(lost.abs_diff(30 * QUANTUM) <= 220, "{lost}");
    }
}
