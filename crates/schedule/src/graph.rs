//! The happens-before graph of a program, in flat arrays.
//!
//! Operations are numbered inside their rank in the order of their appearance, which the model uses
//! to decide who goes first. An edge is stored at the operation that has to happen before; its top bit
//! says whether that operation must have completed (`requires`) or only started (`irequires`).

mod builder;

use straggler_model::{Rank, Tag, Time};

pub use builder::{GraphBuilder, RankBuilder};

/// Matches any source, or any tag.
pub const ANY: u32 = u32::MAX;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum OperationKind {
    Send = 1,
    Recv = 2,
    Calc = 3,
}

/// One operation of one process.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Operation {
    pub kind: OperationKind,
    /// Bytes of a message, picoseconds of a computation.
    pub amount: u64,
    /// Destination or source; [`ANY`] receives from everyone. 0 for a computation.
    pub peer: Rank,
    /// [`ANY`] receives every tag. 0 for a computation.
    pub tag: Tag,
    pub cpu: u8,
    pub nic: u8,
}

impl Operation {
    pub fn calc(duration: Time) -> Operation {
        Operation { kind: OperationKind::Calc, amount: duration.ps(), peer: 0, tag: 0, cpu: 0, nic: 0 }
    }

    pub fn send(bytes: u64, to: Rank, tag: Tag) -> Operation {
        Operation { kind: OperationKind::Send, amount: bytes, peer: to, tag, cpu: 0, nic: 0 }
    }

    pub fn recv(bytes: u64, from: Rank, tag: Tag) -> Operation {
        Operation { kind: OperationKind::Recv, amount: bytes, peer: from, tag, cpu: 0, nic: 0 }
    }
}

/// Who waits for an operation, and for which moment of it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(transparent)]
pub struct Edge(u32);

impl Edge {
    const ON_START: u32 = 1 << 31;
    /// The most operations a rank may have.
    pub const MAX_OPERATIONS: u32 = Self::ON_START - 1;

    pub fn requires(dependent: u32) -> Edge {
        debug_assert!(dependent < Self::ON_START);
        Edge(dependent)
    }

    pub fn irequires(dependent: u32) -> Edge {
        debug_assert!(dependent < Self::ON_START);
        Edge(dependent | Self::ON_START)
    }

    #[inline(always)]
    pub fn dependent(self) -> u32 {
        self.0 & !Self::ON_START
    }

    /// Whether the dependent may start when the operation has started (`irequires`).
    #[inline(always)]
    pub fn on_start(self) -> bool {
        self.0 & Self::ON_START != 0
    }
}

/// A whole schedule: 20 bytes an operation and 4 an edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// Where each rank's operations begin; one longer than there are ranks.
    rank_start: Vec<u64>,
    /// Where each rank's edges begin; one longer than there are ranks.
    edge_base: Vec<u64>,
    rows: Vec<Row>,
    /// CPU and NIC of each operation; empty when all are 0.
    lane: Vec<[u8; 2]>,
    edges: Vec<Edge>,
}

/// What an engine reads of an operation all at once lies together, in 20 bytes: columns of their own
/// would cost it a cache line each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C, packed(4))]
pub struct Row {
    amount: u64,
    peer: Rank,
    tag: Tag,
    /// The kind in the top two bits; below, where the operation's edges begin, counted from its rank's
    /// first edge.
    kind_and_edges: u32,
}

const _: () = assert!(size_of::<Row>() == 20);

/// The most dependencies a rank may have.
pub const MAX_DEPENDENCIES: usize = (1 << 30) - 1;

impl Row {
    fn new(operation: &Operation) -> Row {
        let Operation { kind, amount, peer, tag, .. } = *operation;
        Row { amount, peer, tag, kind_and_edges: (kind as u32) << 30 }
    }

    fn with_edges(self, start: u32) -> Row {
        debug_assert!(start as usize <= MAX_DEPENDENCIES);
        Row { kind_and_edges: self.kind_and_edges & 3 << 30 | start, ..self }
    }

    #[inline(always)]
    fn kind(self) -> OperationKind {
        match self.kind_and_edges >> 30 {
            1 => OperationKind::Send,
            2 => OperationKind::Recv,
            _ => OperationKind::Calc,
        }
    }

    #[inline(always)]
    fn edge_start(self) -> usize {
        (self.kind_and_edges & !(3 << 30)) as usize
    }
}

impl Graph {
    pub fn processes(&self) -> u32 {
        (self.rank_start.len() - 1) as u32
    }

    /// All operations of all ranks.
    pub fn operations(&self) -> u64 {
        self.rows.len() as u64
    }

    pub fn edge_count(&self) -> u64 {
        self.edges.len() as u64
    }

    pub fn messages(&self) -> u64 {
        self.rows.iter().filter(|row| row.kind() == OperationKind::Send).count() as u64
    }

    /// The largest message in bytes, 0 when there is none.
    pub fn largest_message(&self) -> u64 {
        let sends = self.rows.iter().filter(|row| row.kind() == OperationKind::Send);
        sends.map(|row| row.amount).max().unwrap_or(0)
    }

    /// How many CPUs and NICs a process has: one more than the largest number used.
    pub fn lanes(&self) -> (usize, usize) {
        self.lane.iter().fold((1, 1), |(cpus, nics), &[cpu, nic]| {
            (cpus.max(usize::from(cpu) + 1), nics.max(usize::from(nic) + 1))
        })
    }

    /// Whether any operation waits for the mere start of another.
    pub fn has_irequires(&self) -> bool {
        self.edges.iter().any(|edge| edge.on_start())
    }

    /// What the graph occupies, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        let per_rank = (self.rank_start.capacity() + self.edge_base.capacity()) * 8;
        let operations = self.rows.capacity() * size_of::<Row>() + self.lane.capacity() * 2;
        (per_rank + operations + self.edges.capacity() * 4) as u64
    }

    /// The number of the first operation of `rank` among all operations.
    #[inline(always)]
    pub fn first_operation(&self, rank: Rank) -> u64 {
        self.rank_start[rank as usize]
    }

    #[inline]
    pub fn rank(&self, rank: Rank) -> RankView<'_> {
        let first = self.rank_start[rank as usize] as usize;
        let end = self.rank_start[rank as usize + 1] as usize;
        let edges = self.edge_base[rank as usize] as usize..self.edge_base[rank as usize + 1] as usize;
        RankView { graph: self, first, count: end - first, edges: &self.edges[edges] }
    }
}

/// The operations and edges of one rank.
#[derive(Clone, Copy, Debug)]
pub struct RankView<'a> {
    graph: &'a Graph,
    first: usize,
    count: usize,
    edges: &'a [Edge],
}

impl<'a> RankView<'a> {
    pub fn len(&self) -> u32 {
        self.count as u32
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    #[inline]
    pub fn operation(&self, index: u32) -> Operation {
        let at = self.first + index as usize;
        let [cpu, nic] = self.graph.lane.get(at).copied().unwrap_or_default();
        let row = self.graph.rows[at];
        Operation { kind: row.kind(), amount: row.amount, peer: row.peer, tag: row.tag, cpu, nic }
    }

    /// Where operation `index` lies in memory, for those who want to ask for it ahead.
    #[inline]
    pub fn row(&self, index: u32) -> Option<&'a Row> {
        self.graph.rows.get(self.first + index as usize)
    }

    /// An edge near those of operation `index`, without looking where they are: edges lie in the order of
    /// operations.
    #[inline]
    pub fn edge_near(&self, index: u32) -> Option<&'a Edge> {
        let share = u64::from(index) * self.edges.len() as u64 / self.count.max(1) as u64;
        self.edges.get(share as usize)
    }

    pub fn operations(&self) -> impl Iterator<Item = Operation> + use<'a> {
        let view = *self;
        (0..view.len()).map(move |index| view.operation(index))
    }

    /// The edges to those who wait for operation `index`.
    #[inline]
    pub fn dependents(&self, index: u32) -> &'a [Edge] {
        let at = self.first + index as usize;
        let start = self.graph.rows[at].edge_start();
        let end =
            if index + 1 < self.len() { self.graph.rows[at + 1].edge_start() } else { self.edges.len() };
        &self.edges[start..end]
    }

    /// For each operation, how many others it waits for.
    pub fn dependency_counts(&self) -> Vec<u32> {
        let mut counts = vec![0; self.count];
        for edge in self.edges {
            counts[edge.dependent() as usize] += 1;
        }
        counts
    }

    /// All edges of the rank, in no particular order of their sources.
    pub fn all_edges(&self) -> &'a [Edge] {
        self.edges
    }
}
