//! Puts copies of a job side by side, along the data-parallel dimension. Transfers take as long as recorded.

use crate::graph::{Graph, Group};
use crate::{Job, Op, Row, Shape, Step, Worker, derive};

/// Why a job cannot be copied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CopyError {
    #[error("{operations} operations are too many: use fewer copies, for at most {MOST_OPERATIONS}")]
    TooMany { operations: u64 },
    #[error(
        "the recording does not show which collectives are data parallel, so more ranks cannot be modelled: copies need \
         a table of operations, a profiler trace that names microbatches, or a job whose ranks all communicate with each other"
    )]
    Unknown,
    #[error("{why}")]
    Job { why: String },
}

/// More would take tens of gigabytes.
const MOST_OPERATIONS: u64 = 200_000_000;

/// Joins copies of a job. The ranks and data-parallel ranks of a copy follow those of the copy before it.
pub fn copied(job: &Job, copies: u32) -> Result<Job, CopyError> {
    let operations = (job.start.len() as u64).saturating_mul(copies.into());
    let most = |number: &dyn Fn(&Worker) -> u32| job.workers.iter().map(number).max().unwrap_or(0);
    let ranks =
        most(&|worker| worker.rank).checked_add(1).filter(|ranks| ranks.checked_mul(copies).is_some());
    let (Some(ranks), true) = (ranks, operations <= MOST_OPERATIONS) else {
        return Err(CopyError::TooMany { operations });
    };
    let dp_ranks = most(&|worker| worker.dp_rank) + 1;
    if copies == 1 {
        return Ok(job.clone());
    }
    if !job.is_table() {
        return more_workers(job, copies, ranks, dp_ranks).ok_or(CopyError::Unknown);
    }
    // Columns only meet in groups of all columns, so more columns can be added.
    if job.steps.iter().all(|step| step.columns == dp_ranks) {
        return Ok(more_columns(job, copies, ranks, dp_ranks));
    }
    let rows = derive::rows(job);
    let moved = |copy: u32| {
        move |row: &Row| Row { rank: row.rank + copy * ranks, dp_rank: row.dp_rank + copy * dp_ranks, ..*row }
    };
    let all = (0..copies).flat_map(|copy| rows.iter().map(moved(copy))).collect();
    let mut wide =
        derive::job(all, &job.source).map_err(|error| CopyError::Job { why: error.to_string() })?;
    (wide.synthetic, wide.unknown_operations) = (job.synthetic, job.unknown_operations);
    wide.notes.clone_from(&job.notes);
    Ok(wide)
}

fn more_columns(job: &Job, copies: u32, ranks: u32, dp_ranks: u32) -> Job {
    let mut wide = Job {
        start: Vec::new(),
        duration: Vec::new(),
        workers: Vec::new(),
        steps: Vec::new(),
        fillers: Vec::new(),
        idle_ps: Vec::new(),
        hosts: Vec::new(),
        ..job.clone()
    };
    wide.workers = workers(job, copies, ranks, dp_ranks);
    for (place, step) in job.steps.iter().enumerate() {
        wide.steps.push(Step { columns: step.columns * copies, first: wide.start.len(), ..*step });
        let own = job.instances(place);
        let fillers = |instance: usize| job.fillers.partition_point(|&filler| filler < instance);
        let fillers = &job.fillers[fillers(own.start)..fillers(own.end)];
        for _ in 0..copies {
            wide.fillers.extend(fillers.iter().map(|filler| filler - own.start + wide.start.len()));
            wide.start.extend_from_slice(&job.start[own.clone()]);
            wide.duration.extend_from_slice(&job.duration[own.clone()]);
        }
    }
    wide
}

fn workers(job: &Job, copies: u32, ranks: u32, dp_ranks: u32) -> Vec<Worker> {
    let moved = |copy: u32| {
        move |worker: &Worker| Worker {
            rank: worker.rank + copy * ranks,
            dp_rank: worker.dp_rank + copy * dp_ranks,
            ..worker.clone()
        }
    };
    (0..copies).flat_map(|copy| job.workers.iter().map(moved(copy))).collect()
}

/// Copies of a job with one column per step. `None` if its workers meet in groups other than those of all workers.
fn more_workers(job: &Job, copies: u32, ranks: u32, dp_ranks: u32) -> Option<Job> {
    let shapes = job.shapes.iter().map(|shape| wider(shape, job.workers.len() as u32, copies));
    let mut wide = Job {
        start: Vec::new(),
        duration: Vec::new(),
        workers: workers(job, copies, ranks, dp_ranks),
        shapes: shapes.collect::<Option<Vec<Shape>>>()?,
        steps: Vec::new(),
        fillers: Vec::new(),
        idle_ps: Vec::new(),
        hosts: Vec::new(),
        ..job.clone()
    };
    for (place, step) in job.steps.iter().enumerate() {
        wide.steps.push(Step { first: wide.start.len(), ..*step });
        for _ in 0..copies {
            wide.start.extend_from_slice(&job.start[job.instances(place)]);
            wide.duration.extend_from_slice(&job.duration[job.instances(place)]);
        }
    }
    Some(wide)
}

/// Copies of a shape, joined in groups of all workers.
fn wider(shape: &Shape, workers: u32, copies: u32) -> Option<Shape> {
    let count = shape.ops.len() as u32;
    let (graph, all) = (&shape.graph, 0..copies);
    let of_all = |group: &[u32]| {
        let mut members: Vec<u32> = group.iter().map(|&op| shape.ops[op as usize].worker).collect();
        members.sort_unstable();
        members.dedup();
        members.len() == workers as usize
    };
    let edge = |after: u32| graph.before.get(after as usize).iter().map(move |&before| (after, before));
    let edges: Vec<(u32, u32)> = all
        .clone()
        .flat_map(|copy| (0..count).flat_map(edge).map(move |(a, b)| (a + copy * count, b + copy * count)))
        .collect();
    let mut groups = Vec::with_capacity(graph.groups.len());
    for group in (0..graph.groups.len()).map(|group| graph.groups.get(group)) {
        let moved = |copy: u32| group.iter().map(move |op| op + copy * count);
        match group.len() {
            1 => groups.extend(all.clone().map(|copy| Group { ops: moved(copy).collect(), wide: false })),
            _ if of_all(group) => {
                groups.push(Group { ops: all.clone().flat_map(moved).collect(), wide: false })
            }
            _ => return None,
        }
    }
    let ops: Vec<Op> = all
        .flat_map(|copy| shape.ops.iter().map(move |op| Op { worker: op.worker + copy * workers, ..*op }))
        .collect();
    let graph = Graph::new(ops.len(), &edges, &groups).ok()?;
    Some(Shape { ops, graph })
}
