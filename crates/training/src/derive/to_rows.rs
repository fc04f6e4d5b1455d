//! Turns a job that was derived from a table back into a table.

use crate::{Job, Kind, Row};
use std::collections::BTreeMap;

/// The rows of a job that was derived from a table. Deriving a job from them gives the same one.
pub fn rows(job: &Job) -> Vec<Row> {
    let mut rows = Vec::with_capacity(job.operations());
    for (place, step) in job.steps.iter().enumerate() {
        let shape = job.shape(place);
        let ops = &shape.ops;
        let instances = job.instances(place);
        let filler = job.fillers.partition_point(|&filler| filler < instances.start);
        let padded = job.fillers.get(filler).is_some_and(|filler| instances.contains(filler));
        for column in 0..step.columns as usize {
            let ends = ends(job, place, column);
            // By worker and kind: the number of rows written so far.
            let mut seqs: BTreeMap<(u32, u16), u32> = BTreeMap::new();
            for (number, op) in ops.iter().enumerate() {
                let instance = job.instance(place, column, number);
                if job.is_filler(instance) {
                    continue;
                }
                let kind = Kind::ALL[op.kind as usize];
                let is_host = matches!(kind, Kind::Gc | Kind::DataLoad);
                let next = seqs.entry((op.worker, op.kind)).or_default();
                let seq = if is_host && padded { *next } else { op.seq };
                *next += 1;
                let worker = &job.workers[job.worker(place, column, number)];
                let (start, duration) = (job.start[instance], job.duration[instance]);
                let end = ends.get(&number).copied().unwrap_or(start.saturating_add(duration));
                rows.push(Row {
                    dp_rank: worker.dp_rank,
                    stage: worker.stage,
                    rank: worker.rank,
                    step: step.number,
                    kind,
                    start: start as f64 / 1e12,
                    duration: (end - start) as f64 / 1e12,
                    seq,
                    chunk: op.stage_chunk,
                    model_chunk: op.chunk,
                    microbatch: op.microbatch,
                });
            }
        }
    }
    rows
}

/// The original ends of computations that had garbage collections taken out of them.
fn ends(job: &Job, step: usize, column: usize) -> BTreeMap<usize, i64> {
    let shape = job.shape(step);
    let mut ends: BTreeMap<usize, i64> = BTreeMap::new();
    for number in (0..shape.ops.len()).filter(|&number| shape.ops[number].inside) {
        let instance = job.instance(step, column, number);
        if job.is_filler(instance) {
            continue;
        }
        let mut outer = number;
        while shape.ops[outer].inside
            && let Some(&before) = shape.graph.before.get(outer).first()
        {
            outer = before as usize;
        }
        let end = job.start[instance].saturating_add(job.duration[instance]);
        let latest = ends.entry(outer).or_insert(end);
        *latest = end.max(*latest);
    }
    ends
}
