//! Makes columns alike that differ only in host work. If one has a garbage collection or data loading that others
//! lack, the others get a placeholder of zero duration at the same place of the queue.
//!
//! A place is a slot before the first, second, … computation of a stage, and a number within the slot. Collections
//! that were taken out of the previous computation come first.

use super::Habits;
use super::column::{Column, Queued};
use super::queue::QUEUED;
use crate::{Kind, Row};
use std::collections::BTreeMap;

/// A place: the stage, the number of computations before it, whether it lies outside them, the kind, and a number.
type OpKey = (u32, usize, bool, Kind, usize);

fn is_host(kind: Kind) -> bool {
    matches!(kind, Kind::Gc | Kind::DataLoad)
}

/// The columns with placeholders. `None` if they differ in more than host work. `rows` are those that the columns were made from.
pub fn padded(rows: &[&[Row]], columns: &[Column], stages: u32, habits: Habits) -> Option<Vec<Column>> {
    let own = |column: &Column| -> Vec<crate::Op> {
        column.ops.iter().copied().filter(|op| !is_host(Kind::ALL[op.kind as usize])).collect()
    };
    let first = own(columns.first()?);
    if columns[1..].iter().any(|column| own(column) != first) {
        return None;
    }
    let of_columns: Vec<BTreeMap<OpKey, usize>> =
        rows.iter().zip(columns).map(|(rows, column)| places(rows, column)).collect::<Option<_>>()?;
    let mut all: BTreeMap<OpKey, bool> = BTreeMap::new();
    for ((rows, column), places) in rows.iter().zip(columns).zip(&of_columns) {
        for (&place, &op) in places {
            *all.entry(place).or_default() |= waits(rows, column, op);
        }
    }
    let filled = rows.iter().zip(columns).zip(&of_columns);
    Some(filled.map(|((rows, column), own)| fill(rows, column, own, &all, stages, habits)).collect())
}

/// The places of host work. `None` if data loading follows a garbage collection in the same slot, which places cannot express.
fn places(rows: &[Row], column: &Column) -> Option<BTreeMap<OpKey, usize>> {
    let mut places = BTreeMap::new();
    for queue in &column.queues {
        let (mut computed, mut last, mut number) = (0, None, 0);
        for &op in queue {
            let Row { stage, kind, .. } = rows[op];
            if !is_host(kind) {
                (computed, last) = (computed + 1, None);
                continue;
            }
            let own = Some((!column.ops[op].inside, kind));
            if last > own {
                return None;
            }
            number = if last == own { number + 1 } else { 0 };
            last = own;
            places.insert((stage, computed, !column.ops[op].inside, kind, number), op);
        }
    }
    Some(places)
}

/// The operations that `op` waits for, other than those of the queue.
fn others(rows: &[Row], column: &Column, op: usize) -> impl Iterator<Item = usize> {
    let from = column.edges.partition_point(|&(after, _)| (after as usize) < op);
    let before = column.edges[from..].iter().take_while(move |(after, _)| *after as usize == op);
    before.map(|&(_, before)| before as usize).filter(|&before| !QUEUED.contains(&rows[before].kind))
}

/// Whether host work waits for anything other than the queue.
fn waits(rows: &[Row], column: &Column, op: usize) -> bool {
    others(rows, column, op).next().is_some()
}

/// The end of the last operation outside the queue that a computation waits for.
fn received(rows: &[Row], column: &Column, compute: usize) -> i64 {
    let ends = others(rows, column, compute).map(|op| column.start[op].saturating_add(column.duration[op]));
    ends.max().unwrap_or(0)
}

/// A column with an operation or a placeholder at every place.
fn fill(
    rows: &[Row],
    column: &Column,
    own: &BTreeMap<OpKey, usize>,
    all: &BTreeMap<OpKey, bool>,
    stages: u32,
    habits: Habits,
) -> Column {
    let mut filled: Vec<(Row, Queued)> = Vec::new();
    let others = (0..rows.len()).filter(|&op| !QUEUED.contains(&rows[op].kind));
    filled.extend(others.map(|op| {
        let (start, duration) = (column.start[op], column.duration[op]);
        (rows[op], Queued { start, duration, order: start, inside: false, filler: false })
    }));
    for queue in &column.queues {
        let computes: Vec<usize> = queue.iter().copied().filter(|&op| !is_host(rows[op].kind)).collect();
        let Some(&first) = queue.first() else { continue };
        let template = rows[first];
        let (mut order, mut end, mut seqs) = (0, 0, BTreeMap::new());
        let mut add = |row: Row, start: i64, duration: i64, inside: bool, filler: bool| {
            filled.push((row, Queued { start, duration, order, inside, filler }));
            order += 1;
            start.saturating_add(duration)
        };
        for slot in 0..=computes.len() {
            let received = computes.get(slot).map_or(0, |&op| received(rows, column, op));
            let from = |slot: usize| (template.stage, slot, false, Kind::BackwardCompute, 0);
            for (place, &waits) in all.range(from(slot)..from(slot + 1)) {
                let (inside, kind) = (!place.2, place.3);
                let seq: &mut u32 = seqs.entry(kind).or_default();
                let row = Row {
                    kind,
                    seq: *seq,
                    chunk: -1,
                    model_chunk: -1,
                    microbatch: -1,
                    ..own.get(place).map_or(template, |&op| rows[op])
                };
                *seq += 1;
                end = match own.get(place) {
                    Some(&op) => add(row, column.start[op], column.duration[op], inside, false),
                    None if waits => add(row, end.max(received), 0, inside, true),
                    None => add(row, end, 0, inside, true),
                };
            }
            if let Some(&op) = computes.get(slot) {
                end = add(rows[op], column.start[op], column.duration[op], false, false);
            }
        }
    }
    filled.sort_by_key(|(row, _)| (row.stage, row.kind, row.seq));
    let (rows, queued): (Vec<Row>, Vec<Queued>) = filled.into_iter().unzip();
    Column::settled(&rows, &queued, stages, habits)
}
