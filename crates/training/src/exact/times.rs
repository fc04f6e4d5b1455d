//! The times of a replay: how long operations take, and how late they start.

use crate::Job;
use straggler_model::parallel;

/// The times of a step, by operation and then by column, in picoseconds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StepTimes {
    /// The duration of an operation; of one in a group, from the moment when all members have started.
    pub takes: Vec<i64>,
    /// Like `takes`, with the usual duration for operations that took absurdly long once. Empty if none did.
    pub steady: Vec<i64>,
    /// The time from the end of what an operation waits for to its start.
    pub delays: Vec<i64>,
    /// The recorded time from the first start to the last end, without delays carried over from the previous step.
    pub recorded: i64,
    /// By worker: how much later than the first it ended the previous step, and so began this one. Empty if the previous step was
    /// not recorded.
    pub carried: Vec<i64>,
    /// Transfers that end before all members have started: clocks differ by at least this much.
    pub early_ends: Cut,
    /// Operations that start before what they wait for on the same worker has ended: they overlap.
    pub overlap: Cut,
}

impl StepTimes {
    /// The durations, with the usual one for operations that took absurdly long once.
    pub fn steady(&self) -> &[i64] {
        if self.steady.is_empty() { &self.takes } else { &self.steady }
    }

    /// The part of an operation's delay that comes from the previous step. 0 unless the operation begins its step.
    pub fn carried_by(&self, job: &Job, step: usize, op: usize, column: usize) -> i64 {
        let shape = job.shape(step);
        if self.carried.is_empty() || !shape.begins(&job.kinds, op) {
            return 0;
        }
        let delay = self.delays[op * job.steps[step].columns as usize + column];
        delay.min(self.carried[job.worker(step, column, op)])
    }
}

/// Negative times, caused by clock differences and rounding. They are set to 0.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Cut {
    pub count: u64,
    /// The farthest below zero, as a positive number.
    pub largest: i64,
}

impl Cut {
    fn at_zero(&mut self, time: i64) -> i64 {
        if time < 0 {
            self.count += 1;
            self.largest = self.largest.max(time.saturating_neg());
        }
        time.max(0)
    }

    pub fn and(self, other: Cut) -> Cut {
        Cut { count: self.count + other.count, largest: self.largest.max(other.largest) }
    }
}

/// The times of all steps.
pub fn times(job: &Job) -> Vec<StepTimes> {
    parallel::map(job.steps.len(), |step| of_step(job, step))
}

/// By worker: how much later than the first it ended the previous step, if that was recorded. Only times within a step are
/// compared, because two steps may have different origins.
fn carried(job: &Job, step: usize) -> Vec<i64> {
    let follows = |before: &usize| job.steps[*before].number.checked_add(1) == Some(job.steps[step].number);
    let Some(before) = step.checked_sub(1).filter(follows) else { return Vec::new() };
    let ops = job.shape(before).ops.len();
    let mut ends = vec![i64::MIN; job.workers.len()];
    for (place, instance) in job.instances(before).enumerate() {
        let end = &mut ends[job.worker(before, place / ops, place % ops)];
        *end = (*end).max(job.start[instance].saturating_add(job.duration[instance]));
    }
    let first = ends.iter().copied().filter(|&end| end != i64::MIN).min().unwrap_or(0);
    ends.into_iter().map(|end| end.saturating_sub(first).max(0)).collect()
}

fn of_step(job: &Job, step: usize) -> StepTimes {
    let (shape, columns) = (job.shape(step), job.steps[step].columns as usize);
    let (ops, first) = (shape.ops.len(), job.steps[step].first);
    let start = |op: usize, column: usize| job.start[first + column * ops + op];
    let end =
        |op: usize, column: usize| start(op, column).saturating_add(job.duration[first + column * ops + op]);
    let all = job.instances(step);
    let begin = all.clone().map(|instance| job.start[instance]).min().unwrap_or(0);
    let last = all.map(|instance| job.start[instance].saturating_add(job.duration[instance])).max();
    let (mut cut, mut overlap) = (Cut::default(), Cut::default());
    let (mut takes, mut delays) = (vec![0; ops * columns], vec![0; ops * columns]);
    for op in 0..ops {
        let before = shape.graph.before.get(op);
        let posted = job.kinds[shape.ops[op].kind as usize].posted;
        for column in 0..columns {
            takes[op * columns + column] = end(op, column).saturating_sub(start(op, column));
            let ready = before.iter().map(|&before| end(before as usize, column)).max().unwrap_or(begin);
            if !posted {
                delays[op * columns + column] = overlap.at_zero(start(op, column).saturating_sub(ready));
            }
        }
    }
    for group in 0..shape.graph.groups.len() {
        let members = shape.graph.groups.get(group);
        let latest = |columns: std::ops::Range<usize>| {
            let starts = columns
                .flat_map(|column| members.iter().map(move |&op| (op, column)))
                .map(|(op, column)| start(op as usize, column));
            starts.max().unwrap_or(0)
        };
        let of_all = if shape.graph.wide[group] { Some(latest(0..columns)) } else { None };
        let posted = |op: u32| job.kinds[shape.ops[op as usize].kind as usize].posted;
        let message = members.iter().any(|&op| posted(op));
        for column in 0..columns {
            let begins = of_all.unwrap_or_else(|| latest(column..column + 1));
            for &op in members {
                let transfer = end(op as usize, column).saturating_sub(begins);
                // A send that returned before the receive started keeps its own duration.
                if transfer >= 0 || !message || posted(op) {
                    takes[op as usize * columns + column] = cut.at_zero(transfer);
                }
            }
        }
    }
    let mut times = StepTimes {
        takes,
        steady: Vec::new(),
        delays,
        recorded: 0,
        carried: carried(job, step),
        early_ends: cut,
        overlap,
    };
    let begins = (0..ops).filter(|&op| shape.begins(&job.kinds, op));
    let begins = begins.flat_map(|op| (0..columns).map(move |column| (op, column)));
    let late = begins.map(|(op, column)| times.carried_by(job, step, op, column)).max().unwrap_or(0);
    times.recorded = (last.unwrap_or(begin) - begin).saturating_sub(late);
    times
}
