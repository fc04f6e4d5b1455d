//! What is known of workers and kinds, before anything is replayed.

use super::super::Replays;
use crate::{Job, Role};
use rayon::prelude::*;

pub struct Facts {
    pub kinds: usize,
    /// By worker and kind: the mean that it takes, in picoseconds, and how often it occurs.
    means: Vec<(f64, u64)>,
    /// By step, then by worker and kind: what it takes altogether, in picoseconds, and how often it occurs.
    by_step: Vec<Vec<(i64, u64)>>,
    /// By step and worker: what it computed altogether, in picoseconds.
    pub computed: Vec<Vec<i64>>,
    /// By step and worker: whether it was recorded.
    takes_part: Vec<Vec<bool>>,
    /// By worker: its stage.
    stages: Vec<usize>,
    /// By step and stage: what its recorded workers computed, sorted.
    sorted: Vec<Vec<Vec<i64>>>,
}

impl Facts {
    pub fn of(replays: &Replays<'_>) -> Facts {
        let (job, kinds) = (replays.job, replays.job.kinds.len());
        let of_step = |step: usize| {
            let (shape, columns) = (job.shape(step), job.steps[step].columns as usize);
            let mut sums = vec![(0i64, 0u64); job.workers.len() * kinds];
            for (place, op) in shape.ops.iter().enumerate() {
                for column in 0..columns {
                    if job.is_filler(job.instance(step, column, place)) {
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
        let computed: Vec<Vec<i64>> = by_step
            .iter()
            .map(|sums| (0..job.workers.len()).map(|worker| of_worker(sums, worker)).collect())
            .collect();
        let takes_part: Vec<Vec<bool>> =
            (0..job.steps.len()).into_par_iter().map(|step| job.takes_part(step)).collect();
        let sorted = computed.par_iter().zip(&takes_part);
        let sorted = sorted.map(|(computed, takes_part)| by_stage(job, computed, takes_part)).collect();
        let total = |at: usize| {
            let (sum, count) = by_step
                .iter()
                .fold((0i128, 0u64), |all, sums| (all.0 + i128::from(sums[at].0), all.1 + sums[at].1));
            (sum as f64 / count.max(1) as f64, count)
        };
        let means = (0..job.workers.len() * kinds).map(total).collect();
        Facts {
            kinds,
            means,
            by_step,
            computed,
            takes_part,
            stages: job.workers.iter().map(|worker| worker.stage as usize).collect(),
            sorted,
        }
    }

    /// What a worker takes for a kind in the mean, where it has any.
    pub fn mean(&self, worker: usize, kind: usize) -> Option<f64> {
        let (mean, count) = self.means[worker * self.kinds + kind];
        (count > 0).then_some(mean)
    }

    /// What a worker takes for a kind altogether, in the mean of its steps.
    pub fn a_step(&self, worker: usize, kind: usize) -> f64 {
        let steps = self.by_step.iter().zip(&self.takes_part).filter(|(_, there)| there[worker]);
        let (sum, count) = steps.fold((0i128, 0u32), |(sum, count), (sums, _)| {
            (sum + i128::from(sums[worker * self.kinds + kind].0), count + 1)
        });
        sum as f64 / f64::from(count.max(1))
    }

    /// The mean of a kind in one step.
    pub fn mean_in(&self, step: usize, worker: usize, kind: usize) -> Option<f64> {
        let (sum, count) = self.by_step[step][worker * self.kinds + kind];
        (count > 0).then(|| sum as f64 / count as f64)
    }

    /// By step, then by stage and kind: what the worker in the middle takes in the mean; of an even number, the faster one.
    pub fn typical_by_step(&self, job: &Job) -> Vec<Vec<f64>> {
        let of_step = |step: usize| {
            let mut means = vec![Vec::new(); job.stages() * self.kinds];
            for (worker, &stage) in self.stages.iter().enumerate() {
                for kind in (0..self.kinds).filter(|&kind| job.kinds[kind].role == Role::Compute) {
                    means[stage * self.kinds + kind].extend(self.mean_in(step, worker, kind));
                }
            }
            means.iter().map(|means| lower_median_of(means)).collect()
        };
        (0..self.computed.len()).into_par_iter().map(of_step).collect()
    }

    /// What a worker computes in a step, as a multiple of what it computes in the mean of its steps.
    pub fn against_itself(&self, worker: usize) -> Vec<f64> {
        let own = |step: usize| self.computed[step][worker] as f64;
        let there = (0..self.computed.len()).filter(|&step| self.takes_part[step][worker]);
        let (sum, count) = there.fold((0.0, 0.0), |(sum, count), step| (sum + own(step), count + 1.0));
        let relative = |step| if sum > 0.0 { own(step) * count / sum } else { 1.0 };
        (0..self.computed.len()).map(relative).collect()
    }

    /// How much longer a worker computes than the one in the middle of the others of its stage, by step in which it was recorded.
    pub fn against(&self, worker: usize) -> Vec<(usize, f64)> {
        let ratio = |step: usize| {
            let own = self.computed[step][worker];
            let middle = median_without(&self.sorted[step][self.stages[worker]], own);
            (step, if middle > 0 { own as f64 / middle as f64 } else { 1.0 })
        };
        (0..self.computed.len()).filter(|&step| self.takes_part[step][worker]).map(ratio).collect()
    }
}

/// What recorded workers computed, by stage, sorted.
fn by_stage(job: &Job, computed: &[i64], takes_part: &[bool]) -> Vec<Vec<i64>> {
    let mut stages = vec![Vec::new(); job.stages()];
    for (worker, of) in job.workers.iter().enumerate().filter(|(worker, _)| takes_part[*worker]) {
        stages[of.stage as usize].push(computed[worker]);
    }
    stages.iter_mut().for_each(|stage| stage.sort_unstable());
    stages
}

/// The median of sorted values but for one of them; 0 for none.
fn median_without(sorted: &[i64], one: i64) -> i64 {
    let place = sorted.partition_point(|&value| value < one);
    let at = |number: usize| sorted[if number < place { number } else { number + 1 }];
    match sorted.len().saturating_sub(1) {
        0 => 0,
        count if count % 2 == 1 => at(count / 2),
        count => {
            let (lower, upper) = (at(count / 2 - 1), at(count / 2));
            lower + (upper - lower) / 2
        }
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

#[cfg(test)]
mod tests {
    use super::super::super::pools::median;
    use super::*;

    #[test]
    fn medians_of_all_others() {
        for count in 0..9usize {
            let mut values: Vec<i64> = (0..count).map(|place| (place * 7 % 5) as i64 * 10).collect();
            values.sort_unstable();
            for place in 0..count {
                let mut others = values.clone();
                let one = others.remove(place);
                assert_eq!(median_without(&values, one), median(&mut others), "{values:?} without {one}");
            }
        }
    }
}
