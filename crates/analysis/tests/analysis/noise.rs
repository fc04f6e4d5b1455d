//! Recordings drawn from known processes: the analysis must find what was put in, and nothing else.

use straggler_analysis::noise::cores::Verdict;
use straggler_analysis::noise::fit::{self, Fit};
use straggler_analysis::noise::{Analysis, Comparison, Spectrum, Together, overhead};
use straggler_model::Time;
use straggler_model::philox::Stream;
use straggler_noise::NoiseRecording;
use straggler_noise::generate::{Durations, Extent};
use straggler_noise::recording::{Core, Detour, Evidence, UNNAMED};
use straggler_noise::signature::{Arrivals, Signature, SignatureSource};

fn us(count: u64) -> Time {
    Time::from_ns(count * 1000)
}

fn seconds(count: u64) -> Time {
    Time::from_ns(count * 1_000_000_000)
}

fn periodic(period: Time, jitter: Time) -> Arrivals {
    Arrivals::Periodic { period, jitter }
}

fn random(mean_gap: Time) -> Arrivals {
    Arrivals::Random { mean_gap }
}

fn signature(sources: Vec<(&str, Arrivals, Durations)>) -> Signature {
    let source = |(name, arrivals, durations): (&str, Arrivals, Durations)| SignatureSource {
        name: name.into(),
        arrivals,
        durations,
    };
    let sources = sources.into_iter().map(source).collect();
    Signature { name: "known".into(), made_from: "a test".into(), sources }
}

/// A tick of 250 Hz, a random daemon and a rare long interruption.
fn usual() -> Signature {
    signature(vec![
        ("tick", periodic(us(4000), us(3)), Durations::LogNormal { median: us(5), sigma: 0.2 }),
        ("daemon", random(us(20_000)), Durations::Exponential { mean: us(50) }),
        ("hypervisor", random(us(500_000)), Durations::Uniform { min: us(800), max: us(1200) }),
    ])
}

fn drawn(signature: &Signature, seed: u64, length: Time) -> NoiseRecording {
    signature.recording(seed, Extent::Length(length)).unwrap()
}

fn nameless(mut recording: NoiseRecording) -> NoiseRecording {
    for core in &mut recording.cores {
        core.detours.iter_mut().for_each(|detour| detour.source = UNNAMED);
    }
    recording
}

/// Combines several recordings as the cores of one.
fn side_by_side(recordings: Vec<NoiseRecording>) -> NoiseRecording {
    let mut all = NoiseRecording { cores: Vec::new(), ..recordings[0].clone() };
    for (number, mut recording) in recordings.into_iter().enumerate() {
        recording.cores[0].core = number as u32;
        all.cores.append(&mut recording.cores);
    }
    all
}

#[test]
fn frequencies_are_found_to_a_thousandth() {
    for (seed, frequency) in [(1, 250.0), (2, 100.0), (3, 1000.0), (4, 332.7), (5, 61.3)] {
        let mut signature = usual();
        let period = Time((1e12 / frequency) as u64);
        signature.sources[0].arrivals = periodic(period, us(20));
        let spectrum = Spectrum::new(&nameless(drawn(&signature, seed, seconds(10))));
        let ours = spectrum.lines.iter().find(|line| (line.frequency_hz / frequency - 1.0).abs() < 1e-3);
        let line = ours.unwrap_or_else(|| panic!("{frequency}: {:?}", spectrum.lines));
        let expected = frequency * 10.0;
        assert!((line.events as f64 / expected - 1.0).abs() < 0.1, "{frequency}: {line:?}");
        assert!((line.noise_per_event_ps.unwrap() / 5.1e6 - 1.0).abs() < 0.3, "{line:?}");
        assert_eq!(spectrum.lines.len(), 1, "{frequency}: {:?}", spectrum.lines);
        assert_eq!(spectrum.resolution_hz, 0.1);
    }
}

#[test]
fn two_rhythms_and_a_slow_one() {
    let signature = signature(vec![
        ("tick", periodic(us(1000), us(1)), Durations::Constant(us(3))),
        ("clock", periodic(us(6025), us(1)), Durations::Constant(us(10))),
        ("swapper", periodic(seconds(1), us(100)), Durations::Constant(us(300))),
        ("faults", random(us(30_000)), Durations::Exponential { mean: us(20) }),
    ]);
    let analysis = Analysis::new(&drawn(&signature, 1, seconds(30)), 1);
    let found: Vec<f64> = analysis.spectrum.lines.iter().map(|line| line.frequency_hz).collect();
    for expected in [1000.0, 1e6 / 6025.0, 1.0] {
        // 30 s resolve a thirtieth of a hertz; a slow rhythm is found to a fraction of that.
        let near = found.iter().any(|frequency| (frequency - expected).abs() < (1e-3 * expected).max(2e-3));
        assert!(near, "{expected} Hz: {:?}", analysis.spectrum.lines);
    }
    let rhythm = |name: &str| {
        analysis.sources.iter().find(|source| source.name == name).and_then(|source| source.rhythm)
    };
    assert!((rhythm("tick").unwrap().period_ps / 1e9 - 1.0).abs() < 1e-4);
    assert!((rhythm("clock").unwrap().period_ps / 6.025e9 - 1.0).abs() < 1e-4);
    assert!((rhythm("swapper").unwrap().period_ps / 1e12 - 1.0).abs() < 1e-3);
    assert_eq!(rhythm("faults"), None);
}

#[test]
fn chance_has_no_lines() {
    let signature = signature(vec![("daemon", random(us(2000)), Durations::Exponential { mean: us(50) })]);
    for seed in 0..20 {
        let spectrum = Spectrum::new(&drawn(&signature, seed, seconds(10)));
        assert_eq!(spectrum.lines, [], "{seed}");
    }
}

/// A recording in bursts: quiet and busy stretches of about 30 ms.
fn bursts(seed: u64, length: Time) -> NoiseRecording {
    let mut stream = Stream::new(seed, 0, 0, 0);
    let mut exponential = |mean: f64| Time((-stream.unit().ln() * mean) as u64);
    let (mut at, mut end) = (Time::ZERO, Time::ZERO);
    let mut detours = Vec::new();
    while at < length {
        if at >= end {
            at += exponential(3e10);
            end = at + exponential(3e10);
        }
        at += exponential(1e9);
        if at < end && at < length {
            let duration = us(20);
            detours.push(Detour { start: at, duration, source: UNNAMED });
            at += duration;
        }
    }
    let core = Core { length, detours, ..Core::default() };
    NoiseRecording { sources: NoiseRecording::unnamed(), cores: vec![core], ..NoiseRecording::default() }
}

#[test]
fn intervals_cover_the_truth() {
    let usual = usual();
    let covers = |recording: &NoiseRecording, truth: f64| {
        let interval = overhead::of_recording(recording, 7).interval.unwrap();
        interval.low <= truth && truth <= interval.high
    };
    let covered = (0..50).filter(|&seed| covers(&drawn(&usual, seed, seconds(30)), usual.share())).count();
    assert!(covered >= 45, "{covered} of 50");
    // For bursts, the true share comes from a very long recording.
    let long = overhead::of_recording(&bursts(999, seconds(3000)), 1).share;
    let covered = (0..50).filter(|&seed| covers(&bursts(seed, seconds(20)), long)).count();
    assert!(covered >= 45, "{covered} of 50 in bursts");
}

#[test]
fn the_same_seed_gives_the_same_interval() {
    let recording = drawn(&usual(), 1, seconds(5));
    let interval = |seed| overhead::of_recording(&recording, seed).interval;
    assert_eq!(interval(3), interval(3));
    assert_ne!(interval(3), interval(4));
    let short = overhead::of_recording(&drawn(&usual(), 1, us(20_000)), 1);
    assert!(short.interval.is_none() && short.no_interval.is_some());
}

#[test]
fn common_noise_is_found_and_separate_noise_is_not() {
    let daemon = signature(vec![("daemon", random(us(10_000)), Durations::Exponential { mean: us(100) })]);
    for seed in 0..5 {
        let separate =
            side_by_side((0..3).map(|core| drawn(&usual(), 100 * seed + core, seconds(20))).collect());
        let together = Together::new(&separate, 1).unwrap();
        assert_eq!(together.verdict, Verdict::Independent, "{seed}: {together:?}");
        assert!((together.any_core / together.any_core_if_independent - 1.0).abs() < 0.1, "{together:?}");

        let mut other = drawn(&daemon, seed, seconds(20));
        let one = other.clone();
        other.cores[0].detours.iter_mut().for_each(|detour| detour.start += us(5));
        other.cores[0].detours.retain(|detour| detour.start < seconds(20));
        let together = Together::new(&side_by_side(vec![one, other]), 1).unwrap();
        assert_eq!(together.verdict, Verdict::Common, "{seed}: {together:?}");
        assert!(together.coincides > 0.8 && together.coincides_if_independent < 0.05, "{together:?}");
        assert!(together.gain() < 0.1 * together.any_core, "{together:?}");
    }
}

/// A signature fitted to a recording must draw noise that is indistinguishable from it.
fn fitted_equals(recording: &NoiseRecording, length: Time) -> Fit {
    let fit = Fit::new(recording, "fitted", "a test").unwrap();
    let again = fit.signature.recording(77, Extent::Length(length)).unwrap();
    let text = || fit.signature.to_toml().unwrap();
    for (what, (distance, limit)) in ["durations", "gaps"].iter().zip(fit::distances(recording, &again)) {
        assert!(distance < limit, "{what}: {distance} {limit}\n{}", text());
    }
    let rate = |recording: &NoiseRecording| {
        recording.cores.iter().map(|core| core.detours.len()).sum::<usize>() as f64
            / recording.noise_and_length().1.seconds()
    };
    assert!((rate(&again) / rate(recording) - 1.0).abs() < 0.05, "{}", text());
    let share = |recording: &NoiseRecording| overhead::of_recording(recording, 1).share;
    assert!((fit.signature.share() / share(recording) - 1.0).abs() < 0.05, "{}", text());
    assert!(Comparison::new(recording, &again, 1).is_equal(), "{}", text());
    fit
}

#[test]
fn fitted_signatures_draw_equal_noise() {
    let length = seconds(60);
    let recording = drawn(&usual(), 5, length);
    let fit = fitted_equals(&recording, length);
    let tick = fit.signature.sources.iter().find(|source| source.name.starts_with("tick")).unwrap();
    let Arrivals::Periodic { period, jitter } = tick.arrivals else { panic!("{tick:?}") };
    assert!(period.ps().abs_diff(4_000_000_000) < 400_000, "{period:?}");
    assert!(jitter < us(10), "{jitter:?}");
    fitted_equals(&nameless(recording), length);
}

#[test]
fn other_signatures_are_fitted_too() {
    let length = seconds(50);
    for sources in [
        vec![("dispatcher", periodic(us(10_000), us(200)), Durations::Uniform { min: us(20), max: us(40) })],
        vec![("faults", random(us(8000)), Durations::Pareto { min: us(2), alpha: 2.5 })],
        vec![
            ("tick", periodic(us(10_000), Time::ZERO), Durations::Constant(us(7))),
            ("clock", periodic(us(6025), us(2)), Durations::Exponential { mean: us(12) }),
        ],
    ] {
        let recording = drawn(&signature(sources), 3, length);
        fitted_equals(&recording, length);
        fitted_equals(&nameless(recording), length);
    }
}

/// A tick that misses a quarter of its beats keeps rhythm and rate.
#[test]
fn missing_beats_are_kept() {
    let length = seconds(60);
    let mut recording =
        drawn(&signature(vec![("tick", periodic(us(4000), us(5)), Durations::Constant(us(5)))]), 1, length);
    let mut stream = Stream::new(1, 2, 3, 4);
    recording.cores[0].detours.retain(|_| stream.unit() < 0.75);
    let fit = fitted_equals(&recording, length);
    assert!(matches!(fit.signature.sources[0].arrivals, Arrivals::Periodic { .. }));
    let occupancy = fit.sources[0].occupancy.unwrap();
    assert!((occupancy - 0.75).abs() < 0.02, "{occupancy}");
}

#[test]
fn comparisons_name_what_differs() {
    let recording = drawn(&usual(), 1, seconds(30));
    let other = drawn(&usual(), 2, seconds(30));
    let equal = Comparison::new(&recording, &other, 1);
    assert!(equal.is_equal(), "{equal:?}");
    let mut noisier = usual();
    noisier.sources[1].durations = Durations::Exponential { mean: us(200) };
    let different = Comparison::new(&recording, &drawn(&noisier, 3, seconds(30)), 1);
    assert!(!different.is_equal());
    assert_eq!(different.sources[0].name, "daemon");
    assert!(different.overhead_difference.unwrap()[0] > 0.0, "{different:?}");
}

#[test]
fn nothing_is_analysed_without_a_panic() {
    let empty = NoiseRecording::default();
    let analysis = Analysis::new(&empty, 1);
    assert_eq!((analysis.overhead.share, analysis.sources.len()), (0.0, 0));
    assert!(Fit::new(&empty, "x", "y").is_err());
    let _ = Comparison::new(&empty, &empty, 1);
    let odd = |length, detours: &[(u64, u64)]| {
        let detours = detours.iter().map(|&(start, duration)| Detour {
            start: Time(start),
            duration: Time(duration),
            source: UNNAMED,
        });
        let core = Core { length: Time(length), detours: detours.collect(), ..Core::default() };
        NoiseRecording { sources: NoiseRecording::unnamed(), cores: vec![core], ..NoiseRecording::default() }
    };
    let many: Vec<(u64, u64)> = (0..40).map(|index| (index * 2, 1)).collect();
    let zeros: Vec<(u64, u64)> = (0..40).map(|_| (5, 0)).collect();
    let far: Vec<(u64, u64)> = (0..40).map(|index| (index << 57, 1 << 56)).collect();
    for recording in [
        odd(0, &[]),
        odd(1, &[(0, 1)]),
        odd(100, &many),
        odd(10_000, &zeros),
        odd(u64::MAX, &far),
        odd(u64::MAX, &[(5, u64::MAX)]),
        odd(1_000_000, &[(0, 500_000), (500_000, 500_000)]),
    ] {
        let twice = side_by_side(vec![recording.clone(), recording.clone()]);
        for recording in [&recording, &twice] {
            let _ = Analysis::new(recording, 1);
            let _ = Fit::new(recording, "x", "y");
            let _ = Comparison::new(recording, recording, 1);
        }
    }
}

#[test]
fn shares_by_evidence_add_up() {
    let mut recording = drawn(&usual(), 1, seconds(5));
    recording.sources[1].evidence = Evidence::Traced;
    recording.sources[3].evidence = Evidence::Remainder;
    let explained = Analysis::new(&recording, 1).explained;
    assert!((explained.named() - 1.0).abs() < 1e-9 && explained.unnamed == 0.0);
    assert!(explained.traced > 0.0 && explained.stated > 0.0 && explained.remainder > explained.traced);
}

#[test]
fn a_hundred_thousand_detours_are_all_counted() {
    let signature = signature(vec![
        ("tick", periodic(us(1250), us(3)), Durations::LogNormal { median: us(5), sigma: 0.2 }),
        ("daemon", random(us(5000)), Durations::Exponential { mean: us(50) }),
    ]);
    let recording = drawn(&signature, 1, seconds(100));
    let drawn = recording.cores.iter().map(|core| core.detours.len()).sum::<usize>();
    assert!((90_000..110_000).contains(&drawn));
    assert_eq!(Analysis::new(&recording, 1).overhead.detours, drawn as u64);
}

/// A core of 10 s with detours at these times, in seconds, of these durations, in microseconds.
fn placed(mut moments: Vec<(f64, f64)>) -> NoiseRecording {
    moments.retain(|&(at, _)| (0.0..10.0).contains(&at));
    moments.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut free = Time::ZERO;
    let mut detours = Vec::new();
    for (at, length) in moments {
        let start = Time((at * 1e12) as u64).max(free);
        let duration = Time((length * 1e6) as u64);
        free = start + duration;
        detours.push(Detour { start, duration, source: UNNAMED });
    }
    let length = seconds(10).max(free);
    let core = Core { length, detours, ..Core::default() };
    NoiseRecording { sources: NoiseRecording::unnamed(), cores: vec![core], ..NoiseRecording::default() }
}

fn comb(hz: f64, first: f64, length: f64) -> Vec<(f64, f64)> {
    (0..(10.0 * hz) as u32).map(|tick| (first + f64::from(tick) / hz, length)).collect()
}

/// Random times and durations, with most of the noise in few detours.
fn heavy(count: u32, seed: u64) -> Vec<(f64, f64)> {
    let mut stream = Stream::new(seed, 0, 0, 0);
    (0..count).map(|_| (10.0 * stream.unit(), (20.0 / stream.unit().powf(0.9)).min(3e5))).collect()
}

/// The lines of a recording. Also checks that lines together contain no more noise and detours than
/// there are.
fn lines_of(recording: &NoiseRecording) -> Vec<(f64, f64, u64)> {
    let spectrum = Spectrum::new(recording);
    let shares: f64 = spectrum.lines.iter().map(|line| line.share).sum();
    let events: u64 = spectrum.lines.iter().map(|line| line.events).sum();
    assert!((0.0..1.02).contains(&shares), "{:?}", spectrum.lines);
    assert!(events <= recording.cores[0].detours.len() as u64 + 5, "{:?}", spectrum.lines);
    spectrum.lines.iter().map(|line| (line.frequency_hz, line.share, line.events)).collect()
}

#[track_caller]
fn has(lines: &[(f64, f64, u64)], hz: f64, share: f64, events: u64) {
    let found = lines.iter().any(|line| {
        (line.0 / hz - 1.0).abs() < 2e-3
            && (line.1 - share).abs() < 0.1 * share + 0.01
            && line.2.abs_diff(events) <= events / 10 + 2
    });
    assert!(found, "{hz} Hz, {share}, {events}: {lines:?}");
}

#[test]
fn a_comb_is_one_line() {
    let lines = lines_of(&placed(comb(250.0, 1e-3, 4.0)));
    assert_eq!(lines.len(), 1, "{lines:?}");
    has(&lines, 250.0, 1.0, 2500);
}

#[test]
fn two_combs_are_two_lines() {
    for (hz, first, length) in [(83.1, 3e-4, 20.0), (100.0, 5e-4, 50.0), (1000.0, 7e-5, 2.0)] {
        let lines = lines_of(&placed([comb(250.0, 1e-3, 4.0), comb(hz, first, length)].concat()));
        let (one, other) = (10_000.0, 10.0 * hz * length);
        assert_eq!(lines.len(), 2, "{hz}: {lines:?}");
        has(&lines, 250.0, one / (one + other), 2500);
        has(&lines, hz, other / (one + other), (10.0 * hz) as u64);
    }
}

/// A frequency that swings by two thousandths, and one whose every period is off by a hundredth.
#[test]
fn a_drifting_comb_is_one_line() {
    let mut stream = Stream::new(1, 0, 0, 0);
    let mut walk = |at: f64| at + 0.004 * (1.0 + 0.03 * (stream.unit() - 0.5));
    let swing = |at: f64| at + 1.0 / (250.0 * (1.0 + 0.002 * (0.9 * at).sin()));
    let steps: [&mut dyn FnMut(f64) -> f64; 2] = [&mut { swing }, &mut walk];
    for step in steps {
        let mut moments = vec![(1e-3, 4.0)];
        while let Some(&(at, _)) = moments.last().filter(|(at, _)| *at < 10.0) {
            moments.push((step(at), 4.0));
        }
        let lines = lines_of(&placed(moments));
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!((lines[0].0 / 250.0 - 1.0).abs() < 0.01 && lines[0].1 > 0.9, "{lines:?}");
    }
}

/// Clustered detours have no rhythm, wherever the clusters are.
#[test]
fn bursts_are_no_lines() {
    for seed in 0..4 {
        assert_eq!(lines_of(&bursts(seed, seconds(10))), [], "{seed}");
    }
    let mut stream = Stream::new(9, 0, 0, 0);
    let middle: Vec<(f64, f64)> = (0..3000).map(|_| (4.8 + 0.4 * stream.unit(), 50.0)).collect();
    assert_eq!(lines_of(&placed(middle.clone())), []);
    let lines = lines_of(&placed([middle, comb(100.0, 1e-3, 100.0)].concat()));
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!((lines[0].0 - 100.0).abs() < 0.1, "{lines:?}");
}

/// A tick among detours that take far more time: it is found, and nothing else.
#[test]
fn heavy_noise_hides_no_comb_and_makes_none() {
    for seed in 0..3 {
        assert_eq!(lines_of(&placed(heavy(6000, seed))), [], "{seed}");
        let lines = lines_of(&placed([heavy(3000, seed), comb(250.0, 1e-3, 4.0)].concat()));
        assert_eq!(lines.len(), 1, "{seed}: {lines:?}");
        assert!((lines[0].0 / 250.0 - 1.0).abs() < 1e-3, "{seed}: {lines:?}");
    }
}
