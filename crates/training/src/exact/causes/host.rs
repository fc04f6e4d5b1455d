//! Causes on the host: late launches, slow data loading, garbage collection.

use super::super::TimedOp;
use super::since::Rise;
use super::{Candidate, CauseKind, CauseSearch, Evidence, Finding, OperationName};
use crate::{Job, KindInfo, Op, Role};
use straggler_model::stats::lower_median;

/// Data loading that is the same on all workers in all steps is not a cause if its gain is below this share of a step.
const NORMAL_LOADING: f64 = 0.05;
/// Ranks stall alike if the worst takes less than this many times as long as a typical one.
const ALIKE: f64 = 1.05;

/// Ranks are named if together they have at least this share of all delays, and each has at least half as much as the worst.
const MAINLY: f64 = 0.5;
/// Delays are those of a single step if it has at least this share of them.
const ONE_STEP: f64 = 0.8;

/// An unusually long launch delay.
struct Late<'a> {
    step: usize,
    worker: usize,
    place: usize,
    op: &'a Op,
    /// The excess over the usual delay, in picoseconds.
    by: i64,
}

impl CauseSearch<'_> {
    pub fn launches(&self) -> Candidate<'_> {
        let blamed = blamed_delays(self.replays.job);
        let repair = {
            let blamed = blamed.clone();
            move |_: usize, at: &TimedOp<'_>| {
                let delay = if blamed[at.op.kind as usize] { at.ideal_delay.min(at.delay) } else { at.delay };
                (at.takes, delay)
            }
        };
        let mut candidate = self.repaired(Finding::LaunchDelay {}, repair);
        let cause = &mut candidate.cause;
        let job = self.replays.job;
        let (mut by_worker, mut by_kind) = (vec![0i64; job.workers.len()], vec![0i64; job.kinds.len()]);
        let mut by_step = vec![vec![0i64; job.steps.len()]; job.workers.len()];
        let mut at_begin = 0i64;
        let mut worst: Option<Late<'_>> = None;
        for late in self.late().filter(|late| blamed[late.op.kind as usize]) {
            by_worker[late.worker] = by_worker[late.worker].saturating_add(late.by);
            let of_step = &mut by_step[late.worker][late.step];
            *of_step = of_step.saturating_add(late.by);
            by_kind[late.op.kind as usize] = by_kind[late.op.kind as usize].saturating_add(late.by);
            if self.begins(late.step, late.place) {
                at_begin = at_begin.saturating_add(late.by);
            }
            if worst.as_ref().is_none_or(|worst| worst.by < late.by) {
                worst = Some(late);
            }
        }
        let total: i64 = by_worker.iter().fold(0, |sum, by| sum.saturating_add(*by));
        let share = |part: i64| part as f64 / total.max(1) as f64;
        let largest =
            |list: &[i64]| list.iter().enumerate().max_by_key(|(_, by)| **by).map_or(0, |(at, _)| at);
        let (worker, kind) = (largest(&by_worker), largest(&by_kind));
        cause.evidence.push(Evidence::MostDelays {
            rank: job.workers[worker].rank,
            share_of_rank: share(by_worker[worker]),
            operation: job.kinds[kind].name.clone(),
            share_of_operation: share(by_kind[kind]),
        });
        cause.evidence.extend(worst.map(|worst| Evidence::LongestDelay {
            rank: job.workers[worst.worker].rank,
            step: job.steps[worst.step].number,
            seconds: worst.by as f64 / 1e12,
            before: OperationName {
                operation: job.kinds[worst.op.kind as usize].name.clone(),
                number: job.is_table().then_some(worst.op.seq),
            },
        }));
        if share(at_begin) >= 0.5 {
            cause.evidence.push(Evidence::DelaysAtBeginning { share: share(at_begin) });
        }
        let late_ones = late_ones(&by_worker);
        cause.ranks = self.ranks(late_ones.iter().map(|&worker| worker as u32));
        cause.place = job.shared_place(&cause.ranks);
        let late = |step: usize| match late_ones.is_empty() {
            true => by_step.iter().map(|of_worker| of_worker[step] as f64).sum(),
            false => late_ones.iter().map(|&worker| by_step[worker][step] as f64).sum(),
        };
        let by_step: Vec<f64> = (0..job.steps.len()).map(late).collect();
        if let Some(step) = only_step(&by_step) {
            let number = job.steps[step].number;
            (cause.since_step, cause.until_step) = (Some(number), Some(number));
        } else if let Some(rise) = Rise::new(&by_step).filter(|rise| rise.share_of(&by_step) >= MAINLY) {
            (cause.since_step, cause.until_step) = rise.steps(job);
            let change = rise.change(job);
            cause.evidence.push(Evidence::DelaysOfRanks { ranks: late_ones.len(), change });
        }
        candidate
    }

    /// All delays longer than usual.
    fn late(&self) -> impl Iterator<Item = Late<'_>> {
        let (job, replays) = (self.replays.job, self.replays);
        (0..job.steps.len()).flat_map(move |step| {
            let columns = job.steps[step].columns as usize;
            job.shape(step).ops.iter().enumerate().flat_map(move |(place, op)| {
                (0..columns).filter_map(move |column| {
                    let worker = job.worker(step, column, place);
                    let usual = replays.ideal.delay(op);
                    let times = &replays.times[step];
                    let carried = times.carried_by(job, step, place, column);
                    let by = times.delays[place * columns + column] - carried - usual;
                    (by > 0).then_some(Late { step, worker, place, op, by })
                })
            })
        })
    }

    /// Whether an operation is the first of its worker.
    fn begins(&self, step: usize, place: usize) -> bool {
        self.replays.job.shape(step).begins(&self.replays.job.kinds, place)
    }

    /// Data loading and garbage collection, if recorded. The gain is that of removing them completely.
    pub fn stalls(&self) -> Vec<Candidate<'_>> {
        let list = [("dataload", CauseKind::DataLoading), ("gc", CauseKind::GarbageCollection)];
        list.into_iter().filter_map(|(name, kind)| self.stall(name, kind)).collect()
    }

    fn stall(&self, name: &str, kind: CauseKind) -> Option<Candidate<'_>> {
        let job = self.replays.job;
        let number = job.kinds.iter().position(|kind| kind.name == name)?;
        let means: Vec<(usize, f64)> = (0..job.workers.len())
            .filter(|&worker| job.workers[worker].recorded)
            .map(|worker| (worker, self.facts.a_step(worker, number)))
            .collect();
        let (worst, takes) = means.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1))?;
        if takes <= 0.0 {
            return None;
        }
        let typical = lower_median(&mut means.iter().map(|(_, mean)| *mean).collect::<Vec<f64>>());
        let some = means.iter().filter(|(_, mean)| *mean >= (takes / 2.0).max(2.0 * typical));
        let some: Vec<usize> = some.map(|(worker, _)| *worker).collect();
        let alone = !some.is_empty() && 2 * some.len() <= means.len();
        let ranks = self.ranks(some.iter().map(|&worker| worker as u32));
        let waited = |of: &[usize]| {
            let mut sums = vec![0.0; job.steps.len()];
            for &worker in of {
                let steps = self.facts.each_step(worker, number);
                sums.iter_mut().zip(steps).for_each(|(sum, takes)| *sum += takes / of.len() as f64);
            }
            sums
        };
        let rise = Rise::new(&waited(if alone { &some } else { std::slice::from_ref(&worst) }));
        let change = rise.as_ref().map(|rise| rise.change(job));
        let finding = match kind {
            CauseKind::DataLoading => Finding::DataLoading { change },
            _ => Finding::GarbageCollection { change },
        };
        // Collections can be avoided. Loading can only be as fast as on other ranks, or in other steps, where that is known.
        let risen = rise.clone().filter(|_| kind == CauseKind::DataLoading);
        let of_some: Option<Vec<bool>> = (alone && kind == CauseKind::DataLoading)
            .then(|| (0..job.workers.len()).map(|worker| some.contains(&worker)).collect());
        let repair = move |step: usize, at: &TimedOp<'_>| match at.op.kind as usize == number {
            false => at.real(),
            true if of_some.as_ref().is_some_and(|some| !some[at.worker]) => at.real(),
            true => match &risen {
                Some(rise) => ((at.takes as f64 / rise.factor_at(step)).round() as i64, at.delay),
                None if of_some.is_some() => (at.takes.min(at.ideal_takes), at.delay),
                None => (0, at.delay),
            },
        };
        let mut candidate = self.repaired(finding, repair);
        let cause = &mut candidate.cause;
        if kind == CauseKind::DataLoading
            && !alone
            && rise.is_none()
            && self.worth(1e12 * cause.seconds) < NORMAL_LOADING
        {
            return None;
        }
        (cause.since_step, cause.until_step) = rise.map_or((None, None), |rise| rise.steps(job));
        cause.evidence.push(Evidence::TimePerStep {
            rank: (takes >= ALIKE * typical).then(|| job.workers[worst].rank),
            seconds: takes / 1e12,
            typical_seconds: typical / 1e12,
        });
        if alone {
            cause.place = job.shared_place(&ranks);
            cause.ranks = ranks;
        }
        Some(candidate)
    }
}

/// By kind: whether the host is to blame for late starts. Never if the job has unknown operations: they may fill the
/// gaps.
pub fn blamed_delays(job: &Job) -> Vec<bool> {
    let waits = job.lacks_transfers();
    let blamed = |kind: &KindInfo| !(job.unknown_operations || (waits && kind.role == Role::Compute));
    job.kinds.iter().map(blamed).collect()
}

/// The index of the only step with delays worth mentioning, if there is one among several.
fn only_step(by_step: &[f64]) -> Option<usize> {
    let (step, most) = by_step.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let all: f64 = by_step.iter().sum();
    (by_step.len() > 1 && most > 0.0 && most >= ONE_STEP * all).then_some(step)
}

/// The workers with most of the delays. Empty if these would be more than half of all workers.
fn late_ones(by_worker: &[i64]) -> Vec<usize> {
    let sum = |of: &mut dyn Iterator<Item = i64>| of.fold(0i64, i64::saturating_add);
    let worst = by_worker.iter().copied().max().unwrap_or(0);
    let all = sum(&mut by_worker.iter().copied());
    // If too many workers have half as much as the worst, only the worst is considered.
    let at_least = |least: i64| -> Option<Vec<usize>> {
        let late: Vec<usize> =
            (0..by_worker.len()).filter(|&worker| worst > 0 && by_worker[worker] >= least).collect();
        let theirs = sum(&mut late.iter().map(|&worker| by_worker[worker]));
        (theirs as f64 >= MAINLY * all as f64 && 2 * late.len() <= by_worker.len()).then_some(late)
    };
    at_least(worst / 2).or_else(|| at_least(worst)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_who_are_late_are_told_from_the_others() {
        assert_eq!(late_ones(&[0, 90, 1, 0]), [1]);
        assert_eq!(late_ones(&[3, 90, 80, 2]), [1, 2]);
        assert_eq!(late_ones(&[60, 31, 9]), [0]);
        assert!(late_ones(&[10, 11, 12, 10]).is_empty());
        assert!(late_ones(&[0, 0]).is_empty());
        assert!(late_ones(&[7]).is_empty());
        // Many small delays outweigh a large one.
        assert!(late_ones(&[100, 40, 40, 40, 40, 40]).is_empty());
    }

    #[test]
    fn delays_may_be_those_of_one_step() {
        assert_eq!(only_step(&[1.0, 0.0, 90.0, 2.0]), Some(2));
        assert_eq!(only_step(&[1.0, 60.0, 90.0, 2.0]), None);
        assert_eq!(only_step(&[90.0]), None);
        assert_eq!(only_step(&[0.0, 0.0]), None);
    }
}
