//! The names of a tree's switches: `h17`, `leaf3`, `spine2` in two levels, `mid0.5` and `core7` in three. Pooled links
//! lead to `spines`, `pod0` and `cores`. The switch of a star is `s0`.

use super::super::Port;
use super::super::Routing;
use super::{DOWN, Tree, UP, level_of};

impl Tree {
    /// The names of the two ends of a port: from, to.
    pub fn ends(&self, port: Port) -> (String, String) {
        let range = self.range_of(port);
        let (below, above) = self.link(level_of(range), port - self.begin[range]);
        if range < 3 { (below, above) } else { (above, below) }
    }

    /// The lower and the upper end of a link.
    fn link(&self, level: usize, place: u32) -> (String, String) {
        let pooled = self.routing == Routing::Pooled;
        match (level, self.size.levels) {
            (0, 1) => (format!("h{place}"), "s0".into()),
            (0, _) => (format!("h{place}"), format!("leaf{}", self.per_leaf.divide(place))),
            (1, 2) if pooled => (format!("leaf{place}"), "spines".into()),
            (1, _) if pooled => (format!("leaf{place}"), format!("pod{}", self.per_pod.divide(place))),
            (1, 2) => {
                (format!("leaf{}", self.up[0].divide(place)), format!("spine{}", self.up[0].remainder(place)))
            }
            (1, _) => {
                let (leaf, middle) = (self.up[0].divide(place), self.up[0].remainder(place));
                (format!("leaf{leaf}"), format!("mid{}.{middle}", self.per_pod.divide(leaf)))
            }
            _ if pooled => (format!("pod{place}"), "cores".into()),
            _ => {
                let (pod, in_pod) = (self.up_per_pod.divide(place), self.up_per_pod.remainder(place));
                (format!("mid{pod}.{}", self.up[1].divide(in_pod)), format!("core{in_pod}"))
            }
        }
    }

    /// The ports between two ends, in both directions.
    pub fn find_ports(&self, [one, other]: [&str; 2]) -> Vec<Port> {
        let mut found = Vec::new();
        for (below, above) in [(one, other), (other, one)] {
            let Some((level, place)) = self.find_link(below, above) else { continue };
            let there = place < self.begin[UP[level] + 1] - self.begin[UP[level]];
            if there && self.link(level, place) == (below.to_string(), above.to_string()) {
                found.extend([self.begin[UP[level]] + place, self.begin[DOWN[level]] + place]);
            }
        }
        found
    }

    /// The level and the place of a link by the names of its lower and upper end, if there is such a link.
    fn find_link(&self, below: &str, above: &str) -> Option<(usize, u32)> {
        let number = |name: &str, kind: &str| name.strip_prefix(kind)?.parse::<u32>().ok();
        if let Some(host) = number(below, "h") {
            return Some((0, host));
        }
        let up = self.size.up;
        if let Some(leaf) = number(below, "leaf") {
            let middle = match above {
                _ if self.routing == Routing::Pooled => 0,
                spine if self.size.levels == 2 => number(spine, "spine")?,
                middle => middle.strip_prefix("mid")?.split_once('.')?.1.parse().ok()?,
            };
            return Some((1, leaf.checked_mul(up[0])?.checked_add(middle)?));
        }
        if let Some(pod) = number(below, "pod") {
            return Some((2, pod));
        }
        let (pod, _) = below.strip_prefix("mid")?.split_once('.')?;
        let core = number(above, "core")?;
        Some((2, pod.parse::<u32>().ok()?.checked_mul(self.up_per_pod.get())?.checked_add(core)?))
    }
}
