//! Replays in which one data-parallel rank, or one worker, has its recorded times and all others are ideal.
//!
//! With ideal times, ranks that run the same operations in the same order run each of them at the same moment. So a replay needs
//! only the rank under test and one ideal rank for each distinct order of operations.
//!
//! ```text
//! ranks 0 … 999 alike, rank 1000 with an operation more:
//!   for each of the 1000:  [itself] [one of the 1000, ideal] [rank 1000, ideal]     1000 columns of one replay
//!   for rank 1000:         [itself] [one of the 1000, ideal]                        one column
//! ```

use super::replay::{Meet, Scratch, replay};
use super::{Replays, TimedOp};
use crate::graph::{Graph, Group, Lists};
use crate::{Job, Op, Shape};
use std::collections::{BTreeMap, HashMap};
use straggler_model::parallel;

/// Building a graph takes about as long as replaying this many columns of it.
const BUILDING: usize = 8;
/// The limit of operations times columns in one replay. Each takes 24 bytes.
const AT_ONCE: usize = 1 << 22;

/// By worker: its data-parallel rank, and its index among the workers of that rank.
#[derive(Debug)]
pub struct Places {
    rank: Vec<u32>,
    place: Vec<u32>,
    /// The largest number of workers of a rank.
    pub per_rank: usize,
}

impl Places {
    pub fn new(job: &Job) -> Places {
        let mut counts = vec![0u32; job.dp_ranks()];
        let count = |rank: u32| {
            let next = &mut counts[rank as usize];
            *next += 1;
            *next - 1
        };
        let rank: Vec<u32> = job.workers.iter().map(|worker| worker.dp_rank).collect();
        let place = rank.iter().copied().map(count).collect();
        let per_rank = counts.iter().copied().max().unwrap_or(0) as usize;
        Places { rank, place, per_rank }
    }

    /// Whether a worker belongs to a part of its rank.
    fn is_of(&self, worker: usize, part: Part) -> bool {
        part.is_none_or(|place| self.place_of(worker) == place)
    }

    pub fn place_of(&self, worker: usize) -> usize {
        self.place[worker] as usize
    }
}

/// The operations of a shape by data-parallel rank, and which ranks are alike. Where ranks are the columns of a step, one
/// represents all.
#[derive(Debug)]
pub struct Ranks {
    /// By rank: indices of its operations, ascending.
    ops: Lists,
    /// Classes of ranks that run the same operations in the same order; the first rank represents its class. Ranks without
    /// operations are in none.
    alike: Vec<Vec<u32>>,
    /// By group: whether it has members on several ranks.
    wide: Vec<bool>,
}

/// The ranks of each shape of the job. `None` where they cannot be separated.
pub fn ranks(job: &Job, places: &Places) -> Vec<Option<Ranks>> {
    let mut are_columns = vec![false; job.shapes.len()];
    job.steps.iter().for_each(|step| are_columns[step.shape as usize] = step.columns > 1);
    parallel::map(job.shapes.len(), |shape| match are_columns[shape] {
        true => Some(Ranks::of_columns(&job.shapes[shape])),
        false => Ranks::of_joined(job, places, &job.shapes[shape]),
    })
}

/// The operations of a rank, numbered within the rank: equal for all ranks that are alike.
#[derive(PartialEq, Eq, Hash)]
struct Order {
    ops: Vec<Op>,
    /// For each operation: how many it waits for, then which.
    before: Vec<u32>,
    /// By operation: its group, as the group number if other ranks are in it, else as the group's first operation.
    groups: Vec<(bool, u32)>,
}

impl Ranks {
    /// For a shape whose ranks are columns.
    fn of_columns(shape: &Shape) -> Ranks {
        let all: Vec<(u32, u32)> = (0..shape.ops.len() as u32).map(|op| (0, op)).collect();
        Ranks { ops: Lists::of_pairs(1, &all), alike: vec![vec![0]], wide: shape.graph.wide.clone() }
    }

    /// For a shape that has all ranks. `None` if an operation waits for one of another rank outside a group.
    fn of_joined(job: &Job, places: &Places, shape: &Shape) -> Option<Ranks> {
        let ranks = job.dp_ranks();
        let rank = |op: usize| places.rank[shape.ops[op].worker as usize];
        let pairs: Vec<(u32, u32)> = (0..shape.ops.len()).map(|op| (rank(op), op as u32)).collect();
        let ops = Lists::of_pairs(ranks, &pairs);
        let mut own = vec![0u32; shape.ops.len()];
        for of_rank in (0..ranks).map(|rank| ops.get(rank)) {
            (0..).zip(of_rank).for_each(|(place, &op)| own[op as usize] = place);
        }
        let crosses =
            |op: usize| shape.graph.before.get(op).iter().any(|&before| rank(before as usize) != rank(op));
        if (0..shape.ops.len()).any(crosses) {
            return None;
        }
        let groups = &shape.graph.groups;
        let is_wide = |group: usize| {
            let of = groups.get(group);
            of.iter().any(|&op| rank(op as usize) != rank(of[0] as usize))
        };
        let wide: Vec<bool> = (0..groups.len()).map(is_wide).collect();
        let order = |of_rank: &[u32]| Order {
            ops: of_rank.iter().map(|&op| at_place(&shape.ops[op as usize], places, 0, 0)).collect(),
            before: (of_rank.iter())
                .flat_map(|&op| {
                    let before = shape.graph.before.get(op as usize);
                    [before.len() as u32].into_iter().chain(before.iter().map(|&before| own[before as usize]))
                })
                .collect(),
            groups: (of_rank.iter())
                .map(|&op| match shape.graph.group(op as usize) {
                    Some(group) if wide[group as usize] => (true, group),
                    Some(group) => (false, own[groups.get(group as usize)[0] as usize]),
                    None => (false, Graph::ALONE),
                })
                .collect(),
        };
        let mut known: HashMap<Order, usize> = HashMap::new();
        let mut alike: Vec<Vec<u32>> = Vec::new();
        for rank in (0..ranks).filter(|&rank| !ops.get(rank).is_empty()) {
            let class = *known.entry(order(ops.get(rank))).or_insert(alike.len());
            if class == alike.len() {
                alike.push(Vec::new());
            }
            alike[class].push(rank as u32);
        }
        Some(Ranks { ops, alike, wide })
    }

    /// A graph of some ranks, connected only by the groups they share, and the index in `shape` of each of its operations.
    fn side_by_side(&self, shape: &Shape, places: &Places, ranks: &[u32]) -> Option<(Shape, Vec<u32>)> {
        let (mut ops, mut from, mut edges) = (Vec::new(), Vec::new(), Vec::new());
        let mut groups: BTreeMap<(u32, usize), Vec<u32>> = BTreeMap::new();
        let mut moved = vec![0u32; shape.ops.len()];
        for (block, &rank) in ranks.iter().enumerate() {
            let of_rank = self.ops.get(rank as usize);
            (ops.len() as u32..).zip(of_rank).for_each(|(to, &op)| moved[op as usize] = to);
            for &op in of_rank {
                let to = moved[op as usize];
                let before = shape.graph.before.get(op as usize).iter();
                edges.extend(before.map(|&before| (to, moved[before as usize])));
                if let Some(group) = shape.graph.group(op as usize) {
                    let block = if self.wide[group as usize] { usize::MAX } else { block };
                    groups.entry((group, block)).or_default().push(to);
                }
                ops.push(at_place(&shape.ops[op as usize], places, block, places.per_rank));
            }
            from.extend_from_slice(of_rank);
        }
        let groups: Vec<Group> = groups.into_values().map(|ops| Group { ops, wide: false }).collect();
        let graph = Graph::new(ops.len(), &edges, &groups).ok()?;
        Some((Shape { ops, graph }, from))
    }
}

/// An operation with its worker renumbered: `block` times `per_rank`, plus its index within the rank.
fn at_place(op: &Op, places: &Places, block: usize, per_rank: usize) -> Op {
    Op { worker: (block * per_rank) as u32 + places.place[op.worker as usize], ..*op }
}

/// The replays of a step in which one rank has its recorded times.
pub struct Alone<'a> {
    replays: &'a Replays<'a>,
    step: usize,
}

/// A graph that serves a class of alike ranks: the rank under test, then the ideal ones.
struct Replayed {
    shape: Shape,
    /// By operation: its index in the shape of the step.
    from: Vec<u32>,
    /// The number of operations of the rank under test.
    own_ops: usize,
    /// By ideal rank, then by index within a rank: how late the workers that it represents ended the previous step.
    carried: Vec<Latest>,
}

/// The two largest times, each with its rank.
type Latest = [(i64, u32); 2];

/// Which part of a rank has its recorded times: all its workers, or the one at this index.
pub type Part = Option<usize>;

/// By data-parallel rank: how long the step takes if only this rank has its recorded times. `None` if it takes no part.
type Spans = Vec<Option<i64>>;

impl<'a> Alone<'a> {
    pub fn new(replays: &'a Replays<'a>, step: usize) -> Alone<'a> {
        Alone { replays, step }
    }

    /// By part, then by rank: how long the step takes.
    pub fn by_rank(&self, room: &mut Scratch, parts: &[Part]) -> Vec<Spans> {
        self.side_by_side(room, parts)
            .unwrap_or_else(|| parts.iter().map(|part| self.one_by_one(room, *part)).collect())
    }

    /// Replays the whole step once for every rank.
    fn one_by_one(&self, room: &mut Scratch, part: Part) -> Spans {
        let (job, places) = (self.replays.job, &self.replays.places);
        let mut spans = vec![None; job.dp_ranks()];
        for (worker, _) in job.takes_part(self.step).iter().enumerate().filter(|(_, there)| **there) {
            let rank = places.rank[worker];
            let one = |at: &TimedOp<'_>| {
                at.real_if(places.rank[at.worker] == rank && places.is_of(at.worker, part))
            };
            let span = &mut spans[rank as usize];
            *span = span.or_else(|| Some(self.replays.step(self.step, room, &one)));
        }
        spans
    }

    /// One replay for many alike ranks. `None` if that takes longer, or if ranks cannot be separated.
    fn side_by_side(&self, room: &mut Scratch, parts: &[Part]) -> Option<Vec<Spans>> {
        let (job, columns) = (self.replays.job, self.columns());
        let ranks = self.ranks()?;
        // Where ranks are columns, all are alike.
        let own: Vec<u32> = (0..columns as u32).collect();
        let alike: Vec<&[u32]> =
            if columns > 1 { vec![&own] } else { ranks.alike.iter().map(Vec::as_slice).collect() };
        let all: usize = alike.iter().map(|members| members.len()).sum();
        let cost: usize = alike.iter().map(|members| (members.len() + BUILDING) * (alike.len() + 1)).sum();
        if cost >= all * all {
            return None;
        }
        let mut spans: Vec<Spans> = vec![vec![None; job.dp_ranks()]; parts.len()];
        for (class, members) in alike.iter().enumerate() {
            let of = self.replayed(ranks, &alike, class)?;
            let lanes = (AT_ONCE / of.shape.ops.len().max(1)).max(1);
            for members in members.chunks(lanes) {
                for (part, spans) in parts.iter().zip(&mut spans) {
                    self.fill(&of, members, *part, room);
                    let times = replay(job, &of.shape, members.len(), Meet::Never, room);
                    members.iter().zip(times).for_each(|(&rank, span)| spans[rank as usize] = Some(span));
                }
            }
        }
        Some(spans)
    }

    fn ranks(&self) -> Option<&'a Ranks> {
        self.replays.ranks[self.replays.job.steps[self.step].shape as usize].as_ref()
    }

    fn columns(&self) -> usize {
        self.replays.job.steps[self.step].columns as usize
    }

    fn replayed(&self, ranks: &Ranks, alike: &[&[u32]], class: usize) -> Option<Replayed> {
        let is_needed = |of: usize| of != class || alike[of].len() > 1;
        let ideal: Vec<usize> = (0..alike.len()).filter(|&of| is_needed(of)).collect();
        let stands_for = |of: usize| if self.columns() > 1 { 0 } else { alike[of][0] };
        let blocks: Vec<u32> = [class].iter().chain(&ideal).map(|&of| stands_for(of)).collect();
        let (job, places) = (self.replays.job, &self.replays.places);
        let (shape, from) = ranks.side_by_side(job.shape(self.step), places, &blocks)?;
        let own_ops = ranks.ops.get(blocks[0] as usize).len();
        Some(Replayed {
            shape,
            from,
            own_ops,
            carried: ideal.iter().flat_map(|&of| self.latest(alike[of])).collect(),
        })
    }

    /// By index within a rank: how late the workers of these ranks ended the previous step. Empty if unknown.
    fn latest(&self, ranks: &[u32]) -> Vec<Latest> {
        let (carried, places) = (&self.replays.times[self.step].carried, &self.replays.places);
        let mut latest = vec![[(0, u32::MAX); 2]; if carried.is_empty() { 0 } else { places.per_rank }];
        for (worker, &late) in carried.iter().enumerate() {
            let rank = places.rank[worker];
            let [first, second] = &mut latest[places.place[worker] as usize];
            if ranks.binary_search(&rank).is_err() {
                continue;
            }
            if late > first.0 {
                (*first, *second) = ((late, rank), *first);
            } else if late > second.0 {
                *second = (late, rank);
            }
        }
        latest
    }

    /// Writes times into the room: recorded ones for `part` of the ranks under test, ideal ones for the others.
    fn fill(&self, of: &Replayed, members: &[u32], part: Part, room: &mut Scratch) {
        let Some(ranks) = self.ranks() else { return };
        let (replays, job, columns) = (self.replays, self.replays.job, self.columns());
        let (times, per_column) = (&replays.times[self.step], job.workers.len() / columns);
        let lanes = members.len();
        room.takes.resize(of.shape.ops.len() * lanes, 0);
        room.delays.resize(of.shape.ops.len() * lanes, 0);
        room.absent.clear();
        self.carry(of, members, room);
        let rooms = room.takes.chunks_exact_mut(lanes).zip(room.delays.chunks_exact_mut(lanes));
        for (at, (takes, delays)) in rooms.enumerate().take(of.shape.ops.len()) {
            let (op, from) = (&of.shape.ops[at], of.from[at] as usize);
            let stage = job.workers[job.worker(self.step, 0, from)].stage;
            let (ideal_takes, ideal_delay) = (replays.ideal.takes(stage, op), replays.ideal.delay(op));
            if at >= of.own_ops {
                takes.fill(ideal_takes);
                delays.fill(ideal_delay);
                continue;
            }
            for (lane, &rank) in members.iter().enumerate() {
                let (place, column) =
                    if columns > 1 { (from, rank) } else { (ranks.ops.get(rank as usize)[at] as usize, 0) };
                let op = &job.shape(self.step).ops[place];
                let instance = place * columns + column as usize;
                let worker = column as usize * per_column + op.worker as usize;
                (takes[lane], delays[lane]) = match replays.places.is_of(worker, part) {
                    true => (times.takes[instance], times.delays[instance]),
                    false => (ideal_takes, ideal_delay),
                };
            }
        }
    }

    /// By column, how late workers ended the previous step: those of the rank itself, and for each ideal rank the latest worker
    /// that it represents.
    fn carry(&self, of: &Replayed, members: &[u32], room: &mut Scratch) {
        let (carried, places) = (&self.replays.times[self.step].carried, &self.replays.places);
        room.carried.clear();
        if carried.is_empty() {
            return;
        }
        let per_column = places.per_rank + of.carried.len();
        room.carried.resize(per_column * members.len(), 0);
        for (worker, &late) in carried.iter().enumerate() {
            if let Ok(lane) = members.binary_search(&places.rank[worker]) {
                room.carried[lane * per_column + places.place[worker] as usize] = late;
            }
        }
        for (lane, rank) in members.iter().enumerate() {
            let ideal =
                of.carried.iter().map(|latest| if latest[0].1 == *rank { latest[1].0 } else { latest[0].0 });
            let begin = lane * per_column + places.per_rank;
            room.carried[begin..begin + of.carried.len()]
                .iter_mut()
                .zip(ideal)
                .for_each(|(at, late)| *at = late);
        }
    }
}
