//! The happens-before graph of a program, in columns.
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

/// A whole schedule. About 29 bytes an operation with one and a half edges each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// Where each rank's operations begin; one longer than there are ranks.
    rank_start: Vec<u64>,
    /// Where each rank's edges begin; one longer than there are ranks.
    edge_base: Vec<u64>,
    kind: Vec<OperationKind>,
    amount: Vec<u64>,
    peer: Vec<Rank>,
    tag: Vec<Tag>,
    /// CPU and NIC of each operation; empty when all are 0.
    lane: Vec<[u8; 2]>,
    /// Where an operation's edges begin, counted from its rank's first edge.
    edge_start: Vec<u32>,
    edges: Vec<Edge>,
}

impl Graph {
    pub fn processes(&self) -> u32 {
        (self.rank_start.len() - 1) as u32
    }

    /// All operations of all ranks.
    pub fn operations(&self) -> u64 {
        self.kind.len() as u64
    }

    pub fn edge_count(&self) -> u64 {
        self.edges.len() as u64
    }

    pub fn messages(&self) -> u64 {
        self.kind.iter().filter(|&&kind| kind == OperationKind::Send).count() as u64
    }

    /// The largest message in bytes, 0 when there is none.
    pub fn largest_message(&self) -> u64 {
        let sends = self.kind.iter().zip(&self.amount).filter(|&(&kind, _)| kind == OperationKind::Send);
        sends.map(|(_, &amount)| amount).max().unwrap_or(0)
    }

    /// How many CPUs and NICs a process has: one more than the largest number used.
    pub fn lanes(&self) -> (usize, usize) {
        self.lane.iter().fold((1, 1), |(cpus, nics), &[cpu, nic]| {
            (cpus.max(usize::from(cpu) + 1), nics.max(usize::from(nic) + 1))
        })
    }

    /// What the columns occupy, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        let per_rank = (self.rank_start.capacity() + self.edge_base.capacity()) * 8;
        let wide = self.amount.capacity() * 8 + self.kind.capacity() + self.lane.capacity() * 2;
        let narrow =
            self.peer.capacity() + self.tag.capacity() + self.edge_start.capacity() + self.edges.capacity();
        (per_rank + wide + narrow * 4) as u64
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
        Operation {
            kind: self.graph.kind[at],
            amount: self.graph.amount[at],
            peer: self.graph.peer[at],
            tag: self.graph.tag[at],
            cpu,
            nic,
        }
    }

    pub fn operations(&self) -> impl Iterator<Item = Operation> + use<'a> {
        let view = *self;
        (0..view.len()).map(move |index| view.operation(index))
    }

    /// The edges to those who wait for operation `index`.
    #[inline]
    pub fn dependents(&self, index: u32) -> &'a [Edge] {
        let at = self.first + index as usize;
        let start = self.graph.edge_start[at] as usize;
        let end =
            if index + 1 < self.len() { self.graph.edge_start[at + 1] as usize } else { self.edges.len() };
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
