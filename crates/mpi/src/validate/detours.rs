//! Detours injected into a process, and those that the machine adds.
//!
//! The process reads the clock wherever it works or waits. When a detour is due, it does nothing
//! until the detour is over. When much time has passed since the last reading, something else had
//! the core: a detour of the machine.

use crate::clock::now_ns;
use straggler_model::Time;
use straggler_noise::{Detours, DetoursError};

/// Gaps between two readings beyond this are detours of the machine. At most one MPI call lies
/// between two readings, which takes less.
const OWN_NS: i64 = 5_000;

/// How often the longer of two periods is repeated where two kinds of detours with different periods are combined.
const TURNS: i64 = 8;

/// The planned detours of a rank, in nanoseconds since the run began.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Plan {
    pub first_ns: i64,
    pub period_ns: i64,
    /// 0 for no detours.
    pub length_ns: i64,
}

/// A run with its detours.
#[derive(Debug)]
pub struct Disturbed {
    start_ns: i64,
    next_ns: i64,
    plan: Plan,
    last_ns: i64,
    /// Beginning and end of each detour of the machine, since the run began.
    own: Vec<(i64, i64)>,
}

impl Disturbed {
    /// Waits for the beginning of the run.
    pub fn begin(plan: Plan, start_ns: i64) -> Disturbed {
        let next_ns = if plan.length_ns > 0 { start_ns + plan.first_ns } else { i64::MAX };
        let mut last_ns = now_ns();
        while last_ns < start_ns {
            std::hint::spin_loop();
            last_ns = now_ns();
        }
        // Enough capacity to avoid reallocation during the run.
        let own = Vec::with_capacity(1 << 16);
        let mut run = Disturbed { start_ns, next_ns, plan, last_ns, own };
        // A late start counts as a detour of the machine.
        run.note(start_ns, last_ns);
        run
    }

    /// Reads the clock and executes the detours that are due. Returns the time lost.
    #[inline]
    pub fn look(&mut self) -> i64 {
        let mut now = now_ns();
        let mut lost = 0;
        if now - self.last_ns > OWN_NS {
            lost = now - self.last_ns;
            self.note(self.last_ns, now);
        }
        while now >= self.next_ns {
            let (from, end) = (now, self.next_ns + self.plan.length_ns);
            while now < end {
                now = now_ns();
            }
            // Nothing if the machine took the time of the detour and more.
            self.note(end.max(from), now);
            lost += now - from;
            self.next_ns += self.plan.period_ns;
        }
        self.last_ns = now;
        lost
    }

    /// Records time taken by the machine, if it exceeds the usual gap between two readings.
    fn note(&mut self, from: i64, to: i64) {
        if to - from > OWN_NS {
            self.own.push((from - self.start_ns, to - self.start_ns));
        }
    }

    /// Works for this long, not counting the time lost.
    pub fn work(&mut self, time_ns: i64) {
        let mut end = self.last_ns + time_ns;
        while self.last_ns < end {
            end += self.look();
        }
    }

    /// Works until this much of the run has passed.
    pub fn work_until(&mut self, length_ns: i64) {
        while self.last_ns < self.start_ns + length_ns {
            self.look();
        }
    }

    /// The length of the run, and the detours of the machine in it.
    pub fn finish(mut self) -> Found {
        self.look();
        Found { took_ns: self.last_ns - self.start_ns, own: self.own }
    }
}

/// The outcome of a run on one rank.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Found {
    pub took_ns: i64,
    /// Beginning and end of each detour of the machine, in order.
    pub own: Vec<(i64, i64)>,
}

fn time(ns: i64) -> Time {
    Time::from_ns(u64::try_from(ns).unwrap_or(0))
}

impl Found {
    /// The share of the time taken by the machine.
    pub fn share(&self) -> f64 {
        let own: i64 = self.own.iter().map(|(from, to)| to - from).sum();
        own as f64 / self.took_ns.max(1) as f64
    }

    /// The detours of the machine as noise that repeats with the length of the run, and those of a plan. Where two
    /// overlap, the process loses the time once, as in [`Disturbed::look`].
    pub fn noise(&self, plan: Option<&Plan>) -> Result<Detours, DetoursError> {
        let took = self.took_ns.max(1);
        let Some(plan) = plan.filter(|plan| plan.length_ns > 0) else {
            return Detours::new(&disjoint(self.own.clone()), Some(time(took)));
        };
        // Both repeat, with different periods. The noise as a whole repeats after several of the longer one.
        let periods = took.max(plan.period_ns).saturating_mul(TURNS) / plan.period_ns;
        let length = periods.saturating_mul(plan.period_ns);
        let repeated = (0..length).step_by(took as usize);
        let own = repeated.flat_map(|turn| self.own.iter().map(move |&(from, to)| (turn + from, turn + to)));
        let planned = (0..length).step_by(plan.period_ns as usize).map(|turn| {
            let from = turn + plan.first_ns;
            (from, from + plan.length_ns)
        });
        let mut all: Vec<(i64, i64)> = own.chain(planned).filter(|&(from, _)| from < length).collect();
        all.sort_unstable();
        Detours::new(&disjoint(all), Some(time(length)))
    }
}

/// Joins detours that overlap, and returns the start and the duration of each.
fn disjoint(detours: Vec<(i64, i64)>) -> Vec<(Time, Time)> {
    let mut joined: Vec<(i64, i64)> = Vec::with_capacity(detours.len());
    for (from, to) in detours {
        match joined.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => joined.push((from, to)),
        }
    }
    joined.into_iter().map(|(from, to)| (time(from), time(to - from))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detours_come_at_their_times_and_work_is_done_in_full() {
        let plan = Plan { first_ns: 200_000, period_ns: 1_000_000, length_ns: 300_000 };
        let mut run = Disturbed::begin(plan, now_ns() + 1_000_000);
        run.work(2_000_000);
        let found = run.finish();
        // 2 ms of work with 0.3 ms lost from 0.2 and 1.2 ms on, and whatever the machine added.
        assert!(found.took_ns >= 2_600_000, "{found:?}");
        assert!(found.own.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{found:?}");
    }

    #[test]
    fn noise_is_what_was_planned_and_found() {
        let found = Found { took_ns: 2_000, own: vec![(0, 100), (1_100, 1_300)] };
        assert_eq!(found.share(), 0.15);
        let noise = |plan: Option<&Plan>| {
            let noise = found.noise(plan).unwrap();
            (
                noise.length(),
                noise.iter().map(|(from, took)| (from.ps() / 1000, took.ps() / 1000)).collect::<Vec<_>>(),
            )
        };
        assert_eq!(noise(None), (time(2_000), vec![(0, 100), (1_100, 200)]));
        let none = Plan { first_ns: 5, period_ns: 1_000, length_ns: 0 };
        assert_eq!(noise(Some(&none)), noise(None));
        // Overlapping detours cost their union.
        let plan = Plan { first_ns: 200, period_ns: 1_000, length_ns: 300 };
        let (length, detours) = noise(Some(&plan));
        assert_eq!(length, time(16_000));
        assert_eq!(detours[..4], [(0, 100), (200, 300), (1_100, 400), (2_000, 100)]);
        assert_eq!(detours.len(), 3 * 8);
    }
}
