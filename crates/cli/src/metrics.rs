//! Results as metrics, for limits (`--fail-if`) and for Prometheus.
//!
//! A command lists its kinds of metrics, so that a limit on any other is rejected before any work, and turns its result
//! into a flat list of metrics. Limits and Prometheus use the same list.

mod judge;
pub mod noise;
pub mod prediction;
mod prometheus;
pub mod slowdown;

pub use judge::{Checked, LimitAnswer, refuse_unknown};

use straggler_model::Time;
use straggler_report::numbers::{counted, grouped, percent, significant, slowdown, slowdown_interval};

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
