//! What a topology consists of.

use super::{Costs, LinkKind, Shape, Topology};

/// The ports of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkSummary {
    pub kind: LinkKind,
    pub ports: u32,
    /// What most of them cost, and how many cost something else or have failed.
    pub costs: Costs,
    pub changed: u32,
}

impl Topology {
    /// The kinds of ports that exist, in the order in which a message passes them.
    pub fn links(&self) -> Vec<LinkSummary> {
        let kinds = self.link_kinds();
        let mut found: Vec<Vec<(Costs, u32)>> = vec![Vec::new(); kinds.len()];
        for port in 0..self.ports() {
            let (costs, known) = (self.costs(port), &mut found[self.kind_of(port)]);
            match known.iter_mut().find(|(other, _)| *other == costs) {
                Some((_, count)) => *count += 1,
                None => known.push((costs, 1)),
            }
        }
        let summary = |(kind, found): (LinkKind, Vec<(Costs, u32)>)| {
            let ports = found.iter().map(|(_, count)| count).sum();
            // Of equally many, the first.
            let &(costs, most) = found.iter().rev().max_by_key(|(_, count)| *count)?;
            Some(LinkSummary { kind, ports, costs, changed: ports - most })
        };
        kinds.into_iter().zip(found).filter_map(summary).collect()
    }

    /// The bytes per second, in one direction, between two halves of the hosts, as far as that follows from the shape and
    /// changed links are not counted. None for any other links.
    pub fn bisection(&self) -> Option<f64> {
        let rate = |links: u64, costs: Costs| links as f64 / (costs.gap_per_byte.picoseconds() * 1e-12);
        let hosts = u64::from(self.hosts());
        let narrowest = match &self.shape {
            Shape::Tree(tree) => {
                tree.across().into_iter().map(|(links, costs)| rate(links, costs)).fold(f64::MAX, f64::min)
            }
            Shape::Routers(routers) => {
                let (links, costs) = routers.across();
                let inside = if routers.switches() > 1 { rate(links, costs) } else { f64::MAX };
                inside.min(rate(hosts / 2, routers.costs(0)))
            }
            Shape::Graph(_) => return None,
        };
        (hosts > 1 && narrowest.is_finite()).then_some(narrowest)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Change;
    use super::*;
    use crate::Network;

    fn parse(text: &str) -> Topology {
        Topology::parse(text, &Network::parse("L=1us,o=1us,g=0,G=1ns").unwrap().base).unwrap()
    }

    /// With G = 1 ns a link has 1 GB/s.
    #[test]
    fn bisections() {
        for (text, links) in [
            ("star:hosts=10", 5.0),
            ("fat-tree:radix=8", 16.0),
            ("fat-tree:radix=8,taper=2", 8.0),
            ("fat-tree:radix=8,taper=2,routing=pooled", 8.0),
            ("fat-tree:radix=8,levels=3,taper=4", 16.0),
            ("fat-tree:radix=8,hosts=4", 2.0),
            ("torus:size=8x8x8", 128.0),
            ("torus:size=4x4,hosts-per-router=1", 8.0),
            // 8 hosts on one router.
            ("torus:size=1,hosts-per-router=8", 4.0),
            // 4·5 pairs of groups.
            ("dragonfly:routers=4", 20.0),
            ("dragonfly:routers=4,global-G=2ns", 10.0),
        ] {
            let found = parse(text).bisection().unwrap() / 1e9;
            assert!((found - links).abs() < 1e-6, "{text}: {found}");
        }
    }

    #[test]
    fn kinds_are_counted() {
        let mut tree = parse("fat-tree:radix=4");
        tree.change(["leaf0", "spine1"], &Change { bandwidth: Some(0.5), ..Change::default() }).unwrap();
        let links: Vec<_> = tree
            .links()
            .iter()
            .map(|link| (link.kind.from, link.kind.to, link.ports, link.changed))
            .collect();
        let expected = [
            ("host", "leaf", 8, 0),
            ("leaf", "spine", 8, 1),
            ("spine", "leaf", 8, 1),
            ("leaf", "host", 8, 0),
        ];
        assert_eq!(links, expected);
    }
}
