use super::*;
use crate::latency::samples::{distribution, lognormal};
use proptest::prelude::*;
use straggler_model::Time;
use straggler_model::latency::{Bins, Histogram};

fn sample(values: &[u64]) -> Distribution {
    let mut sorted: Vec<Time> = values.iter().map(|&ps| Time(ps * 1000)).collect();
    sorted.sort_unstable();
    Distribution::of_sorted(&sorted).unwrap()
}

fn aligned(one: &[u64], other: &[u64]) -> Aligned {
    Aligned::new(&[&sample(one), &sample(other)])
}

/// 1.36 is the 5 % point of Kolmogorov's distribution, 1.63 the 1 % point.
#[test]
fn known_values() {
    assert!((kolmogorov(1.358) - 0.05).abs() < 1e-3 && (kolmogorov(1.628) - 0.01).abs() < 1e-3);
    assert!(kolmogorov(0.1) == 1.0 && kolmogorov(10.0) < 1e-80);
    // 1, 3, 5 against 2, 4, 6: of nine pairs the second is larger in six.
    let found = MannWhitney::new(&aligned(&[1, 3, 5], &[2, 4, 6]), 0, 1);
    assert!((found.longer - 6.0 / 9.0).abs() < 1e-12 && (found.delta - 1.0 / 3.0).abs() < 1e-12);
    let apart = MannWhitney::new(&aligned(&[1, 2], &[3, 4]), 0, 1);
    assert_eq!((apart.longer, apart.delta), (1.0, 1.0));
    assert_eq!(KolmogorovSmirnov::new(&aligned(&[1, 2], &[3, 4]), 0, 1).distance, 1.0);
    assert!((harmonic(5.0).0 - (1.0 + 0.5 + 1.0 / 3.0 + 0.25)).abs() < 1e-12);
    // i < j < 5: 1/4 (1/2 + 1/3 + 1/4) + 1/3 (1/3 + 1/4) + 1/2 (1/4).
    let g = 0.25 * (0.5 + 1.0 / 3.0 + 0.25) + (1.0 / 3.0 + 0.25) / 3.0 + 0.125;
    assert!((harmonic(5.0).1 - g).abs() < 1e-12);
    assert!((harmonic(99_999.0).1 - harmonic(100_001.0).1).abs() < 1e-3);
}

/// Scholz and Stephens' example: smoothness of paper measured by four laboratories, eight sheets each. They give an
/// A² with midranks of 8.3926 and a statistic of 4.480.
#[test]
fn the_example_of_the_paper() {
    let laboratories: [[u64; 8]; 4] = [
        [387, 415, 438, 445, 455, 460, 477, 580],
        [392, 393, 397, 414, 418, 429, 433, 458],
        [340, 350, 390, 400, 430, 430, 440, 450],
        [340, 348, 348, 354, 372, 378, 412, 428],
    ];
    let all: Vec<Distribution> = laboratories.iter().map(|values| sample(values)).collect();
    let found = AndersonDarling::new(&Aligned::new(&all.iter().collect::<Vec<_>>())).unwrap();
    assert!((found.statistic - 4.480).abs() < 1e-3 && (0.001..0.004).contains(&found.p), "{found:?}");
}

/// Samples of one distribution are found different as often as the level says.
#[test]
fn levels_are_kept() {
    let (mut ks, mut ad, mut mw) = (0, 0, 0);
    for seed in 0..400 {
        let [one, other] = [0, 1].map(|side| distribution(&lognormal(2 * seed + side, 200, 1e6, 4e6, 0.5)));
        let both = Aligned::new(&[&one, &other]);
        ks += i32::from(KolmogorovSmirnov::new(&both, 0, 1).p < 0.05);
        mw += i32::from(MannWhitney::new(&both, 0, 1).p < 0.05);
        ad += i32::from(AndersonDarling::new(&both).unwrap().p < 0.05);
    }
    // 20 are expected; the standard deviation is 4.4.
    assert!((5..=34).contains(&ks) && (7..=34).contains(&mw) && (7..=34).contains(&ad), "{ks} {mw} {ad}");
}

#[test]
fn other_layouts_are_said() {
    let values = lognormal(1, 5000, 1e6, 4e6, 0.3);
    let mut coarse = Histogram::new(Bins::FixedWidth { width_ps: 70_001, count: 1000 });
    values.iter().for_each(|&ps| coarse.record(Time(ps)));
    let coarse = Distribution::from_histogram(&coarse).unwrap();
    let both = Aligned::new(&[&distribution(&values), &coarse]);
    assert!(!both.exact);
    // The same trials: only their bins differ.
    assert!(KolmogorovSmirnov::new(&both, 0, 1).distance < 0.02);
    assert!(Aligned::new(&[&coarse, &coarse]).exact);
}

proptest! {
    /// Compares the tests with their definitions, on the trials themselves.
    #[test]
    fn as_defined(
        one in prop::collection::vec(1u64..30, 1..40),
        other in prop::collection::vec(1u64..30, 1..40),
    ) {
        let both = aligned(&one, &other);
        prop_assert!(both.exact);
        let (mut a, mut b) = (one.clone(), other.clone());
        a.sort_unstable();
        b.sort_unstable();
        let expected = straggler_model::stats::distance(&a, &b);
        prop_assert!((KolmogorovSmirnov::new(&both, 0, 1).distance - expected).abs() < 1e-12);
        let score = |x: &u64, y: &u64| match y.cmp(x) {
            std::cmp::Ordering::Greater => 1.0,
            std::cmp::Ordering::Equal => 0.5,
            std::cmp::Ordering::Less => 0.0,
        };
        let wins: f64 = one.iter().flat_map(|x| other.iter().map(move |y| score(x, y))).sum();
        let found = MannWhitney::new(&both, 0, 1);
        prop_assert!((found.longer - wins / (one.len() * other.len()) as f64).abs() < 1e-9);
        prop_assert!((0.0..=1.0).contains(&found.p));
        let turned = MannWhitney::new(&both, 1, 0);
        prop_assert!((turned.p - found.p).abs() < 1e-9 && (turned.delta + found.delta).abs() < 1e-9);
    }

    /// Bins are ties: the distance of binned trials equals that of trials rounded down to their bins.
    #[test]
    fn binned_distance_is_that_of_rounded_trials(
        one in prop::collection::vec(1u64..100_000, 1..60),
        other in prop::collection::vec(1u64..100_000, 1..60),
    ) {
        let both = Aligned::new(&[&distribution(&one), &distribution(&other)]);
        let rounded = |values: &[u64]| {
            let mut rounded: Vec<u64> = values.iter().map(|&ps| {
                let mut single = Histogram::new(Bins::default());
                single.record(Time(ps));
                single.iter().map(|bin| bin.low.ps()).sum::<u64>()
            }).collect();
            rounded.sort_unstable();
            rounded
        };
        let expected = straggler_model::stats::distance(&rounded(&one), &rounded(&other));
        prop_assert!((KolmogorovSmirnov::new(&both, 0, 1).distance - expected).abs() < 1e-12);
    }
}
