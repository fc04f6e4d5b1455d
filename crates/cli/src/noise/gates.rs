//! Measured noise as metrics.

use crate::kernel::metrics::{Metric, MetricKind, MetricUnit};
use straggler_analysis::noise::Analysis;
use straggler_model::Time;

static OVERHEAD: MetricKind = MetricKind {
    name: "overhead",
    unit: MetricUnit::Ratio,
    help: "Share of the measured time lost to detours, over all cores",
};

static RATE: MetricKind =
    MetricKind { name: "detours_per_second", unit: MetricUnit::Count, help: "Detours per second and core" };

static LONGEST: MetricKind =
    MetricKind { name: "longest", unit: MetricUnit::Seconds, help: "The longest detour" };

static SOURCE: MetricKind = MetricKind {
    name: "source_overhead",
    unit: MetricUnit::Ratio,
    help: "Share of the measured time lost to the detours of a source",
};

pub const KINDS: &[&MetricKind] = &[&OVERHEAD, &RATE, &LONGEST, &SOURCE];

/// The numbers of a noise recording or a noise spec.
#[derive(Debug)]
pub struct NoiseNumbers {
    pub overhead: f64,
    pub interval: Option<[f64; 2]>,
    /// Detours per second on one core; None for noise that happens only once.
    pub rate_hz: Option<f64>,
    pub longest: Time,
    /// Name of each source, and the share of the time it takes.
    pub sources: Vec<(String, f64)>,
}

impl NoiseNumbers {
    /// The numbers of measured noise.
    pub fn new(analysis: &Analysis) -> NoiseNumbers {
        let overhead = &analysis.overhead;
        let seconds = Time(overhead.length_ps).seconds();
        NoiseNumbers {
            overhead: overhead.share,
            interval: overhead.interval.map(|interval| [interval.low, interval.high]),
            rate_hz: (seconds > 0.0).then(|| overhead.detours as f64 / seconds),
            longest: Time(analysis.durations.as_ref().map_or(0, |times| times.summary.max)),
            sources: analysis.sources.iter().map(|source| (source.name.clone(), source.overhead)).collect(),
        }
    }

    pub fn metrics(self) -> Vec<Metric> {
        let mut overhead = Metric::new(&OVERHEAD, self.overhead);
        overhead.interval = self.interval;
        let mut metrics = vec![overhead, Metric::new(&LONGEST, self.longest.seconds())];
        metrics.extend(self.rate_hz.map(|rate| Metric::new(&RATE, rate)));
        let source = |(name, share): (String, f64)| Metric::new(&SOURCE, share).label("source", name);
        metrics.extend(self.sources.into_iter().map(source));
        metrics
    }
}
