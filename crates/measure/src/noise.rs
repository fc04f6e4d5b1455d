//! Measuring noise: one pinned thread per core, all started at the same instant.
//!
//! ```text
//!  main:     start threads ── all ready? ── set the instant ── sleep ──────────── collect
//!  worker:   pin, touch memory, assess ───────┘ spin until it ── kernel ── until the deadline
//! ```
//! The main thread sleeps while the workers measure, so that it causes no noise itself.

use crate::cores::{self, CoresError};
use crate::kernels::{Chain, Seen, Stretch, Threshold, detour, ftq, fwq};
use crate::timer::{Clock, Native};
use crate::{Timebase, Worker};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, Scope, ScopedJoinHandle};
use std::time::Duration;
use straggler_model::Time;
use straggler_model::provenance;
use straggler_noise::recording::{Core, Detour, Lost, Method, NoiseRecording, Phase, Quantum, UNNAMED};

/// The kernel to run, with its parameters.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Kernel {
    Detour {
        threshold: Threshold,
    },
    /// `work` is the approximate best time of a quantum.
    FixedWork {
        work: Time,
        threshold: Threshold,
    },
    FixedTime {
        quantum: Time,
        threshold: Threshold,
    },
}

/// What to measure.
#[derive(Clone, PartialEq, Debug)]
pub struct Options {
    pub cores: Vec<u32>,
    pub kernel: Kernel,
    pub length: Time,
    /// Ends early when every core has found this many detours.
    pub events: Option<u64>,
    /// Number of detours, or quanta, kept on each core.
    pub capacity: usize,
    /// When to begin, in ticks of the timer: a moment that several programs agreed on. By default, and if it
    /// has passed already, the measurement begins as soon as all threads are ready.
    pub begin_ticks: Option<u64>,
}

/// The result of a measurement.
#[derive(Clone, PartialEq, Debug)]
pub struct Measured {
    /// The caller fills in origin and machine.
    pub recording: NoiseRecording,
    pub timebase: Timebase,
    pub workers: Vec<Worker>,
    /// For each core the mean time of an undisturbed iteration, in ps: the cost of the loop.
    pub iteration_ps: Vec<f64>,
}

/// Why nothing could be measured.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum MeasureError {
    #[error(transparent)]
    Cores(#[from] CoresError),
    #[error("there is no core to measure")]
    NoCores,
    #[error(
        "the threshold of {threshold} is below the resolution of {clock}: a reading takes {overhead}, its \
         granularity is {granularity}; give at least {}", least(*overhead, *granularity)
    )]
    ThresholdBelowTimer { threshold: Time, clock: String, overhead: Time, granularity: Time },
    #[error("the threshold factor is {factor}: below 1 every iteration is a detour; 9 is usual")]
    FactorTooSmall { factor: f64 },
    #[error(
        "core {core}: the threshold of {threshold} is not above the {t_min} of an undisturbed iteration: every \
         iteration would be a detour; give a larger one"
    )]
    ThresholdTooLow { core: u32, threshold: Time, t_min: Time },
    #[error(
        "a quantum of {quantum} is too short: {clock} needs {overhead} for a reading; give at least {least}"
    )]
    QuantumTooShort { quantum: Time, clock: String, overhead: Time, least: Time },
    #[error("cannot start a thread for core {core}: {fault}")]
    NoThread { core: u32, fault: String },
    #[error("the thread on core {core} died")]
    Died { core: u32 },
}

fn least(overhead: Time, granularity: Time) -> Time {
    overhead.max(granularity)
}

/// Readings that must fit into a quantum of work or time, so that reading does not distort it.
const READS_IN_A_QUANTUM: u64 = 50;

/// Units of work per quantum of time.
const UNITS_IN_A_QUANTUM: u64 = 1000;

/// Converts between ticks and times of one timer.
#[derive(Clone, Copy, Debug)]
struct Rate(f64);

impl Rate {
    fn ticks(self, time: Time) -> u64 {
        (time.ps() as f64 * self.0 / 1e12).round() as u64
    }

    fn time(self, ticks: u64) -> Time {
        Timebase { start_ticks: 0, ticks_per_second: self.0 }.length(ticks)
    }
}

/// Checks the options before threads are started.
pub fn check(options: &Options, timer: &provenance::Timer) -> Result<(), MeasureError> {
    if options.cores.is_empty() {
        return Err(MeasureError::NoCores);
    }
    let (overhead, granularity) = (Time(timer.overhead_ps), Time(timer.granularity_ps));
    let (threshold, quantum) = match options.kernel {
        Kernel::Detour { threshold } => (threshold, None),
        Kernel::FixedWork { work, threshold } => (threshold, Some(work)),
        Kernel::FixedTime { quantum, threshold } => (threshold, Some(quantum)),
    };
    match threshold {
        Threshold::Factor(factor) if factor.is_nan() || factor <= 1.0 => {
            return Err(MeasureError::FactorTooSmall { factor });
        }
        Threshold::Time(threshold) if threshold < least(overhead, granularity) => {
            let clock = timer.name.clone();
            return Err(MeasureError::ThresholdBelowTimer { threshold, clock, overhead, granularity });
        }
        _ => {}
    }
    let shortest = Time(overhead.max(granularity).ps().saturating_mul(READS_IN_A_QUANTUM));
    match quantum {
        Some(quantum) if quantum < shortest => {
            let clock = timer.name.clone();
            Err(MeasureError::QuantumTooShort { quantum, clock, overhead, least: shortest })
        }
        _ => Ok(()),
    }
}

/// Measures. If `stop` is raised, it ends early with the data so far. If `watch` is given, it is called now
/// and then with the time passed, which costs a little of a core's time.
pub fn measure(
    options: &Options,
    timer: &provenance::Timer,
    stop: &AtomicBool,
    watch: Option<&dyn Fn(Time)>,
) -> Result<Measured, MeasureError> {
    check(options, timer)?;
    let rate = Rate(timer.ticks_per_second);
    let shared = Shared { options, rate, stop, start: AtomicU64::new(WAIT), satisfied: AtomicU32::new(0) };
    let results = std::thread::scope(|scope| run_workers(scope, &shared, watch))?;
    let timebase = Timebase { start_ticks: shared.start.load(Ordering::Acquire), ticks_per_second: rate.0 };
    let mut workers = Vec::new();
    let mut cores = Vec::new();
    let mut iteration_ps = Vec::new();
    for (worker, seen) in results {
        workers.push(worker);
        iteration_ps.push(seen.iteration * 1e12 / rate.0);
        cores.push(core(worker.core, &timebase, seen, options.kernel));
    }
    let recording = NoiseRecording {
        timer: timer.clone(),
        method: method(options.kernel),
        sources: NoiseRecording::unnamed(),
        cores,
        ..NoiseRecording::default()
    };
    Ok(Measured { recording, timebase, workers, iteration_ps })
}

fn method(kernel: Kernel) -> Method {
    match kernel {
        Kernel::Detour { .. } => Method::Detour,
        Kernel::FixedWork { .. } => Method::FixedWork,
        Kernel::FixedTime { quantum, .. } => Method::FixedTime { quantum_ps: quantum.ps() },
    }
}

/// The state shared by the threads.
#[derive(Debug)]
struct Shared<'a> {
    options: &'a Options,
    rate: Rate,
    stop: &'a AtomicBool,
    /// The instant at which all begin, [`WAIT`] until it is known, or [`GIVE_UP`].
    start: AtomicU64,
    /// Number of cores that have found the requested number of events.
    satisfied: AtomicU32,
}

const WAIT: u64 = 0;
const GIVE_UP: u64 = u64::MAX;

/// Time from when the last worker is ready until all begin: long enough for every worker to see the instant.
const LEAD: Time = Time::from_ns(2_000_000);

/// Interval at which the main thread calls `watch`.
const WATCH: Duration = Duration::from_millis(200);

/// Which core is ready, or why it is not.
type Prepared = Result<u32, MeasureError>;
type Result1 = Result<(Worker, Seen), MeasureError>;

fn run_workers<'scope>(
    scope: &'scope Scope<'scope, '_>,
    shared: &'scope Shared<'_>,
    watch: Option<&dyn Fn(Time)>,
) -> Result<Vec<(Worker, Seen)>, MeasureError> {
    let (ready, prepared) = channel();
    let mut threads = Vec::new();
    let mut fault = None;
    for &core in &shared.options.cores {
        let ready = ready.clone();
        let thread = Builder::new().name(format!("straggler-{core}"));
        match thread.spawn_scoped(scope, move || worker(core, shared, ready)) {
            Ok(thread) => threads.push((core, thread)),
            Err(error) => {
                fault = Some(MeasureError::NoThread { core, fault: error.to_string() });
                break;
            }
        }
    }
    drop(ready);
    let fault = fault.or_else(|| all_prepared(&prepared, &shared.options.cores).err());
    let soonest = Native::default().now() + shared.rate.ticks(LEAD);
    let start = shared.options.begin_ticks.map_or(soonest, |begin| begin.max(soonest));
    shared.start.store(if fault.is_some() { GIVE_UP } else { start }, Ordering::Release);
    if let (Some(watch), None) = (watch, &fault) {
        watch_over(&threads, shared.rate, start, watch);
    }
    let results: Vec<Result1> = threads.into_iter().map(|(core, thread)| joined(core, thread)).collect();
    match fault {
        Some(fault) => Err(fault),
        None => results.into_iter().collect(),
    }
}

fn all_prepared(prepared: &Receiver<Prepared>, cores: &[u32]) -> Result<(), MeasureError> {
    let ready = prepared.iter().take(cores.len()).collect::<Result<Vec<u32>, _>>()?;
    // A worker that died has sent nothing.
    match cores.iter().find(|core| !ready.contains(core)) {
        Some(&core) => Err(MeasureError::Died { core }),
        None => Ok(()),
    }
}

fn watch_over<T>(threads: &[(u32, ScopedJoinHandle<'_, T>)], rate: Rate, start: u64, watch: &dyn Fn(Time)) {
    while threads.iter().any(|(_, thread)| !thread.is_finished()) {
        std::thread::sleep(WATCH);
        watch(rate.time(Native::default().now().saturating_sub(start)));
    }
}

fn joined(core: u32, thread: ScopedJoinHandle<'_, Result1>) -> Result1 {
    thread.join().unwrap_or(Err(MeasureError::Died { core }))
}

/// The body of a worker thread.
fn worker(core: u32, shared: &Shared<'_>, ready: Sender<Prepared>) -> Result1 {
    let prepared = cores::pin(core).map_err(MeasureError::from).and_then(|()| prepare(core, shared));
    let _ = ready.send(prepared.as_ref().map(|_| core).map_err(Clone::clone));
    // Lets the main thread notice if a worker dies before it gets here.
    drop(ready);
    let kernel = prepared?;
    let mut clock = Native::default();
    let Some(start) = wait_for_start(shared, &mut clock) else { return Err(MeasureError::Died { core }) };
    // One tick more, so that rounding never makes it shorter than requested.
    let deadline = start.saturating_add(shared.rate.ticks(shared.options.length) + 1);
    let enough = enough(shared);
    let seen = kernel.run(&mut clock, start, deadline, enough);
    let thread = rustix::thread::gettid().as_raw_nonzero().get();
    Ok((Worker { core, thread }, seen))
}

/// Spins until the common instant; `None` if the measurement was given up.
fn wait_for_start(shared: &Shared<'_>, clock: &mut Native) -> Option<u64> {
    let start = loop {
        match shared.start.load(Ordering::Acquire) {
            // The thread that sets the instant may need this core.
            WAIT => std::thread::yield_now(),
            GIVE_UP => return None,
            start => break start,
        }
    };
    while clock.now() < start {}
    Some(start)
}

/// Ends a kernel when `stop` is raised, or when every core has found enough.
fn enough<'a>(shared: &'a Shared<'_>) -> impl FnMut(u64) -> bool + 'a {
    let mut satisfied = false;
    let all = shared.options.cores.len() as u32;
    move |found| {
        if shared.stop.load(Ordering::Relaxed) {
            return true;
        }
        let Some(events) = shared.options.events else { return false };
        if !satisfied && found >= events {
            satisfied = true;
            shared.satisfied.fetch_add(1, Ordering::Relaxed);
        }
        satisfied && shared.satisfied.load(Ordering::Relaxed) >= all
    }
}

/// A kernel with its memory, ready to run.
enum Ready {
    Detour(Box<detour::Kernel>),
    FixedWork(fwq::Kernel),
    FixedTime(ftq::Kernel),
}

impl Ready {
    fn run(self, clock: &mut Native, start: u64, deadline: u64, enough: impl FnMut(u64) -> bool) -> Seen {
        let mut chain = Chain::default();
        match self {
            Ready::Detour(kernel) => kernel.run(clock, start, deadline, enough),
            Ready::FixedWork(kernel) => kernel.run(clock, &mut chain, start, deadline, enough),
            Ready::FixedTime(kernel) => kernel.run(clock, &mut chain, start, deadline, enough),
        }
    }
}

/// Assesses the core and touches all memory.
fn prepare(core: u32, shared: &Shared<'_>) -> Result<Ready, MeasureError> {
    let Options { kernel, capacity, .. } = *shared.options;
    let rate = shared.rate;
    let ticks = |time| rate.ticks(time);
    let mut clock = Native::default();
    let mut chain = Chain::default();
    match kernel {
        Kernel::Detour { threshold } => prepare_detour(core, shared, threshold),
        Kernel::FixedWork { work, threshold } => {
            let (steps, t_min) = fwq::calibrate(&mut clock, &mut chain, ticks(work));
            let least = excess(threshold, t_min, ticks);
            Ok(Ready::FixedWork(fwq::Kernel::new(fwq::Settings { steps, t_min, least, capacity })))
        }
        Kernel::FixedTime { quantum, threshold } => {
            let quantum = ticks(quantum).max(1);
            let unit = (quantum / UNITS_IN_A_QUANTUM).max(1);
            let (steps, _) = fwq::calibrate(&mut clock, &mut chain, unit);
            let least = excess(threshold, quantum, ticks);
            Ok(Ready::FixedTime(ftq::Kernel::new(ftq::Settings { quantum, steps, least, capacity })))
        }
    }
}

/// The time that a quantum may lose before it counts as disturbed.
fn excess(threshold: Threshold, undisturbed: u64, ticks: impl Fn(Time) -> u64) -> u64 {
    match threshold {
        Threshold::Factor(factor) => (undisturbed as f64 * (factor - 1.0)).round() as u64,
        Threshold::Time(time) => ticks(time),
    }
}

/// Bounds of the time for assessing, otherwise a tenth of the measurement; warming up takes as long again.
const ASSESS: (Time, Time) = (Time::from_ns(10_000_000), Time::from_ns(100_000_000));

fn prepare_detour(core: u32, shared: &Shared<'_>, threshold: Threshold) -> Result<Ready, MeasureError> {
    let rate = shared.rate;
    let assess = rate.ticks(Time(shared.options.length.ps() / 10).clamp(ASSESS.0, ASSESS.1));
    let mut clock = Native::default();
    let until = assess_until(&mut clock, assess);
    let t_min = detour::assess(&mut clock, until);
    let settings = detour::Settings::new(threshold, t_min, shared.options.capacity, |time| rate.ticks(time));
    let settings = settings.map_err(|fault| MeasureError::ThresholdTooLow {
        core,
        threshold: rate.time(fault.threshold),
        t_min: rate.time(fault.t_min),
    })?;
    let mut kernel = detour::Kernel::new(settings);
    let until = assess_until(&mut clock, assess);
    kernel.warm_up(&mut clock, until);
    Ok(Ready::Detour(Box::new(kernel)))
}

fn assess_until(clock: &mut Native, ticks: u64) -> u64 {
    clock.now().saturating_add(ticks)
}

/// Converts a core's findings to times since the common start.
fn core(number: u32, timebase: &Timebase, seen: Seen, kernel: Kernel) -> Core {
    let time = |ticks: u64| timebase.time(ticks).unwrap_or(Time::ZERO);
    // Lengths as differences of times, so that rounding makes no neighbours overlap.
    let between = |start: u64, end: u64| time(end).since(time(start));
    let detours = seen.detours.iter().map(|span| Detour {
        start: time(span.start),
        duration: between(span.start, span.start.saturating_add(span.length)),
        source: UNNAMED,
    });
    let phase = |stretch: &Stretch| Phase {
        start: time(stretch.start),
        duration: between(stretch.start, stretch.end),
        slowdown: stretch.slowdown,
    };
    let is_time = matches!(kernel, Kernel::FixedWork { .. });
    let quantum = |&(start, value): &(u64, u64)| Quantum {
        start: time(start),
        value: if is_time { timebase.length(value).ps() } else { value },
    };
    let detours: Vec<Detour> = detours.collect();
    // The buffer keeps the first detours. Of later ones only the sum is known, so the measurement ends with
    // the last one kept.
    let kept_until = detours.last().filter(|_| seen.lost > 0).map(Detour::end);
    Core {
        core: number,
        length: kept_until.unwrap_or_else(|| time(seen.end)),
        t_min: timebase.length(seen.t_min),
        threshold: timebase.length(seen.threshold),
        iterations: seen.iterations,
        detours,
        phases: seen.slow.iter().map(phase).collect(),
        lost: Lost { detours: seen.lost, time: timebase.length(seen.lost_ticks) },
        quanta: seen.quanta.iter().map(quantum).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timer;

    fn options() -> Options {
        Options {
            cores: cores::allowed().unwrap(),
            kernel: Kernel::Detour { threshold: Threshold::Factor(detour::FACTOR) },
            length: Time::from_ns(200_000_000),
            events: None,
            capacity: 1 << 16,
            begin_ticks: None,
        }
    }

    #[test]
    fn it_begins_when_it_was_agreed() {
        let timer = timer::examine().unwrap();
        let begin = timer::ticks() + (timer.ticks_per_second * 0.5) as u64;
        let length = Time::from_ns(1_000_000);
        let later = Options { begin_ticks: Some(begin), length, ..options() };
        let measured = measure(&later, &timer, &AtomicBool::new(false), None).unwrap();
        // A very busy machine may be ready only later.
        assert!(measured.timebase.start_ticks >= begin);
        let past = Options { begin_ticks: Some(1), length, ..options() };
        let measured = measure(&past, &timer, &AtomicBool::new(false), None).unwrap();
        assert!(measured.timebase.start_ticks > begin);
    }

    /// The only test that really measures.
    #[test]
    fn two_hundred_milliseconds_of_this_machine() {
        let timer = timer::examine().unwrap();
        let options = options();
        let measured = measure(&options, &timer, &AtomicBool::new(false), None).unwrap();
        let recording = &measured.recording;
        assert_eq!(recording.check(), Ok(()));
        assert_eq!(recording.cores.len(), options.cores.len());
        assert_eq!(measured.workers.len(), options.cores.len());
        for core in &recording.cores {
            assert!(core.length >= options.length, "{}", core.length);
            assert!(core.iterations > 1000 && core.t_min > Time::ZERO, "{core:?}");
            assert!(core.threshold > core.t_min);
            let end = core.detours.last().map_or(Time::ZERO, Detour::end);
            assert!(end <= core.length, "{end} {}", core.length);
        }
        // An undisturbed iteration costs at least one reading. Readings are slow while other work shares the core, so any
        // of several examinations may show it.
        let mean = measured.iteration_ps.iter().copied().fold(f64::INFINITY, f64::min);
        let is_longer = |timer: &provenance::Timer| mean > 0.5 * timer.overhead_ps as f64;
        let again = || (0..20).filter_map(|_| timer::examine().ok()).any(|timer| is_longer(&timer));
        assert!(is_longer(&timer) || again(), "{mean} {timer:?}");
    }

    #[test]
    #[ignore = "says something on a quiet machine only"]
    fn an_iteration_is_hardly_more_than_a_reading() {
        let timer = timer::examine().unwrap();
        let measured = measure(&options(), &timer, &AtomicBool::new(false), None).unwrap();
        let mean = measured.iteration_ps.iter().copied().fold(f64::INFINITY, f64::min);
        println!("{mean} ps an iteration; {timer:?}");
        assert!(mean <= 1.3 * timer.overhead_ps as f64);
    }

    #[test]
    fn bad_thresholds_are_refused() {
        let timer = provenance::Timer {
            name: "TSC".into(),
            overhead_ps: 13_000,
            granularity_ps: 1_000,
            ticks_per_second: 2e9,
            ..provenance::Timer::default()
        };
        let with = |kernel| check(&Options { kernel, ..options() }, &timer);
        let low = with(Kernel::Detour { threshold: Threshold::Time(Time::from_ns(5)) });
        assert!(low.unwrap_err().to_string().ends_with("give at least 13 ns"));
        let factor = with(Kernel::Detour { threshold: Threshold::Factor(0.5) });
        assert_eq!(factor, Err(MeasureError::FactorTooSmall { factor: 0.5 }));
        let short = Kernel::FixedTime { quantum: Time::from_ns(100), threshold: Threshold::Factor(1.1) };
        assert!(matches!(with(short), Err(MeasureError::QuantumTooShort { .. })));
        let none = check(&Options { cores: vec![], ..options() }, &timer);
        assert_eq!(none, Err(MeasureError::NoCores));
    }

    #[test]
    fn a_core_that_is_not_there_is_an_error_and_nobody_waits() {
        let timer = timer::examine().unwrap();
        let mut options = options();
        options.cores.push(1023);
        let found = measure(&options, &timer, &AtomicBool::new(false), None);
        assert!(
            matches!(found, Err(MeasureError::Cores(CoresError::NotPinned { core: 1023, .. }))),
            "{found:?}"
        );
    }
}
