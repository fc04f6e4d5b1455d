//! Results as metrics, for limits (`--fail-if`) and for Prometheus.
//!
//! A command lists its kinds of metrics, so that a limit on any other is rejected before any work, and turns its result
//! into a flat list of metrics. Limits and Prometheus use the same list.

use crate::kernel::checks::ChecksOption;
use crate::kernel::console::Console;
use crate::kernel::exit::{Exit, Failure, Outcome};
use crate::kernel::interrupt;
use crate::kernel::outputs::refuse_missing_folder;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use straggler_analysis::latency::gate::GateOutcome;
use straggler_analysis::limit::{Bound, Limit, Value};
use straggler_model::{Time, spelling};
use straggler_report::numbers::{counted, grouped, percent, significant, slowdown, slowdown_interval};
use straggler_report::replace_file;

/// A kind of number in a command's result.
#[derive(Debug, PartialEq)]
pub struct MetricKind {
    pub name: &'static str,
    pub unit: MetricUnit,
    /// What the metric is: a sentence without its full stop.
    pub help: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MetricUnit {
    /// A share, usually written in percent.
    Ratio,
    /// T/T0 − 1, written as in the tables: in percent, or as the factor T/T0.
    Slowdown,
    Seconds,
    Count,
    Processes,
}

/// One number of a result.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    pub kind: &'static MetricKind,
    pub processes: Option<u32>,
    pub labels: Vec<(&'static str, String)>,
    /// Infinite if nothing was found; the interval then shows how far the search went.
    pub value: f64,
    /// The 95 % confidence interval, if known.
    pub interval: Option<[f64; 2]>,
}

impl Metric {
    pub fn new(kind: &'static MetricKind, value: f64) -> Metric {
        Metric { kind, processes: None, labels: Vec::new(), value, interval: None }
    }

    pub fn on(self, processes: u32) -> Metric {
        Metric { processes: Some(processes), ..self }
    }

    pub fn label(mut self, name: &'static str, value: impl Into<String>) -> Metric {
        self.labels.push((name, value.into()));
        self
    }

    pub fn within(self, low: f64, high: f64) -> Metric {
        Metric { interval: Some([low, high]), ..self }
    }

    /// "slowdown of allreduce on 65,536 processes".
    pub fn name(&self) -> String {
        let labels: Vec<&str> = self.labels.iter().map(|(_, value)| value.as_str()).collect();
        let of = if labels.is_empty() { String::new() } else { format!(" of {}", labels.join(", ")) };
        let on = self.processes.map_or_else(String::new, |on| format!(" on {} processes", grouped(on)));
        format!("{}{of}{on}", self.kind.name)
    }
}

impl MetricUnit {
    pub fn write(self, value: f64) -> String {
        match self {
            MetricUnit::Ratio if value.abs() >= 1.0 => significant(value),
            MetricUnit::Ratio => percent(value),
            MetricUnit::Slowdown => slowdown(value),
            MetricUnit::Seconds => Time((value.max(0.0) * 1e12).round() as u64).to_string(),
            MetricUnit::Count if value.is_finite() => grouped(value.max(0.0) as u64),
            MetricUnit::Processes if value.is_finite() => {
                counted(value.max(0.0) as u64, "process", "processes")
            }
            MetricUnit::Count | MetricUnit::Processes => "none".into(),
        }
    }

    /// The ends of the interval of a value, on its scale.
    pub fn write_interval(self, value: f64, ends: [f64; 2]) -> [String; 2] {
        match self {
            MetricUnit::Slowdown => slowdown_interval(value, ends),
            _ => ends.map(|end| self.write(end)),
        }
    }
}

/// Rejects limits on unknown metrics or in wrong units, and a metrics file in a missing folder.
pub fn refuse_unknown(checks: &ChecksOption, kinds: &[&'static MetricKind]) -> Outcome<()> {
    for limit in &checks.limits.fail_if {
        let kind = kinds.iter().find(|kind| kind.name == limit.metric);
        let kind = kind.ok_or_else(|| no_metric(limit, kinds.iter().map(|kind| kind.name)))?;
        let bound = limit.bound().map_err(|fault| refused(limit, fault))?;
        number(&bound, kind).map_err(|fault| refused(limit, fault))?;
    }
    checks.prometheus.iter().try_for_each(|path| refuse_missing_folder(path))
}

/// A limit that makes no sense.
pub fn refused(limit: &Limit, fault: impl Display) -> Failure {
    Failure::usage(format!("--fail-if {limit}: {fault}"))
}

/// A limit on a metric that the command does not have.
pub fn no_metric(limit: &Limit, known: impl Iterator<Item = &'static str> + Clone) -> Failure {
    let hint = spelling::hint(spelling::nearest(&limit.metric, known.clone()));
    let all: Vec<&str> = known.collect();
    let name = &limit.metric;
    refused(limit, format!("no metric `{name}`; the metrics of this command are {}{hint}", all.join(", ")))
}

/// The limit in the unit of a metric.
fn number(bound: &Bound, kind: &MetricKind) -> Result<f64, String> {
    let name = kind.name;
    match (kind.unit, bound.value) {
        (MetricUnit::Slowdown, Value::Percent(percent)) => Ok(bound.signed(percent / 100.0)),
        (MetricUnit::Slowdown, Value::Factor(factor)) => Ok(factor - 1.0),
        (MetricUnit::Slowdown, Value::Plain(number)) if bound.sign.is_none() => Err(two_readings(number)),
        (MetricUnit::Slowdown, _) => Err(format!("`{name}` is a slowdown: give the limit as 50% or 1.5x")),
        _ if bound.sign.is_some() => {
            Err(format!("`{name}` is compared with no other file: give the limit without a sign"))
        }
        (MetricUnit::Ratio, Value::Plain(number)) => Ok(number),
        (MetricUnit::Ratio, Value::Percent(percent)) => Ok(percent / 100.0),
        (MetricUnit::Ratio, _) => Err(format!("`{name}` is a ratio: give the limit as 0.1 or 10%")),
        (MetricUnit::Seconds, Value::Time(time)) => Ok(time.seconds()),
        (MetricUnit::Seconds, _) => {
            Err(format!("`{name}` is a time: give the limit a unit, as in 50us or 2s"))
        }
        (MetricUnit::Count | MetricUnit::Processes, Value::Plain(number)) => Ok(number),
        (MetricUnit::Count | MetricUnit::Processes, _) => {
            Err(format!("`{name}` is a number: give the limit as a number"))
        }
    }
}

/// A slowdown without a unit is T/T0 − 1 to some, and T/T0 to others.
fn two_readings(number: f64) -> String {
    // Rounded, so that 0.07 is 7 % and not 7.000000000000001 %.
    let percent = (number * 1e10).round() / 1e8;
    let times = if number == 2.0 { "twice".into() } else { format!("{number} times") };
    format!("{number} could be {percent} % longer or {times} as long: write {percent}% or {number}x")
}

/// The outcome of a limit on one metric.
#[derive(Clone, Debug, Serialize)]
pub struct LimitAnswer {
    limit: String,
    metric: String,
    /// None if nothing was found.
    value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    interval: Option<[Option<f64>; 2]>,
    outcome: GateOutcome,
    #[serde(skip)]
    says: String,
}

/// Judged limits, and the metrics to write.
#[derive(Debug)]
pub struct Checked {
    pub limits: Vec<LimitAnswer>,
    metrics: Vec<Metric>,
    file: Option<PathBuf>,
}

impl Checked {
    /// Judges all limits. A limit that matches no metric is an error: it would always pass.
    pub fn new(checks: &ChecksOption, metrics: Vec<Metric>) -> Outcome<Checked> {
        let mut limits = Vec::new();
        for limit in &checks.limits.fail_if {
            let about: Vec<&Metric> = metrics.iter().filter(|metric| is_about(limit, metric)).collect();
            if about.is_empty() {
                return Err(unjudged(limit, &metrics));
            }
            limits.extend(about.into_iter().map(|metric| judge(limit, metric)));
        }
        Ok(Checked { limits, metrics, file: checks.prometheus.clone() })
    }

    /// Writes the metrics, warns of undecided limits, and fails if a limit is exceeded. Must be called last, when
    /// everything else is written.
    pub fn finish(self, console: &Console) -> Outcome<()> {
        if let Some(path) = &self.file {
            write(path, &self.metrics)?;
            console.note(&format!("Wrote metrics to {}", path.display()));
        }
        let of = |outcome| self.limits.iter().filter(move |limit| limit.outcome == outcome);
        of(GateOutcome::Undecided).for_each(|limit| console.warn(&limit.says));
        for limit in self.kept() {
            let verdict = verdict(!limit.contains('<'), GateOutcome::Passed);
            console.note(&format!("--fail-if {limit}: {verdict}"));
        }
        let tripped: Vec<&str> = of(GateOutcome::Tripped).map(|limit| limit.says.as_str()).collect();
        match tripped.as_slice() {
            [] => Ok(()),
            all => Err(Failure::new(Exit::CheckFailed, anyhow::Error::msg(all.join("\n")))),
        }
    }
}

impl Checked {
    /// Limits that all their metrics passed.
    fn kept(&self) -> Vec<&str> {
        let mut all: Vec<&str> = self.limits.iter().map(|limit| limit.limit.as_str()).collect();
        all.dedup();
        let passed = |limit: &LimitAnswer| limit.outcome == GateOutcome::Passed;
        all.retain(|&one| self.limits.iter().filter(|limit| limit.limit == one).all(passed));
        all
    }
}

fn is_above(limit: &Limit) -> bool {
    limit.bound.is_none_or(|bound| bound.above)
}

fn is_about(limit: &Limit, metric: &Metric) -> bool {
    metric.kind.name == limit.metric
        && limit.processes.is_none_or(|processes| metric.processes == Some(processes))
        && limit.label.as_deref().is_none_or(|text| is_labelled(metric, text))
}

fn is_labelled(metric: &Metric, text: &str) -> bool {
    metric.labels.iter().any(|(_, value)| value.contains(text))
}

fn unjudged(limit: &Limit, metrics: &[Metric]) -> Failure {
    let all: Vec<&Metric> = metrics.iter().filter(|metric| metric.kind.name == limit.metric).collect();
    let unknown = limit.label.as_deref().filter(|text| !all.iter().any(|metric| is_labelled(metric, text)));
    let fits = |metric: &&&Metric| limit.label.as_deref().is_none_or(|text| is_labelled(metric, text));
    let mut processes: Vec<u32> = all.iter().filter(fits).filter_map(|metric| metric.processes).collect();
    processes.sort_unstable();
    processes.dedup();
    let advice = match unknown {
        _ if all.is_empty() => "the result has no such metric".into(),
        Some(text) => no_label(text, &all),
        None if processes.is_empty() => "remove @: the metric is not given by number of processes".into(),
        None => {
            let there: Vec<String> = processes.into_iter().map(grouped).collect();
            format!("there are results for {} processes", there.join(", "))
        }
    };
    Failure::bad_input(format!("--fail-if {limit} cannot be checked: {advice}"))
}

/// "no workload `barier`; the workloads are allreduce, barrier; did you mean `barrier`?"
fn no_label(text: &str, metrics: &[&Metric]) -> String {
    let Some((noun, _)) = metrics.iter().find_map(|metric| metric.labels.first()) else {
        return "remove []: the metric has no labels".into();
    };
    let mut known: Vec<&str> =
        metrics.iter().flat_map(|metric| &metric.labels).map(|(_, value)| value.as_str()).collect();
    known.sort_unstable();
    known.dedup();
    let hint = spelling::hint(spelling::nearest(text, known.iter().copied()));
    format!("no {noun} `{text}`; the {noun}s are {}{hint}", known.join(", "))
}

fn judge(limit: &Limit, metric: &Metric) -> LimitAnswer {
    // Units were checked before the work, in `refuse_unknown`.
    let bound = limit.bound.and_then(|bound| number(&bound, metric.kind).ok()).unwrap_or(f64::NAN);
    let beyond = |value: f64| if is_above(limit) { value > bound } else { value < bound };
    let [low, high] = metric.interval.unwrap_or([metric.value; 2]);
    let outcome = match [low, high, metric.value].map(beyond) {
        [true, true, _] => GateOutcome::Tripped,
        [false, false, false] => GateOutcome::Passed,
        // Not if the value is infinite: nothing was found, but it may lie beyond the end of the search.
        [_, _, false] if metric.value.is_finite() => GateOutcome::Passed,
        _ => GateOutcome::Undecided,
    };
    let finite = |value: f64| value.is_finite().then_some(value);
    LimitAnswer {
        limit: limit.to_string(),
        metric: metric.name(),
        value: finite(metric.value),
        interval: metric.interval.map(|ends| ends.map(finite)),
        outcome,
        says: sentence(limit, metric, outcome),
    }
}

/// "--fail-if slowdown@65536>2x: limit exceeded, slowdown of allreduce on 65,536 processes is 4.10× (95 % interval 3.90×
/// to 4.30×)".
fn sentence(limit: &Limit, metric: &Metric, outcome: GateOutcome) -> String {
    let unit = metric.kind.unit;
    let value = match (metric.value.is_finite(), metric.interval) {
        (false, Some([searched, _])) => format!("not found up to {}", unit.write(searched)),
        (_, Some(ends)) => {
            let [low, high] = unit.write_interval(metric.value, ends);
            format!("{} (95 % interval {low} to {high})", unit.write(metric.value))
        }
        _ => unit.write(metric.value),
    };
    let verdict = verdict(is_above(limit), outcome);
    format!("--fail-if {limit}: {verdict}, {} is {value}", metric.name())
}

/// A value below a limit does not exceed it.
fn verdict(above: bool, outcome: GateOutcome) -> &'static str {
    match (outcome, above) {
        (GateOutcome::Tripped, true) => "limit exceeded",
        (GateOutcome::Tripped, false) => "condition met",
        (GateOutcome::Passed, true) => "limit not exceeded",
        (GateOutcome::Passed, false) => "condition not met",
        (GateOutcome::Undecided, _) => "undecided",
    }
}

/// Writes the metrics atomically: the collector may read them at any moment.
pub fn write(path: &Path, metrics: &[Metric]) -> Outcome<()> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
    let text = text(metrics, now);
    interrupt::or_interrupted(replace_file(path, |out| out.write_all(text.as_bytes())))
}

/// One metric family: its help text and its samples, in the order in which they were added.
#[derive(Default)]
struct Family {
    help: String,
    samples: Vec<(Labels, f64)>,
}

/// Sorted by name, as Prometheus prints them.
type Labels = BTreeMap<&'static str, String>;

fn text(metrics: &[Metric], now: f64) -> String {
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    let mut add = |name: String, help: String, labels: Labels, value: f64| {
        let family = families.entry(name).or_insert_with(|| Family { help, samples: Vec::new() });
        // Of several values with the same labels, the last counts.
        family.samples.retain(|(there, _)| *there != labels);
        family.samples.push((labels, value));
    };
    for metric in metrics.iter().filter(|metric| metric.value.is_finite()) {
        let mut labels: Labels = metric.labels.iter().cloned().collect();
        labels.extend(metric.processes.map(|processes| ("processes", processes.to_string())));
        let help = metric.kind.help;
        let name = |part: &str| format!("straggler_{}{part}{}", metric.kind.name, suffix(metric.kind.unit));
        add(name(""), help.to_string(), labels.clone(), metric.value);
        let finite = metric.interval.filter(|ends| ends.iter().all(|end| end.is_finite()));
        if let Some([low, high]) = finite {
            for (part, end, value) in [("_low", "lower", low), ("_high", "upper", high)] {
                let help = format!("{help}: {end} end of its 95 % interval");
                add(name(part), help, labels.clone(), value);
            }
        }
    }
    let help = "When these metrics were written, in seconds since 1970";
    add("straggler_written_timestamp_seconds".to_string(), help.to_string(), Labels::new(), now);
    families.iter().map(|(name, family)| family.text(name)).collect()
}

impl Family {
    fn text(&self, name: &str) -> String {
        let help = self.help.replace('\\', r"\\").replace('\n', r"\n");
        let mut text = format!("# HELP {name} {help}\n# TYPE {name} gauge\n");
        for (labels, value) in &self.samples {
            let labels: Vec<String> =
                labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escaped(value))).collect();
            let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
            text.push_str(&format!("{name}{labels} {value}\n"));
        }
        text
    }
}

/// A label's value, as it stands between quotes.
fn escaped(value: &str) -> String {
    value.replace('\\', r"\\").replace('"', r#"\""#).replace('\n', r"\n")
}

/// Metric names in Prometheus end with their unit.
fn suffix(unit: MetricUnit) -> &'static str {
    match unit {
        MetricUnit::Ratio | MetricUnit::Slowdown => "_ratio",
        MetricUnit::Seconds => "_seconds",
        MetricUnit::Count | MetricUnit::Processes => "",
    }
}

pub static SLOWDOWN: MetricKind = MetricKind {
    name: "slowdown",
    unit: MetricUnit::Slowdown,
    help: "T/T0 - 1 of the median makespan, with noise and without",
};

pub static PROGRAM_SLOWDOWN: MetricKind = MetricKind {
    name: "program_slowdown",
    unit: MetricUnit::Slowdown,
    help: "Mean T/T0 - 1 of a program that synchronises all its processes at an interval",
};

pub static INFLECTION: MetricKind = MetricKind {
    name: "inflection",
    unit: MetricUnit::Processes,
    help: "Smallest number of processes at which noise costs more than the threshold",
};

pub static NOISE_SHARE: MetricKind =
    MetricKind { name: "noise_share", unit: MetricUnit::Ratio, help: "Share of the time lost to noise" };

pub static MAKESPAN: MetricKind = MetricKind {
    name: "makespan",
    unit: MetricUnit::Seconds,
    help: "Simulated run time; with several replicas, their median",
};

/// Metrics of assessments.
pub const OF_ASSESS: &[&MetricKind] = &[&PROGRAM_SLOWDOWN, &SLOWDOWN, &INFLECTION, &NOISE_SHARE];

/// Metrics of studies.
pub const OF_STUDY: &[&MetricKind] = &[&SLOWDOWN, &INFLECTION];

/// Metrics of simulations.
pub const OF_SIMULATE: &[&MetricKind] = &[&MAKESPAN, &SLOWDOWN];

/// The slowdown of an operation or a series.
pub fn metric(name: &str, processes: u32, median: f64) -> Metric {
    Metric::new(&SLOWDOWN, median).label("workload", name).on(processes)
}

/// The scale from which noise dominates; infinite above the largest searched scale if not found.
pub fn inflection(name: &str, found: Option<u32>, searched: u32) -> Metric {
    let metric = match found {
        Some(processes) => Metric::new(&INFLECTION, processes.into()),
        None => Metric::new(&INFLECTION, f64::INFINITY).within(searched.into(), f64::INFINITY),
    };
    metric.label("workload", name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::checks::LimitsOption;
    use GateOutcome::{Passed, Tripped, Undecided};

    fn checks(limit: &str) -> ChecksOption {
        let limits = LimitsOption { fail_if: vec![limit.parse().unwrap()] };
        ChecksOption { limits, prometheus: None }
    }

    fn outcomes(limit: &str, metrics: Vec<Metric>) -> Vec<GateOutcome> {
        Checked::new(&checks(limit), metrics).unwrap().limits.iter().map(|limit| limit.outcome).collect()
    }

    fn slowdowns() -> Vec<Metric> {
        [("allreduce", 1024, 0.5), ("allreduce", 65_536, 3.0), ("barrier", 65_536, 1.9)]
            .map(|(name, processes, value)| {
                Metric::new(&SLOWDOWN, value)
                    .label("operation", name)
                    .on(processes)
                    .within(value - 0.5, value + 0.5)
            })
            .to_vec()
    }

    #[test]
    fn the_whole_interval_must_be_beyond_the_limit() {
        assert_eq!(outcomes("slowdown@65536>200%", slowdowns()), [Tripped, Passed]);
        assert_eq!(outcomes("slowdown[barrier]>2.5x", slowdowns()), [Undecided]);
        assert_eq!(outcomes("slowdown>400%", slowdowns()), [Passed; 3]);
        assert_eq!(outcomes("slowdown[allreduce]@1024<+150%", slowdowns()), [Tripped]);
        // T/T0 = 3 is a slowdown of 2.
        assert_eq!(outcomes("slowdown@65536>3x", slowdowns()), [Tripped, Passed]);
    }

    #[test]
    fn verdicts_have_the_scale_of_the_tables() {
        let says = |limit: &str, metric: Metric| {
            Checked::new(&checks(limit), vec![metric]).unwrap().limits[0].says.clone()
        };
        let slow = || Metric::new(&SLOWDOWN, 70.2).within(5.74, 153.0);
        let text = says("slowdown>2x", slow());
        assert!(text.ends_with("limit exceeded, slowdown is 71.2× (95 % interval 6.74× to 154×)"), "{text}");
        let text = says("inflection<4096", Metric::new(&INFLECTION, 256.0));
        assert!(text.ends_with("condition met, inflection is 256 processes"), "{text}");
    }

    #[test]
    fn what_was_not_found_lies_beyond_what_was_searched() {
        let none = || vec![Metric::new(&INFLECTION, f64::INFINITY).within(4096.0, f64::INFINITY)];
        assert_eq!(outcomes("inflection<1024", none()), [Passed]);
        assert_eq!(outcomes("inflection<4096", none()), [Passed]);
        assert_eq!(outcomes("inflection<65536", none()), [Undecided]);
        assert_eq!(outcomes("inflection>65536", none()), [Undecided]);
    }

    #[test]
    fn limits_on_nothing_are_refused() {
        let failure = Checked::new(&checks("slowdown@2048>2x"), slowdowns()).unwrap_err();
        assert_eq!(failure.exit, Exit::BadInput);
        assert!(failure.error.to_string().contains("1,024, 65,536"), "{}", failure.error);
        let failure = Checked::new(&checks("slowdown[barier]@65536>2x"), slowdowns()).unwrap_err();
        let expected =
            "no operation `barier`; the operations are allreduce, barrier; did you mean `barrier`?";
        assert!(failure.error.to_string().ends_with(expected), "{}", failure.error);
        let failure = Checked::new(&checks("slowdown[barrier]@1024>2x"), slowdowns()).unwrap_err();
        assert!(failure.error.to_string().ends_with("results for 65,536 processes"), "{}", failure.error);
        let failure = refuse_unknown(&checks("slowdwon>2"), &[&SLOWDOWN]).unwrap_err();
        assert!(failure.error.to_string().contains("did you mean `slowdown`"), "{}", failure.error);
        for limit in ["slowdown>2x", "slowdown<-5%", "slowdown>+5%", "noise_share>0.1", "inflection<4096"] {
            assert!(refuse_unknown(&checks(limit), OF_ASSESS).is_ok(), "{limit}");
        }
        for (limit, says) in [
            ("slowdown", "there is no > or <"),
            ("slowdown>2us", "is a slowdown"),
            ("slowdown<-2", "give the limit as 50% or 1.5x"),
            ("slowdown>2", "2 could be 200 % longer or twice as long: write 200% or 2x"),
            ("slowdown>0.07", "0.07 could be 7 % longer or 0.07 times as long: write 7% or 0.07x"),
            ("noise_share>2x", "is a ratio"),
            ("noise_share>+2%", "compared with no other file"),
            ("inflection>2%", "is a number"),
        ] {
            let error = refuse_unknown(&checks(limit), OF_ASSESS).unwrap_err().error.to_string();
            assert!(error.starts_with(&format!("--fail-if {limit}: ")) && error.contains(says), "{error}");
        }
    }

    #[test]
    fn the_text_is_what_the_collector_reads() {
        let slowdown = Metric::new(&SLOWDOWN, 0.25).label("operation", "a \"b\"\\").on(64).within(0.2, 0.5);
        let none = Metric::new(&INFLECTION, f64::INFINITY).within(64.0, f64::INFINITY);
        let text = text(&[slowdown, none], 1.5);
        for line in [
            "# HELP straggler_slowdown_ratio T/T0 - 1 of the median makespan, with noise and without",
            "# TYPE straggler_slowdown_ratio gauge",
            "straggler_slowdown_ratio{operation=\"a \\\"b\\\"\\\\\",processes=\"64\"} 0.25",
            "straggler_slowdown_low_ratio{operation=\"a \\\"b\\\"\\\\\",processes=\"64\"} 0.2",
            "straggler_slowdown_high_ratio{operation=\"a \\\"b\\\"\\\\\",processes=\"64\"} 0.5",
            "straggler_written_timestamp_seconds 1.5",
        ] {
            assert!(text.lines().any(|there| there == line), "{line} is not in\n{text}");
        }
        assert!(!text.contains("inflection"), "{text}");
    }
}
