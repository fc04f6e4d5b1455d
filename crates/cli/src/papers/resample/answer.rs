//! The result of `resample` as one object.

use crate::kernel::memory::peak_rss_bytes;
use crate::papers::resample::plan::{BUDGET, Case, Plan, Why};
use crate::papers::resample::{Findings, Inputs, Measured};
use serde::Serialize;
use straggler_model::stats::{Summary, chance_distance, distance};
use straggler_model::units::Bytes;
use straggler_sim::resampling::{Distributions, throughput};

#[derive(Debug, Serialize)]
pub struct ResampleAnswer {
    pub times: String,
    pub times_count: usize,
    /// Whether any of the times were drawn from a description, not measured.
    pub synthetic: bool,
    pub noise: String,
    pub seed: u64,
    pub threads: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    pub budget_exchanges: u64,
    /// In the requested order, at least one.
    pub cases: Vec<CaseAnswer>,
    /// None if there is nothing to compare with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub one_to_one: Option<Comparison>,
    /// Number of exchanges in all cases and the comparison.
    pub exchanges: u64,
    pub wall_seconds: f64,
    pub exchanges_per_second: f64,
    pub peak_rss_bytes: Option<u64>,
    pub warnings: Vec<String>,
}

/// One number of processors.
#[derive(Debug, Serialize)]
pub struct CaseAnswer {
    pub processes: u32,
    pub samples: u32,
    /// Whether the limit on exchanges reduced the number of samples.
    pub samples_limited_by_budget: bool,
    pub total_ps: Option<Summary>,
    /// Over all processors and samples.
    pub idle_ps: Option<Summary>,
    pub idle_ps_of_processor_0: Option<Summary>,
    /// Mean idle time over mean total time.
    pub idle_share: f64,
    /// When a processor finishes its last exchange, averaged over processors and samples.
    pub mean_own_ps: f64,
    /// Per processor: (P - 1) · size / its mean own time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throughput_bytes_per_second: Option<f64>,
    /// Of the slowest processor: (P - 1) · size / mean total time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slowest_throughput_bytes_per_second: Option<f64>,
    pub processors: Vec<ProcessorAnswer>,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct ProcessorAnswer {
    pub idle_ps: Option<Summary>,
    /// The share of samples in which it never waits.
    pub never_idle_share: f64,
}

/// Exchanges of two processors, measured and resampled.
#[derive(Debug, Serialize)]
pub struct Comparison {
    pub file: String,
    pub measured_ps: Summary,
    pub resampled_ps: Summary,
    /// The Kolmogorov–Smirnov distance.
    pub distance: f64,
    /// By chance alone, the distance stays below this in 99 of 100 cases.
    pub chance_distance: f64,
}

impl ResampleAnswer {
    pub fn new(plan: &Plan, inputs: &Inputs, findings: Findings) -> ResampleAnswer {
        let noise = inputs.noise.as_ref();
        ResampleAnswer {
            times: plan.times.display().to_string(),
            times_count: inputs.times.len(),
            synthetic: inputs.synthetic,
            noise: noise.map_or_else(|| "no noise".into(), ToString::to_string),
            seed: plan.seed,
            threads: rayon::current_num_threads(),
            size_bytes: inputs.size.map(|Bytes(bytes)| bytes),
            budget_exchanges: BUDGET,
            cases: findings.cases,
            one_to_one: findings.comparison,
            exchanges: findings.exchanges,
            wall_seconds: findings.wall_seconds,
            exchanges_per_second: findings.exchanges as f64 / findings.wall_seconds.max(1e-9),
            peak_rss_bytes: peak_rss_bytes(),
            warnings: inputs.warnings.clone(),
        }
    }

    /// The case with the fewest and the one with the most processors.
    pub fn extremes(&self) -> Option<(&CaseAnswer, &CaseAnswer)> {
        let by_size = |case: &&CaseAnswer| case.processes;
        self.cases.iter().min_by_key(by_size).zip(self.cases.iter().max_by_key(by_size))
    }
}

impl CaseAnswer {
    pub fn new(case: &Case, size: Option<Bytes>, found: &Distributions) -> CaseAnswer {
        let total = Summary::of_sorted(&found.total_ps);
        let processor = |one: &straggler_sim::resampling::Processor| ProcessorAnswer {
            idle_ps: one.idle_ps,
            never_idle_share: one.never_idle,
        };
        let over = |mean_ps: f64| size.map(|Bytes(bytes)| throughput(case.processors, bytes, mean_ps));
        CaseAnswer {
            processes: case.processors,
            samples: case.samples,
            samples_limited_by_budget: case.why == Why::Budget,
            total_ps: total,
            idle_ps: Summary::of_sorted(&found.idle_ps),
            idle_ps_of_processor_0: Summary::of_sorted(&found.first_idle_ps),
            idle_share: found.idle_share(),
            mean_own_ps: found.mean_own_ps,
            throughput_bytes_per_second: over(found.mean_own_ps),
            slowest_throughput_bytes_per_second: total.and_then(|total| over(total.mean)),
            processors: found.processors.iter().map(processor).collect(),
        }
    }

    /// The share of processors, over all samples, without idle time.
    pub fn never_idle(&self) -> f64 {
        let sum: f64 = self.processors.iter().map(|one| one.never_idle_share).sum();
        sum / self.processors.len().max(1) as f64
    }
}

impl Comparison {
    /// Takes sorted times. None if either sample is empty.
    pub fn new(measured: &Measured, resampled: &[u64]) -> Option<Comparison> {
        let Measured { name, times_ps, drawn_from } = measured;
        let other = (!drawn_from).then_some(times_ps.len());
        Some(Comparison {
            file: name.clone(),
            measured_ps: Summary::of_sorted(times_ps)?,
            resampled_ps: Summary::of_sorted(resampled)?,
            distance: distance(times_ps, resampled),
            chance_distance: chance_distance(resampled.len(), other),
        })
    }
}
