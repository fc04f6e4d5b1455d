//! Measures a core with a bare detour loop and names what it found: `name_sources WAY SECONDS [FOLDER]`.
//!
//! WAY is `tracepoints` (as root), `counters` or `auto`. With a folder, the kernel's text and the detours are kept in
//! it; so was the sample made that the tests read.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::{Duration, Instant};
use straggler_measure::sources::tracefs::{Events, Tracing};
use straggler_measure::sources::{Observation, Wish, name_traced};
use straggler_measure::{Timebase, Worker};
use straggler_model::Time;
use straggler_model::noise::Recording;
use straggler_model::noise::recording::{Core, Detour, UNNAMED};

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, reason = "the timer is an instruction")]
fn ticks() -> u64 {
    // SAFETY: reading the time stamp counter changes nothing and needs no feature that x86-64 lacks.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
fn ticks() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::MonotonicRaw);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

const CORE: u32 = 0;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [way, seconds, ..] = arguments.as_slice() else { return Err("WAY SECONDS [FOLDER]".into()) };
    let length = Duration::from_secs_f64(seconds.parse()?);
    let rate = calibrate();
    let mut recording = Recording { sources: Recording::unnamed(), ..Recording::default() };
    match way.as_str() {
        "tracepoints" => {
            let tracing = Tracing::begin(Events::Tracepoints, &[CORE], ticks)?;
            let (base, worker) = measure(length, rate, &mut recording)?;
            let watched = tracing.end()?;
            println!("marks {:?} {:?}", watched.before, watched.after);
            if let Some(folder) = arguments.get(2) {
                keep(folder, &watched.cores[0].text, &recording, &base, &worker)?;
            }
            recording.attribution = name_traced(&watched, &mut recording, &base, &[worker]);
        }
        _ => {
            let wish = if way == "auto" { Wish::Auto } else { Wish::Counters };
            let observation = Observation::begin(wish, &[CORE], ticks)?;
            let (base, worker) = measure(length, rate, &mut recording)?;
            observation.end(&mut recording, &base, &[worker])?;
        }
    }
    report(&recording);
    Ok(())
}

fn calibrate() -> f64 {
    let (start, begin) = (Instant::now(), ticks());
    std::thread::sleep(Duration::from_millis(300));
    (ticks() - begin) as f64 / start.elapsed().as_secs_f64()
}

/// Iterations longer than half a microsecond are detours; no slow phases, no local minimum.
fn measure(
    length: Duration,
    rate: f64,
    recording: &mut Recording,
) -> Result<(Timebase, Worker), Box<dyn std::error::Error>> {
    let work = move || {
        let thread = rustix::thread::gettid();
        let mut set = rustix::thread::CpuSet::new();
        set.set(CORE as usize);
        let pinned = rustix::thread::sched_setaffinity(Some(thread), &set);
        let mut found: Vec<(u64, u64)> = Vec::with_capacity(1 << 20);
        let start = ticks();
        let (end, threshold) = (start + (length.as_secs_f64() * rate) as u64, (rate * 0.5e-6) as u64);
        let mut last = start;
        while last < end && found.len() < found.capacity() {
            let now = ticks();
            if now - last > threshold {
                found.push((last, now));
            }
            last = now;
        }
        pinned.map(|()| (thread.as_raw_nonzero().get(), start, last, found))
    };
    let (thread, start, end, found) = std::thread::spawn(work).join().map_err(|_| "the worker died")??;
    let base = Timebase { start_ticks: start, ticks_per_second: rate };
    let detour = |&(from, to): &(u64, u64)| {
        Some(Detour { start: base.time(from)?, duration: base.length(to - from), source: UNNAMED })
    };
    let detours = found.iter().filter_map(detour).collect();
    recording.cores = vec![Core { core: CORE, length: base.length(end - start), detours, ..Core::default() }];
    Ok((base, Worker { core: CORE, thread }))
}

/// The text of the kernel, and detours in ticks: first the start, the rate and the thread, then one a line.
fn keep(
    folder: &str,
    text: &[u8],
    recording: &Recording,
    base: &Timebase,
    worker: &Worker,
) -> std::io::Result<()> {
    std::fs::write(format!("{folder}/tracepoints.txt"), text)?;
    let mut file = std::fs::File::create(format!("{folder}/detours.txt"))?;
    writeln!(file, "{} {} {}", base.start_ticks, base.ticks_per_second, worker.thread)?;
    for detour in &recording.cores[0].detours {
        let ticks = |time: Time| (time.seconds() * base.ticks_per_second).round() as u64;
        writeln!(file, "{} {}", base.start_ticks + ticks(detour.start), ticks(detour.duration))?;
    }
    Ok(())
}

fn report(recording: &Recording) {
    let mut sources: BTreeMap<u16, (u64, Time, Time)> = BTreeMap::new();
    for detour in recording.cores.iter().flat_map(|core| &core.detours) {
        let row = sources.entry(detour.source).or_default();
        *row = (row.0 + 1, row.1 + detour.duration, row.2.max(detour.duration));
    }
    for (source, (count, time, longest)) in sources {
        let name = &recording.sources[usize::from(source)];
        println!(
            "{:30} {:10?} {count:7} {:12} longest {:12}",
            name.name,
            name.evidence,
            time.to_string(),
            longest.to_string()
        );
    }
    let (noise, length) = recording.noise_and_length();
    let explained = recording.explained();
    println!("noise {noise} of {length}; {:?}", recording.attribution);
    println!("explained {:.4}, remainder {:.4}", explained.share(), explained.remainder_share());
    let mut long = recording.clone();
    long.cores
        .iter_mut()
        .for_each(|core| core.detours.retain(|detour| detour.duration > Time(1_000_000_000)));
    println!("of detours over 1 ms: explained {:.4}", long.explained().share());
}
