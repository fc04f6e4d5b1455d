//! Statistics of workers and kinds, computed before any replay.

use super::super::Replays;
use super::lengths::Spread;
use super::since::Rise;
use crate::mean;
use crate::{Job, Role};
use straggler_model::parallel;
use straggler_model::stats::{Middle, lower_median, median};

/// The workers of a stage fall into a fast and a slow group if the slow ones take this many times as long.
const APART: f64 = 1.1;
/// The fast group is typical if it is at least one worker in this many.
const TYPICAL: usize = 4;
/// The minimum rise of the computing time of all stages in the same step, as a share.
const OF_ALL_STAGES: f64 = 0.02;

pub struct Facts {
    pub kinds: usize,
    /// By worker and kind: the mean duration in picoseconds, and the count.
    means: Vec<(f64, u64)>,
    /// By step, then by worker and kind: the total duration in picoseconds, and the count.
    by_step: Vec<Vec<(i64, u64)>>,
    /// By step and worker: the total computing time in picoseconds.
    pub computed: Vec<Vec<i64>>,
    /// By step and worker: whether it was recorded.
    takes_part: Vec<Vec<bool>>,
    /// By worker: its stage, and whether it is typical of it. No worker computes faster than possible: if most workers of a stage
    /// take clearly longer than the rest, the rest is typical.
    stages: Vec<usize>,
    typical: Vec<bool>,
    /// By step and stage: the computing times of its typical workers, sorted.
    sorted: Vec<Vec<Vec<i64>>>,
}

impl Facts {
    pub fn new(replays: &Replays<'_>, spread: &Spread) -> Facts {
        let (job, kinds) = (replays.job, replays.job.kinds.len());
        let of_step = |step: usize| {
            let (shape, columns) = (job.shape(step), job.steps[step].columns as usize);
            let per_column = job.workers.len() / columns;
            let mut sums = vec![(0i64, 0u64); job.workers.len() * kinds];
            for (place, op) in shape.ops.iter().enumerate() {
                let takes = &replays.times[step].steady()[place * columns..(place + 1) * columns];
                for (column, takes) in takes.iter().enumerate() {
                    if job.is_filler(job.instance(step, column, place)) {
                        continue;
                    }
                    let worker = column * per_column + op.worker as usize;
                    let sum = &mut sums[worker * kinds + op.kind as usize];
                    *sum = (sum.0 + takes, sum.1 + 1);
                }
            }
            sums
        };
        let by_step: Vec<Vec<(i64, u64)>> = parallel::map(job.steps.len(), of_step);
        let computes: Vec<usize> = (0..kinds).filter(|&kind| job.kinds[kind].role == Role::Compute).collect();
        let of_worker = |sums: &[(i64, u64)], worker: usize| -> i64 {
            computes.iter().map(|kind| sums[worker * kinds + kind].0).sum()
        };
        let computed: Vec<Vec<i64>> = by_step
            .iter()
            .map(|sums| (0..job.workers.len()).map(|worker| of_worker(sums, worker)).collect())
            .collect();
        let takes_part: Vec<Vec<bool>> = parallel::map(job.steps.len(), |step| job.takes_part(step));
        let sorted = |of: &[bool]| -> Vec<Vec<Vec<i64>>> {
            parallel::map(computed.len(), |step| by_stage(job, &computed[step], &takes_part[step], of))
        };
        let mut of_stages = sorted(&vec![true; job.workers.len()]);
        let typical = typical(job, &computed, &takes_part, &of_stages, spread);
        if typical.contains(&false) {
            of_stages = sorted(&typical);
        }
        let total = |at: usize| {
            let (sum, count) = by_step
                .iter()
                .fold((0i128, 0u64), |all, sums| (all.0 + i128::from(sums[at].0), all.1 + sums[at].1));
            (sum as f64 / count.max(1) as f64, count)
        };
        let means = parallel::map(job.workers.len() * kinds, total);
        Facts {
            kinds,
            means,
            by_step,
            computed,
            takes_part,
            stages: job.workers.iter().map(|worker| worker.stage as usize).collect(),
            typical,
            sorted: of_stages,
        }
    }

    /// Marks workers as not typical of their stage, unless too few typical ones would be left.
    pub fn set_apart(&mut self, job: &Job, workers: &[usize]) {
        for &worker in workers {
            let of_stage =
                || (0..self.stages.len()).filter(|&other| self.stages[other] == self.stages[worker]);
            let others = of_stage().filter(|&other| other != worker && self.typical[other]).count();
            if 2 * others >= of_stage().count() {
                self.typical[worker] = false;
            }
        }
        self.sorted = parallel::map(self.computed.len(), |step| {
            by_stage(job, &self.computed[step], &self.takes_part[step], &self.typical)
        });
    }

    /// The mean duration of a kind on a worker. `None` if the worker has no such operation.
    pub fn mean(&self, worker: usize, kind: usize) -> Option<f64> {
        let (mean, count) = self.means[worker * self.kinds + kind];
        (count > 0).then_some(mean)
    }

    /// The mean time per step that a worker spends in a kind.
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

    /// By step, then by stage and kind: the mean duration on the median worker; of an even number of workers, on the faster of
    /// the two in the middle.
    pub fn typical_by_step(&self, job: &Job) -> Vec<Vec<f64>> {
        let of_step = |step: usize| {
            let mut means = vec![Vec::new(); job.stages() * self.kinds];
            for (worker, &stage) in self.stages.iter().enumerate().filter(|(worker, _)| self.typical[*worker])
            {
                for kind in (0..self.kinds).filter(|&kind| job.kinds[kind].role == Role::Compute) {
                    means[stage * self.kinds + kind].extend(self.mean_in(step, worker, kind));
                }
            }
            means.iter_mut().map(|means| lower_median(means)).collect()
        };
        parallel::map(self.computed.len(), of_step)
    }

    /// How many times as long a kind takes on a worker as on a typical worker of its stage, in the same step: 1 or more. The mean
    /// over all steps would not do, because workers that are slow one after another all raise it. `typical` comes from
    /// [`Facts::typical_by_step`].
    pub fn times_typical(&self, typical: &[Vec<f64>], step: usize, worker: usize, kind: usize) -> f64 {
        let usual = typical[step][self.stages[worker] * self.kinds + kind];
        let own = self.mean_in(step, worker, kind).unwrap_or(usual);
        if usual > 0.0 { (own / usual).max(1.0) } else { 1.0 }
    }

    /// By step: the computing time of a worker, as a multiple of its mean over its steps for which `holds` is the same.
    pub fn against_itself(&self, worker: usize, holds: impl Fn(usize) -> bool) -> Vec<f64> {
        let own = |step: usize| self.computed[step][worker] as f64;
        let mean = [false, true].map(|side| {
            let there = (0..self.computed.len()).filter(|&step| self.takes_part[step][worker]);
            mean(&there.filter(|&step| holds(step) == side).map(own).collect::<Vec<f64>>())
        });
        let relative = |step: usize| Some(mean[usize::from(holds(step))]).filter(|mean| *mean > 0.0);
        (0..self.computed.len()).map(|step| relative(step).map_or(1.0, |mean| own(step) / mean)).collect()
    }

    /// The mean duration of a kind on a worker over the steps for which `holds`.
    pub fn mean_where(&self, worker: usize, kind: usize, holds: impl Fn(usize) -> bool) -> Option<f64> {
        let at = worker * self.kinds + kind;
        let of_steps = (0..self.by_step.len()).filter(|&step| holds(step)).map(|step| self.by_step[step][at]);
        let (sum, count) = of_steps.fold((0i128, 0u64), |all, of| (all.0 + i128::from(of.0), all.1 + of.1));
        (count > 0).then(|| sum as f64 / count as f64)
    }

    /// The computing time of a worker as a multiple of the median of the other workers of its stage, for each step in which it
    /// was recorded.
    pub fn against(&self, worker: usize) -> Vec<(usize, f64)> {
        let there = (0..self.computed.len()).filter(|&step| self.takes_part[step][worker]);
        there.map(|step| (step, self.against_in(step, worker))).collect()
    }

    fn against_in(&self, step: usize, worker: usize) -> f64 {
        let own = self.computed[step][worker];
        let of_stage = &self.sorted[step][self.stages[worker]];
        let middle = match self.typical[worker] {
            true => median_without(of_stage, Some(own)),
            false => median_without(of_stage, None),
        };
        if middle > 0 { own as f64 / middle as f64 } else { 1.0 }
    }

    /// The computing time of the median worker of a stage, by step; of two, the faster. Empty if any step has no typical worker
    /// of the stage.
    pub fn levels(&self, stage: usize) -> Vec<f64> {
        let of_step = |stages: &Vec<Vec<i64>>| {
            let sorted = &stages[stage];
            sorted.get(sorted.len().saturating_sub(1) / 2).map(|level| *level as f64)
        };
        self.sorted.iter().map(of_step).collect::<Option<Vec<f64>>>().unwrap_or_default()
    }

    /// By stage: the step since which its median worker computes longer. Small rises count if all stages have one in the same
    /// step.
    pub fn rises(&self) -> Vec<Option<Rise>> {
        let stages = self.sorted.first().map_or(0, Vec::len);
        let levels: Vec<Vec<f64>> = (0..stages).map(|stage| self.levels(stage)).collect();
        let small = || levels.iter().map(|levels| Rise::permanent(OF_ALL_STAGES, levels));
        match small().collect::<Option<Vec<Rise>>>() {
            Some(all) if all.iter().all(|rise| rise.at == all[0].at) => all.into_iter().map(Some).collect(),
            _ => levels.iter().map(|levels| Rise::new(levels)).collect(),
        }
    }

    /// The total time of a kind on a worker, by step; 0 if the worker was not recorded.
    pub fn each_step(&self, worker: usize, kind: usize) -> Vec<f64> {
        self.by_step.iter().map(|sums| sums[worker * self.kinds + kind].0 as f64).collect()
    }

    /// Whether a worker is typical of its stage.
    pub fn is_typical(&self, worker: usize) -> bool {
        self.typical[worker]
    }

    /// Like [`Facts::against`], divided by the same ratio of workers of other stages that computed the same data: their ratio
    /// shows the effect of the data. Steps in which none of them was recorded are left out.
    pub fn against_data(&self, worker: usize, same_data: &[usize]) -> Vec<(usize, f64)> {
        let of_data = |step: usize| {
            let there = same_data.iter().filter(|&&other| self.takes_part[step][other]);
            let mut ratios: Vec<f64> = there.map(|&other| self.against_in(step, other)).collect();
            Some(median(&mut ratios)).filter(|ratio| *ratio > 0.0)
        };
        let of_worker = self.against(worker).into_iter();
        of_worker.filter_map(|(step, factor)| Some((step, factor / of_data(step)?))).collect()
    }
}

/// Which workers are typical of their stage: all, or only the fast ones if most are clearly slower, and slower than other stages.
fn typical(
    job: &Job,
    computed: &[Vec<i64>],
    takes_part: &[Vec<bool>],
    sorted: &[Vec<Vec<i64>>],
    spread: &Spread,
) -> Vec<bool> {
    // The mean over the steps of a worker's computing time, as a multiple of the median worker's.
    let level = |worker: usize| {
        let there = (0..computed.len()).filter(|&step| takes_part[step][worker]);
        let ratio = |step: usize| {
            let middle = median_without(&sorted[step][job.workers[worker].stage as usize], None);
            computed[step][worker] as f64 / middle.max(1) as f64
        };
        let (sum, count) = there.fold((0.0, 0.0), |(sum, count), step| (sum + ratio(step), count + 1.0));
        (count > 0.0).then(|| sum / count)
    };
    let mut stages: Vec<Vec<(f64, usize)>> = vec![Vec::new(); job.stages()];
    for (worker, of) in job.workers.iter().enumerate() {
        stages[of.stage as usize].extend(level(worker).map(|level| (level, worker)));
    }
    // The mean computing time of a worker, and that of the fastest of each stage. Half of all workers may be slow, so
    // the fastest is the reference.
    let computes = |worker: usize| {
        let there = (0..computed.len()).filter(|&step| takes_part[step][worker]);
        mean(&there.map(|step| computed[step][worker] as f64).collect::<Vec<f64>>())
    };
    let middle_of = |levels: &[(f64, usize)]| {
        median(&mut levels.iter().map(|(_, worker)| computes(*worker)).collect::<Vec<f64>>())
    };
    let lowest = |levels: &[(f64, usize)]| {
        let least = levels.iter().min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        least.map_or(0.0, |(_, worker)| computes(*worker))
    };
    let fastest: Vec<f64> = stages.iter().map(|levels| lowest(levels)).collect();
    let mut typical = vec![true; job.workers.len()];
    for (stage, levels) in stages.iter_mut().enumerate() {
        levels.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        // If the other stages agree with each other and the slow group is closer to them, the fast group is the exception.
        let mut others: Vec<f64> =
            (0..fastest.len()).filter(|&other| other != stage).map(|other| fastest[other]).collect();
        let agree = others.iter().copied().fold(0.0, f64::max)
            <= APART * others.iter().copied().fold(f64::INFINITY, f64::min);
        let usual = if others.len() > 1 && agree { median(&mut others) } else { 0.0 };
        let are_fast = |fast: usize| {
            let off = |levels: &[(f64, usize)]| (middle_of(levels) / usual).ln().abs();
            usual > 0.0 && off(&levels[fast..]) < off(&levels[..fast])
        };
        let count = levels.len();
        let apart = |fast: &usize| levels[*fast].0 / levels[fast - 1].0.max(f64::MIN_POSITIVE);
        let fast = (count.div_ceil(TYPICAL).max(1)..count.div_ceil(2))
            .max_by(|a, b| apart(a).total_cmp(&apart(b)).then(b.cmp(a)));
        let least = APART.max(1.0 + spread.by_chance(count.saturating_sub(1), computed.len()));
        if let Some(fast) = fast.filter(|fast| apart(fast) >= least && !are_fast(*fast)) {
            levels[fast..].iter().for_each(|(_, worker)| typical[*worker] = false);
        }
    }
    typical
}

/// The computing times of some of the recorded workers, by stage, sorted.
fn by_stage(job: &Job, computed: &[i64], takes_part: &[bool], some: &[bool]) -> Vec<Vec<i64>> {
    let mut stages = vec![Vec::new(); job.stages()];
    let counts = |worker: usize| takes_part[worker] && some[worker];
    for (worker, of) in job.workers.iter().enumerate().filter(|(worker, _)| counts(*worker)) {
        stages[of.stage as usize].push(computed[worker]);
    }
    stages.iter_mut().for_each(|stage| stage.sort_unstable());
    stages
}

/// The median of sorted values without `one` of them, if given. 0 if no value is left.
fn median_without(sorted: &[i64], one: Option<i64>) -> i64 {
    let place = one.map_or(sorted.len(), |one| sorted.partition_point(|&value| value < one));
    let at = |number: usize| sorted[if number < place { number } else { number + 1 }];
    match sorted.len().saturating_sub(usize::from(one.is_some())) {
        0 => 0,
        count if count % 2 == 1 => at(count / 2),
        count => at(count / 2 - 1).between(at(count / 2)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_of_all_others() {
        for count in 0..9usize {
            let mut values: Vec<i64> = (0..count).map(|place| (place * 7 % 5) as i64 * 10).collect();
            values.sort_unstable();
            for place in 0..count {
                let mut others = values.clone();
                let one = others.remove(place);
                assert_eq!(
                    median_without(&values, Some(one)),
                    median(&mut others),
                    "{values:?} without {one}"
                );
            }
            assert_eq!(median_without(&values, None), median(&mut values.clone()), "{values:?}");
        }
    }
}
