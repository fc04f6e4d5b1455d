//! Turns a job into a trace of MPI calls, so that all trace tools apply: timelines, wait states, what-ifs, and simulation on
//! other networks, with noise and on more data-parallel ranks.
//!
//! Steps follow each other. Computing is the time between calls. Microbatches are received right before their computation and
//! sent without blocking. The sends are completed at the end of the step. Collectives of data-parallel ranks have a communicator
//! for each stage, which grows with the copies of the trace. Jobs of single kernels are in [`kernels`].

mod complete_members;
mod kernels;

use crate::exact::times;
use crate::{Job, Kind, Op, words};
use std::collections::BTreeMap;
use straggler_model::{Rank, Time};
use straggler_trace::{
    ALONG_COPIES, Call, CommId, Communicator, Details, Function, Meta, RankTrace, RequestId, Trace, WORLD,
};

/// The sizes of messages in a job with the operations of a table. Tables do not contain them; annotated profiles may.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sizes {
    /// Of a microbatch, from stage to stage.
    pub activations: Size,
    /// Of all gradients or parameters together. Each rank holds a part.
    pub gradients: Size,
}

/// The size of a transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size {
    pub bytes: u64,
    /// Whether it is guessed from the durations of transfers.
    pub is_guessed: bool,
}

impl Size {
    pub fn known(bytes: u64) -> Size {
        Size { bytes, is_guessed: false }
    }
}

/// The bandwidth for guessing sizes from the durations of transfers: 25 GB/s, that of a 200 Gbit/s link.
const BYTES_A_PICOSECOND: f64 = 25e9 / 1e12;

/// Guesses the size of a transfer from the durations of similar transfers.
fn guessed(takes: &mut [i64]) -> u64 {
    (straggler_model::stats::median(takes) as f64 * BYTES_A_PICOSECOND) as u64
}

impl Sizes {
    /// Sizes as recorded, or else guessed from typical transfers of the job.
    pub fn new(job: &Job) -> Sizes {
        let times = times(job);
        let typical = |wanted: fn(Kind) -> bool| {
            let is_wanted = |kind: usize| Kind::ALL.get(kind).copied().is_some_and(wanted);
            let kinds = (0..job.kinds.len()).filter(|&kind| is_wanted(kind));
            if let Some(bytes) = kinds.filter_map(|kind| job.kinds[kind].bytes).max() {
                return Size::known(bytes);
            }
            let mut all = Vec::new();
            for (step, times) in times.iter().enumerate() {
                let columns = job.steps[step].columns as usize;
                let ops = job.shape(step).ops.iter().enumerate();
                for (place, _) in ops.filter(|(_, op)| is_wanted(op.kind as usize)) {
                    all.extend_from_slice(&times.takes[place * columns..(place + 1) * columns]);
                }
            }
            Size { bytes: guessed(&mut all).max(1), is_guessed: true }
        };
        Sizes {
            activations: typical(Kind::is_send_or_recv),
            gradients: typical(|kind| kind == Kind::GradsReduceScatter),
        }
    }
}

/// Why a job cannot be turned into a trace.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum TracedError {
    #[error(
        "the recording does not say what {name} sends to whom, so it cannot be read as a trace: annotate microbatches, or \
         record process groups"
    )]
    UnknownCommunication { name: String },
    #[error("the recording has no times, so it cannot be read as a trace: record durations")]
    NoTimes,
    #[error(
        "{missing} {} not recorded, among them data-parallel rank {dp_rank} of stage {stage}: a trace needs all of them; \
         `straggler training show` analyses the rest",
        words::plural(*missing, "worker was", "workers were")
    )]
    Missing { missing: usize, dp_rank: u32, stage: u32 },
    #[error(
        "step {step}, rank {rank}: {name} is missing, and other ranks wait for it there: remove the step from the table, or \
         record it again"
    )]
    Uneven { step: i64, rank: u32, name: &'static str },
}

fn kind_of(op: &Op) -> Option<Kind> {
    Kind::ALL.get(op.kind as usize).copied()
}

/// Turns the job into a trace.
pub fn trace(job: &Job, sizes: Sizes) -> Result<Trace, TracedError> {
    if job.duration.iter().all(|&takes| takes == 0) {
        return Err(TracedError::NoTimes);
    }
    let absent = |step: usize| -> Vec<usize> {
        let parts = job.takes_part(step).into_iter().enumerate();
        parts.filter(|(_, there)| !there).map(|(place, _)| place).collect()
    };
    let least = (0..job.steps.len()).map(absent).min_by_key(Vec::len).unwrap_or_default();
    if let Some(&first) = least.first() {
        let worker = &job.workers[first];
        return Err(TracedError::Missing {
            missing: least.len(),
            dp_rank: worker.dp_rank,
            stage: worker.stage,
        });
    }
    let whole = |step: &usize| job.takes_part(*step).iter().all(|there| *there);
    let steps: Vec<usize> = (0..job.steps.len()).filter(whole).collect();
    let mut building = Building::new(job, sizes);
    let (mut begin, mut notes) = (0, Vec::new());
    if job.is_table() {
        complete_members::check(job)?;
        steps.iter().for_each(|&step| begin = building.step(step, begin));
    } else {
        building.communicators.truncate(1);
        let Building { numbers, ranks, communicators, now, .. } = &mut building;
        let mut kernels = kernels::Building::new(job, numbers, ranks, communicators, now)?;
        steps.iter().for_each(|&step| begin = kernels.step(step, begin));
        notes.extend(kernels.note());
    }
    let mut trace = building.finish(begin);
    trace.notes.extend(notes);
    if steps.len() < job.steps.len() {
        trace.notes.push(format!(
            "the trace has {} of {} steps: the others lack workers",
            steps.len(),
            job.steps.len()
        ));
    }
    Ok(trace)
}

struct Building<'a> {
    job: &'a Job,
    sizes: Sizes,
    /// By worker of the job: its rank in the trace, in the order of the recorded ranks.
    numbers: Vec<usize>,
    ranks: Vec<RankTrace>,
    communicators: Vec<Communicator>,
    /// By rank: the end of its last call, the end of its last computation, and its open sends.
    now: Vec<i64>,
    busy: Vec<i64>,
    open: Vec<Vec<RequestId>>,
    next: Vec<RequestId>,
}

/// The end of MPI_Init, in picoseconds. The run begins here.
const BEGIN: i64 = 1_000_000;

impl<'a> Building<'a> {
    fn new(job: &'a Job, sizes: Sizes) -> Building<'a> {
        let (count, stages) = (job.workers.len(), job.stages() as u32);
        let mut places: Vec<usize> = (0..count).collect();
        places.sort_by_key(|&place| job.workers[place].rank);
        let mut numbers = vec![0; count];
        places.iter().enumerate().for_each(|(number, &place)| numbers[place] = number);
        let of = |name: String, chosen: &dyn Fn(u32, u32) -> bool| {
            let ranks = (0..).zip(places.iter().map(|&place| &job.workers[place]));
            let chosen = ranks.filter(|(_, worker)| chosen(worker.dp_rank, worker.stage));
            let members: Vec<Rank> = chosen.map(|(rank, _)| rank).collect();
            Communicator { members, name, parent: Some(WORLD), ..Communicator::default() }
        };
        let dp = job.dp_ranks() as u32;
        let mut communicators = vec![Communicator::world(count as u32)];
        for stage in 0..stages {
            communicators.push(of(format!("{ALONG_COPIES}, stage {stage}"), &|_, own| own == stage));
        }
        for rank in 0..dp {
            let ends = |stage: u32| stage == 0 || stage + 1 == stages;
            communicators.push(of(format!("embedding, data-parallel rank {rank}"), &|own, stage| {
                own == rank && ends(stage)
            }));
        }
        let mut ranks = vec![RankTrace::default(); count];
        for (rank, &place) in ranks.iter_mut().zip(&places) {
            rank.host = job.workers[place].host.clone().unwrap_or_default();
            rank.push(Call::new(Function::Init, Time(0), Time(BEGIN as u64)));
        }
        let (now, open, next) = (vec![BEGIN; count], vec![Vec::new(); count], vec![RequestId(0); count]);
        let busy = now.clone();
        Building { job, sizes, numbers, ranks, communicators, now, busy, open, next }
    }

    /// Adds a step that begins at `begin`. Returns when it ends.
    fn step(&mut self, step: usize, begin: i64) -> i64 {
        let job = self.job;
        let (shape, columns) = (job.shape(step), job.steps[step].columns as usize);
        let (ops, first) = (shape.ops.len(), job.steps[step].first);
        let origin = job.instances(step).map(|instance| job.start[instance]).min().unwrap_or(0);
        let mut last = begin;
        for column in 0..columns {
            let at = |op: usize| first + column * ops + op;
            let start = |op: usize| (job.start[at(op)] - origin).saturating_add(begin + BEGIN);
            let end = |op: usize| start(op).saturating_add(job.duration[at(op)]);
            // By receive: the start of the computation that needs it.
            let mut due: BTreeMap<usize, i64> = BTreeMap::new();
            for op in 0..ops {
                let received = shape.graph.before.get(op).iter().map(|&before| before as usize);
                let computes = kind_of(&shape.ops[op]).is_some_and(Kind::is_compute);
                due.extend(received.filter(|_| computes).map(|before| (before, start(op))));
                last = last.max(end(op) - BEGIN);
            }
            let key = |op: usize| match kind_of(&shape.ops[op]) {
                Some(Kind::ForwardRecv | Kind::BackwardRecv) => {
                    (due.get(&op).copied().unwrap_or_else(|| start(op)), 0)
                }
                _ => (start(op), 1),
            };
            let mut order: Vec<usize> = (0..ops).collect();
            order.sort_by_key(|&op| (shape.ops[op].worker, key(op), op));
            for op in order {
                let partner = self.partner(step, column, op);
                self.call(&shape.ops[op], job.worker(step, column, op), partner, [start(op), end(op)]);
            }
        }
        (0..self.ranks.len()).for_each(|rank| self.wait(rank));
        last
    }

    /// The worker at the other end of a message.
    fn partner(&self, step: usize, column: usize, op: usize) -> Option<usize> {
        let graph = &self.job.shape(step).graph;
        let members = graph.groups.get(graph.group(op)? as usize);
        let other = members.iter().find(|&&member| member as usize != op && members.len() == 2)?;
        Some(self.job.worker(step, column, *other as usize))
    }

    /// Adds the call of an operation. `place` and `partner` are indices of workers of the job.
    fn call(&mut self, op: &Op, place: usize, partner: Option<usize>, [start, end]: [i64; 2]) {
        let Some(kind) = kind_of(op) else { return };
        let (rank, partner) = (self.numbers[place], partner.map(|place| self.numbers[place]));
        let is_send = matches!(kind, Kind::ForwardSend | Kind::BackwardSend);
        // A GPU receives while it computes. A blocking call would hide the computation, so the call comes after it.
        let after = if is_send { self.now[rank] } else { self.now[rank].max(self.busy[rank]) };
        let enter = start.max(after);
        let exit = end.max(enter);
        let tag = i32::from(matches!(kind, Kind::BackwardSend | Kind::BackwardRecv));
        let stages = self.job.stages() as u32;
        let worker = &self.job.workers[place];
        let along = CommId(1 + worker.stage);
        let between = CommId(1 + stages + worker.dp_rank);
        let bytes = self.sizes.activations.bytes;
        match (kind, partner) {
            (Kind::ForwardSend | Kind::BackwardSend, Some(peer)) => {
                let request = self.next[rank];
                self.next[rank] = request.wrapping_add(1);
                self.open[rank].push(request);
                let call = Call {
                    comm: WORLD,
                    peer: peer as i32,
                    tag,
                    sent: bytes,
                    request,
                    ..plain(Function::Isend, enter, enter)
                };
                self.push(rank, call);
            }
            (Kind::ForwardRecv | Kind::BackwardRecv, Some(peer)) => {
                let call = Call {
                    comm: WORLD,
                    peer: peer as i32,
                    tag,
                    received: bytes,
                    ..plain(Function::Recv, enter, exit)
                };
                self.push(rank, call);
            }
            (Kind::ParamsAllGather, _) => self.collective(rank, Function::Allgather, along, [enter, exit]),
            (Kind::GradsReduceScatter, _) => {
                self.collective(rank, Function::Reduce_scatter_block, along, [enter, exit]);
            }
            (Kind::SeparateGradsAllReduce, _) => {
                self.collective(rank, Function::Allreduce, along, [enter, exit])
            }
            (Kind::EmbeddingGradsAllReduce, _) if stages > 1 => {
                self.collective(rank, Function::Allreduce, between, [enter, exit]);
            }
            (Kind::OptimizerClipMainGrad, _) => {
                self.collective(rank, Function::Allreduce, WORLD, [enter, exit])
            }
            _ => self.busy[rank] = self.busy[rank].max(end),
        }
    }

    fn collective(&mut self, rank: usize, function: Function, comm: CommId, [enter, exit]: [i64; 2]) {
        let members = self.communicators[comm.index()].members.len().max(1) as u64;
        let gradients = self.sizes.gradients.bytes;
        let part = gradients.div_ceil(members);
        let (sent, received) = match function {
            Function::Allgather => (part, part),
            Function::Reduce_scatter_block => (part, part),
            // The gradient norm is one number.
            _ if comm == WORLD => (8, 8),
            _ => (gradients, gradients),
        };
        self.push(rank, Call { comm, sent, received, ..plain(function, enter, exit) });
    }

    fn push(&mut self, rank: usize, call: Call) {
        self.now[rank] = call.exit.ps() as i64;
        self.ranks[rank].push(call);
    }

    /// Waits for all sends of a rank.
    fn wait(&mut self, rank: usize) {
        let requests = std::mem::take(&mut self.open[rank]);
        if requests.is_empty() {
            return;
        }
        let details = Details { requests: requests.into(), found: true, ..Details::default() };
        let now = self.now[rank];
        self.ranks[rank].push_with(plain(Function::Waitall, now, now), details);
    }

    fn finish(mut self, end: i64) -> Trace {
        let end = end + BEGIN;
        for (rank, now) in self.ranks.iter_mut().zip(&self.now) {
            rank.push(plain(Function::Finalize, end.max(*now), end.max(*now)));
        }
        let mut meta =
            Meta { format: "training job".into(), program: self.job.source.clone(), ..Meta::default() };
        if self.job.synthetic {
            meta.more.insert("synthetic".into(), "yes".into());
        }
        let mut notes = self.job.notes.clone();
        if self.job.workers.iter().any(|worker| worker.rank as usize >= self.ranks.len()) {
            notes.push("ranks are renumbered in the order of the job's ranks".into());
        }
        Trace { meta, ranks: self.ranks, communicators: self.communicators, notes, ..Trace::default() }
    }
}

fn plain(function: Function, enter: i64, exit: i64) -> Call {
    Call::new(function, Time(enter.max(0) as u64), Time(exit.max(0) as u64))
}
