//! What is known of workers and kinds, before anything is replayed.

use super::super::Replays;
use super::super::pools::median;
use crate::Role;
use rayon::prelude::*;

pub struct Facts {
    pub kinds: usize,
    /// By worker and kind: the mean that it takes, in picoseconds, and how often it occurs.
    means: Vec<(f64, u64)>,
    /// By step and worker: what it computed altogether, in picoseconds.
    pub computed: Vec<Vec<i64>>,
}

impl Facts {
    pub fn of(replays: &Replays<'_>) -> Facts {
        let (job, kinds) = (replays.job, replays.job.kinds.len());
        let of_step = |step: usize| {
            let (shape, columns) = (job.shape(step), job.steps[step].columns as usize);
            let mut sums = vec![(0i64, 0u64); job.workers.len() * kinds];
            for (place, op) in shape.ops.iter().enumerate() {
                for column in 0..columns {
                    if job.is_filler(op.kind as usize, replays.times[step].takes[place * columns + column]) {
                        continue;
                    }
                    let sum = &mut sums[job.worker(step, column, place) * kinds + op.kind as usize];
                    *sum = (sum.0 + replays.times[step].takes[place * columns + column], sum.1 + 1);
                }
            }
            sums
        };
        let by_step: Vec<Vec<(i64, u64)>> = (0..job.steps.len()).into_par_iter().map(of_step).collect();
        let computes: Vec<usize> = (0..kinds).filter(|&kind| job.kinds[kind].role == Role::Compute).collect();
        let of_worker = |sums: &[(i64, u64)], worker: usize| -> i64 {
            computes.iter().map(|kind| sums[worker * kinds + kind].0).sum()
        };
        let computed = by_step
            .iter()
            .map(|sums| (0..job.workers.len()).map(|worker| of_worker(sums, worker)).collect())
            .collect();
        let total = |at: usize| {
            let (sum, count) = by_step
                .iter()
                .fold((0i128, 0u64), |all, sums| (all.0 + i128::from(sums[at].0), all.1 + sums[at].1));
            (sum as f64 / count.max(1) as f64, count)
        };
        Facts { kinds, means: (0..job.workers.len() * kinds).map(total).collect(), computed }
    }

    /// What a worker takes for a kind in the mean, where it has any.
    pub fn mean(&self, worker: usize, kind: usize) -> Option<f64> {
        let (mean, count) = self.means[worker * self.kinds + kind];
        (count > 0).then_some(mean)
    }

    /// How much longer a worker computes than the one in the middle of the others, step by step.
    pub fn against(&self, worker: usize, others: &[usize]) -> Vec<f64> {
        let ratio = |computed: &Vec<i64>| {
            let mut all: Vec<i64> =
                others.iter().filter(|&&other| other != worker).map(|&other| computed[other]).collect();
            let middle = median(&mut all);
            if middle > 0 { computed[worker] as f64 / middle as f64 } else { 1.0 }
        };
        self.computed.iter().map(ratio).collect()
    }
}

/// Of an even number, the lower of the two in the middle.
pub fn lower_median_of(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or(0.0)
}

pub fn median_of(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => 0.0,
        length if length % 2 == 1 => sorted[middle],
        _ => (sorted[middle - 1] + sorted[middle]) / 2.0,
    }
}
