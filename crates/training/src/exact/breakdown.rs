//! What workers do during a step: they compute, communicate, wait for their hosts, or are idle.

use super::Replays;
use super::causes::blamed_delays;
use crate::times;
use serde::Serialize;
use straggler_model::parallel;

/// Mean seconds of a step. All but `overlapped` add up to the step.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Breakdown {
    pub computing: f64,
    /// Communication, and waiting for its partners, while nothing is computed.
    pub exposed: f64,
    /// Communication while something is computed.
    pub overlapped: f64,
    /// Data loading, garbage collection, and launches that come too late, while nothing else happens.
    pub host: f64,
    pub idle: f64,
}

/// Breakdowns by rank, over all steps, and by step, over all ranks.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Breakdowns {
    pub all: Breakdown,
    pub by_rank: Vec<(u32, Breakdown)>,
    pub by_step: Vec<(i64, Breakdown)>,
}

/// Picoseconds of a worker in a step, in the order of [`Breakdown`].
type Parts = [i64; 5];

pub fn breakdowns(replays: &Replays<'_>) -> Breakdowns {
    let (job, blamed) = (replays.job, blamed_delays(replays.job));
    // By step and worker; `None` for workers not recorded in the step.
    let parts: Vec<Vec<Option<Parts>>> =
        parallel::map(job.steps.len(), |step| of_step(replays, step, &blamed));
    let by_step = job.steps.iter().zip(&parts);
    let recorded = (0..job.workers.len()).filter(|&worker| job.workers[worker].recorded);
    Breakdowns {
        all: mean(parts.iter().flatten().flatten()),
        by_rank: recorded
            .map(|worker| (job.workers[worker].rank, mean(parts.iter().filter_map(|of| of[worker].as_ref()))))
            .collect(),
        by_step: by_step.map(|(step, of)| (step.number, mean(of.iter().flatten()))).collect(),
    }
}

fn mean<'a>(parts: impl Iterator<Item = &'a Parts>) -> Breakdown {
    let (mut sums, mut count) = ([0i128; 5], 0);
    for parts in parts {
        count += 1;
        sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum += i128::from(*part));
    }
    let [computing, exposed, overlapped, host, idle] =
        sums.map(|sum| sum as f64 / 1e12 / f64::from(count.max(1)));
    Breakdown { computing, exposed, overlapped, host, idle }
}

/// The parts of a step, by worker. `blamed` tells for each kind whether its host is to blame for late starts.
fn of_step(replays: &Replays<'_>, step: usize, blamed: &[bool]) -> Vec<Option<Parts>> {
    let (job, of) = (replays.job, &replays.times[step]);
    let (shape, columns, span) = (job.shape(step), job.steps[step].columns as usize, of.recorded);
    // How much later than usual the host launches an operation.
    let launched_late = |place: usize, column: usize| {
        let op = &shape.ops[place];
        let delay = of.delays[place * columns + column] - of.carried_by(job, step, place, column);
        if blamed[op.kind as usize] { (delay - replays.ideal.delay(op)).max(0) } else { 0 }
    };
    let mut places: Vec<Vec<u32>> = vec![Vec::new(); job.workers.len() / columns];
    (0..).zip(&shape.ops).for_each(|(place, op)| places[op.worker as usize].push(place));
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    let mut of_worker = |column: usize, own: &[u32]| {
        times.iter_mut().for_each(Vec::clear);
        let mut late = 0i64;
        for &place in own {
            let instance = job.instance(step, column, place as usize);
            let idle = job.idle_ps.get(instance).copied().unwrap_or(0);
            late = late.saturating_add(idle.max(launched_late(place as usize, column)));
            let role = job.kinds[shape.ops[place as usize].kind as usize].role;
            let (start, takes) = (job.start[instance], job.duration[instance]);
            if takes > 0 {
                times[role as usize].push((start, start.saturating_add(takes)));
            }
        }
        let [computes, communicates, hosts] = &mut times;
        let computing = merge(computes);
        let communicating = merge(communicates);
        computes.extend_from_slice(communicates);
        let busy = merge(computes);
        computes.append(hosts);
        let all = merge(computes);
        let free = span.saturating_sub(all).max(0);
        let late = late.min(free);
        let overlapped = computing.saturating_add(communicating).saturating_sub(busy);
        [computing, busy - computing, overlapped, (all - busy).saturating_add(late), free - late]
    };
    let mut parts = Vec::with_capacity(job.workers.len());
    for column in 0..columns {
        parts.extend(places.iter().map(|own| (!own.is_empty()).then(|| of_worker(column, own))));
    }
    parts
}

/// Joins times that overlap. Returns their total.
fn merge(times: &mut Vec<(i64, i64)>) -> i64 {
    times::join(times);
    times.iter().fold(0, |sum, &(start, end)| sum.saturating_add(end.saturating_sub(start)))
}
