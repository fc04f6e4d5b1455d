//! What slows a job: each cause that is known of, with its evidence and what removing it would win.

mod communication;
mod facts;
mod host;
mod lengths;
mod partition;
mod since;
mod slower;
mod start_up;
mod workers;

use super::{At, Replays, mean};
use facts::Facts;
use lengths::Spread;
use serde::Serialize;
use since::Rise;

pub use partition::Split;

/// Causes that win less than this are not told.
const WORTH_TELLING: f64 = 0.01;
/// Causes at most that are removed together.
const TOGETHER: usize = 3;
/// Steps at most that are replayed to choose the next of them.
const COMPARED: usize = 32;
/// A cause hides behind others if it wins so many times as much without them, and so much more: the first where something is
/// broken, the second where work is unequal, for then some of it shows whenever a slow worker is gone.
const WINS_MORE: f64 = 1.25;
const BROKEN: f64 = 0.01;
const UNEQUAL: f64 = 0.03;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CauseKind {
    /// Some workers take longer than others that do the same.
    Workers,
    /// Stages of the pipeline have unequal work.
    Partition,
    /// Microbatches are of unequal length.
    SequenceLengths,
    /// Computing time varies, and lengths do not explain it.
    Variation,
    /// Operations start late: the host is busy, or the worker begins its step late.
    LaunchDelay,
    DataLoading,
    GarbageCollection,
    Communication,
    /// The first steps take longer.
    StartUp,
    /// All workers take longer since a step.
    WholeJob,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Cause {
    pub kind: CauseKind,
    /// A sentence.
    pub says: String,
    pub evidence: Vec<String>,
    /// What to do about it.
    pub fix: String,
    /// The part of a step that is saved without it, and the seconds.
    pub gain: f64,
    pub seconds: f64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<u32>,
    /// The step that it began with, where it did not begin with the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since_step: Option<i64>,
    /// A step from that one on, in seconds: as it was, and without the cause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_since: Option<(f64, f64)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// What a step would win without this and what it hides behind, where it hides: the part of it, and the seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub with_others: Option<(f64, f64)>,
    /// What it hides behind: what these say.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hidden_behind: Vec<String>,
}

/// Times without a cause, from those that are given.
type Mend<'a> = Box<dyn Fn(usize, &At<'_>) -> (i64, i64) + Sync + 'a>;

/// A cause, worth telling or not, and the job without it.
struct Candidate<'a> {
    cause: Cause,
    mend: Mend<'a>,
    /// The steps without it, where they were replayed.
    steps: Vec<i64>,
}

/// What is looked at.
struct Looking<'a> {
    replays: &'a Replays<'a>,
    facts: Facts,
    /// How microbatches differ.
    spread: Spread,
    /// By stage: since when it computes longer.
    rises: Vec<Option<Rise>>,
    /// By kind: what a transfer usually takes.
    usual: Vec<communication::Usual>,
    /// The mean step, in picoseconds.
    real: f64,
}

impl Looking<'_> {
    /// What a step would win if times were as they are chosen here, in picoseconds.
    fn won(&self, choose: impl Fn(usize, &At<'_>) -> (i64, i64) + Sync) -> f64 {
        self.real - mean(&self.replays.all(choose))
    }

    /// A cause that is removed by times as they are chosen here.
    fn mended<'a>(
        &'a self,
        kind: CauseKind,
        says: String,
        mend: impl Fn(usize, &At<'_>) -> (i64, i64) + Sync + 'a,
    ) -> Candidate<'a> {
        let steps = self.replays.all(&mend);
        let won = self.real - mean(&steps);
        Candidate { steps, ..self.winning(kind, won, says, mend) }
    }

    /// The same, where it is known what is won.
    fn winning<'a>(
        &self,
        kind: CauseKind,
        won: f64,
        says: String,
        mend: impl Fn(usize, &At<'_>) -> (i64, i64) + Sync + 'a,
    ) -> Candidate<'a> {
        let cause = Cause {
            kind,
            says,
            evidence: Vec::new(),
            fix: String::new(),
            gain: self.share(won),
            seconds: won / 1e12,
            ranks: Vec::new(),
            since_step: None,
            step_since: None,
            class: None,
            with_others: None,
            hidden_behind: Vec::new(),
        };
        Candidate { cause, mend: Box::new(mend), steps: Vec::new() }
    }

    /// The part of a step.
    fn share(&self, picoseconds: f64) -> f64 {
        if self.real > 0.0 { picoseconds / self.real } else { 0.0 }
    }

    /// Every so many steps without several causes, one after the other. Means of lengths are those of times as they were, so that
    /// lengths come first.
    fn without(&self, causes: &[&Candidate<'_>], every: usize) -> Vec<i64> {
        let (lengths, others): (Vec<&Candidate<'_>>, Vec<&Candidate<'_>>) =
            causes.iter().partition(|candidate| candidate.cause.kind.is_of_lengths());
        self.replays.every(every, |step, at| {
            let mut at = *at;
            lengths.iter().chain(&others).for_each(|cause| (at.takes, at.delay) = (cause.mend)(step, &at));
            at.real()
        })
    }
}

/// What was found.
pub struct Found {
    pub causes: Vec<Cause>,
    pub split: Option<Split>,
}

/// All causes, the largest gain first, and behind them those that they hide. Workers are in the order of their slowdowns.
pub fn causes(replays: &Replays<'_>, order: &[usize], layers: Option<&[u32]>) -> Found {
    let steps = replays.all(|_, at| at.real());
    let spread = Spread::of(replays);
    let facts = Facts::of(replays, &spread);
    let rises = facts.rises();
    let usual = communication::usual(replays);
    let mut looking = Looking { replays, facts, spread, rises, usual, real: mean(&steps) };
    let slow = looking.slow_ones(order);
    let looking = looking;
    let split = layers.and_then(|layers| looking.split(layers));
    let mut found: Vec<Candidate<'_>> = Vec::new();
    found.extend(looking.slow_workers(order, slow));
    found.extend(looking.became_slower(&steps));
    found.extend(looking.partition(split.as_ref()));
    found.push(looking.lengths());
    found.push(looking.launches());
    found.extend(looking.stalls());
    found.extend(looking.communication());
    found.extend(looking.start_up(&steps));
    found.sort_by(|a, b| b.cause.gain.total_cmp(&a.cause.gain).then(a.cause.kind.cmp(&b.cause.kind)));
    looking.find_hidden(&mut found);
    found.iter_mut().for_each(|found| found.tell_steps_since(replays, &steps));
    let is_told = |cause: &Cause| cause.gain >= WORTH_TELLING || cause.with_others.is_some();
    Found { causes: found.into_iter().map(|found| found.cause).filter(is_told).collect(), split }
}

impl Looking<'_> {
    /// Removes the largest cause, and of the others the one that wins most then, and so on. One that wins little by itself hides.
    fn find_hidden(&self, found: &mut [Candidate<'_>]) {
        let mut removed = match found.first() {
            Some(first) if first.cause.gain >= WORTH_TELLING => vec![0],
            _ => return,
        };
        let mut so_far = 1e12 * found[0].cause.seconds;
        // Those that are not worth telling, with the others or alone.
        let mut passed = Vec::new();
        while removed.len() + passed.len() < TOGETHER {
            let without = |next: usize, every: usize| {
                let all: Vec<&Candidate<'_>> =
                    removed.iter().chain([&next]).map(|&place| &found[place]).collect();
                mean(&self.without(&all, every))
            };
            let others = (0..found.len()).filter(|place| !removed.contains(place) && !passed.contains(place));
            let least = |place: &usize| found[*place].cause.kind.hides_from();
            // Some steps tell which cause it is, all of them what it wins.
            let every = self.replays.job.steps.len().div_ceil(COMPARED);
            let left =
                others.filter(|place| least(place).is_some()).map(|place| (without(place, every), place));
            let Some((some, next)) = left.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))) else {
                return;
            };
            let won = self.real - if every == 1 { some } else { without(next, 1) };
            let (more, alone) = (self.share(won - so_far), found[next].cause.gain.max(0.0));
            if more < WORTH_TELLING {
                return;
            }
            let hides = more >= WINS_MORE * alone && least(&next).is_some_and(|least| more - alone >= least);
            if !hides && alone < WORTH_TELLING {
                passed.push(next);
                continue;
            }
            if hides {
                let behind = removed.iter().map(|&place| found[place].cause.says.clone()).collect();
                found[next].cause.hidden_behind = behind;
                found[next].cause.with_others = Some((self.share(won), won / 1e12));
            }
            removed.push(next);
            so_far = won;
        }
    }
}

impl Candidate<'_> {
    /// Steps before a cause began dilute what it costs.
    fn tell_steps_since(&mut self, replays: &Replays<'_>, steps: &[i64]) {
        let since = self.cause.since_step.filter(|_| self.steps.len() == steps.len());
        let from = since.and_then(|since| replays.job.steps.iter().position(|step| step.number == since));
        self.cause.step_since =
            from.map(|from| (mean(&steps[from..]) / 1e12, mean(&self.steps[from..]) / 1e12));
    }
}

impl CauseKind {
    /// How much more it wins at least without something else that it hides behind; nothing where it hides behind nothing.
    fn hides_from(self) -> Option<f64> {
        match self {
            CauseKind::StartUp => None,
            CauseKind::Partition | CauseKind::SequenceLengths | CauseKind::Variation => Some(UNEQUAL),
            _ => Some(BROKEN),
        }
    }

    fn is_of_lengths(self) -> bool {
        matches!(self, CauseKind::SequenceLengths | CauseKind::Variation)
    }
}

/// A time for people.
fn time(picoseconds: f64) -> String {
    straggler_model::Time(picoseconds.max(0.0).round() as u64).to_string()
}

fn percent(share: f64) -> String {
    if share < 0.1 { format!("{:.1} %", 100.0 * share) } else { format!("{:.0} %", 100.0 * share) }
}
