//! A job from the table of its operations: who waited for whom, for every worker and step.
//!
//! ```text
//! rows of a step ─► a Column for each data-parallel rank: operations, edges, groups
//!                     ├─ all alike: the shape is that of one column, groups of all ranks are wide
//!                     ├─ not alike in what hosts do: filled up, so that they are
//!                     └─ not alike: all columns in one, groups of all ranks joined by what they are
//! ```

mod clocks;
mod column;
mod padding;
mod transfers;
mod workers;

use crate::graph::{Graph, Group};
use crate::table::LONGEST_SECONDS;
use crate::words::listed;
use crate::{Job, Kind, KindInfo, Op, Role, Row, Shape};
use column::{Column, Key};
use rayon::prelude::*;
use std::collections::BTreeMap;
use workers::Workers;

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum JobError {
    #[error("the table has no rows")]
    Empty,
    #[error("no step can be analysed: {fault}")]
    AllFaulty { fault: String },
    #[error("step {step}, rank {rank}: {name} {seq} is there twice: were two recordings put together?")]
    Twice { step: i64, rank: u32, name: &'static str, seq: u32 },
    #[error(
        "data-parallel rank {dp_rank} of stage {stage} is rank {rank} and rank {other}: are these two jobs?"
    )]
    TwoRanks { dp_rank: u32, stage: u32, rank: u32, other: u32 },
    #[error("{workers} workers are more than can be analysed: are dp_rank and stage right?")]
    TooMany { workers: u64 },
    #[error("{recorded} workers of {workers} were recorded: are dp_rank and stage numbered from 0 on?")]
    Sparse { recorded: usize, workers: u64 },
    #[error("no step has all {workers} workers: step {step} lacks rank {rank}")]
    NoWholeStep { workers: usize, step: i64, rank: u32 },
    #[error(
        "step {step}: {name} of rank {rank} is more than ten days away from the others: are times in seconds?"
    )]
    FarOff { step: i64, name: &'static str, rank: u32 },
    #[error("step {step}: operations wait for each other in a circle, among them {name} of rank {rank}")]
    Circle { step: i64, name: &'static str, rank: u32 },
}

/// Workers at most.
const MOST: u64 = 1 << 22;

/// What was found beside the steps; becomes sentences.
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

/// Derives the job. Rows are in any order.
pub fn job(mut rows: Vec<Row>, source: &str) -> Result<Job, JobError> {
    rows.par_sort_unstable_by_key(|row| (row.step, row.dp_rank, row.stage, row.kind, row.seq));
    if let Some(pair) = rows.windows(2).find(|pair| identity(&pair[0]) == identity(&pair[1])) {
        let Row { step, rank, seq, .. } = pair[1];
        return Err(JobError::Twice { step, rank, name: pair[1].kind.name(), seq });
    }
    let workers = Workers::of(&rows)?;
    let job = derived(&rows, &workers, source)?;
    match clocks::correction(&job) {
        Some(correction) => {
            correction.apply(&mut rows, &workers);
            let mut job = derived(&rows, &workers, source)?;
            job.notes.extend(correction.notes);
            Ok(job)
        }
        None => Ok(job),
    }
}

/// Derives the job from rows in order.
fn derived(rows: &[Row], workers: &Workers, source: &str) -> Result<Job, JobError> {
    let mut job = Job { source: source.into(), kinds: kinds(), ..Job::default() };
    let mut incomplete = BTreeMap::new();
    let mut steps = Vec::new();
    for of_step in rows.chunk_by(|a, b| a.step == b.step) {
        match workers.first_missing(of_step) {
            Some(rank) => drop(incomplete.insert(of_step[0].step, rank)),
            None => steps.push(of_step),
        }
    }
    if steps.is_empty() {
        let (&step, &rank) = incomplete.first_key_value().ok_or(JobError::Empty)?;
        return Err(JobError::NoWholeStep { workers: workers.ranks.len(), step, rank });
    }
    let habits = Habits {
        chunks: rows.iter().map(|row| row.model_chunk).max().unwrap_or(0).saturating_add(1),
        clip_meets: clip_meets(&steps),
    };
    let built: Vec<Result<Built, JobError>> =
        steps.par_iter().map(|rows| build(rows, workers, habits)).collect();
    let mut found = Found::default();
    let (mut merged, mut failed) = (Vec::new(), Vec::new());
    for (rows, step) in steps.iter().zip(built) {
        match step {
            Ok(step) => {
                if step.columns != workers.dp {
                    merged.push(rows[0].step);
                }
                found.add(step.found);
                job.padded |= step.padded;
                job.add_step(rows[0].step, step.columns, step.shape, &step.start, &step.duration);
            }
            Err(error) => failed.push((rows[0].step, error)),
        }
    }
    if job.steps.is_empty() {
        return Err(failed.into_iter().next().map_or(JobError::Empty, |(_, error)| error));
    }
    job.workers = workers.list();
    job.notes = notes(workers, &incomplete, &merged, found);
    if let Some((_, error)) = failed.first() {
        let numbers = listed(failed.iter().map(|(step, _)| step.to_string()));
        let steps = if failed.len() == 1 { "step" } else { "steps" };
        job.notes.push(format!("left out: {steps} {numbers} ({error})"));
    }
    Ok(job)
}

/// The rows of a job that was derived from a table.
pub fn rows(job: &Job) -> Vec<Row> {
    let stages = job.workers.iter().map(|worker| worker.stage as i32 + 1).max().unwrap_or(1);
    let mut rows = Vec::with_capacity(job.start.len());
    for (place, step) in job.steps.iter().enumerate() {
        let ops = &job.shape(place).ops;
        for instance in job.instances(place) {
            let (column, op) = ((instance - step.first) / ops.len(), (instance - step.first) % ops.len());
            let (worker, of) = (&job.workers[job.worker(place, column, op)], ops[op]);
            let kind = Kind::ALL[of.kind as usize];
            let has_chunk =
                kind.is_compute() || matches!(kind, Kind::ParamsAllGather | Kind::GradsReduceScatter);
            rows.push(Row {
                dp_rank: worker.dp_rank,
                stage: worker.stage,
                rank: worker.rank,
                step: step.number,
                kind,
                start: job.start[instance] as f64 / 1e12,
                duration: job.duration[instance] as f64 / 1e12,
                seq: of.seq,
                chunk: if has_chunk { of.chunk.max(0) / stages } else { -1 },
                model_chunk: of.chunk,
                microbatch: of.microbatch,
            });
        }
    }
    rows
}

fn identity(row: &Row) -> (i64, u32, u32, Kind, u32) {
    (row.step, row.dp_rank, row.stage, row.kind, row.seq)
}

/// What holds for all steps of a job.
#[derive(Clone, Copy)]
struct Habits {
    /// Of the model.
    chunks: i32,
    /// Whether the norm of the gradients is that of all workers, so that they wait for each other.
    clip_meets: bool,
}

/// Workers that waited for each other all end after the last has started. Where most steps show otherwise, each takes the norm of
/// its own gradients.
fn clip_meets(steps: &[&[Row]]) -> bool {
    let is_apart = |rows: &&&[Row]| {
        let clips = || rows.iter().filter(|row| row.kind == Kind::OptimizerClipMainGrad);
        let last = clips().map(|row| row.start).fold(f64::NEG_INFINITY, f64::max);
        let first = clips().map(|row| row.start + row.duration).fold(f64::INFINITY, f64::min);
        first + 1e-12 * column::SLACK as f64 <= last
    };
    2 * steps.iter().filter(is_apart).count() <= steps.len()
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
    };
    Kind::ALL.map(info).into()
}

/// A step on its way into the job.
struct Built {
    columns: u32,
    shape: Shape,
    start: Vec<i64>,
    duration: Vec<i64>,
    found: Found,
    padded: bool,
}

fn build(rows: &[Row], workers: &Workers, habits: Habits) -> Result<Built, JobError> {
    let first = rows.iter().map(|row| row.start).fold(f64::INFINITY, f64::min);
    // Written so that no number at all is far off, too.
    let is_near =
        |row: &Row| row.start - first <= LONGEST_SECONDS && (0.0..=LONGEST_SECONDS).contains(&row.duration);
    if !rows.iter().all(is_near) {
        return Err(far_off(rows));
    }
    let parts: Vec<&[Row]> = rows.chunk_by(|a, b| a.dp_rank == b.dp_rank).collect();
    let mut columns: Vec<Column> =
        parts.iter().map(|rows| Column::of(rows, workers.pp, first, habits)).collect();
    let mut found = Found::default();
    columns.iter().for_each(|column| found.add(column.found));
    let are_alike = |columns: &[Column]| columns[1..].iter().all(|column| column.is_like(&columns[0]));
    let mut alike = columns.len() == workers.dp as usize && are_alike(&columns);
    let mut padded = false;
    if !alike
        && columns.len() == workers.dp as usize
        && let Some(filled) = padding::padded(&parts, &columns, workers.pp, habits)
        && are_alike(&filled)
    {
        (columns, alike, padded) = (filled, true, true);
    }
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
    Ok(Built { columns, shape: Shape { ops, graph }, start, duration, found, padded })
}

/// Names the operation that is farthest from the one in the middle.
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

/// All columns in one.
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

fn notes(workers: &Workers, incomplete: &BTreeMap<i64, u32>, merged: &[i64], found: Found) -> Vec<String> {
    let mut notes = Vec::new();
    let all = workers.dp as usize * workers.pp as usize;
    if workers.ranks.len() < all {
        let places = (0..workers.dp).flat_map(|dp_rank| (0..workers.pp).map(move |stage| (dp_rank, stage)));
        let missing = places.filter(|place| !workers.ranks.contains_key(place));
        let names = missing.map(|(dp_rank, stage)| format!("data-parallel rank {dp_rank} of stage {stage}"));
        notes.push(format!(
            "{} of {all} workers were not recorded: {}. What they did to the others shows as waiting of the others, \
             and cannot be put down to them",
            all - workers.ranks.len(),
            listed(names)
        ));
    }
    if !workers.ends {
        notes.push("no optimizer was recorded: steps that break off are not noticed, and end with their last operation".into());
    }
    if let Some((step, rank)) = incomplete.first_key_value() {
        let names = incomplete.keys().map(i64::to_string);
        notes.push(format!(
            "left out, because workers or their ends are missing: {} {} (step {step} lacks rank {rank})",
            if incomplete.len() == 1 { "step" } else { "steps" },
            listed(names)
        ));
    }
    if let Some(step) = merged.first() {
        notes.push(format!(
            "data-parallel ranks do not all do the same operations in the same order in {} of the steps, first in step {step}",
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
            "send or receive has no partner: it counts as a transfer of its own",
            "sends or receives have no partner: each counts as a transfer of its own",
        ),
        (
            found.nested,
            "garbage collection lies within another operation, and is taken out of it",
            "garbage collections lie within other operations, and are taken out of them",
        ),
    ];
    for (count, one, several) in counts.into_iter().filter(|(count, _, _)| *count > 0) {
        notes.push(format!("{count} {}", if count == 1 { one } else { several }));
    }
    notes
}
