//! The JSON answer of a latency measurement.

use serde::Serialize;
use straggler_model::latency::{Histogram, Labels, Measurement, Outside, Process, Series};
use straggler_model::noise::recording::{Machine, Timer};

#[derive(Debug, Serialize)]
pub struct MeasureLatencyAnswer<'a> {
    pub kernel: &'a str,
    pub finished: bool,
    pub interruptions: &'a [String],
    pub notes: &'a [String],
    pub processes: &'a [Process],
    pub series: Vec<SeriesAnswer<'a>>,
    pub timers: &'a [Timer],
    pub machines: &'a [Machine],
    pub warnings: Vec<String>,
}

#[derive(Debug, Serialize)]
pub struct SeriesAnswer<'a> {
    #[serde(flatten)]
    pub labels: &'a Labels,
    pub count: u64,
    /// Trials shorter than the subtracted timer cost, and trials beyond the last bin.
    pub underflow: u64,
    pub overflow: u64,
    pub min_ps: u64,
    pub max_ps: u64,
    pub mean_ps: f64,
    pub sd_ps: Option<f64>,
    /// Quantiles with at least ten trials beyond them.
    pub quantiles: Vec<QuantileAnswer>,
    pub cycle_minima_ps: Vec<u64>,
    /// The subtracted cost of the timer, and its cost during the run.
    pub timer_subtracted_ps: Option<u64>,
    pub timer_median_ps: Option<u64>,
    pub timer_max_ps: Option<u64>,
}

/// A quantile and its bounds.
#[derive(Debug, Serialize)]
pub struct QuantileAnswer {
    pub quantile: f64,
    pub low_ps: u64,
    pub high_ps: u64,
    /// Its bound if it lies outside the bins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside: Option<Outside>,
}

impl<'a> MeasureLatencyAnswer<'a> {
    pub fn new(measurement: &'a Measurement) -> MeasureLatencyAnswer<'a> {
        MeasureLatencyAnswer {
            kernel: &measurement.kernel,
            finished: measurement.is_finished(),
            interruptions: &measurement.interruptions,
            notes: &measurement.notes,
            processes: &measurement.processes,
            series: measurement.series.iter().map(SeriesAnswer::new).collect(),
            timers: &measurement.timers,
            machines: &measurement.machines,
            warnings: measurement.doubts(),
        }
    }
}

impl<'a> SeriesAnswer<'a> {
    fn new(series: &'a Series) -> SeriesAnswer<'a> {
        let trials = &series.trials;
        let calls = &series.timer.calls;
        SeriesAnswer {
            labels: &series.labels,
            count: trials.count(),
            underflow: trials.underflow(),
            overflow: trials.overflow(),
            min_ps: trials.min().unwrap_or_default().ps(),
            max_ps: trials.max().unwrap_or_default().ps(),
            mean_ps: trials.mean_ps().unwrap_or(0.0),
            sd_ps: trials.variance_ps2().map(f64::sqrt),
            quantiles: QUANTILES
                .iter()
                .filter_map(|&quantile| QuantileAnswer::of(trials, quantile))
                .collect(),
            cycle_minima_ps: series.minima.iter().map(|time| time.ps()).collect(),
            timer_subtracted_ps: series.timer.subtracted.map(|bounds| bounds.low.ps()),
            timer_median_ps: calls.quantile(0.5).map(|bounds| bounds.middle().ps()),
            timer_max_ps: calls.max().map(|time| time.ps()),
        }
    }
}

impl QuantileAnswer {
    fn of(trials: &Histogram, quantile: f64) -> Option<QuantileAnswer> {
        let bounds = trials.quantile(quantile).filter(|_| is_supported(trials.count(), quantile))?;
        let outside = trials.outside(quantile);
        Some(QuantileAnswer { quantile, low_ps: bounds.low.ps(), high_ps: bounds.high.ps(), outside })
    }
}

/// Quantiles reported if there are enough trials.
pub const QUANTILES: [f64; 8] = [0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999, 0.9999999];

/// A quantile with fewer trials beyond it is mostly chance.
const BEYOND: f64 = 10.0;

pub fn is_supported(count: u64, quantile: f64) -> bool {
    // Slightly less, to allow for the rounding of 1 - 0.99.
    count as f64 * (1.0 - quantile) >= BEYOND * (1.0 - 1e-6)
}
