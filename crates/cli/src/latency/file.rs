//! Files of measured latencies: .lat files, and lists of times from any other program.

use crate::kernel::exit::{Wanted, mistaken};
use crate::kernel::prelude::*;
use straggler_analysis::latency::Group;
use straggler_analysis::latency::messages::{self, SizeOption};
use straggler_model::latency::{self, Bins, Histogram, Labels, Measurement, Series};
use straggler_model::samples::{self, SamplesError};
use straggler_model::spelling;
use straggler_model::units::{self, TimeUnit};

/// A measurement, with warnings about it.
#[derive(Debug)]
pub struct LatencyFile {
    pub name: String,
    pub measurement: Measurement,
    pub warnings: Vec<String>,
}

/// The finest bins, for times that are known exactly.
const FINE: Bins = Bins::HighDynamicRange { octave_bits: Bins::MOST_OCTAVE_BITS };
/// Number of cycles a list of times is cut into to detect changes: more if there are more times.
const CYCLES: std::ops::RangeInclusive<usize> = 20..=400;
const IN_CYCLE: usize = 50;

/// Reads a file; `unit` is that of plain numbers in a list of times.
pub fn read(path: &Path, unit: Option<TimeUnit>) -> Outcome<LatencyFile> {
    let name = path.display().to_string();
    let wrong = || mistaken(path, Wanted::Latencies);
    let bytes = std::fs::read(path).map_err(|fault| wrong().unwrap_or_else(|| unreadable(path, &fault)))?;
    let measurement = if is_ours(&bytes) {
        latency::from_bytes(&bytes).map_err(|fault| Failure::bad_input(format!("{name}: {fault}")))?
    } else {
        let times = samples::parse(&bytes, unit);
        let fault = |fault: SamplesError| match bytes.is_empty() {
            true => {
                Failure::bad_input(format!("{name}: the file is empty: measure again, or use another file"))
            }
            // A .lat file must be a measurement, not a list of times.
            false if path.extension().is_some_and(|ending| ending == "lat") => {
                Failure::bad_input(format!("{name}: {}", latency::Fault::NoFormat))
            }
            false => {
                wrong().unwrap_or_else(|| Failure::bad_input(with_unit_option(&format!("{name}: "), &fault)))
            }
        };
        of_times(&times.map_err(fault)?)
    };
    let warnings = measurement.doubts().iter().map(|doubt| format!("{name}: {doubt}")).collect();
    Ok(LatencyFile { name, measurement, warnings })
}

/// Errors in a list of times, for commands with --unit.
fn with_unit_option(before: &str, fault: &SamplesError) -> String {
    let option = if fault.is_no_unit() { "; or set it with --unit" } else { "" };
    format!("{before}{fault}{option}")
}

/// The error for a file that is no list of times.
pub fn not_times(path: &Path, fault: SamplesError) -> Failure {
    mistaken(path, Wanted::Latencies).unwrap_or_else(|| fault.into())
}

/// Measured exchanges of two processes.
#[derive(Debug)]
pub struct Exchanges {
    pub name: String,
    /// Ascending.
    pub times: Vec<Time>,
    /// Message size.
    pub bytes: u64,
    /// Notes about the file and about skipped sizes.
    pub warnings: Vec<String>,
    pub synthetic: bool,
}

/// The exchanges in a measurement that records message sizes: those of `size`, or else of the smallest size.
pub fn exchanges(path: &Path, size: Option<u64>) -> Outcome<Exchanges> {
    if !is_measurement(path) {
        return Err(mistaken(path, Wanted::Latencies).unwrap_or_else(|| {
            Failure::bad_input(format!(
                "{}: this is not a measurement of exchanges (FILE.lat): make one with `mpirun -n 2 \
                 straggler mpi latency`",
                path.display()
            ))
        }));
    }
    let file = read(path, None)?;
    let name = file.name.clone();
    let sample = Sample::new(file, size)?;
    let bytes = sample.bytes.filter(|&bytes| bytes > 0).ok_or_else(|| {
        Failure::bad_input(format!("{name}: it does not record how many bytes were exchanged"))
    })?;
    let Sample { times, warnings, synthetic, .. } = sample;
    Ok(Exchanges { name, times, bytes, warnings, synthetic })
}

/// A larger sample is represented by this many times.
const MOST_TIMES: u128 = 1 << 20;

/// The times in a file, and the message size they belong to.
#[derive(Debug)]
pub struct Sample {
    pub times: Vec<Time>,
    /// Message size; None if the file does not record it.
    pub bytes: Option<u64>,
    /// Notes about the file and about skipped sizes.
    pub warnings: Vec<String>,
    /// Whether the times are synthetic, not measured.
    pub synthetic: bool,
}

impl Sample {
    /// Reads a list of times, or the exchanges of `size` in a measurement (of the smallest size by default). The times
    /// of a measurement are sorted, each repeated by the count of its bin.
    pub fn read(path: &Path, unit: Option<TimeUnit>, size: Option<u64>) -> Outcome<Sample> {
        if !is_measurement(path) {
            let fault = |fault: SamplesError| match fault.is_no_unit() {
                true => Failure::bad_input(with_unit_option("", &fault)),
                false => not_times(path, fault),
            };
            let times = samples::read(path, unit).map_err(fault)?;
            return Ok(Sample { times, bytes: None, warnings: Vec::new(), synthetic: false });
        }
        Sample::new(read(path, unit)?, size)
    }

    fn new(file: LatencyFile, size: Option<u64>) -> Outcome<Sample> {
        let LatencyFile { name, measurement, mut warnings } = file;
        let fault = |fault| Failure::bad_input(format!("{name}: {fault}"));
        let chosen = messages::chosen(&measurement, size, SizeOption::Size).map_err(fault)?;
        let mut weighted: Vec<(Time, u64)> =
            chosen.iter().flat_map(|one| messages::weighted(&one.trials, one.labels.kind)).collect();
        weighted.sort_unstable();
        let bytes = chosen.first().and_then(|one| one.labels.size);
        let left_out = messages::left_out(&measurement, bytes.filter(|_| size.is_none()), SizeOption::Size);
        warnings.extend(left_out.map(|note| format!("{name}: {note}")));
        let count: u128 = weighted.iter().map(|(_, count)| u128::from(*count)).sum();
        warnings.extend(
            (count > MOST_TIMES)
                .then(|| format!("{name}: {MOST_TIMES} evenly chosen times represent its {count} trials")),
        );
        Ok(Sample { times: spread(&weighted), bytes, warnings, synthetic: measurement.is_synthetic() })
    }
}

/// Repeats each time by its count; if there are too many, selects evenly among them. Sums in 128 bits, because the
/// counts of a damaged file may overflow 64.
fn spread(weighted: &[(Time, u64)]) -> Vec<Time> {
    let count: u128 = weighted.iter().map(|(_, count)| u128::from(*count)).sum();
    let kept = count.min(MOST_TIMES);
    let (mut times, mut met) = (Vec::with_capacity(kept as usize), 0);
    for &(time, more) in weighted {
        met += u128::from(more);
        times.resize((met * kept / count.max(1)) as usize, time);
    }
    times
}

/// Whether a file is a measurement. A file that cannot be read is not.
pub fn is_measurement(path: &Path) -> bool {
    std::fs::read(path).is_ok_and(|bytes| is_ours(&bytes))
}

/// Measurements are JSON; lists of times never are.
fn is_ours(bytes: &[u8]) -> bool {
    bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{')
}

/// Turns a list of times, in the order measured, into a measurement.
fn of_times(times: &[Time]) -> Measurement {
    let labels = Labels { kernel: "times".into(), ..Labels::default() };
    let mut series = Series::new(labels, FINE);
    let cycles = (times.len() / IN_CYCLE).clamp(*CYCLES.start(), *CYCLES.end());
    let in_cycle = times.len().div_ceil(cycles).max(1);
    for (index, cycle) in (0..).zip(times.chunks(in_cycle)) {
        let mut histogram = Histogram::new(FINE);
        cycle.iter().for_each(|&time| histogram.record(time));
        // Cannot fail: both have the same bins.
        let _ = series.add_cycle(&histogram, index);
    }
    // The cycles are arbitrary parts of the list, so their minima mean nothing.
    series.minima.clear();
    Measurement { kernel: "times".into(), series: vec![series], ..Measurement::default() }
}

/// The cycles of a list of times are only numbered: those of a further list follow the known ones.
pub fn append_cycles(known: &Measurement, next: &mut Measurement) {
    for series in &mut next.series {
        let is_numbered =
            |series: &Series| (0..).zip(&series.cycles).all(|(number, cycle)| cycle.started_ns == number);
        let before = known.find(&series.labels).filter(|before| is_numbered(before) && is_numbered(series));
        let first = before.map_or(0, |before| before.cycles.len() as u64);
        series.cycles.iter_mut().for_each(|cycle| cycle.started_ns += first);
    }
}

/// The groups of a file, or the series whose name contains a text, without empty ones.
pub fn groups(file: &LatencyFile, wanted: Option<&str>) -> Outcome<Vec<Group>> {
    let failure = |fault| Failure::bad_input(format!("{}: {fault}", file.name));
    let mut groups = Group::new(&file.measurement).map_err(failure)?;
    if let Some(text) = wanted {
        groups.retain(|group| is_named(&group.labels, text));
        if groups.is_empty() {
            groups = singles(file, text);
        }
    }
    groups.retain(|group| !group.all.trials.is_empty());
    if !groups.is_empty() {
        return Ok(groups);
    }
    let known: Vec<String> = file.measurement.series.iter().map(|series| series.labels.to_string()).collect();
    Err(Failure::bad_input(match wanted {
        Some(text) => format!(
            "{}: no series with trials matches `{text}`; the series are: {}{}",
            file.name,
            first_few(&known, 10),
            spelling::hint(spelling::nearest(text, known.iter().map(String::as_str)))
        ),
        None => format!("{} has no trials: measure again", file.name),
    }))
}

/// Whether the name of a series contains a text, as the program prints it or as people type it: `0-1` and `pair 0-1` stand
/// for `pair 0–1`, `1B` for `1 B`.
fn is_named(labels: &Labels, typed: &str) -> bool {
    let plain = |text: &str| -> String {
        let letters: Vec<char> = text.to_lowercase().replace('–', "-").chars().collect();
        let is_digit = |place: usize| letters.get(place).is_some_and(char::is_ascii_digit);
        // 1,500 B is 1500B.
        let groups = |place: usize| place > 0 && is_digit(place - 1) && is_digit(place + 1);
        let kept = letters
            .iter()
            .enumerate()
            .filter(|&(place, letter)| !(letter.is_whitespace() || *letter == ',' && groups(place)));
        kept.map(|(_, letter)| letter).collect()
    };
    let (name, text) = (plain(&labels.to_string()), plain(typed));
    let is_size = || labels.size.is_some() && labels.size == units::bytes(typed).ok();
    contains(&name, &text) || contains(&name.replace(",pair", ","), &text) || is_size()
}

/// Whether a text contains another without splitting a number: `8B` is not in `128B`, nor `5` in `1.5`.
fn contains(name: &str, text: &str) -> bool {
    let is_number = |letter: char| letter.is_ascii_digit() || letter == '.';
    let splits_number = |one: Option<char>, other: Option<char>| {
        one.zip(other).is_some_and(|(one, other)| is_number(one) && is_number(other))
    };
    name.match_indices(text).any(|(at, _)| {
        let (before, after) = (name[..at].chars().next_back(), name[at + text.len()..].chars().next());
        !splits_number(before, text.chars().next()) && !splits_number(text.chars().next_back(), after)
    })
}

/// Single series, such as that of one pair.
fn singles(file: &LatencyFile, text: &str) -> Vec<Group> {
    let series = file.measurement.series.iter().filter(|series| is_named(&series.labels, text));
    series.map(Group::single).collect()
}

/// The first few of a list, and how many more there are.
pub fn first_few(names: &[String], most: usize) -> String {
    let shown = names[..names.len().min(most)].join("; ");
    match names.len().saturating_sub(most) {
        0 => shown,
        more => format!("{shown}; … and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use straggler_model::Time;
    use straggler_model::latency::Pair;

    #[test]
    fn a_list_of_times_is_a_measurement() {
        let times: Vec<Time> = (1..=100).map(|us| Time::from_ns(us * 1000)).collect();
        let measurement = of_times(&times);
        assert_eq!(measurement.series[0].trials.count(), 100);
        assert_eq!(measurement.series[0].cycles.len(), 20);
        assert!(measurement.check().is_ok());
        assert!(is_ours(b" \n{\"format\"") && !is_ours(b"1us\n{") && !is_ours(b""));
    }

    #[test]
    fn series_are_found_as_printed_and_as_typed() {
        let pair = |from, to, size| {
            let (kernel, pair) = ("ping-pong".into(), Some(Pair { from, to }));
            Labels { kernel, pair, size: Some(size), ..Labels::default() }
        };
        let one = pair(0, 1, 1);
        let printed = one.to_string();
        for text in
            ["0–1", "0-1", "pair 0-1", "1B,0-1", "1B", "1 B", "ping-pong", "Ping-Pong, 1 B", &printed, ""]
        {
            assert!(is_named(&one, text), "{text}");
        }
        for text in ["1-0", "0-10", "11 B", "KiB"] {
            assert!(!is_named(&one, text), "{text}");
        }
        let other = pair(10, 12, 128);
        assert!(is_named(&other, "128B") && !is_named(&other, "8 B") && !is_named(&other, "0-1"));
        assert!(is_named(&pair(3, 4, 2048), "2KiB"));
        assert!(is_named(&pair(3, 4, 1500), "ping-pong, 1500 B") && is_named(&pair(3, 4, 1500), "1,500B"));
        assert!(is_named(&pair(3, 4, 1000), "1000B") && !is_named(&pair(3, 4, 1000), "1001B"));
        let version = Labels { kernel: "./bench-1.5".into(), ..Labels::default() };
        for text in ["1.5", "./bench", ".", "bench-1.5"] {
            assert!(is_named(&version, text), "{text}");
        }
        assert!(!is_named(&version, "5") && !is_named(&version, "1") && !is_named(&version, "1."));
        let rank = |rank| Labels { rank: Some(rank), ..Labels::default() };
        assert!(is_named(&rank(3), "rank 3") && !is_named(&rank(30), "rank 3"));
    }

    #[test]
    fn counts_of_any_size_become_times() {
        let [near, far] = [Time(1), Time(2)];
        assert_eq!(spread(&[(near, 2), (far, 1)]), [near, near, far]);
        assert_eq!(spread(&[]), []);
        assert_eq!(spread(&[(near, 0)]), []);
        let many = spread(&[(near, u64::MAX), (far, u64::MAX)]);
        assert_eq!((many.len(), many[many.len() / 2 - 1], many[many.len() / 2]), (1 << 20, near, far));
    }
}
