//! Operations that took absurdly long once: a node that hung, or a wrong value in the recording. A single one would distort the
//! mean of its worker and the variation of its times. So they are found first, and all statistics exclude them.

use super::by_kind::ByKind;
use super::times::StepTimes;
use super::{Replays, TimedOp};
use crate::Job;
use std::collections::{BTreeMap, BTreeSet};
use straggler_model::stats::median;

/// An accident takes at least this many times as long as usual.
const FAR: i64 = 20;
/// It takes at least 1/`OF_A_STEP` of a typical step.
const OF_A_STEP: i64 = 2;
/// At most one in this many operations of a kind on a worker may be an accident; more are a pattern. `FEWEST_STEPS` are needed to
/// tell.
const OF_SO_MANY: usize = 10;
const FEWEST_STEPS: usize = 5;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Once {
    pub step: usize,
    /// Its index in the shape of the step, and its column.
    pub place: usize,
    pub column: usize,
    pub takes: i64,
    pub usual: i64,
}

impl Replays<'_> {
    /// The usual duration of an operation that took absurdly long once. `None` for all others.
    pub fn once_usual(&self, step: usize, at: &TimedOp<'_>) -> Option<i64> {
        let times = &self.times[step];
        if times.steady.is_empty() {
            return None;
        }
        let columns = self.job.steps[step].columns as usize;
        let place = at.place * columns + at.worker / (self.job.workers.len() / columns);
        (times.steady[place] != times.takes[place]).then_some(times.steady[place])
    }
}

/// Finds accidents, and writes the usual durations into [`StepTimes::steady`].
pub fn find(job: &Job, times: &mut [StepTimes], by_kind: &ByKind) -> Vec<Once> {
    let typical = median(&mut times.iter().map(|times| times.recorded).collect::<Vec<i64>>());
    let least = (typical / OF_A_STEP).max(1);
    // Garbage collection stops workers now and then: that is a cause of its own.
    let kinds = (0..job.kinds.len()).filter(|&kind| job.kinds[kind].name != "gc");
    let mut found: Vec<Once> = match times.len() >= FEWEST_STEPS {
        true => kinds.flat_map(|kind| of_kind(job, times, by_kind, kind, least)).collect(),
        false => Vec::new(),
    };
    // What happens to many workers in the same step is not an accident of one.
    let mut by_step: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for once in &found {
        let worker = job.worker(once.step, once.column, once.place);
        by_step.entry(once.step).or_default().insert(worker);
    }
    found.retain(|once| 2 * by_step[&once.step].len() < job.workers.len().max(3));
    for once in &found {
        let times = &mut times[once.step];
        if times.steady.is_empty() {
            times.steady.clone_from(&times.takes);
        }
        times.steady[once.place * job.steps[once.step].columns as usize + once.column] = once.usual;
    }
    found
}

fn of_kind(job: &Job, times: &[StepTimes], by_kind: &ByKind, kind: usize, least: i64) -> Vec<Once> {
    let each = || {
        (0..job.steps.len()).flat_map(|step| {
            let columns = job.steps[step].columns as usize;
            let places = by_kind.places(job, step, kind);
            places.flat_map(move |place| {
                (0..columns)
                    .map(move |column| (step, place, column, times[step].takes[place * columns + column]))
            })
        })
    };
    // Usually there is none, and this check is cheap.
    if each().all(|(.., takes)| takes < least) {
        return Vec::new();
    }
    let stage = |step: usize, place: usize, column: usize| job.workers[job.worker(step, column, place)].stage;
    let mut by_stage: BTreeMap<u32, Vec<i64>> = BTreeMap::new();
    for (step, place, column, takes) in each() {
        by_stage.entry(stage(step, place, column)).or_default().push(takes);
    }
    let usual: BTreeMap<u32, i64> =
        by_stage.iter_mut().map(|(stage, takes)| (*stage, median(takes))).collect();
    // A collective is as slow as its slowest member, and does not show who that is.
    let is_of_many = |step: usize, place: usize| {
        let graph = &job.shape(step).graph;
        let columns = |group: usize| if graph.wide[group] { job.steps[step].columns as usize } else { 1 };
        graph
            .group(place)
            .is_some_and(|group| graph.groups.get(group as usize).len() * columns(group as usize) > 2)
    };
    let mut by_worker: BTreeMap<usize, Vec<Once>> = BTreeMap::new();
    let long = each().filter(|(.., takes)| *takes >= least);
    for (step, place, column, takes) in long.filter(|(step, place, ..)| !is_of_many(*step, *place)) {
        let usual = usual.get(&stage(step, place, column)).copied().unwrap_or(takes);
        if takes >= usual.saturating_mul(FAR) {
            let once = Once { step, place, column, takes, usual };
            by_worker.entry(job.worker(step, column, place)).or_default().push(once);
        }
    }
    let mut all: BTreeMap<usize, usize> = BTreeMap::new();
    for (step, place, column, _) in each() {
        let worker = job.worker(step, column, place);
        if by_worker.contains_key(&worker) {
            *all.entry(worker).or_default() += 1;
        }
    }
    let is_rare = |(worker, found): &(usize, Vec<Once>)| OF_SO_MANY * found.len() <= all[worker];
    by_worker.into_iter().filter(is_rare).flat_map(|(_, found)| found).collect()
}
