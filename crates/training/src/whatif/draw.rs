//! Determines which workers the faults of a draw hit, and the resulting times.

use super::{Effect, Fault, Scenario, ScenarioError, Whom};
use crate::exact::{Healthy, Replays, TimedOp};
use crate::{Job, Role};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use straggler_model::philox::Stream;

/// The random stream of faults. Noise uses those of its own sources.
const OF_FAULTS: u32 = 1 << 20;

/// The index of a rank's worker in the job.
pub fn place(job: &Job, rank: u32) -> Option<usize> {
    job.workers.iter().position(|worker| worker.rank == rank && worker.recorded)
}

/// The indices of all recorded workers.
pub fn recorded(job: &Job) -> Vec<usize> {
    (0..job.workers.len()).filter(|&place| job.workers[place].recorded).collect()
}

/// The workers that a fault can hit: a link fault needs a worker with transfers.
pub fn able(job: &Job, places: &[usize], what: &Effect) -> Vec<usize> {
    let Effect::Link { with, .. } = *what else { return places.to_vec() };
    let other = with.and_then(|rank| place(job, rank));
    if with.is_some() && other.is_none() {
        return Vec::new();
    }
    places.iter().copied().filter(|&place| transfers(job, place, other)).collect()
}

/// Whether a worker has transfers; if `other` is given, transfers between only these two.
fn transfers(job: &Job, one: usize, other: Option<usize>) -> bool {
    // Steps of the same shape are alike.
    let mut seen = BTreeSet::new();
    let mut steps =
        (0..job.steps.len()).filter(|&step| seen.insert((job.steps[step].shape, job.steps[step].columns)));
    other != Some(one) && steps.any(|step| Partners::new(job, step).groups(one, other).next().is_some())
}

/// The faults of a draw, by worker.
pub struct Hit {
    /// By index of the worker: its faults in the order of the scenario.
    by_worker: BTreeMap<usize, Vec<Fault>>,
    /// Lost data-parallel ranks, and the step since which they are lost.
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
                if fault.what == Effect::Lost {
                    let since = hit.lost.entry(worker.dp_rank).or_insert(fault.from_step);
                    // `None` is less than every number.
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

    /// Data-parallel ranks that are lost from the first step on.
    ///
    /// # Errors
    /// A rank is lost later.
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

    /// The faults that hold in a step. `healthy` is required if workers are mended.
    pub fn in_step<'a>(
        &'a self,
        replays: &'a Replays<'a>,
        healthy: Option<&'a Healthy<'a>>,
        step: usize,
    ) -> InStep<'a> {
        let job = replays.job;
        let number = job.steps[step].number;
        let lost: Vec<u32> =
            self.lost.iter().filter(|(_, since)| holds(**since, number)).map(|(rank, _)| *rank).collect();
        let columns = job.steps[step].columns as usize;
        let mut links: Vec<SlowLink> = Vec::new();
        let mut mended = BTreeSet::new();
        for (&place, faults) in &self.by_worker {
            for fault in faults.iter().filter(|fault| holds(fault.from_step, number)) {
                if fault.what == Effect::Repaired {
                    // This also undoes earlier faults of its links.
                    links.retain(|link| link.worker != place);
                    let is_blamed =
                        |members| healthy.is_some_and(|healthy| healthy.is_blamed(place, members));
                    Partners::new(job, step).each(place, None, is_blamed, |at| {
                        mended.insert(at);
                    });
                }
                let Effect::Link { times, with } = fault.what else { continue };
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
        let first = first_computations(job, step);
        InStep { hit: self, replays, healthy, step, number, columns, lost, links, mended, first }
    }
}

/// The number of data-parallel ranks with a recorded worker.
fn recorded_dp_ranks(job: &Job) -> usize {
    let recorded = job.workers.iter().filter(|worker| worker.recorded);
    recorded.map(|worker| worker.dp_rank).collect::<BTreeSet<u32>>().len()
}

fn holds(since: Option<i64>, step: i64) -> bool {
    since.is_none_or(|since| step >= since)
}

/// By worker: the index of its first computation in the shape of a step. If only one worker was recorded, the second: the first
/// begins the step, so its delay would not show.
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

/// The faults that hold in a step.
pub struct InStep<'a> {
    hit: &'a Hit,
    replays: &'a Replays<'a>,
    healthy: Option<&'a Healthy<'a>>,
    step: usize,
    number: i64,
    columns: usize,
    lost: Vec<u32>,
    /// Slowdowns of transfers, by operation and column; empty if no link has a fault.
    links: Vec<f64>,
    /// Transfers that take no longer than usual, by operation and column.
    mended: BTreeSet<usize>,
    first: Vec<Option<u32>>,
}

impl InStep<'_> {
    pub fn is_lost(&self, place: usize) -> bool {
        !self.lost.is_empty() && self.lost.contains(&self.replays.job.workers[place].dp_rank)
    }

    /// How long an operation takes, and how late it starts. A lost worker delays no others.
    pub fn times(&self, at: &TimedOp<'_>) -> (i64, i64) {
        if self.is_lost(at.worker) {
            return (0, 0);
        }
        let (mut takes, mut delay) = at.real();
        let column = at.worker / (self.replays.job.workers.len() / self.columns);
        let place = at.place * self.columns + column;
        if let Some(healthy) = self.healthy.filter(|_| self.mended.contains(&place)) {
            takes = healthy.transfer(self.step, at);
        }
        let faults = self.hit.by_worker.get(&at.worker).into_iter().flatten();
        for fault in faults.filter(|fault| holds(fault.from_step, self.number)) {
            let kind = at.op.kind;
            let role = self.replays.job.kinds[kind as usize].role;
            match fault.what {
                Effect::Slow(times) if role == Role::Compute => takes = scaled(takes, times),
                Effect::Stall(late) if self.first[at.worker] == Some(at.place as u32) => {
                    delay = delay.saturating_add(late);
                }
                Effect::Repaired => {
                    let Some(healthy) = self.healthy else { continue };
                    match role {
                        Role::Communication => delay = healthy.times(self.step, at).1,
                        _ => (takes, delay) = healthy.times(self.step, at),
                    }
                }
                _ => {}
            }
        }
        let link = self.links.get(place).copied().unwrap_or(1.0);
        (scaled(takes, link), delay)
    }
}

/// Scales a time and rounds it. A factor of 1 leaves it unchanged.
fn scaled(time: i64, times: f64) -> i64 {
    if times == 1.0 { time } else { (time as f64 * times).round() as i64 }
}

/// A slowdown of all transfers of a worker, or of those between it and one other. Workers are indices into the job's workers.
pub(crate) struct SlowLink {
    pub worker: usize,
    pub with: Option<usize>,
    pub times: f64,
}

/// How many times as long transfers take, by operation and column, for all members. Factors of the same worker multiply; of
/// several slow workers in a transfer, the slowest counts. `links` of the same worker must be adjacent.
pub(crate) fn slowed_by(job: &Job, step: usize, links: &[SlowLink]) -> Vec<f64> {
    let columns = job.steps[step].columns as usize;
    let mut all: Vec<Option<f64>> = vec![None; job.shape(step).ops.len() * columns];
    for of_worker in links.chunk_by(|one, other| one.worker == other.worker) {
        let mut own: BTreeMap<usize, f64> = BTreeMap::new();
        for link in of_worker {
            let partners = Partners::new(job, step);
            partners.each(link.worker, link.with, |_| true, |at| *own.entry(at).or_insert(1.0) *= link.times);
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

    /// The groups with a worker, or those of only this worker and another, with their columns.
    fn groups(&self, one: usize, other: Option<usize>) -> impl Iterator<Item = (usize, Range<usize>)> {
        let shape = self.job.shape(self.step);
        let own = |place: usize| (place / self.per_column, (place % self.per_column) as u32);
        let column = own(one).0;
        (0..shape.graph.groups.len()).filter_map(move |group| {
            let members = shape.graph.groups.get(group);
            let wide = shape.graph.wide[group];
            let has = |place: usize| members.iter().any(|&op| shape.ops[op as usize].worker == own(place).1);
            let size = members.len() * if wide { self.columns } else { 1 };
            let both = other.is_none_or(|other| size == 2 && has(other) && (wide || own(other).0 == column));
            let takes_part = has(one) && both && size > 1;
            takes_part.then(|| (group, if wide { 0..self.columns } else { column..column + 1 }))
        })
    }

    /// Visits every operation of these groups, by operation and column, if `wanted` accepts the number of members.
    fn each(
        &self,
        one: usize,
        other: Option<usize>,
        wanted: impl Fn(usize) -> bool,
        mut visit: impl FnMut(usize),
    ) {
        for (group, columns) in self.groups(one, other) {
            let members = self.job.shape(self.step).graph.groups.get(group);
            if !wanted(members.len() * columns.len()) {
                continue;
            }
            for column in columns {
                members.iter().for_each(|&op| visit(op as usize * self.columns + column));
            }
        }
    }
}
