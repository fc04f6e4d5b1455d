//! A graph that several threads fill in place, some ranks at a time. This works because the number
//! of operations of each rank is known in advance.

use std::ops::Range;

use super::row::RowBytes;
use super::{Facts, Graph, RankView};
use straggler_model::Rank;

/// A graph that is being filled, from the first rank on.
#[derive(Debug)]
pub(crate) struct Filling {
    graph: Graph,
    has_lanes: bool,
}

/// Some consecutive ranks for one thread to fill.
#[derive(Debug)]
pub(crate) struct Part<'a> {
    pub ranks: Range<Rank>,
    rows: &'a mut [RowBytes],
    waits: &'a mut [u8],
    /// Empty when all are 0.
    lane: &'a mut [[u8; 2]],
    lists: Lists,
}

/// The data of a part that is not in its final place yet.
#[derive(Debug, Default)]
pub(crate) struct Lists {
    edges: Vec<u32>,
    /// Where the edges of each rank end, relative to the start of the part.
    ends: Vec<u64>,
    facts: Facts,
}

impl Filling {
    /// Allocates for this many ranks and at most this many operations. The memory comes zeroed from
    /// the system, so unused parts cost nothing and nothing is written twice.
    pub fn new(ranks: Rank, operations: usize, has_lanes: bool) -> Filling {
        let offsets = || {
            let mut offsets = Vec::with_capacity(ranks as usize + 1);
            offsets.push(0);
            offsets
        };
        let graph = Graph {
            rank_start: offsets(),
            edge_base: offsets(),
            rows: vec![[0; 5]; operations],
            waits: vec![0; operations],
            lane: vec![[0; 2]; if has_lanes { operations } else { 0 }],
            edges: Vec::new(),
            facts: Facts::default(),
        };
        Filling { graph, has_lanes }
    }

    /// Number of ranks added so far.
    pub fn ranks(&self) -> Rank {
        (self.graph.rank_start.len() - 1) as Rank
    }

    /// Sets the number of operations of the next rank.
    pub fn add_rank(&mut self, operations: usize) {
        let end = self.graph.rank_start[self.ranks() as usize] + operations as u64;
        self.graph.rank_start.push(end);
    }

    /// Splits consecutive runs of ranks, in order, into parts to be filled in parallel.
    pub fn parts(&mut self, pieces: &[Range<Rank>]) -> Vec<Part<'_>> {
        let graph = &mut self.graph;
        let start = |rank: Rank| graph.rank_start[rank as usize] as usize;
        let first = pieces.first().map_or(0, |ranks| start(ranks.start));
        let (mut rows, mut waits) = (&mut graph.rows[first..], &mut graph.waits[first..]);
        let mut lane = graph.lane.get_mut(first..).unwrap_or_default();
        let mut parts = Vec::with_capacity(pieces.len());
        for ranks in pieces {
            let count = start(ranks.end) - start(ranks.start);
            let lanes = if self.has_lanes { count } else { 0 };
            parts.push(Part {
                ranks: ranks.clone(),
                rows: rows.split_off_mut(..count).unwrap_or_default(),
                waits: waits.split_off_mut(..count).unwrap_or_default(),
                lane: lane.split_off_mut(..lanes).unwrap_or_default(),
                lists: Lists::default(),
            });
        }
        parts
    }

    /// Appends the edge lists of the parts, in order.
    pub fn append(&mut self, lists: Vec<Lists>) {
        let graph = &mut self.graph;
        for list in lists {
            let base = graph.edges.len() as u64;
            graph.edge_base.extend(list.ends.iter().map(|end| base + end));
            graph.edges.extend_from_slice(&list.edges);
            graph.facts.join(&list.facts);
        }
    }

    pub fn finish(mut self) -> Graph {
        let operations = self.graph.rank_start[self.ranks() as usize] as usize;
        self.graph.rows.truncate(operations);
        self.graph.waits.truncate(operations);
        self.graph.lane.truncate(operations);
        if self.graph.lanes() == (1, 1) {
            self.graph.lane = Vec::new();
        }
        self.graph.shrink();
        self.graph
    }
}

impl<'a> Part<'a> {
    /// The columns of the next rank, which has this many operations.
    pub fn next_rank(&mut self, operations: usize) -> Columns<'_, 'a> {
        let rows = self.rows.split_off_mut(..operations).unwrap_or_default();
        let waits = self.waits.split_off_mut(..operations).unwrap_or_default();
        let lanes = if self.lane.is_empty() { 0 } else { operations };
        let lane = self.lane.split_off_mut(..lanes).unwrap_or_default();
        let base = self.lists.edges.len();
        Columns { rows, waits, lane, base, edges: &mut self.lists.edges }
    }

    /// Marks the rank filled last as complete.
    pub fn end_rank(&mut self, facts: &Facts) {
        self.lists.ends.push(self.lists.edges.len() as u64);
        self.lists.facts.join(facts);
    }

    pub fn into_lists(self) -> Lists {
        self.lists
    }
}

/// The columns of one rank to fill in: for each operation a row, the number of operations it waits
/// for, and CPU and NIC unless all are 0.
#[derive(Debug)]
pub(crate) struct Columns<'p, 'a> {
    pub rows: &'a mut [RowBytes],
    pub waits: &'a mut [u8],
    pub lane: &'a mut [[u8; 2]],
    /// Where the rank's edges begin in `edges`.
    pub base: usize,
    pub edges: &'p mut Vec<u32>,
}

impl Columns<'_, '_> {
    pub fn view(&self) -> RankView<'_> {
        RankView { rows: self.rows, waits: self.waits, lane: self.lane, edges: &self.edges[self.base..] }
    }
}
