//! Workers that take longer than others of their stage, and since when.

use super::super::TimedOp;
use super::since::Rise;
use super::{Candidate, CauseSearch, Evidence, Finding, OperationTime, Order, Period};
use crate::{Role, mean};
use std::collections::BTreeMap;
use straggler_model::parallel;
use straggler_model::stats::median;
use straggler_model::stats::robust::WORKER;

/// A worker is slow if it computes at least this many times as long as the median of its stage.
const SLOW: f64 = WORKER.factor();
/// If more than this share of the workers is slow, slow workers are the norm.
const EXCEPTION: f64 = 0.75;
/// A worker that is slow only in some steps computes at least this many times as long in each of them. If these are fewer than
/// `FEW`, it computes at least `SLOW_IN_A_FEW` times as long.
const SLOW_IN_A_STEP: f64 = 1.1;
const FEW: usize = 3;
const SLOW_IN_A_FEW: f64 = 1.25;
pub const MANY: usize = 10;
/// A worker below `SLOW` is still reported if it computes at least this many times as long, and stands out among at least
/// `TO_STAND_OUT` workers.
const SLIGHTLY_SLOW: f64 = 1.02;
const TO_STAND_OUT: usize = 4;
/// A worker is slow beyond chance if it takes longer by this many standard deviations of the usual differences between workers.
const BEYOND_CHANCE: f64 = WORKER.deviations;

pub struct Slow {
    pub worker: usize,
    /// Its slowdown in the steps in which it is slow.
    factor: f64,
    /// The indices of these steps, ascending, and its slowdown in each.
    steps: Vec<(usize, f64)>,
    /// The indices of steps in which it became even slower.
    again: Vec<usize>,
    /// The number of steps in which it was compared with others, and the index of the last.
    compared: usize,
    last_compared: usize,
    /// Whether it was compared on the same data, so that the slowdown does not include the effect of lengths.
    for_same_data: bool,
}

impl Slow {
    /// Whether it is slow in a step, given by index.
    pub fn holds(&self, step: usize) -> bool {
        self.steps.binary_search_by_key(&step, |(step, _)| *step).is_ok()
    }

    fn since(&self) -> usize {
        self.steps.first().map_or(0, |(step, _)| *step)
    }

    fn until(&self) -> usize {
        self.steps.last().map_or(0, |(step, _)| *step)
    }

    /// Whether it was slow only now and then, never for long.
    pub fn is_sporadic(&self) -> bool {
        let consecutive = |pair: &[(usize, f64)]| pair[1].0 == pair[0].0 + 1;
        let lasted = self.steps.windows(FEW).any(|steps| steps.windows(2).all(consecutive));
        !lasted && 2 * self.steps.len() < self.compared
    }

    /// The indices of its slow steps, and its slowdown in each.
    pub fn stalls(&self) -> &[(usize, f64)] {
        &self.steps
    }

    /// Whether its slow steps are consecutive.
    fn is_one_stretch(&self) -> bool {
        self.until() - self.since() + 1 == self.steps.len()
    }
}

impl CauseSearch<'_> {
    /// The slow workers, the slowest first. Where workers are compared on the same data, a clearly slow one shifts the median of
    /// its stage, which distorts the comparison of all others. So it is excluded from the median, and all are compared again.
    pub fn slow_ones(&mut self, order: &[usize]) -> Vec<Slow> {
        let slow = self.slow_of(order);
        if slow.len() < 2 || !slow.iter().any(|slow| slow.for_same_data) {
            return slow;
        }
        let clearly = |of: &&Slow| 2.0 * (of.factor - 1.0) >= slow[0].factor - 1.0;
        let clear: Vec<usize> = slow.iter().filter(clearly).map(|slow| slow.worker).collect();
        self.facts.set_apart(self.replays.job, &clear);
        self.slow_of(order)
    }

    fn slow_of(&self, order: &[usize]) -> Vec<Slow> {
        let job = self.replays.job;
        let mut of_stage = vec![0; job.stages()];
        order.iter().for_each(|&worker| of_stage[job.workers[worker].stage as usize] += 1);
        let same_data = self.same_data(order);
        let least = self.least(order);
        let mut slow: Vec<Slow> = parallel::flat_map(order.len(), |at| {
            let others = of_stage[job.workers[order[at]].stage as usize] - 1;
            let same_data = || self.slow_for_same_data(order[at], &same_data);
            (others > 0).then(|| same_data().or_else(|| self.slow(order[at], others, least)))?
        });
        slow.sort_by(|a, b| b.factor.total_cmp(&a.factor).then(a.worker.cmp(&b.worker)));
        slow
    }

    pub fn slow_workers(&self, order: &[usize], mut slow: Vec<Slow>) -> Option<Candidate<'_>> {
        let job = self.replays.job;
        let most = ((order.len() as f64 * EXCEPTION) as usize).max(1);
        let steps = job.steps.len();
        let at_once = (0..steps).map(|step| slow.iter().filter(|slow| slow.holds(step)).count()).max();
        let at_once = at_once.unwrap_or(0);
        if slow.is_empty() || at_once > most || order.len() < 2 {
            return None;
        }
        let in_turn = slow.len() > 1 && 2 * at_once <= slow.len();
        if in_turn {
            slow.sort_by_key(|slow| (slow.since(), slow.worker));
        }
        let ranks: Vec<u32> = slow.iter().map(|slow| job.workers[slow.worker].rank).collect();
        let occasional = slow.iter().all(Slow::is_sporadic);
        let factor = slow.iter().map(|slow| slow.factor).fold(0.0, f64::max);
        let finding = match &slow[..] {
            [slow] => {
                Finding::Worker { factor, period: self.period(slow), stage: self.stage(slow), occasional }
            }
            _ => {
                let turns = match in_turn {
                    false => Order::Together,
                    true if slow.iter().all(Slow::is_one_stretch) => Order::OneAfterAnother,
                    true => Order::InTurn,
                };
                Finding::Workers { factor, order: turns, of_workers: order.len(), occasional }
            }
        };
        let evidence: Vec<Evidence> = slow.iter().take(5).flat_map(|slow| self.evidence(slow)).collect();
        // One slow step is not a change, and scattered ones have no beginning.
        let lasts = slow.iter().any(|slow| slow.steps.len() > 1) && slow.iter().all(Slow::is_one_stretch);
        let first = slow.iter().map(Slow::since).min().filter(|&since| since > 0 && lasts);
        // If the recording of a worker ends first, it is unknown whether the worker is still slow.
        let ended = slow.iter().all(|slow| slow.until() < slow.last_compared);
        let last = slow.iter().map(Slow::until).max().filter(|&until| until + 1 < steps && lasts && ended);
        let mut candidate = self.repaired(finding, self.as_typical(slow));
        let cause = &mut candidate.cause;
        cause.evidence = evidence;
        cause.place = job.shared_place(&ranks);
        cause.ranks = ranks;
        cause.since_step = first.map(|since| job.steps[since].number);
        cause.until_step = last.map(|until| job.steps[until].number);
        Some(candidate)
    }

    /// Slow workers compute as long as a typical worker of their stage in the same step.
    pub fn as_typical(&self, slow: Vec<Slow>) -> impl Fn(usize, &TimedOp<'_>) -> (i64, i64) + Sync + '_ {
        let job = self.replays.job;
        let mut places: Vec<Option<usize>> = vec![None; job.workers.len()];
        slow.iter().enumerate().for_each(|(place, slow)| places[slow.worker] = Some(place));
        let typical = self.facts.typical_by_step(job);
        move |step: usize, at: &TimedOp<'_>| {
            let own = places[at.worker].map(|place| &slow[place]).filter(|slow| slow.holds(step));
            // Its transfers, its data loading and its host are causes of their own.
            let kind = at.op.kind as usize;
            let Some(own) = own.filter(|_| job.kinds[kind].role == Role::Compute) else { return at.real() };
            let times = match own.for_same_data {
                true => own.factor,
                false => self.facts.times_typical(&typical, step, at.worker, kind),
            };
            ((at.takes as f64 / times) as i64, at.delay)
        }
    }

    /// The steps in which a worker is slow.
    fn period(&self, slow: &Slow) -> Period {
        let job = self.replays.job;
        let number = |place: usize| job.steps[place].number;
        let (since, until) = (slow.since(), slow.until());
        if slow.steps.len() == job.steps.len() {
            return Period::default();
        }
        if !slow.is_one_stretch() {
            return Period { scattered: Some([slow.steps.len(), slow.compared]), ..Period::default() };
        }
        let lasts = since < until && until + 1 == job.steps.len();
        let recording_ends = since < until && !lasts && until == slow.last_compared;
        let again = if lasts || recording_ends { &slow.again[..] } else { &[] };
        Period {
            since_step: (since > 0 || !recording_ends).then(|| number(since)),
            until_step: (!lasts).then(|| number(until)),
            slower_from: self.numbers(again),
            scattered: None,
            recording_ends,
        }
    }

    /// The stage of a slow worker, if there are several.
    fn stage(&self, slow: &Slow) -> Option<u32> {
        (self.replays.job.stages() > 1).then(|| self.replays.job.workers[slow.worker].stage)
    }

    /// The worker, if it is slow in all or some steps by more than lengths of microbatches explain.
    fn slow(&self, worker: usize, others: usize, least: f64) -> Option<Slow> {
        // Lengths have long tails, which average out only over many steps. With few steps, the others count as one worker.
        let others = |steps: usize| if steps < MANY { 1 } else { others };
        let by_chance = |steps: usize| self.spread.by_chance(others(steps), steps);
        slow_in(worker, self.facts.against(worker), &by_chance, least)
    }

    /// The minimum slowdown of a slow worker: more than workers differ by chance.
    fn least(&self, order: &[usize]) -> f64 {
        if order.len() < TO_STAND_OUT {
            return SLOW;
        }
        let level = |&worker: &usize| {
            median(&mut self.facts.against(worker).iter().map(|(_, factor)| *factor).collect::<Vec<f64>>())
        };
        let mut levels: Vec<f64> = parallel::map_list(order, level);
        let middle = median(&mut levels);
        let mut distances: Vec<f64> = levels.iter().map(|level| (level - middle).abs()).collect();
        (1.0 + BEYOND_CHANCE * median(&mut distances) / 0.6745).clamp(SLIGHTLY_SLOW, SLOW)
    }

    /// The worker, if it is slow on data that the other stages of its data-parallel rank compute at the usual speed.
    fn slow_for_same_data(&self, worker: usize, same_data: &SameData) -> Option<Slow> {
        let others = same_data.by_dp_rank.get(&self.replays.job.workers[worker].dp_rank)?;
        let others: Vec<usize> = others.iter().copied().filter(|&other| other != worker).collect();
        let by_chance = |steps: usize| BEYOND_CHANCE * same_data.spread / (steps.max(1) as f64).sqrt();
        let against = self.facts.against_data(worker, &others);
        // The other stages are too few for a judgement on single steps.
        let (steps, again) = for_good(&against, &by_chance);
        let slow = slow_by(worker, steps, &against, &by_chance, SLOW)?;
        // If a stage has few workers, a slow one makes the others look fast, and so makes the workers with the same data look
        // slow.
        let direct = self.facts.against(worker).into_iter().filter(|(step, _)| slow.holds(*step));
        let direct: Vec<f64> = direct.map(|(_, factor)| factor).collect();
        let stands_out = 2.0 * (mean(&direct) - 1.0) >= slow.factor - 1.0;
        stands_out.then_some(Slow { again, for_same_data: true, ..slow })
    }

    /// Which workers compute the same data, if that explains how workers differ.
    fn same_data(&self, order: &[usize]) -> SameData {
        let (job, lengths) = (self.replays.job, self.spread.of_a_step());
        let mut by_dp_rank: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        if job.stages() > 1 && lengths >= SLOW - 1.0 {
            order
                .iter()
                .for_each(|&worker| by_dp_rank.entry(job.workers[worker].dp_rank).or_default().push(worker));
        }
        by_dp_rank.retain(|_, workers| workers.len() > 1);
        let distances = |workers: &Vec<usize>| -> Vec<f64> {
            let of_worker = |&worker: &usize| {
                let others: Vec<usize> = workers.iter().copied().filter(|&other| other != worker).collect();
                self.facts.against_data(worker, &others)
            };
            workers.iter().flat_map(of_worker).map(|(_, factor)| (factor - 1.0).abs()).collect()
        };
        let groups: Vec<&Vec<usize>> = by_dp_rank.values().collect();
        let mut all: Vec<f64> = parallel::flat_map(groups.len(), |at| distances(groups[at]));
        // The median absolute deviation of a normal distribution is 0.6745 standard deviations.
        let spread = median(&mut all) / 0.6745;
        if spread >= lengths / 2.0 {
            by_dp_rank.clear();
        }
        SameData { by_dp_rank, spread }
    }

    fn evidence(&self, slow: &Slow) -> impl Iterator<Item = Evidence> {
        let own = &self.replays.job.workers[slow.worker];
        let mean = |of_step: &dyn Fn(i64, f64) -> f64| {
            let sum: f64 = slow
                .steps
                .iter()
                .map(|&(step, factor)| of_step(self.facts.computed[step][slow.worker], factor))
                .sum();
            sum / slow.steps.len() as f64
        };
        let (takes, usual) = (mean(&|takes, _| takes as f64), mean(&|takes, factor| takes as f64 / factor));
        let whole = Evidence::SlowWorker {
            rank: own.rank,
            dp_rank: own.dp_rank,
            stage: self.stage(slow),
            factor: takes / usual,
            period: self.period(slow),
            seconds: takes / 1e12,
            usual_seconds: usual / 1e12,
        };
        [Some(whole), self.slow_operations(slow)].into_iter().flatten()
    }

    /// The operations of a slow worker that take longer, if only some do.
    fn slow_operations(&self, slow: &Slow) -> Option<Evidence> {
        let job = self.replays.job;
        let of_kind = |kind: usize| {
            let others = (0..job.workers.len()).filter(|&other| {
                other != slow.worker && job.workers[other].stage == job.workers[slow.worker].stage
            });
            let mean = |worker: usize| {
                let known = slow.steps.iter().filter_map(|(step, _)| self.facts.mean_in(*step, worker, kind));
                let known: Vec<f64> = known.collect();
                (!known.is_empty()).then(|| crate::mean(&known))
            };
            let usual = median(&mut others.filter_map(mean).collect::<Vec<f64>>());
            Some((job.kinds[kind].name.clone(), mean(slow.worker)?, usual)).filter(|_| usual > 0.0)
        };
        let computes = (0..job.kinds.len()).filter(|&kind| job.kinds[kind].role == Role::Compute);
        let (long, usual): (Vec<_>, Vec<_>) =
            computes.filter_map(of_kind).partition(|(_, own, usual)| *own >= SLIGHTLY_SLOW * usual);
        let is_evident = job.is_table() && !long.is_empty() && !usual.is_empty();
        let time = |(operation, own, usual): (String, f64, f64)| OperationTime {
            operation,
            seconds: own / 1e12,
            usual_seconds: usual / 1e12,
        };
        is_evident.then(|| Evidence::SlowOperations {
            slow: long.into_iter().map(time).collect(),
            usual: usual.into_iter().map(|(operation, ..)| operation).collect(),
        })
    }
}

/// Workers of all stages that compute the same data, by data-parallel rank. Empty if the data do not explain how workers differ.
struct SameData {
    by_dp_rank: BTreeMap<u32, Vec<usize>>,
    /// The remaining standard deviation in a step, as a share.
    spread: f64,
}

/// The worker, if its slowdowns are more than chance explains: in some steps, or permanently, whichever is more significant.
fn slow_in(
    worker: usize,
    against: Vec<(usize, f64)>,
    by_chance: &dyn Fn(usize) -> f64,
    least: f64,
) -> Option<Slow> {
    let factors: Vec<f64> = against.iter().map(|(_, factor)| *factor).collect();
    let some = slow_places(&factors, 1.0 + by_chance(1))
        .map(|places| places.into_iter().map(|place| against[place]).collect());
    let by = |steps, least| slow_by(worker, steps, &against, by_chance, least);
    let some = some.and_then(|steps| by(steps, SLOW));
    let (steps, again) = for_good(&against, by_chance);
    let good = by(steps, least).map(|slow| Slow { again, ..slow });
    let beyond = |slow: &Slow| (slow.factor - 1.0) * (slow.steps.len() as f64).sqrt();
    match (some, good) {
        (Some(some), Some(good)) => Some(if beyond(&good) >= beyond(&some) { good } else { some }),
        (some, good) => some.or(good),
    }
}

/// All steps, or those since the worker became slow. If no significant rise is found, this is the step since which its slowdown
/// exceeds chance the most, provided that it was at most half as slow before. Also returns the steps in which it became even
/// slower.
fn for_good(against: &[(usize, f64)], by_chance: &dyn Fn(usize) -> f64) -> (Vec<(usize, f64)>, Vec<usize>) {
    let factors: Vec<f64> = against.iter().map(|(_, factor)| *factor).collect();
    // By step: the sum of the factors from it on.
    let mut sums = vec![0.0; factors.len() + 1];
    for (at, factor) in factors.iter().enumerate().rev() {
        sums[at] = sums[at + 1] + factor;
    }
    let longer = |from: usize| sums[from] / (factors.len() - from).max(1) as f64 - 1.0;
    let beyond = |from: &usize| {
        let steps = factors.len() - from;
        match by_chance(steps) {
            chance if chance > 0.0 => longer(*from) / chance,
            _ => longer(*from) * (steps as f64).sqrt(),
        }
    };
    // A worker that was slow before and became slower counts as always slow.
    let became_slow = |rise: &Rise| 2.0 * (rise.before - 1.0) <= rise.after - 1.0;
    if let Some(rise) = Rise::new(&factors).filter(became_slow) {
        let again = rise.again().into_iter().map(|place| against[place].0).collect();
        let end = rise.until.map_or(against.len(), |last| last + 1);
        return (against[rise.at..end].to_vec(), again);
    }
    let from = {
        let places = (FEW..factors.len().saturating_sub(FEW)).chain([0]);
        let best = places.max_by(|a, b| beyond(a).total_cmp(&beyond(b)).then(b.cmp(a)));
        best.filter(|&from| 2.0 * (mean(&factors[..from]) - 1.0) <= longer(from))
    };
    (against[from.unwrap_or(0)..].to_vec(), Vec::new())
}

fn slow_by(
    worker: usize,
    steps: Vec<(usize, f64)>,
    compared: &[(usize, f64)],
    by_chance: &dyn Fn(usize) -> f64,
    least: f64,
) -> Option<Slow> {
    let factor = median(&mut steps.iter().map(|(_, factor)| *factor).collect::<Vec<f64>>());
    let is_slow = factor >= least && factor - 1.0 >= by_chance(steps.len());
    let last_compared = compared.last().map_or(0, |(step, _)| *step);
    let compared = compared.len();
    is_slow.then_some(Slow {
        worker,
        factor,
        steps,
        again: Vec::new(),
        compared,
        last_compared,
        for_same_data: false,
    })
}

/// The indices of slow steps, if the worker is not slow in the others. Consecutive steps support each other; scattered steps must
/// each be slower than `chance`.
fn slow_places(factors: &[f64], chance: f64) -> Option<Vec<usize>> {
    let middle =
        |places: &[usize]| median(&mut places.iter().map(|&place| factors[place]).collect::<Vec<f64>>());
    let above = |least: f64| -> Option<Vec<usize>> {
        let (slow, others): (Vec<usize>, Vec<usize>) =
            (0..factors.len()).partition(|&place| factors[place] >= least);
        let stands_out = !slow.is_empty() && !others.is_empty() && middle(&others) < SLOW;
        stands_out.then_some(slow)
    };
    let is_stretch = |places: &Vec<usize>| {
        places.len() >= FEW
            && places.last().zip(places.first()).is_some_and(|(a, b)| a - b + 1 == places.len())
    };
    let picked = |places: &Vec<usize>| places.len() >= FEW || middle(places) >= SLOW_IN_A_FEW;
    above(SLOW_IN_A_STEP).filter(is_stretch).or_else(|| above(chance.max(SLOW_IN_A_STEP)).filter(picked))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_steps_are_told_from_the_others() {
        let noise = |at: usize| 0.01 * ((at * 7919 % 13) as f64 / 13.0 - 0.5);
        let series = |from: usize| -> Vec<f64> {
            (0..40).map(|at| noise(at) + if at >= from { 1.5 } else { 1.0 }).collect()
        };
        assert_eq!(slow_places(&series(17), 1.0), Some((17..40).collect()));
        let window: Vec<f64> = (0..20).map(|at| if (6..14).contains(&at) { 1.6 } else { 1.0 }).collect();
        assert_eq!(slow_places(&window, 1.0), Some((6..14).collect()));
        let recovers: Vec<f64> = (0..20).map(|at| if at < 12 { 1.6 } else { 1.0 }).collect();
        assert_eq!(slow_places(&recovers, 1.0), Some((0..12).collect()));
        assert_eq!(slow_places(&[1.6; 20], 1.0), None);
        assert_eq!(slow_places(&[1.0, 2.0], 1.0), Some(vec![1]));
        assert_eq!(slow_places(&[2.0, 1.0, 2.0, 1.0, 2.0], 1.0), Some(vec![0, 2, 4]));
        // A small slowdown in a single step is chance.
        assert_eq!(slow_places(&[1.0, 1.15, 1.0], 1.0), None);
        // So are slowdowns below `chance`.
        assert_eq!(slow_places(&[2.0, 1.0, 2.0, 1.0, 2.0], 2.5), None);
    }
}
