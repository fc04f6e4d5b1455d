//! Turns kernels into the operations of a table: one for each pass of a microbatch through a chunk, and the communications.
//!
//! This needs annotations that name microbatches, and process groups that distinguish data from pipeline parallelism. Without
//! them the job is analysed kernel by kernel. A computation lasts from the first to the last kernel of the compute stream that
//! the host launched within its annotation, including everything between, such as tensor-parallel communication.

use super::super::recorded::{Recorded, TableOp};
use super::events::{Communication, Events};
use super::groups::{Groups, Purpose, place_in};
use super::meaning::Meaning;
use super::phases::{BACKWARD, FORWARD, OPTIMIZER, Pass};
use super::stalls::compute_stream;
use crate::Kind;
use std::collections::{BTreeMap, BTreeSet};

/// Kernels, and the phases in which the host launched them.
pub struct Kernels<'a> {
    pub events: &'a Events,
    pub launch_ps: &'a [i64],
    pub passes: &'a [Pass],
    /// The number of the step at a host time, if the step is used.
    pub step_of: &'a dyn Fn(i64) -> Option<i64>,
}

/// Finds the rank's place in the job, and its table operations if possible.
pub fn read(kernels: &Kernels, meaning: &Meaning, recorded: &mut Recorded) {
    let mut groups = Groups::new(&kernels.events.groups, recorded.rank);
    let communications: BTreeMap<usize, Communication> = (0..kernels.events.kernels.len())
        .filter(|&kernel| !kernels.events.kernels[kernel].is_compute())
        .map(|kernel| (kernel, meaning.known(kernels.events, kernel)))
        .collect();
    if kernels.events.groups.is_null() {
        groups.add_used(communications.values());
    }
    if groups.infer(communications.values()) {
        recorded.common_notes.push(
            "Process groups have no description: the group that exchanges messages is assumed to be the pipeline, and the group \
             that gathers parameters or reduces gradients to be data parallel."
                .into(),
        );
    }
    let (data, pipeline) = (groups.place(Purpose::Data), groups.place(Purpose::Pipeline));
    (recorded.dp_rank, recorded.stage) = (data.unwrap_or(0), pipeline.unwrap_or(0));
    let all_alike =
        groups.all_alike(recorded.world) && !communications.values().any(Communication::is_message);
    let members = |purpose| groups.members(purpose).map_or(0, <[u32]>::len) as u32;
    recorded.size = (members(Purpose::Data), members(Purpose::Pipeline));
    let named = kernels.passes.iter().any(|pass| pass.microbatch.is_some());
    let of_many = recorded.world.is_some_and(|world| world > 1);
    if let (true, true, None, None, Some(rank)) = (of_many, all_alike, data, pipeline, recorded.rank) {
        recorded.dp_rank = rank;
        recorded.remarks.push(
            "Ranks communicate only in groups of all ranks: each is treated as a data-parallel rank, and kernels are analysed \
             one by one."
                .into(),
        );
    } else if of_many && data.is_none() && pipeline.is_none() {
        recorded.common_notes.push(
            "No process group shows which ranks are data parallel and which are stages of a pipeline: all are treated as stage \
             0 of data-parallel rank 0, and kernels are analysed one by one."
                .into(),
        );
    } else if named {
        let reading = Reading { kernels, groups: &groups, communications: &communications };
        match reading.operations(recorded) {
            Ok(table) => recorded.table = Some(table),
            Err(why) => recorded.common_notes.push(format!("{why}: kernels are analysed one by one.")),
        }
    } else {
        recorded.remarks.push(
            "Kernels are analysed one by one: no annotation, such as `PP:1F3` or `Forward 3`, identifies microbatches.".into(),
        );
    }
}

struct Reading<'a> {
    kernels: &'a Kernels<'a>,
    groups: &'a Groups,
    communications: &'a BTreeMap<usize, Communication>,
}

impl Reading<'_> {
    fn operations(&self, recorded: &Recorded) -> Result<Vec<TableOp>, &'static str> {
        let mut ops = self.computed(recorded.stage)?;
        let chunks: BTreeSet<i32> =
            ops.iter().filter(|op| op.kind.is_compute()).map(|op| op.model_chunk).collect();
        let mut firsts: BTreeMap<i64, i64> = BTreeMap::new();
        for op in ops.iter().filter(|op| op.kind == Kind::ForwardCompute) {
            let first = firsts.entry(op.step).or_insert(op.start_ps);
            *first = op.start_ps.min(*first);
        }
        let scatters = self.communications.values().any(|known| known.collective() == "reduce_scatter");
        for (&kernel, known) in self.communications {
            let of = &self.kernels.events.kernels[kernel];
            let Some(step) = self.step(kernel) else { continue };
            let Some(kind) = self.kind(kernel, known, recorded.rank, chunks.len() > 1, scatters)? else {
                continue;
            };
            // An overlap of 1 % is rounding.
            let ends = of.end_ps().saturating_sub(of.duration_ps / 100);
            let late = firsts.get(&step).is_some_and(|&first| ends > first);
            if kind == Kind::ParamsAllGather && late {
                return Err("Parameters are gathered while microbatches are computed");
            }
            let has_chunk =
                matches!(kind, Kind::ParamsAllGather | Kind::GradsReduceScatter) && chunks.len() == 1;
            ops.push(TableOp {
                step,
                kind,
                start_ps: of.start_ps,
                end_ps: of.end_ps(),
                chunk: if has_chunk { 0 } else { -1 },
                model_chunk: -1,
                microbatch: -1,
                bytes: known.bytes(),
            });
        }
        ops.extend(self.host_work());
        ops.sort_by_key(|op| (op.step, op.kind, op.start_ps, op.end_ps));
        Ok(ops)
    }

    fn step(&self, kernel: usize) -> Option<i64> {
        (self.kernels.step_of)(self.kernels.launch_ps[kernel])
    }

    /// Kernels of the compute stream.
    fn compute_kernels(&self) -> impl Iterator<Item = usize> {
        let kernels = &self.kernels.events.kernels;
        let stream = compute_stream(kernels);
        (0..kernels.len())
            .filter(move |&kernel| kernels[kernel].is_compute() && Some(kernels[kernel].stream) == stream)
    }

    /// The passes of microbatches, and the optimizer after them.
    fn computed(&self, stage: u32) -> Result<Vec<TableOp>, &'static str> {
        let mut spans: BTreeMap<(i64, Pass), (i64, i64)> = BTreeMap::new();
        let mut last: BTreeMap<i64, i64> = BTreeMap::new();
        for kernel in self.compute_kernels() {
            let (of, pass) = (&self.kernels.events.kernels[kernel], self.kernels.passes[kernel]);
            let Some(step) = self.step(kernel).filter(|_| pass.phase == FORWARD || pass.phase == BACKWARD)
            else {
                continue;
            };
            if pass.microbatch.is_none() {
                return Err("Some computation belongs to no microbatch");
            }
            widen(
                spans.entry((step, pass)).or_insert((of.start_ps, of.end_ps())),
                (of.start_ps, of.end_ps()),
            );
            let end = last.entry(step).or_insert(of.end_ps());
            *end = of.end_ps().max(*end);
        }
        // Earlier work of the optimizer, such as clearing gradients, does not end the step.
        for kernel in self.compute_kernels() {
            let (of, pass) = (&self.kernels.events.kernels[kernel], self.kernels.passes[kernel]);
            let Some(step) = self.step(kernel).filter(|_| pass.phase == OPTIMIZER) else { continue };
            if last.get(&step).is_some_and(|&last| of.start_ps >= last) {
                widen(
                    spans.entry((step, pass)).or_insert((of.start_ps, of.end_ps())),
                    (of.start_ps, of.end_ps()),
                );
            }
        }
        let stages = self.groups.members(Purpose::Pipeline).map_or(1, |members| members.len().max(1)) as u32;
        let op = |((step, pass), (start_ps, end_ps)): ((i64, Pass), (i64, i64))| {
            let kind = match pass.phase {
                FORWARD => Kind::ForwardCompute,
                BACKWARD => Kind::BackwardCompute,
                _ => Kind::Optimizer,
            };
            let chunk = pass.chunk.unwrap_or(stage);
            let index =
                |number: u32| if kind == Kind::Optimizer { -1 } else { i32::try_from(number).unwrap_or(-1) };
            TableOp {
                step,
                kind,
                start_ps,
                end_ps,
                chunk: index(chunk / stages),
                model_chunk: index(chunk),
                microbatch: index(pass.microbatch.unwrap_or(0)),
                bytes: None,
            }
        };
        Ok(spans.into_iter().map(op).collect())
    }

    /// The kind of a communication in a table. `None` if it is part of computing or not modelled.
    fn kind(
        &self,
        kernel: usize,
        known: &Communication,
        rank: Option<u32>,
        chunks: bool,
        scatters: bool,
    ) -> Result<Option<Kind>, &'static str> {
        let phase = self.kernels.passes[kernel].phase;
        let in_pass = phase == FORWARD || phase == BACKWARD;
        let kind = match (self.groups.purpose_of(known), known.collective()) {
            (Purpose::Pipeline, "send" | "recv") => return self.message(known, rank, chunks).map(Some),
            (Purpose::Pipeline, "send_recv" | "collective") => {
                return Err(
                    "Sends and receives of the pipeline were batched, so that one kernel does several",
                );
            }
            (Purpose::Data, "all_gather") => Kind::ParamsAllGather,
            (Purpose::Data, "reduce_scatter") => Kind::GradsReduceScatter,
            (Purpose::Data, "all_reduce") if scatters => Kind::SeparateGradsAllReduce,
            (Purpose::Data, "all_reduce") => Kind::GradsReduceScatter,
            _ if in_pass => return Ok(None),
            (Purpose::Embedding, "all_reduce") => Kind::EmbeddingGradsAllReduce,
            (Purpose::Tensor, "all_reduce") => Kind::LayernormGradsAllReduce,
            (Purpose::All | Purpose::Pipeline, "all_reduce") => Kind::OptimizerClipMainGrad,
            _ => return Ok(None),
        };
        Ok(Some(kind))
    }

    /// Activations go to the next stage, gradients to the previous one.
    fn message(&self, known: &Communication, rank: Option<u32>, chunks: bool) -> Result<Kind, &'static str> {
        let members = self.groups.members(Purpose::Pipeline).unwrap_or_default();
        let (from, to) = known.pair(rank).ok_or("Messages do not name their destination")?;
        let peer = if Some(from) == rank { to } else { from };
        let place = |of: u32| place_in(members, of).ok_or("Messages go to ranks outside of the pipeline");
        let (own, other) = (place(rank.unwrap_or(0))?, place(peer)?);
        let stages = members.len() as u32;
        // With several chunks per stage, the first stage follows the last.
        let next = other == own + 1 || chunks && own + 1 == stages && other == 0;
        let before = own == other + 1 || chunks && other + 1 == stages && own == 0;
        match (next, before, known.collective() == "send") {
            (true, false, true) => Ok(Kind::ForwardSend),
            (true, false, false) => Ok(Kind::BackwardRecv),
            (false, true, true) => Ok(Kind::BackwardSend),
            (false, true, false) => Ok(Kind::ForwardRecv),
            (true, true, _) => {
                Err("With two stages of several chunks, the direction of messages is ambiguous")
            }
            (false, false, _) => Err("Messages skip stages of the pipeline"),
        }
    }

    /// Data loading and garbage collection while the GPU was idle. Otherwise they delayed nothing.
    fn host_work(&self) -> Vec<TableOp> {
        let kernels: Vec<usize> = self.compute_kernels().collect();
        let of = |place: usize| &self.kernels.events.kernels[kernels[place]];
        let idle = |start: i64, end: i64| {
            // Kernels of a stream run one after the other, so the last one that begins before the end decides.
            let begun = kernels.partition_point(|&kernel| self.kernels.events.kernels[kernel].start_ps < end);
            begun == 0 || of(begun - 1).end_ps() <= start
        };
        let work = self.kernels.events.host_work.iter().filter(|span| idle(span.start_ps, span.end_ps));
        work.filter_map(|span| {
            let step = (self.kernels.step_of)(span.start_ps)?;
            let (start_ps, end_ps) = (span.start_ps, span.end_ps);
            Some(TableOp {
                step,
                kind: span.what,
                start_ps,
                end_ps,
                chunk: -1,
                model_chunk: -1,
                microbatch: -1,
                bytes: None,
            })
        })
        .collect()
    }
}

fn widen(span: &mut (i64, i64), by: (i64, i64)) {
    *span = (span.0.min(by.0), span.1.max(by.1));
}
