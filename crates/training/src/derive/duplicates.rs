//! Rows of the same operation. Exact copies count once. If they differ, it is unknown which one is right, and the step is
//! left out.

use super::{JobError, identity};
use crate::Row;
use crate::words::{listed, plural};
use std::collections::BTreeSet;

/// If more than one step in this many has contradictions, two recordings were merged.
const EXCEPTION: usize = 4;

/// What was removed.
#[derive(Default)]
pub struct Removed {
    pub steps: usize,
    pub notes: Vec<String>,
}

/// Removes copies, and steps with rows that contradict each other. Rows are in order of their identity.
pub fn remove(rows: &mut Vec<Row>) -> Result<Removed, JobError> {
    let mut removed = Removed::default();
    let (mut copies, mut first_copy) = (0, None);
    rows.dedup_by(|row, before| {
        let is_copy = row == before;
        if is_copy {
            copies += 1;
            first_copy.get_or_insert(*row);
        }
        is_copy
    });
    if let Some(Row { step, rank, kind, seq, .. }) = first_copy {
        removed.notes.push(format!(
            "{copies} {} used only once: the first is {} {seq} of rank {rank} in step {step}",
            plural(copies, "row is repeated and", "rows are repeated and each is"),
            kind.name()
        ));
    }
    let twice = || rows.windows(2).filter(|pair| identity(&pair[0]) == identity(&pair[1]));
    if let Some(pair) = twice().find(|pair| pair[0].rank != pair[1].rank) {
        let Row { dp_rank, stage, .. } = pair[0];
        let (rank, other) = (pair[0].rank.min(pair[1].rank), pair[0].rank.max(pair[1].rank));
        return Err(JobError::TwoRanks { dp_rank, stage, rank, other });
    }
    let Some(Row { step, rank, kind, seq, .. }) = twice().map(|pair| pair[0]).next() else {
        return Ok(removed);
    };
    let steps: BTreeSet<i64> = twice().map(|pair| pair[0].step).collect();
    let all = rows.chunk_by(|a, b| a.step == b.step).count();
    rows.retain(|row| !steps.contains(&row.step));
    if rows.is_empty() || steps.len() * EXCEPTION > all.max(EXCEPTION) {
        return Err(JobError::Twice { step, rank, name: kind.name(), seq });
    }
    removed.steps = steps.len();
    removed.notes.push(format!(
        "left out, because rows contradict each other: {} {} (step {step} has {} {seq} of rank {rank} twice, with different \
         values). Remove one of the rows",
        plural(steps.len(), "step", "steps"),
        listed(steps.iter().map(i64::to_string)),
        kind.name()
    ));
    Ok(removed)
}
