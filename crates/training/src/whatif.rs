//! Replays a job with other workers, links and noise.
//!
//! ```text
//! Scenario ─► draws: whom each fault hits ─► Hit (faults by worker) ─► every step replayed ─► Outcome
//! ```
//! A draw depends only on the seed and its number, so any draw can be repeated.

mod copies;
mod draw;

pub use crate::exact::Healthy;
use crate::exact::{Meet, Replays, Scratch, TimedOp, record, replay_disturbed};
use crate::{Job, Role, Row, derive};
pub use copies::{CopyError, copied};
use draw::Hit;
pub(crate) use draw::{SlowLink, slowed_by};
use std::cell::Cell;
use straggler_model::parallel;
use straggler_model::{Rank, Time};
use straggler_noise::{Injection, Noise, QuietUntil};

/// A fault of workers. It holds from its step on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fault {
    pub whom: Whom,
    pub what: Effect,
    /// The number of a step in the recording; `None` for the first.
    pub from_step: Option<i64>,
}

/// The workers that a fault hits.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Whom {
    Rank(u32),
    /// One worker, chosen at random in each draw.
    Any,
    /// Each worker, with this probability.
    Each(f64),
}

/// What a fault does to a worker.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Effect {
    /// Computing takes this many times as long.
    Slow(f64),
    /// Transfers of the worker take this many times as long: all of them, because a collective is as slow as its slowest member,
    /// or only those between it and one other rank.
    Link { times: f64, with: Option<u32> },
    /// The host launches the first computation of every step this many picoseconds later.
    Stall(i64),
    /// The worker and its data-parallel rank are lost. The others continue with fewer samples.
    Lost,
    /// It computes no longer than typical workers of its stage do in the same step, or did before the whole stage became slower;
    /// its host launches as usual, and its transfers take no longer than usual.
    Repaired,
}

/// A changed job: faults, noise, and the seed of what is random.
#[derive(Clone, Debug, Default)]
pub struct Scenario {
    /// Applied in this order, each to the result of the ones before.
    pub faults: Vec<Fault>,
    /// Applied to all operations except transfers.
    pub noise: Option<Injection>,
    pub seed: u64,
}

/// Why a change cannot be applied to the job.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ScenarioError {
    #[error("there is no rank {rank}: the job has {first} to {last}; the nearest is {nearest}")]
    NoRank { rank: u32, first: u32, last: u32, nearest: u32 },
    #[error("there is no step {step}: the job has {first} to {last}")]
    NoStep { step: i64, first: i64, last: i64 },
    #[error("no transfer involves only ranks {rank} and {other}")]
    NoLink { rank: u32, other: u32 },
    #[error(
        "no transfer involves only rank {other} and one other rank: name two ranks that send to each other, or just rank \
         {other} for all its transfers"
    )]
    NoPartner { other: u32 },
    #[error(
        "{}, so there is none to slow down",
        rank.map_or("the job has no transfers".into(), |rank| format!("rank {rank} takes part in no transfer"))
    )]
    NoTransfers { rank: Option<u32> },
    #[error(
        "a table needs the same workers in all its steps, but a data-parallel rank is lost at step {step}: lose it at the first \
         step, {first}"
    )]
    LostLater { step: i64, first: i64 },
    #[error("no data-parallel rank would be left: the job has {dp_ranks}")]
    NobodyLeft { dp_ranks: usize },
    #[error("step {step} would take more than 50 days: use smaller faults")]
    TooLong { step: i64 },
}

/// The result of a draw.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// The duration of every step, in picoseconds.
    pub steps: Vec<i64>,
    /// By step: the samples that are trained, as a share of those of the recorded job.
    pub samples: Vec<f64>,
    /// Whether the time or delay of any operation differs from the recording.
    pub differs: bool,
    /// The ranks that faults hit, each with the index of its fault; including those of [`Whom::Rank`].
    pub hit: Vec<(usize, u32)>,
}

/// The longest step that a scenario may give, in picoseconds: about 50 days. Prevents overflow.
const LONGEST: i64 = 1 << 62;

impl Scenario {
    /// The first step in which anything may change; `None` if that is the first of the job.
    pub fn from_step(&self) -> Option<i64> {
        match self.noise {
            Some(_) => None,
            None => self.faults.iter().map(|fault| fault.from_step).min().flatten(),
        }
    }

    /// Checks that the job has the ranks, steps and links that the scenario names.
    pub fn check(&self, job: &Job) -> Result<(), ScenarioError> {
        let numbers = |of: &dyn Fn(u32, u32) -> u32| {
            job.workers
                .iter()
                .filter(|worker| worker.recorded)
                .map(|worker| worker.rank)
                .reduce(of)
                .unwrap_or(0)
        };
        let (first, last) = (numbers(&u32::min), numbers(&u32::max));
        let steps = job.steps.first().zip(job.steps.last());
        let known = |rank: u32| match draw::place(job, rank) {
            Some(place) => Ok(place),
            None => {
                let recorded = job.workers.iter().filter(|worker| worker.recorded).map(|worker| worker.rank);
                let near = recorded.min_by_key(|other| other.abs_diff(rank));
                Err(ScenarioError::NoRank { rank, first, last, nearest: near.unwrap_or(first) })
            }
        };
        for fault in &self.faults {
            let rank = if let Whom::Rank(rank) = fault.whom { Some(rank) } else { None };
            rank.map(known).transpose()?;
            if let Effect::Link { with, .. } = fault.what {
                with.map(known).transpose()?;
                let named: Vec<usize> = rank.and_then(|rank| draw::place(job, rank)).into_iter().collect();
                let whom = if rank.is_some() { named } else { draw::recorded(job) };
                if draw::able(job, &whom, &fault.what).is_empty() {
                    return Err(match (rank, with) {
                        (Some(rank), Some(other)) => ScenarioError::NoLink { rank, other },
                        (None, Some(other)) => ScenarioError::NoPartner { other },
                        (rank, None) => ScenarioError::NoTransfers { rank },
                    });
                }
            }
            if let (Some(step), Some((first, last))) = (fault.from_step, steps)
                && !(first.number..=last.number).contains(&step)
            {
                return Err(ScenarioError::NoStep { step, first: first.number, last: last.number });
            }
        }
        Ok(())
    }

    /// Replays a draw.
    pub fn outcome(&self, replays: &Replays<'_>, draw: u32) -> Result<Outcome, ScenarioError> {
        self.outcome_told(replays, self.healthy(replays).as_ref(), draw, &|| {})
    }

    /// Replays a draw and calls `done` after each step. `healthy` comes from [`Scenario::healthy`].
    pub fn outcome_told<'a>(
        &self,
        replays: &'a Replays<'a>,
        healthy: Option<&Healthy<'a>>,
        draw: u32,
        done: &(dyn Fn() + Sync),
    ) -> Result<Outcome, ScenarioError> {
        let hit = Hit::drawn(self, replays.job, draw)?;
        let begins = begins(replays);
        let steps = parallel::map_with(replays.job.steps.len(), Scratch::default, |room, step| {
            let base = Base { draw, step, begin: begins[step], healthy };
            let replayed = self.step(replays, &hit, base, room);
            done();
            replayed
        });
        let steps: Result<Vec<(i64, bool)>, ScenarioError> = steps.into_iter().collect();
        let (steps, differ): (Vec<i64>, Vec<bool>) = steps?.into_iter().unzip();
        let differs = differ.contains(&true);
        Ok(Outcome { steps, samples: hit.samples(replays.job), differs, hit: hit.whom })
    }

    /// The rows of the first draw without lost workers. Later data-parallel ranks move up.
    pub fn rows(&self, replays: &Replays<'_>) -> Result<Vec<Row>, ScenarioError> {
        let job = replays.job;
        let lost = Hit::drawn(self, job, 0)?.lost_at_once(job)?;
        let mut rows = derive::rows(&self.changed(replays)?);
        rows.retain(|row| !lost.contains(&row.dp_rank));
        for row in &mut rows {
            row.dp_rank -= lost.range(..row.dp_rank).count() as u32;
        }
        Ok(rows)
    }

    /// The first draw as a job, as a recording would show it. Operations of lost workers take no time.
    pub fn changed(&self, replays: &Replays<'_>) -> Result<Job, ScenarioError> {
        let hit = Hit::drawn(self, replays.job, 0)?;
        let mut job = replays.job.clone();
        job.synthetic = true;
        let mut room = Scratch::default();
        let healthy = self.healthy(replays);
        for (step, begin) in begins(replays).into_iter().enumerate() {
            self.step(replays, &hit, Base { draw: 0, step, begin, healthy: healthy.as_ref() }, &mut room)?;
            record(&mut job, step, &room);
        }
        Ok(job)
    }

    /// The times of healthy workers, if the scenario mends any.
    pub fn healthy<'a>(&self, replays: &'a Replays<'a>) -> Option<Healthy<'a>> {
        self.faults.iter().any(|fault| fault.what == Effect::Repaired).then(|| Healthy::new(replays))
    }

    /// How long a step takes, and whether anything differs from the recording.
    fn step<'a>(
        &self,
        replays: &'a Replays<'a>,
        hit: &'a Hit,
        base: Base<'a>,
        room: &mut Scratch,
    ) -> Result<(i64, bool), ScenarioError> {
        let (job, step) = (replays.job, base.step);
        let too_long = || ScenarioError::TooLong { step: job.steps[step].number };
        let of_step = hit.in_step(replays, base.healthy, step);
        let differs = Cell::new(false);
        replays.fill(step, room, &|at: &TimedOp<'_>| {
            let times = of_step.times(at);
            differs.set(differs.get() || times != at.real());
            times
        });
        room.absent = (0..job.workers.len()).map(|place| of_step.is_lost(place)).collect();
        let columns = job.steps[step].columns as usize;
        let longest = |times: &[i64]| times.iter().copied().max().unwrap_or(0);
        let both = room.takes.chunks(columns).chain(room.delays.chunks(columns));
        let sum: i128 = both.map(|times| i128::from(longest(times))).sum();
        if sum > i128::from(LONGEST) {
            return Err(too_long());
        }
        let shape = job.shape(step);
        let noise = self.noise.as_ref().map(|noise| noise.of_replica(base.draw));
        let mut disturb = |op: usize, column: usize, start: i64, end: i64| {
            let of = &shape.ops[op];
            let role = job.kinds[of.kind as usize].role;
            let place = job.worker(step, column, op);
            let Some(noise) = &noise else { return 0 };
            if role == Role::Communication || end <= start || of_step.is_lost(place) {
                return 0;
            }
            let rank: Rank = job.workers[place].rank;
            let at = |time: i64| Time(base.begin.saturating_add(time.max(0) as u64));
            // Operations of a worker come in the order of the graph, not of time.
            let mut quiet = QuietUntil::UNKNOWN;
            let noise =
                i64::try_from(noise.charge(rank, &mut quiet, at(start), at(end)).ps()).unwrap_or(LONGEST);
            differs.set(differs.get() || noise > 0);
            noise
        };
        let takes = replay_disturbed(job, shape, columns, Meet::All, room, &mut disturb)[0];
        Ok((takes, differs.get()))
    }
}

/// A step of a draw, and when it began in the recorded job: noise continues across steps.
#[derive(Clone, Copy)]
struct Base<'a> {
    draw: u32,
    step: usize,
    begin: u64,
    healthy: Option<&'a Healthy<'a>>,
}

fn begins(replays: &Replays<'_>) -> Vec<u64> {
    let takes = replays.times.iter().map(|times| times.recorded.max(0) as u64);
    let after = |now: &mut u64, takes: u64| {
        let began = *now;
        *now = began.saturating_add(takes);
        Some(began)
    };
    takes.scan(0, after).collect()
}
