//! `straggler latency compare` as typed.

pub mod words;

use crate::kernel::gates::{LimitsOption, limits_help, refused};
use crate::kernel::prelude::*;
use crate::latency::file::{self, LatencyFile};
use crate::report::ReportOption;
use straggler_analysis::latency::gate::{GateOutcome, Judgement};
use straggler_analysis::latency::rank_tests::AndersonDarling;
use straggler_analysis::latency::{Comparison, Distribution, Gate, Group, compare};
use straggler_model::{latency::Labels, units::TimeUnit};

const EXAMPLES: &str = concat!(
    "\
EXAMPLES
  straggler latency compare fixtures/latency/before.lat \\
      fixtures/latency/after.lat

  Three measurements, with a page of charts:
  straggler latency compare fixtures/latency/before.lat \\
      fixtures/latency/after.lat fixtures/latency/tail.lat \\
      --report compared.html

  Times of any benchmark, one per line; exit code 5 if the median is more than
  50 % slower:
  straggler latency compare fixtures/resampling/exchanges.txt \\
      fixtures/resampling/uninterrupted.txt --fail-if 'median>+50%'

FILES    .lat files of `straggler latency measure` and straggler mpi, or text
         with one time per line
METRICS  median, mean, min, max or pNN, for --fail-if:
           p99>+5%      the 99th percentile is more than 5 % above that of the
                        first file; p99>1.05x is the same
           median>+1us  the median is more than 1 us above that of the first
                        file
           p99.9>50us   the 99.9th percentile is above 50 us, whatever the
                        first file says
         min and max have no interval. For a quantile outside the bins only a
         bound is known; it is used where it decides
",
    limits_help!(),
    "

EXIT CODES
  0  success, whether or not the files differ
  3  a file cannot be read, or a limit cannot be judged: a file lacks the
     series, there are too few trials, or the quantile lies outside the bins
     and its bound does not decide
  5  a limit is exceeded"
);

/// Compare measured latencies: where they differ, by how much, and with what confidence
///
/// Compares every file with the first: quantile by quantile with confidence intervals, and with distribution-free tests
/// (Kolmogorov–Smirnov, Anderson–Darling, Mann–Whitney). Distinguishes a shift of all times from a wider spread and from a
/// longer tail.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Compare {
    /// Measured latencies, at least two files; the first is the baseline
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Only series whose name contains this text, such as `1 B`, `0-1` or `rank 3`; given once per file, it selects one
    /// series of each
    #[arg(long, value_name = "TEXT")]
    pub series: Vec<String>,
    #[command(flatten)]
    pub limits: LimitsOption,
    /// Unit of plain numbers in text files: ns, us, ms, …
    #[arg(long, value_name = "UNIT")]
    pub unit: Option<TimeUnit>,
    #[command(flatten)]
    pub report: ReportOption,
}

/// The limits as gates, or why one makes no sense for a comparison.
pub fn gates(typed: &LimitsOption) -> Outcome<Vec<Gate>> {
    typed.fail_if.iter().map(|limit| Gate::new(limit).map_err(|fault| refused(limit, fault))).collect()
}

pub fn run(typed: &Compare, seed: u64, console: &Console) -> Outcome<()> {
    let files: Vec<LatencyFile> =
        typed.files.iter().map(|path| file::read(path, typed.unit)).collect::<Outcome<_>>()?;
    let gates = gates(&typed.limits)?;
    let (sets, mut warnings) = matched(&files, &typed.series, !gates.is_empty())?;
    let answer = CompareAnswer::new(&files, &sets, &gates, seed, &mut warnings)?;
    pages::write_asked(typed.report.report.as_ref(), console, || words::page(&answer, &files, &sets))?;
    if console.json {
        console.print_json(&answer)?;
    } else {
        answer.warnings.iter().for_each(|warning| console.warn(warning));
        console.print(&words::summary(&answer))?;
    }
    let tripped: Vec<String> =
        answer.gates.iter().filter(|gate| gate.is_tripped()).map(words::gate).collect();
    if tripped.is_empty() {
        return Ok(());
    }
    Err(Failure::new(Exit::CheckFailed, anyhow::Error::msg(tripped.join("\n       "))))
}

/// One distribution per file.
pub struct Set {
    pub name: String,
    /// In the order of the files.
    pub distributions: Vec<Distribution>,
}

/// Matches series with the same labels. If every file has a single series, these are compared whatever their
/// labels. A series that is not in every file is skipped with a warning; with a gate it is an error, because the
/// gate would pass without it.
fn matched(files: &[LatencyFile], wanted: &[String], gated: bool) -> Outcome<(Vec<Set>, Vec<String>)> {
    let mut warnings: Vec<String> = files.iter().flat_map(|file| file.warnings.clone()).collect();
    warnings.extend(files.iter().filter_map(words::lost_runs));
    let of_file = |(place, file)| {
        let text = if wanted.len() > 1 { wanted.get(place) } else { wanted.first() };
        let groups = file::groups(file, text.map(String::as_str))?;
        if wanted.len() > 1 && groups.len() > 1 {
            return Err(Failure::bad_input(format!(
                "{}: several series match `{}`: {}; name one of them",
                file.name,
                text.map_or("", String::as_str),
                words::names(&groups)
            )));
        }
        Ok(groups)
    };
    let groups: Vec<Vec<Group>> = files.iter().enumerate().map(of_file).collect::<Outcome<_>>()?;
    if groups.iter().all(|groups| groups.len() == 1) {
        let names: Vec<String> = groups.iter().map(|groups| groups[0].labels.to_string()).collect();
        if names.iter().any(|name| *name != names[0]) {
            warnings.push(format!("the compared series differ in kind: {}", names.join("; ")));
        }
        let name =
            if names.iter().all(|name| *name == names[0]) { names[0].clone() } else { names.join(" / ") };
        let firsts = groups.iter().map(|groups| &groups[0]);
        let distributions = firsts.filter_map(Distribution::of_group).collect();
        return Ok((vec![Set { name, distributions }], warnings));
    }
    let mut all: Vec<&Labels> = groups.iter().flatten().map(|group| &group.labels).collect();
    all.sort();
    all.dedup();
    let (mut sets, mut missing) = (Vec::new(), Vec::new());
    for labels in all {
        let same = |groups: &Vec<Group>| {
            groups.iter().find(|group| group.labels == *labels).and_then(Distribution::of_group)
        };
        let found: Vec<Option<Distribution>> = groups.iter().map(same).collect();
        match found.iter().position(Option::is_none) {
            Some(place) => missing.push(format!("{labels}: not in {}", files[place].name)),
            None => sets
                .push(Set { name: labels.to_string(), distributions: found.into_iter().flatten().collect() }),
        }
    }
    if sets.is_empty() {
        return Err(Failure::bad_input(format!(
            "the files have no series in common: {}; choose one per file, with a --series for each",
            words::series_of(&groups)
        )));
    }
    if gated && !missing.is_empty() {
        return Err(Failure::bad_input(format!(
            "--fail-if needs every series in every file; {}: measure the missing series, or choose series \
             with --series",
            missing.join("; ")
        )));
    }
    warnings.extend(missing.into_iter().map(|what| format!("{what}, so it is skipped")));
    Ok((sets, warnings))
}

#[derive(Serialize)]
pub struct CompareAnswer {
    /// The first file is the baseline of all others.
    pub files: Vec<String>,
    pub verdict: String,
    pub synthetic: bool,
    pub series: Vec<SeriesAnswer>,
    pub gates: Vec<GateAnswer>,
    pub warnings: Vec<String>,
}

#[derive(Serialize)]
pub struct SeriesAnswer {
    pub series: String,
    pub comparisons: Vec<FileAnswer>,
    /// Test of all files together, if there are more than two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub all_alike: Option<AndersonDarling>,
}

#[derive(Serialize)]
pub struct FileAnswer {
    pub file: String,
    #[serde(skip)]
    pub letter: char,
    pub verdict: String,
    #[serde(flatten)]
    pub comparison: Comparison,
}

#[derive(Serialize)]
pub struct GateAnswer {
    pub file: String,
    pub series: String,
    /// Whether the interval includes the variation between runs: both files have three runs or more.
    pub between_runs: bool,
    #[serde(flatten)]
    pub judgement: Judgement,
}

impl GateAnswer {
    fn is_tripped(&self) -> bool {
        self.judgement.outcome == GateOutcome::Tripped
    }
}

impl CompareAnswer {
    fn new(
        files: &[LatencyFile],
        sets: &[Set],
        gates: &[Gate],
        seed: u64,
        warnings: &mut Vec<String>,
    ) -> Outcome<CompareAnswer> {
        let series: Vec<SeriesAnswer> = sets.iter().map(|set| SeriesAnswer::new(files, set, seed)).collect();
        let gates = judged(files, sets, gates, seed)?;
        if series.iter().flat_map(|one| &one.comparisons).any(|one| !one.comparison.same_bins) {
            warnings.push(
                "the files have different bins: trials are assumed to be spread evenly over each bin, and \
                 the tests are approximate"
                    .into(),
            );
        }
        warnings.extend(words::outside(&series));
        warnings.extend(words::few_cycles(&series));
        warnings.extend(words::few_runs(&series));
        let undecided = gates.iter().filter(|gate| gate.judgement.outcome == GateOutcome::Undecided);
        warnings.extend(undecided.map(words::gate));
        Ok(CompareAnswer {
            files: files.iter().map(|file| file.name.clone()).collect(),
            verdict: words::verdict_of_all(&series),
            synthetic: files.iter().any(|file| file.measurement.is_synthetic()),
            series,
            gates,
            warnings: std::mem::take(warnings),
        })
    }
}

impl SeriesAnswer {
    fn new(files: &[LatencyFile], set: &Set, seed: u64) -> SeriesAnswer {
        let first = &set.distributions[0];
        let others = set.distributions.iter().zip(files).zip('A'..).skip(1);
        let comparisons = others.map(|((distribution, file), letter)| {
            let comparison = Comparison::new(first, distribution, seed);
            let verdict = words::verdict(letter, &comparison);
            FileAnswer { file: file.name.clone(), letter, verdict, comparison }
        });
        let all: Vec<&Distribution> = set.distributions.iter().collect();
        let all_alike = if all.len() > 2 { compare::all_alike(&all) } else { None };
        SeriesAnswer { series: set.name.clone(), comparisons: comparisons.collect(), all_alike }
    }
}

fn judged(files: &[LatencyFile], sets: &[Set], gates: &[Gate], seed: u64) -> Outcome<Vec<GateAnswer>> {
    let mut list = Vec::new();
    for gate in gates {
        for set in sets {
            for (distribution, file) in set.distributions.iter().zip(files).skip(1) {
                let both = [&set.distributions[0], distribution];
                let judgement = gate.judge(both, seed)?;
                let between_runs = both.iter().all(|one| one.variation.between_runs);
                let (file, series) = (file.name.clone(), set.name.clone());
                list.push(GateAnswer { file, series, between_runs, judgement });
            }
        }
    }
    Ok(list)
}
