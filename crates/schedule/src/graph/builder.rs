//! Builds graphs: operation by operation within a rank, rank by rank, or from graphs of some ranks each.

use straggler_model::Rank;

use super::{Edge, Facts, Graph, Link, Operation, RankView, Row};

/// The operations of one rank while it is being read or generated.
#[derive(Clone, Debug, Default)]
pub struct RankBuilder {
    operations: Vec<Operation>,
    /// Edges as (operation that happens before, edge to its dependent).
    edges: Vec<(u32, Edge)>,
}

impl RankBuilder {
    pub fn clear(&mut self) {
        self.operations.clear();
        self.edges.clear();
    }

    /// Adds an operation and returns its number. The caller must respect [`Edge::MAX_OPERATIONS`].
    pub fn push(&mut self, operation: Operation) -> u32 {
        self.operations.push(operation);
        (self.operations.len() - 1) as u32
    }

    /// Lets `dependent` start only after `before` has completed.
    pub fn requires(&mut self, dependent: u32, before: u32) {
        self.edges.push((before, Edge::requires(dependent)));
    }

    /// Lets `dependent` start only after `before` has started.
    pub fn irequires(&mut self, dependent: u32, before: u32) {
        self.edges.push((before, Edge::irequires(dependent)));
    }

    pub fn len(&self) -> usize {
        self.operations.len()
    }

    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// Number of dependencies added; the limit is [`super::MAX_DEPENDENCIES`].
    pub fn dependencies(&self) -> usize {
        self.edges.len()
    }
}

/// Builds a graph rank by rank.
#[derive(Clone, Debug)]
pub struct GraphBuilder {
    graph: Graph,
    /// The edges of the rank being appended, and where those of each operation end.
    sorted: Vec<Edge>,
    ends: Vec<u32>,
}

impl Default for GraphBuilder {
    fn default() -> Self {
        GraphBuilder {
            graph: Graph {
                rank_start: vec![0],
                edge_base: vec![0],
                rows: Vec::new(),
                waits: Vec::new(),
                lane: Vec::new(),
                edges: Vec::new(),
                facts: Facts::default(),
            },
            sorted: Vec::new(),
            ends: Vec::new(),
        }
    }
}

impl GraphBuilder {
    /// Appends the next rank. A counting sort orders the edges and is stable.
    pub fn push_rank(&mut self, rank: &RankBuilder) {
        self.push_lanes(&rank.operations);
        self.sort_edges(rank);
        let graph = &mut self.graph;
        let base = graph.edges.len();
        let mut start = 0;
        for (operation, &end) in rank.operations.iter().zip(&self.ends) {
            let dependents = &self.sorted[start as usize..end as usize];
            start = end;
            graph.facts.note(operation);
            graph.facts.note_lane([operation.cpu, operation.nic]);
            let link = Link::new(dependents, &mut graph.edges, base);
            graph.rows.push(Row::new(operation, link).0);
        }
        let first = graph.waits.len();
        graph.waits.resize(graph.rows.len(), 0);
        for &(_, edge) in &rank.edges {
            let waits = &mut graph.waits[first + edge.dependent() as usize];
            *waits = waits.saturating_add(1);
        }
        graph.facts.edges += rank.edges.len() as u64;
        graph.facts.irequires |= rank.edges.iter().any(|(_, edge)| edge.on_start());
        graph.rank_start.push(graph.rows.len() as u64);
        graph.edge_base.push(graph.edges.len() as u64);
    }

    fn push_lanes(&mut self, operations: &[Operation]) {
        let graph = &mut self.graph;
        let has_lanes = operations.iter().any(|operation| operation.cpu | operation.nic != 0);
        if has_lanes || !graph.lane.is_empty() {
            graph.lane.resize(graph.rows.len(), [0, 0]);
            graph.lane.extend(operations.iter().map(|operation| [operation.cpu, operation.nic]));
        }
    }

    /// Sorts a rank's edges by the operation they start from, and records where those of each end.
    fn sort_edges(&mut self, rank: &RankBuilder) {
        self.ends.clear();
        self.ends.resize(rank.operations.len(), 0);
        for &(before, _) in &rank.edges {
            self.ends[before as usize] += 1;
        }
        let mut start = 0;
        for end in &mut self.ends {
            start += std::mem::replace(end, start);
        }
        self.sorted.clear();
        self.sorted.resize(rank.edges.len(), Edge(0));
        for &(before, edge) in &rank.edges {
            let place = &mut self.ends[before as usize];
            self.sorted[*place as usize] = edge;
            *place += 1;
        }
    }

    /// Appends the ranks of another graph.
    pub fn append(&mut self, other: &Graph) {
        self.append_all(std::slice::from_ref(other));
    }

    /// Appends the ranks of several graphs, in order. The columns are copied in parallel.
    pub fn append_all(&mut self, others: &[Graph]) {
        let graph = &mut self.graph;
        let (operations, edges) = (graph.rows.len(), graph.edges.len());
        let has_lanes = !graph.lane.is_empty() || others.iter().any(|other| !other.lane.is_empty());
        others.iter().for_each(|other| graph.facts.join(&other.facts));
        rayon::scope(|scope| {
            scope.spawn(|_| extend_all(&mut graph.rows, others, |other| &other.rows));
            extend_all(&mut graph.waits, others, |other| &other.waits);
            extend_all(&mut graph.edges, others, |other| &other.edges);
            extend_offsets(&mut graph.rank_start, operations as u64, others, |other| &other.rank_start);
            extend_offsets(&mut graph.edge_base, edges as u64, others, |other| &other.edge_base);
            if has_lanes {
                graph.lane.resize(operations, [0, 0]);
                extend_lanes(&mut graph.lane, others);
            }
        });
    }

    /// Appends one rank of another graph, or an empty one.
    fn push_copy(&mut self, other: &Graph, rank: Option<Rank>) {
        let graph = &mut self.graph;
        if let Some(rank) = rank.map(|rank| rank as usize) {
            let operations = other.rank_start[rank] as usize..other.rank_start[rank + 1] as usize;
            let edges = other.edge_base[rank] as usize..other.edge_base[rank + 1] as usize;
            graph.rows.extend_from_slice(&other.rows[operations.clone()]);
            graph.waits.extend_from_slice(&other.waits[operations.clone()]);
            graph.edges.extend_from_slice(&other.edges[edges]);
            if !other.lane.is_empty() {
                graph.lane.extend_from_slice(&other.lane[operations]);
            }
        }
        graph.rank_start.push(graph.rows.len() as u64);
        graph.edge_base.push(graph.edges.len() as u64);
    }

    /// Reserves exact capacity, so that appending leaves no slack.
    pub fn reserve(&mut self, ranks: usize, operations: usize, edges: usize) {
        let graph = &mut self.graph;
        graph.rank_start.reserve_exact(ranks);
        graph.edge_base.reserve_exact(ranks);
        graph.rows.reserve_exact(operations);
        graph.waits.reserve_exact(operations);
        graph.edges.reserve_exact(edges);
    }

    /// The rank appended last; there must be one.
    pub fn last_rank(&self) -> RankView<'_> {
        self.graph.rank(self.graph.processes() - 1)
    }

    /// How many ranks were appended.
    pub fn processes(&self) -> u32 {
        self.graph.processes()
    }

    pub fn finish(self) -> Graph {
        let mut graph = self.finish_loose();
        graph.shrink();
        graph
    }

    /// Like [`finish`](Self::finish), but keeps spare capacity: for graphs that will be appended to another.
    pub(crate) fn finish_loose(mut self) -> Graph {
        if !self.graph.lane.is_empty() {
            self.graph.lane.resize(self.graph.rows.len(), [0, 0]);
        }
        self.graph
    }

    /// Finishes a graph whose ranks were appended in the order `ranks`, each at most once. Ranks
    /// below `processes` that are not in the list do nothing.
    pub fn finish_arranged(self, ranks: &[Rank], processes: u32) -> Graph {
        debug_assert_eq!(ranks.len(), self.graph.processes() as usize);
        let graph = self.finish();
        let ascending = ranks.windows(2).all(|pair| pair[0] < pair[1]);
        match (ascending, ranks.len() == processes as usize) {
            (true, true) => graph,
            (true, false) => graph.spread(ranks, processes),
            (false, _) => graph.sorted(ranks, processes),
        }
    }
}

fn extend_all<T: Copy>(column: &mut Vec<T>, others: &[Graph], of: impl Fn(&Graph) -> &Vec<T>) {
    for other in others {
        column.extend_from_slice(of(other));
    }
}

fn extend_offsets(column: &mut Vec<u64>, base: u64, others: &[Graph], of: impl Fn(&Graph) -> &Vec<u64>) {
    let mut base = base;
    for other in others {
        let offsets = of(other);
        column.extend(offsets[1..].iter().map(|offset| offset + base));
        base += offsets[offsets.len() - 1];
    }
}

fn extend_lanes(column: &mut Vec<[u8; 2]>, others: &[Graph]) {
    for other in others {
        let end = column.len() + other.rows.len();
        column.extend_from_slice(&other.lane);
        column.resize(end, [0, 0]);
    }
}

impl Graph {
    pub(super) fn shrink(&mut self) {
        self.rank_start.shrink_to_fit();
        self.edge_base.shrink_to_fit();
        self.rows.shrink_to_fit();
        self.waits.shrink_to_fit();
        self.lane.shrink_to_fit();
        self.edges.shrink_to_fit();
    }

    /// Gives the ranks, which are in ascending order, their numbers; ranks in between are empty.
    fn spread(mut self, ranks: &[Rank], processes: u32) -> Graph {
        let widen = |offsets: &[u64]| {
            let mut wide = Vec::with_capacity(processes as usize + 1);
            for (place, &rank) in ranks.iter().enumerate() {
                wide.resize(rank as usize + 1, offsets[place]);
            }
            wide.resize(processes as usize + 1, offsets[offsets.len() - 1]);
            wide
        };
        self.rank_start = widen(&self.rank_start);
        self.edge_base = widen(&self.edge_base);
        self
    }

    /// A copy with the ranks, which are in the order `ranks`, sorted in ascending order.
    fn sorted(&self, ranks: &[Rank], processes: u32) -> Graph {
        let mut place: Vec<Option<u32>> = vec![None; processes as usize];
        for (at, &rank) in (0..).zip(ranks) {
            place[rank as usize] = Some(at);
        }
        let mut sorted = GraphBuilder::default();
        sorted.reserve(processes as usize, self.rows.len(), self.edges.len());
        for at in place {
            sorted.push_copy(self, at);
        }
        sorted.graph.facts = self.facts;
        sorted.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use straggler_model::Time;

    /// A rank with a chain of `length` operations on a CPU.
    fn chain(length: u32, cpu: u8) -> RankBuilder {
        let mut rank = RankBuilder::default();
        for index in 0..length {
            rank.push(Operation { cpu, ..Operation::calc(Time::from_ns(u64::from(length))) });
            if index > 0 {
                rank.requires(index, index - 1);
            }
        }
        rank
    }

    fn graph(ranks: &[(u32, u8)]) -> GraphBuilder {
        let mut graph = GraphBuilder::default();
        ranks.iter().for_each(|&(length, cpu)| graph.push_rank(&chain(length, cpu)));
        graph
    }

    #[test]
    fn appending_is_pushing() {
        let all = [(3, 0), (0, 0), (2, 1), (5, 0), (1, 2)];
        for cut in 0..=all.len() {
            for second in cut..=all.len() {
                let mut appended = graph(&all[..cut]);
                let others = [graph(&all[cut..second]).finish(), graph(&all[second..]).finish()];
                appended.append_all(&others);
                assert_eq!(appended.finish(), graph(&all).finish(), "{cut} {second}");
            }
        }
    }

    #[test]
    fn ranks_find_their_places() {
        let expected = graph(&[(0, 0), (3, 0), (0, 0), (2, 1), (4, 0), (0, 0)]).finish();
        assert_eq!(graph(&[(3, 0), (2, 1), (4, 0)]).finish_arranged(&[1, 3, 4], 6), expected);
        assert_eq!(graph(&[(2, 1), (4, 0), (3, 0)]).finish_arranged(&[3, 4, 1], 6), expected);
        assert_eq!(graph(&[]).finish_arranged(&[], 2), graph(&[(0, 0), (0, 0)]).finish());
    }

    #[test]
    fn a_finished_graph_has_no_slack() {
        let mut builder = graph(&[(30, 1), (7, 0)]);
        builder.reserve(100, 1_000, 1_000);
        // 37 operations of 23 bytes with edges inside the rows, and 3 pairs of 8-byte offsets.
        assert_eq!(builder.finish().memory_bytes(), 37 * 23 + 3 * 16);
    }
}
