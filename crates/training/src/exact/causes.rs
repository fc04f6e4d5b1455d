//! What slows a job: every known cause, with its evidence and the gain from removing it.

mod accidents;
mod bound;
mod communication;
mod facts;
mod finding;
mod healthy;
mod host;
mod lengths;
mod partition;
mod random;
mod since;
mod slower;
mod start_up;
mod workers;

use super::{Replays, TimedOp, mean};
use crate::Job;
use facts::Facts;
use lengths::Spread;
use serde::Serialize;
use since::Rise;
use workers::Slow;

pub use finding::{
    Change, Evidence, Finding, HostActivity, OperationName, OperationTime, Order, Period, StallCost,
};
pub use healthy::Healthy;
pub use host::blamed_delays;
pub use partition::Split;

/// Causes with a smaller gain are not reported.
const WORTH_REPORTING: f64 = 0.01;
/// The maximum number of causes that are removed together.
const TOGETHER: usize = 3;
/// The maximum number of steps that are replayed to choose the next of them.
const COMPARED: usize = 32;
/// A cause hides behind others if removing them multiplies its gain by this factor, and adds this share of a step to it: `HIDDEN_FAULT`
/// for faults, `HIDDEN_WORK` for unequal work, some of which becomes visible whenever a slow worker is removed.
const HIDDEN_FACTOR: f64 = 1.25;
const HIDDEN_FAULT: f64 = 0.01;
const HIDDEN_WORK: f64 = 0.03;

/// What slows a job.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CauseKind {
    /// Some workers take longer than others with the same work.
    Workers,
    /// Any worker takes longer now and then.
    RandomStalls,
    /// Stages of the pipeline have unequal work.
    Partition,
    /// Microbatches are of unequal length.
    SequenceLengths,
    /// Computing time varies, and lengths do not explain it.
    Variation,
    /// Operations start late: the host is busy, or the worker begins its step late.
    LaunchDelay,
    /// In every step, GPUs wait until their hosts launch the next kernel.
    HostBound,
    DataLoading,
    GarbageCollection,
    Communication,
    /// The first steps take longer.
    StartUp,
    /// All workers take longer from some step on.
    WholeJob,
    /// An operation took absurdly long, once.
    OneOff,
}

/// A cause, its evidence, and what removing it saves.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Cause {
    pub kind: CauseKind,
    #[serde(flatten)]
    pub finding: Finding,
    #[serde(rename = "facts")]
    pub evidence: Vec<Evidence>,
    /// The time per step that removing it saves: as a share of a step, and in seconds.
    pub gain: f64,
    pub seconds: f64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<u32>,
    /// The node, or another place, that these ranks have to themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// The step in which it began, unless that is the first. A cause of a single step always has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since_step: Option<i64>,
    /// The step in which it ended, unless that is the last. A cause of a single step always has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until_step: Option<i64>,
    /// The mean step between these two, in seconds: as recorded, and without the cause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_since: Option<(f64, f64)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// The gain from removing this cause together with those it hides behind, if any: as a share of a step, and in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub with_others: Option<(f64, f64)>,
    /// The indices of the causes it hides behind.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hidden_behind: Vec<usize>,
}

impl Cause {
    /// A cause of all steps that is not hidden.
    pub fn new(finding: Finding, gain: f64, seconds: f64) -> Cause {
        Cause {
            kind: finding.kind(),
            finding,
            evidence: Vec::new(),
            gain,
            seconds,
            ranks: Vec::new(),
            place: None,
            since_step: None,
            until_step: None,
            step_since: None,
            class: None,
            with_others: None,
            hidden_behind: Vec::new(),
        }
    }
}

/// Returns the times of an operation without the cause.
type Repair<'a> = Box<dyn Fn(usize, &TimedOp<'_>) -> (i64, i64) + Sync + 'a>;

/// A cause, reported or not, and how to remove it.
struct Candidate<'a> {
    cause: Cause,
    repair: Repair<'a>,
    /// The durations of steps without it; empty if they were not replayed.
    steps: Vec<i64>,
}

/// The state of the search for causes.
struct CauseSearch<'a> {
    replays: &'a Replays<'a>,
    facts: Facts,
    /// How microbatches differ.
    spread: Spread,
    /// By stage: the step since which it computes longer.
    rises: Vec<Option<Rise>>,
    /// By worker: in which steps it is slow, if it is slow in some.
    slow_in: Vec<Option<Vec<bool>>>,
    /// By kind: what a transfer usually takes.
    usual: Vec<communication::Usual>,
    /// The mean step in picoseconds, with and without accidents: a single accident would make every other cause look small.
    real: f64,
    usual_step: f64,
}

impl<'a> CauseSearch<'a> {
    /// `real` is the mean step, in picoseconds.
    fn at(replays: &'a Replays<'a>, real: f64) -> CauseSearch<'a> {
        let spread = Spread::new(replays);
        let facts = Facts::new(replays, &spread);
        let rises = facts.rises();
        let usual = communication::usual(replays);
        let usual_step = if replays.once.is_empty() { real } else { mean(&replays.all(steady(replays))) };
        let slow_in = vec![None; replays.job.workers.len()];
        CauseSearch { replays, facts, spread, rises, slow_in, usual, real, usual_step }
    }
}

impl CauseSearch<'_> {
    /// The gain per step with the chosen times, in picoseconds.
    fn gain_ps(&self, choose: impl Fn(usize, &TimedOp<'_>) -> (i64, i64) + Sync) -> f64 {
        self.real - mean(&self.replays.all(choose))
    }

    /// A cause that `repair` removes.
    fn repaired<'a>(
        &'a self,
        finding: Finding,
        repair: impl Fn(usize, &TimedOp<'_>) -> (i64, i64) + Sync + 'a,
    ) -> Candidate<'a> {
        let repair = self.without_accidents(finding.kind(), repair);
        let steps = self.replays.all(&repair);
        let gain_ps = self.real - mean(&steps);
        Candidate { steps, ..self.winning(gain_ps, finding, repair) }
    }

    /// Accidents are a cause of their own, so other causes gain nothing from repairing them.
    fn without_accidents<'a>(
        &'a self,
        kind: CauseKind,
        repair: impl Fn(usize, &TimedOp<'_>) -> (i64, i64) + Sync + 'a,
    ) -> impl Fn(usize, &TimedOp<'_>) -> (i64, i64) + Sync + 'a {
        move |step, at| match kind != CauseKind::OneOff && self.replays.once_usual(step, at).is_some() {
            true => at.real(),
            false => repair(step, at),
        }
    }

    /// Like `repaired`, with a known gain.
    fn winning<'a>(
        &self,
        gain_ps: f64,
        finding: Finding,
        repair: impl Fn(usize, &TimedOp<'_>) -> (i64, i64) + Sync + 'a,
    ) -> Candidate<'a> {
        let cause = Cause::new(finding, self.share(gain_ps), gain_ps / 1e12);
        Candidate { cause, repair: Box::new(repair), steps: Vec::new() }
    }

    /// The numbers of steps given by index.
    fn numbers(&self, steps: &[usize]) -> Vec<i64> {
        steps.iter().map(|&place| self.replays.job.steps[place].number).collect()
    }

    /// A time as a share of the mean step.
    fn share(&self, picoseconds: f64) -> f64 {
        if self.real > 0.0 { picoseconds / self.real } else { 0.0 }
    }

    /// A time as a share of the mean step without accidents. Decides whether a cause is reported.
    fn worth(&self, picoseconds: f64) -> f64 {
        if self.usual_step > 0.0 { picoseconds / self.usual_step } else { 0.0 }
    }

    /// Replays every `every`-th step without several causes, removed one after the other. Lengths come first, because their means
    /// are those of recorded times.
    fn without(&self, causes: &[&Candidate<'_>], every: usize) -> Vec<i64> {
        let (lengths, others): (Vec<&Candidate<'_>>, Vec<&Candidate<'_>>) =
            causes.iter().partition(|candidate| candidate.cause.kind.is_of_lengths());
        self.replays.every(every, |step, at| {
            let mut at = *at;
            lengths.iter().chain(&others).for_each(|cause| (at.takes, at.delay) = (cause.repair)(step, &at));
            at.real()
        })
    }
}

/// By worker: in which steps it is slow.
fn slow_in(replays: &Replays<'_>, slow: &[Slow]) -> Vec<Option<Vec<bool>>> {
    let mut slow_in = vec![None; replays.job.workers.len()];
    for slow in slow {
        slow_in[slow.worker] = Some((0..replays.job.steps.len()).map(|step| slow.holds(step)).collect());
    }
    slow_in
}

/// Times without accidents.
fn steady<'a>(replays: &'a Replays<'a>) -> impl Fn(usize, &TimedOp<'_>) -> (i64, i64) + Sync + 'a {
    |step, at| match replays.once_usual(step, at) {
        Some(usual) => (usual, at.delay),
        None => at.real(),
    }
}

/// The causes, and the best split of the layers.
pub struct Found {
    pub causes: Vec<Cause>,
    pub split: Option<Split>,
}

/// All causes, the largest gain first, including those hidden behind others. `order` has the workers in order of slowdown.
pub fn causes(replays: &Replays<'_>, order: &[usize], layers: Option<&[u32]>) -> Found {
    let steps = replays.all(|_, at| at.real());
    let mut looking = CauseSearch::at(replays, mean(&steps));
    let slow = looking.slow_ones(order);
    looking.slow_in = slow_in(replays, &slow);
    let looking = looking;
    let split = layers.and_then(|layers| looking.split(layers));
    let mut found: Vec<Candidate<'_>> = Vec::new();
    found.extend(looking.accidents());
    let (slow, random) = looking.without_random(order, slow);
    found.extend(looking.slow_workers(order, slow));
    found.extend(looking.random_stalls(order, random));
    found.extend(looking.became_slower(&steps));
    found.extend(looking.partition(split.as_ref()));
    found.push(looking.lengths());
    let launches = looking.launches();
    let mut steady_steps = if replays.once.is_empty() { steps.clone() } else { replays.all(steady(replays)) };
    launches.leave_out_of(replays.job, &mut steady_steps);
    found.push(launches);
    found.extend(looking.host_bound());
    found.extend(looking.stalls());
    found.extend(looking.communication());
    found.extend(looking.start_up(&steady_steps));
    found.sort_by(|a, b| b.cause.gain.total_cmp(&a.cause.gain).then(a.cause.kind.cmp(&b.cause.kind)));
    looking.find_hidden(&mut found);
    found.iter_mut().for_each(|found| found.add_steps_since(replays, &steps));
    let causes: Vec<Cause> = found.into_iter().map(|found| found.cause).collect();
    Found {
        causes: only(causes, |cause| {
            looking.worth(1e12 * cause.seconds) >= WORTH_REPORTING || cause.with_others.is_some()
        }),
        split,
    }
}

/// Keeps some causes. What hides a cause is kept, and still found by its index.
fn only(causes: Vec<Cause>, keep: impl Fn(&Cause) -> bool) -> Vec<Cause> {
    let kept: Vec<usize> = (0..causes.len()).filter(|&place| keep(&causes[place])).collect();
    let mut causes: Vec<Cause> = causes.into_iter().filter(keep).collect();
    for cause in &mut causes {
        cause.hidden_behind =
            cause.hidden_behind.iter().filter_map(|place| kept.binary_search(place).ok()).collect();
    }
    causes
}

impl CauseSearch<'_> {
    /// Removes the largest cause, then of the others the one with the largest gain, and so on. A cause that gains much more this
    /// way than alone was hidden.
    fn find_hidden(&self, found: &mut [Candidate<'_>]) {
        let mut removed = match found.first() {
            Some(first) if self.worth(1e12 * first.cause.seconds) >= WORTH_REPORTING => vec![0],
            _ => return self.find_joint(found, &[]),
        };
        let mut so_far = 1e12 * found[0].cause.seconds;
        // Causes that are not reported: too small alone, and not hidden.
        let mut passed = Vec::new();
        while removed.len() < TOGETHER {
            let without = |next: usize, every: usize| {
                let all: Vec<&Candidate<'_>> =
                    removed.iter().chain([&next]).map(|&place| &found[place]).collect();
                mean(&self.without(&all, every))
            };
            let others = (0..found.len()).filter(|place| !removed.contains(place) && !passed.contains(place));
            let least = |place: &usize| found[*place].cause.kind.least_hidden_gain();
            // A sample of the steps selects the cause; all steps determine its gain.
            let every = self.replays.job.steps.len().div_ceil(COMPARED);
            let left =
                others.filter(|place| least(place).is_some()).map(|place| (without(place, every), place));
            let Some((some, next)) = left.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))) else {
                break;
            };
            let gain_ps = self.real - if every == 1 { some } else { without(next, 1) };
            let alone = self.worth(1e12 * found[next].cause.seconds).max(0.0);
            let more = self.worth(gain_ps - so_far);
            if more < WORTH_REPORTING {
                // A cause in few of the steps may look larger in the sample than it is, and another be hidden.
                let base: Vec<&Candidate<'_>> = removed.iter().map(|&place| &found[place]).collect();
                if every == 1 || self.worth(mean(&self.without(&base, every)) - some) < WORTH_REPORTING {
                    break;
                }
                passed.push(next);
                continue;
            }
            let hides =
                more >= HIDDEN_FACTOR * alone && least(&next).is_some_and(|least| more - alone >= least);
            if !hides && alone < WORTH_REPORTING {
                passed.push(next);
                continue;
            }
            if hides {
                found[next].cause.hidden_behind.clone_from(&removed);
                found[next].cause.with_others = Some((self.share(gain_ps), gain_ps / 1e12));
            }
            removed.push(next);
            so_far = gain_ps;
        }
        self.find_joint(found, &removed);
    }
}

impl CauseSearch<'_> {
    /// Finds faults that hide each other once the `removed` are gone: removing one saves next to nothing, because the
    /// others take as long. Removes all of them, then drops those that add nothing to the gain.
    fn find_joint(&self, found: &mut [Candidate<'_>], removed: &[usize]) {
        let is_fault = |place: &usize| {
            found[*place].cause.kind.least_hidden_gain() == Some(HIDDEN_FAULT) && !removed.contains(place)
        };
        let mut together: Vec<usize> = (0..found.len()).filter(is_fault).collect();
        // A sample of the steps selects the causes; all steps determine their gain.
        let every = self.replays.job.steps.len().div_ceil(COMPARED);
        let left = |places: &[usize], every: usize| {
            let all: Vec<&Candidate<'_>> = removed.iter().chain(places).map(|&place| &found[place]).collect();
            mean(&self.without(&all, every))
        };
        let alone = |place: usize| 1e12 * found[place].cause.seconds.max(0.0);
        let real = left(&[], every);
        let gain_ps = |places: &[usize]| real - left(places, every);
        let mut all = gain_ps(&together);
        if together.len() < 2 || self.worth(all) < WORTH_REPORTING {
            return;
        }
        for place in together.clone().into_iter().rev() {
            let others: Vec<usize> = together.iter().copied().filter(|&other| other != place).collect();
            let without = gain_ps(&others);
            if self.worth(all - without) < HIDDEN_FAULT.max(HIDDEN_FACTOR * self.worth(alone(place))) {
                (together, all) = (others, without);
            }
        }
        // What each saves alone is not hidden.
        let all = left(&together, 1);
        let more = left(&[], 1) - all;
        let alone: f64 = together.iter().map(|&place| alone(place)).sum();
        if together.len() < 2 || self.worth(more) < WORTH_REPORTING || self.worth(more - alone) < HIDDEN_FAULT
        {
            return;
        }
        let all = self.real - all;
        for &place in &together {
            let behind = removed.iter().chain(&together).copied().filter(|&other| other != place);
            found[place].cause.with_others = Some((self.share(all), all / 1e12));
            found[place].cause.hidden_behind = behind.collect();
        }
    }
}

impl Candidate<'_> {
    /// Takes a cause that lasted for one step on some ranks out of the durations of steps: it is no start-up as well.
    fn leave_out_of(&self, job: &Job, steps: &mut [i64]) {
        let lasted = self.cause.since_step.filter(|_| self.cause.since_step == self.cause.until_step);
        let lasted = lasted.filter(|_| !self.cause.ranks.is_empty());
        let place = lasted.and_then(|number| job.steps.iter().position(|step| step.number == number));
        if let Some((place, &without)) = place.and_then(|place| Some((place, self.steps.get(place)?))) {
            steps[place] = steps[place].min(without);
        }
    }

    /// Adds the mean step while the cause lasts. The mean over all steps understates its cost.
    fn add_steps_since(&mut self, replays: &Replays<'_>, steps: &[i64]) {
        let place = |of: Option<i64>| {
            of.and_then(|number| replays.job.steps.iter().position(|step| step.number == number))
        };
        let from = place(self.cause.since_step).or(self.cause.until_step.map(|_| 0));
        let from = from.filter(|_| self.steps.len() == steps.len());
        let to = place(self.cause.until_step).map_or(steps.len(), |last| last + 1);
        self.cause.step_since =
            from.map(|from| (mean(&steps[from..to]) / 1e12, mean(&self.steps[from..to]) / 1e12));
    }
}

impl CauseKind {
    /// The minimum additional gain of a hidden cause once the others are removed. `None` for causes that never hide.
    fn least_hidden_gain(self) -> Option<f64> {
        match self {
            CauseKind::StartUp => None,
            CauseKind::Partition | CauseKind::SequenceLengths | CauseKind::Variation => Some(HIDDEN_WORK),
            _ => Some(HIDDEN_FAULT),
        }
    }

    fn is_of_lengths(self) -> bool {
        matches!(self, CauseKind::SequenceLengths | CauseKind::Variation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_causes_keep_what_hides_them() {
        let cause = |gain: f64, hidden_behind: &[usize]| Cause {
            hidden_behind: hidden_behind.to_vec(),
            ..Cause::new(Finding::LaunchDelay {}, gain, gain)
        };
        let all = vec![cause(0.5, &[]), cause(0.001, &[]), cause(0.2, &[0]), cause(0.1, &[0, 2])];
        let behind: Vec<Vec<usize>> =
            only(all, |cause| cause.gain > 0.01).into_iter().map(|cause| cause.hidden_behind).collect();
        assert_eq!(behind, [vec![], vec![0], vec![0, 1]]);
    }
}
