use super::*;
use crate::stats::{Summary, quantile_of_sorted};
use proptest::prelude::*;

fn layouts() -> impl Strategy<Value = Bins> {
    prop_oneof![
        Just(Bins::default()),
        Just(Bins::Logarithmic { size_ps: 50_000, count: 200 }),
        Just(Bins::FixedWidth { width_ps: 1000, count: 50 }),
    ]
}

/// Times of all magnitudes.
fn times() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec((any::<u64>(), 0u32..64).prop_map(|(ps, bits)| ps >> bits), 0..60)
}

fn histogram(bins: Bins, times: &[u64]) -> Histogram {
    let mut histogram = Histogram::new(bins);
    times.iter().for_each(|&ps| histogram.record(Time(ps)));
    histogram
}

fn merged(one: &Histogram, other: &Histogram) -> Histogram {
    let mut merged = one.clone();
    merged.merge(other).unwrap();
    merged
}

proptest! {
    #[test]
    fn merging_is_recording_all_in_one(bins in layouts(), a in times(), b in times(), c in times()) {
        let [ha, hb, hc] = [&a, &b, &c].map(|times| histogram(bins, times));
        let all = histogram(bins, &[a, b, c].concat());
        prop_assert_eq!(&merged(&merged(&ha, &hb), &hc), &all);
        prop_assert_eq!(&merged(&ha, &merged(&hb, &hc)), &all);
        prop_assert_eq!(&merged(&hc, &merged(&hb, &ha)), &all);
    }

    #[test]
    fn many_at_once_are_the_same(bins in layouts(), a in times(), b in times()) {
        let mut found = Histogram::new(bins);
        for times in [&a, &b] {
            found.record_all(&times.iter().map(|&ps| Time(ps)).collect::<Vec<_>>());
        }
        prop_assert_eq!(found, histogram(bins, &[a, b].concat()));
    }

    #[test]
    fn totals_are_exact_and_every_time_is_counted(bins in layouts(), times in times()) {
        let found = histogram(bins, &times);
        prop_assert_eq!(found.count(), times.len() as u64);
        prop_assert_eq!(found.min().map(Time::ps), times.iter().min().copied());
        prop_assert_eq!(found.max().map(Time::ps), times.iter().max().copied());
        prop_assert_eq!(found.sum_ps(), times.iter().map(|&ps| u128::from(ps)).sum::<u128>());
        let binned: u64 = found.iter().map(|bin| bin.count).sum();
        prop_assert_eq!(binned + found.overflow(), times.len() as u64);
        for bin in found.iter() {
            let inside = |ps: u64| bin.low.ps() <= ps && (ps < bin.high.ps() || bin.high == Time::NEVER);
            prop_assert_eq!(times.iter().filter(|&&ps| inside(ps)).count() as u64, bin.count);
        }
    }

    #[test]
    fn the_true_quantile_lies_in_the_bounds(bins in layouts(), mut times in times(), q in 0.0f64..=1.0) {
        let bounds = histogram(bins, &times).quantile(q);
        times.sort_unstable();
        let exact = quantile_of_sorted(&times, q);
        prop_assert_eq!(bounds.is_some(), exact.is_some());
        if let (Some(bounds), Some(exact)) = (bounds, exact) {
            prop_assert!(bounds.low.ps() <= exact && exact <= bounds.high.ps(), "{:?} {}", bounds, exact);
        }
    }

    #[test]
    fn the_variance_is_that_of_the_times(times in prop::collection::vec(0u64..1 << 40, 2..50)) {
        let found = histogram(Bins::default(), &times).variance_ps2().unwrap();
        let mut times = times;
        times.sort_unstable();
        let sd = Summary::of_sorted(&times).unwrap().sd;
        prop_assert!((found.sqrt() - sd).abs() <= 1e-9 * sd.max(1.0), "{} {}", found.sqrt(), sd);
    }

    #[test]
    fn files_bring_it_back(bins in layouts(), times in times(), underflow in 0u8..3) {
        let mut before = histogram(bins, &times);
        (0..underflow).for_each(|_| before.record_underflow());
        let text = serde_json::to_string(&before).unwrap();
        let after: Histogram = serde_json::from_str(&text).map_err(|fault| TestCaseError::fail(format!("{text}: {fault}")))?;
        prop_assert_eq!(&after, &before);
    }
}

#[test]
fn other_layouts_are_refused_by_name() {
    let mut ours = Histogram::default();
    let theirs = Histogram::new(Bins::Logarithmic { size_ps: 50_000, count: 1000 });
    let text = ours.merge(&theirs).unwrap_err().to_string();
    assert!(text.contains("high dynamic range (2^7 bins per octave)"), "{text}");
    assert!(text.contains("logarithmic (1000 bins, the first of 50 ns)"), "{text}");
}

#[test]
fn clearing_keeps_nothing_but_memory() {
    let mut used = Histogram::preallocated(Bins::default());
    used.record(Time(7));
    used.record_underflow();
    used.clear();
    assert_eq!(used, Histogram::default());
}

#[test]
fn contradictions_of_a_file_are_told() {
    let good = serde_json::to_string(&histogram(Bins::default(), &[5, 7, 1000])).unwrap();
    let with = |from: &str, to: &str| {
        assert!(good.contains(from), "{good}");
        serde_json::from_str::<Histogram>(&good.replace(from, to)).unwrap_err().to_string()
    };
    for (from, to, why) in [
        ("\"count\":3", "\"count\":4", "not the sum of counts"),
        ("[7,1]", "[4,1]", "out of order"),
        ("[1000,1]", "[1001,1]", "begins at 1001 ps"),
        ("\"min_ps\":5", "\"min_ps\":4", "min_ps"),
        ("\"max_ps\":1000", "\"max_ps\":2000", "max_ps"),
        ("\"1012\"", "\"12\"", "sum_ps"),
        ("\"1012\"", "\"x\"", "sum_ps: `x`"),
        ("\"1000074\"", "\"341381\"", "sum_of_squares_ps2: it contradicts"),
        ("\"1000074\"", "\"1012001\"", "sum_of_squares_ps2: it contradicts"),
        ("\"octave_bits\":7", "\"octave_bits\":70", "octave"),
        ("\"underflow\":0", "\"underflw\":0", "unknown field `underflw`"),
        ("\"count\":3", "\"count\":18446744073709551615", "not the sum"),
    ] {
        let text = with(from, to);
        assert!(text.contains(why), "{to}: {text}");
    }
}
