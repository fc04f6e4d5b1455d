//! Which operation waits for which in a step. `a ← b` below: a may not start before b has ended.

use super::Dense;
use crate::Kind;
use crate::graph::{Graph, Group};
use crate::operation::Direction;
use std::collections::BTreeSet;

/// The tolerated clock error, in seconds.
const SLACK: f64 = 50e-6;

/// Why the operations of a step do not fit together.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum GraphError {
    #[error(
        "stage {stage} has no {name}, which the published analysis expects at the end of every step: remove --method published"
    )]
    NoTail { stage: u32, name: &'static str },
    #[error(
        "stage {stage} has {live} operations {name} for {computes} computations: the published analysis matches them by \
         position, so every computation needs one, including on the first and the last chunk of the model. Only the first and \
         the last stage may lack all of them, or one. Remove --method published: the exact analysis matches them by \
         microbatch and chunk"
    )]
    Unmatched { stage: u32, name: &'static str, live: usize, computes: usize },
    #[error(
        "stage {stage} sends {sends} messages of {name}, and stage {other} receives {recvs}: remove --method published"
    )]
    Unpaired { stage: u32, other: u32, name: &'static str, sends: usize, recvs: usize },
    #[error("{name} is not an operation of the published analysis: remove --method published")]
    NotKnown { name: &'static str },
    #[error("{name} occurs in a job without data parallelism: remove --method published")]
    NoDataParallelism { name: &'static str },
    #[error(
        "operations wait for each other in a cycle, among them {name} {seq} of stage {stage}: remove --method published"
    )]
    Circle { stage: u32, name: &'static str, seq: u32 },
}

/// Derives the graph from the first data-parallel rank in the first step. `dsp` comes from the job's description.
pub fn graph(job: &Dense, dsp: u32) -> Result<Graph, GraphError> {
    let mut building = Building::new(job, dsp);
    building.check()?;
    for stage in 0..job.pp {
        building.streams(stage);
        for direction in Direction::BOTH {
            building.transfers(stage, direction)?;
        }
        building.first_backward(stage);
        building.data_parallel(stage);
        building.tail(stage);
    }
    building.groups()?;
    building.finish()
}

const DATA_PARALLEL: [Kind; 3] =
    [Kind::ParamsAllGather, Kind::GradsReduceScatter, Kind::SeparateGradsAllReduce];

struct Building<'a> {
    job: &'a Dense,
    data_parallel: bool,
    overlap: bool,
    /// Chunks of the whole model.
    model_chunks: i64,
    edges: BTreeSet<(usize, usize)>,
    /// By stage: sends and receives that have a partner, in order, for each of the four kinds.
    real: Vec<[(Kind, Vec<usize>); 4]>,
    groups: Vec<Group>,
}

impl<'a> Building<'a> {
    fn new(job: &'a Dense, dsp: u32) -> Building<'a> {
        let chunks = i64::from(job.chunk.iter().copied().max().unwrap_or(0).max(0)) + 1;
        let kinds = [Kind::ForwardSend, Kind::ForwardRecv, Kind::BackwardSend, Kind::BackwardRecv];
        Building {
            job,
            data_parallel: u64::from(job.dp) * u64::from(dsp) > 1,
            overlap: job.ops.iter().any(|op| op.kind == Kind::SeparateGradsAllReduce),
            model_chunks: chunks * i64::from(job.pp),
            edges: BTreeSet::new(),
            real: (0..job.pp).map(|_| kinds.map(|kind| (kind, Vec::new()))).collect(),
            groups: Vec::new(),
        }
    }

    /// The times of the first data-parallel rank in the first step, whose instances come first.
    fn start(&self, op: usize) -> f64 {
        self.job.start[op]
    }

    fn end(&self, op: usize) -> f64 {
        self.job.end(op)
    }

    /// The operations of some kinds on a stage, by their start.
    fn in_order(&self, stage: u32, kinds: &[Kind]) -> Vec<usize> {
        let mut found = self.by_seq(stage, kinds);
        found.sort_by(|&a, &b| {
            let (one, other) = (self.job.ops[a], self.job.ops[b]);
            let order = self.start(a).total_cmp(&self.start(b));
            order.then((one.seq, one.kind).cmp(&(other.seq, other.kind)))
        });
        found
    }

    /// Like `in_order`, but sorted by kind and sequence number.
    fn by_seq(&self, stage: u32, kinds: &[Kind]) -> Vec<usize> {
        let ops = &self.job.ops;
        (0..ops.len()).filter(|&op| ops[op].stage == stage && kinds.contains(&ops[op].kind)).collect()
    }

    fn find(&self, stage: u32, kind: Kind, seq: u32) -> Option<usize> {
        self.job.ops.binary_search(&super::dense::Op { stage, kind, seq }).ok()
    }

    fn edge(&mut self, after: usize, before: usize) {
        self.edges.insert((after, before));
    }

    fn chain(&mut self, ops: &[usize]) {
        ops.windows(2).for_each(|pair| self.edge(pair[1], pair[0]));
    }

    fn check(&self) -> Result<(), GraphError> {
        for stage in 0..self.job.pp {
            let embeds = stage == 0 || stage + 1 == self.job.pp;
            let embedding = embeds.then_some(Kind::EmbeddingGradsAllReduce);
            let tail =
                [Kind::Gc, Kind::LayernormGradsAllReduce, Kind::OptimizerClipMainGrad, Kind::Optimizer];
            for kind in tail.into_iter().chain(embedding) {
                if self.find(stage, kind, 0).is_none() {
                    return Err(GraphError::NoTail { stage, name: kind.name() });
                }
            }
        }
        if self.job.ops.iter().any(|op| op.kind == Kind::DataLoad) {
            return Err(GraphError::NotKnown { name: Kind::DataLoad.name() });
        }
        let lonely = self.job.ops.iter().find(|op| DATA_PARALLEL.contains(&op.kind) && !self.data_parallel);
        lonely.map_or(Ok(()), |op| Err(GraphError::NoDataParallelism { name: op.kind.name() }))
    }

    fn streams(&mut self, stage: u32) {
        let compute = self.in_order(stage, &[Kind::ForwardCompute, Kind::BackwardCompute]);
        self.chain(&compute);
        for kind in [Kind::ForwardSend, Kind::ForwardRecv, Kind::BackwardSend, Kind::BackwardRecv] {
            let transfers = self.in_order(stage, &[kind]);
            self.chain(&transfers);
        }
    }

    /// Matches sends and receives of a direction with its computes.
    fn transfers(&mut self, stage: u32, direction: Direction) -> Result<(), GraphError> {
        let computes = self.by_seq(stage, &[direction.compute]);
        let count = computes.len();
        let latest_start = computes.iter().map(|&op| self.start(op)).fold(f64::NEG_INFINITY, f64::max);
        let earliest_end = computes.iter().map(|&op| self.end(op)).fold(f64::INFINITY, f64::min);
        for (kind, to) in [(direction.send, direction.to), (direction.recv, -direction.to)] {
            let receives = kind == direction.recv;
            let mut live = self.in_order(stage, &[kind]);
            live.retain(|&op| match receives {
                true => self.start(op) <= latest_start + SLACK,
                false => self.end(op) >= earliest_end - SLACK,
            });
            let outermost = stage == 0 || stage + 1 == self.job.pp;
            let some_missing = outermost && (live.is_empty() || live.len() + 1 == count);
            if live.len() != count && !some_missing {
                let (name, live) = (kind.name(), live.len());
                return Err(GraphError::Unmatched { stage, name, live, computes: count });
            }
            let first = usize::from(receives && live.len() + 1 == count);
            for (place, &transfer) in (first..).zip(&live) {
                let compute = computes[place];
                if receives {
                    self.edge(compute, transfer);
                    if place > 0 {
                        self.edge(transfer, computes[place - 1]);
                    }
                } else {
                    self.edge(transfer, compute);
                }
                if (0..self.model_chunks)
                    .contains(&(i64::from(self.job.model_chunk[compute]) + i64::from(to)))
                {
                    let real = &mut self.real[stage as usize];
                    real.iter_mut()
                        .filter(|(known, _)| *known == kind)
                        .for_each(|(_, list)| list.push(transfer));
                }
            }
        }
        Ok(())
    }

    /// Transfers of the first backward are posted before the last forward that precedes it.
    fn first_backward(&mut self, stage: u32) {
        let compute = self.in_order(stage, &[Kind::ForwardCompute, Kind::BackwardCompute]);
        let first = compute.iter().position(|&op| self.job.ops[op].kind == Kind::BackwardCompute);
        if let Some(before) = first.and_then(|first| first.checked_sub(2)) {
            for kind in [Kind::BackwardRecv, Kind::BackwardSend] {
                if let Some(transfer) = self.find(stage, kind, 0) {
                    self.edge(transfer, compute[before]);
                }
            }
        }
    }

    fn data_parallel(&mut self, stage: u32) {
        if !self.data_parallel {
            return;
        }
        let stream = self.in_order(stage, &[Kind::ParamsAllGather, Kind::GradsReduceScatter]);
        self.chain(&stream);
        let forwards = self.in_order(stage, &[Kind::ForwardCompute]);
        let backwards = self.in_order(stage, &[Kind::BackwardCompute]);
        let (gathers, scatters) =
            (self.by_seq(stage, &[Kind::ParamsAllGather]), self.by_seq(stage, &[Kind::GradsReduceScatter]));
        let chunk = |op: &usize| self.job.chunk[*op];
        let mut edges = Vec::new();
        for named in gathers.iter().map(chunk).collect::<BTreeSet<i32>>() {
            let last = gathers.iter().rev().find(|op| chunk(op) == named);
            let first = forwards.iter().find(|op| chunk(op) == named);
            edges.extend(first.zip(last).map(|(&forward, &gather)| (forward, gather)));
        }
        for named in
            scatters.iter().map(chunk).collect::<BTreeSet<i32>>().into_iter().filter(|_| self.overlap)
        {
            let first = scatters.iter().find(|op| chunk(op) == named);
            let of_chunk: Vec<usize> = backwards.iter().copied().filter(|op| chunk(op) == named).collect();
            edges.extend(first.copied().zip(self.latest_end(&of_chunk)));
        }
        self.edges.extend(edges);
    }

    /// The operation that ends last; ties go to the first in order.
    fn latest_end(&self, ops: &[usize]) -> Option<usize> {
        let latest = |best: usize, op: usize| if self.end(op) > self.end(best) { op } else { best };
        ops.iter().copied().reduce(latest)
    }

    fn tail(&mut self, stage: u32) {
        let compute = self.in_order(stage, &[Kind::ForwardCompute, Kind::BackwardCompute]);
        let at = |kind| self.find(stage, kind, 0);
        let (gc, layernorm, embedding) =
            (at(Kind::Gc), at(Kind::LayernormGradsAllReduce), at(Kind::EmbeddingGradsAllReduce));
        let (clip, optimizer) = (at(Kind::OptimizerClipMainGrad), at(Kind::Optimizer));
        let scatters = self.by_seq(stage, &[Kind::GradsReduceScatter]);
        let separate = self.by_seq(stage, &[Kind::SeparateGradsAllReduce]);
        if let (Some(gc), Some(last)) = (gc, self.latest_end(&compute)) {
            self.edge(gc, last);
        }
        let mut chain: Vec<usize> = gc.into_iter().chain(layernorm).chain(embedding).collect();
        if self.overlap {
            chain.extend(separate);
            if let (Some(layernorm), Some(&last)) = (layernorm, scatters.last()) {
                self.edge(layernorm, last);
            }
        } else {
            chain.extend(scatters);
        }
        chain.extend(clip.into_iter().chain(optimizer));
        self.chain(&chain);
    }

    fn real(&self, stage: u32, kind: Kind) -> &[usize] {
        self.real[stage as usize].iter().find(|(known, _)| *known == kind).map_or(&[], |(_, list)| list)
    }

    fn groups(&mut self) -> Result<(), GraphError> {
        let pp = self.job.pp;
        for stage in 0..pp {
            for direction in Direction::BOTH {
                let other = (stage + if direction.to > 0 { 1 } else { pp - 1 }) % pp;
                let (sends, recvs) = (self.real(stage, direction.send), self.real(other, direction.recv));
                if sends.len() != recvs.len() {
                    let (sends, recvs, name) = (sends.len(), recvs.len(), direction.send.name());
                    return Err(GraphError::Unpaired { stage, other, name, sends, recvs });
                }
                let pairs = sends.iter().zip(recvs);
                let pairs: Vec<Group> =
                    pairs.map(|(&a, &b)| Group { ops: vec![a as u32, b as u32], wide: false }).collect();
                self.groups.extend(pairs);
            }
        }
        let paired: BTreeSet<u32> = self.groups.iter().flat_map(|group| group.ops.clone()).collect();
        let of_kind = |kind: Kind| -> Vec<u32> {
            (0..).zip(&self.job.ops).filter(|(_, op)| op.kind == kind).map(|(place, _)| place).collect()
        };
        for kind in [Kind::ForwardSend, Kind::ForwardRecv, Kind::BackwardSend, Kind::BackwardRecv] {
            let alone = of_kind(kind).into_iter().filter(|op| !paired.contains(op));
            self.groups.extend(alone.map(|op| Group { ops: vec![op], wide: false }));
        }
        for kind in DATA_PARALLEL {
            self.groups.extend(of_kind(kind).into_iter().map(|op| Group { ops: vec![op], wide: true }));
        }
        self.groups.push(Group { ops: of_kind(Kind::EmbeddingGradsAllReduce), wide: false });
        self.groups.push(Group { ops: of_kind(Kind::OptimizerClipMainGrad), wide: true });
        Ok(())
    }

    fn finish(self) -> Result<Graph, GraphError> {
        let ops = &self.job.ops;
        let edges: Vec<(u32, u32)> =
            self.edges.iter().map(|&(after, before)| (after as u32, before as u32)).collect();
        Graph::new(ops.len(), &edges, &self.groups).map_err(|op| {
            let op = ops[op as usize];
            GraphError::Circle { stage: op.stage, name: op.kind.name(), seq: op.seq }
        })
    }
}
