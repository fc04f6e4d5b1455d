//! Microbatches of varying duration: sequences of unequal length, if forward and backward times are correlated.
//!
//! Lengths differ among the microbatches of a step, while a slow worker takes longer for all of them. So each microbatch is
//! compared only with the others of its worker and step.

use super::super::{Replays, TimedOp};
use super::workers::MANY;
use super::{Candidate, CauseSearch, Evidence, Finding};
use crate::{Job, Role};
use std::collections::BTreeMap;
use straggler_model::parallel;
use straggler_model::stats::median;
use straggler_model::stats::robust::WORKER;

/// Forward and backward times are correlated if the coefficient is at least this.
const TOGETHER: f64 = 0.7;
/// If all microbatches of a worker in a step take longer by more than this many standard deviations of lengths, the worker is
/// slow.
const BEYOND_CHANCE: f64 = WORKER.deviations;
/// If two steps of a worker differ by more than this many times the usual difference, lengths do not explain it.
const FAR_APART: f64 = 5.0;

/// How the microbatches of a worker vary within a step: sums of squares relative to the means, over all workers and steps.
#[derive(Clone, Copy, Default, Debug)]
pub struct Spread {
    /// The numbers of microbatches, of compared sets, and of steps summed over workers.
    count: f64,
    parts: f64,
    steps: f64,
    forward: f64,
    backward: f64,
    both: f64,
    /// For the sum of forward and backward.
    whole: f64,
}

impl Spread {
    fn and(self, other: Spread) -> Spread {
        Spread {
            count: self.count + other.count,
            parts: self.parts + other.parts,
            steps: self.steps + other.steps,
            forward: self.forward + other.forward,
            backward: self.backward + other.backward,
            both: self.both + other.both,
            whole: self.whole + other.whole,
        }
    }

    /// Adds a set of forward and backward times of a worker. They come from this many steps.
    fn add(&mut self, times: &[(f64, f64)], steps: usize) {
        let mean = |of: fn(&(f64, f64)) -> f64| times.iter().map(of).sum::<f64>() / times.len() as f64;
        let (forward, backward) = (mean(|of| of.0), mean(|of| of.1));
        if times.len() < 2 || forward <= 0.0 || backward <= 0.0 {
            return;
        }
        self.count += times.len() as f64;
        self.parts += 1.0;
        self.steps += steps as f64;
        for (own_forward, own_backward) in times {
            let (x, y) = (own_forward / forward - 1.0, own_backward / backward - 1.0);
            let whole = (own_forward + own_backward) / (forward + backward) - 1.0;
            self.forward += x * x;
            self.backward += y * y;
            self.both += x * y;
            self.whole += whole * whole;
        }
    }

    /// The variation over all steps.
    pub fn new(replays: &Replays<'_>) -> Spread {
        let job = replays.job;
        let named = |name: &str| job.kinds.iter().position(|kind| kind.name == name);
        let kinds = named("forward-compute").zip(named("backward-compute"));
        let times_of = |step: usize| {
            let Some((forward, backward)) = kinds else { return of_kernels(replays, step) };
            let columns = job.steps[step].columns as usize;
            let takes = replays.times[step].steady();
            let mut all: BTreeMap<(u32, usize), Vec<(f64, f64)>> = BTreeMap::new();
            for (worker, pairs) in pairs(job, step, forward, backward) {
                for column in 0..columns {
                    let time = |place: usize| takes[place * columns + column] as f64;
                    let times = pairs.iter().map(|&(one, other)| (time(one), time(other)));
                    all.insert((worker, column), times.collect());
                }
            }
            all
        };
        let of_step = |step: usize| {
            let mut spread = Spread::default();
            times_of(step).values().for_each(|times| spread.add(times, 1));
            spread
        };
        let sum = |all: Vec<Spread>| all.into_iter().fold(Spread::default(), Spread::and);
        let within = sum(parallel::map(job.steps.len(), of_step));
        if within.parts > 0.0 {
            return within;
        }
        // With one microbatch a step, it is compared with that of the next step.
        let of_two = |pair: usize| -> Vec<Spread> {
            let (first, second) = (times_of(2 * pair), times_of(2 * pair + 1));
            let mut spreads = Vec::new();
            for (worker, times) in &first {
                let next = second.get(worker).map_or(&[][..], Vec::as_slice);
                if let ([one], [other]) = (times.as_slice(), next) {
                    let mut spread = Spread::default();
                    spread.add(&[*one, *other], 2);
                    spreads.push(spread);
                }
            }
            spreads
        };
        let mut pairs: Vec<Spread> = parallel::flat_map(job.steps.len() / 2, of_two);
        // If a worker became slow between the two, lengths are not the reason.
        let usual = median(&mut pairs.iter().map(|pair| pair.whole).collect::<Vec<f64>>());
        pairs.retain(|pair| pair.whole <= FAR_APART * FAR_APART * usual);
        sum(pairs)
    }

    /// Whether pairs of steps were compared, because a worker has only one microbatch in each.
    fn is_of_steps(&self) -> bool {
        self.steps > self.parts
    }

    fn correlation(&self) -> Option<f64> {
        let squares = self.forward * self.backward;
        (squares > 0.0).then(|| self.both / squares.sqrt())
    }

    /// The most that a worker computes longer than the median of `others` workers of its stage by chance, in the mean of `steps`
    /// steps: `BEYOND_CHANCE` standard deviations of lengths.
    pub fn by_chance(&self, others: usize, steps: usize) -> f64 {
        // The variance of a median is that of a mean times π/2; of a single value, its own.
        let of_others = (std::f64::consts::FRAC_PI_2 / others.max(1) as f64).min(1.0);
        let deviations = BEYOND_CHANCE * self.of_a_step() * ((1.0 + of_others) / steps.max(1) as f64).sqrt();
        // With few steps the tails are long. Then deviations count on a logarithmic scale: half as long is as unusual as twice as
        // long.
        if steps < MANY { deviations.exp_m1() } else { deviations }
    }

    /// The standard deviation of a worker's computing time per step that lengths cause, as a share of that time.
    pub fn of_a_step(&self) -> f64 {
        let degrees = self.count - self.parts;
        if degrees > 0.0 { (self.whole / degrees * self.steps / self.count).sqrt() } else { 0.0 }
    }
}

/// By worker, if kernels are known but not microbatches: its computing time in a step before the backward pass, and from then on.
/// Without annotations, that of the first and the second half of its runs.
fn of_kernels(replays: &Replays<'_>, step: usize) -> BTreeMap<(u32, usize), Vec<(f64, f64)>> {
    let (job, takes) = (replays.job, replays.times[step].steady());
    let mut runs: BTreeMap<u32, Vec<(bool, f64)>> = BTreeMap::new();
    if job.steps[step].columns > 1 {
        return BTreeMap::new();
    }
    for (op, &takes) in job.shape(step).ops.iter().zip(takes) {
        let kind = &job.kinds[op.kind as usize];
        if kind.role == Role::Compute && kind.class != "optimizer" {
            runs.entry(op.worker).or_default().push((kind.class == "forward", takes as f64));
        }
    }
    let pair = |runs: &[(bool, f64)]| {
        let told = runs.iter().any(|run| run.0) && runs.iter().any(|run| !run.0);
        let is_first =
            |(place, run): &(usize, &(bool, f64))| if told { run.0 } else { 2 * place < runs.len() };
        let (first, second): (Vec<_>, Vec<_>) = runs.iter().enumerate().partition(is_first);
        let sum = |runs: Vec<(usize, &(bool, f64))>| runs.iter().map(|(_, run)| run.1).sum::<f64>();
        (sum(first), sum(second))
    };
    runs.into_iter().map(|(worker, runs)| ((worker, 0), vec![pair(&runs)])).collect()
}

/// By worker of a column: indices of the forward and backward operations of its microbatches.
fn pairs(job: &Job, step: usize, forward: usize, backward: usize) -> BTreeMap<u32, Vec<(usize, usize)>> {
    let mut of_microbatch: BTreeMap<(u32, i32, i32), [Option<usize>; 2]> = BTreeMap::new();
    for (place, op) in job.shape(step).ops.iter().enumerate().filter(|(_, op)| op.microbatch >= 0) {
        let is = [op.kind as usize == forward, op.kind as usize == backward];
        if let Some(which) = is.iter().position(|is| *is) {
            of_microbatch.entry((op.worker, op.microbatch, op.chunk)).or_default()[which] = Some(place);
        }
    }
    let mut pairs: BTreeMap<u32, Vec<(usize, usize)>> = BTreeMap::new();
    for ((worker, _, _), pair) in of_microbatch {
        if let [Some(one), Some(other)] = pair {
            pairs.entry(worker).or_default().push((one, other));
        }
    }
    pairs
}

impl CauseSearch<'_> {
    pub fn lengths(&self) -> Candidate<'_> {
        let job = self.replays.job;
        let is_compute: Vec<bool> = job.kinds.iter().map(|kind| kind.role == Role::Compute).collect();
        let beyond = BEYOND_CHANCE * self.spread.of_a_step();
        // A worker that is slow in some steps has a mean for these and one for the others.
        let is_slow = |worker: usize, step: usize| self.slow_in[worker].as_ref().is_some_and(|of| of[step]);
        // By worker and step: how many times as long all microbatches take, if lengths do not explain it; else 1.
        let slow: Vec<Vec<f64>> = parallel::map(job.workers.len(), |worker| {
            let relative = self.facts.against_itself(worker, |step| is_slow(worker, step));
            let kept = |of: f64| if beyond > 0.0 && (of - 1.0).abs() > beyond { of } else { 1.0 };
            relative.into_iter().map(kept).collect()
        });
        // By worker and kind, for workers that are slow in some steps: the means of the other steps and of these.
        let means: Vec<Vec<[Option<f64>; 2]>> = (0..job.workers.len())
            .map(|worker| match self.slow_in[worker].is_some() {
                false => Vec::new(),
                true => {
                    let of = |kind: usize, side: bool| {
                        self.facts.mean_where(worker, kind, |step| is_slow(worker, step) == side)
                    };
                    (0..job.kinds.len()).map(|kind| [of(kind, false), of(kind, true)]).collect()
                }
            })
            .collect();
        let repair = move |step: usize, at: &TimedOp<'_>| {
            let kind = at.op.kind as usize;
            let mean = match means[at.worker].get(kind) {
                Some(means) => means[usize::from(is_slow(at.worker, step))],
                None => self.facts.mean(at.worker, kind),
            };
            match mean.filter(|_| is_compute[kind]) {
                Some(mean) => ((mean * slow[at.worker][step]).round() as i64, at.delay),
                None => at.real(),
            }
        };
        let correlation = self.spread.correlation();
        // Without annotations, the passes are taken as the halves of what a worker computes in a step.
        let passes_known = job.kinds.iter().any(|kind| kind.class.starts_with("forward"));
        let is_high = correlation.is_some_and(|coefficient| coefficient >= TOGETHER);
        let finding = if is_high { Finding::SequenceLengths {} } else { Finding::Variation { passes_known } };
        let mut candidate = self.repaired(finding, repair);
        let evidence = &mut candidate.cause.evidence;
        if let Some(coefficient) = correlation {
            evidence.push(Evidence::Correlation {
                coefficient,
                is_high,
                samples: self.spread.count as u64,
                of_microbatches: job.is_table(),
                passes_known,
            });
            evidence.push(Evidence::Deviation {
                share: (self.spread.forward / (self.spread.count - self.spread.parts)).sqrt(),
                between_steps: self.spread.is_of_steps(),
                passes_known,
            });
        }
        if !passes_known && !is_high {
            evidence.push(Evidence::PassesUnknown);
        }
        candidate
    }
}
