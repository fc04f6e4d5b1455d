//! Converts traces of the kernel's osnoise tracer, as saved by rtla, to recordings.
//!
//! `rtla osnoise top|hist --trace=FILE` saves the trace buffer as text. The tracer's own loop reports each
//! interruption it noticed (`sample_threshold`), and the kernel reports what took the core meanwhile
//! (`irq_noise` and so on), all with starts and net durations in nanoseconds; the format is described in the
//! kernel's `Documentation/trace/osnoise-tracer.rst`. If the loop did not run, whatever took the core is the
//! noise.
//!
//! rtla's terminal output consists of sums and histograms without times, so it cannot become a recording.

use super::ftrace_text::{self, Event, FtraceKind};
use super::join::{self, Observed};
use super::names::Names;
use super::{processes, spans};
use std::collections::{BTreeMap, HashMap};
use straggler_model::Time;
use straggler_model::provenance::Origin;
use straggler_noise::NoiseRecording;
use straggler_noise::recording::{Attribution, AttributionMethod, Core, Detour, Method, UNNAMED};

/// Why a file of rtla cannot become a recording.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RtlaError {
    #[error(
        "this is rtla's {what}, which has the lengths of detours but not their times: save the trace itself with \
         `rtla osnoise top -T 1 --trace=FILE` and read that"
    )]
    NoTimes { what: &'static str },
    #[error(
        "it has no events of the osnoise tracer ({events} other events, {garbled} other lines): save it with `rtla \
         osnoise top -T 1 --trace=FILE`"
    )]
    NoNoise { events: u64, garbled: u64 },
}

/// Whether a file may come from rtla or the osnoise tracer.
pub fn looks_like(text: &[u8]) -> bool {
    without_times(text).is_some() || has(text, b"# tracer: osnoise") || has(text, b"_noise: ")
}

/// Reads a saved trace.
pub fn read(text: &[u8]) -> Result<NoiseRecording, RtlaError> {
    if let Some(what) = without_times(text) {
        return Err(RtlaError::NoTimes { what });
    }
    let trace = ftrace_text::parse(text);
    let (cores, others) = by_core(&trace.events);
    if cores.is_empty() {
        return Err(RtlaError::NoNoise { events: others + trace.unknown, garbled: trace.garbled });
    }
    let events = || cores.values().flatten();
    let begin = events().filter_map(start).min().unwrap_or(0);
    let length = Time::from_ns(events().map(|event| event.at).max().unwrap_or(0).saturating_sub(begin));
    let mut recording = NoiseRecording {
        origin: Origin::Imported,
        method: Method::Detour,
        sources: NoiseRecording::unnamed(),
        ..NoiseRecording::default()
    };
    let mut processes = HashMap::new();
    processes::add_ended(&mut processes, std::iter::once(text));
    let mut names = Names::of_processes(processes);
    let mut observed = Vec::new();
    for (&core, events) in &cores {
        let workload = events.iter().find(|event| matches!(event.what, FtraceKind::Sample { .. }));
        let found = spans::resolve_net(events, workload.map(|event| event.thread), 1.0, &mut names);
        let seen = Observed::new(core, &found, |ns| ns.checked_sub(begin).map(Time::from_ns));
        recording.cores.push(Core {
            core,
            length,
            detours: detours(events, &seen, begin),
            ..Core::default()
        });
        observed.push(seen);
    }
    let covered_ps = join::join(&mut recording, &observed, &names);
    let method = AttributionMethod::Osnoise;
    recording.attribution = Attribution { method, hindrance: None, lost_events: trace.lost, covered_ps };
    Ok(recording)
}

/// Recognises rtla's terminal output.
fn without_times(text: &[u8]) -> Option<&'static str> {
    let head = text.get(..4096).unwrap_or(text);
    let kinds: [(&[u8], &str); 4] = [
        (b"# RTLA osnoise histogram", "histogram"),
        (b"# RTLA timerlat histogram", "histogram of wake-up latencies"),
        (b"Operating System Noise", "table of sums"),
        (b"Timer Latency", "table of wake-up latencies"),
    ];
    kinds.into_iter().find(|(mark, _)| has(head, mark)).map(|(_, what)| what)
}

fn has(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// The tracer's events by core, sorted by their ends. These follow to the nanosecond from start and duration;
/// the times of the lines themselves are truncated to microseconds.
fn by_core<'a>(events: &[Event<'a>]) -> (BTreeMap<u32, Vec<Event<'a>>>, u64) {
    let mut cores: BTreeMap<u32, Vec<Event<'a>>> = BTreeMap::new();
    let mut others = 0;
    for event in events {
        let length = match event.what {
            FtraceKind::Took { start: Some(_), nanoseconds, .. } | FtraceKind::Sample { nanoseconds, .. } => {
                nanoseconds
            }
            _ => {
                others += 1;
                continue;
            }
        };
        let at = start(event).unwrap_or(0).saturating_add(length);
        cores.entry(event.core).or_default().push(Event { at, ..*event });
    }
    cores.values_mut().for_each(|events| events.sort_by_key(|event| event.at));
    (cores, others)
}

fn start(event: &Event<'_>) -> Option<u64> {
    match event.what {
        FtraceKind::Took { start, .. } => start,
        FtraceKind::Sample { start, .. } => Some(start),
        _ => None,
    }
}

/// The interruptions that the tracer's loop noticed, or if it did not run, everything that took the core.
/// Interruptions that touch are merged.
fn detours(events: &[Event<'_>], seen: &Observed, begin: u64) -> Vec<Detour> {
    let samples = events.iter().filter_map(|event| match event.what {
        FtraceKind::Sample { start, nanoseconds } => {
            let start = Time::from_ns(start.checked_sub(begin)?);
            Some((start, start + Time::from_ns(nanoseconds)))
        }
        _ => None,
    });
    let mut taken: Vec<(Time, Time)> = samples.collect();
    if taken.is_empty() {
        taken = seen.spans.iter().map(|span| (span.start, span.end)).collect();
    }
    taken.sort_unstable();
    let mut detours: Vec<Detour> = Vec::with_capacity(taken.len());
    for (start, end) in taken {
        match detours.last_mut() {
            Some(last) if start <= last.end() => last.duration = last.duration.max(end.since(last.start)),
            _ if start < end => detours.push(Detour { start, duration: end.since(start), source: UNNAMED }),
            _ => {}
        }
    }
    detours
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::names;

    /// The lines of the kernel's documentation, and a sample during which the kernel did nothing.
    const TRACE: &[u8] = b"\
# tracer: osnoise
#
       osnoise/8-961     [008] d.h.  5789.857532: irq_noise: local_timer:236 start 5789.857529929 duration 1845 ns
       osnoise/8-961     [008] dNh.  5789.858408: irq_noise: local_timer:236 start 5789.858404871 duration 2848 ns
     migration/8-54      [008] d...  5789.858413: thread_noise: migration/8:54 start 5789.858409300 duration 3068 ns
       osnoise/8-961     [008] ....  5789.858413: sample_threshold: start 5789.858404555 duration 8812 ns interference 2
       osnoise/8-961     [008] ....  5789.859000: sample_threshold: start 5789.858900000 duration 90000 ns interference 0
           <...>-961     [008] ....  5790.637220: 1000000        190  99.98100       9     18      0   1007     18      1
";

    fn named(recording: &NoiseRecording, core: usize) -> Vec<(u64, u64, &str)> {
        let name = |detour: &Detour| recording.sources[usize::from(detour.source)].name.as_str();
        let detours = recording.cores[core].detours.iter();
        detours.map(|detour| (detour.start.ps() / 1000, detour.duration.ps() / 1000, name(detour))).collect()
    }

    #[test]
    fn samples_are_joined_with_what_took_the_core() {
        assert!(looks_like(TRACE));
        let recording = read(TRACE).unwrap();
        assert_eq!(recording.check(), Ok(()));
        assert_eq!(recording.cores[0].core, 8);
        let below = names::BELOW_THE_KERNEL;
        let expected = [(874_626, 8812, "migration"), (1_370_071, 90_000, below)];
        assert_eq!(named(&recording, 0), expected);
        assert_eq!(recording.attribution.method, AttributionMethod::Osnoise);
        assert_eq!(recording.attribution.covered_ps, (2848 + 3068) * 1000);
        assert_eq!(recording.cores[0].length, Time::from_ns(1_460_071));
    }

    #[test]
    fn without_the_loop_the_noise_is_what_took_the_core() {
        let lines: Vec<u8> = TRACE
            .split_inclusive(|&byte| byte == b'\n')
            .filter(|line| !has(line, b"sample_threshold"))
            .flatten()
            .copied()
            .collect();
        let recording = read(&lines).unwrap();
        let tick = names::TIMER_TICK;
        let expected = [(0, 1845, tick), (874_942, 2848, tick), (879_371, 3068, "migration")];
        assert_eq!(named(&recording, 0), expected);
    }

    #[test]
    fn what_holds_no_times_is_refused() {
        let histogram = b"# RTLA osnoise histogram\n# Time unit is microseconds (us)\nIndex   CPU-000\n";
        assert_eq!(read(histogram), Err(RtlaError::NoTimes { what: "histogram" }));
        let top = b"                Operating System Noise\nduration:   0 00:01:00 | time is in us\n";
        assert_eq!(read(top), Err(RtlaError::NoTimes { what: "table of sums" }));
        let other = b"            bash-5 [000] ..... 5: fork: x\nrubbish\n            bash-5 [000] ..... 5: page_fault_user: x\n";
        assert_eq!(read(other), Err(RtlaError::NoNoise { events: 2, garbled: 1 }));
        assert!(!looks_like(other) && looks_like(histogram));
    }

    proptest::proptest! {
        #[test]
        fn recordings_keep_their_promises(
            events in proptest::collection::vec((0..3u32, 0..5000u64, 0..2000u64, 0..3usize), 1..40)
        ) {
            let mut text = String::new();
            for (core, start, length, kind) in events {
                let event = ["irq_noise: disk:5", "thread_noise: a b:7", "sample_threshold:"][kind];
                text += &format!("            bash-5 [{core:03}] ..... 5: {event} start 0.{start:09} duration {length} ns\n");
            }
            let recording = read(text.as_bytes()).unwrap();
            // Events without any length are kept, but the last of them may lie on the end.
            for core in &recording.cores {
                proptest::prop_assert!(core.detours.windows(2).all(|pair| pair[0].end() <= pair[1].start));
                proptest::prop_assert!(core.detours.iter().all(|detour| detour.end() <= core.length));
            }
            proptest::prop_assert_eq!(recording.check(), Ok(()));
        }
    }
}
