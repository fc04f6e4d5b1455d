//! Turns recordings into a table, if all files contain the operations of a table. The job is then analysed like any table.

use super::recorded::{Recorded, TableOp};
use super::words;
use crate::{Kind, Row};
use std::collections::{BTreeMap, BTreeSet};

/// The rows of the steps, with all times on one clock. `None` if some file has no table operations; then a note names its rank.
pub fn rows(
    workers: &[Recorded],
    steps: &[i64],
    shift_ps: &[i64],
    notes: &mut Vec<String>,
) -> Option<Vec<Row>> {
    let lacking: Vec<u32> =
        workers.iter().filter(|worker| worker.table.is_none()).filter_map(|worker| worker.rank).collect();
    if !lacking.is_empty() {
        if lacking.len() < workers.len() {
            notes.push(format!(
                "The kernels of all ranks are analysed one by one, because {} cannot be read as microbatches; the other ranks can.",
                words::named("rank", &lacking)
            ));
        }
        return None;
    }
    let kept = first_of_each(workers, notes);
    let of = |worker: usize| workers[worker].table.iter().flatten().map(move |op| (worker, op));
    let used = |op: &TableOp| steps.binary_search(&op.step).is_ok();
    let ops: Vec<(usize, &TableOp)> = kept.into_iter().flat_map(of).filter(|(_, op)| used(op)).collect();
    let start = |worker: usize, op: &TableOp| op.start_ps.saturating_add(shift_ps[worker]);
    let mut firsts: BTreeMap<i64, i64> = BTreeMap::new();
    for &(worker, op) in &ops {
        let first = firsts.entry(op.step).or_insert(i64::MAX);
        *first = start(worker, op).min(*first);
    }
    let mut rows: Vec<Row> = Vec::with_capacity(ops.len());
    let mut last: Option<(usize, i64, Kind, u32)> = None;
    for (worker, op) in ops {
        let of = &workers[worker];
        // Operations of a rank are in order of step, kind and start.
        let seq = match last {
            Some((before, step, kind, seq)) if (before, step, kind) == (worker, op.step, op.kind) => seq + 1,
            _ => 0,
        };
        last = Some((worker, op.step, op.kind, seq));
        let since = start(worker, op).saturating_sub(firsts.get(&op.step).copied().unwrap_or(0));
        rows.push(Row {
            dp_rank: of.dp_rank,
            stage: of.stage,
            rank: of.rank.unwrap_or(0),
            step: op.step,
            kind: op.kind,
            start: since as f64 / 1e12,
            duration: op.end_ps.saturating_sub(op.start_ps).max(0) as f64 / 1e12,
            seq,
            chunk: op.chunk,
            model_chunk: op.model_chunk,
            microbatch: op.microbatch,
        });
    }
    Some(rows)
}

/// By kind: how many bytes a rank typically contributes to a transfer, if recorded.
pub fn bytes(workers: &[Recorded]) -> [Option<u64>; Kind::ALL.len()] {
    let mut all: [Vec<u64>; Kind::ALL.len()] = std::array::from_fn(|_| Vec::new());
    for op in workers.iter().flat_map(|worker| worker.table.iter().flatten()) {
        all[op.kind as usize].extend(op.bytes);
    }
    all.map(|mut of_kind| {
        let middle = of_kind.len().checked_sub(1)? / 2;
        Some(*of_kind.select_nth_unstable(middle).1)
    })
}

/// Keeps the first of the ranks with the same place. They are a tensor-parallel group, and the first represents all.
fn first_of_each(workers: &[Recorded], notes: &mut Vec<String>) -> Vec<usize> {
    let mut taken: BTreeSet<(u32, u32)> = BTreeSet::new();
    let kept: Vec<usize> = (0..workers.len())
        .filter(|&place| taken.insert((workers[place].dp_rank, workers[place].stage)))
        .collect();
    if kept.len() < workers.len() {
        let left = workers.len() - kept.len();
        notes.push(format!(
            "{left} {} not analysed: they have the same place in the pipeline as another rank, as in a tensor-parallel group, \
             and the first of them represents all.",
            words::plural(left, "rank was", "ranks were")
        ));
    }
    kept
}
