//! Routers that carry hosts themselves: tori, meshes and dragonflies. Routes and names are arithmetic.
//!
//! Ports are numbered in this order: from hosts to routers, between neighbouring routers, between groups of routers (in
//! dragonflies), from routers to hosts.

mod dragonfly;
mod torus;

pub use dragonfly::Dragonfly;
pub use torus::Torus;

use super::divisor::Divisor;
use super::error::TopologyError;
use super::{Costs, Host, LinkKind, MOST_HOPS, MOST_PORTS, Port, pair};
use std::ops::Range;

/// Kinds of ports, in the order of their numbers; 2 are those between groups.
const UP: usize = 0;
const NEAR: usize = 1;
const DOWN: usize = 3;
const RANGES: usize = 4;

/// How routers are connected. Their ports are counted from 0, near ones first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Wiring {
    Torus(Torus),
    Dragonfly(Dragonfly),
}

impl Wiring {
    fn routers(&self) -> u64 {
        match self {
            Wiring::Torus(torus) => torus.routers(),
            Wiring::Dragonfly(dragonfly) => dragonfly.routers(),
        }
    }

    /// The number of near and of far ports.
    fn ports(&self) -> [u64; 2] {
        match self {
            Wiring::Torus(torus) => [torus.ports(), 0],
            Wiring::Dragonfly(dragonfly) => dragonfly.ports(),
        }
    }

    /// The largest number of ports between two routers.
    fn longest(&self) -> u64 {
        match self {
            Wiring::Torus(torus) => torus.longest(),
            Wiring::Dragonfly(dragonfly) => dragonfly.longest(),
        }
    }

    /// The port of the router `here` on the route between two routers; it is not the last of the route.
    #[inline(always)]
    fn next(&self, seed: u64, here: u32, ends: (u32, u32), pair: u64) -> u32 {
        match self {
            Wiring::Torus(torus) => torus.next(seed, here, ends.1, pair),
            Wiring::Dragonfly(dragonfly) => dragonfly.next(seed, here, ends, pair),
        }
    }

    /// The routers at the ends of a port: from, to.
    #[inline(always)]
    fn ends(&self, port: u32) -> (u32, u32) {
        match self {
            Wiring::Torus(torus) => torus.ends(port),
            Wiring::Dragonfly(dragonfly) => dragonfly.ends(port),
        }
    }

    fn name(&self, router: u32) -> String {
        match self {
            Wiring::Torus(torus) => torus.name(router),
            Wiring::Dragonfly(dragonfly) => dragonfly.name(router),
        }
    }

    /// Links between the halves of the routers.
    fn bisection(&self) -> u64 {
        match self {
            Wiring::Torus(torus) => torus.bisection(),
            Wiring::Dragonfly(dragonfly) => dragonfly.bisection(),
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Routers {
    hosts: u32,
    per_router: Divisor,
    wiring: Wiring,
    /// Where each range of ports begins, and the end.
    begin: [Port; RANGES + 1],
    /// Of links to hosts, between neighbouring routers, and between groups.
    kinds: [Costs; 3],
}

impl Routers {
    /// Every router has `per_router` hosts. Links to hosts, near links and far links cost `kinds`.
    pub fn new(wiring: Wiring, per_router: u32, kinds: [Costs; 3]) -> Result<Routers, TopologyError> {
        let hosts = wiring.routers().saturating_mul(per_router.into());
        let [near, far] = wiring.ports();
        let ports = hosts.saturating_mul(2).saturating_add(near).saturating_add(far);
        if ports > MOST_PORTS {
            return Err(TopologyError::TooManyPorts { ports });
        }
        let mut begin = [0; RANGES + 1];
        for (range, count) in [hosts, near, far, hosts].into_iter().enumerate() {
            begin[range + 1] = begin[range] + count as u32;
        }
        let (hosts, per_router) = (hosts as u32, Divisor::new(per_router));
        let routers = Routers { hosts, per_router, wiring, begin, kinds };
        match routers.wiring.longest() + 2 > MOST_HOPS as u64 {
            true => {
                let (from, to) = ("one host".into(), "another".into());
                Err(TopologyError::TooLong { from, to, limit: MOST_HOPS })
            }
            false => Ok(routers),
        }
    }

    pub fn hosts(&self) -> u32 {
        self.hosts
    }

    pub fn ports(&self) -> u32 {
        self.begin[RANGES]
    }

    pub fn kinds(&self) -> impl Iterator<Item = Costs> {
        self.kinds.into_iter()
    }

    /// The links between the halves of the routers, and their costs.
    pub fn across(&self) -> (u64, Costs) {
        let far = usize::from(!self.ports_of(DOWN - 1).is_empty());
        (self.wiring.bisection(), self.kinds[NEAR + far])
    }

    /// The number of routers.
    pub fn switches(&self) -> u32 {
        self.hosts / self.per_router.get()
    }

    #[inline(always)]
    fn range_of(&self, port: Port) -> usize {
        (1..RANGES).filter(|&range| port >= self.begin[range]).count()
    }

    pub fn ports_of(&self, range: usize) -> Range<Port> {
        self.begin[range]..self.begin[range + 1]
    }

    #[inline(always)]
    pub fn costs(&self, port: Port) -> Costs {
        self.kinds[self.range_of(port) % DOWN]
    }

    pub fn common_costs(&self, ports: Range<Port>) -> Option<Costs> {
        let first = self.costs(ports.start);
        let ranges = (0..RANGES).map(|range| (range, self.ports_of(range)));
        let mut touched =
            ranges.filter(|(_, own)| !own.is_empty() && own.start < ports.end && ports.start < own.end);
        touched.all(|(range, _)| self.kinds[range % DOWN] == first).then_some(first)
    }

    #[inline(always)]
    pub fn next(&self, seed: u64, port: Port, from: Host, to: Host) -> Option<Port> {
        if port >= self.begin[DOWN] {
            return None;
        }
        let ends = (self.per_router.divide(from), self.per_router.divide(to));
        let here = if port < self.begin[NEAR] { ends.0 } else { self.wiring.ends(port - self.begin[NEAR]).1 };
        Some(match here == ends.1 {
            true => self.last(to),
            false => self.begin[NEAR] + self.wiring.next(seed, here, ends, pair(from, to)),
        })
    }

    /// The last port to a host.
    #[inline(always)]
    pub fn last(&self, to: Host) -> Port {
        self.begin[DOWN] + to
    }

    /// The ports between routers.
    pub fn between(&self) -> Range<Port> {
        self.begin[NEAR]..self.begin[DOWN]
    }

    /// The names of the two ends of a port: from, to.
    pub fn ends(&self, port: Port) -> (String, String) {
        let host = |host: u32| (format!("h{host}"), self.wiring.name(self.per_router.divide(host)));
        match self.range_of(port) {
            UP => host(port),
            DOWN => {
                let (host, router) = host(port - self.begin[DOWN]);
                (router, host)
            }
            _ => {
                let (from, to) = self.wiring.ends(port - self.begin[NEAR]);
                (self.wiring.name(from), self.wiring.name(to))
            }
        }
    }

    pub fn link_kinds(&self) -> Vec<LinkKind> {
        let (near, far) = match self.wiring {
            Wiring::Torus(_) => ("neighbour", ""),
            Wiring::Dragonfly(_) => ("router of its group", "router of another group"),
        };
        let kinds = [("host", "router"), ("router", near), ("router", far), ("router", "host")];
        kinds.into_iter().map(|(from, to)| LinkKind { from, to }).collect()
    }

    #[inline(always)]
    pub fn kind_of(&self, port: Port) -> usize {
        self.range_of(port)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Topology;
    use super::*;
    use crate::{PerByte, Time};
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn kinds() -> [Costs; 3] {
        [3, 50, 700].map(|latency| Costs::new(PerByte::from_ps(10), Time(latency)))
    }

    fn wirings() -> impl Strategy<Value = Wiring> {
        let torus = (prop::collection::vec(1u32..5, 1..6), any::<bool>()).prop_filter_map(
            "too large",
            |(sizes, wraps)| {
                let small = sizes.iter().product::<u32>() <= 100;
                small.then(|| Torus::new(&sizes, wraps).map(Wiring::Torus))?
            },
        );
        let dragonfly = (1u32..8, 1u32..5, 1u32..5, any::<bool>()).prop_filter_map(
            "groups",
            |(groups, routers, far, valiant)| {
                Dragonfly::new(groups, routers, far, valiant).map(Wiring::Dragonfly)
            },
        );
        prop_oneof![torus, dragonfly]
    }

    /// The least number of links between all routers, by Floyd and Warshall.
    fn distances(wiring: &Wiring) -> Vec<Vec<usize>> {
        let routers = wiring.routers() as usize;
        let mut far = vec![vec![usize::MAX / 4; routers]; routers];
        (0..routers).for_each(|router| far[router][router] = 0);
        for port in 0..wiring.ports().iter().sum::<u64>() as u32 {
            let (from, to) = wiring.ends(port);
            assert_ne!(from, to);
            far[from as usize][to as usize] = 1;
        }
        for by in 0..routers {
            for (one, other) in (0..routers).flat_map(|one| (0..routers).map(move |other| (one, other))) {
                far[one][other] = far[one][other].min(far[one][by] + far[by][other]);
            }
        }
        far
    }

    proptest! {
        /// Each port of a route begins where the one before ended. Routes of tori are shortest; minimal ones of
        /// dragonflies have at most one link to another group, and Valiant's two.
        #[test]
        fn routes_lead_there(wiring in wirings(), per_router in 1u32..3, seed: u64) {
            let far = distances(&wiring);
            let routers = Routers::new(wiring.clone(), per_router, kinds()).unwrap();
            let mut topology = Topology::from_routers("t", routers.clone());
            topology.seed = seed;
            let hosts = topology.hosts();
            let mut least = Time::NEVER;
            for (from, to) in (0..hosts).flat_map(|from| (0..hosts).map(move |to| (from, to))).filter(|(a, b)| a != b) {
                let route = topology.route(from, to);
                let mut place = topology.host_name(from);
                for &port in &route {
                    let (begin, end) = topology.ends(port);
                    prop_assert_eq!(begin, place);
                    place = end;
                }
                prop_assert_eq!(place, topology.host_name(to));
                prop_assert_eq!(route.last().copied(), Some(topology.last(from, to)));
                let between = far[(from / per_router) as usize][(to / per_router) as usize];
                let global = route.iter().filter(|&&port| topology.kind_of(port) == 2).count();
                match &wiring {
                    Wiring::Torus(_) => prop_assert_eq!(route.len(), between + 2),
                    Wiring::Dragonfly(dragonfly) => {
                        let groups = [from, to].map(|host| host / per_router / dragonfly.routers_per_group());
                        let expected = match groups[0] == groups[1] {
                            true => 0,
                            false => 1 + usize::from(dragonfly.is_valiant()),
                        };
                        prop_assert_eq!(global, expected);
                        prop_assert!(route.len() as u64 <= dragonfly.longest() + 2);
                        if groups[0] == groups[1] {
                            prop_assert_eq!(route.len(), between + 2);
                        }
                    }
                }
                least = least.min(topology.latency(from, to));
            }
            prop_assert!(hosts < 2 || topology.least_latency() <= least);
        }

        /// Every link leads in both directions, and no port is counted twice.
        #[test]
        fn links_lead_both_ways(wiring in wirings()) {
            let mut links: HashMap<(u32, u32), i64> = HashMap::new();
            for port in 0..wiring.ports().iter().sum::<u64>() as u32 {
                let (from, to) = wiring.ends(port);
                *links.entry((from.min(to), from.max(to))).or_default() += if from < to { 1 } else { -1 };
            }
            prop_assert!(links.values().all(|&balance| balance == 0), "{:?}", links);
        }
    }

    /// By brute force over all halves of a few routers.
    #[test]
    fn bisections() {
        let torus = |sizes: &[u32], wraps| Wiring::Torus(Torus::new(sizes, wraps).unwrap());
        let wirings = [
            (torus(&[4, 4], true), 8),
            (torus(&[4, 4], false), 4),
            (torus(&[2, 4, 2], true), 8),
            (torus(&[2, 2, 2], true), 4),
            (Wiring::Dragonfly(Dragonfly::new(1, 6, 1, false).unwrap()), 9),
        ];
        for (wiring, golden) in wirings {
            let routers = wiring.routers() as u32;
            let links: Vec<(u32, u32)> =
                (0..wiring.ports()[0] as u32).map(|port| wiring.ends(port)).collect();
            let cut =
                |half: u32| links.iter().filter(|(a, b)| half >> a & 1 == 1 && half >> b & 1 == 0).count();
            let least =
                (0..1u32 << routers).filter(|half| half.count_ones() == routers / 2).map(cut).min().unwrap();
            assert_eq!((wiring.bisection(), least as u64), (golden, golden), "{wiring:?}");
        }
    }
}
