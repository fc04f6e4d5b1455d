//! Distributions of a measurement as a simulation wants them: one for each link class of the network.

use crate::exit::{Failure, Outcome};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use straggler_model::latency::{Histogram, Kind, Measurement, Series};
use straggler_model::network::{BASE, Measured};
use straggler_model::units::Bytes;
use straggler_model::{Network, Time};

/// What is measured one way comes first, then what comes closest to it. Operations of one process are no messages.
const KINDS: [Kind; 4] = [Kind::OneWay, Kind::Pairwise, Kind::RoundTrip, Kind::OneSided];

/// What processes on different nodes see, as straggler-mpi calls it.
const BETWEEN_NODES: &str = "between nodes";

/// The distributions of a file: all of it for the class that was named, or each class of pairs for the link class it belongs to.
pub fn classes(
    path: &Path,
    measurement: &Measurement,
    network: &Network,
    class: Option<&str>,
) -> Outcome<Vec<Measured>> {
    let series = chosen(path, measurement, None)?;
    let mut times: BTreeMap<Option<String>, Vec<(Time, u64)>> = BTreeMap::new();
    for one in series {
        let class = match class {
            Some(class) => Some(class.to_owned()),
            None => link_class(path, network, one.labels.class.as_deref())?,
        };
        times.entry(class).or_default().extend(weighted(&one.trials, one.labels.kind));
    }
    Ok(times.into_iter().map(|(class, times)| Measured { class, times }).collect())
}

/// The series of messages of `size`, or else of the smallest, of most processes with most peers: what a full machine sees.
/// Classes of pairs tell more than pairs, where there are any. Where the file does not tell sizes, any may be typed.
pub fn chosen<'m>(path: &Path, measurement: &'m Measurement, size: Option<u64>) -> Outcome<Vec<&'m Series>> {
    let filled = || measurement.series.iter().filter(|one| !one.trials.is_empty());
    let sizes = sizes(measurement);
    if let Some(size) = size.filter(|size| !sizes.is_empty() && !sizes.contains(size)) {
        return Err(Failure::bad_input(format!(
            "{}: it has no messages of {}, only of {}: choose one of these with --size",
            path.display(),
            Bytes(size),
            listed(&sizes)
        )));
    }
    let size = size.filter(|_| !sizes.is_empty());
    let of_kind = || of_kind(measurement).filter(|one| size.is_none() || one.labels.size == size);
    let rank = |one: &Series| {
        let labels = &one.labels;
        (labels.pair.is_some(), labels.size, std::cmp::Reverse((labels.processes_per_node, labels.peers)))
    };
    let Some(best) = of_kind().map(rank).min() else {
        return Err(no_messages(path, &kernels(filled())));
    };
    let chosen: Vec<&Series> = of_kind().filter(|one| rank(one) == best).collect();
    match kernels(chosen.iter().copied()).as_slice() {
        several @ [_, _, ..] => Err(Failure::bad_input(format!(
            "{}: it has latencies of several kernels, {}, and they would be mixed: measure one of them alone",
            path.display(),
            several.join(", ")
        ))),
        _ => refuse_unknown_times(path, &chosen).map(|()| chosen),
    }
}

/// A larger share of trials beyond the bins leaves too much of a distribution unknown.
const MOST_BEYOND: f64 = 0.001;

/// Of trials beyond the last bin only the number and the sum are known, which says little about the tail.
fn refuse_unknown_times(path: &Path, chosen: &[&Series]) -> Outcome<()> {
    let beyond: u64 = chosen.iter().map(|one| one.trials.overflow()).sum();
    let all: u64 = chosen.iter().map(|one| one.trials.count()).sum();
    let share = beyond as f64 / all.max(1) as f64;
    if share <= MOST_BEYOND {
        return Ok(());
    }
    Err(Failure::bad_input(format!(
        "{}: {:.1} % of the trials took longer than the last bin, and how long is not known: measure with more or wider bins, or \
         without --bins",
        path.display(),
        share * 100.0
    )))
}

/// Series with trials of the kind that comes closest to the latency of a message.
fn of_kind(measurement: &Measurement) -> impl Iterator<Item = &Series> {
    let filled = || measurement.series.iter().filter(|one| !one.trials.is_empty());
    let kind = KINDS.into_iter().find(|kind| filled().any(|one| one.labels.kind == *kind));
    filled().filter(move |one| Some(one.labels.kind) == kind)
}

/// The sizes of its messages, ascending.
pub fn sizes(measurement: &Measurement) -> Vec<u64> {
    let sizes: BTreeSet<u64> = of_kind(measurement).filter_map(|one| one.labels.size).collect();
    sizes.into_iter().collect()
}

/// "1 B, 8 B and 1 KiB".
pub fn listed(sizes: &[u64]) -> String {
    let names: Vec<String> = sizes.iter().map(|&size| Bytes(size).to_string()).collect();
    match names.as_slice() {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Their names, each once.
fn kernels<'m>(series: impl Iterator<Item = &'m Series>) -> Vec<&'m str> {
    series.map(|one| one.labels.kernel.as_str()).collect::<BTreeSet<_>>().into_iter().collect()
}

fn no_messages(path: &Path, kernels: &[&str]) -> Failure {
    let instead = match kernels {
        [] => String::new(),
        _ => format!(", only times of {}", kernels.join(", ")),
    };
    Failure::bad_input(format!(
        "{}: it has no latency of messages{instead}: measure one with `straggler-mpi latency`, or \
         `straggler measure latency --kernel tcp`",
        path.display()
    ))
}

/// The link class that pairs of this class belong to; nothing for all of them.
fn link_class(path: &Path, network: &Network, class: Option<&str>) -> Outcome<Option<String>> {
    let Some(class) = class.filter(|_| !network.levels.is_empty()) else { return Ok(None) };
    let known = |name: &str| name == BASE || network.levels.iter().any(|level| level.name == name);
    match class {
        name if known(name) => Ok(Some(name.to_owned())),
        BETWEEN_NODES => Ok(Some(BASE.to_owned())),
        _ if network.levels.len() == 1 => Ok(Some(network.levels[0].name.clone())),
        _ => {
            let names: Vec<&str> = network.levels.iter().map(|level| level.name.as_str()).collect();
            Err(Failure::bad_input(format!(
                "{}: pairs \"{class}\" fit none of the network's link classes {}, {BASE}: say which one it is, with \
                 --latency-distribution CLASS={0}",
                path.display(),
                names.join(", ")
            )))
        }
    }
}

/// The middle of each bin, as often as it was met; of there and back again, half.
pub fn weighted(trials: &Histogram, kind: Kind) -> Vec<(Time, u64)> {
    let ways = if kind == Kind::RoundTrip { 2 } else { 1 };
    let (least, most) = (trials.min().unwrap_or_default(), trials.max().unwrap_or_default());
    let middle = |low: Time, high: Time| Time(low.ps() / 2 + high.ps() / 2).clamp(least, most);
    let bins: Vec<_> = trials.iter().map(|bin| (middle(bin.low, bin.high), bin.count)).collect();
    let within: u128 = bins.iter().map(|(time, count)| u128::from(time.ps()) * u128::from(*count)).sum();
    // What is beyond the bins is where its mean is: sums are exact.
    let last = trials.iter().last().map_or(least, |bin| bin.high).min(most);
    let mean = trials.sum_ps().saturating_sub(within) / u128::from(trials.overflow().max(1));
    let mean = Time(u64::try_from(mean).unwrap_or(u64::MAX)).clamp(last, most);
    let beyond = [(least, trials.underflow()), (mean, trials.overflow())];
    let all = bins.into_iter().chain(beyond).filter(|(_, count)| *count > 0);
    all.map(|(time, count)| (Time(time.ps() / ways), count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use straggler_model::latency::{Bins, Labels};

    fn series(kind: Kind, class: &str, peers: u32, ns: &[u64]) -> Series {
        let labels = Labels { kind, class: Some(class.into()), peers: Some(peers), ..Labels::default() };
        let mut series = Series::new(labels, Bins::default());
        ns.iter().for_each(|&ns| series.trials.record(Time::from_ns(ns)));
        series
    }

    fn two_levels() -> Network {
        let mut network = Network::load("chic").unwrap();
        let level = |name: &str| straggler_model::network::Level {
            name: name.into(),
            grouping: straggler_model::network::Grouping::Consecutive(4),
            link: network.base,
        };
        network.levels = vec![level("node")];
        network
    }

    #[test]
    fn classes_of_pairs_become_link_classes() {
        let mut measurement = Measurement::default();
        for one in [
            series(Kind::Pairwise, "same node", 3, &[500, 500, 900]),
            series(Kind::Pairwise, "between nodes", 3, &[2000]),
            series(Kind::Pairwise, "same node", 1, &[100]),
            series(Kind::OneSided, "same node", 3, &[7]),
        ] {
            measurement.add(one).unwrap();
        }
        let found = classes(Path::new("x.lat"), &measurement, &two_levels(), None).unwrap();
        let names: Vec<_> = found.iter().map(|one| one.class.as_deref().unwrap()).collect();
        assert_eq!(names, ["base", "node"]);
        let counts: Vec<u64> = found[1].times.iter().map(|(_, count)| *count).collect();
        assert_eq!(counts, [2, 1]);
        // One network, one distribution; and all of it for a class that was named.
        let flat = Network::uniform("flat", two_levels().base);
        let all = classes(Path::new("x.lat"), &measurement, &flat, None).unwrap();
        assert_eq!((all.len(), all[0].times.len()), (1, 3));
        let named = classes(Path::new("x.lat"), &measurement, &two_levels(), Some("node")).unwrap();
        assert_eq!((named.len(), named[0].times.len()), (1, 3));
    }

    #[test]
    fn half_of_a_round_trip_is_one_way() {
        let mut measurement = Measurement::default();
        measurement.add(series(Kind::RoundTrip, "same node", 1, &[4000])).unwrap();
        let flat = Network::load("chic").unwrap();
        let found = classes(Path::new("x.lat"), &measurement, &flat, None).unwrap();
        assert_eq!(found[0].times, [(Time::from_ns(2000), 1)]);
        let none = classes(Path::new("x.lat"), &Measurement::default(), &flat, None).unwrap_err();
        assert!(format!("{none:?}").contains("no latency of messages"), "{none:?}");
    }

    fn named(kernel: &str, kind: Kind, ns: &[u64]) -> Series {
        let mut one = series(kind, "same node", 1, ns);
        one.labels.kernel = kernel.into();
        one
    }

    fn fault(series: &[Series]) -> String {
        let measurement = Measurement { series: series.to_vec(), ..Measurement::default() };
        format!("{:?}", chosen(Path::new("x.lat"), &measurement, None).unwrap_err())
    }

    #[test]
    fn only_messages_of_one_kernel_are_taken() {
        let call = named("getpid", Kind::Operation, &[50]);
        assert!(fault(&[call]).contains("no latency of messages, only times of getpid: measure one"));
        let [tcp, pipe] = ["tcp", "pipe"].map(|kernel| named(kernel, Kind::RoundTrip, &[4000]));
        assert!(fault(&[pipe, tcp.clone()]).contains("several kernels, pipe, tcp"));
        // What comes first, but was never met, is not taken.
        let empty = named("tcp", Kind::OneWay, &[]);
        let measurement = Measurement { series: vec![tcp.clone(), empty], ..Measurement::default() };
        assert_eq!(chosen(Path::new("x.lat"), &measurement, None).unwrap(), [&tcp]);
    }

    #[test]
    fn times_beyond_the_bins_are_not_made_up() {
        let bins = Bins::FixedWidth { width_ps: 10_000, count: 10 };
        let series = |long: usize| {
            let labels = Labels { kind: Kind::OneSided, ..Labels::default() };
            let mut series = Series::new(labels, bins);
            (0..10_000).for_each(|_| series.trials.record(Time::from_ns(45)));
            (0..long).for_each(|_| series.trials.record(Time::from_ns(500)));
            series.trials.record(Time::from_ns(4_000));
            series
        };
        let few = series(6);
        assert!(refuse_unknown_times(Path::new("a.lat"), &[&few]).is_ok());
        let times = weighted(&few.trials, Kind::OneSided);
        assert_eq!(times.last(), Some(&(Time::from_ns(1000), 7)), "the mean of those beyond");
        let refused = refuse_unknown_times(Path::new("a.lat"), &[&series(400)]).unwrap_err();
        assert!(refused.error.to_string().starts_with("a.lat: 3.9 % of the trials"), "{}", refused.error);
    }
}
