//! A materialised schedule as a program: a counter of open dependencies an operation.

use crate::agenda::Queues;
use crate::host::Host;
use crate::prefetch::prefetch;
use crate::program::Program;
use crate::release::Release;
use std::marker::PhantomData;
use std::ops::Range;
use straggler_model::{Rank, Time};
use straggler_schedule::{Graph, Operation, OperationKind};

/// `H` is [`crate::host::OneLane`] for graphs of one CPU and one NIC, else [`crate::host::ManyLanes`].
#[derive(Debug)]
pub struct GraphProgram<'a, H> {
    graph: &'a Graph,
    largest_message: u64,
    /// Whether an operation can complete after its own CPU is free, or wait for another CPU's: then the
    /// ready time of every operation is kept.
    track_ready: bool,
    /// Whether any operation waits for the mere start of another.
    irequires: bool,
    host: PhantomData<fn() -> H>,
}

/// The open dependencies of the operations of some neighbouring ranks.
#[derive(Debug)]
pub struct Dependencies {
    first_rank: Rank,
    first_operation: u64,
    open: Vec<u32>,
    /// Operations each rank has not completed.
    unfinished: Vec<u32>,
    /// The latest completion each operation has to wait for; empty when not tracked.
    ready: Vec<Time>,
    /// The latest completion on each rank; empty when not tracked.
    latest: Vec<Time>,
}

impl<'a, H: Host> GraphProgram<'a, H> {
    pub fn new(graph: &'a Graph, receive_overlap: bool) -> Self {
        let lanes = graph.lanes();
        GraphProgram {
            graph,
            largest_message: graph.largest_message(),
            track_ready: receive_overlap || lanes.0 > 1,
            irequires: graph.has_irequires(),
            host: PhantomData,
        }
    }

    /// Tells every dependent of operation `id` that waits for this moment of it.
    #[inline]
    fn satisfy(
        &self,
        rank: Rank,
        block: &mut Dependencies,
        id: u32,
        on_start: bool,
        at: Time,
        release: &mut impl FnMut(Release),
    ) {
        let view = self.graph.rank(rank);
        let base = (self.graph.first_operation(rank) - block.first_operation) as usize;
        for edge in view.dependents(id) {
            if edge.on_start() != on_start {
                continue;
            }
            let dependent = base + edge.dependent() as usize;
            if self.track_ready {
                block.ready[dependent] = block.ready[dependent].max(at);
            }
            block.open[dependent] -= 1;
            if block.open[dependent] == 0 {
                let ready = if self.track_ready { block.ready[dependent] } else { at };
                release(released(edge.dependent(), &view.operation(edge.dependent()), ready));
            }
        }
    }
}

fn released(id: u32, operation: &Operation, ready: Time) -> Release {
    Release { id, kind: operation.kind, cpu: operation.cpu, nic: operation.nic, ready }
}

impl<H: Host> Program for GraphProgram<'_, H> {
    type Host = H;
    type Agenda = Queues;
    type Local = ();
    type Block = Dependencies;
    const SCATTERED: bool = true;

    fn processes(&self) -> u32 {
        self.graph.processes()
    }

    fn largest_message(&self) -> u64 {
        self.largest_message
    }

    fn block(&self, ranks: Range<Rank>) -> Dependencies {
        let first_operation = self.graph.first_operation(ranks.start);
        let mut open = Vec::with_capacity((self.graph.first_operation(ranks.end) - first_operation) as usize);
        let mut unfinished = Vec::with_capacity(ranks.len());
        for rank in ranks.clone() {
            let view = self.graph.rank(rank);
            let base = open.len();
            open.resize(base + view.len() as usize, 0);
            for edge in view.all_edges() {
                open[base + edge.dependent() as usize] += 1;
            }
            unfinished.push(view.len());
        }
        let tracked = |count| if self.track_ready { vec![Time::ZERO; count] } else { Vec::new() };
        Dependencies {
            first_rank: ranks.start,
            first_operation,
            ready: tracked(open.len()),
            latest: tracked(ranks.len()),
            open,
            unfinished,
        }
    }

    fn start(&self, rank: Rank, _: &mut (), block: &mut Dependencies, release: &mut impl FnMut(Release)) {
        let view = self.graph.rank(rank);
        let base = (self.graph.first_operation(rank) - block.first_operation) as usize;
        for id in 0..view.len() {
            if block.open[base + id as usize] == 0 {
                release(released(id, &view.operation(id), Time::ZERO));
            }
        }
    }

    #[inline]
    fn operation(&self, rank: Rank, _: &(), _: &Dependencies, _: OperationKind, id: u32) -> Operation {
        self.graph.rank(rank).operation(id)
    }

    #[inline]
    fn started(
        &self,
        rank: Rank,
        _: &mut (),
        block: &mut Dependencies,
        id: u32,
        at: Time,
        release: &mut impl FnMut(Release),
    ) {
        if self.irequires {
            self.satisfy(rank, block, id, true, at, release);
        }
    }

    #[inline]
    fn completed(
        &self,
        rank: Rank,
        _: &mut (),
        block: &mut Dependencies,
        id: u32,
        done: Time,
        release: &mut impl FnMut(Release),
    ) {
        let local = (rank - block.first_rank) as usize;
        block.unfinished[local] -= 1;
        if self.track_ready {
            block.latest[local] = block.latest[local].max(done);
        }
        self.satisfy(rank, block, id, false, done, release);
    }

    #[inline]
    fn prefetch(&self, rank: Rank, block: &Dependencies, id: u32) {
        // The operation and, a little further, those it is likely to release.
        let view = self.graph.rank(rank);
        view.row(id).into_iter().chain(view.row(id + 3)).for_each(prefetch);
        view.edge_near(id).into_iter().for_each(prefetch);
        let open = (self.graph.first_operation(rank) - block.first_operation) as usize + id as usize;
        if let Some(open) = block.open.get(open) {
            prefetch(open);
        }
    }

    fn finished(&self, rank: Rank, _: &(), block: &Dependencies) -> bool {
        block.unfinished[(rank - block.first_rank) as usize] == 0
    }

    fn unstarted(&self, rank: Rank, block: &Dependencies, tell: &mut dyn FnMut(&Operation)) {
        let base = (self.graph.first_operation(rank) - block.first_operation) as usize;
        for (id, operation) in self.graph.rank(rank).operations().enumerate() {
            if block.open[base + id] > 0 {
                tell(&operation);
            }
        }
    }

    fn last_completion(&self, rank: Rank, _: &(), block: &Dependencies) -> Time {
        block.latest.get((rank - block.first_rank) as usize).copied().unwrap_or(Time::ZERO)
    }
}
