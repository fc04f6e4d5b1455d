//! A job: the operations of every worker in every step, and their dependencies.

use crate::Kind;
use crate::graph::Graph;
use crate::locations::Places;

/// A process of the job: usually one GPU, or a tensor-parallel group of GPUs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Worker {
    /// The recorded rank.
    pub rank: u32,
    /// Its place along the data-parallel dimension, and its stage of the pipeline; 0 where the recording does not say.
    pub dp_rank: u32,
    pub stage: u32,
    pub host: Option<String>,
    /// Whether anything of it was recorded.
    pub recorded: bool,
}

/// The resource that an operation uses.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Role {
    /// The GPU. The work depends on the data, so the ideal is the mean of a typical worker.
    Compute,
    /// The network. The ideal is the median of all.
    Communication,
    /// The host, or anything else.
    Other,
}

/// A kind of operation.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct KindInfo {
    /// `forward-compute`, or what a profiler calls the kernel.
    pub name: String,
    /// The class that results are reported for. Several kinds may share one.
    pub class: String,
    pub role: Role,
    /// Whether it starts late only because its host is late. Delays of other kinds are usually waits for something that was not
    /// recorded, and are replaced by the usual delay.
    pub launched: bool,
    /// Whether it is posted long before it is needed, like a receive, so that its start means nothing.
    pub posted: bool,
    /// The bytes that a worker contributes to a transfer, if recorded.
    pub bytes: Option<u64>,
}

impl KindInfo {
    /// A kind that starts when its host launches it.
    pub fn launched(name: impl Into<String>, class: impl Into<String>, role: Role) -> KindInfo {
        KindInfo { name: name.into(), class: class.into(), role, launched: true, posted: false, bytes: None }
    }
}

/// An operation of a column. Its times, which differ between steps, are in [`Job`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Op {
    /// The worker within its column.
    pub worker: u32,
    /// The index of its kind in [`Job::kinds`].
    pub kind: u16,
    /// The worker's queue. Operations of a queue run one after the other.
    pub stream: u16,
    /// The number of the operation among those of its kind on the worker in the step.
    pub seq: u32,
    /// The microbatch, or -1.
    pub microbatch: i32,
    /// The chunk of the model, and the chunk of the stage; -1 for none.
    pub chunk: i32,
    pub stage_chunk: i32,
    /// Whether it was taken out of the computation before it in its queue. Such host stalls have an ideal duration of 0.
    pub inside: bool,
}

/// What the host of a worker does, and what its kernels are.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Host {
    /// The number of steps, of computing kernels in them, and the total time of these.
    pub steps: u64,
    pub kernels: u64,
    pub busy_ps: i64,
    /// What the host did while its GPU waited for it, with the total time: the longest first. An empty name is code outside of
    /// recorded operations.
    pub does: Vec<(String, i64)>,
}

/// The operations of one column in a step, and their dependencies, without times. Steps that are alike share one.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Shape {
    pub ops: Vec<Op>,
    pub graph: Graph,
}

impl Shape {
    /// Whether an operation begins the step of its worker: it waits for nothing, and its start is meaningful.
    pub fn begins(&self, kinds: &[KindInfo], op: usize) -> bool {
        self.graph.before.get(op).is_empty() && !kinds[self.ops[op].kind as usize].posted
    }
}

/// A step of the job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    pub number: i64,
    /// The index in [`Job::shapes`].
    pub shape: u32,
    pub columns: u32,
    /// The index of its first instance.
    pub first: usize,
}

/// Operations of all workers. A *column* is a set of workers that meets other columns only in groups of all columns: one
/// data-parallel rank, if all data-parallel ranks do the same; else all workers.
///
/// An *instance* is an operation of a column in a step. Instances of a column are adjacent, in the order of the shape.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Job {
    /// A readable description of what it was read from.
    pub source: String,
    /// Whether it is synthetic.
    pub synthetic: bool,
    /// Indexed by column, then by [`Op::worker`].
    pub workers: Vec<Worker>,
    pub kinds: Vec<KindInfo>,
    pub shapes: Vec<Shape>,
    /// In order of their numbers.
    pub steps: Vec<Step>,
    /// By instance, in picoseconds. The origin of starts may differ between steps.
    pub start: Vec<i64>,
    pub duration: Vec<i64>,
    /// Instances that are placeholders for operations of other columns, and take no time: garbage collections and data loads.
    /// Sorted.
    pub fillers: Vec<usize>,
    /// By instance: the part of its launch delay in which the GPU was idle because the host launched kernels too late. Empty if
    /// unknown.
    pub idle_ps: Vec<i64>,
    /// By worker. Empty if unknown.
    pub hosts: Vec<Host>,
    /// Where its ranks run, as far as known. Nodes may also be known from its workers.
    pub places: Vec<Places>,
    /// Whether its operations are single kernels, whose dependencies are partly guessed.
    pub of_kernels: bool,
    /// Whether rows of its steps are missing, so that some transfers may be matched wrongly.
    pub incomplete: bool,
    /// Whether computing may include waits for other ranks, according to the recorder.
    pub waits_in_computing: bool,
    /// Whether its table has unknown operations. Workers may seem to wait for these.
    pub unknown_operations: bool,
    /// Sentences about what was missing or left out, and what that means for the analysis.
    pub notes: Vec<String>,
    /// Sentences about how it was read that are not warnings.
    pub remarks: Vec<String>,
    /// Steps of the recording that are not analysed.
    pub steps_left_out: usize,
}

impl Job {
    /// Whether it has the operations of a table and can be written as one.
    pub fn is_table(&self) -> bool {
        self.kinds.len() == Kind::ALL.len()
            && self.kinds.iter().zip(Kind::ALL).all(|(own, kind)| own.name == kind.name())
    }

    /// Whether any computation has a duration. True if there are no computations.
    pub fn has_durations(&self) -> bool {
        let mut none = true;
        for step in 0..self.steps.len() {
            let shape = self.shape(step);
            for (place, _) in shape
                .ops
                .iter()
                .enumerate()
                .filter(|(_, op)| self.kinds[op.kind as usize].role == Role::Compute)
            {
                none = false;
                let columns = 0..self.steps[step].columns as usize;
                if columns.into_iter().any(|column| self.duration[self.instance(step, column, place)] > 0) {
                    return true;
                }
            }
        }
        none
    }

    /// Whether there are both forward and backward computations. True if the job is not a table.
    pub fn computes(&self) -> bool {
        let ops = || self.shapes.iter().flat_map(|shape| &shape.ops);
        let has = |kind: Kind| ops().any(|op| op.kind == kind as u16);
        !self.is_table() || has(Kind::ForwardCompute) && has(Kind::BackwardCompute)
    }

    /// Whether it has stages but no transfers between them. Then a wait for the host cannot be told from a wait for another
    /// stage.
    pub fn lacks_transfers(&self) -> bool {
        let is_transfer = |op: &Op| Kind::ALL[op.kind as usize].is_send_or_recv();
        self.is_table()
            && self.stages() > 1
            && !self.shapes.iter().flat_map(|shape| &shape.ops).any(is_transfer)
    }

    /// The number of data-parallel ranks, recorded or not.
    pub fn dp_ranks(&self) -> usize {
        self.workers.iter().map(|worker| worker.dp_rank as usize + 1).max().unwrap_or(1)
    }

    /// The number of stages of the pipeline.
    pub fn stages(&self) -> usize {
        self.workers.iter().map(|worker| worker.stage as usize + 1).max().unwrap_or(1)
    }

    pub fn shape(&self, step: usize) -> &Shape {
        &self.shapes[self.steps[step].shape as usize]
    }

    /// The instances of a step.
    pub fn instances(&self, step: usize) -> std::ops::Range<usize> {
        let of = self.steps[step];
        of.first..of.first + of.columns as usize * self.shape(step).ops.len()
    }

    /// The worker of an operation in a column, as an index into [`Job::workers`].
    pub fn worker(&self, step: usize, column: usize, op: usize) -> usize {
        let per_column = self.workers.len() / self.steps[step].columns as usize;
        column * per_column + self.shape(step).ops[op].worker as usize
    }

    /// The instance of an operation in a column.
    pub fn instance(&self, step: usize, column: usize, op: usize) -> usize {
        self.steps[step].first + column * self.shape(step).ops.len() + op
    }

    /// By worker: whether anything of it was recorded in a step.
    pub fn takes_part(&self, step: usize) -> Vec<bool> {
        let columns = self.steps[step].columns as usize;
        let mut of_column = vec![false; self.workers.len() / columns];
        self.shape(step).ops.iter().for_each(|op| of_column[op.worker as usize] = true);
        of_column.repeat(columns)
    }

    /// Whether an instance is a placeholder for operations of other columns.
    pub fn is_filler(&self, instance: usize) -> bool {
        !self.fillers.is_empty() && self.fillers.binary_search(&instance).is_ok()
    }

    /// The number of recorded operations.
    pub fn operations(&self) -> usize {
        self.start.len() - self.fillers.len()
    }

    /// Adds a step. Equal shapes are stored once.
    pub fn add_step(&mut self, number: i64, columns: u32, shape: Shape, start: &[i64], duration: &[i64]) {
        debug_assert_eq!(start.len(), columns as usize * shape.ops.len());
        debug_assert_eq!(start.len(), duration.len());
        let known = self.shapes.iter().rposition(|known| *known == shape);
        let place = known.unwrap_or_else(|| {
            self.shapes.push(shape);
            self.shapes.len() - 1
        });
        self.steps.push(Step { number, shape: place as u32, columns, first: self.start.len() });
        self.start.extend_from_slice(start);
        self.duration.extend_from_slice(duration);
    }
}
