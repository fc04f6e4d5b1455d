//! A materialised schedule as a program, with a counter of open dependencies for each operation.

use crate::agenda::{InProgress, Queues};
use crate::checkpoint::{Unsound, ensure};
use crate::host::Host;
use crate::prefetch::prefetch_at;
use crate::program::Program;
use crate::release::Release;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::marker::PhantomData;
use std::ops::Range;
use straggler_model::{Rank, Time};
use straggler_schedule::graph::{MANY, Row, RowBytes};
use straggler_schedule::{Graph, Operation, OperationKind};

/// `H` is [`crate::host::OneLane`] in the engines for graphs of one CPU and one NIC, else [`crate::host::ManyLanes`].
#[derive(Debug)]
pub struct GraphProgram<'a, H> {
    graph: &'a Graph,
    rows: &'a [RowBytes],
    /// CPU and NIC of each operation; empty when all are 0.
    lanes: &'a [[u8; 2]],
    edges: &'a [u32],
    largest_message: u64,
    /// Whether to keep the ready time of every operation: needed if an operation can complete after its CPU is free,
    /// or wait for an operation of another CPU.
    track_ready: bool,
    /// Whether any operation waits only for the start of another.
    irequires: bool,
    host: PhantomData<fn() -> H>,
}

/// Where a process's operations are, and how many of them have not completed.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct ProcessOperations {
    pub(crate) first_operation: u64,
    pub(crate) unfinished: u32,
}

/// The open dependencies of the operations of some neighbouring ranks.
#[derive(Debug, Serialize, Deserialize)]
pub struct Dependencies {
    first_rank: Rank,
    first_operation: u64,
    /// The number of open dependencies of each operation, up to [`MANY`].
    open: Vec<u8>,
    /// Open dependencies beyond those in `open`, by the place there. Few operations have so many.
    more: HashMap<usize, u32>,
    /// The latest completion each operation has to wait for; empty when not tracked.
    ready: Vec<Time>,
    /// The latest completion on each rank; empty when not tracked.
    latest: Vec<Time>,
}

impl<'a, H: Host> GraphProgram<'a, H> {
    pub fn new(graph: &'a Graph, receive_overlap: bool) -> Self {
        GraphProgram {
            graph,
            rows: graph.rows(),
            lanes: graph.lane_column(),
            edges: graph.edges(),
            largest_message: graph.largest_message(),
            track_ready: receive_overlap || graph.lanes().0 > 1,
            irequires: graph.has_irequires(),
            host: PhantomData,
        }
    }

    /// The operations of all ranks.
    pub(crate) fn rows(&self) -> &'a [RowBytes] {
        self.rows
    }

    /// The operations of a process before any has run.
    #[inline(always)]
    pub(crate) fn place(&self, rank: Rank) -> ProcessOperations {
        let first_operation = self.graph.first_operation(rank);
        let unfinished = (self.graph.first_operation(rank + 1) - first_operation) as u32;
        ProcessOperations { first_operation, unfinished }
    }

    /// The operations of a process without dependencies, before any has run.
    #[inline(always)]
    pub(crate) fn roots<'b>(
        &'b self,
        place: &ProcessOperations,
        block: &'b Dependencies,
    ) -> impl Iterator<Item = (u32, Row)> + 'b {
        let (first, count) = (place.first_operation as usize, place.unfinished as usize);
        let rows = self.rows[first..first + count].iter();
        let open = block.open[first - block.first_operation as usize..].iter();
        (0..).zip(rows.zip(open)).filter(|(_, (_, open))| **open == 0).map(|(id, (row, _))| (id, Row(*row)))
    }

    /// Removes one dependency of an operation. Returns whether it was the last.
    #[inline(always)]
    pub(crate) fn satisfies(
        &self,
        place: &ProcessOperations,
        block: &mut Dependencies,
        dependent: u32,
    ) -> bool {
        let here = (place.first_operation - block.first_operation) as usize + dependent as usize;
        let open = &mut block.open[here];
        *open -= 1;
        *open == 0 && (block.more.is_empty() || !block.has_more(here))
    }

    /// Updates every operation that waits for the completion of operation `id`.
    #[inline(always)]
    fn satisfy<const TRACKED: bool>(
        &self,
        rank: Rank,
        place: &ProcessOperations,
        block: &mut Dependencies,
        id: u32,
        at: Time,
        release: &mut impl FnMut(Release),
    ) {
        let row = Row(self.rows[place.first_operation as usize + id as usize]);
        match row.run() {
            Some(run) => {
                for dependent in run {
                    self.satisfy_one::<TRACKED>(place, block, dependent, at, release);
                }
            }
            None => self.satisfy_listed::<TRACKED>(rank, place, block, id, false, at, release),
        }
    }

    /// Updates every operation that waits for this event (start or completion) of operation `id`.
    #[inline]
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn satisfy_listed<const TRACKED: bool>(
        &self,
        rank: Rank,
        place: &ProcessOperations,
        block: &mut Dependencies,
        id: u32,
        on_start: bool,
        at: Time,
        release: &mut impl FnMut(Release),
    ) {
        let row = Row(self.rows[place.first_operation as usize + id as usize]);
        let edges = row.dependents(|| &self.edges[self.graph.first_edge(rank) as usize..]);
        for edge in edges.filter(|edge| edge.on_start() == on_start) {
            self.satisfy_one::<TRACKED>(place, block, edge.dependent(), at, release);
        }
    }

    #[inline(always)]
    fn satisfy_one<const TRACKED: bool>(
        &self,
        place: &ProcessOperations,
        block: &mut Dependencies,
        dependent: u32,
        mut at: Time,
        release: &mut impl FnMut(Release),
    ) {
        let here = (place.first_operation - block.first_operation) as usize + dependent as usize;
        if TRACKED {
            at = at.max(block.ready[here]);
            block.ready[here] = at;
        }
        if self.satisfies(place, block, dependent) {
            release(self.released(place.first_operation as usize, dependent, at));
        }
    }

    /// The dependencies beyond [`MANY`] of the operations of neighbouring ranks, by the operation's place.
    fn more(&self, ranks: Range<Rank>) -> HashMap<usize, u32> {
        let counts = ranks.flat_map(|rank| self.graph.rank(rank).dependency_counts());
        let more = counts.map(|count| count.saturating_sub(u32::from(MANY)));
        more.enumerate().filter(|&(_, more)| more > 0).collect()
    }

    /// The release of operation `id` of the rank whose operations begin at `first`.
    #[inline(always)]
    fn released(&self, first: usize, id: u32, ready: Time) -> Release {
        let at = first + id as usize;
        let [cpu, nic] = self.lane(at);
        Release { id, kind: Row(self.rows[at]).kind(), cpu, nic, ready }
    }

    pub(crate) fn has_irequires(&self) -> bool {
        self.irequires
    }

    #[inline(always)]
    pub(crate) fn first_operation(&self, rank: Rank) -> usize {
        self.graph.first_operation(rank) as usize
    }

    /// Prefetches the memory that the completion of operation `id` will need, for the rank whose operations begin at
    /// `first`.
    #[inline(always)]
    pub(crate) fn prefetch_at(&self, first: usize, block: &Dependencies, id: u32) {
        // The operation and, a little further on, those it is likely to release.
        let at = first + id as usize;
        prefetch_at(self.rows, at);
        prefetch_at(self.rows, at + 3);
        prefetch_at(&block.open, at.wrapping_sub(block.first_operation as usize));
    }

    #[inline(always)]
    fn lane(&self, at: usize) -> [u8; 2] {
        self.lanes.get(at).copied().unwrap_or_default()
    }
}

/// How far an operation is, from the last stage to the first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Stage {
    Completed,
    /// A send that has completed, or waits for its acknowledgement.
    Sent,
    Started,
    Ready,
    /// It has open dependencies.
    Waits,
}

impl<H: Host> GraphProgram<'_, H> {
    /// How far each operation of a process is, which has these open dependencies and operations in progress.
    fn stages(
        &self,
        place: &ProcessOperations,
        open: &[u8],
        in_progress: &InProgress,
    ) -> Result<Vec<Stage>, Unsound> {
        let row = |id: u32| Row(self.rows[place.first_operation as usize + id as usize]);
        let first = |(id, &open): (u32, &u8)| match open {
            0 if row(id).is(OperationKind::Send) => Stage::Sent,
            0 => Stage::Completed,
            _ => Stage::Waits,
        };
        let mut stages: Vec<Stage> = (0..).zip(open).map(first).collect();
        let mut set = |id: u32, kind: OperationKind, stage: Stage| {
            let now = stages.get_mut(id as usize).ok_or("there is no such operation")?;
            ensure(row(id).is(kind), "an operation is of another kind")?;
            let is_free = matches!(now, Stage::Completed | Stage::Sent);
            *now = stage;
            ensure(is_free, "an operation is ready twice, or before its time")
        };
        for &(kind, id, lane) in &in_progress.ready {
            set(id, kind, Stage::Ready)?;
            ensure(
                self.lane(place.first_operation as usize + id as usize) == lane,
                "an operation is on another CPU",
            )?;
        }
        in_progress.posted.iter().try_for_each(|&id| set(id, OperationKind::Recv, Stage::Started))?;
        in_progress.acknowledged.iter().try_for_each(|&id| set(id, OperationKind::Send, Stage::Started))?;
        Ok(stages)
    }
}

impl Dependencies {
    /// Called when `open` reaches 0: moves further dependencies from `more` to `open`. Returns whether there are any.
    #[cold]
    fn has_more(&mut self, here: usize) -> bool {
        let Some(more) = self.more.get_mut(&here) else { return false };
        let next = (*more).min(u32::from(MANY));
        *more -= next;
        self.open[here] = next as u8;
        next > 0
    }
}

impl<H: Host> Program for GraphProgram<'_, H> {
    type Host = H;
    type Agenda = Queues;
    type Local = ProcessOperations;
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
        let count = (self.graph.first_operation(ranks.end) - first_operation) as usize;
        let open = self.graph.waits()[first_operation as usize..][..count].to_vec();
        let more = if open.contains(&MANY) { self.more(ranks.clone()) } else { HashMap::new() };
        let tracked = |count| if self.track_ready { vec![Time::ZERO; count] } else { Vec::new() };
        let (ready, latest) = (tracked(count), tracked(ranks.len()));
        Dependencies { first_rank: ranks.start, first_operation, open, more, ready, latest }
    }

    fn start(
        &self,
        rank: Rank,
        place: &mut ProcessOperations,
        block: &mut Dependencies,
        release: &mut impl FnMut(Release),
    ) {
        *place = self.place(rank);
        for (id, _) in self.roots(place, block) {
            release(self.released(place.first_operation as usize, id, Time::ZERO));
        }
    }

    #[inline(always)]
    fn operation(
        &self,
        _: Rank,
        place: &ProcessOperations,
        _: &Dependencies,
        kind: OperationKind,
        id: u32,
    ) -> Operation {
        let at = place.first_operation as usize + id as usize;
        let (row, [cpu, nic]) = (Row(self.rows[at]), self.lane(at));
        debug_assert_eq!(kind, row.kind());
        Operation { kind, amount: row.amount(), peer: row.peer(), tag: row.tag(), cpu, nic }
    }

    #[inline(always)]
    fn started(
        &self,
        rank: Rank,
        place: &mut ProcessOperations,
        block: &mut Dependencies,
        id: u32,
        at: Time,
        release: &mut impl FnMut(Release),
    ) {
        if self.irequires && self.track_ready {
            self.satisfy_listed::<true>(rank, place, block, id, true, at, release);
        } else if self.irequires {
            self.satisfy_listed::<false>(rank, place, block, id, true, at, release);
        }
    }

    #[inline(always)]
    fn completed(
        &self,
        rank: Rank,
        place: &mut ProcessOperations,
        block: &mut Dependencies,
        id: u32,
        done: Time,
        release: &mut impl FnMut(Release),
    ) {
        place.unfinished -= 1;
        if !self.track_ready {
            return self.satisfy::<false>(rank, place, block, id, done, release);
        }
        let latest = &mut block.latest[(rank - block.first_rank) as usize];
        *latest = (*latest).max(done);
        self.satisfy::<true>(rank, place, block, id, done, release);
    }

    #[inline]
    fn prefetch(&self, rank: Rank, block: &Dependencies, id: u32) {
        self.prefetch_at(self.first_operation(rank), block, id);
    }

    /// Open dependencies are those on operations that have not completed. Whether a send has completed that needs an
    /// acknowledgement, only the acknowledgement tells: it may or may not be one of them.
    fn check(
        &self,
        ranks: Range<Rank>,
        places: &[ProcessOperations],
        block: &Dependencies,
        in_progress: &[InProgress],
    ) -> Result<(), Unsound> {
        let new = self.block(ranks.clone());
        let shape = |block: &Dependencies| {
            let counts = (block.open.len(), block.ready.len(), block.latest.len());
            (block.first_rank, block.first_operation, counts)
        };
        let is_known = block.more.keys().all(|&at| at < block.open.len());
        ensure(shape(block) == shape(&new) && is_known, "dependencies are those of other processes")?;
        let mut open = vec![(0, 0); block.open.len()];
        for ((rank, place), in_progress) in ranks.zip(places).zip(in_progress) {
            let (is_there, count) = (self.place(rank), self.place(rank).unfinished as usize);
            ensure(
                place.first_operation == is_there.first_operation,
                "a process has the operations of another",
            )?;
            let base = (place.first_operation - block.first_operation) as usize;
            let stages = self.stages(place, &block.open[base..base + count], in_progress)?;
            let unfinished = stages.iter().filter(|&&stage| stage > Stage::Sent).count();
            let sent = stages.iter().filter(|&&stage| stage == Stage::Sent).count();
            let counted = place.unfinished as usize;
            ensure(
                (unfinished..=unfinished + sent).contains(&counted),
                "the number of open operations is wrong",
            )?;
            for (id, stage) in (0..).zip(stages) {
                for edge in self.graph.rank(rank).dependents(id) {
                    let (least, most) = &mut open[base + edge.dependent() as usize];
                    let needed = if edge.on_start() { Stage::Ready } else { Stage::Started };
                    *least += u32::from(stage >= needed);
                    *most += u32::from(stage >= needed || stage == Stage::Sent && !edge.on_start());
                }
            }
        }
        let counted = block.open.iter().enumerate();
        let counted = counted.map(|(at, &open)| u32::from(open) + block.more.get(&at).copied().unwrap_or(0));
        let fits = |((least, most), counted): ((u32, u32), u32)| (least..=most).contains(&counted);
        ensure(open.into_iter().zip(counted).all(fits), "a number of open dependencies is wrong")
    }

    fn has_send(&self, rank: Rank, id: u32) -> bool {
        let place = self.place(rank);
        id < place.unfinished
            && Row(self.rows[place.first_operation as usize + id as usize]).is(OperationKind::Send)
    }

    fn finished(&self, _: Rank, place: &ProcessOperations, _: &Dependencies) -> bool {
        place.unfinished == 0
    }

    fn unstarted(&self, rank: Rank, block: &Dependencies, visit: &mut dyn FnMut(&Operation)) {
        let base = (self.graph.first_operation(rank) - block.first_operation) as usize;
        for (id, operation) in self.graph.rank(rank).operations().enumerate() {
            if block.open[base + id] > 0 {
                visit(&operation);
            }
        }
    }

    fn last_completion(&self, rank: Rank, _: &ProcessOperations, block: &Dependencies) -> Time {
        block.latest.get((rank - block.first_rank) as usize).copied().unwrap_or(Time::ZERO)
    }
}
