//! An operation as it lies in a graph: 20 bytes, with those who wait for it inside where that fits.
//!
//! In nearly all schedules an operation is waited for by one other, or by the two or three of the next
//! step, which follow each other. Such a run lies in the row itself, so that completing an operation needs
//! no second place in memory. Anything else is a list in the graph's edges, whose last entry is marked.

use std::ops::Range;

use super::{Edge, Operation, OperationKind};
use straggler_model::{Rank, Tag};

/// A row in memory. Plain numbers, so that room for many comes zeroed from the system.
pub type RowBytes = [u32; 5];

/// Bytes or picoseconds (low half first), peer, tag, and the link: kind in the top two bits, length of the
/// run of dependents in the next two, and below its first, or where the list begins, counted from its
/// rank's first edge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row(pub RowBytes);

const RUN: u32 = 28;
const VALUE: u32 = (1 << RUN) - 1;
/// In the place of a list's beginning: nobody waits.
const NOBODY: u32 = VALUE;
/// Marks the last entry of a list.
const LAST: u32 = 1 << 30;

/// The most dependencies a rank may have.
pub const MAX_DEPENDENCIES: usize = NOBODY as usize;

impl Row {
    /// The row of an operation. A list of dependents goes to `edges`, where those of its rank begin at
    /// `base`.
    #[inline]
    pub(crate) fn new(operation: &Operation, dependents: &[Edge], edges: &mut Vec<u32>, base: usize) -> Row {
        let Operation { kind, amount, peer, tag, .. } = *operation;
        let link = match dependents {
            [] => NOBODY,
            [first, ..] if is_run(dependents) => (dependents.len() as u32) << RUN | first.0,
            _ => {
                let start = edges.len() - base;
                debug_assert!(start < MAX_DEPENDENCIES);
                edges.extend(dependents.iter().map(|edge| edge.0));
                if let Some(last) = edges.last_mut() {
                    *last |= LAST;
                }
                start as u32
            }
        };
        Row([amount as u32, (amount >> 32) as u32, peer, tag, (kind as u32) << 30 | link])
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

    /// The edges to those who wait for the operation; `edges` gives those of its rank.
    #[inline(always)]
    pub fn dependents<'a>(self, edges: impl FnOnce() -> &'a [u32]) -> Dependents<'a> {
        let (length, value) = (self.0[4] >> RUN & 3, self.0[4] & VALUE);
        if length > 0 {
            Dependents { run: value..value + length, list: &[] }
        } else if value == NOBODY {
            Dependents { run: 0..0, list: &[] }
        } else {
            Dependents { run: 0..0, list: &edges()[value as usize..] }
        }
    }
}

/// Whether dependents follow each other and wait for the completion, so that they fit into a row.
fn is_run(dependents: &[Edge]) -> bool {
    let first = dependents[0].0;
    dependents.len() <= 3
        && first < VALUE - 3
        && (first..).zip(dependents).all(|(expected, edge)| edge.0 == expected)
}

/// The edges to those who wait for an operation.
#[derive(Clone, Debug)]
pub struct Dependents<'a> {
    run: Range<u32>,
    /// From the next of a list to the end of the rank's edges.
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
