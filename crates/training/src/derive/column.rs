//! The operations of one data-parallel rank in a step, on all its stages. `a ← b` below: a may not start before b has ended.

use super::transfers::Partners;
use super::{Found, Habits};
use crate::graph::Group;
use crate::operation::Direction;
use crate::{Kind, Op, Row};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The tolerated clock error, in picoseconds.
pub const SLACK: i64 = 50_000_000;

/// Operations of all data-parallel ranks with the same key form one group: kind, sequence number, and stage unless all stages
/// take part.
pub type Key = (Kind, u32, Option<u32>);

pub struct Column {
    pub dp_rank: u32,
    pub ops: Vec<Op>,
    /// Picoseconds since the first start of the step.
    pub start: Vec<i64>,
    pub duration: Vec<i64>,
    /// `(after, before)`.
    pub edges: Vec<(u32, u32)>,
    /// Groups within the column.
    pub groups: Vec<Group>,
    /// Members of groups that span all columns.
    pub wide: BTreeMap<Key, Vec<u32>>,
    /// For each stage with operations: data loading, computing and garbage collection in order, then the optimizer.
    pub queues: Vec<Vec<usize>>,
    /// Placeholders for operations that only other columns have.
    pub fillers: Vec<usize>,
    pub found: Found,
}

/// The times of an operation, and the key that it is sorted by instead of its start.
#[derive(Clone, Copy)]
pub struct Queued {
    pub start: i64,
    pub duration: i64,
    pub order: i64,
    /// As [`Op::inside`].
    pub inside: bool,
    pub filler: bool,
}

/// A column while it is built.
pub struct Building<'a> {
    /// Sorted by stage, kind and sequence number.
    pub rows: &'a [Row],
    pub start: Vec<i64>,
    pub duration: Vec<i64>,
    /// Sort keys of operations: positions in a queue. If `None`, operations are sorted by their recorded start.
    pub order: Option<Vec<i64>>,
    /// As [`Op::inside`].
    pub inside: Vec<bool>,
    /// By operation: the last garbage collection that was taken out of it.
    pub last_inside: BTreeMap<usize, usize>,
    pub queues: Vec<Vec<usize>>,
    pub edges: Vec<(u32, u32)>,
    pub found: Found,
}

fn picoseconds(seconds: f64) -> i64 {
    // Values out of range saturate.
    (seconds * 1e12).round() as i64
}

impl Column {
    /// Builds a column from rows sorted by stage, kind and sequence number. The step begins at `first` seconds.
    pub fn new(rows: &[Row], stages: u32, first: f64, habits: Habits) -> Column {
        let start = rows.iter().map(|row| picoseconds(row.start - first)).collect();
        let duration = rows.iter().map(|row| picoseconds(row.duration)).collect();
        Building::new(rows, start, duration).column(stages, habits)
    }

    /// Builds a column from rows whose nested garbage collections have already been taken out of the enclosing
    /// operations.
    pub fn settled(rows: &[Row], queued: &[Queued], stages: u32, habits: Habits) -> Column {
        let of = |part: fn(&Queued) -> i64| queued.iter().map(part).collect::<Vec<i64>>();
        let mut building = Building::new(rows, of(|queued| queued.start), of(|queued| queued.duration));
        building.order = Some(of(|queued| queued.order));
        building.inside = queued.iter().map(|queued| queued.inside).collect();
        let fillers = (0..rows.len()).filter(|&op| queued[op].filler).collect();
        Column { fillers, ..building.column(stages, habits) }
    }

    /// Whether both have the same operations in the same order.
    pub fn is_like(&self, other: &Column) -> bool {
        self.ops == other.ops
            && self.edges == other.edges
            && self.groups == other.groups
            && self.wide == other.wide
    }
}

fn op(row: &Row, inside: bool) -> Op {
    let stream = match row.kind {
        Kind::ForwardSend => 1,
        Kind::ForwardRecv => 2,
        Kind::BackwardSend => 3,
        Kind::BackwardRecv => 4,
        kind if kind.is_of_stage() => 5,
        _ => 0,
    };
    Op {
        worker: row.stage,
        kind: row.kind as u16,
        stream,
        seq: row.seq,
        microbatch: row.microbatch,
        chunk: row.model_chunk,
        stage_chunk: row.chunk,
        inside,
    }
}

impl<'a> Building<'a> {
    fn new(rows: &'a [Row], start: Vec<i64>, duration: Vec<i64>) -> Building<'a> {
        Building {
            rows,
            start,
            duration,
            order: None,
            inside: vec![false; rows.len()],
            last_inside: BTreeMap::new(),
            queues: Vec::new(),
            edges: Vec::new(),
            found: Found::default(),
        }
    }

    fn column(mut self, stages: u32, habits: Habits) -> Column {
        let mut partners = Partners::new(habits.chunks);
        for stage in 0..stages {
            let (last, ending) = self.main_queue(stage);
            for direction in Direction::BOTH {
                partners.match_stage(&mut self, stage, direction);
            }
            self.data_parallel(stage);
            self.tail(stage, last, &ending);
        }
        if !habits.transfers {
            for direction in Direction::BOTH {
                direction.without_transfers(&mut self);
            }
        }
        let mut groups = partners.pairs(&mut self.found);
        self.stalls_wait().into_iter().for_each(|(stall, before)| self.edge(stall, before));
        let (in_column, wide) = self.meetings(habits.clip_meets);
        groups.extend(in_column);
        self.edges.sort_unstable();
        self.edges.dedup();
        Column {
            dp_rank: self.rows[0].dp_rank,
            ops: self.rows.iter().zip(&self.inside).map(|(row, &inside)| op(row, inside)).collect(),
            start: self.start,
            duration: self.duration,
            edges: self.edges,
            groups,
            wide,
            queues: self.queues,
            fillers: Vec::new(),
            found: self.found,
        }
    }
}

impl Building<'_> {
    /// The range of rows of a stage, or of one kind on it.
    pub fn range(&self, stage: u32, kind: Option<Kind>) -> Range<usize> {
        let from = |key: (u32, Option<Kind>), past: bool| {
            self.rows.partition_point(|row| {
                let own = (row.stage, key.1.map(|_| row.kind));
                own < key || past && own == key
            })
        };
        from((stage, kind), false)..from((stage, kind), true)
    }

    pub fn end(&self, op: usize) -> i64 {
        self.start[op].saturating_add(self.duration[op])
    }

    /// The operation to wait for if the result of `op` is needed: the last garbage collection that was taken out of it, or
    /// itself.
    pub fn done(&self, op: usize) -> usize {
        self.last_inside.get(&op).copied().unwrap_or(op)
    }

    pub fn edge(&mut self, after: usize, before: usize) {
        self.edges.push((after as u32, before as u32));
    }

    pub fn chain(&mut self, ops: &[usize]) {
        ops.windows(2).for_each(|pair| self.edge(pair[1], pair[0]));
    }

    /// Sorts operations by their start.
    pub fn in_order(&self, ops: impl Iterator<Item = usize>) -> Vec<usize> {
        let mut ops: Vec<usize> = ops.collect();
        let order = self.order.as_ref().unwrap_or(&self.start);
        ops.sort_by_key(|&op| (order[op], self.rows[op].seq, self.rows[op].kind));
        ops
    }

    pub fn of_kinds(&self, range: Range<usize>, kinds: &[Kind]) -> Vec<usize> {
        self.in_order(range.filter(|&op| kinds.contains(&self.rows[op].kind)))
    }

    fn data_parallel(&mut self, stage: u32) {
        let range = self.range(stage, None);
        let stream = self.of_kinds(range.clone(), &[Kind::ParamsAllGather, Kind::GradsReduceScatter]);
        self.chain(&stream);
        let forwards = self.of_kinds(range.clone(), &[Kind::ForwardCompute]);
        let backwards = self.of_kinds(range, &[Kind::BackwardCompute]);
        let gathers = self.range(stage, Some(Kind::ParamsAllGather));
        let chunk = |op: usize| self.rows[op].chunk;
        let mut edges = Vec::new();
        for named in gathers.clone().map(chunk).collect::<BTreeSet<i32>>() {
            let of_chunk: Vec<usize> = gathers.clone().filter(|&op| chunk(op) == named).collect();
            // Collectives without a chunk serve all chunks.
            let is_served = |op: usize| named < 0 || chunk(op) == named;
            let first = forwards.iter().copied().find(|&op| is_served(op));
            let early = |op: &&usize| first.is_none_or(|first| self.start[**op] <= self.start[first] + SLACK);
            // The first forward waits for the last gather that begins before it; later gathers are for later
            // forwards.
            edges.extend(first.zip(of_chunk.iter().rev().find(early).copied()));
            for &gather in of_chunk.iter().filter(|op| !early(op)) {
                let next = |op: &usize| is_served(*op) && self.start[*op] >= self.end(gather) - SLACK;
                edges.extend(forwards.iter().copied().find(next).map(|forward| (forward, gather)));
            }
        }
        // The host launches a gather after its earlier work, so a gather waits for the data loading or garbage collection before
        // it.
        let stalls = self.of_kinds(self.range(stage, None), &[Kind::DataLoad, Kind::Gc]);
        for gather in gathers {
            let served = edges.iter().find(|(_, before)| *before == gather).map(|(forward, _)| *forward);
            let is_before = |op: &&usize| {
                !self.inside[**op]
                    && self.end(**op) <= self.start[gather] + SLACK
                    && served.is_none_or(|forward| self.in_order([**op, forward].into_iter())[0] == **op)
            };
            edges.extend(stalls.iter().rev().find(is_before).map(|&stall| (gather, stall)));
        }
        for scatter in self.range(stage, Some(Kind::GradsReduceScatter)) {
            // It waits for the last backward of its chunk, or else for the last one that had ended when it began.
            let ended = |op: &&usize| self.end(self.done(**op)) <= self.start[scatter] + SLACK;
            let of_chunk = backwards.iter().rev().find(|&&op| chunk(op) == chunk(scatter));
            let before = of_chunk.filter(ended).or_else(|| backwards.iter().rev().find(ended));
            edges.extend(before.map(|&before| (scatter, self.done(before))));
        }
        edges.into_iter().for_each(|(after, before)| self.edge(after, before));
    }

    /// Chains the end of a step: the operations after the main queue, then the optimizer and what was taken out of
    /// it. The first of them waits for gradients that were sent during the backward pass.
    fn tail(&mut self, stage: u32, last: Option<usize>, ending: &[usize]) {
        let range = self.range(stage, None);
        let scatters = self.of_kinds(range, &[Kind::GradsReduceScatter]);
        let is_after = |op: &usize| last.is_none_or(|last| self.start[*op] >= self.end(last) - SLACK);
        let overlapped = scatters.iter().any(|op| !is_after(op));
        let of = |kind| self.range(stage, Some(kind));
        let mut chain: Vec<usize> = last.into_iter().collect();
        chain.extend(of(Kind::LayernormGradsAllReduce));
        chain.extend(of(Kind::EmbeddingGradsAllReduce));
        if overlapped {
            chain.extend(of(Kind::SeparateGradsAllReduce));
        } else {
            chain.extend(&scatters);
            chain.extend(of(Kind::SeparateGradsAllReduce));
        }
        chain.extend(of(Kind::OptimizerClipMainGrad));
        chain.extend(ending);
        self.chain(&chain);
        let first = if last.is_some() { chain.get(1) } else { chain.first() };
        if let (true, Some(&first), Some(&scatter)) = (overlapped, first, scatters.last()) {
            self.edge(first, scatter);
        }
    }

    /// Groups within the column, and the members of groups of all data-parallel ranks.
    fn meetings(&self, clip_meets: bool) -> (Vec<Group>, BTreeMap<Key, Vec<u32>>) {
        let mut embedding: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        let mut wide: BTreeMap<Key, Vec<u32>> = BTreeMap::new();
        for (op, row) in (0..).zip(self.rows) {
            match row.kind {
                Kind::EmbeddingGradsAllReduce => embedding.entry(row.seq).or_default().push(op),
                Kind::OptimizerClipMainGrad if clip_meets => {
                    wide.entry((row.kind, row.seq, None)).or_default().push(op);
                }
                kind if kind.is_of_stage() => {
                    wide.entry((kind, row.seq, Some(row.stage))).or_default().push(op);
                }
                _ => {}
            }
        }
        let groups = embedding.into_values().map(|ops| Group { ops, wide: false });
        (groups.collect(), wide)
    }
}
