//! Whom the faults of a draw hit, and what that makes of times.

use super::{Fault, Scenario, ScenarioError, What, Whom};
use crate::exact::{At, Replays};
use crate::{Job, Role};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use straggler_model::philox::Stream;

/// The stream of draws that belongs to faults; noise uses those of its own sources.
const OF_FAULTS: u32 = 1 << 20;

/// The place of a rank in the job.
pub fn place(job: &Job, rank: u32) -> Option<usize> {
    job.workers.iter().position(|worker| worker.rank == rank && worker.recorded)
}

/// The places of all workers that were recorded.
pub fn recorded(job: &Job) -> Vec<usize> {
    (0..job.workers.len()).filter(|&place| job.workers[place].recorded).collect()
}

/// Workers that a fault can hit: a link needs two ends, and transfers between them.
pub fn able(job: &Job, places: &[usize], what: &What) -> Vec<usize> {
    let What::Link { with, .. } = *what else { return places.to_vec() };
    let other = with.and_then(|rank| place(job, rank));
    if with.is_some() && other.is_none() {
        return Vec::new();
    }
    places.iter().copied().filter(|&place| transfers(job, place, other)).collect()
}

/// Whether a worker transfers anything, with one other alone where that is given.
fn transfers(job: &Job, one: usize, other: Option<usize>) -> bool {
    // Steps of a shape are alike.
    let mut seen = BTreeSet::new();
    let mut steps =
        (0..job.steps.len()).filter(|&step| seen.insert((job.steps[step].shape, job.steps[step].columns)));
    other != Some(one) && steps.any(|step| Partners::new(job, step).groups(one, other).next().is_some())
}

/// The faults of a draw, by worker.
pub struct Hit {
    /// Places of workers, and their faults in the order of the scenario.
    by_worker: BTreeMap<usize, Vec<Fault>>,
    /// Data-parallel ranks that are gone, and since which step.
    lost: BTreeMap<u32, Option<i64>>,
    /// As [`super::Outcome::hit`].
    pub whom: Vec<(usize, u32)>,
}

impl Hit {
    pub fn drawn(scenario: &Scenario, job: &Job, draw: u32) -> Result<Hit, ScenarioError> {
        let all = recorded(job);
        let mut hit = Hit { by_worker: BTreeMap::new(), lost: BTreeMap::new(), whom: Vec::new() };
        for (number, fault) in scenario.faults.iter().enumerate() {
            let mut random = Stream::new(scenario.seed, draw, number as u32, OF_FAULTS);
            let places: Vec<usize> = match fault.whom {
                Whom::Rank(rank) => place(job, rank).into_iter().collect(),
                Whom::Any => {
                    let able = able(job, &all, &fault.what);
                    able.get(random.below(able.len() as u64) as usize).copied().into_iter().collect()
                }
                Whom::Each(probability) => {
                    let drawn =
                        all.iter().copied().filter(|_| random.unit() < probability).collect::<Vec<usize>>();
                    able(job, &drawn, &fault.what)
                }
            };
            for place in places {
                let worker = &job.workers[place];
                hit.whom.push((number, worker.rank));
                hit.by_worker.entry(place).or_default().push(*fault);
                if fault.what == What::Lost {
                    let since = hit.lost.entry(worker.dp_rank).or_insert(fault.from_step);
                    // Nothing is before every number.
                    *since = (*since).min(fault.from_step);
                }
            }
        }
        let dp_ranks = recorded_dp_ranks(job);
        if !hit.lost.is_empty() && hit.lost.len() == dp_ranks {
            return Err(ScenarioError::NobodyLeft { dp_ranks });
        }
        Ok(hit)
    }

    /// Data-parallel ranks that are gone from the first step on.
    ///
    /// # Errors
    /// One that is lost later.
    pub fn lost_at_once(&self, job: &Job) -> Result<BTreeSet<u32>, ScenarioError> {
        let first = job.steps.first().map_or(0, |step| step.number);
        match self.lost.values().flatten().find(|&&step| step > first) {
            Some(&step) => Err(ScenarioError::LostLater { step, first }),
            None => Ok(self.lost.keys().copied().collect()),
        }
    }

    /// The share of the samples that is still trained, by step.
    pub fn samples(&self, job: &Job) -> Vec<f64> {
        let dp_ranks = recorded_dp_ranks(job);
        let gone = |step: i64| self.lost.values().filter(|since| holds(**since, step)).count();
        job.steps.iter().map(|step| 1.0 - gone(step.number) as f64 / dp_ranks.max(1) as f64).collect()
    }

    pub fn in_step<'a>(&'a self, replays: &'a Replays<'a>, step: usize) -> InStep<'a> {
        let job = replays.job;
        let number = job.steps[step].number;
        let lost: Vec<u32> =
            self.lost.iter().filter(|(_, since)| holds(**since, number)).map(|(rank, _)| *rank).collect();
        let columns = job.steps[step].columns as usize;
        let mut links: Vec<SlowLink> = Vec::new();
        for (&place, faults) in &self.by_worker {
            for fault in faults.iter().filter(|fault| holds(fault.from_step, number)) {
                let What::Link { times, with } = fault.what else { continue };
                let other = with.and_then(|rank| self::place(job, rank));
                if [Some(place), other]
                    .into_iter()
                    .flatten()
                    .any(|place| lost.contains(&job.workers[place].dp_rank))
                {
                    continue;
                }
                links.push(SlowLink { worker: place, with: other, times });
            }
        }
        let links = if links.is_empty() { Vec::new() } else { slowed_by(job, step, &links) };
        InStep { hit: self, replays, number, columns, lost, links, first: first_computations(job, step) }
    }
}

/// Data-parallel ranks of which anything was recorded.
fn recorded_dp_ranks(job: &Job) -> usize {
    let recorded = job.workers.iter().filter(|worker| worker.recorded);
    recorded.map(|worker| worker.dp_rank).collect::<BTreeSet<u32>>().len()
}

fn holds(since: Option<i64>, step: i64) -> bool {
    since.is_none_or(|since| step >= since)
}

/// The first computation of every worker in a step: its place in the shape. A worker that is alone begins its steps with it, so
/// that nobody would see it late: there it is the second.
fn first_computations(job: &Job, step: usize) -> Vec<Option<u32>> {
    let shape = job.shape(step);
    let alone = job.workers.iter().filter(|worker| worker.recorded).count() == 1;
    let mut computations: Vec<Vec<(i64, u32)>> = vec![Vec::new(); job.workers.len()];
    for instance in job.instances(step) {
        let at = instance - job.steps[step].first;
        let (column, op) = (at / shape.ops.len(), at % shape.ops.len());
        if job.kinds[shape.ops[op].kind as usize].role == Role::Compute {
            computations[job.worker(step, column, op)].push((job.start[instance], op as u32));
        }
    }
    let first = |mut of: Vec<(i64, u32)>| {
        let earliest = of.iter().copied().min()?;
        if alone && of.len() > 1 {
            of.retain(|own| *own != earliest);
        }
        of.into_iter().min().map(|(_, op)| op)
    };
    computations.into_iter().map(first).collect()
}

/// Faults that hold in a step.
pub struct InStep<'a> {
    hit: &'a Hit,
    replays: &'a Replays<'a>,
    number: i64,
    columns: usize,
    lost: Vec<u32>,
    /// What links do, by operation and column; empty where all are as they were.
    links: Vec<f64>,
    first: Vec<Option<u32>>,
}

impl InStep<'_> {
    pub fn is_lost(&self, place: usize) -> bool {
        !self.lost.is_empty() && self.lost.contains(&self.replays.job.workers[place].dp_rank)
    }

    /// How long an operation takes, and how late it starts. Who is lost holds nobody up.
    pub fn times(&self, at: &At<'_>) -> (i64, i64) {
        if self.is_lost(at.worker) {
            return (0, 0);
        }
        let (mut takes, mut delay) = at.real();
        let faults = self.hit.by_worker.get(&at.worker).into_iter().flatten();
        for fault in faults.filter(|fault| holds(fault.from_step, self.number)) {
            let kind = at.op.kind;
            let role = self.replays.job.kinds[kind as usize].role;
            match fault.what {
                What::Slow(times) if role == Role::Compute => takes = scaled(takes, times),
                What::Stall(late) if self.first[at.worker] == Some(at.place as u32) => {
                    delay = delay.saturating_add(late);
                }
                What::Mended => {
                    let stage = self.replays.job.workers[at.worker].stage;
                    takes = self.replays.stage_ideal.takes(stage, at.op);
                    delay = at.ideal_delay;
                }
                _ => {}
            }
        }
        let column = at.worker / (self.replays.job.workers.len() / self.columns);
        let link = self.links.get(at.place * self.columns + column).copied().unwrap_or(1.0);
        (scaled(takes, link), delay)
    }
}

/// Rounded; as it is for a factor of 1.
fn scaled(time: i64, times: f64) -> i64 {
    if times == 1.0 { time } else { (time as f64 * times).round() as i64 }
}

/// Transfers of a worker, or those with one other alone, that take so many times as long. Workers are places in the job.
pub(crate) struct SlowLink {
    pub worker: usize,
    pub with: Option<usize>,
    pub times: f64,
}

/// How many times as long transfers take, by operation and column, for all who take part in them. What is said of one worker
/// multiplies; of several slow workers in a transfer the slowest decides. Links of a worker are neighbours in the list.
pub(crate) fn slowed_by(job: &Job, step: usize, links: &[SlowLink]) -> Vec<f64> {
    let columns = job.steps[step].columns as usize;
    let mut all: Vec<Option<f64>> = vec![None; job.shape(step).ops.len() * columns];
    for of_worker in links.chunk_by(|one, other| one.worker == other.worker) {
        let mut own: BTreeMap<usize, f64> = BTreeMap::new();
        for link in of_worker {
            let partners = Partners::new(job, step);
            partners.each(link.worker, link.with, |at| *own.entry(at).or_insert(1.0) *= link.times);
        }
        for (at, times) in own {
            all[at] = Some(all[at].map_or(times, |other| times.max(other)));
        }
    }
    all.into_iter().map(|times| times.unwrap_or(1.0)).collect()
}

/// Which workers transfer together in a step.
struct Partners<'a> {
    job: &'a Job,
    step: usize,
    columns: usize,
    per_column: usize,
}

impl<'a> Partners<'a> {
    fn new(job: &'a Job, step: usize) -> Partners<'a> {
        let columns = job.steps[step].columns as usize;
        Partners { job, step, columns, per_column: job.workers.len() / columns }
    }

    /// Groups in which one worker transfers, or those of it and another alone, with their columns.
    fn groups(&self, one: usize, other: Option<usize>) -> impl Iterator<Item = (usize, Range<usize>)> {
        let shape = self.job.shape(self.step);
        let own = |place: usize| (place / self.per_column, (place % self.per_column) as u32);
        let column = own(one).0;
        (0..shape.graph.groups.len()).filter_map(move |group| {
            let members = shape.graph.groups.of(group);
            let wide = shape.graph.wide[group];
            let has = |place: usize| members.iter().any(|&op| shape.ops[op as usize].worker == own(place).1);
            let size = members.len() * if wide { self.columns } else { 1 };
            let both = other.is_none_or(|other| size == 2 && has(other) && (wide || own(other).0 == column));
            let takes_part = has(one) && both && size > 1;
            takes_part.then(|| (group, if wide { 0..self.columns } else { column..column + 1 }))
        })
    }

    /// Visits every operation of these, by operation and column.
    fn each(&self, one: usize, other: Option<usize>, mut visit: impl FnMut(usize)) {
        for (group, columns) in self.groups(one, other) {
            let members = self.job.shape(self.step).graph.groups.of(group);
            for column in columns {
                members.iter().for_each(|&op| visit(op as usize * self.columns + column));
            }
        }
    }
}
