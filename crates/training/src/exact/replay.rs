//! A step replayed with given times. A what-if may choose any times, so sums saturate.

use crate::graph::Node;
use crate::{Job, Shape};

/// The input and output of a replay: takes and delays by operation and column, as in [`super::times::StepTimes`], and the ends.
#[derive(Debug, Default)]
pub struct Scratch {
    pub takes: Vec<i64>,
    pub delays: Vec<i64>,
    /// When operations end.
    pub ends: Vec<i64>,
    /// By column and worker: how much later than the first it ended the previous step. Empty if unknown.
    pub carried: Vec<i64>,
    /// By column and worker: whether it takes no part, so that its operations do not begin the step. Empty if all take part.
    pub absent: Vec<bool>,
    starts: Vec<i64>,
    latest: Vec<i64>,
}

/// Which columns meet in wide groups.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Meet {
    /// All of them: they are one step.
    All,
    /// None: each is a step of its own.
    Never,
}

/// Replays the times in the room. Returns the time from the first start to the last end: of the step, or of every column. If
/// workers begin late because they ended the previous step late, that step already includes the wait: this one counts from when
/// all have ended it.
pub fn replay(job: &Job, shape: &Shape, columns: usize, meet: Meet, room: &mut Scratch) -> Vec<i64> {
    replay_disturbed(job, shape, columns, meet, room, &mut |_, _, _, _| 0)
}

/// Like [`replay`], with noise. `disturb` takes the index, the column, the start and the undisturbed end of an
/// operation that is not a transfer, and returns how much longer it takes.
pub fn replay_disturbed(
    job: &Job,
    shape: &Shape,
    columns: usize,
    meet: Meet,
    room: &mut Scratch,
    disturb: &mut impl FnMut(usize, usize, i64, i64) -> i64,
) -> Vec<i64> {
    // Old values do no harm: every end is written before it is read.
    room.ends.resize(shape.ops.len() * columns, 0);
    let mut spans =
        Spans { first: vec![i64::MAX; columns], carried: vec![0; columns], last: vec![0; columns] };
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
                let members = shape.graph.groups.get(group as usize);
                room.latest.clear();
                room.latest.resize(columns, 0);
                for &op in members {
                    ready(shape, op as usize, columns, &room.ends, &room.delays, &mut room.starts);
                    spans.begin(job, shape, op as usize, room);
                    for (latest, start) in room.latest.iter_mut().zip(&room.starts) {
                        *latest = (*latest).max(*start);
                    }
                }
                if shape.graph.wide[group as usize] && meet == Meet::All {
                    let of_all = room.latest.iter().copied().max().unwrap_or(0);
                    room.latest.fill(of_all);
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
    spans.get(meet)
}

/// When an operation starts in every column.
fn ready(shape: &Shape, op: usize, columns: usize, ends: &[i64], delays: &[i64], starts: &mut Vec<i64>) {
    let ends = |before: u32| &ends[before as usize * columns..(before as usize + 1) * columns];
    let delays = &delays[op * columns..(op + 1) * columns];
    starts.clear();
    // Most operations wait for one other.
    match *shape.graph.before.get(op) {
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

/// First starts and last ends, by column.
struct Spans {
    first: Vec<i64>,
    /// The latest start that was delayed by the previous step.
    carried: Vec<i64>,
    last: Vec<i64>,
}

impl Spans {
    /// Notes the starts of an operation, which are in the room.
    fn begin(&mut self, job: &Job, shape: &Shape, op: usize, room: &Scratch) {
        if !shape.begins(&job.kinds, op) {
            return;
        }
        let columns = self.first.len();
        let worker =
            |column: usize, workers: usize| column * (workers / columns) + shape.ops[op].worker as usize;
        for (column, start) in room.starts.iter().enumerate() {
            if room.absent.is_empty() || !room.absent[worker(column, room.absent.len())] {
                self.first[column] = self.first[column].min(*start);
            }
        }
        if room.carried.is_empty() {
            return;
        }
        for (column, start) in room.starts.iter().enumerate() {
            let late = room.carried[worker(column, room.carried.len())];
            self.carried[column] = self.carried[column].max(late.min(*start));
        }
    }

    fn end(&mut self, ends: &[i64]) {
        self.last.iter_mut().zip(ends).for_each(|(last, end)| *last = (*last).max(*end));
    }

    fn get(&self, meet: Meet) -> Vec<i64> {
        let span = |first: i64, carried: i64, last: i64| {
            last - if first == i64::MAX { 0 } else { first.max(carried) }
        };
        match meet {
            Meet::All => {
                let first = self.first.iter().copied().min().unwrap_or(0);
                let carried = self.carried.iter().copied().max().unwrap_or(0);
                vec![span(first, carried, self.last.iter().copied().max().unwrap_or(0))]
            }
            Meet::Never => {
                let firsts = self.first.iter().zip(&self.carried);
                firsts.zip(&self.last).map(|((&first, &carried), &last)| span(first, carried, last)).collect()
            }
        }
    }
}
