//! Finds rows that a table lacks although other rows of the step show that the operation was done.
//!
//! A row is lost if more than half of the workers and steps of the stage have it, and in its own step
//! - for a computation, the worker has the other direction of the same microbatch, or another stage has the microbatch;
//! - for a send or receive, another stage has the partner;
//! - for anything else, another worker has it.
//!
//! So a step or a rank that really has fewer microbatches lacks nothing.

use super::same_worker;
use crate::{Kind, Row};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use straggler_model::parallel;

/// A missing row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lost {
    pub step: i64,
    rank: u32,
    kind: Kind,
    seq: u32,
    /// -1 if there is none, or if it is unknown.
    microbatch: i32,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.name(), self.seq)?;
        if self.microbatch >= 0 {
            write!(f, " (microbatch {})", self.microbatch)?;
        }
        write!(f, " of rank {} in step {}", self.rank, self.step)
    }
}

/// Identifies an operation: a computation by microbatch and chunk, others by sequence number.
type Key = (Kind, i32, i32, u32);

fn key(row: &Row) -> Key {
    match row.kind.is_compute() && row.microbatch >= 0 {
        true => (row.kind, row.microbatch, row.model_chunk, 0),
        false => (row.kind, -1, -1, row.seq),
    }
}

/// Irregular work of the host is never counted as lost.
fn counts(row: &&Row) -> bool {
    !matches!(row.kind, Kind::Gc | Kind::DataLoad)
}

/// The rows of one worker in a step.
struct Part<'a> {
    rows: &'a [Row],
    /// A hash of its operations.
    signature: u64,
}

impl<'a> Part<'a> {
    fn new(rows: &'a [Row]) -> Part<'a> {
        let mut hasher = DefaultHasher::new();
        rows.iter().filter(counts).for_each(|row| key(row).hash(&mut hasher));
        Part { rows, signature: hasher.finish() }
    }

    fn has(&self, wanted: impl Fn(&Row) -> bool) -> bool {
        self.rows.iter().any(wanted)
    }
}

/// Finds the lost rows of steps. The rows of each step are sorted by worker.
pub fn lost(steps: &[&[Row]]) -> Vec<Lost> {
    let steps: Vec<Vec<Part<'_>>> =
        parallel::map_list(steps, |rows| rows.chunk_by(same_worker).map(Part::new).collect());
    // By stage and signature: the count, and one example. Sorted, so that the example is deterministic.
    let mut known: BTreeMap<(u32, u64), (usize, &Part<'_>)> = BTreeMap::new();
    for part in steps.iter().flatten() {
        known.entry((part.rows[0].stage, part.signature)).or_insert((0, part)).0 += 1;
    }
    let usual = usual(&known);
    let lacks = |part: &Part<'_>| -> Vec<Row> {
        let own: BTreeSet<Key> = part.rows.iter().map(key).collect();
        let of_stage = usual.get(&part.rows[0].stage).into_iter().flatten();
        of_stage.filter(|(key, _)| !own.contains(key)).map(|(_, row)| *row).collect()
    };
    let lacking: BTreeMap<(u32, u64), Vec<Row>> =
        known.iter().map(|(place, (_, part))| (*place, lacks(part))).collect();
    if lacking.values().all(Vec::is_empty) {
        return Vec::new();
    }
    let of_step = |parts: &Vec<Part<'_>>| -> Vec<Lost> {
        let of_part = |part: &Part<'_>| -> Vec<Lost> {
            let missing = lacking.get(&(part.rows[0].stage, part.signature)).into_iter().flatten();
            let shown = missing.filter(|row| is_shown(row, part, parts));
            shown.map(|row| named(row, part)).collect()
        };
        parts.iter().flat_map(of_part).collect()
    };
    parallel::flat_map(steps.len(), |step| of_step(&steps[step]))
}

/// By stage: the operations that more than half of its workers and steps have, each with an example row.
fn usual(known: &BTreeMap<(u32, u64), (usize, &Part<'_>)>) -> BTreeMap<u32, BTreeMap<Key, Row>> {
    let mut all: BTreeMap<u32, usize> = BTreeMap::new();
    let mut counted: BTreeMap<u32, BTreeMap<Key, (usize, Row)>> = BTreeMap::new();
    for ((stage, _), (count, part)) in known {
        *all.entry(*stage).or_default() += count;
        let of_stage = counted.entry(*stage).or_default();
        for row in part.rows.iter().filter(counts) {
            of_stage.entry(key(row)).or_insert((0, *row)).0 += count;
        }
    }
    let often = |stage: u32, of_stage: BTreeMap<Key, (usize, Row)>| {
        let enough = |(count, _): &(usize, Row)| 2 * count > all.get(&stage).copied().unwrap_or(0);
        of_stage.into_iter().filter(|(_, of)| enough(of)).map(|(key, (_, row))| (key, row)).collect()
    };
    counted.into_iter().map(|(stage, of_stage)| (stage, often(stage, of_stage))).collect()
}

/// Whether other rows of the step show that the worker did the missing operation.
fn is_shown(missing: &Row, part: &Part<'_>, of_step: &[Part<'_>]) -> bool {
    let own = &part.rows[0];
    let others = || of_step.iter().filter(|other| !same_worker(&other.rows[0], own));
    let of_column = || others().filter(|other| other.rows[0].dp_rank == own.dp_rank);
    let pair = |kind: Kind| match kind {
        Kind::ForwardCompute => Kind::BackwardCompute,
        Kind::BackwardCompute => Kind::ForwardCompute,
        Kind::ForwardSend => Kind::ForwardRecv,
        Kind::ForwardRecv => Kind::ForwardSend,
        Kind::BackwardSend => Kind::BackwardRecv,
        Kind::BackwardRecv => Kind::BackwardSend,
        other => other,
    };
    let same = |row: &Row| match missing.kind.is_compute() && missing.microbatch >= 0 {
        true => row.microbatch == missing.microbatch,
        false => row.seq == missing.seq,
    };
    let of_kind = |kind: Kind| move |row: &Row| row.kind == kind && same(row);
    match missing.kind {
        kind if kind.is_compute() => {
            part.has(|row| of_kind(pair(kind))(row) && row.model_chunk == missing.model_chunk)
                || of_column().any(|other| other.has(of_kind(kind)))
        }
        kind if kind.is_send_or_recv() => of_column().any(|other| other.has(of_kind(pair(kind)))),
        kind => others().any(|other| other.has(of_kind(kind))),
    }
}

/// The missing row of a worker. A message gets the microbatch of its computation, if stages have one chunk.
fn named(missing: &Row, part: &Part<'_>) -> Lost {
    let Row { step, rank, .. } = part.rows[0];
    let compute = match missing.kind {
        Kind::ForwardSend | Kind::ForwardRecv => Kind::ForwardCompute,
        Kind::BackwardSend | Kind::BackwardRecv => Kind::BackwardCompute,
        kind => kind,
    };
    let one_chunk = part.rows.iter().all(|row| row.chunk <= 0);
    let of_message = part.rows.iter().find(|row| row.kind == compute && row.seq == missing.seq);
    let microbatch = match missing.kind {
        kind if kind.is_compute() => missing.microbatch,
        kind if kind.is_send_or_recv() && one_chunk => of_message.map_or(-1, |row| row.microbatch),
        _ => -1,
    };
    Lost { step, rank, kind: missing.kind, seq: missing.seq, microbatch }
}
