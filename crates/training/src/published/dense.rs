//! A job in the form that the published analysis needs: every operation once for each step and data-parallel rank, in flat
//! arrays.

use crate::{Kind, Row};
use std::collections::{BTreeMap, BTreeSet};

/// An operation of a stage, which every data-parallel rank does in every step.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Op {
    pub stage: u32,
    pub kind: Kind,
    pub seq: u32,
}

/// A job in which every operation occurs once for each step and data-parallel rank.
#[derive(Debug)]
pub struct Dense {
    /// Sorted.
    pub ops: Vec<Op>,
    /// Sorted.
    pub steps: Vec<i64>,
    /// Data-parallel ranks and stages.
    pub dp: u32,
    pub pp: u32,
    /// In seconds, indexed by [`Dense::instance`].
    pub start: Vec<f64>,
    pub duration: Vec<f64>,
    /// By operation, taken from the first data-parallel rank in the first step: the chunk of the stage and that of the model, or
    /// -1.
    pub chunk: Vec<i32>,
    pub model_chunk: Vec<i32>,
    /// By stage and data-parallel rank: the recorded rank.
    ranks: Vec<u32>,
}

/// Why a table is not dense.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum DenseError {
    #[error("the table has no rows")]
    Empty,
    #[error(
        "step {step}, rank {rank}: {name} {seq} appears twice: were two recordings merged? Give one of them"
    )]
    Twice { step: i64, rank: u32, name: &'static str, seq: u32 },
    #[error(
        "step {step}, data-parallel rank {dp_rank}, stage {stage}: {name} {seq} is missing, but other workers or steps have it, \
         and the published analysis needs every operation: remove --method published"
    )]
    Missing { step: i64, dp_rank: u32, stage: u32, name: &'static str, seq: u32 },
    #[error(
        "data-parallel rank {dp_rank} of stage {stage} is rank {rank} and rank {other}: are these two jobs?"
    )]
    TwoRanks { dp_rank: u32, stage: u32, rank: u32, other: u32 },
    #[error("no operation has a duration: record durations")]
    NoDurations,
    #[error(
        "nothing was recorded of stage {stage}: the published analysis needs all stages: remove --method published"
    )]
    NoStage { stage: u32 },
}

impl Dense {
    pub fn new(rows: &[Row]) -> Result<Dense, DenseError> {
        let (Some(dp), Some(pp)) =
            (rows.iter().map(|row| row.dp_rank).max(), rows.iter().map(|row| row.stage).max())
        else {
            return Err(DenseError::Empty);
        };
        if rows.iter().all(|row| row.duration == 0.0) {
            return Err(DenseError::NoDurations);
        }
        let (dp, pp) = (dp.saturating_add(1), pp.saturating_add(1));
        let ops: Vec<Op> = rows.iter().map(op_of).collect::<BTreeSet<Op>>().into_iter().collect();
        let stages: BTreeSet<u32> = ops.iter().map(|op| op.stage).collect();
        if let Some(stage) = (0..pp).find(|stage| !stages.contains(stage)) {
            return Err(DenseError::NoStage { stage });
        }
        let steps: Vec<i64> =
            rows.iter().map(|row| row.step).collect::<BTreeSet<i64>>().into_iter().collect();
        let place: BTreeMap<Op, usize> = ops.iter().enumerate().map(|(place, op)| (*op, place)).collect();
        let step: BTreeMap<i64, usize> =
            steps.iter().enumerate().map(|(place, step)| (*step, place)).collect();
        let instances = (ops.len() as u64 * u64::from(dp)).saturating_mul(steps.len() as u64);
        // With fewer rows than instances, some are missing.
        let workers = u64::from(dp) * u64::from(pp);
        let missing = instances > rows.len() as u64 || workers > rows.len() as u64;
        let size = if missing { 0 } else { instances as usize };
        let mut job = Dense {
            start: vec![f64::NAN; size],
            duration: vec![0.0; size],
            chunk: vec![-1; ops.len()],
            model_chunk: vec![-1; ops.len()],
            ranks: vec![u32::MAX; if missing { 0 } else { workers as usize }],
            ops,
            steps,
            dp,
            pp,
        };
        if missing {
            return Err(job.first_missing(rows));
        }
        for row in rows {
            job.add(row, place[&op_of(row)], step[&row.step])?;
        }
        match job.start.iter().position(|start| start.is_nan()) {
            Some(instance) => Err(job.missing(instance)),
            None => Ok(job),
        }
    }

    fn add(&mut self, row: &Row, op: usize, step: usize) -> Result<(), DenseError> {
        let instance = self.instance(step, row.dp_rank as usize, op);
        if !self.start[instance].is_nan() {
            let (name, seq) = (row.kind.name(), row.seq);
            return Err(DenseError::Twice { step: row.step, rank: row.rank, name, seq });
        }
        (self.start[instance], self.duration[instance]) = (row.start, row.duration);
        if step == 0 && row.dp_rank == 0 {
            (self.chunk[op], self.model_chunk[op]) = (row.chunk, row.model_chunk);
        }
        let rank = &mut self.ranks[(row.stage * self.dp + row.dp_rank) as usize];
        match std::mem::replace(rank, row.rank) {
            other if other != u32::MAX && other != row.rank => {
                let (dp_rank, stage) = (row.dp_rank, row.stage);
                Err(DenseError::TwoRanks { dp_rank, stage, rank: other, other: row.rank })
            }
            _ => Ok(()),
        }
    }

    fn missing(&self, instance: usize) -> DenseError {
        let (op, of_step) = (self.ops[instance % self.ops.len()], instance / self.ops.len());
        let dp_rank = (of_step % self.dp as usize) as u32;
        let step = self.steps[of_step / self.dp as usize];
        DenseError::Missing { step, dp_rank, stage: op.stage, name: op.kind.name(), seq: op.seq }
    }

    /// Names the first missing instance, if there are fewer rows than instances.
    fn first_missing(&self, rows: &[Row]) -> DenseError {
        let there: BTreeSet<(i64, u32, Op)> =
            rows.iter().map(|row| (row.step, row.dp_rank, op_of(row))).collect();
        let all = self.steps.iter().flat_map(|&step| (0..self.dp).map(move |dp_rank| (step, dp_rank)));
        for (step, dp_rank) in all {
            if let Some(op) = self.ops.iter().find(|op| !there.contains(&(step, dp_rank, **op))) {
                return DenseError::Missing {
                    step,
                    dp_rank,
                    stage: op.stage,
                    name: op.kind.name(),
                    seq: op.seq,
                };
            }
        }
        DenseError::Empty
    }

    /// The index of an instance. Those of a data-parallel rank in a step are adjacent.
    #[inline]
    pub fn instance(&self, step: usize, dp_rank: usize, op: usize) -> usize {
        (step * self.dp as usize + dp_rank) * self.ops.len() + op
    }

    pub fn end(&self, instance: usize) -> f64 {
        self.start[instance] + self.duration[instance]
    }

    pub fn rank(&self, dp_rank: u32, stage: u32) -> u32 {
        self.ranks[(stage * self.dp + dp_rank) as usize]
    }

    /// The number of recorded workers.
    pub fn workers(&self) -> u32 {
        self.dp * self.pp
    }
}

fn op_of(row: &Row) -> Op {
    Op { stage: row.stage, kind: row.kind, seq: row.seq }
}
