use super::*;
use crate::latency::samples::{distribution, lognormal};
use straggler_model::Time;
use straggler_model::latency::{Bins, Histogram};

fn comparison(one: &[u64], other: &[u64]) -> Comparison {
    Comparison::new(&distribution(one), &distribution(other), 1)
}

/// Samples of one distribution: every interval contains 0 in 95 of 100 cases, and no change is found.
#[test]
fn nothing_where_there_is_nothing() {
    let (mut missed, mut found) = (0, 0);
    for seed in 0..60 {
        let [one, other] = [0, 1].map(|side| lognormal(2 * seed + side, 3000, 4e6, 1e6, 0.4));
        let compared = comparison(&one, &other);
        missed += usize::from(compared.at(0.5).unwrap().is_sure());
        let Change { shift, spread, tail, .. } = compared.change;
        found += usize::from(shift.is_some() || spread.is_some() || tail.is_some());
        assert!(compared.same_bins);
    }
    assert!(missed <= 7 && found <= 3, "{missed} {found}");
}

#[test]
fn a_shift_is_told_from_a_wider_spread() {
    for seed in 0..5 {
        let base = lognormal(seed, 10_000, 4e6, 1e6, 0.4);
        let shifted: Vec<u64> = lognormal(seed + 50, 10_000, 4.3e6, 1e6, 0.4);
        let change = comparison(&base, &shifted).change;
        assert_eq!((change.shift, change.spread, change.tail), (Some(Direction::More), None, None));
        let back = comparison(&shifted, &base).change;
        assert_eq!((back.shift, back.spread), (Some(Direction::Less), None));
        // The same median, twice the spread.
        let wider = lognormal(seed + 90, 10_000, 4e6, 1e6, 0.8);
        let change = comparison(&base, &wider).change;
        assert_eq!((change.shift, change.spread), (None, Some(Direction::More)), "{change:?}");
        // Both shifted and wider.
        let both = lognormal(seed + 120, 10_000, 5e6, 1e6, 0.8);
        let change = comparison(&base, &both).change;
        assert_eq!((change.shift, change.spread), (Some(Direction::More), Some(Direction::More)));
        // One trial of 50 takes 10 µs more.
        let tail: Vec<u64> = (0..)
            .zip(lognormal(seed + 150, 10_000, 4e6, 1e6, 0.4))
            .map(|(i, ps)| ps + u64::from(i % 50 == 0) * 10_000_000)
            .collect();
        let change = comparison(&base, &tail).change;
        assert_eq!((change.shift, change.spread, change.tail), (None, None, Some(Direction::More)));
    }
}

/// A shift of 300 ns moves every quantile by 300 ns, within its interval.
#[test]
fn differences_are_what_was_added() {
    let base = lognormal(3, 20_000, 4e6, 1e6, 0.4);
    let moved: Vec<u64> = lognormal(4, 20_000, 4.3e6, 1e6, 0.4);
    let compared = comparison(&base, &moved);
    for difference in compared.quantiles.iter().filter(|difference| difference.q <= 0.99) {
        let [low, high] = difference.interval_ps;
        assert!(low - 2e4 < 3e5 && 3e5 < high + 2e4, "{difference:?}");
    }
    // With the medians aligned, no difference remains.
    let left = |difference: &&Difference| excludes(difference.beyond_interval_ps, 0.0);
    assert_eq!(compared.quantiles.iter().filter(left).count(), 0, "{compared:?}");
    assert!((compared.mean.difference_ps - 3e5).abs() < 3e4);
    assert!(compared.kolmogorov_smirnov.p < 1e-6 && compared.mann_whitney.delta > 0.1);
}

#[test]
fn other_layouts_are_compared_by_quantiles() {
    let values = lognormal(1, 5000, 4e6, 1e6, 0.3);
    let mut coarse = Histogram::new(Bins::FixedWidth { width_ps: 100_000, count: 1000 });
    values.iter().for_each(|&ps| coarse.record(Time(ps)));
    let compared =
        Comparison::new(&distribution(&values), &Distribution::from_histogram(&coarse).unwrap(), 1);
    assert!(!compared.same_bins);
    assert_eq!(compared.change.shift, None, "{compared:?}");
    let few = comparison(&[1_000_000, 2_000_000], &[1_000_000]);
    assert!(few.change.too_few && few.quantiles.is_empty());
}

/// The numbers do not depend on the order in which trials were merged, and repeat on every call.
#[test]
fn the_same_seed_gives_the_same_numbers() {
    let (one, other) = (lognormal(1, 500, 4e6, 1e6, 0.4), lognormal(2, 500, 4e6, 1e6, 0.4));
    let mut turned = one.clone();
    turned.reverse();
    assert_eq!(comparison(&one, &other), comparison(&turned, &other));
    assert_ne!(
        Comparison::new(&distribution(&one), &distribution(&other), 2).quantiles,
        comparison(&one, &other).quantiles
    );
}

/// The overflow bins of the two files begin at different times, but their layouts are the same.
#[test]
fn equal_layouts_with_overflow_have_the_same_bins() {
    let of = |longest: u64| {
        let mut histogram = Histogram::new(Bins::FixedWidth { width_ps: 10, count: 10 });
        (0..50).chain([longest, longest + 5]).for_each(|ps| histogram.record(Time(ps)));
        Distribution::from_histogram(&histogram).unwrap()
    };
    assert!(Comparison::new(&of(250), &of(490), 1).same_bins);
}

/// Samples of one distribution are told apart in about 5 of 100 cases, although a dozen quantiles are tested.
#[test]
fn equal_distributions_are_rarely_told_apart() {
    let mut wrong = 0;
    for seed in 0..100u64 {
        let count = [500, 1000, 3000][seed as usize % 3];
        let [one, other] = [1000, 2000].map(|first| lognormal(first + seed, count, 0.0, 5e6, 0.5));
        let change = comparison(&one, &other).change;
        wrong += usize::from(change != Change::default());
    }
    assert!(wrong <= 9, "{wrong} of 100");
}

/// A constant has no spread; a sample that scatters around it differs in spread, not in tail.
#[test]
fn a_constant_against_a_spread() {
    let constant = [10_000_000; 2000];
    let scattered: Vec<u64> = (0..2000).map(|index| 9_000_000 + 1000 * index).collect();
    let change = comparison(&constant, &scattered).change;
    assert_eq!((change.shift, change.spread), (None, Some(Direction::More)), "{change:?}");
    let back = comparison(&scattered, &constant).change;
    assert_eq!((back.shift, back.spread), (None, Some(Direction::Less)), "{back:?}");
    assert_eq!(comparison(&constant, &constant).change, Change::default());
}

/// Times in bins of 10 ns up to 10 µs.
fn binned(values: &[u64]) -> Distribution {
    let mut histogram = Histogram::new(Bins::FixedWidth { width_ps: 10_000, count: 1000 });
    values.iter().for_each(|&ps| histogram.record(Time(ps)));
    Distribution::from_histogram(&histogram).unwrap()
}

/// Quantiles outside the bins of both files are reported as unknown, not as equal.
#[test]
fn what_lies_outside_the_bins_is_not_known() {
    let compared = |one: &[u64], other: &[u64]| Comparison::new(&binned(one), &binned(other), 1).change;
    let [near, far] = [2e7, 8e7].map(|median| lognormal(1, 5000, 0.0, median, 0.1));
    // Both medians beyond: 20 and 80 µs look the same in these bins.
    let change = compared(&near, &far);
    assert_eq!(change.unknown, Unknown { shift: true, spread: true, tail: true }, "{change:?}");
    assert_eq!((change.shift, change.spread, change.tail), (None, None, None));
    // One within, one beyond: certainly slower.
    let fast = lognormal(2, 5000, 0.0, 5e6, 0.1);
    let change = compared(&fast, &far);
    assert_eq!((change.shift, change.unknown.shift), (Some(Direction::More), false), "{change:?}");
    assert_eq!(compared(&far, &fast).shift, Some(Direction::Less));
    // 2 % of the second beyond, none of the first: a longer tail of unknown length.
    let longer = |every: usize, ps: u64| -> Vec<u64> {
        let slow =
            |(trial, ps_of): (usize, &u64)| if trial % every == 0 { ps + trial as u64 } else { *ps_of };
        fast.iter().enumerate().map(slow).collect()
    };
    let change = compared(&fast, &longer(50, 500_000_000));
    assert_eq!((change.shift, change.spread, change.tail), (None, None, Some(Direction::More)), "{change:?}");
    assert_eq!(change.unknown, Unknown::default());
    // 2 % of both beyond, at 50 µs and at 5 ms.
    let change = compared(&longer(50, 50_000_000), &longer(50, 5_000_000_000));
    let tail_only = Unknown { tail: true, ..Unknown::default() };
    assert_eq!((change.tail, change.unknown), (None, tail_only), "{change:?}");
    // 20 % of both beyond: neither spread nor tail is known.
    let change = compared(&longer(5, 50_000_000), &longer(5, 5_000_000_000));
    assert_eq!(
        (change.spread, change.unknown.spread, change.unknown.shift),
        (None, true, false),
        "{change:?}"
    );
}

/// Bins that end at different times are compared up to where the shorter ones end.
#[test]
fn bins_that_end_early_make_no_difference() {
    let values = lognormal(5, 5000, 0.0, 9e6, 0.2);
    let change = Comparison::new(&distribution(&values), &binned(&values), 1).change;
    assert_eq!((change.shift, change.spread, change.tail), (None, None, None), "{change:?}");
    assert!(change.unknown.spread && change.unknown.tail && !change.unknown.shift, "{change:?}");
}
