//! A step replayed with given times. They may be whatever a what-if chooses, so that sums saturate.

use crate::graph::Node;
use crate::{Job, Shape};

/// Takes and delays by operation and column, as in [`super::times::StepTimes`], and where ends go.
#[derive(Debug, Default)]
pub struct Room {
    pub takes: Vec<i64>,
    pub delays: Vec<i64>,
    /// When operations end.
    pub ends: Vec<i64>,
    /// By worker: how much later than others it ended the step before. Empty for none.
    pub carried: Vec<i64>,
    /// By worker: whether it takes no part, so that a step does not begin with it. Empty if all do.
    pub absent: Vec<bool>,
    starts: Vec<i64>,
    latest: Vec<i64>,
}

/// Which columns meet in wide groups.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Meet {
    /// All of them: they are one step.
    All,
    /// The first with the one in the middle, the second with the one after it, and so on: each pair is a step of its own, in
    /// which the second column stands for all columns that are like it.
    InPairs,
}

/// Replays what is in the room. Returns from the first start to the last end: for the step, or for every pair. A worker that
/// begins late because it ended the step before late has been waited for then: the step counts from when all have ended that one.
pub fn replay(job: &Job, shape: &Shape, columns: usize, meet: Meet, room: &mut Room) -> Vec<i64> {
    replay_disturbed(job, shape, columns, meet, room, &mut |_, _, _, _| 0)
}

/// The same where something disturbs the workers: by how much it prolongs an operation that is no transfer, by its place, its
/// column, its start and its undisturbed end.
pub fn replay_disturbed(
    job: &Job,
    shape: &Shape,
    columns: usize,
    meet: Meet,
    room: &mut Room,
    disturb: &mut impl FnMut(usize, usize, i64, i64) -> i64,
) -> Vec<i64> {
    // Every operation is written before it is read.
    room.ends.resize(shape.ops.len() * columns, 0);
    let mut spans = Spans {
        first: vec![i64::MAX; columns],
        carried: vec![0; columns],
        last: vec![0; columns],
        recorded: if meet == Meet::InPairs { columns / 2 } else { columns },
    };
    for node in &shape.graph.order {
        match *node {
            Node::Op(op) => {
                let op = op as usize;
                ready(shape, op, columns, &room.ends, &room.delays, &mut room.starts);
                spans.begin(job, shape, op, room);
                let range = op * columns..(op + 1) * columns;
                let (ends, takes) = (&mut room.ends[range.clone()], &room.takes[range]);
                for (column, ((end, start), takes)) in
                    ends.iter_mut().zip(&room.starts).zip(takes).enumerate()
                {
                    *end = start.saturating_add(*takes);
                    *end = end.saturating_add(disturb(op, column, *start, *end));
                }
                spans.end(ends);
            }
            Node::Group(group) => {
                let members = shape.graph.groups.of(group as usize);
                room.latest.clear();
                room.latest.resize(columns, 0);
                for &op in members {
                    ready(shape, op as usize, columns, &room.ends, &room.delays, &mut room.starts);
                    spans.begin(job, shape, op as usize, room);
                    for (latest, start) in room.latest.iter_mut().zip(&room.starts) {
                        *latest = (*latest).max(*start);
                    }
                }
                if shape.graph.wide[group as usize] {
                    together(&mut room.latest, meet);
                }
                for &op in members {
                    let range = op as usize * columns..(op as usize + 1) * columns;
                    let (ends, takes) = (&mut room.ends[range.clone()], &room.takes[range]);
                    for ((end, latest), takes) in ends.iter_mut().zip(&room.latest).zip(takes) {
                        *end = latest.saturating_add(*takes);
                    }
                    spans.end(ends);
                }
            }
        }
    }
    spans.of(meet)
}

/// When an operation starts in every column.
fn ready(shape: &Shape, op: usize, columns: usize, ends: &[i64], delays: &[i64], starts: &mut Vec<i64>) {
    let ends = |before: u32| &ends[before as usize * columns..(before as usize + 1) * columns];
    let delays = &delays[op * columns..(op + 1) * columns];
    starts.clear();
    // Most operations wait for one other.
    match *shape.graph.before.of(op) {
        [] => starts.extend_from_slice(delays),
        [before] => starts
            .extend(ends(before).iter().zip(delays).map(|(end, delay)| end.max(&0).saturating_add(*delay))),
        [first, second, ref rest @ ..] => {
            starts.extend(ends(first).iter().zip(ends(second)).map(|(one, other)| (*one).max(*other).max(0)));
            for &before in rest {
                starts.iter_mut().zip(ends(before)).for_each(|(start, end)| *start = (*start).max(*end));
            }
            starts.iter_mut().zip(delays).for_each(|(start, delay)| *start = start.saturating_add(*delay));
        }
    }
}

fn together(latest: &mut [i64], meet: Meet) {
    match meet {
        Meet::All => {
            let of_all = latest.iter().copied().max().unwrap_or(0);
            latest.fill(of_all);
        }
        Meet::InPairs => {
            let (ones, others) = latest.split_at_mut(latest.len() / 2);
            for (one, other) in ones.iter_mut().zip(others) {
                let both = (*one).max(*other);
                (*one, *other) = (both, both);
            }
        }
    }
}

/// First starts and last ends, by column.
struct Spans {
    first: Vec<i64>,
    /// The latest start that comes from the step before.
    carried: Vec<i64>,
    last: Vec<i64>,
    /// How many columns are those of the job; others stand for ideal ones.
    recorded: usize,
}

impl Spans {
    /// An operation has been found to start as the room says.
    fn begin(&mut self, job: &Job, shape: &Shape, op: usize, room: &Room) {
        if !shape.begins(&job.kinds, op) {
            return;
        }
        let per_column = job.workers.len() / self.recorded;
        let worker = |column: usize| column * per_column + shape.ops[op].worker as usize;
        for (column, start) in room.starts.iter().enumerate() {
            if column >= self.recorded || room.absent.is_empty() || !room.absent[worker(column)] {
                self.first[column] = self.first[column].min(*start);
            }
        }
        if room.carried.is_empty() {
            return;
        }
        for (column, start) in room.starts.iter().enumerate().take(self.recorded) {
            self.carried[column] = self.carried[column].max(room.carried[worker(column)].min(*start));
        }
    }

    fn end(&mut self, ends: &[i64]) {
        self.last.iter_mut().zip(ends).for_each(|(last, end)| *last = (*last).max(*end));
    }

    fn of(&self, meet: Meet) -> Vec<i64> {
        let span = |first: i64, carried: i64, last: i64| {
            last - if first == i64::MAX { 0 } else { first.max(carried) }
        };
        match meet {
            Meet::All => {
                let first = self.first.iter().copied().min().unwrap_or(0);
                let carried = self.carried.iter().copied().max().unwrap_or(0);
                vec![span(first, carried, self.last.iter().copied().max().unwrap_or(0))]
            }
            Meet::InPairs => {
                let half = self.first.len() / 2;
                let both = |column: usize| {
                    let first = self.first[column].min(self.first[half + column]);
                    span(first, self.carried[column], self.last[column].max(self.last[half + column]))
                };
                (0..half).map(both).collect()
            }
        }
    }
}
