//! Metrics of what noise costs, by number of processes.

use super::{Metric, MetricKind, MetricUnit};

pub static SLOWDOWN: MetricKind = MetricKind {
    name: "slowdown",
    unit: MetricUnit::Slowdown,
    help: "T/T0 - 1 of the median makespan, with noise and without",
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
pub const OF_ASSESS: &[&MetricKind] = &[&SLOWDOWN, &INFLECTION, &NOISE_SHARE];

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
