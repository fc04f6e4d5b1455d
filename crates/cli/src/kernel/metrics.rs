//! The numbers in results, for limits on them (`--fail-if`) and for Prometheus.

use crate::kernel::prelude::*;
use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};
use straggler_report::numbers::{slowdown, slowdown_interval};

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
