//! Topologies: which links messages share, and which of them a message takes.
//!
//! A **port** is one direction of one link: it serves the segments of messages one after the other. A **host** runs
//! processes; everything else in a topology only forwards. Routes are pure functions of the two hosts, so a route is
//! never stored: [`Topology::first`] and [`Topology::next`] compute one port at a time.

mod divisor;
mod error;
mod file;
mod graph;
mod parse;
mod routers;
mod segments;
mod summary;
mod tree;

pub use error::TopologyError;
pub use graph::{Edge, Graph};
pub use routers::{Dragonfly, Routers, Torus, Wiring};
pub use segments::SegmentRule;
pub use summary::LinkSummary;
pub use tree::{Size, Tree};

use crate::network::PerByte;
use crate::time::Time;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

/// A computer that runs processes, counted from 0.
pub type Host = u32;
/// One direction of one link, counted from 0.
pub type Port = u32;

/// What a port leads from and to, as words: a host, a leaf switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkKind {
    pub from: &'static str,
    pub to: &'static str,
}

/// What a port costs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Costs {
    pub gap_per_byte: PerByte,
    pub latency: Time,
    /// q: the longest wait of a message of one segment; [`Time::NEVER`] if waiting is not bounded.
    pub longest_wait: Time,
}

impl Costs {
    pub fn new(gap_per_byte: PerByte, latency: Time) -> Costs {
        Costs { gap_per_byte, latency, longest_wait: Time::NEVER }
    }
}

/// How a message chooses among links that lead as fast to its destination.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Routing {
    /// A hash of the two hosts chooses, as equal-cost multipath does.
    #[default]
    Hash,
    /// Parallel links act as one with their common bandwidth, as where packets are sprayed over them.
    Pooled,
}

/// A change of one link: a degraded or failed link is a straggler too.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Change {
    pub gap_per_byte: Option<PerByte>,
    pub latency: Option<Time>,
    /// The share of its bandwidth that is left, above 0.
    pub bandwidth: Option<f64>,
    pub failed: bool,
}

/// Ports that are served together, because no message needs one of them after another of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stage {
    pub ports: Range<Port>,
    /// The least time from the first port of a message to these.
    pub delay: Time,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Shape {
    Tree(Tree),
    Routers(Routers),
    Graph(Graph),
}

/// The links of a machine, and how messages travel over them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Topology {
    /// The name the user gave it, for reports.
    pub name: String,
    pub shape: Shape,
    pub segment: SegmentRule,
    /// Decides ties between messages that reach a port at the same time, and between equally short routes.
    pub seed: u64,
    /// Ports whose costs are not those of their kind. A failed port of a tree is in its list of failed ports.
    changed: BTreeMap<Port, Costs>,
}

/// No route is longer than this many ports.
pub const MOST_HOPS: usize = 250;

/// No topology has more ports than this.
pub const MOST_PORTS: u64 = 1 << 31;

impl Topology {
    pub fn from_tree(name: impl Into<String>, tree: Tree) -> Topology {
        Topology::new(name.into(), Shape::Tree(tree))
    }

    pub fn from_routers(name: impl Into<String>, routers: Routers) -> Topology {
        Topology::new(name.into(), Shape::Routers(routers))
    }

    pub fn from_graph(name: impl Into<String>, graph: Graph) -> Topology {
        Topology::new(name.into(), Shape::Graph(graph))
    }

    fn new(name: String, shape: Shape) -> Topology {
        Topology { name, shape, segment: SegmentRule::Auto, seed: 0, changed: BTreeMap::new() }
    }

    /// The number of hosts.
    pub fn hosts(&self) -> u32 {
        match &self.shape {
            Shape::Tree(tree) => tree.hosts(),
            Shape::Routers(routers) => routers.hosts(),
            Shape::Graph(graph) => graph.hosts(),
        }
    }

    /// The number of ports.
    pub fn ports(&self) -> u32 {
        match &self.shape {
            Shape::Tree(tree) => tree.ports(),
            Shape::Routers(routers) => routers.ports(),
            Shape::Graph(graph) => graph.ports(),
        }
    }

    pub fn host_name(&self, host: Host) -> String {
        match &self.shape {
            Shape::Tree(_) | Shape::Routers(_) => format!("h{host}"),
            Shape::Graph(graph) => graph.name(host).to_string(),
        }
    }

    /// The host of this name.
    pub fn find_host(&self, name: &str) -> Option<Host> {
        match &self.shape {
            Shape::Tree(_) | Shape::Routers(_) => {
                let host = name.strip_prefix('h')?.parse().ok()?;
                (host < self.hosts() && name == format!("h{host}")).then_some(host)
            }
            Shape::Graph(graph) => (0..graph.hosts()).find(|&host| graph.name(host) == name),
        }
    }

    /// The kinds of links, in the order in which a message passes them.
    pub fn link_kinds(&self) -> Vec<LinkKind> {
        match &self.shape {
            Shape::Tree(tree) => tree.link_kinds(),
            Shape::Routers(routers) => routers.link_kinds(),
            Shape::Graph(_) => Graph::link_kinds(),
        }
    }

    /// The place of a port's kind in [`Topology::link_kinds`].
    pub fn kind_of(&self, port: Port) -> usize {
        match &self.shape {
            Shape::Tree(tree) => tree.kind_of(port),
            Shape::Routers(routers) => routers.kind_of(port),
            Shape::Graph(graph) => graph.kind_of(port),
        }
    }

    /// The number of switches and routers, as far as they are told apart: pooled links lead to switches that act as one.
    pub fn switches(&self) -> u32 {
        match &self.shape {
            Shape::Tree(tree) => tree.switches(),
            Shape::Routers(routers) => routers.switches(),
            Shape::Graph(graph) => graph.switches(),
        }
    }

    /// The names of the two ends of a port: from, to.
    pub fn ends(&self, port: Port) -> (String, String) {
        match &self.shape {
            Shape::Tree(tree) => tree.ends(port),
            Shape::Routers(routers) => routers.ends(port),
            Shape::Graph(graph) => graph.ends(port),
        }
    }

    /// What a port costs.
    #[inline(always)]
    pub fn costs(&self, port: Port) -> Costs {
        if !self.changed.is_empty()
            && let Some(costs) = self.changed.get(&port)
        {
            return *costs;
        }
        match &self.shape {
            Shape::Tree(tree) => tree.costs(port),
            Shape::Routers(routers) => routers.costs(port),
            Shape::Graph(graph) => graph.costs(port),
        }
    }

    /// What all of some ports cost, if they cost the same.
    pub fn common_costs(&self, ports: Range<Port>) -> Option<Costs> {
        if self.changed.range(ports.clone()).next().is_some() {
            return None;
        }
        match &self.shape {
            Shape::Tree(tree) => tree.common_costs(ports),
            Shape::Routers(routers) => routers.common_costs(ports),
            Shape::Graph(graph) => graph.common_costs(ports),
        }
    }

    /// The first port of the route between two hosts, which must differ.
    #[inline(always)]
    pub fn first(&self, from: Host, to: Host) -> Port {
        match &self.shape {
            Shape::Tree(_) | Shape::Routers(_) => from,
            Shape::Graph(graph) => graph.first(self.seed, from, to),
        }
    }

    /// The port after `port` on the route between two hosts; None if that is the last.
    #[inline(always)]
    pub fn next(&self, port: Port, from: Host, to: Host) -> Option<Port> {
        match &self.shape {
            Shape::Tree(tree) => tree.next(self.seed, port, from, to),
            Shape::Routers(routers) => routers.next(self.seed, port, from, to),
            Shape::Graph(graph) => graph.next(self.seed, port, from, to),
        }
    }

    /// Like [`Topology::next`], with the kinds of the ports in a tree; those of other shapes are 0.
    #[inline(always)]
    pub fn next_in(&self, from_port: (usize, Port), from: Host, to: Host) -> Option<(usize, Port)> {
        match &self.shape {
            Shape::Tree(tree) => tree.next_in(self.seed, from_port, from, to),
            _ => self.next(from_port.1, from, to).map(|port| (0, port)),
        }
    }

    /// The ports of the route between two hosts; empty if they are the same.
    pub fn route(&self, from: Host, to: Host) -> Vec<Port> {
        if from == to {
            return Vec::new();
        }
        let first = self.first(from, to);
        std::iter::successors(Some(first), |&port| self.next(port, from, to)).collect()
    }

    /// The last port of the route between two hosts, which must differ.
    pub fn last(&self, from: Host, to: Host) -> Port {
        match &self.shape {
            Shape::Tree(tree) => tree.last(to),
            Shape::Routers(routers) => routers.last(to),
            Shape::Graph(_) => self.route(from, to).last().copied().unwrap_or_default(),
        }
    }

    /// The sum of the latencies on the route between two hosts.
    pub fn latency(&self, from: Host, to: Host) -> Time {
        match &self.shape {
            Shape::Tree(tree) if self.changed.is_empty() => tree.latency(from, to),
            _ => {
                self.route(from, to).into_iter().fold(Time::ZERO, |sum, port| sum + self.costs(port).latency)
            }
        }
    }

    /// The least of [`Topology::latency`] over all pairs of hosts, or a little less if links were changed.
    pub fn least_latency(&self) -> Time {
        match &self.shape {
            Shape::Tree(tree) => {
                let stages = self.stages();
                let last = |stage: &Stage| stage.delay + self.least_of(stage.ports.clone());
                stages.last().filter(|_| tree.hosts() > 1).map_or(Time::ZERO, last)
            }
            Shape::Routers(routers) if routers.hosts() < 2 => Time::ZERO,
            Shape::Routers(routers) => {
                let ends =
                    self.least_of(0..routers.hosts()) + self.least_of(routers.last(0)..routers.ports());
                let turns = routers.hosts() > routers.switches();
                if turns { ends } else { ends + self.least_of(routers.between()) }
            }
            Shape::Graph(graph) => graph.least_latency(&|port| self.costs(port).latency),
        }
    }

    /// The least latency of some ports.
    fn least_of(&self, ports: Range<Port>) -> Time {
        if let Some(costs) = self.common_costs(ports.clone()) {
            return costs.latency;
        }
        ports.map(|port| self.costs(port).latency).min().unwrap_or(Time::NEVER)
    }

    /// The stages that a message passes in this order, if there are any; else all ports are one stage.
    pub fn stages(&self) -> Vec<Stage> {
        match &self.shape {
            Shape::Tree(tree) => tree.stages(|ports| self.least_of(ports)),
            Shape::Routers(_) | Shape::Graph(_) => vec![Stage { ports: 0..self.ports(), delay: Time::ZERO }],
        }
    }

    /// All ports of the stage before a port's that lead to it or to ports before it come before this one. None if nothing is
    /// known.
    pub fn fed_until(&self, port: Port) -> Option<Port> {
        match &self.shape {
            Shape::Tree(tree) => Some(tree.fed_until(port)),
            Shape::Routers(_) | Shape::Graph(_) => None,
        }
    }

    /// Whether a message never needs two ports of one stage.
    pub fn is_feed_forward(&self) -> bool {
        matches!(self.shape, Shape::Tree(_))
    }

    /// The least latency of any port.
    pub fn least_hop(&self) -> Time {
        self.least_of(0..self.ports())
    }

    /// Whether a message can overtake an earlier one between the same processes.
    pub fn may_overtake(&self) -> bool {
        let bounded = |costs: Costs| costs.longest_wait < Time::NEVER;
        let shape = match &self.shape {
            Shape::Tree(tree) => tree.kinds().any(bounded),
            Shape::Routers(routers) => routers.kinds().any(bounded),
            Shape::Graph(graph) => (0..graph.ports()).any(|port| bounded(graph.costs(port))),
        };
        shape || self.changed.values().any(|&costs| bounded(costs))
    }

    /// The G of the first and of the last port of every route, if they are the same for all.
    pub fn edge_gaps(&self) -> Option<(PerByte, PerByte)> {
        let one = |ports: Range<Port>| std::iter::once(ports).collect::<Vec<_>>();
        let (first, last): (Vec<Range<Port>>, Vec<Range<Port>>) = match &self.shape {
            Shape::Tree(tree) => (one(0..tree.hosts()), one(tree.last(0)..tree.ports())),
            Shape::Routers(routers) => (one(0..routers.hosts()), one(routers.last(0)..routers.ports())),
            Shape::Graph(graph) => (graph.out_of_hosts().collect(), graph.into_hosts().collect()),
        };
        let gap = |ranges: Vec<Range<Port>>| {
            let mut gaps = ranges.into_iter().map(|ports| Some(self.common_costs(ports)?.gap_per_byte));
            let first = gaps.next()??;
            gaps.all(|gap| gap == Some(first)).then_some(first)
        };
        Some((gap(first)?, gap(last)?))
    }

    /// Changes the ports between two ends, in both directions.
    pub fn change(&mut self, ends: [&str; 2], change: &Change) -> Result<(), TopologyError> {
        let between = self.find_ports(ends);
        if between.is_empty() {
            return Err(TopologyError::NoSuchLink { ends: ends.map(Into::into) });
        }
        for port in between {
            if change.failed {
                self.fail(port)?;
            } else {
                let costs = changed(self.costs(port), change);
                self.changed.insert(port, costs);
            }
        }
        Ok(())
    }

    /// The ports between two ends, in both directions.
    pub fn find_ports(&self, [one, other]: [&str; 2]) -> Vec<Port> {
        let between = |port: &Port| {
            let (from, to) = self.ends(*port);
            from == one && to == other || from == other && to == one
        };
        match &self.shape {
            Shape::Tree(tree) => tree.find_ports([one, other]),
            Shape::Routers(_) | Shape::Graph(_) => (0..self.ports()).filter(between).collect(),
        }
    }

    /// Takes a port out of service.
    fn fail(&mut self, port: Port) -> Result<(), TopologyError> {
        match &mut self.shape {
            Shape::Tree(tree) => tree.fail(port),
            Shape::Routers(_) => {
                let (from, to) = self.ends(port);
                Err(TopologyError::Unavoidable { ends: [from, to] })
            }
            Shape::Graph(graph) => graph.fail(port),
        }
    }
}

fn changed(costs: Costs, change: &Change) -> Costs {
    let gap = change.gap_per_byte.unwrap_or(costs.gap_per_byte);
    let slower = |share: f64| PerByte::from_picoseconds(gap.picoseconds() / share);
    Costs {
        gap_per_byte: change.bandwidth.map_or(gap, slower),
        latency: change.latency.unwrap_or(costs.latency),
        ..costs
    }
}

impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// A counter-based hash: every bit of the result depends on every bit of all three.
#[inline(always)]
pub fn hash(seed: u64, a: u64, b: u64) -> u64 {
    let mixed = (a ^ seed.rotate_left(32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ mixed >> 32 ^ b).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    let mixed = (mixed ^ mixed >> 32).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    mixed ^ mixed >> 32
}

#[inline(always)]
fn pair(from: Host, to: Host) -> u64 {
    u64::from(from) << 32 | u64::from(to)
}

/// A number below `bound` from a hash.
#[inline(always)]
fn below(hash: u64, bound: u32) -> u32 {
    (((hash >> 32) * u64::from(bound)) >> 32) as u32
}
