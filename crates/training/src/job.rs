//! A job: what every worker did in every step, and what waited for what.

use crate::Kind;
use crate::graph::Graph;

/// A process of the job, as a rule one GPU or a tensor-parallel group of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Worker {
    /// The rank that was recorded.
    pub rank: u32,
    /// Its place along the data-parallel dimension, and its stage of the pipeline; 0 where the recording does not say.
    pub dp_rank: u32,
    pub stage: u32,
    pub host: Option<String>,
    /// Whether anything of it was recorded.
    pub recorded: bool,
}

/// What an operation keeps busy.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Role {
    /// The GPU: what is worked off depends on the data, so its ideal is the mean of a typical worker.
    Compute,
    /// The network: its ideal is the median of all.
    Communication,
    /// The host, or anything else.
    Other,
}

/// A kind of operation.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct KindInfo {
    /// `forward-compute`, or what a profiler calls the kernel.
    pub name: String,
    /// What results are given for; several kinds may share one.
    pub class: String,
    pub role: Role,
    /// Whether it starts late only because its host is late. Before others, delays are as a rule waits for something that was
    /// not recorded, and are taken as usual.
    pub launched: bool,
    /// Whether it is posted long before it is needed, as a receive: when that is says nothing.
    pub posted: bool,
}

impl KindInfo {
    /// A kind that starts when its host launches it.
    pub fn launched(name: impl Into<String>, class: impl Into<String>, role: Role) -> KindInfo {
        KindInfo { name: name.into(), class: class.into(), role, launched: true, posted: false }
    }
}

/// An operation of a column; what differs from step to step is in [`Job`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Op {
    /// The worker within its column.
    pub worker: u32,
    /// The place of its kind in [`Job::kinds`].
    pub kind: u16,
    /// Which of the worker's queues it was in; operations of a queue come one after the other.
    pub stream: u16,
    /// Counts the operations of a kind on a worker in a step.
    pub seq: u32,
    /// The microbatch, or -1.
    pub microbatch: i32,
    /// The chunk of the model, or -1, and that of the stage.
    pub chunk: i32,
    pub stage_chunk: i32,
    /// Whether it lay within the computation before it in its queue, and was taken out of it: a stall of the host, which
    /// takes no time where all is well.
    pub inside: bool,
}

/// What is done in a step, once for each column, without times. Steps that are alike share one.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Shape {
    pub ops: Vec<Op>,
    pub graph: Graph,
}

impl Shape {
    /// Whether an operation begins the step of its worker: it waits for nothing, and when it starts says something.
    pub fn begins(&self, kinds: &[KindInfo], op: usize) -> bool {
        self.graph.before.of(op).is_empty() && !kinds[self.ops[op].kind as usize].posted
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    pub number: i64,
    /// The place in [`Job::shapes`].
    pub shape: u32,
    pub columns: u32,
    /// Its first instance.
    pub first: usize,
}

/// Operations of all workers. A *column* is a set of workers that only meets other columns in groups of all of them: a
/// data-parallel rank, where all data-parallel ranks do the same; everybody, where they do not.
///
/// An *instance* is an operation of a column in a step. Those of a column are neighbours, in the order of the shape.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Job {
    /// What it was read from, for people.
    pub source: String,
    /// Whether it was made up.
    pub synthetic: bool,
    /// By column, then as [`Op::worker`] counts.
    pub workers: Vec<Worker>,
    pub kinds: Vec<KindInfo>,
    pub shapes: Vec<Shape>,
    /// In order of their numbers.
    pub steps: Vec<Step>,
    /// By instance, in picoseconds; starts count from any moment of the step.
    pub start: Vec<i64>,
    pub duration: Vec<i64>,
    /// Instances that only stand for those of other columns, and take no time: garbage collections and loads. In order.
    pub fillers: Vec<usize>,
    /// Whether its operations are single kernels, and what waits for what was partly guessed.
    pub of_kernels: bool,
    /// Whether rows of its steps are missing, so that some of what meets was matched wrongly.
    pub incomplete: bool,
    /// Whether its table has operations that are not known, which may be what workers seem to wait for.
    pub unknown_operations: bool,
    /// What was not found, or left out, and what that means for the analysis: sentences.
    pub notes: Vec<String>,
    /// How it was read, where nothing is wrong with that: sentences.
    pub remarks: Vec<String>,
    /// Steps of the recording that are not analysed.
    pub steps_left_out: usize,
}

impl Job {
    /// Whether it has the operations of a table, so that it can become one.
    pub fn is_table(&self) -> bool {
        self.kinds.len() == Kind::ALL.len()
            && self.kinds.iter().zip(Kind::ALL).all(|(own, kind)| own.name == kind.name())
    }

    /// Whether it has stages but no transfers between them: what a computation waits for the host, and what for another stage, is
    /// then not known.
    pub fn lacks_transfers(&self) -> bool {
        let is_transfer = |op: &Op| Kind::ALL[op.kind as usize].is_send_or_recv();
        self.is_table()
            && self.stages() > 1
            && !self.shapes.iter().flat_map(|shape| &shape.ops).any(is_transfer)
    }

    /// Data-parallel ranks, recorded or not.
    pub fn dp_ranks(&self) -> usize {
        self.workers.iter().map(|worker| worker.dp_rank as usize + 1).max().unwrap_or(1)
    }

    /// Stages of the pipeline.
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

    /// The worker of an operation in a column: a place in [`Job::workers`].
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

    /// Whether an instance only stands for those of other columns.
    pub fn is_filler(&self, instance: usize) -> bool {
        !self.fillers.is_empty() && self.fillers.binary_search(&instance).is_ok()
    }

    /// How many operations were recorded.
    pub fn operations(&self) -> usize {
        self.start.len() - self.fillers.len()
    }

    /// Adds a step; a shape that is known is not stored twice.
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
