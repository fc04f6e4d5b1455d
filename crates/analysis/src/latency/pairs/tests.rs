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
    Pairs::of(&measurement, &series).unwrap()
}

#[test]
fn clusters_follow_the_nodes() {
    let pairs = found(8, |from, to| if from % 2 == to % 2 { 4e6 } else { 6e6 });
    assert_eq!(pairs.clusters.iter().map(|cluster| cluster.pairs).collect::<Vec<usize>>(), [12, 16]);
    let best = pairs.explanation().unwrap();
    assert_eq!(best.property, Property::Node);
    assert!((best.agreement - 1.0).abs() < 1e-9);
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
    assert!(Pairs::of(&measurement, &series).is_none());
}

/// One process and one pair are slow, on top of what the nodes do.
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

/// Clusters that have nothing to do with where processes ran are not explained by it.
#[test]
fn no_property_explains_chance() {
    let pairs = found(10, |from, to| if (from * 7 + to * 13) % 5 < 2 { 4e6 } else { 6e6 });
    assert_eq!(pairs.clusters.len(), 2);
    assert!(pairs.explanation().is_none(), "{:?}", pairs.explanations);
}
