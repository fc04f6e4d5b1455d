//! Results, as single samples and as distributions.

use rayon::prelude::*;
use straggler_model::stats::{Summary, mean};

/// Every sample of one number of processors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Samples {
    processors: u32,
    total_ps: Vec<u64>,
    /// When a processor has finished its last exchange, averaged over processors, for each sample.
    own_ps: Vec<u64>,
    /// A row for each sample, a column for each processor.
    idle_ps: Vec<u64>,
}

impl Samples {
    pub(super) fn new(processors: u32, samples: u32) -> Samples {
        let (width, height) = (processors as usize, samples as usize);
        let (total_ps, own_ps) = (vec![0; height], vec![0; height]);
        Samples { processors, total_ps, own_ps, idle_ps: vec![0; width * height] }
    }

    /// Total, own and idle times.
    pub(super) fn rows(&mut self) -> (&mut [u64], &mut [u64], &mut [u64]) {
        (&mut self.total_ps, &mut self.own_ps, &mut self.idle_ps)
    }

    pub fn processors(&self) -> u32 {
        self.processors
    }

    /// The total time of each sample.
    pub fn total_ps(&self) -> &[u64] {
        &self.total_ps
    }

    /// When a processor has finished its last exchange, averaged over processors, for each sample.
    pub fn own_ps(&self) -> &[u64] {
        &self.own_ps
    }

    /// The idle times of all processors, sample by sample.
    pub fn idle_ps(&self) -> impl ExactSizeIterator<Item = &[u64]> {
        self.idle_ps.chunks_exact(self.processors.max(1) as usize)
    }

    /// Sorts the samples into distributions.
    pub fn into_distributions(mut self) -> Distributions {
        let processors = self.each_processor();
        let mut first_idle_ps: Vec<u64> = self.idle_ps().filter_map(|row| row.first().copied()).collect();
        first_idle_ps.par_sort_unstable();
        self.total_ps.par_sort_unstable();
        self.idle_ps.par_sort_unstable();
        let mean_own_ps = mean(&self.own_ps).unwrap_or(0.0);
        Distributions {
            processors,
            total_ps: self.total_ps,
            mean_own_ps,
            idle_ps: self.idle_ps,
            first_idle_ps,
        }
    }

    fn each_processor(&self) -> Vec<Processor> {
        let width = self.processors as usize;
        let of_one = |processor: usize| {
            let mut idle: Vec<u64> =
                self.idle_ps.iter().skip(processor).step_by(width.max(1)).copied().collect();
            idle.sort_unstable();
            let never = idle.partition_point(|&idle| idle == 0);
            Processor {
                idle_ps: Summary::of_sorted(&idle),
                never_idle: never as f64 / idle.len().max(1) as f64,
            }
        };
        (0..width).into_par_iter().map(of_one).collect()
    }
}

/// How long one processor waits for its partners.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Processor {
    /// Over all samples.
    pub idle_ps: Option<Summary>,
    /// The share of samples in which it does not wait at all.
    #[serde(rename = "never_idle_share")]
    pub never_idle: f64,
}

/// Sorted samples; which values belong to the same sample is not kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Distributions {
    pub processors: Vec<Processor>,
    /// The totals of all samples.
    pub total_ps: Vec<u64>,
    /// When a processor has finished its last exchange, averaged over processors and samples.
    pub mean_own_ps: f64,
    /// The idle times of all processors in all samples.
    pub idle_ps: Vec<u64>,
    /// The idle times of processor 0 in all samples: figures 5 and 6 of the paper.
    pub first_idle_ps: Vec<u64>,
}

impl Distributions {
    /// The mean idle time of a processor as a share of the mean total time.
    pub fn idle_share(&self) -> f64 {
        match (mean(&self.idle_ps), mean(&self.total_ps)) {
            (Some(idle), Some(total)) if total > 0.0 => idle / total,
            _ => 0.0,
        }
    }
}

/// Bytes per second that a processor sends (and receives) when it exchanges `bytes` with each of the others in
/// `mean_ps`: (P - 1) · bytes / time. With the own time this is the throughput of a given processor, as in table 1 of
/// the paper; with the total time, that of the slowest.
pub fn throughput(processors: u32, bytes: u64, mean_ps: f64) -> f64 {
    let sent = f64::from(processors.saturating_sub(1)) * bytes as f64;
    if mean_ps > 0.0 { sent / (mean_ps * 1e-12) } else { 0.0 }
}
