//! The in-memory layout of an operation: 20 bytes, including its dependents if they fit.
//!
//! In nearly all schedules, one operation waits for another, or the two or three consecutive ones of the next
//! step do. Such a run is stored in the row itself, so that completing an operation takes no second memory
//! access. Anything else is a list in the graph's edges, whose last entry is marked.

use std::ops::Range;

use super::{Edge, Operation, OperationKind};
use straggler_model::{Rank, Tag};

/// A row in memory. It consists of plain numbers, so that memory for many comes zeroed from the system.
pub type RowBytes = [u32; 5];

/// Bytes or picoseconds (low half first), peer, tag, and the link. The link has the kind in the top
/// two bits and the length of the run of dependents in the next two. The rest is the first
/// dependent of the run, or where the list begins, counted from the rank's first edge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row(pub RowBytes);

const RUN: u32 = 28;
const VALUE: u32 = (1 << RUN) - 1;
/// In place of the start of a list: there are no dependents.
const NOBODY: u32 = VALUE;
/// Marks the last entry of a list.
const LAST: u32 = 1 << 30;

/// The most dependencies a rank may have.
pub const MAX_DEPENDENCIES: usize = NOBODY as usize;

/// The dependents of an operation, as encoded in a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Link(u32);

impl Link {
    pub const NOBODY: Link = Link(NOBODY);

    /// A run of `length` consecutive dependents that wait for the completion, if it fits in a row.
    #[inline(always)]
    pub fn run(first: u32, length: u32) -> Option<Link> {
        (length <= 3 && first < VALUE - 3).then_some(Link(length << RUN | first))
    }

    /// Encodes any dependents. A list of them is appended to `edges`, where those of the rank begin
    /// at `base`.
    pub fn new(dependents: &[Edge], edges: &mut Vec<u32>, base: usize) -> Link {
        let Some(first) = dependents.first() else { return Link::NOBODY };
        let is_run = (first.0..).zip(dependents).take(4).all(|(expected, edge)| edge.0 == expected);
        if is_run && let Some(run) = Link::run(first.0, dependents.len() as u32) {
            return run;
        }
        let start = edges.len() - base;
        debug_assert!(start < MAX_DEPENDENCIES);
        edges.extend(dependents.iter().map(|edge| edge.0));
        if let Some(last) = edges.last_mut() {
            *last |= LAST;
        }
        Link(start as u32)
    }
}

impl Row {
    #[inline(always)]
    pub(crate) fn new(operation: &Operation, link: Link) -> Row {
        let Operation { kind, amount, peer, tag, .. } = *operation;
        Row([amount as u32, (amount >> 32) as u32, peer, tag, (kind as u32) << 30 | link.0])
    }

    #[inline(always)]
    pub fn kind(self) -> OperationKind {
        match self.0[4] >> 30 {
            1 => OperationKind::Send,
            2 => OperationKind::Recv,
            _ => OperationKind::Calc,
        }
    }

    #[inline(always)]
    pub fn is(self, kind: OperationKind) -> bool {
        self.0[4] >> 30 == kind as u32
    }

    #[inline(always)]
    pub fn amount(self) -> u64 {
        u64::from(self.0[0]) | u64::from(self.0[1]) << 32
    }

    #[inline(always)]
    pub fn peer(self) -> Rank {
        self.0[2]
    }

    #[inline(always)]
    pub fn tag(self) -> Tag {
        self.0[3]
    }

    /// The dependents of the operation if they form a run, or an empty run if there are none.
    #[inline(always)]
    pub fn run(self) -> Option<Range<u32>> {
        let (length, value) = (self.0[4] >> RUN & 3, self.0[4] & VALUE);
        (length > 0 || value == NOBODY).then_some(value..value + length)
    }

    /// The edges to the dependents of the operation; `edges` returns the edges of its rank.
    #[inline(always)]
    pub fn dependents<'a>(self, edges: impl FnOnce() -> &'a [u32]) -> Dependents<'a> {
        match self.run() {
            Some(run) => Dependents { run, list: &[] },
            None => Dependents { run: 0..0, list: &edges()[(self.0[4] & VALUE) as usize..] },
        }
    }
}

/// Iterates over the edges to the dependents of an operation.
#[derive(Clone, Debug)]
pub struct Dependents<'a> {
    run: Range<u32>,
    /// From the next entry of a list to the end of the rank's edges.
    list: &'a [u32],
}

impl Iterator for Dependents<'_> {
    type Item = Edge;

    #[inline(always)]
    fn next(&mut self) -> Option<Edge> {
        if let Some(dependent) = self.run.next() {
            return Some(Edge(dependent));
        }
        let (&entry, rest) = self.list.split_first()?;
        self.list = if entry & LAST == 0 { rest } else { &[] };
        Some(Edge(entry & !LAST))
    }
}
