use super::super::{Bins, Histogram, Kind, LatencyError, Outside, Pair, from_bytes, read, to_bytes, write};
use super::*;
use crate::Time;
use proptest::prelude::*;

fn labels() -> impl Strategy<Value = Labels> {
    (0u32..2, prop::option::of(0u64..2), prop::option::of(0u32..2)).prop_map(|(kernel, size, to)| Labels {
        kernel: ["tcp", "pipe"][kernel as usize].into(),
        kind: Kind::RoundTrip,
        size,
        pair: to.map(|to| Pair { from: 0, to }),
        ..Labels::default()
    })
}

/// Cycles of trials, each under some labels.
type Cycles = Vec<(Labels, u64, Vec<u64>)>;

fn cycles() -> impl Strategy<Value = Cycles> {
    let trials = prop::collection::vec((any::<u64>(), 0u32..64).prop_map(|(ps, bits)| ps >> bits), 0..6);
    prop::collection::vec((labels(), 0u64..9, trials), 0..6)
}

fn measurement(cycles: &Cycles, note: &str) -> Measurement {
    let origin = Origin::Synthetic { description: note.into() };
    let mut measurement = Measurement::new("tcp", origin);
    measurement.processes = vec![Process { rank: 0, core: Some(3), ..Process::default() }];
    measurement.notes = vec![note.into()];
    for (labels, started, trials) in cycles {
        let mut cycle = Histogram::default();
        trials.iter().for_each(|&ps| cycle.record(Time(ps)));
        let mut series = Series::new(labels.clone(), Bins::default());
        series.add_cycle(&cycle, *started).unwrap();
        series.timer.calls.record(Time(20_000));
        measurement.add(series).unwrap();
    }
    measurement
}

fn merged(one: &Measurement, other: &Measurement) -> Measurement {
    let mut merged = one.clone();
    merged.merge(other).unwrap();
    merged
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn files_bring_it_back(cycles in cycles()) {
        let before = measurement(&cycles, "a");
        let after = from_bytes(&to_bytes(&before));
        prop_assert_eq!(after, Ok(before));
    }

    #[test]
    fn merging_is_measuring_all_in_one(a in cycles(), b in cycles(), c in cycles()) {
        let [ma, mb, mc] = [(&a, "a"), (&b, "b"), (&c, "c")].map(|(cycles, note)| measurement(cycles, note));
        let left = merged(&merged(&ma, &mb), &mc);
        prop_assert_eq!(&left, &merged(&ma, &merged(&mb, &mc)));
        prop_assert_eq!(&left, &merged(&mc, &merged(&mb, &ma)));
        prop_assert_eq!(&left.series, &measurement(&[a, b, c].concat(), "all").series);
        prop_assert_eq!(left.check(), Ok(()));
        prop_assert_eq!(left.notes, ["a", "b", "c"]);
    }
}

/// Merged runs stay apart, whatever the order of merging, and a run is known again.
#[test]
fn runs_stay_apart() {
    let labels = Labels { kernel: "tcp".into(), ..Labels::default() };
    // Both start in the same nanosecond.
    let run = |ps: u64| measurement(&vec![(labels.clone(), 5, vec![ps, 90])], "a").as_runs();
    let [a, b, c] = [100, 200, 300].map(run);
    let both = merged(&merged(&a, &b), &c);
    assert_eq!(both, merged(&c, &merged(&b, &a)));
    assert_eq!((both.series[0].runs.len(), both.series[0].trials.count()), (3, 6));
    assert!(both.runs().any(|id| a.runs().any(|own| own == id)));
    assert_eq!(both.clone().as_runs(), both);
    let bytes = String::from_utf8(to_bytes(&both)).unwrap();
    assert!(bytes.contains("\"version\":2"));
    assert_eq!(from_bytes(bytes.as_bytes()), Ok(both.clone()));
    let mut fewer = both.clone();
    fewer.series[0].runs.pop();
    let text = from_bytes(&to_bytes(&fewer)).unwrap_err().to_string();
    assert!(text.contains("`tcp`: runs: together they are not the trials"), "{text}");
    let mut turned = both;
    turned.series[0].runs.reverse();
    assert!(from_bytes(&to_bytes(&turned)).unwrap_err().to_string().contains("out of order"));
}

fn small() -> Measurement {
    let labels = Labels { kernel: "tcp".into(), ..Labels::default() };
    measurement(&vec![(labels, 5, vec![100, 90])], "a")
}

#[test]
fn what_does_not_belong_together_is_refused_and_nothing_changes() {
    let mut ours = small();
    let before = ours.clone();
    let other_kernel = Measurement { kernel: "pipe".into(), ..small() };
    assert!(ours.merge(&other_kernel).unwrap_err().to_string().contains("`tcp`, the other of `pipe`"));
    let mut moved = small();
    moved.processes[0].core = Some(4);
    assert!(ours.merge(&moved).unwrap_err().to_string().contains("process 0 has a different placement"));
    let mut binned = small();
    binned.series[0].trials = Histogram::new(Bins::FixedWidth { width_ps: 10, count: 10 });
    let text = ours.merge(&binned).unwrap_err().to_string();
    assert!(text.starts_with("tcp: the bins differ") && text.contains("fixed width"), "{text}");
    assert_eq!(ours, before);
}

#[test]
fn faults_of_a_file_name_file_and_field() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.lat");
    write(&path, &small()).unwrap();
    assert_eq!(read(&path).unwrap(), small());
    let good = String::from_utf8(to_bytes(&small())).unwrap();
    for (from, to, why) in [
        ("\"straggler latency\"", "\"other\"", "not a latency file"),
        ("\"version\":1", "\"version\":3", "use a newer straggler"),
        ("\"version\":1", "\"version\":0", "damaged"),
        ("\"notes\"", "\"nots\"", "unknown field `nots`"),
        ("\"minima_ps\":[90]", "\"minima_ps\":[80]", "series `tcp`: minima: one is less"),
        ("\"minima_ps\":[90]", "\"minima_ps\":[-1]", "invalid value"),
        ("\"count\":2", "\"count\":1", "line 1 column"),
        ("}", "", "expected `,` or `}`"),
    ] {
        assert!(good.contains(from), "{good}");
        std::fs::write(&path, good.replacen(from, to, 1)).unwrap();
        let text = read(&path).unwrap_err().to_string();
        assert!(text.contains("a.lat: ") && text.contains(why), "{to}: {text}");
    }
    std::fs::write(&path, "1 2 3\n").unwrap();
    assert!(matches!(read(&path), Err(LatencyError::InFile { .. })));
    assert!(read(folder.path()).unwrap_err().to_string().contains("cannot be read"));
}

/// A cycle's median that lies outside the bins is a bound. Files keep it, and also the recording process and
/// the clock error.
#[test]
fn medians_outside_the_bins_are_bounds() {
    let bins = Bins::FixedWidth { width_ps: 10, count: 10 };
    let mut series = Series { clock_error: Some(Time(7)), ..Series::new(Labels::default(), bins) };
    let mut beyond = Histogram::new(bins);
    [5, 500, 900, 1000].into_iter().for_each(|ps| beyond.record(Time(ps)));
    series.add_cycle(&beyond, 1).unwrap();
    let mut below = Histogram::new(bins);
    below.record(Time(55));
    (0..3).for_each(|_| below.record_underflow());
    series.add_cycle(&below, 2).unwrap();
    let found: Vec<_> = series.cycles.iter().map(|cycle| (cycle.median, cycle.median_outside)).collect();
    let above = Outside::Above(Time(100));
    assert_eq!(found, [(Time(100), Some(above)), (Time(55), Some(Outside::Below(Time(60))))]);
    let mut whole = series.clone().recorded_by(3);
    whole.merge(&Series { clock_error: Some(Time(9)), ..series.recorded_by(4) }).unwrap();
    assert_eq!(whole.clock_error, Some(Time(9)));
    let whole = Measurement { series: vec![whole], ..Measurement::default() };
    let back = from_bytes(&to_bytes(&whole)).unwrap();
    assert_eq!(back, whole);
    let processes: Vec<_> = back.series[0].cycles.iter().filter_map(|cycle| cycle.process).collect();
    assert_eq!(processes, [3, 4, 3, 4]);
}
