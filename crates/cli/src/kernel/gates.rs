//! Limits on the metrics of a result (`--fail-if`), as typed and judged, and metrics written for Prometheus.
//!
//! A command lists its kinds of metrics, so that a limit on any other is rejected before any work, and turns its result
//! into a flat list of metrics. Limits and Prometheus use the same list; only `latency compare` and `noise compare` have
//! conditions of their own.

use crate::kernel::metrics::{self, Metric, MetricKind, MetricUnit};
use crate::kernel::prelude::*;
use crate::kernel::typed::path;
use std::fmt::Display;
use straggler_analysis::latency::gate::GateOutcome;
use straggler_analysis::limit::{Bound, Limit, Value};
use straggler_model::spelling;

/// What a limit is, for the `--help` of every command with `--fail-if`.
macro_rules! limits_help {
    () => {
        "\
LIMITS   METRIC[LABEL]@PROCESSES, > or <, and a number, a percentage (50%), a
         factor (1.5x) or a time (50us). [LABEL] and @PROCESSES are optional.
         With a sign (+5%, +1us) a limit is relative to the first file, where a
         command compares files. A metric that is true or false has no limit.
         The exit code is 5 if the whole 95 % interval, where there is one, is
         beyond the limit. If only the value is, a warning says so"
    };
}
pub(crate) use limits_help;

/// When a result counts as failed.
#[derive(Clone, Debug, Default, Args)]
pub struct LimitsOption {
    /// Exit with code 5 if a metric of the result is beyond a limit, as in 'METRIC>LIMIT'; METRICS and LIMITS below say
    /// what to write; repeatable
    #[arg(long, value_name = "CONDITION", help_heading = "Monitoring")]
    pub fail_if: Vec<Limit>,
}

/// What to do with the metrics of a result besides printing them.
#[derive(Clone, Debug, Default, Args)]
pub struct ChecksOption {
    #[command(flatten)]
    pub limits: LimitsOption,
    /// Also write the metrics in the Prometheus text format, for the textfile collector of node_exporter
    #[arg(long, value_name = "FILE.prom", help_heading = "Monitoring", value_parser = path(prom_name))]
    pub prometheus: Option<PathBuf>,
}

impl ChecksOption {
    pub fn is_given(&self) -> bool {
        !self.limits.fail_if.is_empty() || self.prometheus.is_some()
    }
}

/// The textfile collector reads only files with this extension.
fn prom_name(path: PathBuf) -> Result<PathBuf, String> {
    match path.extension().is_some_and(|end| end == "prom") {
        true => Ok(path),
        false => Err("node_exporter reads only files that end in .prom: use such a name".into()),
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
            metrics::write(path, &self.metrics)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::metrics::{INFLECTION, OF_ASSESS, SLOWDOWN};
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
}
