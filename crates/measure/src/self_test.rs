//! Checks whether the detour kernel finds known detours.
//!
//! A second thread on the measured core wakes up every few milliseconds, keeps the core busy for a known
//! span, and records when. The recording is compared with these spans: how many of them it contains, and how
//! far its durations are off.
//!
//! A detour begins before the injecting thread reads its clock and ends after it, because of the interrupt,
//! the wake-up and two context switches. Their cost is measured separately, with spans so short that they
//! consist of little else. On a virtual machine this cost is not constant but varies by many microseconds, so
//! it is measured as a range; for the longer spans only the excess outside this range is an error.

mod priority;

use priority::Favour;
pub use priority::Priority;

use crate::cores::{self, CoresError};
use crate::noise::{self, MeasureError, Measured, Options};
use crate::timer::{Clock, Native};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::Builder;
use std::time::Duration;
use straggler_model::Time;
use straggler_model::provenance::Timer;
use straggler_model::stats::quantile_in_place;
use straggler_noise::recording::{Core, Detour};

/// Spans of these lengths in turn; the first measures the cost of switching.
const SPANS: [Time; 6] = [
    Time::from_ns(2_000),
    Time::from_ns(20_000),
    Time::from_ns(30_000),
    Time::from_ns(50_000),
    Time::from_ns(100_000),
    Time::from_ns(200_000),
];

/// Spans from this length on are judged.
pub const JUDGED_FROM: Time = Time::from_ns(20_000);

/// Sleep between two spans.
const PERIOD: Duration = Duration::from_millis(2);

/// A duration may be off by this much, or by five percent.
const TOLERANCE: Time = Time::from_ns(2_000);
const TOLERANCE_SHARE: f64 = 0.05;

/// This share of the spans must be found.
const FOUND_SHARE: f64 = 0.95;

/// With more other noise than this, a failure means little.
const BUSY: f64 = 0.01;

/// A span for which the core was taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Injected {
    pub start: Time,
    pub end: Time,
}

impl Injected {
    fn length(self) -> Time {
        self.end.since(self.start)
    }

    fn overlap(self, detour: &Detour) -> Time {
        self.end.min(detour.end()).since(self.start.max(detour.start))
    }
}

/// The comparison of the recording with the injected spans. Errors concern the durations of found spans of 20
/// µs and more, beyond the range of the switching cost.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Verdict {
    pub injected: u64,
    pub found: u64,
    /// The cost of interrupt, wake-up and two context switches: the median over the shortest spans, and the
    /// range of nine tenths of them.
    pub switch_cost: Time,
    pub switch_cost_range: [Time; 2],
    pub median_error: Time,
    pub p95_error: Time,
    /// The 95th percentile of error over tolerance (2 µs or 5 %, whichever is more); at most 1 is good.
    pub p95_of_tolerance: f64,
    /// Share of time taken by other noise.
    pub other_noise: f64,
}

impl Verdict {
    pub fn found_share(&self) -> f64 {
        if self.injected == 0 { 0.0 } else { self.found as f64 / self.injected as f64 }
    }

    /// Whether 95 % were found, and the durations of 95 % of these are within the tolerance.
    pub fn passed(&self) -> bool {
        self.found_share() >= FOUND_SHARE && self.p95_of_tolerance <= 1.0
    }

    /// Whether there is so much other noise that a failure means little.
    pub fn is_busy(&self) -> bool {
        self.other_noise > BUSY
    }
}

/// The result of a self-test.
#[derive(Clone, PartialEq, Debug)]
pub struct SelfTest {
    pub verdict: Verdict,
    pub priority: Priority,
    pub measured: Measured,
}

/// Measures with injected detours; `options` must name one core.
pub fn run(options: &Options, timer: &Timer, stop: &AtomicBool) -> Result<SelfTest, MeasureError> {
    let &[core] = options.cores.as_slice() else { return Err(MeasureError::NoCores) };
    let over = AtomicBool::new(false);
    let spans = SPANS.map(|span| (span.ps() as f64 * timer.ticks_per_second / 1e12).round() as u64);
    std::thread::scope(|scope| {
        let injector = Builder::new().name("straggler-thief".into());
        let (ready, is_ready) = channel();
        let over = &over;
        let injector = injector
            .spawn_scoped(scope, move || inject(core, spans, over, ready))
            .map_err(|fault| MeasureError::NoThread { core, fault: fault.to_string() })?;
        // Wait until the injecting thread is ready: once the measuring thread has precedence, it could no
        // longer be set up. If it fails it hangs up, and its error is returned at the end.
        let _ = is_ready.recv();
        let favour = Favour::ask();
        let measured = noise::measure(options, timer, stop, None);
        drop(favour);
        over.store(true, Ordering::Relaxed);
        let (priority, ticks) = injector.join().map_err(|_| MeasureError::Died { core })??;
        let measured = measured?;
        let time = |ticks| measured.timebase.time(ticks);
        let truth: Vec<Injected> = ticks
            .iter()
            .filter_map(|&(start, end)| Some(Injected { start: time(start)?, end: time(end)? }))
            .collect();
        let verdict = measured.recording.cores.first().map(|core| judge(core, &truth));
        Ok(SelfTest { verdict: verdict.ok_or(MeasureError::NoCores)?, priority, measured })
    })
}

/// Takes the core repeatedly until `over` is set; returns the spans in ticks.
fn inject(
    core: u32,
    spans: [u64; SPANS.len()],
    over: &AtomicBool,
    ready: Sender<()>,
) -> Result<(Priority, Vec<(u64, u64)>), CoresError> {
    cores::pin(core)?;
    let priority = priority::raise();
    let _ = ready.send(());
    let mut clock = Native::default();
    let mut list = Vec::with_capacity(1 << 16);
    for span in spans.into_iter().cycle() {
        std::thread::sleep(PERIOD);
        if over.load(Ordering::Relaxed) {
            break;
        }
        let start = clock.now();
        let end = loop {
            let now = clock.now();
            if now.saturating_sub(start) >= span {
                break now;
            }
        };
        list.push((start, end));
    }
    Ok((priority, list))
}

/// Compares a core's detours with the injected spans.
pub fn judge(core: &Core, truth: &[Injected]) -> Verdict {
    // Spans that were cut by the ends of the measurement are left out.
    let whole = truth.iter().filter(|span| span.end < core.length && span.start > Time::ZERO);
    let matched: Vec<(Injected, Option<Detour>)> =
        whole.map(|&span| (span, matching(&core.detours, span))).collect();
    let excess = |(span, detour): &(Injected, Option<Detour>)| {
        detour.map(|detour| (span.length(), detour.duration.ps() as i64 - span.length().ps() as i64))
    };
    let short = |span: &Injected| span.length() < JUDGED_FROM;
    let switching = matched.iter().filter(|(span, _)| short(span)).filter_map(excess);
    let mut costs: Vec<u64> = switching.map(|(_, excess)| excess.max(0) as u64).collect();
    let [low, cost, high] = [0.05, 0.5, 0.95].map(|share| quantile_in_place(&mut costs, share).unwrap_or(0));
    let beyond = |excess: i64| {
        let excess = excess.max(0) as u64;
        excess.saturating_sub(high).max(low.saturating_sub(excess))
    };
    let judged: Vec<_> = matched.iter().filter(|(span, _)| !short(span)).copied().collect();
    let found: Vec<(Time, i64)> = judged.iter().filter_map(excess).collect();
    let mut errors: Vec<u64> = found.iter().map(|&(_, excess)| beyond(excess)).collect();
    let mut parts: Vec<u64> =
        found.iter().zip(&errors).map(|(&(length, _), &error)| parts_of_tolerance(length, error)).collect();
    let mut error_at = |share| Time(quantile_in_place(&mut errors, share).unwrap_or(0));
    // Injected noise is the spans plus the least switching cost; the rest is other noise.
    let all: Vec<(Time, i64)> = matched.iter().filter_map(excess).collect();
    let least = all.iter().map(|&(_, excess)| excess.max(0) as u64).min().unwrap_or(0);
    let ours = all.iter().fold(Time::ZERO, |sum, &(length, _)| sum + length + Time(least));
    Verdict {
        injected: judged.len() as u64,
        found: found.len() as u64,
        switch_cost: Time(cost),
        switch_cost_range: [Time(low), Time(high)],
        median_error: error_at(0.5),
        p95_error: error_at(0.95),
        p95_of_tolerance: quantile_in_place(&mut parts, 0.95).map_or(f64::INFINITY, |part| part as f64 / 1e6),
        other_noise: core.noise().since(ours).ps() as f64 / core.length.ps().max(1) as f64,
    }
}

/// The error as millionths of the tolerance: integers, so that the common definition of quantiles applies.
fn parts_of_tolerance(length: Time, error: u64) -> u64 {
    let tolerance = (TOLERANCE.ps() as f64).max(TOLERANCE_SHARE * length.ps() as f64);
    (error as f64 / tolerance * 1e6).round() as u64
}

/// The detour that covers most of the span, if it covers half of it.
fn matching(detours: &[Detour], span: Injected) -> Option<Detour> {
    let first = detours.partition_point(|detour| detour.end() <= span.start);
    let touching = detours.iter().skip(first).take_while(|detour| detour.start < span.end);
    let best = touching.max_by_key(|detour| span.overlap(detour))?;
    (span.overlap(best).ps() * 2 >= span.length().ps()).then_some(*best)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::{Threshold, detour};
    use crate::noise::Kernel;

    const MS: u64 = 1_000_000_000;
    const US: u64 = 1_000_000;

    /// A verdict on spans every 2 ms; `detour` makes the detours from start and length.
    fn verdict(count: u64, detour: impl Fn(u64, u64, u64) -> Option<(u64, u64)>) -> Verdict {
        let mut core = Core { length: Time((2 * count + 2) * MS), ..Core::default() };
        let mut truth = Vec::new();
        for index in 0..count {
            let start = (index + 1) * 2 * MS;
            let length = SPANS[index as usize % SPANS.len()].ps();
            truth.push(Injected { start: Time(start), end: Time(start + length) });
            if let Some((start, duration)) = detour(index, start, length) {
                core.detours.push(Detour { start: Time(start), duration: Time(duration), source: 0 });
            }
        }
        judge(&core, &truth)
    }

    #[test]
    fn a_perfect_recording_passes() {
        let verdict = verdict(600, |_, start, length| Some((start - 2 * US, length + 3 * US)));
        assert_eq!((verdict.injected, verdict.found), (500, 500));
        assert_eq!((verdict.switch_cost, verdict.p95_error), (Time(3 * US), Time::ZERO));
        assert!(verdict.passed() && !verdict.is_busy(), "{verdict:?}");
    }

    #[test]
    #[ignore = "says something on a quiet machine only"]
    fn this_machine_passes() {
        let core = *cores::allowed().unwrap().last().unwrap();
        let threshold = Threshold::Factor(detour::FACTOR);
        let options = Options {
            cores: vec![core],
            kernel: Kernel::Detour { threshold },
            length: Time(3000 * MS),
            events: None,
            capacity: 1 << 20,
            begin_ticks: None,
        };
        let timer = crate::timer::examine().unwrap();
        let test = run(&options, &timer, &AtomicBool::new(false)).unwrap();
        println!("{:?} {:?}", test.verdict, test.priority);
        assert!(test.verdict.passed());
    }

    #[test]
    fn missing_detours_fail() {
        let lossy = |index, start, length| (index % 10 != 3).then_some((start, length));
        let verdict = verdict(600, lossy);
        assert!(verdict.found_share() < 0.95 && !verdict.passed(), "{verdict:?}");
    }

    #[test]
    fn wrong_durations_fail() {
        let stretched = |_, start, length| Some((start, length + length / 5));
        let verdict = verdict(600, stretched);
        assert_eq!(verdict.found_share(), 1.0);
        assert!(verdict.p95_of_tolerance > 1.0 && !verdict.passed(), "{verdict:?}");
    }

    #[test]
    fn other_noise_makes_the_machine_busy() {
        let length = Time(100 * MS);
        let other = Detour { start: Time(50 * MS), duration: Time(5 * MS), source: 0 };
        let core = Core { length, detours: vec![other], ..Core::default() };
        let verdict = judge(&core, &[]);
        assert!(verdict.is_busy() && !verdict.passed(), "{verdict:?}");
        assert_eq!(verdict.other_noise, 0.05);
    }
}
