//! The measurement of a simulated network recovers its parameters.

use super::simulated::Simulated;
use super::*;
use proptest::prelude::*;
use std::cell::Cell;
use straggler_model::network::Grouping;
use straggler_model::philox::Stream;
use straggler_noise::{Injection, NoiseSpec, Phases};

/// Enough if nothing is random.
const QUICK: Settings = Settings { largest: 1 << 20, batches: 6, repetitions: 1, draws: 20, seed: 1 };

fn link(latency: u64, send: u64, recv: u64, gap: u64, per_byte: u32, limit: u64) -> Link {
    Link {
        latency: Time::from_ns(latency),
        send_overhead: Time::from_ns(send),
        recv_overhead: Time::from_ns(recv),
        gap: Time::from_ns(gap),
        gap_per_byte: PerByte::from_ps(per_byte),
        overhead_per_byte: PerByte::ZERO,
        eager_limit: limit,
        overlap_limit: u64::MAX,
    }
}

fn measured(probe: &mut Simulated, settings: &Settings) -> LogGp {
    measure(probe, settings, &mut |_| ()).unwrap()
}

fn is_about(found: f64, expected: f64, share: f64) -> bool {
    (found - expected).abs() <= share * expected.abs() + 2.0
}

/// Compares all parameters of a link, within a relative error.
fn check(found: &LogGp, link: &Link, share: f64) -> Result<(), String> {
    let times = [
        ("L", found.latency, link.latency.ps() as f64),
        ("o_s", found.send_overhead, link.send_overhead.ps() as f64),
        ("o_r", found.recv_overhead, link.recv_overhead.ps() as f64),
        ("G", found.gap_per_byte, link.gap_per_byte.picoseconds()),
        ("O", found.overhead_per_byte, link.overhead_per_byte.picoseconds()),
    ];
    for (name, estimate, expected) in times {
        let holds = if name == "G" || name == "O" {
            (estimate.ps - expected).abs() <= share * expected + 0.01
        } else {
            is_about(estimate.ps, expected, share)
        };
        if !holds {
            return Err(format!("{name} is {expected}, found {estimate:?}\n{found:?}"));
        }
    }
    let gap = found.gap.map_or(0.0, |gap| gap.ps);
    if !is_about(gap, link.gap.ps() as f64, share) {
        return Err(format!("g is {}, found {:?}\n{found:?}", link.gap, found.gap));
    }
    let limit = (link.eager_limit < QUICK.largest).then_some(link.eager_limit);
    (found.eager_limit == limit).then_some(()).ok_or_else(|| format!("S is {limit:?}\n{found:?}"))
}

#[test]
fn a_plain_network() {
    let link = link(2_500, 700, 900, 1_500, 250, 8_192);
    let found = measured(&mut Simulated::new(link), &QUICK);
    check(&found, &link, 1e-6).unwrap();
    // Eager and rendezvous messages are separate protocols, although one line fits both here.
    let [eager, waits] = &found.protocols[..] else { panic!("{:?}", found.protocols) };
    assert_eq!((eager.to_bytes, waits.from_bytes), (8_192, 8_193));
    assert!(
        [eager, waits].iter().all(|line| is_about(line.per_byte.ps, 250.0, 1e-6)),
        "{:?}",
        found.protocols
    );
    assert_eq!(found.doubts, [] as [&str; 0]);
}

/// g is shorter than o_r but longer than o_s: it shows only at the sender.
#[test]
fn a_gap_that_the_receiver_hides() {
    let link = link(2_500, 700, 2_900, 1_500, 250, 8_192);
    check(&measured(&mut Simulated::new(link), &QUICK), &link, 1e-6).unwrap();
}

/// g is shorter than both overheads: it shows only through the bytes of larger messages.
#[test]
fn a_gap_that_both_overheads_hide() {
    let link = link(2_500, 1_700, 2_900, 1_100, 250, 65_536);
    check(&measured(&mut Simulated::new(link), &QUICK), &link, 1e-6).unwrap();
}

#[test]
fn a_gap_that_nothing_shows_is_said_to_be_hidden() {
    // Larger messages use rendezvous and wait for each other.
    let link = link(2_500, 1_700, 2_900, 1_100, 250, 100);
    let found = measured(&mut Simulated::new(link), &QUICK);
    assert_eq!(found.gap, None);
    assert!(found.doubts[0].starts_with("g is assumed to be 0"), "{:?}", found.doubts);
    assert_eq!(found.link().gap, Time::ZERO);
}

#[test]
fn two_protocols_are_two_lines() {
    let small = link(3_000, 700, 900, 1_500, 1_000, 20_000);
    let large = Link { gap_per_byte: PerByte::from_ps(200), latency: Time::from_ns(9_000), ..small };
    let mut probe = Simulated::new(small).with_protocol(20_000, large);
    let found = measured(&mut probe, &QUICK);
    check(&found, &Link { gap_per_byte: large.gap_per_byte, ..small }, 0.03).unwrap();
    let [first, second] = &found.protocols[..] else { panic!("{:?}", found.protocols) };
    assert_eq!((first.to_bytes, second.from_bytes), (20_000, 20_001));
    assert!(is_about(first.per_byte.ps, 1_000.0, 0.03) && is_about(second.per_byte.ps, 200.0, 0.03));
    assert!(is_about(first.at_zero.ps, 4_600_000.0, 0.03), "{first:?}");
    assert!(is_about(second.at_zero.ps, 10_600_000.0, 0.03), "{second:?}");
    assert!(found.doubts.iter().any(|doubt| doubt.contains("one line for all sizes")), "{:?}", found.doubts);
}

/// Noise takes 2 % of the time, in detours of 20 µs; the intervals contain the true values, or nearly.
#[test]
fn noise_is_left_out() {
    let spec: NoiseSpec = "poisson:rate=1000Hz,duration=20us".parse().unwrap();
    let sources = spec.load(5).unwrap().sources;
    let noise = Injection::new(sources, Phases::Drawn { seed: 5, replica: 0 }, false).unwrap();
    let link = link(2_500, 700, 900, 1_500, 250, 8_192);
    let mut probe = Simulated::new(link).with_noise(noise);
    let found = measured(&mut probe, &Settings { repetitions: 8, batches: 7, ..QUICK });
    check(&found, &link, 0.03).unwrap();
}

#[test]
fn what_is_stopped_counts_if_it_is_enough() {
    let link = link(2_500, 700, 900, 1_500, 250, 8_192);
    let settings = Settings { batches: 50, largest: 1 << 14, ..QUICK };
    // Every few experiments, so that it stops in the search for S, at batches, and everywhere in them.
    let mut found = [0; 2];
    for left in (0..6_000).step_by(293) {
        let batches = Cell::new(0);
        let mut probe = Stopping { probe: Simulated::new(link), left };
        let measured = measure(&mut probe, &settings, &mut |progress| batches.set(progress.done));
        assert_eq!(measured.is_ok(), batches.get() >= 6, "{left}");
        found[usize::from(measured.is_ok())] += 1;
        if let Ok(measured) = measured {
            assert!(is_about(measured.latency.ps, 2_500_000.0, 1e-6));
        }
    }
    assert!(found.iter().all(|&count| count > 2), "{found:?}");
}

/// Fails after so many experiments.
struct Stopping {
    probe: Simulated,
    left: usize,
}

impl Stopping {
    fn go_on(&mut self) -> Result<(), ()> {
        self.left = self.left.checked_sub(1).ok_or(())?;
        Ok(())
    }
}

impl Probe for Stopping {
    type Error = ();

    fn round_trip(&mut self, train: Train) -> Result<RoundTrip, ()> {
        self.go_on()?;
        self.probe.round_trip(train).map_err(drop)
    }

    fn send(&mut self, bytes: u64, late: Time, receiver: Receiver) -> Result<Time, ()> {
        self.go_on()?;
        self.probe.send(bytes, late, receiver).map_err(drop)
    }

    fn receive(&mut self, bytes: u64, after: Time) -> Result<Time, ()> {
        self.go_on()?;
        self.probe.receive(bytes, after).map_err(drop)
    }
}

#[test]
fn nothing_is_eager() {
    let link = link(2_500, 700, 900, 1_500, 250, 0);
    let found = measured(&mut Simulated::new(link), &QUICK);
    assert_eq!((found.eager_limit, found.gap), (Some(0), None));
    assert!(found.doubts[0].starts_with("o_s is assumed to be a quarter"), "{:?}", found.doubts);
    assert!(is_about(found.recv_overhead.ps, 900_000.0, 0.03));
}

#[test]
fn a_network_without_latency() {
    let link = link(0, 700, 900, 1_500, 250, 8_192);
    let found = measured(&mut Simulated::new(link), &QUICK);
    assert_eq!(found.link().latency, Time::from_ns(1));
    assert!(found.doubts[0].starts_with("L is assumed to be 1 ns"), "{:?}", found.doubts);
}

#[test]
fn the_file_reads_back() {
    let link = link(2_500, 700, 900, 1_500, 250, 8_192);
    let found = measured(&mut Simulated::new(link), &QUICK);
    let provenance = Provenance {
        name: "two nodes".into(),
        how: "a test\nL = 5".into(),
        when: "today".into(),
        place: vec!["n1".into(), "n2".into()],
    };
    let level = MeasuredLevel {
        name: "node".into(),
        grouping: Grouping::Consecutive(4),
        measured: found.clone(),
        place: vec!["n1, core 1".into()],
    };
    let levels = found.to_file(&provenance, &[level]).unwrap();
    let network = Network::from_toml(&levels).unwrap();
    assert_eq!((network.levels.len(), network.levels[0].link, network.base), (1, found.link(), found.link()));
    assert!(levels.contains("# Level node: ") && levels.contains("# Where: n1, core 1"), "{levels}");
    let text = found.to_file(&provenance, &[]).unwrap();
    assert_eq!(Network::from_toml(&text).unwrap(), found.network("two nodes"), "{text}");
    for part in ["# How:   a test L = 5", "# Where: n2", "#   L   2.500 µs (2.500 µs to 2.500 µs)"] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

/// If noise differs from batch to batch, 95 % intervals contain the true values most of the time.
#[test]
fn intervals_hold_the_truth() {
    let truth = link(2_500, 700, 900, 1_500, 250, 8_192);
    let held = (0..20u64).filter(|&seed| {
        let mut probe = Jittery { inner: Simulated::new(truth), stream: Stream::new(seed, 0, 0, 0) };
        let settings = Settings { largest: 1 << 10, batches: 15, draws: 100, ..QUICK };
        let found = measure(&mut probe, &settings, &mut |_| ()).unwrap();
        let inside = |estimate: &Estimate, ps: f64| estimate.low_ps <= ps && ps <= estimate.high_ps;
        assert!(found.latency.width() > 0.0);
        inside(&found.latency, 2_500_000.0) && inside(&found.send_overhead, 700_000.0)
    });
    // Two intervals of 95 % each: fewer than 14 of 20 has a probability of about 1 in 1,000.
    let held = held.count();
    assert!(held >= 14, "{held}");
}

/// A probe whose times are off by up to 10 % in either direction.
struct Jittery {
    inner: Simulated,
    stream: Stream,
}

impl Jittery {
    fn off(&mut self, time: Time) -> Time {
        Time((time.ps() as f64 * (0.9 + 0.2 * self.stream.unit())) as u64)
    }
}

impl Probe for Jittery {
    type Error = straggler_sim::RunError;

    fn round_trip(&mut self, train: Train) -> Result<RoundTrip, Self::Error> {
        let RoundTrip { sent, back } = self.inner.round_trip(train)?;
        Ok(RoundTrip { sent: self.off(sent), back: self.off(back) })
    }

    fn send(&mut self, bytes: u64, late: Time, receiver: Receiver) -> Result<Time, Self::Error> {
        let time = self.inner.send(bytes, late, receiver)?;
        Ok(self.off(time))
    }

    fn receive(&mut self, bytes: u64, after: Time) -> Result<Time, Self::Error> {
        let time = self.inner.receive(bytes, after)?;
        Ok(self.off(time))
    }
}

/// A library that delays senders of more than 256 bytes until the receiver is in any call, and copies a byte in 20
/// ps.
struct Lazy(Simulated);

impl Probe for Lazy {
    type Error = straggler_sim::RunError;

    fn round_trip(&mut self, train: Train) -> Result<RoundTrip, Self::Error> {
        self.0.round_trip(train)
    }

    fn send(&mut self, bytes: u64, late: Time, receiver: Receiver) -> Result<Time, Self::Error> {
        let time = self.0.send(bytes, late, receiver)?;
        Ok(match receiver {
            _ if bytes <= 256 => time,
            Receiver::Polls => time + Time::from_ns(3_000),
            Receiver::Computes => time.max(late),
        })
    }

    fn receive(&mut self, bytes: u64, after: Time) -> Result<Time, Self::Error> {
        self.0.receive(bytes, after)
    }
}

#[test]
fn senders_that_wait_for_any_call_are_told_apart_from_rendezvous() {
    let link = Link { overhead_per_byte: PerByte::from_ps(20), ..link(2_500, 700, 900, 1_500, 250, 65_536) };
    let mut probe = Lazy(Simulated::new(link));
    let found = measure(&mut probe, &QUICK, &mut |_| ()).unwrap();
    check(&found, &link, 0.03).unwrap();
    assert!(found.doubts[0].starts_with("sends above 256 bytes wait until"), "{:?}", found.doubts);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Any network: g above or below the overheads, with or without O, and S large enough for g to show.
    #[test]
    fn any_network_comes_back(
        latency in 500u64..20_000,
        send in 200u64..4_000,
        recv in 200u64..4_000,
        gap in 200u64..6_000,
        per_byte in 100u32..4_000,
        copied in prop::sample::select(vec![0u32, 10, 40]),
        limit in (1u64 << 17)..(1 << 19),
    ) {
        let mut link = link(latency, send, recv, gap, per_byte, limit);
        link.overhead_per_byte = PerByte::from_ps(copied);
        let found = measured(&mut Simulated::new(link), &QUICK);
        prop_assert!(check(&found, &link, 0.03).is_ok(), "{:?}", check(&found, &link, 0.03));
    }

    /// S is found to the byte.
    #[test]
    fn any_limit_is_found(limit in 0u64..(1 << 20)) {
        let mut probe = Simulated::new(link(1_000, 500, 600, 700, 100, limit));
        let found = super::limit::find(&mut probe, 1 << 20, Receiver::Polls).unwrap();
        prop_assert_eq!((found.bytes, found.certain), (Some(limit), true));
    }
}
