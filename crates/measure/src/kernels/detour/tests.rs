//! The loop with a simulated clock: it finds exactly the injected detours.

use super::*;
use crate::timer::simulated::Simulated;
use proptest::prelude::*;

const STEP: u64 = 10;
const BLOCK_TICKS: u64 = 5000;
/// Where the measurement begins, after assessing and warming up.
const WARM: u64 = 100_000;

fn settings(capacity: usize) -> Settings {
    Settings { threshold: 9 * STEP, t_min: STEP, block: BLOCK_TICKS, capacity }
}

/// Measures `ticks` after a quiet warm-up; the script counts from the start of the measurement.
fn run(mut clock: Simulated, ticks: u64, capacity: usize) -> Seen {
    let mut kernel = Kernel::new(settings(capacity));
    clock.now = 0;
    kernel.warm_up(&mut clock, WARM - 2 * STEP);
    assert!(clock.now <= WARM, "{}", clock.now);
    clock.now = WARM;
    kernel.run(&mut clock, WARM, WARM + ticks, |_| false)
}

fn shifted(detours: &[(u64, u64)]) -> Vec<(u64, u64)> {
    detours.iter().map(|&(at, ticks)| (WARM + at, ticks)).collect()
}

/// Detours with at least `apart` undisturbed ticks between them, from (gap, length).
fn spread(gaps: &[(u64, u64)], apart: u64) -> Vec<(u64, u64)> {
    let mut at = 0;
    let place = |&(gap, ticks): &(u64, u64)| {
        at += gap + apart;
        let detour = (at, ticks);
        at += ticks;
        detour
    };
    gaps.iter().map(place).collect()
}

#[test]
fn the_least_iteration_is_assessed() {
    let mut clock = Simulated::new(STEP).with_detour(50, 500).slow_between(200, 400, 12);
    assert_eq!(assess(&mut clock, 10_000), STEP);
    let mut slow = Simulated::new(STEP).slow_between(0, u64::MAX, 12);
    assert_eq!(assess(&mut slow, 10_000), 12 * STEP);
}

#[test]
fn a_threshold_must_be_above_the_least_iteration() {
    let ticks = |time: Time| time.ps() / 1000;
    let found = Settings::new(Threshold::Time(Time::from_ns(10)), 10, 1, ticks);
    assert_eq!(found, Err(ThresholdTooLow { threshold: 10, t_min: 10 }));
    assert!(Settings::new(Threshold::Factor(1.0), 10, 1, ticks).is_err());
    let found = Settings::new(Threshold::Factor(9.0), 10, 1, ticks).unwrap();
    assert_eq!((found.threshold, found.block), (90, 250_000));
}

proptest! {
    /// Finds every detour above the threshold with its start and length, wherever it falls, and nothing else.
    #[test]
    fn injected_detours_are_found_exactly(
        gaps in prop::collection::vec((0u64..20_000, 1u64..20_000), 0..60),
    ) {
        let detours = spread(&gaps, 800);
        let length = detours.last().map_or(0, |&(at, ticks)| at + ticks) + 20_000;
        let seen = run(Simulated::new(STEP).with_detours(shifted(&detours)), length, 1000);
        let long: Vec<_> = detours.iter().filter(|&&(_, ticks)| ticks + STEP > 9 * STEP).collect();
        prop_assert_eq!(seen.detours.len(), long.len());
        for (found, &&(at, ticks)) in seen.detours.iter().zip(&long) {
            prop_assert_eq!(found.length, ticks);
            prop_assert!(found.start.abs_diff(WARM + at) <= STEP, "{:?} {}", found, at);
        }
        prop_assert_eq!((seen.lost, seen.slow.len()), (0, 0));
        // Iterations and detours account for all time, to the last tick; settling costs the simulated clock
        // nothing.
        let injected: u64 = detours.iter().map(|&(_, ticks)| ticks).sum();
        prop_assert_eq!(seen.iterations * STEP + injected, seen.end - seen.start);
        prop_assert_eq!(seen.iteration, STEP as f64);
    }

    /// A slow phase, of any slowdown and at any place, is not a detour; detours that are long even then are
    /// found.
    #[test]
    fn slow_phases_are_not_detours(
        start in 0u64..40_000,
        length in 20_000u64..200_000,
        slowdown in 2u64..40,
        inside in prop::collection::vec((5_000u64..20_000, 30_000u64..60_000), 0..4),
    ) {
        let mut detours = spread(&inside, 5_000);
        detours.iter_mut().for_each(|detour| detour.0 += start);
        let long: u64 = detours.iter().map(|&(_, ticks)| ticks).sum();
        let (from, to) = (WARM + start, WARM + start + length + long);
        detours.retain(|&(at, ticks)| WARM + at + ticks < to);
        let clock = Simulated::new(STEP).with_detours(shifted(&detours)).slow_between(from, to, slowdown);
        let seen = run(clock, to - WARM + 50_000, 1000);
        prop_assert_eq!(seen.detours.len(), detours.len(), "{:?}", seen.detours);
        for (found, &(at, ticks)) in seen.detours.iter().zip(&detours) {
            prop_assert!(found.start.abs_diff(WARM + at) <= STEP * slowdown);
            prop_assert!(found.length.abs_diff(ticks) <= STEP * slowdown, "{:?} {}", found, ticks);
        }
        // The phase is found with its slowdown, up to the blocks at its ends.
        let covered: u64 = seen.slow.iter().map(|stretch| stretch.end - stretch.start).sum();
        prop_assert!(covered + 2 * BLOCK_TICKS >= length, "{} {:?}", covered, seen.slow);
        prop_assert!(covered <= to - from + 3 * BLOCK_TICKS, "{} {:?}", covered, seen.slow);
        let most = seen.slow.iter().map(|stretch| stretch.slowdown).fold(0.0, f64::max);
        prop_assert!((most / slowdown as f64 - 1.0).abs() < 0.05, "{} {}", most, slowdown);
    }

    /// Kept and lost detours add up.
    #[test]
    fn a_full_buffer_says_what_it_lost(
        gaps in prop::collection::vec((0u64..3000, 200u64..5000), 1..80),
        capacity in 0usize..40,
    ) {
        let detours = spread(&gaps, 800);
        let length = detours.last().map_or(0, |&(at, ticks)| at + ticks) + 20_000;
        let seen = run(Simulated::new(STEP).with_detours(shifted(&detours)), length, capacity);
        prop_assert_eq!(seen.detours.len(), capacity.min(detours.len()));
        prop_assert_eq!(seen.detours.len() as u64 + seen.lost, detours.len() as u64);
        let kept: u64 = seen.detours.iter().map(|span| span.length).sum();
        let injected: u64 = detours.iter().map(|&(_, ticks)| ticks).sum();
        prop_assert_eq!(kept + seen.lost_ticks, injected);
    }
}

/// The phase that was seen on a real machine: everything takes 12 times as long for tens of milliseconds.
#[test]
fn twelve_times_as_slow_for_long() {
    let (from, to) = (WARM + 100_000, WARM + 40_100_000);
    let clock = Simulated::new(STEP).slow_between(from, to, 12).with_detour(from + 20_000_000, 500_000);
    let seen = run(clock, 100_000_000, 100);
    assert_eq!(seen.detours.len(), 1, "{:?}", seen.detours);
    assert_eq!(seen.detours[0].length, 500_000);
    assert_eq!(seen.slow.len(), 1, "{:?}", seen.slow);
    assert!((seen.slow[0].slowdown - 12.0).abs() < 1e-9);
    assert!(
        seen.slow[0].start.abs_diff(from) < 500 && seen.slow[0].end.abs_diff(to) < 500,
        "{from} {to} {:?}",
        seen.slow
    );
}

/// Interrupts in quick succession, each with some work of our own between, are noise.
#[test]
fn a_storm_of_interrupts_is_no_slow_phase() {
    let storm: Vec<_> = (0..500).map(|index| (20_000 + index * 700, 400)).collect();
    let seen = run(Simulated::new(STEP).with_detours(shifted(&storm)), 500_000, 1000);
    assert_eq!((seen.detours.len(), seen.slow.len()), (500, 0));
}

/// The speed is assessed in a slow phase. Once the core is fast, the threshold decreases, and the beginning
/// is reported as slow.
#[test]
fn a_measurement_that_begins_slow() {
    let fast = WARM + 200_000;
    let detours = (0..20).map(|index| (fast + 50_000 + index * 10_000, 150));
    let mut clock = Simulated::new(STEP).slow_between(0, fast, 8).with_detours(detours);
    let settings = Settings { threshold: 72 * STEP, t_min: 8 * STEP, block: BLOCK_TICKS, capacity: 100 };
    let mut kernel = Kernel::new(settings);
    kernel.warm_up(&mut clock, WARM);
    let start = clock.now;
    let seen = kernel.run(&mut clock, start, fast + 500_000, |_| false);
    assert_eq!(seen.detours.len(), 20, "{:?}", seen.detours);
    assert_eq!(seen.slow.len(), 1, "{:?}", seen.slow);
    assert!((seen.slow[0].slowdown - 8.0).abs() < 0.2, "{:?}", seen.slow);
    assert!(seen.slow[0].end.abs_diff(fast) <= BLOCK_TICKS);
}

#[test]
fn it_stops_when_there_is_enough() {
    let detours: Vec<_> = (1..100).map(|index| (index * 10_000, 1000)).collect();
    let mut clock = Simulated::new(STEP).with_detours(detours);
    let seen = Kernel::new(settings(1000)).run(&mut clock, 0, u64::MAX, |found| found >= 10);
    assert_eq!(seen.detours.len(), 10);
}
