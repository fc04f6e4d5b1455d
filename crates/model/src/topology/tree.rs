//! Stars and fat trees of two and three levels. Routes and names are arithmetic on the numbers of hosts and ports.
//!
//! ```text
//! level 0   host ── leaf            hosts_per_leaf of each leaf
//! level 1   leaf ── middle switch   up[0] of each leaf; in a tree of two levels these are the spines
//! level 2   middle switch ── core   up[1] of each middle switch
//! ```
//! Ports are numbered by direction and level, so that a message passes ranges of ports in this order: up 0, up 1, up 2,
//! down 2, down 1, down 0. Pooled links are one link: then `up` is 1 and its gap is that of one link divided by theirs.

mod names;

use super::divisor::Divisor;
use super::error::TopologyError;
use super::{Costs, Host, LinkKind, MOST_PORTS, Port, Routing, Stage, below, hash, pair};
use crate::network::PerByte;
use crate::time::Time;
use std::collections::BTreeSet;
use std::ops::Range;

/// Directions and levels, in the order in which a message passes them.
const UP: [usize; 3] = [0, 1, 2];
const DOWN: [usize; 3] = [5, 4, 3];
const RANGES: usize = 6;

/// The size of a tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size {
    pub hosts: u32,
    pub levels: u8,
    pub hosts_per_leaf: u32,
    /// Leaves of a pod; only in trees of three levels.
    pub leaves_per_pod: u32,
    /// Links from a leaf up, and from a middle switch up.
    pub up: [u32; 2],
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tree {
    size: Size,
    routing: Routing,
    per_leaf: Divisor,
    per_pod: Divisor,
    up: [Divisor; 2],
    /// up[0] · up[1].
    up_per_pod: Divisor,
    /// Where each range of ports begins, and the end.
    begin: [Port; RANGES + 1],
    /// By level.
    kinds: [Costs; 3],
    failed: BTreeSet<Port>,
}

impl Tree {
    /// A tree whose links at each level cost `kinds`.
    pub fn new(size: Size, routing: Routing, kinds: [Costs; 3]) -> Result<Tree, TopologyError> {
        let pooled = routing == Routing::Pooled;
        let links = [1, u64::from(size.up[0]), u64::from(size.up[0]) * u64::from(size.up[1])];
        let mut kinds = kinds;
        if pooled {
            for (kind, links) in kinds.iter_mut().zip(links) {
                kind.gap_per_byte = PerByte::from_bits((kind.gap_per_byte.bits() + links / 2) / links.max(1));
            }
        }
        let size = if pooled { Size { up: [1, 1], ..size } } else { size };
        let hosts = u64::from(size.hosts);
        let leaves = if size.levels > 1 { hosts.div_ceil(size.hosts_per_leaf.max(1).into()) } else { 0 };
        let pods = if size.levels > 2 { leaves.div_ceil(size.leaves_per_pod.max(1).into()) } else { 0 };
        let up = size.up.map(u64::from);
        let at_level = [hosts, leaves * up[0], (pods * up[0]).saturating_mul(up[1])];
        let ports = at_level.iter().fold(0u64, |sum, &more| sum.saturating_add(more.saturating_mul(2)));
        if ports > MOST_PORTS {
            return Err(TopologyError::TooManyPorts { ports });
        }
        let mut begin = [0; RANGES + 1];
        for (range, level) in [0, 1, 2, 2, 1, 0].into_iter().enumerate() {
            begin[range + 1] = begin[range] + at_level[level] as u32;
        }
        Ok(Tree {
            size,
            routing,
            per_leaf: Divisor::new(if size.levels > 1 { size.hosts_per_leaf } else { size.hosts }),
            per_pod: Divisor::new(if size.levels > 2 { size.leaves_per_pod } else { leaves.max(1) as u32 }),
            up: size.up.map(Divisor::new),
            up_per_pod: Divisor::new((up[0] * up[1]).min(u32::MAX.into()) as u32),
            begin,
            kinds,
            failed: BTreeSet::new(),
        })
    }

    pub fn size(&self) -> &Size {
        &self.size
    }

    pub fn hosts(&self) -> u32 {
        self.size.hosts
    }

    pub fn ports(&self) -> u32 {
        self.begin[RANGES]
    }

    pub fn kinds(&self) -> impl Iterator<Item = Costs> {
        self.kinds.into_iter().take(self.size.levels.into())
    }

    /// The number of switches; pooled ones count as one.
    pub fn switches(&self) -> u32 {
        let leaves = self.size.hosts.div_ceil(self.per_leaf.get());
        let middle = leaves.div_ceil(self.per_pod.get()) * self.size.up[0];
        match self.size.levels {
            1 => 1,
            2 => leaves + self.size.up[0],
            _ => leaves + middle + self.up_per_pod.get(),
        }
    }

    /// At each level: the links up of half of what is there, and their costs.
    pub fn across(&self) -> Vec<(u64, Costs)> {
        let leaves = self.size.hosts.div_ceil(self.per_leaf.get());
        let pods = leaves.div_ceil(self.per_pod.get());
        let halves = [(self.size.hosts, 1), (leaves, self.size.up[0]), (pods, self.up_per_pod.get())];
        let levels = halves.into_iter().zip(self.kinds()).filter(|((count, _), _)| *count > 1);
        levels.map(|((count, up), costs)| (u64::from(count / 2) * u64::from(up), costs)).collect()
    }

    /// The kinds of links, in the order of their directions, up and down.
    pub fn link_kinds(&self) -> Vec<LinkKind> {
        let names: &[&str] = match self.size.levels {
            1 => &["host", "switch", "", ""],
            2 => &["host", "leaf", "spine", ""],
            _ => &["host", "leaf", "middle", "core"],
        };
        let up = [(0, 1), (1, 2), (2, 3), (3, 2), (2, 1), (1, 0)];
        up.into_iter()
            .map(|(from, to)| LinkKind { from: names[from], to: names.get(to).copied().unwrap_or("") })
            .collect()
    }

    pub fn kind_of(&self, port: Port) -> usize {
        self.range_of(port)
    }

    /// The range of ports that a port is in.
    #[inline(always)]
    fn range_of(&self, port: Port) -> usize {
        (1..RANGES).filter(|&range| port >= self.begin[range]).count()
    }

    fn ports_of(&self, range: usize) -> Range<Port> {
        self.begin[range]..self.begin[range + 1]
    }

    #[inline(always)]
    pub fn costs(&self, port: Port) -> Costs {
        self.kinds[level_of(self.range_of(port))]
    }

    pub fn common_costs(&self, ports: Range<Port>) -> Option<Costs> {
        let first = self.costs(ports.start);
        let mut last = self.range_of(ports.start);
        while self.begin[last + 1] < ports.end {
            last += 1;
            if self.kinds[level_of(last)] != first && !self.ports_of(last).is_empty() {
                return None;
            }
        }
        Some(first)
    }

    #[inline(always)]
    pub fn next(&self, seed: u64, port: Port, from: Host, to: Host) -> Option<Port> {
        self.next_in(seed, (self.range_of(port), port), from, to).map(|(_, next)| next)
    }

    /// Like [`Tree::next`], with the ranges of the ports.
    #[inline(always)]
    pub fn next_in(
        &self,
        seed: u64,
        (range, port): (usize, Port),
        from: Host,
        to: Host,
    ) -> Option<(usize, Port)> {
        if range >= DOWN[1] {
            return (range == DOWN[1]).then(|| (DOWN[0], self.last(to)));
        }
        let leaf = self.per_leaf.divide(to);
        Some(match range {
            0 => match self.per_leaf.divide(from) {
                own if own == leaf => (DOWN[0], self.last(to)),
                own => (UP[1], self.up_from_leaf(seed, own, leaf, (from, to))),
            },
            1 => {
                let place = port - self.begin[UP[1]];
                let own = self.up[0].divide(place);
                let (pod, there) = (self.per_pod.divide(own), self.per_pod.divide(leaf));
                let middle = place - own * self.size.up[0];
                match pod == there {
                    true => (DOWN[1], self.down_to_leaf(leaf, middle)),
                    false => (UP[2], self.up_from_middle(seed, (pod, there), middle, (from, to))),
                }
            }
            2 => {
                let in_pod = self.up_per_pod.remainder(port - self.begin[UP[2]]);
                (DOWN[2], self.begin[DOWN[2]] + self.per_pod.divide(leaf) * self.up_per_pod.get() + in_pod)
            }
            _ => {
                let in_pod = self.up_per_pod.remainder(port - self.begin[DOWN[2]]);
                (DOWN[1], self.down_to_leaf(leaf, self.up[1].divide(in_pod)))
            }
        })
    }

    /// The last port to a host.
    #[inline(always)]
    pub fn last(&self, to: Host) -> Port {
        self.begin[DOWN[0]] + to
    }

    #[inline(always)]
    fn down_to_leaf(&self, leaf: u32, middle: u32) -> Port {
        self.begin[DOWN[1]] + leaf * self.size.up[0] + middle
    }

    #[inline(always)]
    fn up_from_leaf(&self, seed: u64, own: u32, leaf: u32, (from, to): (Host, Host)) -> Port {
        let choice = below(hash(seed, pair(from, to), 1), self.size.up[0]);
        let middle = if self.failed.is_empty() { choice } else { self.live_middle(own, leaf, choice) };
        self.begin[UP[1]] + own * self.size.up[0] + middle
    }

    #[inline(always)]
    fn up_from_middle(&self, seed: u64, pods: (u32, u32), middle: u32, (from, to): (Host, Host)) -> Port {
        let choice = below(hash(seed, pair(from, to), 2), self.size.up[1]);
        let core = match self.failed.is_empty() {
            true => choice,
            false => self.live_core(pods, middle, choice).unwrap_or(choice),
        };
        self.begin[UP[2]] + (pods.0 * self.size.up[0] + middle) * self.size.up[1] + core
    }

    /// The first middle switch from `choice` on over which `own` reaches `leaf`.
    #[cold]
    fn live_middle(&self, own: u32, leaf: u32, choice: u32) -> u32 {
        let order = (0..self.size.up[0]).map(|more| (choice + more) % self.size.up[0]);
        order.clone().find(|&middle| self.leads(own, leaf, middle)).unwrap_or(choice)
    }

    /// Whether one leaf reaches another over a middle switch.
    fn leads(&self, own: u32, leaf: u32, middle: u32) -> bool {
        let up = self.begin[UP[1]] + own * self.size.up[0] + middle;
        let pods = (self.per_pod.divide(own), self.per_pod.divide(leaf));
        !self.failed.contains(&up)
            && !self.failed.contains(&self.down_to_leaf(leaf, middle))
            && (pods.0 == pods.1 || self.live_core(pods, middle, 0).is_some())
    }

    /// The first core from `choice` on over which a middle switch of one pod reaches that of another.
    fn live_core(&self, pods: (u32, u32), middle: u32, choice: u32) -> Option<u32> {
        let count = self.size.up[1];
        let place = |pod: u32, core: u32| (pod * self.size.up[0] + middle) * count + core;
        let lives = |&core: &u32| {
            !self.failed.contains(&(self.begin[UP[2]] + place(pods.0, core)))
                && !self.failed.contains(&(self.begin[DOWN[2]] + place(pods.1, core)))
        };
        (0..count).map(|more| (choice + more) % count).find(lives)
    }

    /// The sum of latencies between two hosts, if no link was changed.
    pub fn latency(&self, from: Host, to: Host) -> Time {
        let leaves = (self.per_leaf.divide(from), self.per_leaf.divide(to));
        let height = match from == to {
            true => 0,
            false if leaves.0 == leaves.1 => 1,
            false if self.per_pod.divide(leaves.0) == self.per_pod.divide(leaves.1) => 2,
            false => 3,
        };
        let one_way = self.kinds[..height].iter().fold(Time::ZERO, |sum, kind| sum + kind.latency);
        one_way + one_way
    }

    /// The ranges of ports in the order in which messages pass them, with the least time to each.
    pub fn stages(&self, least: impl Fn(Range<Port>) -> Time) -> Vec<Stage> {
        let least = |range: usize| match self.ports_of(range) {
            ports if ports.is_empty() => Time::NEVER,
            ports => least(ports),
        };
        let mut delays = [Time::NEVER; RANGES];
        delays[UP[0]] = Time::ZERO;
        for level in 1..usize::from(self.size.levels) {
            delays[UP[level]] = delays[UP[level - 1]] + least(UP[level - 1]);
        }
        for level in (0..usize::from(self.size.levels)).rev() {
            let above =
                if level < 2 { delays[DOWN[level + 1]] + least(DOWN[level + 1]) } else { Time::NEVER };
            let turn = delays[UP[level]] + least(UP[level]);
            delays[DOWN[level]] = if self.turns_at(level) { above.min(turn) } else { above };
        }
        let stage = |range: usize| Stage { ports: self.ports_of(range), delay: delays[range] };
        (0..RANGES).map(stage).filter(|stage| !stage.ports.is_empty()).collect()
    }

    /// All ports of the range before a port's that lead to it or to ports before it come before this one.
    pub fn fed_until(&self, port: Port) -> Port {
        let range = self.range_of(port);
        let place = port - self.begin[range];
        let (up, pod) = (self.size.up[0], self.up_per_pod.get());
        let end = match range {
            1 => (self.up[0].divide(place) + 1).saturating_mul(self.per_leaf.get()),
            2 => (self.up_per_pod.divide(place) + 1).saturating_mul(self.per_pod.get().saturating_mul(up)),
            4 if self.size.levels == 3 => {
                (self.per_pod.divide(self.up[0].divide(place)) + 1).saturating_mul(pod)
            }
            5 if self.size.levels > 1 => (self.per_leaf.divide(place) + 1).saturating_mul(up),
            _ => return self.begin[range],
        };
        self.begin[range - 1].saturating_add(end).min(self.begin[range])
    }

    /// Whether any message turns at the switches above this level.
    fn turns_at(&self, level: usize) -> bool {
        let leaves = self.size.hosts.div_ceil(self.per_leaf.get());
        match level {
            _ if level + 1 == usize::from(self.size.levels) => true,
            0 => self.per_leaf.get() > 1,
            _ => self.per_pod.get() > 1 && leaves > 1,
        }
    }

    /// Takes a port out of service, if all hosts can still reach each other.
    pub fn fail(&mut self, port: Port) -> Result<(), TopologyError> {
        self.failed.insert(port);
        let cut = |from: String, to: String| Err(TopologyError::NotConnected { from, to });
        if level_of(self.range_of(port)) == 0 {
            let (from, to) = self.ends(port);
            return cut(from, to);
        }
        let leaves = self.leaves_to_check();
        for &own in &leaves {
            for &leaf in leaves.iter().filter(|&&leaf| leaf != own) {
                if !(0..self.size.up[0]).any(|middle| self.leads(own, leaf, middle)) {
                    return cut(format!("leaf{own}"), format!("leaf{leaf}"));
                }
            }
        }
        Ok(())
    }

    /// The leaves with failed links, and one other of every pod that has a failed link.
    fn leaves_to_check(&self) -> Vec<u32> {
        let mut leaves = BTreeSet::new();
        let count = self.size.hosts.div_ceil(self.per_leaf.get());
        leaves.extend([0, count - 1]);
        for &port in &self.failed {
            let range = self.range_of(port);
            let place = port - self.begin[range];
            if level_of(range) == 1 {
                leaves.insert(self.up[0].divide(place));
            } else {
                let first = self.up_per_pod.divide(place) * self.per_pod.get();
                leaves.extend(first..(first + self.per_pod.get()).min(count));
            }
        }
        leaves.into_iter().collect()
    }
}

/// The level of a range of ports.
#[inline(always)]
fn level_of(range: usize) -> usize {
    if range < 3 { range } else { 5 - range }
}

#[cfg(test)]
mod tests {
    use super::super::Topology;
    use super::*;
    use proptest::prelude::*;

    fn sizes() -> impl Strategy<Value = (Size, Routing)> {
        let routing = prop::sample::select(vec![Routing::Hash, Routing::Pooled]);
        (1u32..60, 1u8..4, 1u32..7, 1u32..5, [1u32..5, 1u32..4], routing).prop_map(
            |(hosts, levels, hosts_per_leaf, leaves_per_pod, up, routing)| {
                (Size { hosts, levels, hosts_per_leaf, leaves_per_pod, up }, routing)
            },
        )
    }

    fn kinds() -> [Costs; 3] {
        [3, 50, 700].map(|latency| Costs::new(PerByte::from_ps(10), Time(latency)))
    }

    proptest! {
        /// Each port of a route begins where the one before ended, and stages are passed in order, in time.
        #[test]
        fn routes_lead_there((size, routing) in sizes(), seed: u64) {
            let mut topology = Topology::from_tree("t", Tree::new(size, routing, kinds()).unwrap());
            topology.seed = seed;
            let stages = topology.stages();
            let mut least = Time::NEVER;
            for (from, to) in (0..size.hosts).flat_map(|from| (0..size.hosts).map(move |to| (from, to))) {
                let (mut place, mut time, mut stage) = (topology.host_name(from), Time::ZERO, None);
                let mut before: Option<u32> = None;
                for port in topology.route(from, to) {
                    let (begin, end) = topology.ends(port);
                    prop_assert_eq!(&begin, &place);
                    let own = stages.iter().position(|stage| stage.ports.contains(&port)).unwrap();
                    prop_assert!(stage < Some(own) && stages[own].delay <= time);
                    prop_assert!(topology.find_ports([&begin, &end]).contains(&port));
                    // Stage by stage, all ports that lead to those that must be served before this one.
                    let mut needed = port;
                    for previous in (stage.unwrap_or(own)..own).rev() {
                        let Some(until) = topology.fed_until(needed) else { break };
                        prop_assert!(stages[previous].ports.start < until && until <= stages[previous].ports.end);
                        needed = until - 1;
                    }
                    prop_assert!(before.is_none_or(|before| before <= needed));
                    before = Some(port);
                    (place, stage, time) = (end, Some(own), time + topology.costs(port).latency);
                }
                prop_assert_eq!(place, topology.host_name(to));
                prop_assert_eq!(time, topology.latency(from, to));
                if from != to {
                    prop_assert_eq!(topology.route(from, to).last().copied(), Some(topology.last(from, to)));
                    least = least.min(time);
                }
            }
            if size.hosts > 1 && size.hosts % size.hosts_per_leaf != 1 {
                prop_assert_eq!(topology.least_latency(), least);
            }
        }

        /// No route uses a failed link, as long as hosts are connected.
        #[test]
        fn failed_links_are_avoided((size, _) in sizes(), seed: u64, wanted in prop::collection::vec(any::<u32>(), 1..4)) {
            let mut topology = Topology::from_tree("t", Tree::new(size, Routing::Hash, kinds()).unwrap());
            topology.seed = seed;
            let mut failed = Vec::new();
            for port in wanted {
                let (one, other) = topology.ends(port % topology.ports());
                let mut tried = topology.clone();
                if tried.change([&one, &other], &super::super::Change { failed: true, ..<_>::default() }).is_ok() {
                    topology = tried;
                    failed.extend(topology.find_ports([&one, &other]));
                }
            }
            for (from, to) in (0..size.hosts).flat_map(|from| (0..size.hosts).map(move |to| (from, to))) {
                prop_assert!(topology.route(from, to).iter().all(|port| !failed.contains(port)));
            }
        }
    }
}
