//! Predictions as metrics.

use super::{MetricKind, MetricUnit};

pub static ERROR: MetricKind = MetricKind {
    name: "error",
    unit: MetricUnit::Ratio,
    help: "Absolute error of the prediction relative to the trace",
};
pub static PREDICTED: MetricKind =
    MetricKind { name: "predicted", unit: MetricUnit::Seconds, help: "Predicted run time of the program" };
pub static TRACED: MetricKind =
    MetricKind { name: "traced", unit: MetricUnit::Seconds, help: "Traced run time of the program" };

pub const KINDS: &[&MetricKind] = &[&ERROR, &PREDICTED, &TRACED];
