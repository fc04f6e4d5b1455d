//! Any links between hosts and switches. A message takes a route of fewest links; a hash of its two hosts decides among
//! those of equal length.
//!
//! What is stored is the distance between every two vertices, but without those that have one neighbour: the routes to
//! them are the neighbour's.

use super::error::TopologyError;
use super::{Costs, Host, LinkKind, MOST_HOPS, MOST_PORTS, Port, below, hash, pair};
use crate::time::Time;
use std::collections::VecDeque;
use std::ops::Range;

/// A link between two vertices, with the costs of either direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Edge {
    pub ends: [u32; 2],
    pub costs: Costs,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Graph {
    /// Hosts come first.
    names: Vec<String>,
    hosts: u32,
    /// By vertex: its first port; and the end.
    begin: Vec<Port>,
    /// By port: the vertices at its ends, and its costs.
    ends: Vec<[u32; 2]>,
    costs: Vec<Costs>,
    failed: Vec<bool>,
    /// By vertex: what stands for it in the table, and its distance from that, 0 or 1.
    inner: Vec<(u32, u8)>,
    /// By pair of such vertices.
    distances: Vec<u8>,
    /// The number of vertices in the table.
    size: usize,
}

/// In the table, for no route.
const NONE: u8 = u8::MAX;
/// The largest table of distances.
const MOST_BYTES: u64 = 4 << 30;

impl Graph {
    /// The graph of some vertices, of which the first `hosts` are hosts, and at most one edge for a pair of ends if
    /// `pooled`.
    pub fn new(names: Vec<String>, hosts: u32, edges: &[Edge], pooled: bool) -> Result<Graph, TopologyError> {
        let pool = if pooled { pool(edges) } else { edges.to_vec() };
        let ports = pool.len() as u64 * 2;
        if ports > MOST_PORTS {
            return Err(TopologyError::TooManyPorts { ports });
        }
        let mut directed: Vec<([u32; 2], Costs)> = Vec::with_capacity(pool.len() * 2);
        for &Edge { ends: [one, other], costs } in &pool {
            directed.extend([([one, other], costs), ([other, one], costs)]);
        }
        directed.sort_by_key(|&(ends, _)| ends);
        let mut begin = vec![0; names.len() + 1];
        directed.iter().for_each(|&([from, _], _)| begin[from as usize + 1] += 1);
        (1..begin.len()).for_each(|vertex| begin[vertex] += begin[vertex - 1]);
        let (ends, costs): (Vec<_>, Vec<_>) = directed.into_iter().unzip();
        let failed = vec![false; ends.len()];
        let (inner, distances, size) = (Vec::new(), Vec::new(), 0);
        let mut graph = Graph { names, hosts, begin, ends, costs, failed, inner, distances, size };
        graph.find_distances()?;
        Ok(graph)
    }

    pub fn hosts(&self) -> u32 {
        self.hosts
    }

    pub fn ports(&self) -> u32 {
        self.ends.len() as u32
    }

    pub fn name(&self, vertex: u32) -> &str {
        &self.names[vertex as usize]
    }

    /// The names of the two ends of a port: from, to.
    pub fn ends(&self, port: Port) -> (String, String) {
        let [from, to] = self.ends[port as usize];
        (self.name(from).into(), self.name(to).into())
    }

    pub fn switches(&self) -> u32 {
        self.names.len() as u32 - self.hosts
    }

    pub fn link_kinds() -> Vec<LinkKind> {
        let kinds = [("host", "host"), ("host", "switch"), ("switch", "switch"), ("switch", "host")];
        kinds.into_iter().map(|(from, to)| LinkKind { from, to }).collect()
    }

    pub fn kind_of(&self, port: Port) -> usize {
        match self.ends[port as usize].map(|end| end < self.hosts) {
            [true, true] => 0,
            [true, false] => 1,
            [false, false] => 2,
            [false, true] => 3,
        }
    }

    #[inline(always)]
    pub fn costs(&self, port: Port) -> Costs {
        self.costs[port as usize]
    }

    pub fn common_costs(&self, ports: Range<Port>) -> Option<Costs> {
        let first = self.costs[ports.start as usize];
        self.costs[ports.start as usize..ports.end as usize]
            .iter()
            .all(|&costs| costs == first)
            .then_some(first)
    }

    /// The ports out of hosts, and those into hosts.
    pub fn out_of_hosts(&self) -> impl Iterator<Item = Range<Port>> + '_ {
        (0..self.hosts as usize)
            .map(|host| self.begin[host]..self.begin[host + 1])
            .filter(|ports| !ports.is_empty())
    }

    pub fn into_hosts(&self) -> impl Iterator<Item = Range<Port>> + '_ {
        (0..self.ports()).filter(|&port| self.ends[port as usize][1] < self.hosts).map(|port| port..port + 1)
    }

    #[inline(always)]
    pub fn first(&self, seed: u64, from: Host, to: Host) -> Port {
        self.choose(seed, from, (from, to))
    }

    #[inline(always)]
    pub fn next(&self, seed: u64, port: Port, from: Host, to: Host) -> Option<Port> {
        let [_, here] = self.ends[port as usize];
        (here != to).then(|| self.choose(seed, here, (from, to)))
    }

    /// The port out of a vertex that a message takes.
    fn choose(&self, seed: u64, here: u32, (from, to): (Host, Host)) -> Port {
        let closer = self.closer(here, to);
        let count = closer.clone().count() as u32;
        let choice = if count > 1 { below(hash(seed, pair(from, to), here.into()), count) } else { 0 };
        // There is always one: all hosts are connected.
        closer.clone().nth(choice as usize).unwrap_or(self.begin[here as usize])
    }

    /// The ports out of a vertex that lead closer to another.
    fn closer(&self, here: u32, to: u32) -> impl Iterator<Item = Port> + Clone + '_ {
        let distance = self.distance(here, to);
        self.out(here).filter(move |&port| self.distance(self.ends[port as usize][1], to) + 1 == distance)
    }

    /// The ports out of a vertex that are in service.
    fn out(&self, vertex: u32) -> impl Iterator<Item = Port> + Clone + '_ {
        let vertex = vertex as usize;
        (self.begin[vertex]..self.begin[vertex + 1]).filter(|&port| !self.failed[port as usize])
    }

    /// The number of links between two vertices.
    #[inline(always)]
    fn distance(&self, one: u32, other: u32) -> u32 {
        if one == other {
            return 0;
        }
        let ((one, more), (other, yet_more)) = (self.inner[one as usize], self.inner[other as usize]);
        u32::from(self.distances[one as usize * self.size + other as usize])
            + u32::from(more)
            + u32::from(yet_more)
    }

    /// Takes a port out of service, if all hosts can still reach each other.
    pub fn fail(&mut self, port: Port) -> Result<(), TopologyError> {
        let [from, to] = self.ends[port as usize];
        let back = self.out(to).find(|&back| self.ends[back as usize][1] == from);
        [Some(port), back].into_iter().flatten().for_each(|port| self.failed[port as usize] = true);
        self.find_distances()
    }

    /// Chooses what stands for each vertex, and finds the distances between those.
    fn find_distances(&mut self) -> Result<(), TopologyError> {
        let vertices = self.names.len() as u32;
        let only_neighbour = |vertex: u32| {
            let mut out = self.out(vertex).map(|port| self.ends[port as usize][1]);
            let first = out.next()?;
            out.next().is_none().then_some(first)
        };
        let mut inner = vec![(u32::MAX, 0); vertices as usize];
        let mut table = Vec::new();
        for vertex in 0..vertices {
            let neighbour = only_neighbour(vertex).filter(|&other| only_neighbour(other).is_none());
            if neighbour.is_none() {
                inner[vertex as usize] = (table.len() as u32, 0);
                table.push(vertex);
            }
        }
        for vertex in 0..vertices {
            if inner[vertex as usize].0 == u32::MAX
                && let Some(neighbour) = only_neighbour(vertex)
            {
                inner[vertex as usize] = (inner[neighbour as usize].0, 1);
            }
        }
        let bytes = (table.len() as u64).pow(2);
        if bytes > MOST_BYTES {
            return Err(TopologyError::TooLarge { vertices: table.len(), bytes });
        }
        let mut distances = vec![NONE; bytes as usize];
        for (row, &vertex) in distances.chunks_mut(table.len().max(1)).zip(&table) {
            self.search(vertex, &inner, row);
        }
        (self.inner, self.distances, self.size) = (inner, distances, table.len());
        self.check()
    }

    /// Searches breadth first from a vertex. Links lead in both directions, so distances do as well.
    fn search(&self, from: u32, inner: &[(u32, u8)], row: &mut [u8]) {
        row[inner[from as usize].0 as usize] = 0;
        let mut queue = VecDeque::from([from]);
        while let Some(vertex) = queue.pop_front() {
            let next = row[inner[vertex as usize].0 as usize].saturating_add(1).min(NONE - 1);
            for port in self.out(vertex) {
                let other = self.ends[port as usize][1];
                let (place, away) = inner[other as usize];
                if away == 0 && row[place as usize] == NONE {
                    row[place as usize] = next;
                    queue.push_back(other);
                }
            }
        }
    }

    /// Whether all hosts reach each other, by short enough routes.
    fn check(&self) -> Result<(), TopologyError> {
        if let Some(host) = (0..self.hosts).find(|&host| self.out(host).next().is_none()) {
            return Err(TopologyError::Unlinked { host: self.name(host).into() });
        }
        let mut seen = vec![false; self.size];
        // Hosts behind the same vertex have the same routes.
        let first_there =
            |&host: &Host| !std::mem::replace(&mut seen[self.inner[host as usize].0 as usize], true);
        let hosts: Vec<Host> = (0..self.hosts).filter(first_there).collect();
        for &from in &hosts {
            for &to in &hosts {
                let pair = || (self.name(from).to_string(), self.name(to).to_string());
                let distance = self.distance(from, to) as usize;
                if from != to && distance >= usize::from(NONE) {
                    let (from, to) = pair();
                    return Err(TopologyError::NotConnected { from, to });
                }
                if distance > MOST_HOPS {
                    let (from, to) = pair();
                    return Err(TopologyError::TooLong { from, to, limit: MOST_HOPS });
                }
            }
        }
        Ok(())
    }

    /// The least sum of latencies between two hosts, over all routes of fewest links.
    pub fn least_latency(&self, latency: &dyn Fn(Port) -> Time) -> Time {
        let vertices = self.names.len() as u32;
        let mut least = Time::NEVER;
        let mut order: Vec<u32> = (0..vertices).collect();
        let mut sums = vec![Time::NEVER; vertices as usize];
        let mut done = vec![false; self.size];
        for to in 0..self.hosts {
            let (place, away) = self.inner[to as usize];
            // Of hosts behind one vertex, the closest in time is enough, and for it the next.
            if away > 0 && std::mem::replace(&mut done[place as usize], true) {
                continue;
            }
            let there = |host: &Host| self.inner[*host as usize] == (place, 1);
            let targets: Vec<Host> =
                if away > 0 { (0..self.hosts).filter(there).collect() } else { vec![to] };
            for to in self.closest_two(&targets, latency) {
                order.sort_by_key(|&vertex| self.distance(vertex, to));
                for &vertex in &order {
                    let sum = |port: Port| latency(port) + sums[self.ends[port as usize][1] as usize];
                    let best = self.closer(vertex, to).map(sum).min().unwrap_or(Time::NEVER);
                    sums[vertex as usize] = if vertex == to { Time::ZERO } else { best };
                }
                let others = (0..self.hosts).filter(|&host| host != to).map(|host| sums[host as usize]);
                least = others.fold(least, Time::min);
            }
        }
        if least == Time::NEVER { Time::ZERO } else { least }
    }

    /// The two hosts that the last port leads to soonest.
    fn closest_two(&self, hosts: &[Host], latency: &dyn Fn(Port) -> Time) -> Vec<Host> {
        if hosts.len() < 2 {
            return hosts.to_vec();
        }
        let into = |host: Host| {
            let ports = (0..self.ports()).filter(|&port| self.ends[port as usize][1] == host);
            ports.map(latency).min().unwrap_or(Time::NEVER)
        };
        let mut sorted: Vec<(Time, Host)> = hosts.iter().map(|&host| (into(host), host)).collect();
        sorted.sort();
        sorted.into_iter().map(|(_, host)| host).take(2).collect()
    }
}

/// One edge for each pair of ends, with the bandwidth of all. Their latencies are taken from the slowest.
fn pool(edges: &[Edge]) -> Vec<Edge> {
    let mut sorted: Vec<Edge> = edges.to_vec();
    sorted.iter_mut().for_each(|edge| edge.ends.sort_unstable());
    sorted.sort_by_key(|edge| edge.ends);
    let pooled = |parallel: &[Edge]| {
        let costs = parallel.iter().map(|edge| edge.costs);
        let latency = costs.clone().map(|costs| costs.latency).max().unwrap_or_default();
        let longest_wait = costs.clone().map(|costs| costs.longest_wait).max().unwrap_or(Time::NEVER);
        let rate: f64 = costs.map(|costs| costs.gap_per_byte.picoseconds().recip()).sum();
        let gap_per_byte = match parallel {
            [only] => only.costs.gap_per_byte,
            _ => crate::PerByte::from_picoseconds(rate.recip()),
        };
        Edge { ends: parallel[0].ends, costs: Costs { gap_per_byte, latency, longest_wait } }
    };
    sorted.chunk_by(|one, other| one.ends == other.ends).map(pooled).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{SegmentRule, Topology};
    use super::*;
    use crate::PerByte;
    use proptest::prelude::*;

    fn edge(one: u32, other: u32, latency: u64) -> Edge {
        Edge { ends: [one, other], costs: Costs::new(PerByte::from_ps(40), Time(latency)) }
    }

    fn names(count: u32) -> Vec<String> {
        (0..count).map(|vertex| format!("v{vertex}")).collect()
    }

    /// Hosts and switches with random links, on a path that connects all.
    pub fn graphs() -> impl Strategy<Value = (u32, u32, Vec<Edge>)> {
        (1u32..8, 1u32..6).prop_flat_map(|(hosts, switches)| {
            let vertices = hosts + switches;
            let extra = prop::collection::vec((0..vertices, 0..vertices, 1u64..30), 0..12);
            let anchors = prop::collection::vec((any::<prop::sample::Index>(), 1u64..30), vertices as usize);
            (extra, anchors).prop_map(move |(extra, anchors)| {
                let mut edges = Vec::new();
                for (vertex, (anchor, latency)) in (0..vertices).zip(anchors) {
                    if vertex != hosts {
                        let upto = if vertex > hosts { vertex - hosts } else { switches };
                        edges.push(edge(vertex, hosts + anchor.index(upto as usize) as u32, latency));
                    }
                }
                edges.extend(
                    extra.into_iter().filter(|(a, b, _)| a != b).map(|(a, b, latency)| edge(a, b, latency)),
                );
                (hosts, switches, edges)
            })
        })
    }

    proptest! {
        /// Routes lead to their destination, in as few links as Floyd and Warshall find.
        #[test]
        fn routes_are_shortest((hosts, switches, edges) in graphs(), seed: u64) {
            let vertices = (hosts + switches) as usize;
            let mut far = vec![vec![usize::MAX / 4; vertices]; vertices];
            (0..vertices).for_each(|vertex| far[vertex][vertex] = 0);
            for edge in &edges {
                let [a, b] = edge.ends.map(|end| end as usize);
                (far[a][b], far[b][a]) = (1, 1);
            }
            for (by, a, b) in (0..vertices).flat_map(|by| (0..vertices).flat_map(move |a| (0..vertices).map(move |b| (by, a, b)))) {
                far[a][b] = far[a][b].min(far[a][by] + far[by][b]);
            }
            let graph = Graph::new(names(hosts + switches), hosts, &edges, false).unwrap();
            let topology = Topology { seed, segment: SegmentRule::Auto, ..Topology::from_graph("g", graph) };
            let mut least = Time::NEVER;
            for (from, to) in (0..hosts).flat_map(|from| (0..hosts).map(move |to| (from, to))).filter(|(a, b)| a != b) {
                let route = topology.route(from, to);
                prop_assert_eq!(route.len(), far[from as usize][to as usize]);
                let mut place = topology.host_name(from);
                for port in route {
                    let (begin, end) = topology.ends(port);
                    prop_assert_eq!(begin, place);
                    place = end;
                }
                prop_assert_eq!(place, topology.host_name(to));
                least = least.min(topology.latency(from, to));
            }
            prop_assert!(hosts < 2 || topology.least_latency() <= least);
        }
    }

    #[test]
    fn pooled_links_share_their_bandwidth() {
        let edges = [edge(0, 2, 5), edge(1, 2, 5), edge(2, 0, 5), edge(0, 2, 7)];
        let graph = Graph::new(names(3), 2, &edges, true).unwrap();
        assert_eq!(graph.ports(), 4);
        let there = graph.first(0, 0, 1);
        assert_eq!(graph.costs(there).latency, Time(7));
        assert!((graph.costs(there).gap_per_byte.picoseconds() - 40.0 / 3.0).abs() < 1e-6);
    }

    #[test]
    fn hosts_must_reach_each_other() {
        let graph = |edges: &[Edge]| Graph::new(names(4), 3, edges, false).map(|_| ());
        let fault = |edges: &[Edge]| graph(edges).unwrap_err().to_string();
        assert!(graph(&[edge(0, 3, 1), edge(1, 3, 1), edge(2, 3, 1)]).is_ok());
        assert!(fault(&[edge(0, 3, 1), edge(1, 3, 1)]).contains("host v2 has no link"));
        let apart = Graph::new(names(4), 4, &[edge(0, 1, 1), edge(2, 3, 1)], false).unwrap_err();
        assert!(apart.to_string().contains("v0 and v2 are not connected"), "{apart}");
        let long: Vec<Edge> = (0..400).map(|vertex| edge(vertex, vertex + 1, 1)).collect();
        let long = Graph::new(names(401), 401, &long, false).unwrap_err().to_string();
        assert!(long.contains("has more than 250 links"), "{long}");
    }
}
