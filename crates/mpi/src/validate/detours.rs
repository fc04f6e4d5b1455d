//! Detours injected into a process, and those that the machine adds.
//!
//! The process reads the clock wherever it works or waits. When a detour is due, it does nothing
//! until the detour is over. When much time has passed since the last reading, something else had
//! the core: a detour of the machine.

use crate::clock::now_ns;
use straggler_model::Time;
use straggler_model::noise::{Detours, DetoursError};

/// Gaps between two readings beyond this are detours of the machine. At most one MPI call lies
/// between two readings, which takes less.
const OWN_NS: i64 = 5_000;

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

    /// The machine's detours as noise that repeats with the length of the run.
    pub fn noise(&self) -> Result<Detours, DetoursError> {
        let detours: Vec<(Time, Time)> =
            self.own.iter().map(|&(from, to)| (time(from), time(to - from))).collect();
        Detours::new(&detours, Some(time(self.took_ns.max(1))))
    }
}

impl Plan {
    /// The planned detours as noise.
    pub fn noise(&self) -> Result<Detours, DetoursError> {
        Detours::new(&[(time(self.first_ns), time(self.length_ns))], Some(time(self.period_ns)))
    }
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
        let plan = Plan { first_ns: 200, period_ns: 1_000, length_ns: 300 }.noise().unwrap();
        assert_eq!(
            (plan.length(), plan.iter().collect::<Vec<_>>()),
            (time(1_000), vec![(time(200), time(300))])
        );
        let found = Found { took_ns: 10_000, own: vec![(0, 1_000), (4_000, 5_500)] };
        assert_eq!(found.share(), 0.25);
        assert_eq!(found.noise().unwrap().iter().last(), Some((time(4_000), time(1_500))));
    }
}
