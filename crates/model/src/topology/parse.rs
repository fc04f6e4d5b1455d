//! Topologies as written on a command line: `fat-tree:radix=64,levels=3,taper=2`, `star:hosts=64`, `torus:size=8x8x8`,
//! `dragonfly:routers=16`, or the path of a file.

use super::error::TopologyError;
use super::tree::{Size, Tree};
use super::{Costs, Dragonfly, Routers, Routing, SegmentRule, Topology, Torus, Wiring};
use crate::network::{Link, PerByte};
use crate::path_text::path_of;
use crate::spelling::nearest;
use crate::time::Time;
use crate::units;
use std::path::Path;

/// A longer latency is a typing error.
pub(super) const LONGEST: Time = Time(86_400_000_000_000_000);

const SHAPES: [&str; 5] = ["fat-tree", "star", "torus", "mesh", "dragonfly"];
const TORUS_KEYS: [&str; 7] = ["size", "hosts-per-router", "L", "G", "q", "segment", "seed"];
const DRAGONFLY_KEYS: [&str; 12] = [
    "groups",
    "routers",
    "hosts-per-router",
    "global-links",
    "routing",
    "L",
    "G",
    "global-L",
    "global-G",
    "q",
    "segment",
    "seed",
];
const STAR_KEYS: [&str; 6] = ["hosts", "L", "G", "q", "segment", "seed"];
const TREE_KEYS: [&str; 13] = [
    "radix",
    "levels",
    "taper",
    "hosts",
    "hosts-per-leaf",
    "leaves-per-pod",
    "up",
    "routing",
    "L",
    "G",
    "q",
    "segment",
    "seed",
];

/// The hosts of a star whose number is not given.
const STAR_HOSTS: u32 = 64;

/// The parameters of a shape, as given.
struct Given<'a> {
    shape: &'static str,
    pairs: Vec<(&'static str, &'a str)>,
}

impl<'a> Given<'a> {
    fn new(shape: &'static str, known: &[&'static str], list: &'a str) -> Result<Given<'a>, TopologyError> {
        let mut pairs: Vec<(&'static str, &str)> = Vec::new();
        for text in list.split(',').map(str::trim).filter(|text| !text.is_empty()) {
            let Some((key, value)) = text.split_once('=') else {
                return Err(TopologyError::NotAPair { shape, text: text.into() });
            };
            let key = key.trim();
            let Some(known) = known.iter().copied().find(|known| *known == key) else {
                let nearest = nearest(key, known.iter().copied());
                return Err(TopologyError::UnknownKey {
                    shape,
                    key: key.into(),
                    known: known.join(", "),
                    nearest,
                });
            };
            if pairs.iter().any(|(before, _)| *before == known) {
                let fault = "it is given twice".into();
                return Err(TopologyError::Parameter { shape, key: known, value: value.into(), fault });
            }
            pairs.push((known, value.trim()));
        }
        Ok(Given { shape, pairs })
    }

    fn text(&self, key: &'static str) -> Option<&'a str> {
        self.pairs.iter().find(|(known, _)| *known == key).map(|(_, value)| *value)
    }

    fn fault(&self, key: &'static str, fault: impl ToString) -> TopologyError {
        let value = self.text(key).unwrap_or_default().to_string();
        TopologyError::Parameter { shape: self.shape, key, value, fault: fault.to_string() }
    }

    fn count(&self, key: &'static str) -> Result<Option<u32>, TopologyError> {
        let Some(text) = self.text(key) else { return Ok(None) };
        let count = units::count(text).and_then(|count| u32::try_from(count).ok()).filter(|count| *count > 0);
        count.map(Some).ok_or_else(|| self.fault(key, "a whole number of at least 1"))
    }

    fn time(&self, key: &'static str) -> Result<Option<Time>, TopologyError> {
        let Some(text) = self.text(key) else { return Ok(None) };
        let time = units::time(text).map_err(|fault| self.fault(key, fault))?;
        if time > LONGEST {
            Err(self.fault(key, "it is longer than a day, check the unit"))
        } else {
            Ok(Some(time))
        }
    }

    fn rate(&self, key: &'static str) -> Result<Option<PerByte>, TopologyError> {
        self.text(key).map(|text| units::per_byte(text).map_err(|fault| self.fault(key, fault))).transpose()
    }

    /// The costs of each kind of link. By default they have the network's G, and the latencies of a longest route, of so
    /// many hops, add up to its L.
    fn kinds(&self, hops: u64, link: &Link) -> Result<[Costs; 3], TopologyError> {
        let gap_per_byte = self.rate("G")?.unwrap_or(link.gap_per_byte);
        let longest_wait = self.time("q")?.unwrap_or(Time::NEVER);
        let of_network = |level: u64| {
            let rest = if level == 0 { link.latency.ps() % hops / 2 } else { 0 };
            Time(link.latency.ps() / hops + rest)
        };
        let latency = self.time("L")?;
        let costs = |level| {
            let latency = latency.unwrap_or_else(|| of_network(level));
            Costs { gap_per_byte, latency, longest_wait }
        };
        Ok([costs(0), costs(1), costs(2)])
    }

    fn finish(&self, mut topology: Topology) -> Result<Topology, TopologyError> {
        if let Some(text) = self.text("segment") {
            topology.segment = text.parse::<SegmentRule>().map_err(|fault| self.fault("segment", fault))?;
        }
        if let Some(text) = self.text("seed") {
            topology.seed = text.parse().map_err(|_| self.fault("seed", "a whole number"))?;
        }
        Ok(topology)
    }
}

impl Topology {
    /// A topology from the parameters of its shape, for a network whose usual link is `link`. Reads no file.
    pub fn parse(text: &str, link: &Link) -> Result<Topology, TopologyError> {
        let text = text.trim();
        let (shape, list) = text.split_once(':').unwrap_or((text, ""));
        match shape.trim() {
            "star" => star(text, &Given::new("star", &STAR_KEYS, list)?, link),
            "fat-tree" => fat_tree(text, &Given::new("fat-tree", &TREE_KEYS, list)?, link),
            "torus" => torus(text, &Given::new("torus", &TORUS_KEYS, list)?, link, true),
            "mesh" => torus(text, &Given::new("mesh", &TORUS_KEYS, list)?, link, false),
            "dragonfly" => dragonfly(text, &Given::new("dragonfly", &DRAGONFLY_KEYS, list)?, link),
            other => Err(TopologyError::UnknownName { name: other.into(), nearest: nearest(other, SHAPES) }),
        }
    }

    /// Whether a text is that of a topology: the name of a shape, or of a file with a table of that name.
    pub fn is_named_by(text: &str) -> bool {
        let text = text.trim();
        let shape = text.split_once(':').map_or(text, |(shape, _)| shape);
        SHAPES.contains(&shape.trim())
            || text.ends_with(".toml") && is_file_of_topology(Path::new(&path_of(text)))
    }

    /// Like [`Topology::parse`], but a name that ends in `.toml` is the path of a topology file.
    pub fn load(text: &str, link: &Link) -> Result<Topology, TopologyError> {
        match text.trim() {
            path if path.ends_with(".toml") => Topology::read(Path::new(&path_of(path)), link),
            text => Topology::parse(text, link),
        }
    }
}

fn is_file_of_topology(path: &Path) -> bool {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().any(|line| {
        line.trim_start().starts_with("[topology]") || line.trim_start().starts_with("[[topology.")
    })
}

fn star(name: &str, given: &Given<'_>, link: &Link) -> Result<Topology, TopologyError> {
    let hosts = given.count("hosts")?.unwrap_or(STAR_HOSTS);
    let size = Size { hosts, levels: 1, hosts_per_leaf: hosts, leaves_per_pod: 1, up: [1, 1] };
    given.finish(Topology::from_tree(name, Tree::new(size, Routing::Hash, given.kinds(2, link)?)?))
}

fn fat_tree(name: &str, given: &Given<'_>, link: &Link) -> Result<Topology, TopologyError> {
    let levels = match given.count("levels")? {
        None => 2,
        Some(levels @ 2..=3) => levels as u8,
        Some(_) => return Err(given.fault("levels", "a fat tree has 2 or 3 (one switch is star:hosts=…)")),
    };
    let size = tree_size(given, levels)?;
    let routing = match given.text("routing") {
        None | Some("hash") => Routing::Hash,
        Some("pooled") => Routing::Pooled,
        Some(_) => return Err(given.fault("routing", "the known ones are hash and pooled")),
    };
    given.finish(Topology::from_tree(
        name,
        Tree::new(size, routing, given.kinds(u64::from(levels) * 2, link)?)?,
    ))
}

/// Half the ports of a leaf lead to hosts and, divided by the taper, as many up; half of a middle switch's lead up.
fn tree_size(given: &Given<'_>, levels: u8) -> Result<Size, TopologyError> {
    let radix = given.count("radix")?;
    let half = |key: &'static str| match (given.count(key)?, radix) {
        (Some(count), _) => Ok(count),
        (None, Some(radix)) if radix % 2 == 0 => Ok(radix / 2),
        (None, Some(_)) => Err(given.fault("radix", "half the ports lead up, so it must be even")),
        (None, None) => Err(given.fault(key, "give it, or radix=64, the ports of a switch")),
    };
    let hosts_per_leaf = half("hosts-per-leaf")?;
    let leaves_per_pod = if levels > 2 { half("leaves-per-pod")? } else { 1 };
    let up = match (given.count("up")?, given.text("taper")) {
        (Some(_), Some(_)) => {
            return Err(given.fault("taper", "it follows from hosts-per-leaf and up: give one of them"));
        }
        (Some(up), None) => up,
        (None, taper) => tapered(given, hosts_per_leaf, taper)?,
    };
    let middle_up = if levels > 2 { leaves_per_pod } else { 1 };
    let top = radix.unwrap_or(leaves_per_pod.saturating_mul(2).max(hosts_per_leaf.saturating_mul(2)));
    let most = u64::from(hosts_per_leaf) * u64::from(leaves_per_pod) * u64::from(top);
    let hosts = match given.count("hosts")? {
        None => u32::try_from(most).map_err(|_| given.fault("radix", "the tree has more than 2^32 hosts"))?,
        Some(hosts) if u64::from(hosts) > most => {
            let fault = format!("the tree has room for {most}: raise radix or levels");
            return Err(given.fault("hosts", fault));
        }
        Some(hosts) => hosts,
    };
    Ok(Size { hosts, levels, hosts_per_leaf, leaves_per_pod, up: [up, middle_up] })
}

/// The links up of a leaf with so many hosts.
fn tapered(given: &Given<'_>, hosts_per_leaf: u32, taper: Option<&str>) -> Result<u32, TopologyError> {
    let taper: f64 = match taper {
        None => return Ok(hosts_per_leaf),
        Some(text) => text.parse().map_err(|_| given.fault("taper", "a number such as 2"))?,
    };
    let up = f64::from(hosts_per_leaf) / taper;
    if !(up >= 1.0 && up.fract() == 0.0 && up <= f64::from(u32::MAX)) {
        let fault =
            format!("{hosts_per_leaf} hosts of a leaf divided by it must be a whole number of links up");
        return Err(given.fault("taper", fault));
    }
    Ok(up as u32)
}

fn torus(name: &str, given: &Given<'_>, link: &Link, wraps: bool) -> Result<Topology, TopologyError> {
    let Some(text) = given.text("size") else {
        return Err(given.fault("size", "give it, for example size=8x8x8"));
    };
    let sizes: Option<Vec<u32>> = text.split('x').map(|size| size.trim().parse().ok()).collect();
    let torus = sizes.and_then(|sizes| Torus::new(&sizes, wraps)).ok_or_else(|| {
        given.fault(
            "size",
            "one to five whole numbers, at least 1, for example 8x8x8, with fewer than 2^32 routers",
        )
    })?;
    routers(name, given, (torus.longest(), Wiring::Torus(torus)), 1, link)
}

/// By default the routers have twice as many links inside their group as hosts and as links to other groups, and there
/// are as many groups as these can link.
fn dragonfly(name: &str, given: &Given<'_>, link: &Link) -> Result<Topology, TopologyError> {
    let Some(routers_per_group) = given.count("routers")? else {
        return Err(given.fault("routers", "give the routers of a group, for example routers=16"));
    };
    let half = (routers_per_group / 2).max(1);
    let global = given.count("global-links")?.unwrap_or(half);
    let most = u64::from(routers_per_group) * u64::from(global) + 1;
    let groups = match given.count("groups")? {
        Some(groups) => groups,
        None => {
            u32::try_from(most).map_err(|_| given.fault("routers", "there would be more than 2^32 groups"))?
        }
    };
    let valiant = match given.text("routing") {
        None | Some("minimal") => false,
        Some("valiant") => true,
        Some(_) => return Err(given.fault("routing", "the known ones are minimal and valiant")),
    };
    let wiring = Dragonfly::new(groups, routers_per_group, global, valiant).ok_or_else(|| {
        let key = if given.text("groups").is_some() { "groups" } else { "routers" };
        given.fault(
            key,
            format!("the links of a group reach {most} groups at most: raise global-links or routers"),
        )
    })?;
    routers(name, given, (wiring.longest(), Wiring::Dragonfly(wiring)), half, link)
}

fn routers(
    name: &str,
    given: &Given<'_>,
    (longest, wiring): (u64, Wiring),
    usual_hosts: u32,
    link: &Link,
) -> Result<Topology, TopologyError> {
    let mut kinds = given.kinds(longest + 2, link)?;
    kinds[2].latency = given.time("global-L")?.unwrap_or(kinds[2].latency);
    kinds[2].gap_per_byte = given.rate("global-G")?.unwrap_or(kinds[2].gap_per_byte);
    let per_router = given.count("hosts-per-router")?.unwrap_or(usual_hosts);
    given.finish(Topology::from_routers(name, Routers::new(wiring, per_router, kinds)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Network;

    fn parse(text: &str) -> Result<Topology, String> {
        let link = Network::parse("L=1000ns,o=1us,g=0,G=40ps").unwrap().base;
        Topology::parse(text, &link).map_err(|fault| fault.to_string())
    }

    #[test]
    fn trees_have_the_size_of_their_switches() {
        let tree = parse("fat-tree:radix=64,levels=3,taper=2").unwrap();
        assert_eq!(tree.hosts(), 65_536);
        // Hosts, 16 links up of 2,048 leaves, and 32 of each of the 16 middle switches of 64 pods.
        assert_eq!(tree.ports(), 2 * (65_536 + 2_048 * 16 + 64 * 16 * 32));
        assert_eq!(parse("fat-tree:radix=8").unwrap().hosts(), 32);
        assert_eq!(parse("fat-tree:radix=8,hosts=20,routing=pooled").unwrap().ports(), 2 * (20 + 5));
        assert_eq!(parse("fat-tree:hosts-per-leaf=64,up=16,hosts=8192").unwrap().hosts(), 8192);
        assert_eq!(parse("star:hosts=5").unwrap().ports(), 10);
    }

    #[test]
    fn routers_have_the_hosts_and_links_of_their_shape() {
        // Rings of 8 have as many links as routers; lines of 8 have one less; rings of 2 are one link.
        assert_eq!(parse("torus:size=8x8x8").unwrap().ports(), 2 * 512 + 2 * 3 * 512);
        assert_eq!(parse("mesh:size=8x8x8").unwrap().ports(), 2 * 512 + 2 * 3 * 7 * 64);
        assert_eq!(parse("torus:size=2x3x1,hosts-per-router=2").unwrap().ports(), 2 * 12 + 2 * 3 + 2 * 6);
        // 9 groups of 4 routers with 2 hosts and 2 links to other groups each.
        let dragonfly = parse("dragonfly:routers=4").unwrap();
        assert_eq!((dragonfly.hosts(), dragonfly.ports()), (72, 2 * 72 + 36 * 3 + 36 * 2));
        // 8 links of each of 3 groups: 4 to each other group.
        assert_eq!(
            parse("dragonfly:routers=4,groups=3,hosts-per-router=1").unwrap().ports(),
            2 * 12 + 36 + 24
        );
    }

    #[test]
    fn the_longest_route_has_the_latency_of_the_network() {
        for (text, pair, latency) in [
            ("star:hosts=4", (0, 3), 1_000_000),
            ("fat-tree:radix=8,levels=3", (0, 31), 1_000_000),
            ("fat-tree:radix=8,levels=3", (0, 127), 1_000_000),
            ("fat-tree:radix=8,levels=3", (0, 4), 2 * (166_668 + 166_666)),
            ("fat-tree:radix=8,levels=3,L=10ns", (0, 127), 60_000),
            ("torus:size=4x5", (0, 14), 1_000_000),
            ("mesh:size=4x4", (0, 15), 1_000_000),
            ("dragonfly:routers=4,L=10ns,global-L=100ns", (0, 71), 140_000),
        ] {
            let topology = parse(text).unwrap();
            let expected = if pair.1 == 31 { topology.latency(0, 31) } else { Time(latency) };
            assert_eq!(topology.latency(pair.0, pair.1), expected, "{text}");
        }
    }

    #[test]
    fn errors_name_the_parameter() {
        for (text, part) in [
            ("fattree:radix=4", "did you mean `fat-tree`"),
            ("fat-tree:radx=4", "did you mean `radix`"),
            ("fat-tree:radix", "`radix` is not KEY=VALUE"),
            ("fat-tree:radix=7", "radix=7: half the ports lead up"),
            ("fat-tree:", "hosts-per-leaf="),
            ("fat-tree:radix=64,taper=3", "taper=3: 32 hosts of a leaf"),
            ("fat-tree:radix=64,taper=0", "taper=0"),
            ("fat-tree:radix=4,levels=4", "levels=4"),
            ("fat-tree:radix=4,hosts=1000", "room for 8"),
            ("fat-tree:radix=4,radix=4", "given twice"),
            ("star:hosts=0", "hosts=0"),
            ("star:hosts=3e9", "more than"),
            ("fat-tree:radix=60000,levels=3", "more than 2^32 hosts"),
            ("fat-tree:hosts-per-leaf=2,up=4e9,hosts=4", "more than"),
            ("torus:", "size="),
            ("torus:size=8x8xa", "size=8x8xa: one to five"),
            ("mesh:size=1x2x3x4x5x6", "one to five"),
            ("mesh:size=70000x70000", "2^32"),
            ("torus:size=70000", "more than 250 links"),
            ("torus:size=40000x4", "more than 250 links"),
            ("dragonfly:routers=4,groups=10", "groups=10: the links of a group reach 9"),
            ("dragonfly:routers=100000", "more than"),
            ("dragonfly:routers=4,routing=ugal", "minimal and valiant"),
            ("star:G=0GB/s", "G=0GB/s"),
            ("star:L=-1ns", "negative"),
        ] {
            let fault = parse(text).unwrap_err();
            assert!(fault.contains(part), "{text}: {fault}");
        }
    }
}
