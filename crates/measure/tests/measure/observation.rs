//! Observes the kernel of this machine, as far as permitted: nothing may fail, and nothing may be left
//! behind.

use std::path::Path;
use straggler_measure::sources::{Observation, SourcesError, Wish};
use straggler_measure::{Timebase, Worker};
use straggler_model::Time;
use straggler_noise::NoiseRecording;
use straggler_noise::recording::{AttributionMethod, Core, Detour, UNNAMED};

/// Not the timer that the kernel traces with, so that the clocks must be tied together.
fn nanoseconds() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::MonotonicRaw);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

fn ours() -> usize {
    let Ok(instances) = std::fs::read_dir(Path::new("/sys/kernel/tracing/instances")) else { return 0 };
    let mine = format!("straggler-{}-", std::process::id());
    instances.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(&mine)).count()
}

/// Observes a sleep, which is one long detour.
fn observe(wish: Wish) -> Result<NoiseRecording, SourcesError> {
    let core = rustix::thread::sched_getcpu() as u32;
    let mut set = rustix::thread::CpuSet::new();
    set.set(core as usize);
    rustix::thread::sched_setaffinity(None, &set).expect("a thread may stay where it is");
    let thread = rustix::thread::gettid().as_raw_nonzero().get();
    let observation = Observation::begin(wish, &[core], nanoseconds)?;
    let start = nanoseconds();
    std::thread::sleep(std::time::Duration::from_millis(30));
    let length = Time::from_ns(nanoseconds() - start);
    let detour = Detour { start: Time::ZERO, duration: length, source: UNNAMED };
    let core_found = Core { core, length: length + Time(1), detours: vec![detour], ..Core::default() };
    let mut recording = NoiseRecording { cores: vec![core_found], ..NoiseRecording::default() };
    let base = Timebase { start_ticks: start, ticks_per_second: 1e9 };
    observation.end(&mut recording, &base, &[Worker { core, thread }])?;
    assert_eq!(recording.check(), Ok(()));
    Ok(recording)
}

/// One test, because it counts the instances of this process.
#[test]
fn what_is_permitted_works_and_leaves_nothing_behind() {
    let auto = observe(Wish::Auto).expect("the best way that is permitted");
    let attribution = &auto.attribution;
    assert_ne!(attribution.method, AttributionMethod::None);
    assert_eq!(attribution.method == AttributionMethod::Counters, attribution.hindrance.is_some());
    if attribution.method == AttributionMethod::Tracepoints && attribution.lost_events == 0 {
        // The thread slept: whoever ran instead, the kernel saw nearly all of it.
        let (noise, _) = auto.noise_and_length();
        assert!(attribution.covered_ps as f64 > 0.9 * noise.ps() as f64, "{attribution:?} of {noise}");
    }
    let counters = observe(Wish::Counters).expect("counters can always be read");
    assert_eq!(counters.attribution.method, AttributionMethod::Counters);
    let nothing = observe(Wish::Nothing).expect("nothing can always be done");
    assert_eq!(nothing.attribution.method, AttributionMethod::None);
    match observe(Wish::Osnoise) {
        Ok(recording) => assert_eq!(recording.attribution.method, AttributionMethod::Osnoise),
        Err(SourcesError::NoOsnoise | SourcesError::NoTracefs { .. }) => {}
        Err(other) => panic!("{other}"),
    }
    assert_eq!(ours(), 0);
}
