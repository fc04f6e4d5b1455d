use super::*;
use crate::latency::samples::{histogram, lognormal};
use straggler_model::latency::{Labels, Process};

/// Synthetic: all pairs of ranks on two nodes, each pair with its own median in ps.
fn measured(ranks: u32, level: impl Fn(u32, u32) -> f64) -> (Measurement, Vec<Series>) {
    let process =
        |rank| Process { rank, node: Some(rank % 2), socket: Some(rank / 2 % 2), ..Process::default() };
    let measurement = Measurement { processes: (0..ranks).map(process).collect(), ..Measurement::default() };
    let pairs = (0..ranks).flat_map(|from| (from + 1..ranks).map(move |to| (from, to)));
    let series = pairs.map(|(from, to)| {
        let values = lognormal(u64::from(from * 100 + to), 400, 0.0, level(from, to), 0.03);
        let labels = Labels { pair: Some(Pair { from, to }), ..Labels::default() };
        Series { labels, trials: histogram(&values), ..Series::default() }
    });
    (measurement, series.collect())
}

fn found(ranks: u32, level: impl Fn(u32, u32) -> f64) -> Pairs {
    let (measurement, series) = measured(ranks, level);
    Pairs::new(&measurement, &series).unwrap()
}

#[test]
fn clusters_follow_the_nodes() {
    let pairs = found(8, |from, to| if from % 2 == to % 2 { 4e6 } else { 6e6 });
    assert_eq!(pairs.clusters.iter().map(|cluster| cluster.pairs).collect::<Vec<usize>>(), [12, 16]);
    let best = pairs.explanation().unwrap();
    assert_eq!(best.property, Property::Node);
    assert!(best.is_exact() && (best.agreement - 1.0).abs() < 1e-9);
    assert_eq!(best.values[0].name, "same node");
    assert!(pairs.slow_processes.is_empty() && pairs.slow_pairs.is_empty());
    assert_eq!(pairs.ranks.len(), 8);
}

#[test]
fn alike_pairs_are_one_cluster() {
    let pairs = found(8, |_, _| 5e6);
    assert_eq!(pairs.clusters.len(), 1);
    assert!(pairs.explanations.is_empty());
    let (measurement, series) = measured(2, |_, _| 5e6);
    assert!(Pairs::new(&measurement, &series).is_none());
}

/// One process and one pair are slow, in addition to the effect of the nodes.
#[test]
fn who_is_slow_is_named() {
    let level = |from: u32, to: u32| {
        let node = if from % 2 == to % 2 { 4e6 } else { 6e6 };
        let process = if from == 3 || to == 3 { 1.3 } else { 1.0 };
        node * process * if (from, to) == (0, 6) { 1.6 } else { 1.0 }
    };
    let pairs = found(10, level);
    assert_eq!(pairs.slow_processes.len(), 1, "{pairs:?}");
    assert_eq!(pairs.slow_processes[0].rank, 3);
    assert!((pairs.slow_processes[0].ratio - 1.3).abs() < 0.1);
    assert_eq!(pairs.slow_pairs.len(), 1, "{:?}", pairs.slow_pairs);
    assert_eq!((pairs.slow_pairs[0].from, pairs.slow_pairs[0].to), (0, 6));
}

/// Where processes ran does not explain clusters that are unrelated to it.
#[test]
fn no_property_explains_chance() {
    let pairs = found(10, |from, to| if (from * 7 + to * 13) % 5 < 2 { 4e6 } else { 6e6 });
    assert_eq!(pairs.clusters.len(), 2);
    assert!(pairs.explanation().is_none(), "{:?}", pairs.explanations);
}

/// Pairs beyond the last bin are slow by at least the bound; the actual factor is unknown.
#[test]
fn medians_outside_the_bins_are_bounds() {
    let (measurement, mut series) = measured(8, |from, to| if (from, to) == (2, 5) { 9e7 } else { 5e6 });
    let bins = straggler_model::latency::Bins::FixedWidth { width_ps: 10_000, count: 1000 };
    for one in &mut series {
        let mut trials = straggler_model::latency::Histogram::new(bins);
        one.trials.iter().for_each(|bin| (0..bin.count).for_each(|_| trials.record(bin.low)));
        one.trials = trials;
    }
    let pairs = Pairs::new(&measurement, &series).unwrap();
    let slow = pairs.pairs.iter().find(|pair| (pair.from, pair.to) == (2, 5)).unwrap();
    assert_eq!((slow.median_ps, slow.outside.is_some()), (1e7, true));
    assert_eq!(pairs.clusters.iter().map(|cluster| cluster.outside).collect::<Vec<_>>(), [0, 1]);
    assert!(pairs.slow_pairs[0].at_least && pairs.slow_pairs[0].ratio < 2.1, "{:?}", pairs.slow_pairs);
}

/// Eight nodes below four leaf switches below two spines: the distance depends on how far up a
/// message has to go.
#[test]
fn clusters_follow_the_switches() {
    let level = |from: u32, to: u32| match () {
        () if from / 2 == to / 2 => 4e6,
        () if from / 4 == to / 4 => 6e6,
        () => 9e6,
    };
    let (mut measurement, series) = measured(8, level);
    for process in &mut measurement.processes {
        let rank = process.rank;
        process.switch = Some(format!("core/spine{}/leaf{}", rank / 4, rank / 2));
        (process.node, process.socket) = (Some(rank), None);
    }
    let pairs = Pairs::new(&measurement, &series).unwrap();
    let best = pairs.explanation().unwrap();
    assert_eq!((best.property, best.values.len()), (Property::SwitchLevel, 3), "{best:?}");
    assert!((best.agreement - 1.0).abs() < 1e-9);
    let names: Vec<&str> = best.values.iter().map(|value| value.name).collect();
    assert_eq!(names, ["same switch", "one level up", "two levels up"]);
}
