//! Graphs of blocks: how much work each has, and how much each pair exchanges.

use super::Traffic;
use std::collections::BinaryHeap;

#[derive(Debug, Default)]
pub struct Graph {
    pub work: Vec<u64>,
    /// Where the neighbours of each vertex begin, and the end.
    starts: Vec<u32>,
    /// Neighbours, and the messages exchanged with them.
    edges: Vec<(u32, u64)>,
}

impl Graph {
    pub fn new(traffic: &Traffic) -> Graph {
        // A block without work counts too, so that no part gets all of them.
        let work: Vec<u64> = traffic.work.iter().map(|&work| work.max(1)).collect();
        let mut starts = vec![0u32; work.len() + 1];
        for &(one, other) in traffic.messages.keys() {
            starts[one as usize + 1] += 1;
            starts[other as usize + 1] += 1;
        }
        for vertex in 0..work.len() {
            starts[vertex + 1] += starts[vertex];
        }
        let mut free = starts.clone();
        let mut edges = vec![(0, 0); starts.last().copied().unwrap_or(0) as usize];
        for (&(one, other), &messages) in &traffic.messages {
            for (from, to) in [(one, other), (other, one)] {
                edges[free[from as usize] as usize] = (to, messages);
                free[from as usize] += 1;
            }
        }
        Graph { work, starts, edges }
    }

    pub fn len(&self) -> usize {
        self.work.len()
    }

    pub fn neighbours(&self, vertex: u32) -> &[(u32, u64)] {
        let place = vertex as usize;
        &self.edges[self.starts[place] as usize..self.starts[place + 1] as usize]
    }

    /// The graph of some vertices, in this order.
    pub fn subgraph(&self, own: &[u32]) -> Graph {
        let mut place = vec![u32::MAX; self.len()];
        (0..).zip(own).for_each(|(at, &vertex)| place[vertex as usize] = at);
        let mut graph = Graph { work: Vec::with_capacity(own.len()), starts: vec![0], edges: Vec::new() };
        for &vertex in own {
            graph.work.push(self.work[vertex as usize]);
            let inside = self.neighbours(vertex).iter().filter(|(to, _)| place[*to as usize] != u32::MAX);
            graph.edges.extend(inside.map(|&(to, messages)| (place[to as usize], messages)));
            graph.starts.push(graph.edges.len() as u32);
        }
        graph
    }

    /// A graph in which vertices that exchange the most are merged, two by two, as long as they have at most this much work
    /// together; and which of its vertices each one is in. `None` if hardly any can be merged.
    pub fn coarser(&self, most: u64) -> Option<(Graph, Vec<u32>)> {
        const NONE: u32 = u32::MAX;
        let mut place = vec![NONE; self.len()];
        let (mut work, mut merged) = (Vec::new(), Vec::new());
        // Vertices with few neighbours first: later they would find all of them taken.
        let mut order: Vec<u32> = (0..self.len() as u32).collect();
        order.sort_by_key(|&vertex| self.neighbours(vertex).len());
        for vertex in order {
            if place[vertex as usize] != NONE {
                continue;
            }
            let own = self.work[vertex as usize];
            let free = self
                .neighbours(vertex)
                .iter()
                .filter(|(to, _)| place[*to as usize] == NONE && own + self.work[*to as usize] <= most);
            let mate =
                free.max_by_key(|&&(to, messages)| (messages, std::cmp::Reverse(to))).map(|&(to, _)| to);
            place[vertex as usize] = work.len() as u32;
            if let Some(mate) = mate {
                place[mate as usize] = work.len() as u32;
            }
            work.push(own + mate.map_or(0, |mate| self.work[mate as usize]));
            merged.push((vertex, mate));
        }
        if work.len() * 20 > self.len() * 19 {
            return None;
        }
        Some((self.merged(work, &merged, &place), place))
    }

    /// The graph of merged vertices: their work, what each consists of, and where each of the old ones is.
    fn merged(&self, work: Vec<u64>, merged: &[(u32, Option<u32>)], place: &[u32]) -> Graph {
        let mut graph = Graph { work, starts: vec![0], edges: Vec::new() };
        // Where the edge to each vertex is, if the vertex at hand has one already.
        let mut edge_to = vec![usize::MAX; merged.len()];
        for (own, &(vertex, mate)) in (0..).zip(merged) {
            let start = graph.edges.len();
            for &(to, messages) in
                std::iter::once(vertex).chain(mate).flat_map(|vertex| self.neighbours(vertex))
            {
                let to = place[to as usize];
                let edge = &mut edge_to[to as usize];
                if to == own {
                    continue;
                }
                if *edge < start || *edge == usize::MAX {
                    *edge = graph.edges.len();
                    graph.edges.push((to, 0));
                }
                graph.edges[*edge].1 += messages;
            }
            graph.starts.push(graph.edges.len() as u32);
        }
        graph
    }

    /// All vertices, beginning with one: each time the one that exchanges the most with those before it.
    pub fn around(&self, seed: u32) -> Vec<u32> {
        let mut order = Vec::with_capacity(self.len());
        let (mut pull, mut taken) = (vec![0u64; self.len()], vec![false; self.len()]);
        let mut next = BinaryHeap::from([(0, std::cmp::Reverse(seed))]);
        let mut rest = 0..self.len() as u32;
        loop {
            // In a graph of several pieces, the next piece begins somewhere.
            let vertex = match next.pop() {
                Some((_, std::cmp::Reverse(vertex))) => vertex,
                None => match rest.find(|&vertex| !taken[vertex as usize]) {
                    Some(vertex) => vertex,
                    None => return order,
                },
            };
            if std::mem::replace(&mut taken[vertex as usize], true) {
                continue;
            }
            order.push(vertex);
            for &(to, messages) in self.neighbours(vertex) {
                if !taken[to as usize] {
                    pull[to as usize] += messages;
                    next.push((pull[to as usize], std::cmp::Reverse(to)));
                }
            }
        }
    }
}
