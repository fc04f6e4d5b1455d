//! A job as it would be with other workers, links and noise.
//!
//! ```text
//! Scenario ─► draws: whom each fault hits ─► Hit (faults by worker) ─► every step replayed ─► Outcome
//! ```
//! A draw depends on the seed and its number alone, so that any of them can be looked at again.

mod copies;
mod draw;

use crate::exact::{At, Meet, Replays, Room, record, replay_disturbed};
use crate::{Job, Role, Row, derive};
pub use copies::{CopyError, copied};
use draw::Hit;
pub(crate) use draw::{SlowLink, slowed_by};
use rayon::prelude::*;
use straggler_model::noise::{Injection, Noise, QuietUntil};
use straggler_model::{Rank, Time};

/// What happens to workers. Each holds from its step on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fault {
    pub whom: Whom,
    pub what: What,
    /// The number of a step as the recording has it; from the first on where nothing is said.
    pub from_step: Option<i64>,
}

/// Whom a fault hits.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Whom {
    Rank(u32),
    /// One worker, drawn anew every time.
    Any,
    /// Each worker, with this probability.
    Each(f64),
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum What {
    /// Computing takes so many times as long.
    Slow(f64),
    /// Transfers that the worker takes part in take so many times as long: all of them, as a collective is as slow as its
    /// slowest member, or those between it and one other rank.
    Link { times: f64, with: Option<u32> },
    /// The host launches the first computation of every step later by so many picoseconds.
    Stall(i64),
    /// The worker is gone, and its data-parallel rank with it; the others go on with fewer samples.
    Lost,
    /// All its times are those of a typical worker of its stage.
    Mended,
}

#[derive(Clone, Debug, Default)]
pub struct Scenario {
    /// A later one is applied to what the earlier ones have left.
    pub faults: Vec<Fault>,
    /// On everything that is no transfer.
    pub noise: Option<Injection>,
    pub seed: u64,
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ScenarioError {
    #[error("there is no rank {rank}: the job has {first} to {last}, and {nearest} is the nearest")]
    NoRank { rank: u32, first: u32, last: u32, nearest: u32 },
    #[error("there is no step {step}: the job has {first} to {last}")]
    NoStep { step: i64, first: i64, last: i64 },
    #[error("there is no transfer between ranks {rank} and {other} alone")]
    NoLink { rank: u32, other: u32 },
    #[error(
        "no rank transfers anything with rank {other} alone: name two ranks that send to each other, or rank {other} by itself \
         for all its transfers"
    )]
    NoPartner { other: u32 },
    #[error("{} takes part in no transfer, so that none can take longer", rank.map_or("no rank".into(), |rank| format!("rank {rank}")))]
    NoTransfers { rank: Option<u32> },
    #[error(
        "a table needs the same workers in all its steps, and a data-parallel rank is lost at step {step}: lose it from the first step \
         on, which is step {first}"
    )]
    LostLater { step: i64, first: i64 },
    #[error("no data-parallel rank is left to go on: the job has {dp_ranks}")]
    NobodyLeft { dp_ranks: usize },
    #[error("step {step} would take longer than 50 days: make faults smaller")]
    TooLong { step: i64 },
}

/// A draw, replayed.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// Every step, in picoseconds.
    pub steps: Vec<i64>,
    /// By step: the samples that are trained, as a share of those of the job as it was.
    pub samples: Vec<f64>,
    /// Ranks that faults hit, by fault; those of [`Whom::Rank`] as well.
    pub hit: Vec<(usize, u32)>,
}

/// Time that a scenario may add without overflow, in picoseconds: 50 days.
const LONGEST: i64 = 1 << 62;

impl Scenario {
    /// The first step in which anything may change, where that is not the first of all.
    pub fn from_step(&self) -> Option<i64> {
        match self.noise {
            Some(_) => None,
            None => self.faults.iter().map(|fault| fault.from_step).min().flatten(),
        }
    }

    /// Whether the job has the ranks, steps and links that are named.
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
            if let What::Link { with, .. } = fault.what {
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
        self.outcome_told(replays, draw, &|| {})
    }

    /// Replays a draw, and tells of every step that is done.
    pub fn outcome_told(
        &self,
        replays: &Replays<'_>,
        draw: u32,
        done: &(dyn Fn() + Sync),
    ) -> Result<Outcome, ScenarioError> {
        let hit = Hit::drawn(self, replays.job, draw)?;
        let begins = begins(replays);
        let steps: Result<Vec<i64>, ScenarioError> = (0..replays.job.steps.len())
            .into_par_iter()
            .map_init(Room::default, |room, step| {
                let takes = self.step(replays, &hit, Base { draw, step, begin: begins[step] }, room);
                done();
                takes
            })
            .collect();
        Ok(Outcome { steps: steps?, samples: hit.samples(replays.job), hit: hit.whom })
    }

    /// The rows of the first draw, without workers that are lost: data-parallel ranks behind them move up.
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

    /// The first draw as a job: what its recording would be. Workers that are lost take no time there.
    pub fn changed(&self, replays: &Replays<'_>) -> Result<Job, ScenarioError> {
        let hit = Hit::drawn(self, replays.job, 0)?;
        let mut job = replays.job.clone();
        job.synthetic = true;
        let mut room = Room::default();
        for (step, begin) in begins(replays).into_iter().enumerate() {
            self.step(replays, &hit, Base { draw: 0, step, begin }, &mut room)?;
            record(&mut job, step, &room);
        }
        Ok(job)
    }

    fn step(
        &self,
        replays: &Replays<'_>,
        hit: &Hit,
        base: Base,
        room: &mut Room,
    ) -> Result<i64, ScenarioError> {
        let (job, step) = (replays.job, base.step);
        let too_long = || ScenarioError::TooLong { step: job.steps[step].number };
        let of_step = hit.in_step(replays, step);
        replays.fill(step, room, Meet::All, &|at: &At<'_>| of_step.times(at));
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
            i64::try_from(noise.charge(rank, &mut quiet, at(start), at(end)).ps()).unwrap_or(LONGEST)
        };
        Ok(replay_disturbed(job, shape, columns, Meet::All, room, &mut disturb)[0])
    }
}

/// A step of a draw, and when it began in the job as recorded: noise goes on from step to step.
#[derive(Clone, Copy)]
struct Base {
    draw: u32,
    step: usize,
    begin: u64,
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
