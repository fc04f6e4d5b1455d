use super::*;
use crate::network::{Grouping, Level};
use crate::{Link, PerByte};
use proptest::prelude::*;

fn link(latency: u64) -> Link {
    Link {
        latency: Time(latency),
        send_overhead: Time(10),
        recv_overhead: Time(20),
        gap: Time(0),
        gap_per_byte: PerByte::ZERO,
        overhead_per_byte: PerByte::ZERO,
        eager_limit: 100,
        overlap_limit: u64::MAX,
    }
}

/// Pairs of ranks share a node.
fn network() -> Network {
    let mut network = Network::uniform("test", link(1000));
    let grouping = Grouping::Consecutive(2);
    network.levels = vec![Level { name: "node".into(), grouping, link: link(100) }];
    network
}

fn measured(class: Option<&str>, times: &[u64]) -> Measured {
    Measured { class: class.map(Into::into), times: times.iter().map(|&time| (Time(time), 1)).collect() }
}

fn wire(latencies: Vec<Measured>) -> Distributions {
    Distributions { latencies, meaning: Meaning::Wire, overheads: Vec::new() }
}

proptest! {
    /// Every time has its share of the random numbers, in ascending order, whatever the weights.
    #[test]
    fn a_table_inverts_the_distribution(
        times in prop::collection::vec((0u64..40, 0u64..1 << 40), 1..30),
        randoms in prop::collection::vec(any::<u64>(), 20),
    ) {
        let times: Vec<Weighted> = times.into_iter().map(|(time, weight)| (Time(time), weight)).collect();
        let total: u128 = times.iter().map(|&(_, weight)| u128::from(weight)).sum();
        prop_assume!(total > 0);
        let table = Table::of_measured(&Measured { class: None, times: times.clone() }, "base").unwrap();
        for random in randoms.into_iter().chain([0, u64::MAX, 1 << 63]) {
            let found = table.at(random);
            // The random number lies within the weights of all times up to the one found, but not within
            // those below it.
            let up_to = |limit: Time, inclusive: bool| -> u128 {
                let counts = |&&(time, _): &&Weighted| time < limit || inclusive && time == limit;
                times.iter().filter(counts).map(|&(_, weight)| u128::from(weight)).sum()
            };
            prop_assert!((up_to(found, true) << 64) / total > u128::from(random));
            prop_assert!((up_to(found, false) << 64) / total <= u128::from(random));
        }
    }
}

#[test]
fn draws_follow_the_distribution() {
    let weights = [(Time(500), 1), (Time(1500), 6), (Time(2500), 2), (Time(90_000), 1)];
    let all = Measured { class: None, times: weights.to_vec() };
    let drawn = Drawn::new(&network(), &wire(vec![all]), 7).unwrap();
    let count = 40_000u32;
    let draws: Vec<Time> = (0..count).map(|number| drawn.draw(1, number % 16, number / 16).latency).collect();
    for (time, weight) in weights {
        let found = draws.iter().filter(|draw| **draw == time).count() as f64 / f64::from(count);
        // Four standard deviations of a share of at most a half.
        assert!(
            (found - weight as f64 / 10.0).abs() < 4.0 * (0.25 / f64::from(count)).sqrt(),
            "{time} {found}"
        );
    }
}

#[test]
fn every_part_of_the_key_matters() {
    let times: Vec<u64> = (1..10_000).collect();
    let drawn = |seed| Drawn::new(&network(), &wire(vec![measured(None, &times)]), seed).unwrap();
    let base = drawn(1).of_replica(2).draw(0, 3, 4);
    assert_eq!(base, drawn(1).of_replica(2).draw(0, 3, 4));
    assert_eq!(base, drawn(1).of_replica(2).draw(1, 3, 4), "the classes have one distribution");
    for other in [
        drawn(9).of_replica(2).draw(0, 3, 4),
        drawn(1 << 32 | 1).of_replica(2).draw(0, 3, 4),
        drawn(1).of_replica(9).draw(0, 3, 4),
        drawn(1).of_replica(2).draw(0, 9, 4),
        drawn(1).of_replica(2).draw(0, 3, 9),
    ] {
        assert_ne!(base.latency, other.latency);
    }
}

#[test]
fn what_was_measured_of_a_class_holds_for_it_alone() {
    let both = vec![measured(Some("node"), &[7]), measured(Some(BASE), &[70])];
    let drawn = Drawn::new(&network(), &wire(both), 1).unwrap();
    let network = network();
    let latency = |from, to| drawn.draw(network.class(from, to), from, 0).latency;
    assert_eq!((latency(0, 1), latency(1, 2)), (Time(7), Time(70)));
    assert_eq!(drawn.lookahead(), Time(10 + 7));
    // A class without measurements keeps the parameters of its link.
    let drawn = Drawn::new(&network, &wire(vec![measured(Some("node"), &[7])]), 1).unwrap();
    assert_eq!(drawn.draw(network.class(1, 2), 1, 0).latency, Time(1000));
    assert_eq!(drawn.classes().iter().map(|class| class.is_measured).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn a_measured_latency_contains_the_overheads() {
    let total = Distributions { meaning: Meaning::Total, ..wire(vec![measured(None, &[20, 30, 31, 1030])]) };
    let drawn = Drawn::new(&network(), &total, 1).unwrap();
    let class = &drawn.classes()[1];
    assert_eq!((class.latency.smallest(), class.latency.largest()), (Time(0), Time(1000)));
    assert_eq!(class.latency.distinct(), 3);
    assert!((class.below_overheads - 0.25).abs() < 1e-9);
    assert_eq!(class.latency.median(), Time(0));
    // Measured overheads replace those of the network.
    let overheads = Distributions { overheads: vec![measured(None, &[1, 2, 3])], ..total };
    let drawn = Drawn::new(&network(), &overheads, 1).unwrap();
    assert_eq!(drawn.classes()[0].latency.smallest(), Time(20 - 4));
    let draws: Vec<Draw> = (0..100).map(|number| drawn.draw(0, 0, number)).collect();
    assert!(draws.iter().any(|draw| draw.send_overhead != draw.recv_overhead));
    assert!(draws.iter().all(|draw| (Time(1)..=Time(3)).contains(&draw.send_overhead)));
}

#[test]
fn what_is_wrong_is_named() {
    let fault =
        |distributions: &Distributions| Drawn::new(&network(), distributions, 1).unwrap_err().to_string();
    assert!(fault(&Distributions::default()).contains("no measured latency"));
    assert_eq!(fault(&wire(vec![measured(None, &[])])), "link class `node`: there are no measured times");
    assert_eq!(
        fault(&wire(vec![measured(Some("socket"), &[1])])),
        "the network has no link class `socket`; it has `node`, `base`"
    );
    assert!(fault(&wire(vec![measured(Some(BASE), &[1]), measured(Some(BASE), &[1])])).contains("twice"));
    assert!(fault(&wire(vec![measured(None, &[u64::MAX])])).contains("longer than a day"));
    let often = Measured { class: None, times: vec![(Time(1), u64::MAX), (Time(2), 1)] };
    assert!(fault(&wire(vec![often])).contains("2^64"));
}
