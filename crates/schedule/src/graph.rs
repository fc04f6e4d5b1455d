//! The happens-before graph of a program, in flat arrays.
//!
//! Operations are numbered within their rank in order of appearance, which the model uses to decide which
//! goes first. An edge is stored with the operation that must happen before (`row.rs`); its top bit says
//! whether that operation must have completed (`requires`) or only started (`irequires`).

mod builder;
mod filling;
mod row;

use straggler_model::{Rank, Tag, Time};

pub use builder::{GraphBuilder, RankBuilder};
pub(crate) use filling::{Columns, Filling, Part};
pub(crate) use row::Link;
pub use row::{Dependents, MAX_DEPENDENCIES, Row, RowBytes};

/// Matches any source, or any tag.
pub const ANY: u32 = u32::MAX;

/// Stands for this many dependencies of an operation or more, which is rare.
pub const MANY: u8 = u8::MAX;

/// A number of dependencies, capped at [`MANY`].
#[inline(always)]
pub(crate) fn at_most_many(dependencies: u32) -> u8 {
    dependencies.min(u32::from(MANY)) as u8
}

/// What an operation does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize)]
#[repr(u8)]
pub enum OperationKind {
    Send = 1,
    Recv = 2,
    Calc = 3,
}

/// One operation of one process.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize)]
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

/// An edge to an operation that waits for another, for its start or its completion.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(transparent)]
pub struct Edge(u32);

impl Edge {
    const ON_START: u32 = 1 << 31;
    /// The most operations a rank may have.
    pub const MAX_OPERATIONS: u32 = (1 << 30) - 1;

    pub fn requires(dependent: u32) -> Edge {
        debug_assert!(dependent <= Self::MAX_OPERATIONS);
        Edge(dependent)
    }

    pub fn irequires(dependent: u32) -> Edge {
        debug_assert!(dependent <= Self::MAX_OPERATIONS);
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

/// A whole schedule: 21 bytes per operation, and 4 for each edge that does not fit in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// Where each rank's operations begin; one longer than there are ranks.
    rank_start: Vec<u64>,
    /// Where each rank's edges begin; one longer than there are ranks.
    edge_base: Vec<u64>,
    rows: Vec<RowBytes>,
    /// For each operation, how many others it waits for, capped at [`MANY`].
    waits: Vec<u8>,
    /// CPU and NIC of each operation; empty when all are 0.
    lane: Vec<[u8; 2]>,
    /// Lists of dependents, see [`Row`].
    edges: Vec<u32>,
    facts: Facts,
}

/// Totals and maxima of a graph, known without looking through its operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Facts {
    /// Operations of ranks that this graph does not hold, see [`Graph::share`].
    operations_elsewhere: u64,
    pub(crate) messages: u64,
    pub(crate) largest_message: u64,
    pub(crate) edges: u64,
    pub(crate) irequires: bool,
    pub(crate) largest_cpu: u8,
    pub(crate) largest_nic: u8,
}

impl Facts {
    #[inline(always)]
    pub fn note(&mut self, operation: &Operation) {
        if operation.kind == OperationKind::Send {
            self.note_message(operation.amount);
        }
    }

    #[inline(always)]
    pub fn note_message(&mut self, bytes: u64) {
        self.messages += 1;
        self.largest_message = self.largest_message.max(bytes);
    }

    pub fn note_lane(&mut self, [cpu, nic]: [u8; 2]) {
        self.largest_cpu = self.largest_cpu.max(cpu);
        self.largest_nic = self.largest_nic.max(nic);
    }

    pub fn join(&mut self, other: &Facts) {
        self.operations_elsewhere += other.operations_elsewhere;
        self.messages += other.messages;
        self.largest_message = self.largest_message.max(other.largest_message);
        self.edges += other.edges;
        self.irequires |= other.irequires;
        self.largest_cpu = self.largest_cpu.max(other.largest_cpu);
        self.largest_nic = self.largest_nic.max(other.largest_nic);
    }
}

impl Graph {
    pub fn processes(&self) -> u32 {
        (self.rank_start.len() - 1) as u32
    }

    /// Number of operations of all ranks.
    pub fn operations(&self) -> u64 {
        self.rows.len() as u64 + self.facts.operations_elsewhere
    }

    /// Totals and maxima of the whole graph.
    pub fn facts(&self) -> Facts {
        Facts { operations_elsewhere: self.operations(), ..self.facts }
    }

    /// Makes this one of several graphs that each hold some ranks of one schedule: it takes over
    /// the combined facts of `all` of them, which include its own.
    pub fn share(&mut self, all: &[Facts]) {
        let mut facts = Facts::default();
        all.iter().for_each(|one| facts.join(one));
        facts.operations_elsewhere -= self.rows.len() as u64;
        self.facts = facts;
        if self.lanes() != (1, 1) && self.lane.is_empty() {
            self.lane = vec![[0; 2]; self.rows.len()];
        }
    }

    pub fn messages(&self) -> u64 {
        self.facts.messages
    }

    /// The largest message in bytes, 0 when there is none.
    pub fn largest_message(&self) -> u64 {
        self.facts.largest_message
    }

    /// How many CPUs and NICs a process has: one more than the largest number used.
    pub fn lanes(&self) -> (usize, usize) {
        (usize::from(self.facts.largest_cpu) + 1, usize::from(self.facts.largest_nic) + 1)
    }

    /// Whether any operation waits only for the start of another.
    pub fn has_irequires(&self) -> bool {
        self.facts.irequires
    }

    /// What the graph occupies, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        let per_rank = (self.rank_start.capacity() + self.edge_base.capacity()) * 8;
        let operations = self.rows.capacity() * size_of::<RowBytes>() + self.waits.capacity();
        (per_rank + operations + self.lane.capacity() * 2 + self.edges.capacity() * 4) as u64
    }

    /// Index of the first operation of `rank` among all operations.
    #[inline(always)]
    pub fn first_operation(&self, rank: Rank) -> u64 {
        self.rank_start[rank as usize]
    }

    /// Index of the first edge of `rank` among all edges.
    #[inline(always)]
    pub fn first_edge(&self, rank: Rank) -> u64 {
        self.edge_base[rank as usize]
    }

    /// The operations of all ranks, in their in-memory layout.
    #[inline(always)]
    pub fn rows(&self) -> &[RowBytes] {
        &self.rows
    }

    /// For each operation of all ranks, how many others it waits for; [`MANY`] means that many or more.
    #[inline(always)]
    pub fn waits(&self) -> &[u8] {
        &self.waits
    }

    /// CPU and NIC of each operation of all ranks; empty when all are 0.
    #[inline(always)]
    pub fn lane_column(&self) -> &[[u8; 2]] {
        &self.lane
    }

    /// The edge lists of all ranks; [`Row::dependents`] takes those of its rank.
    #[inline(always)]
    pub fn edges(&self) -> &[u32] {
        &self.edges
    }

    #[inline]
    pub fn rank(&self, rank: Rank) -> RankView<'_> {
        let rank = rank as usize;
        let operations = self.rank_start[rank] as usize..self.rank_start[rank + 1] as usize;
        let edges = self.edge_base[rank] as usize..self.edge_base[rank + 1] as usize;
        let lane = self.lane.get(operations.clone()).unwrap_or_default();
        let (rows, waits) = (&self.rows[operations.clone()], &self.waits[operations]);
        RankView { rows, waits, lane, edges: &self.edges[edges] }
    }
}

/// The operations and edges of one rank.
#[derive(Clone, Copy, Debug)]
pub struct RankView<'a> {
    rows: &'a [RowBytes],
    waits: &'a [u8],
    /// Empty when all are 0.
    lane: &'a [[u8; 2]],
    edges: &'a [u32],
}

impl<'a> RankView<'a> {
    pub fn len(&self) -> u32 {
        self.rows.len() as u32
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    #[inline]
    pub fn operation(&self, index: u32) -> Operation {
        let row = Row(self.rows[index as usize]);
        let [cpu, nic] = self.lane.get(index as usize).copied().unwrap_or_default();
        Operation { kind: row.kind(), amount: row.amount(), peer: row.peer(), tag: row.tag(), cpu, nic }
    }

    pub fn operations(&self) -> impl Iterator<Item = Operation> + use<'a> {
        let view = *self;
        (0..view.len()).map(move |index| view.operation(index))
    }

    /// The edges to the operations that wait for operation `index`.
    #[inline]
    pub fn dependents(&self, index: u32) -> Dependents<'a> {
        Row(self.rows[index as usize]).dependents(|| self.edges)
    }

    /// For each operation, how many others it waits for.
    pub fn dependency_counts(&self) -> Vec<u32> {
        if !self.waits.contains(&MANY) {
            return self.waits.iter().map(|&count| u32::from(count)).collect();
        }
        let mut counts = vec![0; self.rows.len()];
        self.all_edges().for_each(|edge| counts[edge.dependent() as usize] += 1);
        counts
    }

    /// All edges of the rank, in the order of the operations they begin at.
    pub fn all_edges(&self) -> impl Iterator<Item = Edge> + use<'a> {
        let view = *self;
        view.rows.iter().flat_map(move |&row| Row(row).dependents(|| view.edges))
    }
}
