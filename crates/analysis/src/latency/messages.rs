//! Message latencies from a measurement, as the simulator needs them: one distribution per link class of the network.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use straggler_model::latency::{Histogram, Kind, Measurement, Series};
use straggler_model::network::{BASE, Class, Measured};
use straggler_model::units::Bytes;
use straggler_model::words::list;
use straggler_model::{Network, Time};

/// Kinds of series with messages: one-way times first, then those closest to them. Operations of a single process are
/// not messages.
const KINDS: [Kind; 4] = [Kind::OneWay, Kind::Pairwise, Kind::RoundTrip, Kind::OneSided];

/// Classes that `straggler mpi` gives to pairs on different nodes.
const BETWEEN_NODES: [&str; 2] = ["between nodes", "between switches"];

/// How the user selects a message size, for error messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SizeOption {
    Size,
    LatencySize,
    /// A key in the file of a study.
    Key,
}

impl fmt::Display for SizeOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            SizeOption::Size => "--size",
            SizeOption::LatencySize => "--latency-size",
            SizeOption::Key => "latency-size",
        })
    }
}

/// A file of measured times, and the link class it is for, as typed: `FILE` or `CLASS=FILE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassFile {
    pub class: Option<String>,
    pub path: PathBuf,
}

impl FromStr for ClassFile {
    type Err = String;

    /// Text before the first `=` is a class, unless it contains a slash.
    fn from_str(text: &str) -> Result<ClassFile, String> {
        let (class, path) = match text.split_once('=') {
            Some((class, path)) if !class.contains('/') => (Some(class), path),
            _ => (None, text),
        };
        if path.is_empty() || class == Some("") {
            return Err("write a FILE of measured times, or CLASS=FILE".into());
        }
        Ok(ClassFile { class: class.map(Into::into), path: path.into() })
    }
}

/// Why a measurement has no usable message latencies.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum MessagesError {
    #[error("it has no messages of {}, only of {}: choose one of these with {option}", Bytes(*size), size_list(known))]
    NoSize { size: u64, known: Vec<u64>, option: SizeOption },
    #[error(
        "it mixes latencies of several kernels, {}: measure only one of them",
        kernels.join(", ")
    )]
    SeveralKernels { kernels: Vec<String> },
    #[error(
        "{percent:.1} % of the trials exceed the last bin, so their times are unknown: measure with more or wider \
         bins, or without --bins"
    )]
    BeyondBins { percent: f64 },
    #[error(
        "it has no message latencies{}: measure some with `straggler mpi latency`, or `straggler latency measure \
         --kernel tcp`",
        only_times_of(kernels)
    )]
    NoMessages { kernels: Vec<String> },
    #[error(
        "pairs \"{class}\" match none of the network's link classes {}, {BASE}: name the class with CLASS=FILE",
        levels.join(", ")
    )]
    NoClass { class: String, levels: Vec<String> },
}

/// The distributions of a file: everything for `class` if it is given, otherwise each class of pairs for its link
/// class.
pub fn classes(
    measurement: &Measurement,
    network: &Network,
    class: Option<&str>,
    size: Option<u64>,
    option: SizeOption,
) -> Result<Vec<Measured>, MessagesError> {
    let series = chosen(measurement, size, option)?;
    let mut times: BTreeMap<Option<String>, Vec<(Time, u64)>> = BTreeMap::new();
    for one in series {
        let class = match class {
            Some(class) => Some(class.to_owned()),
            None => link_class(network, one.labels.class.as_deref())?,
        };
        times.entry(class).or_default().extend(weighted(&one.trials, one.labels.kind));
    }
    Ok(times.into_iter().map(|(class, times)| Measured { class, times }).collect())
}

/// Notes on what [`classes`] uses: sizes chosen by default, and classes that are combined.
pub fn notes(
    measurement: &Measurement,
    network: &Network,
    class: Option<&str>,
    size: Option<u64>,
    option: SizeOption,
) -> Result<Vec<String>, MessagesError> {
    let series = chosen(measurement, size, option)?;
    let taken = series.first().and_then(|one| one.labels.size).filter(|_| size.is_none());
    let left_out = left_out(measurement, taken, option);
    Ok(left_out.into_iter().chain(pooled(&series, network, class)).collect())
}

/// The note on pairs of several classes that are combined into one distribution.
fn pooled(series: &[&Series], network: &Network, class: Option<&str>) -> Option<String> {
    let mut by_link: BTreeMap<Option<String>, BTreeSet<&str>> = BTreeMap::new();
    for name in series.iter().filter_map(|one| one.labels.class.as_deref()) {
        let link = if class.is_some() { None } else { link_class(network, Some(name)).ok()? };
        by_link.entry(link).or_default().insert(name);
    }
    let (link, names) = by_link.into_iter().find(|(_, names)| names.len() > 1)?;
    let names: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    let why = match (class, link) {
        (Some(class), _) => format!("all of it was given for {class}"),
        (None, Some(link)) => format!("the network has only one link class for them, {link}"),
        (None, None) => "the network has no levels: add some, or measure only one class".into(),
    };
    Some(format!("latencies of pairs {} are combined, because {why}", names.join(", ")))
}

/// The warning that measured times are shorter than the overheads they should contain.
pub fn too_short(class: &Class, option: SizeOption) -> Option<String> {
    let overheads = class.send_overhead.median() + class.recv_overhead.median();
    let wire = if option == SizeOption::Key { "latency-is = \"wire\"" } else { "--latency-is wire" };
    (class.below_overheads > 0.0).then(|| {
        format!(
            "{:.1} % of the measured latencies of link class {} are below o_s + o_r ({overheads}), and L is 0 for \
             them: check o of the network, or use {wire} if they are L alone",
            class.below_overheads * 100.0,
            class.name
        )
    })
}

/// The series with messages of `size` (by default the smallest), and of those the ones with most processes per node
/// and most peers: the view of a full machine. Prefers series of classes to those of pairs. If the file does not tell
/// sizes, `size` is ignored.
pub fn chosen(
    measurement: &Measurement,
    size: Option<u64>,
    option: SizeOption,
) -> Result<Vec<&Series>, MessagesError> {
    let filled = || measurement.series.iter().filter(|one| !one.trials.is_empty());
    let sizes = sizes(measurement);
    if let Some(size) = size.filter(|size| !sizes.is_empty() && !sizes.contains(size)) {
        return Err(MessagesError::NoSize { size, known: sizes, option });
    }
    let size = size.filter(|_| !sizes.is_empty());
    let of_kind = || of_kind(measurement).filter(|one| size.is_none() || one.labels.size == size);
    let rank = |one: &Series| {
        let labels = &one.labels;
        let most = std::cmp::Reverse((labels.processes_per_node, labels.peers));
        // Prefer the whole machine to a part of a sweep over switches.
        (labels.pair.is_some(), labels.size, labels.switches.is_some(), most, labels.switches)
    };
    let Some(best) = of_kind().map(rank).min() else {
        return Err(MessagesError::NoMessages { kernels: kernels(filled()) });
    };
    let chosen: Vec<&Series> = of_kind().filter(|one| rank(one) == best).collect();
    let kernels = kernels(chosen.iter().copied());
    if kernels.len() > 1 {
        return Err(MessagesError::SeveralKernels { kernels });
    }
    refuse_unknown_times(&chosen).map(|()| chosen)
}

/// With a larger share of trials beyond the bins, too much of a distribution is unknown.
const MOST_BEYOND: f64 = 0.001;

/// For trials beyond the last bin, only the number and the sum are known, which tells little about the tail.
fn refuse_unknown_times(chosen: &[&Series]) -> Result<(), MessagesError> {
    let beyond: u64 = chosen.iter().map(|one| one.trials.overflow()).sum();
    let all: u64 = chosen.iter().map(|one| one.trials.count()).sum();
    let share = beyond as f64 / all.max(1) as f64;
    if share <= MOST_BEYOND { Ok(()) } else { Err(MessagesError::BeyondBins { percent: share * 100.0 }) }
}

/// The non-empty series of the kind that comes closest to a message latency.
fn of_kind(measurement: &Measurement) -> impl Iterator<Item = &Series> {
    let filled = || measurement.series.iter().filter(|one| !one.trials.is_empty());
    let kind = KINDS.into_iter().find(|kind| filled().any(|one| one.labels.kind == *kind));
    filled().filter(move |one| Some(one.labels.kind) == kind)
}

/// The sizes of the measured messages, ascending.
pub fn sizes(measurement: &Measurement) -> Vec<u64> {
    let sizes: BTreeSet<u64> = of_kind(measurement).filter_map(|one| one.labels.size).collect();
    sizes.into_iter().collect()
}

/// The note on a size chosen by default, if there are others.
pub fn left_out(measurement: &Measurement, taken: Option<u64>, option: SizeOption) -> Option<String> {
    let mut others = sizes(measurement);
    others.retain(|&other| Some(other) != taken);
    let taken = taken.filter(|_| !others.is_empty())?;
    Some(format!(
        "messages of {}, the smallest, are used; {option} selects others: {}",
        Bytes(taken),
        size_list(&others)
    ))
}

/// The size of the chosen messages; none if the file does not tell.
pub fn taken(
    measurement: &Measurement,
    size: Option<u64>,
    option: SizeOption,
) -> Result<Option<u64>, MessagesError> {
    let series = chosen(measurement, size, option)?;
    Ok(series.first().and_then(|one| one.labels.size))
}

fn size_list(sizes: &[u64]) -> String {
    list(&sizes.iter().map(|&size| Bytes(size)).collect::<Vec<_>>())
}

/// The kernels of some series, without duplicates.
fn kernels<'m>(series: impl Iterator<Item = &'m Series>) -> Vec<String> {
    series.map(|one| one.labels.kernel.clone()).collect::<BTreeSet<_>>().into_iter().collect()
}

fn only_times_of(kernels: &[String]) -> String {
    if kernels.is_empty() { String::new() } else { format!(", only times of {}", kernels.join(", ")) }
}

/// The link class for pairs of this class; none if the times are for all links.
fn link_class(network: &Network, class: Option<&str>) -> Result<Option<String>, MessagesError> {
    let Some(class) = class.filter(|_| !network.levels.is_empty()) else { return Ok(None) };
    let known = |name: &str| name == BASE || network.levels.iter().any(|level| level.name == name);
    match class {
        name if known(name) => Ok(Some(name.to_owned())),
        name if BETWEEN_NODES.contains(&name) => Ok(Some(BASE.to_owned())),
        _ if network.levels.len() == 1 => Ok(Some(network.levels[0].name.clone())),
        _ => {
            let levels = network.levels.iter().map(|level| level.name.clone()).collect();
            Err(MessagesError::NoClass { class: class.into(), levels })
        }
    }
}

/// The middle of each bin with its count; for round trips, half of the time.
pub fn weighted(trials: &Histogram, kind: Kind) -> Vec<(Time, u64)> {
    let ways = if kind == Kind::RoundTrip { 2 } else { 1 };
    let (least, most) = (trials.min().unwrap_or_default(), trials.max().unwrap_or_default());
    let middle = |low: Time, high: Time| Time(low.ps() / 2 + high.ps() / 2).clamp(least, most);
    let bins: Vec<_> = trials.iter().map(|bin| (middle(bin.low, bin.high), bin.count)).collect();
    let within: u128 = bins.iter().map(|(time, count)| u128::from(time.ps()) * u128::from(*count)).sum();
    // Trials beyond the bins get their mean time, which is known because sums are exact.
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
        let found = classes(&measurement, &two_levels(), None, None, SizeOption::Size).unwrap();
        let names: Vec<_> = found.iter().map(|one| one.class.as_deref().unwrap()).collect();
        assert_eq!(names, ["base", "node"]);
        let counts: Vec<u64> = found[1].times.iter().map(|(_, count)| *count).collect();
        assert_eq!(counts, [2, 1]);
        // A network without levels gets one distribution, and a named class gets everything.
        let flat = Network::uniform("flat", two_levels().base);
        let all = classes(&measurement, &flat, None, None, SizeOption::Size).unwrap();
        assert_eq!((all.len(), all[0].times.len()), (1, 3));
        let named = classes(&measurement, &two_levels(), Some("node"), None, SizeOption::Size).unwrap();
        assert_eq!((named.len(), named[0].times.len()), (1, 3));
        // Combined classes are mentioned in a note.
        let said = |network: &Network, class| {
            notes(&measurement, network, class, None, SizeOption::Size).unwrap().join("\n")
        };
        assert_eq!(
            said(&flat, None),
            "latencies of pairs \"between nodes\", \"same node\" are combined, because the network has no levels: \
             add some, or measure only one class"
        );
        assert!(said(&two_levels(), Some("node")).ends_with("because all of it was given for node"));
        assert_eq!(said(&two_levels(), None), "");
        let mut more = measurement.clone();
        more.add(series(Kind::Pairwise, "between switches", 3, &[3000])).unwrap();
        let found = classes(&more, &two_levels(), None, None, SizeOption::Size).unwrap();
        assert_eq!(found[0].times.len(), 2);
        let said = notes(&more, &two_levels(), None, None, SizeOption::Size).unwrap();
        assert!(said[0].ends_with("because the network has only one link class for them, base"), "{said:?}");
        // A part of a sweep over switches is not the whole machine.
        let mut part = series(Kind::Pairwise, "same node", 9, &[1]);
        part.labels.switches = Some(1);
        more.add(part).unwrap();
        assert_eq!(chosen(&more, None, SizeOption::Size).unwrap().len(), 3);
    }

    #[test]
    fn a_class_stands_before_its_file() {
        let parsed = |text: &str| text.parse::<ClassFile>().map(|file| (file.class, file.path));
        assert_eq!(parsed("a.txt"), Ok((None, "a.txt".into())));
        assert_eq!(parsed("node=a=b.txt"), Ok((Some("node".into()), "a=b.txt".into())));
        assert_eq!(parsed("./a=b.txt"), Ok((None, "./a=b.txt".into())));
        assert!(parsed("node=").is_err() && parsed("=a.txt").is_err() && parsed("").is_err());
    }

    #[test]
    fn half_of_a_round_trip_is_one_way() {
        let mut measurement = Measurement::default();
        measurement.add(series(Kind::RoundTrip, "same node", 1, &[4000])).unwrap();
        let flat = Network::load("chic").unwrap();
        let found = classes(&measurement, &flat, None, None, SizeOption::Size).unwrap();
        assert_eq!(found[0].times, [(Time::from_ns(2000), 1)]);
        let none = classes(&Measurement::default(), &flat, None, None, SizeOption::Size).unwrap_err();
        assert!(none.to_string().contains("no message latencies"), "{none}");
    }

    fn named(kernel: &str, kind: Kind, ns: &[u64]) -> Series {
        let mut one = series(kind, "same node", 1, ns);
        one.labels.kernel = kernel.into();
        one
    }

    fn fault(series: &[Series]) -> String {
        let measurement = Measurement { series: series.to_vec(), ..Measurement::default() };
        chosen(&measurement, None, SizeOption::Size).unwrap_err().to_string()
    }

    #[test]
    fn only_messages_of_one_kernel_are_taken() {
        let call = named("getpid", Kind::Operation, &[50]);
        assert!(fault(&[call]).contains("no message latencies, only times of getpid: measure some"));
        let [tcp, pipe] = ["tcp", "pipe"].map(|kernel| named(kernel, Kind::RoundTrip, &[4000]));
        assert!(fault(&[pipe, tcp.clone()]).contains("several kernels, pipe, tcp"));
        // A preferred kind without trials is not used.
        let empty = named("tcp", Kind::OneWay, &[]);
        let measurement = Measurement { series: vec![tcp.clone(), empty], ..Measurement::default() };
        assert_eq!(chosen(&measurement, None, SizeOption::Size).unwrap(), [&tcp]);
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
        assert!(refuse_unknown_times(&[&few]).is_ok());
        let times = weighted(&few.trials, Kind::OneSided);
        assert_eq!(times.last(), Some(&(Time::from_ns(1000), 7)), "the mean of those beyond");
        let refused = refuse_unknown_times(&[&series(400)]).unwrap_err().to_string();
        assert!(refused.starts_with("3.9 % of the trials"), "{refused}");
    }
}
