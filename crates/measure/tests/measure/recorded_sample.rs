//! The join of detours and kernel events against a sample that was recorded on a real machine.
//!
//! The expected values come from a different program with a different method: it painted threads, then
//! interrupts over them, into an array of time steps of 10 ns, and counted.
//! `tests/measure/sample/detours.txt` describes how the sample was made.

use std::collections::HashMap;
use straggler_measure::sources::tracefs::{CoreText, Events, Mark, Watched};
use straggler_measure::sources::{ftrace_text, name_traced};
use straggler_measure::{Timebase, Worker};
use straggler_model::Time;
use straggler_noise::NoiseRecording;
use straggler_noise::recording::{AttributionMethod, Core, Detour, UNNAMED};

const TRACE: &str = include_str!("sample/tracepoints.txt");
const DETOURS: &str = include_str!("sample/detours.txt");

struct Sample {
    recording: NoiseRecording,
    expected: Vec<&'static str>,
    base: Timebase,
    worker: Worker,
}

fn sample() -> Sample {
    let mut lines = DETOURS.lines().filter(|line| !line.starts_with('#'));
    let head: Vec<&str> = lines.next().unwrap().split(' ').collect();
    let base = Timebase { start_ticks: head[0].parse().unwrap(), ticks_per_second: head[1].parse().unwrap() };
    let worker = Worker { core: 0, thread: head[2].parse().unwrap() };
    let (mut detours, mut expected) = (Vec::new(), Vec::new());
    for line in lines {
        let fields: Vec<&str> = line.splitn(3, ' ').collect();
        let start = base.time(fields[0].parse().unwrap()).unwrap();
        detours.push(Detour { start, duration: base.length(fields[1].parse().unwrap()), source: UNNAMED });
        expected.push(fields[2]);
    }
    let core = Core { core: 0, length: Time(200_000_000_000), detours, ..Core::default() };
    let recording =
        NoiseRecording { sources: NoiseRecording::unnamed(), cores: vec![core], ..NoiseRecording::default() };
    Sample { recording, expected, base, worker }
}

fn watched(text: &[u8], lost: u64) -> Watched {
    // The timer was the clock of the events.
    let before = Mark { ticks: (10, 20), event: 15 };
    let cores = vec![CoreText { core: 0, text: text.into(), lost }];
    Watched { events: Events::Tracepoints, cores, before, after: None, processes: HashMap::new() }
}

fn names(recording: &NoiseRecording) -> Vec<&str> {
    let name = |detour: &Detour| recording.sources[usize::from(detour.source)].name.as_str();
    recording.cores[0].detours.iter().map(name).collect()
}

#[test]
fn every_line_is_understood() {
    let trace = ftrace_text::parse(TRACE.as_bytes());
    assert_eq!((trace.events.len(), trace.unknown, trace.garbled), (400, 0, 0));
}

#[test]
fn every_detour_gets_the_source_that_the_picture_shows() {
    let Sample { mut recording, expected, base, worker } = sample();
    let attribution = name_traced(&watched(TRACE.as_bytes(), 0), &mut recording, &base, &[worker]);
    assert_eq!(names(&recording), expected);
    assert_eq!(attribution.method, AttributionMethod::Tracepoints);
    assert_eq!(attribution.lost_events, 0);
    let explained = recording.explained();
    let share = explained.traced.seconds() / explained.total().seconds();
    assert!(share > 0.99, "{explained:?}");
    // Everything explained, except entry and exit code, is covered to the tick.
    let covered = Time(attribution.covered_ps).seconds() / explained.traced.seconds();
    assert!((0.99..=1.0).contains(&covered), "{covered}");
}

/// With half of the buffer lost, later detours are not attributed to the hypervisor.
#[test]
fn what_a_full_buffer_did_not_keep_has_no_name() {
    let Sample { mut recording, expected, base, worker } = sample();
    let kept: Vec<&str> = TRACE.lines().take(200).collect();
    let attribution =
        name_traced(&watched(kept.join("\n").as_bytes(), 203), &mut recording, &base, &[worker]);
    let found = names(&recording);
    let unnamed = found.iter().filter(|&&name| name == "unnamed").count();
    assert!(unnamed > 10, "{unnamed}");
    assert_eq!(found[..found.len() - unnamed], expected[..found.len() - unnamed]);
    assert_eq!(attribution.lost_events, 203);
}
