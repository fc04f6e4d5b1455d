//! Checks results against their limits.

use super::{Metric, MetricKind, MetricUnit, prometheus};
use crate::args::checks::{ChecksOption, Limit, LimitValue};
use crate::console::Console;
use crate::exit::{Exit, Failure, Outcome};
use crate::places::refuse_missing_folder;
use serde::Serialize;
use std::path::PathBuf;
use straggler_analysis::latency::gate::GateOutcome;
use straggler_model::spelling;
use straggler_report::numbers::grouped;

/// Rejects limits on unknown metrics or in wrong units, and a metrics file in a missing folder.
pub fn refuse_unknown(checks: &ChecksOption, kinds: &[&'static MetricKind]) -> Outcome<()> {
    for limit in &checks.fail_if {
        let names = || kinds.iter().map(|kind| kind.name);
        let Some(kind) = kinds.iter().find(|kind| kind.name == limit.metric) else {
            let hint = spelling::hint(spelling::nearest(&limit.metric, names()));
            let all: Vec<&str> = names().collect();
            return Err(Failure::usage(format!(
                "--fail-if {limit}: no metric `{}`; the metrics of this command are {}{hint}",
                limit.metric,
                all.join(", ")
            )));
        };
        number(limit, kind.unit).map_err(|want| Failure::usage(format!("--fail-if {limit}: {want}")))?;
    }
    checks.prometheus.iter().try_for_each(|path| refuse_missing_folder(path))
}

/// The limit in the unit of a metric.
fn number(limit: &Limit, unit: MetricUnit) -> Result<f64, String> {
    let name = &limit.metric;
    match (unit, limit.value) {
        (MetricUnit::Ratio | MetricUnit::Slowdown, LimitValue::Plain(value) | LimitValue::Percent(value)) => {
            Ok(value)
        }
        (MetricUnit::Slowdown, LimitValue::Factor(factor)) => Ok(factor - 1.0),
        (MetricUnit::Slowdown, LimitValue::Time(_)) => {
            Err(format!("`{name}` is a slowdown: give the limit as 50%, 0.5 or 1.5x"))
        }
        (MetricUnit::Ratio, _) => Err(format!("`{name}` is a ratio: give the limit as 0.1 or 10%")),
        (MetricUnit::Seconds, LimitValue::Time(time)) => Ok(time.seconds()),
        (MetricUnit::Seconds, _) => {
            Err(format!("`{name}` is a time: give the limit a unit, as in 50us or 2s"))
        }
        (MetricUnit::Count | MetricUnit::Processes, LimitValue::Plain(value)) => Ok(value),
        (MetricUnit::Count | MetricUnit::Processes, _) => {
            Err(format!("`{name}` is a number: give the limit as a number"))
        }
    }
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
    pub fn of(checks: &ChecksOption, metrics: Vec<Metric>) -> Outcome<Checked> {
        let mut limits = Vec::new();
        for limit in &checks.fail_if {
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
            prometheus::write(path, &self.metrics)?;
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
    let unit = metric.kind.unit;
    // Units were checked before the work, in `refuse_unknown`.
    let bound = number(limit, unit).unwrap_or(f64::NAN);
    let beyond = |value: f64| if limit.above { value > bound } else { value < bound };
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
        says: say(limit, metric, outcome),
    }
}

/// "--fail-if slowdown@65536>2x: limit exceeded, slowdown of allreduce on 65,536 processes is 4.10× (95 % interval 3.90×
/// to 4.30×)".
fn say(limit: &Limit, metric: &Metric, outcome: GateOutcome) -> String {
    let unit = metric.kind.unit;
    let value = match (metric.value.is_finite(), metric.interval) {
        (false, Some([searched, _])) => format!("not found up to {}", unit.write(searched)),
        (_, Some(ends)) => {
            let [low, high] = unit.write_interval(metric.value, ends);
            format!("{} (95 % interval {low} to {high})", unit.write(metric.value))
        }
        _ => unit.write(metric.value),
    };
    let verdict = verdict(limit.above, outcome);
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
    use super::super::slowdown::{INFLECTION, NOISE_SHARE, SLOWDOWN};
    use super::*;

    fn checks(limit: &str) -> ChecksOption {
        ChecksOption { fail_if: vec![limit.parse().unwrap()], prometheus: None }
    }

    fn outcomes(limit: &str, metrics: Vec<Metric>) -> Vec<GateOutcome> {
        Checked::of(&checks(limit), metrics).unwrap().limits.iter().map(|limit| limit.outcome).collect()
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
        use GateOutcome::{Passed, Tripped, Undecided};
        assert_eq!(outcomes("slowdown@65536>2", slowdowns()), [Tripped, Passed]);
        assert_eq!(outcomes("slowdown[barrier]>1.5", slowdowns()), [Undecided]);
        assert_eq!(outcomes("slowdown>400%", slowdowns()), [Passed; 3]);
        assert_eq!(outcomes("slowdown[allreduce]@1024<1.5", slowdowns()), [Tripped]);
        // T/T0 = 3 is a slowdown of 2.
        assert_eq!(outcomes("slowdown@65536>3x", slowdowns()), [Tripped, Passed]);
    }

    #[test]
    fn verdicts_have_the_scale_of_the_tables() {
        let says = |limit: &str, metric: Metric| {
            Checked::of(&checks(limit), vec![metric]).unwrap().limits[0].says.clone()
        };
        let slow = || Metric::new(&SLOWDOWN, 70.2).within(5.74, 153.0);
        let text = says("slowdown>2x", slow());
        assert!(text.ends_with("limit exceeded, slowdown is 71.2× (95 % interval 6.74× to 154×)"), "{text}");
        let text = says("inflection<4096", Metric::new(&INFLECTION, 256.0));
        assert!(text.ends_with("condition met, inflection is 256 processes"), "{text}");
    }

    #[test]
    fn what_was_not_found_lies_beyond_what_was_searched() {
        use GateOutcome::{Passed, Undecided};
        let none = || vec![Metric::new(&INFLECTION, f64::INFINITY).within(4096.0, f64::INFINITY)];
        assert_eq!(outcomes("inflection<1024", none()), [Passed]);
        assert_eq!(outcomes("inflection<4096", none()), [Passed]);
        assert_eq!(outcomes("inflection<65536", none()), [Undecided]);
        assert_eq!(outcomes("inflection>65536", none()), [Undecided]);
    }

    #[test]
    fn limits_on_nothing_are_refused() {
        let failure = Checked::of(&checks("slowdown@2048>2"), slowdowns()).unwrap_err();
        assert_eq!(failure.exit, Exit::BadInput);
        assert!(failure.error.to_string().contains("1,024, 65,536"), "{}", failure.error);
        let failure = Checked::of(&checks("slowdown[barier]@65536>2"), slowdowns()).unwrap_err();
        let expected =
            "no operation `barier`; the operations are allreduce, barrier; did you mean `barrier`?";
        assert!(failure.error.to_string().ends_with(expected), "{}", failure.error);
        let failure = Checked::of(&checks("slowdown[barrier]@1024>2"), slowdowns()).unwrap_err();
        assert!(failure.error.to_string().ends_with("results for 65,536 processes"), "{}", failure.error);
        let failure = refuse_unknown(&checks("slowdwon>2"), &[&SLOWDOWN]).unwrap_err();
        assert!(failure.error.to_string().contains("did you mean `slowdown`"), "{}", failure.error);
        assert!(refuse_unknown(&checks("slowdown>2us"), &[&SLOWDOWN]).is_err());
        assert!(refuse_unknown(&checks("slowdown>2x"), &[&SLOWDOWN]).is_ok());
        assert!(refuse_unknown(&checks("noise_share>2x"), &[&NOISE_SHARE]).is_err());
        assert!(refuse_unknown(&checks("inflection>2%"), &[&INFLECTION]).is_err());
    }
}
