//! Clocks of a table that contradict each other: a worker ends a transfer before another one of its group has begun it. What
//! meets ends together, which tells how far each clock is off. Clocks without such contradictions are left as they are.

use super::workers::Workers;
use crate::clocks::{Ends, Offsets};
use crate::{Job, Row};
use rayon::prelude::*;

/// Contradictions up to this are those of good clocks, in picoseconds.
const GOOD: i64 = 1_000_000_000;
/// Clocks are off if an offset is so many times the residual.
const CLEARLY: i64 = 10;
/// Steps that are compared: they are spread over the job.
const COMPARED: usize = 32;

/// What is added to the starts of workers.
pub struct Correction {
    /// By worker of the job, in picoseconds.
    shift: Vec<i64>,
    pub notes: Vec<String>,
}

/// What is needed, if clocks are clearly off.
pub fn correction(job: &Job) -> Option<Correction> {
    let worst = |shift: &[i64]| {
        (0..job.steps.len()).into_par_iter().map(|step| contradiction(job, step, shift)).max()
    };
    let before = worst(&vec![0; job.workers.len()]).filter(|&worst| worst > GOOD)?;
    let meetings: Vec<Ends> = (0..job.steps.len())
        .step_by(job.steps.len().div_ceil(COMPARED).max(1))
        .flat_map(|step| meetings(job, step))
        .collect();
    let offsets = Offsets::of(&meetings, job.workers.len());
    let largest = offsets.offset[offsets.furthest()].saturating_abs();
    let (residual, _) = offsets.residual(&meetings);
    let shift: Vec<i64> = offsets.offset.iter().map(|offset| offset.saturating_neg()).collect();
    let is_off = largest > GOOD && largest > residual.saturating_mul(CLEARLY);
    if !is_off || worst(&shift).is_none_or(|after| after >= before) {
        return None;
    }
    let rank = |worker: usize| job.workers[worker].rank;
    let mut notes = vec![offsets.found(&meetings, ["transfer", "transfers"], rank)];
    notes.extend(offsets.jumps(&meetings, rank));
    Some(Correction { shift, notes })
}

impl Correction {
    pub fn apply(&self, rows: &mut [Row], workers: &Workers) {
        for row in rows {
            row.start += self.shift[(row.dp_rank * workers.pp + row.stage) as usize] as f64 / 1e12;
        }
    }
}

/// Members of the groups of a step that have several: worker and instance.
fn groups(job: &Job, step: usize) -> impl Iterator<Item = Vec<(usize, usize)>> {
    let (shape, of) = (job.shape(step), job.steps[step]);
    let (graph, columns) = (&shape.graph, of.columns as usize);
    let member = move |column: usize, op: u32| {
        let op = op as usize;
        (job.worker(step, column, op), of.first + column * shape.ops.len() + op)
    };
    (0..graph.groups.len())
        .flat_map(move |group| {
            let ops = graph.groups.of(group);
            let of_columns = move |columns: std::ops::Range<usize>| -> Vec<(usize, usize)> {
                columns.flat_map(|column| ops.iter().map(move |&op| member(column, op))).collect()
            };
            let wide = graph.wide[group];
            let count = if wide { 1 } else { columns };
            (0..count).map(move |column| of_columns(if wide { 0..columns } else { column..column + 1 }))
        })
        .filter(|members| members.len() > 1)
}

/// How long before the last start of a group a member has ended, at most.
fn contradiction(job: &Job, step: usize, shift: &[i64]) -> i64 {
    let of_group = |members: Vec<(usize, usize)>| {
        let start = |&(worker, instance): &(usize, usize)| job.start[instance].saturating_add(shift[worker]);
        let end = |member: &(usize, usize)| start(member).saturating_add(job.duration[member.1]);
        let (last, first) = (members.iter().map(start).max(), members.iter().map(end).min());
        last.zip(first).map_or(0, |(last, first)| last.saturating_sub(first))
    };
    groups(job, step).map(of_group).max().unwrap_or(0)
}

/// What ends together in a step.
fn meetings(job: &Job, step: usize) -> Vec<Ends> {
    let end = |(worker, instance): (usize, usize)| {
        (worker as u32, job.start[instance].saturating_add(job.duration[instance]))
    };
    let mut meetings: Vec<Ends> =
        groups(job, step).map(|members| members.into_iter().map(end).collect()).collect();
    meetings.sort_by_key(|ends| ends.iter().map(|&(_, end)| end).max());
    meetings
}
