//! Workers that take longer than others of their stage, and since when.

use super::facts::median_of;
use super::{Cause, CauseKind, Looking, time};
use crate::{Role, words};
use rayon::prelude::*;

/// A worker is slow if it computes so many times as long as the one in the middle.
const SLOW: f64 = 1.05;
/// More slow workers than this share are the rule, not the exception.
const EXCEPTION: f64 = 0.5;
/// A stretch of steps in which a worker is slow has so many of them, and it computes so many times as long in each.
const STRETCH: usize = 3;
const SLOW_IN_A_STRETCH: f64 = 1.1;
/// A change is one if the levels differ by this, and by so many standard errors.
const CHANGE: f64 = 0.05;
const SURE: f64 = 6.0;
/// Lengths of microbatches do not explain a worker that computes longer by so many standard deviations of them.
const BEYOND_CHANCE: f64 = 5.0;

struct Slow {
    worker: usize,
    /// How many times as long it computes, since it does.
    factor: f64,
    /// The place of the step that it began with, and of the last one where it ended.
    since: usize,
    until: Option<usize>,
}

impl Slow {
    /// Whether it is slow in a step, by its place.
    fn holds(&self, step: usize) -> bool {
        step >= self.since && self.until.is_none_or(|until| step <= until)
    }
}

impl Looking<'_> {
    pub fn slow_workers(&self, order: &[usize]) -> Option<Cause> {
        let job = self.replays.job;
        let mut of_stage = vec![0; job.stages()];
        order.iter().for_each(|&worker| of_stage[job.workers[worker].stage as usize] += 1);
        let compared = |worker: &&usize| of_stage[job.workers[**worker].stage as usize] > 1;
        let mut slow: Vec<Slow> =
            order.par_iter().filter(compared).filter_map(|&worker| self.slow(worker)).collect();
        slow.sort_by(|a, b| b.factor.total_cmp(&a.factor).then(a.worker.cmp(&b.worker)));
        let most = ((order.len() as f64 * EXCEPTION) as usize).max(1);
        let steps = job.steps.len();
        let at_once = (0..steps).map(|step| slow.iter().filter(|slow| slow.holds(step)).count()).max();
        let at_once = at_once.unwrap_or(0);
        if slow.is_empty() || at_once > most || order.len() < 2 {
            return None;
        }
        let in_turn = slow.len() > 1 && 2 * at_once <= slow.len();
        if in_turn {
            slow.sort_by_key(|slow| (slow.since, slow.worker));
        }
        let mut places: Vec<Option<usize>> = vec![None; job.workers.len()];
        slow.iter().enumerate().for_each(|(place, slow)| places[slow.worker] = Some(place));
        let typical = self.facts.typical_by_step(job);
        let won = self.won(|step, at| {
            if places[at.worker].is_none_or(|place| !slow[place].holds(step)) {
                return at.real();
            }
            let (stage, kind) = (job.workers[at.worker].stage, at.op.kind as usize);
            let ideal = &self.replays.stage_ideal;
            let takes = match job.kinds[kind].role {
                Role::Compute => {
                    (at.takes as f64 / self.times_typical(&typical, step, at.worker, kind)) as i64
                }
                _ => ideal.takes(stage, at.op),
            };
            (takes, ideal.delay(at.op))
        });
        let ranks: Vec<u32> = slow.iter().map(|slow| job.workers[slow.worker].rank).collect();
        let says = match &ranks[..] {
            [rank] => format!("Rank {rank} is slow{}", self.since_words(&slow[0])),
            _ => format!(
                "{} of {} workers are slow{}: ranks {}",
                ranks.len(),
                order.len(),
                if in_turn { ", one after another" } else { "" },
                words::list_up_to(6, &ranks)
            ),
        };
        let mut cause = self.cause(CauseKind::Workers, won, says)?;
        cause.evidence = slow.iter().take(5).map(|slow| self.evidence(slow, order)).collect();
        cause.fix = match ranks.len() {
            1 => "Look at its clock, temperature, memory errors and neighbours, or replace it.".into(),
            _ => "Look at their clocks, temperatures, memory errors and neighbours.".into(),
        };
        cause.ranks = ranks;
        let first = slow.iter().map(|slow| slow.since).min().filter(|&since| since > 0);
        cause.since_step = first.map(|since| job.steps[since].number);
        Some(cause)
    }

    /// How many times as long a worker takes for a kind in a step as the others of its stage do in the same step: 1 or more. The
    /// mean over all steps is no measure, as workers that are slow one after another all raise it.
    fn times_typical(&self, typical: &[Vec<f64>], step: usize, worker: usize, kind: usize) -> f64 {
        let stage = self.replays.job.workers[worker].stage as usize;
        let usual = typical[step][stage * self.facts.kinds + kind];
        let own = self.facts.mean_in(step, worker, kind).unwrap_or(usual);
        if usual > 0.0 { (own / usual).max(1.0) } else { 1.0 }
    }

    fn since_words(&self, slow: &Slow) -> String {
        let number = |place: usize| self.replays.job.steps[place].number;
        match (slow.since, slow.until) {
            (since, Some(until)) => format!(" from step {} to step {}", number(since), number(until)),
            (0, None) => " in all steps".into(),
            (since, None) => format!(" since step {}", number(since)),
        }
    }

    /// Those that a worker is compared with: its own stage.
    fn like(&self, worker: usize, order: &[usize]) -> Vec<usize> {
        let workers = &self.replays.job.workers;
        order.iter().copied().filter(|&other| workers[other].stage == workers[worker].stage).collect()
    }

    fn slow(&self, worker: usize) -> Option<Slow> {
        let (steps, factors): (Vec<usize>, Vec<f64>) = self.facts.against(worker).into_iter().unzip();
        let (first, last) = stretch(&factors).unwrap_or_else(|| (rise(&factors).unwrap_or(0), None));
        let slow_steps = &factors[first..=last.unwrap_or(factors.len().checked_sub(1)?)];
        let factor = median_of(slow_steps);
        // Two workers that differ by chance: that of the one, and of the other.
        let by_chance = self.spread.of_a_step() * (2.0 / slow_steps.len() as f64).sqrt();
        let since = *steps.get(first)?;
        let until = last.map_or(steps.last(), |last| steps.get(last)).copied();
        let until = until.filter(|&until| until + 1 < self.facts.computed.len());
        let is_slow = factor >= SLOW && factor - 1.0 >= BEYOND_CHANCE * by_chance;
        is_slow.then_some(Slow { worker, factor, since, until })
    }

    fn evidence(&self, slow: &Slow, order: &[usize]) -> String {
        let own = &self.replays.job.workers[slow.worker];
        let last = slow.until.unwrap_or(self.facts.computed.len() - 1);
        let steps = &self.facts.computed[slow.since..=last];
        let computed = |worker: usize| {
            let sum: i128 = steps.iter().map(|computed| i128::from(computed[worker])).sum();
            sum as f64 / steps.len() as f64
        };
        let like = self.like(slow.worker, order);
        let others: Vec<f64> =
            like.iter().filter(|&&other| other != slow.worker).map(|&other| computed(other)).collect();
        format!(
            "Rank {} (data-parallel rank {}, stage {}) computes {:.2} times as long as others of its stage{}: {} a step \
             against {}.",
            own.rank,
            own.dp_rank,
            own.stage,
            slow.factor,
            self.since_words(slow),
            time(computed(slow.worker)),
            time(median_of(&others)),
        )
    }
}

/// The longest stretch of slow steps, where the worker is not slow in the others: its first step, and its last unless it is still slow.
fn stretch(factors: &[f64]) -> Option<(usize, Option<usize>)> {
    let mut longest = 0..0;
    let mut begin = 0;
    for (place, _) in factors.iter().enumerate().filter(|(_, factor)| **factor >= SLOW_IN_A_STRETCH) {
        if place == 0 || factors[place - 1] < SLOW_IN_A_STRETCH {
            begin = place;
        }
        if place + 1 - begin > longest.len() {
            longest = begin..place + 1;
        }
    }
    let others: Vec<f64> = [&factors[..longest.start], &factors[longest.end..]].concat();
    let stands_out = longest.len() >= STRETCH && !others.is_empty() && median_of(&others) < SLOW;
    stands_out.then(|| (longest.start, Some(longest.end - 1).filter(|_| longest.end < factors.len())))
}

/// Where a series rises for good.
fn rise(values: &[f64]) -> Option<usize> {
    change(values).filter(|&split| median_of(&values[split..]) > median_of(&values[..split]))
}

/// Where a series changes its level for good, if it does: the split with the largest gap in standard errors.
fn change(values: &[f64]) -> Option<usize> {
    let level = |part: &[f64]| {
        let mean = part.iter().sum::<f64>() / part.len() as f64;
        let squares: f64 = part.iter().map(|value| (value - mean).powi(2)).sum();
        (mean, squares)
    };
    let at = |split: usize| {
        let (before, after) = values.split_at(split);
        let ((low, one), (high, other)) = (level(before), level(after));
        let spread = ((one + other) / (values.len() - 2) as f64).sqrt();
        let error = spread * (1.0 / before.len() as f64 + 1.0 / after.len() as f64).sqrt();
        let gap = (high - low).abs();
        let sure = if error > 0.0 { gap / error } else { f64::INFINITY };
        (split, gap, sure)
    };
    // Two steps at each side at least: a single one is no level.
    let splits = (2..values.len().saturating_sub(1)).map(at).filter(|(_, gap, _)| *gap > 0.0);
    splits
        .filter(|(_, gap, sure)| *gap >= CHANGE && *sure >= SURE)
        .max_by(|a, b| a.2.total_cmp(&b.2).then(b.0.cmp(&a.0)))
        .map(|(split, _, _)| split)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_change_once_and_for_good() {
        let noise = |at: usize| 0.01 * ((at * 7919 % 13) as f64 / 13.0 - 0.5);
        let series = |from: usize| -> Vec<f64> {
            (0..40).map(|at| noise(at) + if at >= from { 1.5 } else { 1.0 }).collect()
        };
        assert_eq!(change(&series(40)), None);
        assert_eq!(change(&series(17)), Some(17));
        assert_eq!(change(&series(0)), None);
        assert_eq!((rise(&series(17)), stretch(&series(17))), (Some(17), Some((17, None))));
        let window: Vec<f64> = (0..20).map(|at| if (6..14).contains(&at) { 1.6 } else { 1.0 }).collect();
        assert_eq!(stretch(&window), Some((6, Some(13))));
        let recovers: Vec<f64> = (0..20).map(|at| if at < 12 { 1.6 } else { 1.0 }).collect();
        assert_eq!((stretch(&recovers), rise(&recovers)), (Some((0, Some(11))), None));
        assert_eq!(stretch(&[1.6; 20]), None);
        assert_eq!(change(&[]), None);
        assert_eq!(change(&[1.0, 1.0, 1.0]), None);
    }
}
