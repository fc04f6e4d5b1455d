use super::*;
use proptest::prelude::*;
use straggler_noise::recording::Detour;

const US: u64 = 1_000_000;

fn recording(detours: &[(u64, u64)]) -> NoiseRecording {
    let detour = |&(start, length): &(u64, u64)| Detour {
        start: Time(start * US),
        duration: Time(length * US),
        source: UNNAMED,
    };
    let core = Core {
        length: Time(1_000_000 * US),
        t_min: Time(15_000),
        detours: detours.iter().map(detour).collect(),
        ..Core::default()
    };
    NoiseRecording { sources: NoiseRecording::unnamed(), cores: vec![core], ..NoiseRecording::default() }
}

/// Spans in microseconds with names.
fn observed(spans: &[(u64, u64, &str)], faults: &[u64]) -> (Observed, Names) {
    let mut names = Names::default();
    let took = |&(start, end, name): &(u64, u64, &str)| Took {
        start: Time(start * US),
        end: Time(end * US),
        name: names.number(name),
    };
    let spans = spans.iter().map(took).collect();
    let faults = faults.iter().map(|at| Time(at * US)).collect();
    (Observed { core: 0, spans, faults, from: Time::ZERO, until: Time(u64::MAX) }, names)
}

fn sources(detours: &[(u64, u64)], spans: &[(u64, u64, &str)], faults: &[u64]) -> Vec<String> {
    let (seen, names) = observed(spans, faults);
    let mut recording = recording(detours);
    join(&mut recording, &[seen], &names);
    named(&recording)
}

fn named(recording: &NoiseRecording) -> Vec<String> {
    let name = |detour: &Detour| recording.sources[usize::from(detour.source)].name.clone();
    recording.cores[0].detours.iter().map(name).collect()
}

#[test]
fn the_majority_decides() {
    let tick = (101, 106, "timer tick");
    // With entry and exit code it fills its detour; it is not blamed for a long one.
    assert_eq!(sources(&[(100, 7)], &[tick], &[]), ["timer tick"]);
    assert_eq!(sources(&[(100, 3000)], &[tick], &[]), [names::BELOW_THE_KERNEL]);
    assert_eq!(sources(&[(100, 4)], &[(101, 102, "timer tick")], &[]), ["timer tick"]);
    assert_eq!(sources(&[(100, 7)], &[], &[]), [names::BELOW_THE_KERNEL]);
    let spans = [tick, (107, 120, "softirq TIMER"), (121, 125, "kworker")];
    assert_eq!(sources(&[(100, 26), (200, 10)], &spans, &[]), ["softirq TIMER", names::BELOW_THE_KERNEL]);
    // Two detours share one span, the run of another thread that began before the measurement.
    let long = [(0, 50, "cc1")];
    assert_eq!(sources(&[(0, 20), (21, 29)], &long, &[]), ["cc1", "cc1"]);
}

#[test]
fn a_page_fault_takes_what_no_event_explains() {
    assert_eq!(sources(&[(100, 40)], &[], &[101]), [names::PAGE_FAULT]);
    assert_eq!(sources(&[(100, 40)], &[(102, 139, "kswapd0")], &[101]), ["kswapd0"]);
    assert_eq!(sources(&[(100, 40)], &[], &[99, 141]), [names::BELOW_THE_KERNEL]);
    assert_eq!(sources(&[(100, 40_000)], &[], &[101]), [names::BELOW_THE_KERNEL]);
}

/// For the fixed-work and fixed-time kernels only the quantum of a disturbance is known.
#[test]
fn quanta_are_searched_whole() {
    let (seen, names) = observed(&[(900, 910, "timer tick")], &[]);
    let mut fixed_time = recording(&[(0, 12)]);
    fixed_time.method = Method::FixedTime { quantum_ps: 1000 * US };
    assert_eq!(join(&mut fixed_time, std::slice::from_ref(&seen), &names), 10 * US);
    assert_eq!(named(&fixed_time), ["timer tick"]);
    let mut fixed_work = recording(&[(0, 12)]);
    fixed_work.method = Method::FixedWork;
    fixed_work.cores[0].t_min = Time(900 * US);
    join(&mut fixed_work, &[seen], &names);
    assert_eq!(named(&fixed_work), ["timer tick"]);
}

/// Once the buffer is full, no event means nothing.
#[test]
fn what_nobody_watched_stays_unnamed() {
    let (mut seen, names) = observed(&[(101, 106, "timer tick")], &[]);
    seen.until = Time(500 * US);
    let mut recording = recording(&[(100, 7), (300, 7), (600, 7), (498, 7)]);
    recording.cores[0].detours.sort_by_key(|detour| detour.start);
    join(&mut recording, &[seen], &names);
    assert_eq!(named(&recording), ["timer tick", names::BELOW_THE_KERNEL, "unnamed", "unnamed"]);
}

#[test]
fn times_before_the_start_are_cut() {
    let found = CoreSpans {
        spans: vec![
            Span { start: 1, end: 5, name: 0 },
            Span { start: 8, end: 12, name: 1 },
            Span { start: 15, end: 16, name: 0 },
        ],
        faults: vec![3, 11],
    };
    let seen = Observed::new(4, &found, |at| at.checked_sub(10).map(Time));
    let took = |start, end, name| Took { start: Time(start), end: Time(end), name };
    assert_eq!(seen.spans, [took(0, 2, 1), took(5, 6, 0)]);
    assert_eq!((seen.core, seen.faults), (4, vec![Time(1)]));
}

/// Converts gaps and the lengths after them to consecutive times.
fn laid_out(list: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut at = 0;
    let lay = |&(gap, length): &(u64, u64)| {
        let start = at + gap;
        at = start + length;
        (start, at)
    };
    list.iter().map(lay).collect()
}

proptest! {
    /// The traversal gives the same result as comparing every detour with every span.
    #[test]
    fn cover_is_what_all_pairs_give(
        detours in prop::collection::vec((1..50u64, 1..50u64), 0..20),
        spans in prop::collection::vec((0..50u64, 1..50u64), 0..20),
    ) {
        let detours = laid_out(&detours);
        let spans = laid_out(&spans);
        let pairs: u64 = detours
            .iter()
            .flat_map(|detour| spans.iter().map(move |span| detour.1.min(span.1).saturating_sub(detour.0.max(span.0))))
            .sum();
        let lengths: Vec<_> = detours.iter().map(|&(start, end)| (start, end - start)).collect();
        let named_spans: Vec<_> = spans.iter().map(|&(start, end)| (start, end, "thread")).collect();
        let (seen, names) = observed(&named_spans, &[]);
        let mut recording = recording(&lengths);
        recording.cores[0].t_min = Time::ZERO;
        prop_assert_eq!(join(&mut recording, &[seen], &names), pairs * US);
        prop_assert_eq!(recording.check(), Ok(()));
    }
}
