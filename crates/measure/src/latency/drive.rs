//! Runs an operation in cycles of trials.

use super::recorder::Recorder;
use crate::timer::Clock;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Something to be timed.
pub trait Operation {
    /// One trial.
    fn perform(&mut self) -> io::Result<()>;
}

/// The number of trials and cycles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effort {
    /// Per cycle.
    pub trials: u64,
    pub cycles: u32,
}

impl Effort {
    pub fn total(self) -> u64 {
        self.trials.saturating_mul(self.cycles.into())
    }

    /// Number of trials before the first that counts, while caches, branch predictors and processor clocks
    /// settle.
    pub fn warm_up(self) -> u64 {
        (self.trials / 10).clamp(1, 1000)
    }
}

/// Shows progress, and may stop the measurement.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    pub stop: &'a AtomicBool,
    /// Called with the number of further trials done.
    pub progress: &'a (dyn Fn(u64) + Sync),
}

impl std::fmt::Debug for Watch<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch").field("stop", self.stop).finish_non_exhaustive()
    }
}

/// How a run ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ended {
    Complete,
    /// Stopped on request.
    Stopped,
    Failed(String),
}

/// Time between two progress reports.
const REPORT: Duration = Duration::from_millis(200);

/// A signal is heard within this time.
const HEARD: Duration = Duration::from_millis(200);

/// Runs all cycles, or until it is stopped or fails. The recorder keeps what was recorded until then.
pub fn drive<C: Clock>(
    operation: &mut impl Operation,
    recorder: &mut Recorder<C>,
    effort: Effort,
    watch: &Watch<'_>,
) -> Ended {
    for _ in 0..effort.warm_up() {
        if watch.stop.load(Ordering::Relaxed) {
            return Ended::Stopped;
        }
        if let Err(fault) = operation.perform() {
            return failed(&fault, watch);
        }
    }
    for _ in 0..effort.cycles {
        let ended = cycle(operation, recorder, effort.trials, watch);
        recorder.end_cycle();
        if ended != Ended::Complete {
            return ended;
        }
    }
    Ended::Complete
}

/// Distinguishes a failure from Ctrl-C, which also ends a command; this program may receive the signal a
/// little later.
fn failed(fault: &io::Error, watch: &Watch<'_>) -> Ended {
    let until = Instant::now() + HEARD;
    while !watch.stop.load(Ordering::Relaxed) {
        if Instant::now() >= until {
            return Ended::Failed(fault.to_string());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ended::Stopped
}

fn cycle<C: Clock>(
    operation: &mut impl Operation,
    recorder: &mut Recorder<C>,
    trials: u64,
    watch: &Watch<'_>,
) -> Ended {
    let mut reported = (Instant::now(), 0);
    for trial in 0..trials {
        let begun = recorder.begin();
        let performed = operation.perform();
        match performed {
            Ok(()) => {
                recorder.end(begun);
            }
            Err(fault) => return failed(&fault, watch),
        }
        if watch.stop.load(Ordering::Relaxed) {
            return Ended::Stopped;
        }
        // Long operations are reported one by one, short ones now and then.
        if trial % 64 == 63 || trial < 64 {
            let now = Instant::now();
            if now - reported.0 > REPORT {
                (watch.progress)(trial + 1 - reported.1);
                reported = (now, trial + 1);
            }
        }
    }
    (watch.progress)(trials - reported.1);
    Ended::Complete
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::Work;
    use crate::timer::simulated::{Bench, Simulated};
    use std::sync::atomic::AtomicU64;
    use straggler_model::Time;
    use straggler_model::latency::{Bins, Labels};

    /// Takes 100, 101, … ticks and finally fails.
    struct Scripted {
        work: Bench,
        trials: u64,
        fails_at: u64,
    }

    impl Operation for Scripted {
        fn perform(&mut self) -> io::Result<()> {
            if self.trials == self.fails_at {
                return Err(io::Error::other("the disk is full"));
            }
            self.work.work(100 + self.trials);
            self.trials += 1;
            Ok(())
        }
    }

    fn run(fails_at: u64, stop: bool) -> (Ended, straggler_model::latency::Series, u64) {
        let (clock, work) = Bench::new(Simulated::new(20));
        let mut recorder = Recorder::with_clock(clock, 1e9, Labels::default(), Bins::default());
        let mut operation = Scripted { work, trials: 0, fails_at };
        let (stop, done) = (AtomicBool::new(stop), AtomicU64::new(0));
        let progress = |more| {
            done.fetch_add(more, Ordering::Relaxed);
        };
        let effort = Effort { trials: 20, cycles: 3 };
        let ended = drive(&mut operation, &mut recorder, effort, &Watch { stop: &stop, progress: &progress });
        (ended, recorder.finish(), done.into_inner())
    }

    #[test]
    fn all_cycles_run_after_a_warm_up() {
        let (ended, series, done) = run(u64::MAX, false);
        assert_eq!((ended, series.trials.count(), done), (Ended::Complete, 60, 60));
        // Two trials of 100 and 101 ns are the warm-up.
        assert_eq!(series.minima, [102, 122, 142].map(Time::from_ns));
    }

    #[test]
    fn a_failure_keeps_what_was_measured() {
        let (ended, series, _) = run(30, false);
        assert_eq!(ended, Ended::Failed("the disk is full".into()));
        assert_eq!((series.trials.count(), series.cycles.len()), (28, 2));
        let (ended, series, _) = run(0, false);
        assert_eq!((ended, series.trials.count()), (Ended::Failed("the disk is full".into()), 0));
    }

    /// A command that Ctrl-C has ended, in the warm-up or later, did not fail.
    #[test]
    fn what_a_signal_ended_has_not_failed() {
        for fails_at in [0, 30] {
            let (clock, work) = Bench::new(Simulated::new(20));
            let mut recorder = Recorder::with_clock(clock, 1e9, Labels::default(), Bins::default());
            let mut operation = Scripted { work, trials: 0, fails_at };
            let stop = AtomicBool::new(false);
            let effort = Effort { trials: 20, cycles: 3 };
            let ended = std::thread::scope(|scope| {
                scope.spawn(|| {
                    std::thread::sleep(Duration::from_millis(30));
                    stop.store(true, Ordering::Relaxed);
                });
                drive(&mut operation, &mut recorder, effort, &Watch { stop: &stop, progress: &|_| {} })
            });
            assert_eq!(ended, Ended::Stopped, "{fails_at}");
        }
    }

    #[test]
    fn stop_stops() {
        assert_eq!(run(u64::MAX, true).0, Ended::Stopped);
    }
}
