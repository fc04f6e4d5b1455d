//! A job several times side by side, along the data-parallel dimension. Transfers take as long as they did.

use crate::{Job, Row, Step, Worker, derive};

/// Why a job cannot be copied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CopyError {
    #[error("{operations} operations are too many: give fewer copies, for {MOST_OPERATIONS} at most")]
    TooMany { operations: u64 },
    #[error(
        "the recording does not tell which collectives are data parallel, so that nothing is known of more ranks: copies need \
         a table of operations, or a profiler trace that names microbatches"
    )]
    Unknown,
    #[error("{why}")]
    Job { why: String },
}

/// More take tens of gigabytes.
const MOST_OPERATIONS: u64 = 200_000_000;

/// So many copies of a job. Ranks and data-parallel ranks of a copy follow those of the one before it.
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
        return Err(CopyError::Unknown);
    }
    // Columns meet in groups of all columns, however many there are.
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
        ..job.clone()
    };
    for copy in 0..copies {
        wide.workers.extend(job.workers.iter().cloned().map(|mut worker| {
            worker.rank += copy * ranks;
            worker.dp_rank += copy * dp_ranks;
            worker
        }));
    }
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
