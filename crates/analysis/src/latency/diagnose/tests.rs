use super::*;
use crate::latency::samples::{histogram, lognormal};
use straggler_model::latency::{Kind, Pair, Process, Series};

fn labels(peers: Option<u32>, pair: Option<(u32, u32)>) -> Labels {
    let pair = pair.map(|(from, to)| Pair { from, to });
    Labels {
        kernel: "sendrecv".into(),
        kind: Kind::Pairwise,
        size: Some(1),
        pair,
        peers,
        ..Labels::default()
    }
}

fn series(labels: Labels, values: &[u64]) -> Series {
    Series { labels, trials: histogram(values), ..Series::default() }
}

fn measurement(series: Vec<Series>) -> Measurement {
    let process = |rank| Process { rank, node: Some(rank / 4), ..Process::default() };
    let mut measurement = Measurement { processes: (0..8).map(process).collect(), ..Measurement::default() };
    series.into_iter().for_each(|series| measurement.add(series).unwrap());
    measurement
}

fn pairs(level: impl Fn(u32, u32, usize) -> f64) -> Measurement {
    let all = (0..8).flat_map(|from| (from + 1..8).map(move |to| (from, to)));
    measurement(
        all.map(|(from, to)| {
            let seed = u64::from(10 * from + to);
            let values: Vec<u64> = lognormal(seed, 500, 0.0, 1e6, 0.03)
                .iter()
                .enumerate()
                .map(|(index, &ps)| (ps as f64 * level(from, to, index)) as u64)
                .collect();
            series(labels(None, Some((from, to))), &values)
        })
        .collect(),
    )
}

fn diagnosed(measurement: &Measurement) -> Diagnosis {
    Diagnosis::new(measurement, &Group::new(measurement).unwrap(), None)
}

/// One trial in five takes 4 ms; the others take anything from microseconds to tens of milliseconds.
#[test]
fn a_narrow_peak_on_a_wide_distribution() {
    let wide = lognormal(1, 800, 0.0, 6.5e8, 1.5);
    let found = |values: &[u64]| diagnosed(&measurement(vec![series(labels(None, None), values)])).hints;
    assert_eq!(found(&wide), []);
    let hints = found(&[wide, lognormal(2, 200, 0.0, 4e9, 0.01)].concat());
    let [Hint::NarrowPeak { centre_ps, weight, .. }] = hints[..] else { panic!("{hints:?}") };
    assert!((centre_ps / 4e9 - 1.0).abs() < 0.02 && (weight - 0.2).abs() < 0.04, "{hints:?}");
}

#[test]
fn two_modes_that_split_by_pair() {
    let found = diagnosed(&pairs(|from, to, _| if from / 4 == to / 4 { 4.0 } else { 6.0 }));
    assert_eq!(found.groups.len(), 1);
    let group = &found.groups[0];
    assert_eq!((group.modes.len(), group.trials.count), (2, 28 * 500));
    let split = group.split.unwrap();
    assert_eq!((split.kind, split.fast, split.slow, split.both), (SplitKind::ByPair, 12, 16, 0));
    let best = group.pairs.as_ref().unwrap().explanation().unwrap();
    assert_eq!(best.property, crate::latency::pairs::Property::Node);
    assert_eq!(found.hints, [Hint::ModesByPair { group: 0 }]);
}

/// Both directions of one pair in two modes say nothing about other pairs: the topology is neither ruled out nor blamed.
#[test]
fn one_pair_tells_nothing_about_pairs() {
    for level in [
        |_: u32, index: usize| if index.is_multiple_of(3) { 6.0 } else { 4.0 },
        |from, _| 4.0 + 2.0 * from as f64,
    ] {
        let one_sided = [(0, 1), (1, 0)].map(|(from, to)| {
            let values = lognormal(u64::from(from), 2000, 0.0, 1e6, 0.03).into_iter().enumerate();
            let values: Vec<u64> =
                values.map(|(index, ps)| (ps as f64 * level(from, index)) as u64).collect();
            series(Labels { kind: Kind::OneSided, ..labels(None, Some((from, to))) }, &values)
        });
        let found = diagnosed(&measurement(one_sided.into()));
        let group = &found.groups[0];
        assert_eq!((group.modes.len(), group.split, &group.pairs), (2, None, &None));
        assert_eq!(found.hints, [Hint::SeveralModes { group: 0 }]);
    }
}

#[test]
fn two_modes_of_every_pair() {
    let found = diagnosed(&pairs(|_, _, index| if index.is_multiple_of(3) { 6.0 } else { 4.0 }));
    let split = found.groups[0].split.unwrap();
    assert_eq!((split.kind, split.both), (SplitKind::WithinPairs, 28));
    assert_eq!(found.groups[0].pairs.as_ref().unwrap().clusters.len(), 1);
}

/// The anomaly of the paper: the first 16 peers take 4.6 µs, all others 5.7 µs.
#[test]
fn a_mode_above_sixteen_peers() {
    let sweep = [4, 8, 16, 24, 32].map(|peers: u32| {
        let fast = 6000 * peers.min(16) as usize / peers as usize;
        let mut values = lognormal(u64::from(peers), fast, 0.0, 4.6e6, 0.04);
        values.extend(lognormal(u64::from(peers) + 50, 6000 - fast, 0.0, 5.7e6, 0.04));
        series(labels(Some(peers), None), &values)
    });
    let found = diagnosed(&measurement(sweep.into()));
    let Some(Hint::AbovePeers(hint)) = found.hints.first() else { panic!("{:?}", found.hints) };
    assert_eq!((hint.without, hint.with, found.hints.len()), (16, 24, 1));
    assert!((hint.centre_ps / 5.7e6 - 1.0).abs() < 0.03);
    assert!(hint.at.iter().all(|at| (at.fast_peers - 16.0).abs() < 0.8), "{hint:?}");
}

/// A slow mode that appears with any number of peers is not caused by them.
#[test]
fn a_mode_of_all_numbers_of_peers() {
    let sweep = [4, 8, 16].map(|peers: u32| {
        let mut values = lognormal(u64::from(peers), 4000, 0.0, 4.6e6, 0.04);
        values.extend(lognormal(u64::from(peers) + 50, 2000, 0.0, 5.7e6, 0.04));
        series(labels(Some(peers), None), &values)
    });
    let found = diagnosed(&measurement(sweep.into()));
    assert!(found.hints.iter().all(|hint| matches!(hint, Hint::SeveralModes { .. })), "{:?}", found.hints);
}

#[test]
fn one_clean_distribution_gives_no_hint() {
    let clean = |peers| series(labels(Some(peers), None), &lognormal(u64::from(peers), 5000, 3e6, 1e6, 0.3));
    let mut all = measurement([2, 4, 8].map(clean).into());
    all.add(series(labels(None, None), &[])).unwrap();
    let found = diagnosed(&all);
    assert_eq!((found.hints, found.empty), (vec![], vec!["sendrecv, pairwise, 1 B".to_string()]));
    assert_eq!(found.groups.len(), 3);
}

/// A file without pairs, with a coarse timer, a tail at multiples of 4 ms, and a slow timer.
#[test]
fn what_is_wrong_with_the_instrument() {
    let mut values: Vec<u64> =
        lognormal(1, 5000, 4e6, 3e6, 0.4).iter().map(|ps| ps / 1_000_000 * 1_000_000).collect();
    values.extend([4_006_000_000; 14].iter().chain(&[8_006_000_000; 14]).chain(&[12_006_000_000; 14]));
    let mut one = series(labels(None, None), &values);
    one.timer.calls = histogram(&[2_000_000; 10]);
    let found = diagnosed(&measurement(vec![one]));
    let names: Vec<String> = found.hints.iter().map(|hint| format!("{hint:?}")).collect();
    assert!(names[0].starts_with("CoarseTimer") && names[1].starts_with("TimerCost"), "{names:?}");
    assert!(names.iter().any(|name| name.starts_with("TickSteps")), "{names:?}");
}

/// Pareto times with an exponent of 1.5: the slowest 1 % take about a fifth of all time.
#[test]
fn a_heavy_tail_is_told() {
    let pareto: Vec<u64> =
        (0..20_000).map(|index| (5e6 * ((f64::from(index) + 0.5) / 2e4).powf(-1.0 / 1.5)) as u64).collect();
    let found = diagnosed(&measurement(vec![series(labels(None, None), &pareto)]));
    let heavy = found.hints.iter().find_map(|hint| match hint {
        Hint::HeavyTail { share, .. } => Some(*share),
        _ => None,
    });
    assert!((heavy.unwrap() - 0.01f64.powf(1.0 / 3.0)).abs() < 0.02, "{:?}", found.hints);
}

#[test]
fn a_small_mode_far_away_is_told() {
    let mut values = lognormal(1, 9900, 0.0, 5e6, 0.03);
    values.extend(lognormal(2, 100, 0.0, 6.4e6, 0.03));
    let found = diagnosed(&measurement(vec![series(labels(None, None), &values)]));
    let [Hint::SmallMode { centre_ps, weight, .. }] = found.hints[..] else { panic!("{:?}", found.hints) };
    assert!((centre_ps / 6.4e6 - 1.0).abs() < 0.03 && (weight - 0.01).abs() < 1e-3);
}
