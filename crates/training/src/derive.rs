//! Derives a job from the table of its operations: which operation waited for which, for every worker and step.
//!
//! ```text
//! rows of a step ─► a Column for each data-parallel rank: operations, edges, groups
//!                     ├─ all alike: one column is the shape, groups of all ranks are wide
//!                     ├─ alike but for host work: placeholders make them alike
//!                     └─ different: all columns are joined into one, groups of all ranks by their key
//! ```

mod clocks;
mod column;
mod complete_steps;
mod duplicates;
mod lost;
mod padding;
mod queue;
mod to_rows;
mod transfers;
mod workers;

pub use to_rows::rows;

use crate::graph::{Graph, Group};
use crate::operation::Direction;
use crate::table::LONGEST_SECONDS;
use crate::words::listed;
use crate::{Job, Kind, KindInfo, Op, Role, Row, Shape};
use column::{Column, Key};
use complete_steps::Chosen;
use rayon::prelude::*;
use std::collections::BTreeMap;
use straggler_model::parallel;
use workers::Workers;

/// Why no job can be derived from a table.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum JobError {
    #[error("the table has no rows")]
    Empty,
    #[error("no step can be analysed: {fault}")]
    AllFaulty { fault: String },
    #[error(
        "step {step}, rank {rank}: {name} {seq} appears twice, with different values: were two recordings merged? \
         Give one of them"
    )]
    Twice { step: i64, rank: u32, name: &'static str, seq: u32 },
    #[error(
        "ranks {rank} and {other} are both data-parallel rank {dp_rank} of stage {stage}: give only one rank of each \
         tensor-parallel group. Or are these two jobs?"
    )]
    TwoRanks { dp_rank: u32, stage: u32, rank: u32, other: u32 },
    #[error(
        "rank {rank} (step {step}) and rank {other} (step {other_step}) have no step in common: are these two jobs? Give the \
         rows of one job"
    )]
    NeverTogether { rank: u32, step: i64, other: u32, other_step: i64 },
    #[error(
        "rank {rank} is data-parallel rank {} of stage {}, and data-parallel rank {} of stage {}: a rank has only one place. \
         Are these two jobs?",
        place.0, place.1, other.0, other.1
    )]
    TwoPlaces { rank: u32, place: (u32, u32), other: (u32, u32) },
    #[error("{workers} workers are too many to analyse: are dp_rank and stage correct?")]
    TooMany { workers: u64 },
    #[error("only {recorded} of {workers} workers were recorded: do dp_rank and stage start at 0?")]
    Sparse { recorded: usize, workers: u64 },
    #[error("no step has all {workers} workers: step {step} lacks {lacks}")]
    NoWholeStep { workers: usize, step: i64, lacks: String },
    #[error(
        "step {step}: {name} of rank {rank} is more than ten days apart from the others: are the times in seconds?"
    )]
    FarOff { step: i64, name: &'static str, rank: u32 },
    #[error("step {step}: operations wait for each other in a cycle, among them {name} of rank {rank}")]
    Circle { step: i64, name: &'static str, rank: u32 },
}

/// The maximum number of workers.
const MOST: u64 = 1 << 22;

/// Counts of irregularities. They become notes.
#[derive(Clone, Copy, Default)]
struct Found {
    unmatched: u64,
    unpaired: u64,
    nested: u64,
}

impl Found {
    fn add(&mut self, other: Found) {
        self.unmatched += other.unmatched;
        self.unpaired += other.unpaired;
        self.nested += other.nested;
    }
}

/// Derives the job. Rows may be in any order.
pub fn job(rows: Vec<Row>, source: &str) -> Result<Job, JobError> {
    job_of(rows, source, (0, 0))
}

/// Like [`job`], for a job whose number of data-parallel ranks and stages is known even if not all were recorded.
pub fn job_of(mut rows: Vec<Row>, source: &str, known: (u32, u32)) -> Result<Job, JobError> {
    let one_sided = one_sided(&rows).filter(|_| rows.iter().any(|row| !row.kind.is_send_or_recv()));
    if one_sided.is_some() {
        rows.retain(|row| !row.kind.is_send_or_recv());
    }
    let mut job = two_sided(rows, source, known)?;
    job.notes.splice(0..0, one_sided);
    Ok(job)
}

/// Returns a note if only one end of transfers was recorded: then transferring cannot be told from waiting for the
/// other end.
fn one_sided(rows: &[Row]) -> Option<String> {
    let mut has = [false; Kind::ALL.len()];
    rows.iter().for_each(|row| has[row.kind as usize] = true);
    let ends = Direction::BOTH.into_iter().flat_map(|of| [(of.send, of.recv), (of.recv, of.send)]);
    let mut alone = ends.filter(|(there, other)| has[*there as usize] && !has[*other as usize]);
    let (there, other) = alone.next()?;
    Some(format!(
        "the table has {} but no {}: with one end of a transfer, waiting cannot be told from transferring, so sends and \
         receives are not used. Record both",
        there.name(),
        other.name()
    ))
}

/// Derives the job from rows that have both ends of their transfers, or none.
fn two_sided(mut rows: Vec<Row>, source: &str, known: (u32, u32)) -> Result<Job, JobError> {
    let mut removed = duplicates::Removed::default();
    // Rows are usually sorted already, and checking is cheap.
    if !rows.par_windows(2).all(|pair| identity(&pair[0]) < identity(&pair[1])) {
        // Copies of a row are adjacent, whatever else has its identity.
        let times = |a: &Row, b: &Row| a.start.total_cmp(&b.start).then(a.duration.total_cmp(&b.duration));
        rows.par_sort_unstable_by(|a, b| identity(a).cmp(&identity(b)).then_with(|| times(a, b)));
        removed = duplicates::remove(&mut rows)?;
    }
    let mut job = in_order(rows, source, known)?;
    job.steps_left_out += removed.steps;
    job.notes.splice(0..0, removed.notes);
    Ok(job)
}

/// Derives the job from rows in order, with clocks corrected.
fn in_order(mut rows: Vec<Row>, source: &str, known: (u32, u32)) -> Result<Job, JobError> {
    let workers = Workers::new(&rows, known)?;
    let job = derived(&rows, &workers, source)?;
    // Without all rows, transfers may be matched wrongly and say nothing about clocks.
    match if job.incomplete { None } else { clocks::correction(&job) } {
        Some(correction) if correction.changes_nothing() => {
            let mut job = job;
            job.notes.extend(correction.notes);
            Ok(job)
        }
        Some(correction) => {
            correction.apply(&mut rows, &workers);
            let mut job = derived(&rows, &workers, source)?;
            job.steps_left_out += correction.left_out.len();
            job.notes.extend(correction.notes);
            Ok(job)
        }
        None => Ok(job),
    }
}

/// Describes how much the recorded clocks contradict each other. `None` if they do not.
pub fn clocks_note(rows: &[Row]) -> Option<String> {
    let mut rows = rows.to_vec();
    rows.par_sort_unstable_by_key(identity);
    let workers = Workers::new(&rows, (0, 0)).ok()?;
    let job = derived(&rows, &workers, "").ok()?;
    if job.incomplete { None } else { clocks::as_recorded(&job) }
}

/// Derives the job from rows in order.
fn derived(rows: &[Row], workers: &Workers, source: &str) -> Result<Job, JobError> {
    let mut job = Job { source: source.into(), kinds: kinds(), ..Job::default() };
    let Chosen { steps, incomplete, notes } = complete_steps::chosen(rows, workers)?;
    job.incomplete = incomplete;
    let habits = Habits {
        chunks: largest_chunk(rows).saturating_add(1),
        clip_meets: clip_meets(&steps),
        transfers: workers.pp < 2 || count(rows, |row| row.kind.is_send_or_recv()) > 0,
    };
    let built: Vec<Result<Built, JobError>> = parallel::map_list(&steps, |rows| build(rows, workers, habits));
    let mut found = Found::default();
    let (mut merged, mut failed) = (Vec::new(), Vec::new());
    for (rows, step) in steps.iter().zip(built) {
        match step {
            Ok(step) => {
                let there = || rows.chunk_by(same_worker).count();
                if step.columns != workers.dp && there() == workers.all() {
                    merged.push(rows[0].step);
                }
                found.add(step.found);
                let first = job.start.len();
                job.fillers.extend(step.fillers.iter().map(|place| first + place));
                job.add_step(rows[0].step, step.columns, step.shape, &step.start, &step.duration);
            }
            Err(error) => failed.push((rows[0].step, error)),
        }
    }
    job.steps_left_out = rows.chunk_by(|a, b| a.step == b.step).count() - job.steps.len();
    if job.steps.is_empty() {
        return Err(failed.into_iter().next().map_or(JobError::Empty, |(_, error)| error));
    }
    job.workers = workers.list();
    job.notes = workers.notes();
    job.notes.extend(notes);
    if !habits.transfers {
        job.notes.push(format!(
            "there are {} stages but no sends or receives to use: each microbatch is assumed to wait for the previous stage, and \
             transfers between stages cannot be distinguished from host delays",
            workers.pp
        ));
    }
    job.notes.extend(one_pass_only(rows));
    job.notes.extend(later_stages(rows, workers, habits.chunks));
    job.notes.extend(found_notes(&merged, found));
    if let Some((_, error)) = failed.first() {
        let numbers = listed(failed.iter().map(|(step, _)| step.to_string()));
        let steps = if failed.len() == 1 { "step" } else { "steps" };
        job.notes.push(format!("left out: {steps} {numbers} ({error})"));
    }
    Ok(job)
}

fn identity(row: &Row) -> (i64, u32, u32, Kind, u32) {
    (row.step, row.dp_rank, row.stage, row.kind, row.seq)
}

fn same_worker(one: &Row, other: &Row) -> bool {
    (one.dp_rank, one.stage) == (other.dp_rank, other.stage)
}

/// Properties of all steps of a job.
#[derive(Clone, Copy)]
struct Habits {
    /// The number of chunks of the model.
    chunks: i32,
    /// Whether workers compute the gradient norm together, and so wait for each other.
    clip_meets: bool,
    /// Whether sends and receives show which stage waits for which. True if there is only one stage.
    transfers: bool,
}

/// Checks whether workers compute the gradient norm together: then all end after the last has started. If this does
/// not hold in most steps, each worker computes the norm of its own gradients.
fn clip_meets(steps: &[&[Row]]) -> bool {
    let is_apart = |rows: &&[Row]| {
        let clips = rows.iter().filter(|row| row.kind == Kind::OptimizerClipMainGrad);
        let (last, first) = clips.fold((f64::NEG_INFINITY, f64::INFINITY), |(last, first), row| {
            (f64::max(last, row.start), f64::min(first, row.start + row.duration))
        });
        first + 1e-12 * column::SLACK as f64 <= last
    };
    2 * count(steps, is_apart) <= steps.len()
}

/// How many items of a list fulfil a condition.
fn count<T: Sync>(items: &[T], holds: impl Fn(&T) -> bool + Sync) -> usize {
    parallel::pieces(items, |some| some.iter().filter(|item| holds(item)).count()).into_iter().sum()
}

fn largest_chunk(rows: &[Row]) -> i32 {
    let largest = |rows: &[Row]| rows.iter().map(transfers::chunk).max();
    parallel::pieces(rows, largest).into_iter().flatten().max().unwrap_or(0)
}

/// All kinds, in the order of [`Kind::ALL`].
fn kinds() -> Vec<KindInfo> {
    let role = |kind: Kind| match kind {
        Kind::ForwardCompute | Kind::BackwardCompute | Kind::Optimizer => Role::Compute,
        Kind::Gc | Kind::DataLoad | Kind::LayernormGradsAllReduce => Role::Other,
        _ => Role::Communication,
    };
    let info = |kind: Kind| KindInfo {
        name: kind.name().into(),
        class: kind.class().into(),
        role: role(kind),
        launched: matches!(
            kind,
            Kind::ForwardCompute | Kind::BackwardCompute | Kind::DataLoad | Kind::ParamsAllGather
        ),
        posted: matches!(kind, Kind::ForwardRecv | Kind::BackwardRecv),
        bytes: None,
    };
    Kind::ALL.map(info).into()
}

/// A step before it is added to the job.
struct Built {
    columns: u32,
    shape: Shape,
    start: Vec<i64>,
    duration: Vec<i64>,
    found: Found,
    /// Indices of placeholder instances, see [`Job::fillers`].
    fillers: Vec<usize>,
}

fn build(rows: &[Row], workers: &Workers, habits: Habits) -> Result<Built, JobError> {
    let first = rows.iter().map(|row| row.start).fold(f64::INFINITY, f64::min);
    // Written so that NaN counts as far off.
    let is_near =
        |row: &Row| row.start - first <= LONGEST_SECONDS && (0.0..=LONGEST_SECONDS).contains(&row.duration);
    if !rows.iter().all(is_near) {
        return Err(far_off(rows));
    }
    let parts: Vec<&[Row]> = rows.chunk_by(|a, b| a.dp_rank == b.dp_rank).collect();
    let mut columns: Vec<Column> =
        parts.iter().map(|rows| Column::new(rows, workers.pp, first, habits)).collect();
    let mut found = Found::default();
    columns.iter().for_each(|column| found.add(column.found));
    let are_alike = |columns: &[Column]| columns[1..].iter().all(|column| column.is_like(&columns[0]));
    let mut alike = columns.len() == workers.dp as usize && are_alike(&columns);
    if !alike
        && columns.len() == workers.dp as usize
        && let Some(filled) = padding::padded(&parts, &columns, workers.pp, habits)
        && are_alike(&filled)
    {
        (columns, alike) = (filled, true);
    }
    let fillers_of = |(number, column): (usize, &Column)| -> Vec<usize> {
        column.fillers.iter().map(|op| number * column.ops.len() + op).collect()
    };
    let fillers = columns.iter().enumerate().flat_map(fillers_of).collect();
    let (start, duration) = (
        columns.iter().flat_map(|column| column.start.iter().copied()).collect(),
        columns.iter().flat_map(|column| column.duration.iter().copied()).collect(),
    );
    let (ops, edges, groups, columns) = if alike {
        let Column { ops, edges, mut groups, wide, .. } =
            columns.into_iter().next().ok_or(JobError::Empty)?;
        groups.extend(wide.into_values().map(|ops| Group { ops, wide: true }));
        (ops, edges, groups, workers.dp)
    } else {
        let (ops, edges, groups) = joined(columns, workers.pp);
        (ops, edges, groups, 1)
    };
    let graph = Graph::new(ops.len(), &edges, &groups).map_err(|op| {
        let at = ops[op as usize];
        let place =
            if columns == 1 { (at.worker / workers.pp, at.worker % workers.pp) } else { (0, at.worker) };
        let rank = workers.ranks.get(&place).copied().unwrap_or(0);
        JobError::Circle { step: rows[0].step, name: Kind::ALL[at.kind as usize].name(), rank }
    })?;
    Ok(Built { columns, shape: Shape { ops, graph }, start, duration, found, fillers })
}

/// Names the operation that is farthest from the median start.
fn far_off(rows: &[Row]) -> JobError {
    let mut starts: Vec<f64> = rows.iter().map(|row| row.start).collect();
    starts.sort_unstable_by(f64::total_cmp);
    let middle = starts[starts.len() / 2];
    let distance = |row: &Row| {
        let apart = (row.start - middle).abs() + row.duration.abs();
        if apart.is_nan() { f64::INFINITY } else { apart }
    };
    let row = rows.iter().max_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap_or(&rows[0]);
    JobError::FarOff { step: row.step, name: row.kind.name(), rank: row.rank }
}

/// Joins all columns into one.
fn joined(columns: Vec<Column>, pp: u32) -> (Vec<Op>, Vec<(u32, u32)>, Vec<Group>) {
    let (mut ops, mut edges, mut groups) = (Vec::new(), Vec::new(), Vec::new());
    let mut wide: BTreeMap<Key, Vec<u32>> = BTreeMap::new();
    for column in columns {
        let offset = ops.len() as u32;
        let moved = |op: Op| Op { worker: column.dp_rank * pp + op.worker, ..op };
        ops.extend(column.ops.into_iter().map(moved));
        edges.extend(column.edges.into_iter().map(|(after, before)| (after + offset, before + offset)));
        groups.extend(
            column.groups.into_iter().map(|group| Group {
                ops: group.ops.into_iter().map(|op| op + offset).collect(),
                wide: false,
            }),
        );
        for (key, members) in column.wide {
            wide.entry(key).or_default().extend(members.into_iter().map(|op| op + offset));
        }
    }
    groups.extend(wide.into_values().map(|ops| Group { ops, wide: false }));
    (ops, edges, groups)
}

/// A note about a table with only one of the two passes.
fn one_pass_only(rows: &[Row]) -> Option<String> {
    let has = |kind: Kind| rows.iter().any(|row| row.kind == kind);
    let (there, missing) = match (has(Kind::ForwardCompute), has(Kind::BackwardCompute)) {
        (true, false) => (Kind::ForwardCompute, Kind::BackwardCompute),
        (false, true) => (Kind::BackwardCompute, Kind::ForwardCompute),
        _ => return None,
    };
    Some(format!(
        "the table has {} but no {}: if the job trains, half of its computation is missing",
        there.name(),
        missing.name()
    ))
}

/// Returns a note if the last stage sends forward: then later stages were not recorded. With several chunks per
/// stage, the last stage sends to the first.
fn later_stages(rows: &[Row], workers: &Workers, chunks: i32) -> Option<String> {
    let count = |kind: Kind| count(rows, |row| row.stage + 1 == workers.pp && row.kind == kind);
    let sends = i64::from(chunks) <= i64::from(workers.pp)
        && 2 * count(Kind::ForwardSend) > count(Kind::ForwardCompute);
    sends.then(|| {
        format!(
            "stage {}, the last one recorded, sends forward: stages from {} on are missing, and delays they caused show up as \
             waiting time of the others",
            workers.pp - 1,
            workers.pp
        )
    })
}

fn found_notes(merged: &[i64], found: Found) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(step) = merged.first() {
        notes.push(format!(
            "data-parallel ranks do not all run the same operations in the same order in {} of the steps, first in step {step}",
            merged.len()
        ));
    }
    let counts = [
        (
            found.unmatched,
            "send or receive belongs to no computation",
            "sends or receives belong to no computation",
        ),
        (
            found.unpaired,
            "send or receive has no matching partner: it counts as a separate transfer",
            "sends or receives have no matching partner: each counts as a separate transfer",
        ),
        (
            found.nested,
            "garbage collection lies inside another operation and is subtracted from it",
            "garbage collections lie inside other operations and are subtracted from them",
        ),
    ];
    for (count, one, several) in counts.into_iter().filter(|(count, _, _)| *count > 0) {
        notes.push(format!("{count} {}", if count == 1 { one } else { several }));
    }
    notes
}
