//! Times an operation repeatedly and records the distribution.
//!
//! The cost of a pair of readings with nothing between them is measured before the first trial, in the same
//! way as trials are timed, and the least cost is subtracted from every trial: more would make some trials
//! too short. After every batch of [`BATCH`] trials such an empty pair is timed again, to show whether the
//! cost stayed the same during the run.
//!
//! A trial costs one difference and one store. The clock's fences would make every further instruction wait
//! for the one before it, so times are sorted into bins a batch at a time, where the processor can overlap
//! them. No memory is allocated until a cycle ends.

use crate::timer::{Clock, Native};
use std::time::{SystemTime, UNIX_EPOCH};
use straggler_model::Time;
use straggler_model::latency::{Bins, Bounds, Histogram, Labels, Series};
use straggler_model::provenance::Timer;

/// The clock reading at the start of a trial.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "give it to `end`"]
pub struct Begun(pub u64);

/// Empty pairs of readings timed before the first trial.
const CALIBRATIONS: u32 = 10_000;

/// Number of trials kept in ticks before they are sorted into bins: a power of two, and small compared with
/// the L1 cache.
const BATCH: usize = 512;

/// Records one series. One thread has one; series of several threads are merged.
#[derive(Debug)]
pub struct Recorder<C: Clock = Native> {
    clock: C,
    rate: Rate,
    /// The cost subtracted from each trial, in ticks.
    cost: u64,
    /// Trials in ticks, as read, and their number.
    batch: Box<[u64; BATCH]>,
    filled: usize,
    /// The trials as times, while they are sorted into bins.
    times: Box<[Time; BATCH]>,
    /// The current cycle.
    cycle: Histogram,
    cycle_started_ns: u64,
    /// The finished cycles.
    series: Series,
}

impl Recorder<Native> {
    /// `timer` is the result of [`crate::timer::examine`].
    pub fn new(timer: &Timer, labels: Labels, bins: Bins) -> Recorder<Native> {
        Recorder::with_clock(Native::default(), timer.ticks_per_second, labels, bins)
    }
}

impl<C: Clock> Recorder<C> {
    pub fn with_clock(mut clock: C, ticks_per_second: f64, labels: Labels, bins: Bins) -> Recorder<C> {
        let rate = Rate::new(ticks_per_second);
        let cost = (0..CALIBRATIONS).map(|_| empty_pair(&mut clock)).min().unwrap_or(0);
        let mut series = Series::new(labels, bins);
        series.trials = Histogram::preallocated(bins);
        series.timer.calls = Histogram::preallocated(Bins::default());
        series.timer.subtracted = Some(Bounds { low: rate.time(cost), high: rate.time(cost) });
        Recorder {
            clock,
            rate,
            cost,
            batch: Box::new(std::hint::black_box([1; BATCH])),
            filled: 0,
            times: Box::new(std::hint::black_box([Time(1); BATCH])),
            cycle: Histogram::preallocated(bins),
            cycle_started_ns: now_ns(),
            series,
        }
    }

    /// Reads the clock; timing starts here.
    #[inline(always)]
    pub fn begin(&mut self) -> Begun {
        Begun(self.clock.fenced())
    }

    /// Reads the clock and records the time since `begun`, which it returns.
    #[inline(always)]
    pub fn end(&mut self, begun: Begun) -> Time {
        let ticks = self.clock.fenced().saturating_sub(begun.0);
        // The mask tells the compiler that the index is in bounds.
        self.batch[self.filled & (BATCH - 1)] = ticks;
        self.filled += 1;
        if self.filled == BATCH {
            self.end_batch();
        }
        self.less_cost(ticks).unwrap_or(Time::ZERO)
    }

    /// Reads the clock and returns the time since `begun` without recording it, for kernels that record it
    /// elsewhere or combine it with another process's time. `None` if it is less than the subtracted cost.
    #[inline(always)]
    pub fn elapsed(&mut self, begun: Begun) -> Option<Time> {
        let ticks = self.clock.fenced().saturating_sub(begun.0);
        self.less_cost(ticks)
    }

    /// Records a time that was found in another way.
    #[inline(always)]
    pub fn record(&mut self, time: Time) {
        self.cycle.record(time);
    }

    /// Records a trial that took less than the subtracted cost.
    pub fn record_underflow(&mut self) {
        self.cycle.record_underflow();
    }

    #[inline(always)]
    fn less_cost(&self, ticks: u64) -> Option<Time> {
        Some(self.rate.time(ticks.checked_sub(self.cost)?))
    }

    #[cold]
    #[inline(never)]
    fn end_batch(&mut self) {
        self.sort_batch();
        self.check_timer();
    }

    /// Sorts the trials of the batch into bins.
    fn sort_batch(&mut self) {
        let filled = std::mem::take(&mut self.filled);
        let mut kept = 0;
        for index in 0..filled.min(BATCH) {
            match self.batch[index].checked_sub(self.cost) {
                Some(ticks) => {
                    self.times[kept] = self.rate.time(ticks);
                    kept += 1;
                }
                None => self.cycle.record_underflow(),
            }
        }
        self.cycle.record_all(&self.times[..kept]);
    }

    /// Times a pair of readings with nothing between them. Users of [`Recorder::elapsed`] should call this
    /// now and then; otherwise it happens after each batch.
    pub fn check_timer(&mut self) {
        let ticks = empty_pair(&mut self.clock);
        self.series.timer.calls.record(self.rate.time(ticks));
    }

    /// Ends a cycle: the trials since the last call. Its minimum and summary are stored separately.
    pub fn end_cycle(&mut self) {
        self.sort_batch();
        // The two have the same bins, and 2^64 trials are out of reach.
        let _ = self.series.add_cycle(&self.cycle, self.cycle_started_ns);
        self.cycle.clear();
        self.cycle_started_ns = now_ns();
    }

    /// The series so far, including the current cycle.
    pub fn so_far(&mut self) -> Series {
        self.sort_batch();
        let mut series = self.series.clone();
        let _ = series.add_cycle(&self.cycle, self.cycle_started_ns);
        series
    }

    /// Ends the current cycle, unless it is empty, and returns everything recorded.
    pub fn finish(mut self) -> Series {
        self.check_timer();
        self.end_cycle();
        self.series
    }
}

#[inline(always)]
fn empty_pair<C: Clock>(clock: &mut C) -> u64 {
    let begun = clock.fenced();
    clock.fenced().saturating_sub(begun)
}

fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// Picoseconds of a tick, times 2^32.
#[derive(Clone, Copy, Debug)]
struct Rate(u64);

impl Rate {
    fn new(ticks_per_second: f64) -> Rate {
        // The conversion from float saturates, far beyond the rates of real timers.
        Rate((1e12 / ticks_per_second * (1u64 << 32) as f64).round() as u64)
    }

    #[inline(always)]
    fn time(self, ticks: u64) -> Time {
        let ps = (u128::from(ticks) * u128::from(self.0)) >> 32;
        Time(u64::try_from(ps).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::Work;
    use crate::timer::simulated::{Bench, Simulated};

    /// A recorder and the work it times, on a core whose clock makes 1 ns steps and costs 20 of them.
    fn bench(core: Simulated) -> (Recorder<Bench>, Bench) {
        let (clock, work) = Bench::new(core);
        (Recorder::with_clock(clock, 1e9, Labels::default(), Bins::default()), work)
    }

    fn trial(recorder: &mut Recorder<Bench>, work: &mut Bench, steps: u64) -> Time {
        let begun = recorder.begin();
        work.work(steps);
        recorder.end(begun)
    }

    #[test]
    fn the_cost_of_the_timer_is_taken_off() {
        let (mut recorder, mut work) = bench(Simulated::new(20));
        assert_eq!(trial(&mut recorder, &mut work, 300), Time::from_ns(300));
        assert_eq!(trial(&mut recorder, &mut work, 0), Time::ZERO);
        let series = recorder.finish();
        assert_eq!(series.trials.max(), Some(Time::from_ns(300)));
        assert_eq!(series.timer.subtracted.map(|bounds| bounds.low), Some(Time::from_ns(20)));
        assert_eq!(series.timer.calls.min(), Some(Time::from_ns(20)));
    }

    #[test]
    fn only_the_least_cost_is_taken_off() {
        // An interruption while the timer is calibrated.
        let (mut recorder, mut work) = bench(Simulated::new(20).with_detour(1000, 5000));
        assert_eq!(trial(&mut recorder, &mut work, 300), Time::from_ns(300));
    }

    #[test]
    fn a_trial_shorter_than_the_timer_is_underflow() {
        let (mut recorder, _) = bench(Simulated::new(20));
        let begun = Begun(recorder.begin().0 + 5);
        assert_eq!(recorder.end(begun), Time::ZERO);
        // A clock that went back.
        assert_eq!(recorder.end(Begun(u64::MAX)), Time::ZERO);
        let series = recorder.finish();
        assert_eq!((series.trials.underflow(), series.trials.count()), (2, 2));
    }

    #[test]
    fn cycles_have_their_minima() {
        let (mut recorder, mut work) = bench(Simulated::new(20));
        for least in [500, 300, 400] {
            for more in 0..10 {
                trial(&mut recorder, &mut work, least + more);
            }
            recorder.end_cycle();
        }
        let series = recorder.finish();
        assert_eq!(series.minima, [300, 400, 500].map(Time::from_ns));
        assert_eq!(series.cycles.len(), 3);
        assert_eq!(series.trials.count(), 30);
        // The timer was looked at once, at the end.
        assert_eq!(series.timer.calls.count(), 1);
    }

    #[test]
    fn a_timer_that_becomes_slow_is_seen() {
        // From some time on everything takes three times as long.
        let (mut recorder, mut work) = bench(Simulated::new(20).slow_between(1_000_000, u64::MAX, 3));
        for _ in 0..10_000 {
            trial(&mut recorder, &mut work, 100);
        }
        let timer = recorder.finish().timer;
        // After each batch, and at the end.
        assert_eq!(timer.calls.count(), 10_000 / BATCH as u64 + 1);
        assert_eq!(timer.calls.max(), Some(Time::from_ns(60)));
        assert_eq!(timer.subtracted.map(|bounds| bounds.high), Some(Time::from_ns(20)));
    }

    #[test]
    fn ticks_become_picoseconds() {
        assert_eq!(Rate::new(2e9).time(3), Time(1500));
        assert_eq!(Rate::new(25e6).time(1 << 40), Time(40_000 << 40));
        // 3 GHz: a third of a nanosecond a tick, right to 100 ps in a minute.
        let minute = Rate::new(3e9).time(60 * 3_000_000_000);
        assert!(minute.ps().abs_diff(60_000_000_000_000) < 100, "{minute:?}");
        assert_eq!(Rate::new(1e3).time(u64::MAX), Time::NEVER);
    }
}
