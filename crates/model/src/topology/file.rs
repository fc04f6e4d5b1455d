//! The topology file: TOML.
//!
//! ```toml
//! [topology]
//! routing = "minimal"        # fewest links; where several routes tie, the hash decides; or "pooled"
//! segment = "auto"           # or "none", or a size
//! hosts = ["h0", "h1", "h2", "h3"]
//!
//! [[topology.link]]          # both directions, each a port of its own
//! ends = ["h0", "s0"]
//! L = "300ns"
//! G = "40ps"
//!
//! [[topology.change]]        # a degraded or failed link
//! ends = ["h0", "s0"]
//! bandwidth = 0.25           # of its own; or L, G, failed = true
//! ```
//! Instead of hosts and links, `shape = "fat-tree:radix=64,levels=3"` has a star or a tree.

use super::error::TopologyError;
use super::{Change, Costs, Edge, Graph, Topology};
use crate::network::{Link, PerByte};
use crate::spelling::nearest;
use crate::time::Time;
use crate::{toml_file, units};
use serde::Deserialize;
use std::collections::HashMap;
use std::path::Path;

const VERSION: u32 = 1;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    version: Option<u32>,
    topology: Section,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Section {
    name: Option<String>,
    shape: Option<String>,
    routing: Option<String>,
    segment: Option<Value>,
    seed: u64,
    hosts: Vec<String>,
    link: Vec<FileLink>,
    change: Vec<FileChange>,
}

/// A text with a unit, or an integer where that needs none.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Value {
    Text(String),
    Number(i64),
}

impl Value {
    fn text(&self) -> String {
        match self {
            Value::Text(text) => text.clone(),
            Value::Number(number) => number.to_string(),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileLink {
    ends: [String; 2],
    #[serde(rename = "L")]
    latency: Value,
    #[serde(rename = "G")]
    gap_per_byte: Value,
    /// The longest wait of a message of one segment.
    #[serde(rename = "q")]
    longest_wait: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileChange {
    ends: [String; 2],
    #[serde(rename = "L")]
    latency: Option<Value>,
    #[serde(rename = "G")]
    gap_per_byte: Option<Value>,
    bandwidth: Option<f64>,
    #[serde(default)]
    failed: bool,
}

/// A link of the file, for its errors.
struct Place<'a> {
    number: usize,
    ends: &'a [String; 2],
}

impl Place<'_> {
    fn fault(&self, key: &'static str, value: impl Into<String>, fix: &'static str) -> TopologyError {
        let (number, ends, value) = (self.number, self.ends.clone(), value.into());
        TopologyError::Link { number, ends, key, value, fix }
    }

    fn unit(&self, key: &'static str) -> impl Fn(units::UnitError) -> TopologyError {
        let (number, ends) = (self.number, self.ends.clone());
        move |fault| TopologyError::LinkUnit { number, ends: ends.clone(), key, fault: Box::new(fault) }
    }

    fn time(&self, key: &'static str, value: &Value) -> Result<Time, TopologyError> {
        let time = units::time(&value.text()).map_err(self.unit(key))?;
        if time > super::parse::LONGEST {
            return Err(self.fault(key, time.to_string(), "it is longer than a day, check the unit"));
        }
        Ok(time)
    }

    fn rate(&self, value: &Value) -> Result<PerByte, TopologyError> {
        units::per_byte(&value.text()).map_err(self.unit("G"))
    }
}

impl Topology {
    /// Parses the text of a topology file, for a network whose usual link is `link`.
    pub fn from_toml(text: &str, link: &Link) -> Result<Topology, TopologyError> {
        let file: File = toml_file::read(text)?;
        match file.version {
            None | Some(VERSION) => file.topology.build(link),
            Some(found) => Err(TopologyError::Version { found }),
        }
    }

    /// Reads a topology file.
    pub fn read(path: &Path, link: &Link) -> Result<Topology, TopologyError> {
        let text = std::fs::read_to_string(path)
            .map_err(|fault| TopologyError::Unreadable { path: path.into(), fault })?;
        let topology = Topology::from_toml(&text, link).map_err(|fault| fault.in_file(path))?;
        Ok(Topology { name: path.display().to_string(), ..topology })
    }
}

impl Section {
    fn build(&self, link: &Link) -> Result<Topology, TopologyError> {
        let mut topology = match &self.shape {
            None => Topology::from_graph("topology", self.graph()?),
            Some(shape) if self.hosts.is_empty() && self.link.is_empty() && self.routing.is_none() => {
                Topology::parse(shape, link)?
            }
            Some(shape) => {
                let fault = "hosts, links and routing follow from the shape: leave them out".into();
                return Err(TopologyError::Key { key: "shape", value: shape.clone(), fault });
            }
        };
        if let Some(name) = &self.name {
            topology.name = name.clone();
        }
        if let Some(segment) = &self.segment {
            let value = segment.text();
            let wrong = |fault| TopologyError::Key { key: "segment", value: value.clone(), fault };
            topology.segment = value.parse().map_err(wrong)?;
        }
        topology.seed = self.seed;
        for (number, change) in (1..).zip(&self.change) {
            let [one, other] = &change.ends;
            topology.change([one, other], &change.change(number)?)?;
        }
        Ok(topology)
    }

    fn graph(&self) -> Result<Graph, TopologyError> {
        if self.hosts.is_empty() {
            return Err(TopologyError::NoHosts);
        }
        let mut numbers: HashMap<&str, u32> = HashMap::new();
        let mut names: Vec<String> = Vec::new();
        for host in &self.hosts {
            if numbers.insert(host, names.len() as u32).is_some() {
                return Err(TopologyError::Repeated { host: host.clone() });
            }
            names.push(host.clone());
        }
        let mut edges = Vec::with_capacity(self.link.len());
        for (number, link) in (1..).zip(&self.link) {
            let place = Place { number, ends: &link.ends };
            let costs = link.costs(&place)?;
            if link.ends[0] == link.ends[1] {
                return Err(TopologyError::Loop { number, ends: link.ends.clone() });
            }
            let ends = [0, 1].map(|end| {
                let name = link.ends[end].as_str();
                *numbers.entry(name).or_insert_with(|| {
                    names.push(name.into());
                    names.len() as u32 - 1
                })
            });
            edges.push(Edge { ends, costs });
        }
        self.check_ends(&names, &edges)?;
        Graph::new(names, self.hosts.len() as u32, &edges, self.pooled()?)
    }

    /// A switch with one link whose name is nearly that of a host is a misspelt host.
    fn check_ends(&self, names: &[String], edges: &[Edge]) -> Result<(), TopologyError> {
        let mut links = vec![0; names.len()];
        edges.iter().flat_map(|edge| edge.ends).for_each(|end| links[end as usize] += 1);
        let unlinked: Vec<&str> = self
            .hosts
            .iter()
            .zip(&links)
            .filter(|(_, links)| **links == 0)
            .map(|(host, _)| host.as_str())
            .collect();
        let alone = (self.hosts.len()..names.len()).find(|&end| links[end] == 1 && !unlinked.is_empty());
        let Some(end) = alone else { return Ok(()) };
        let with_it = edges.iter().position(|edge| edge.ends.contains(&(end as u32)));
        let (end, number) = (names[end].clone(), with_it.unwrap_or(0) + 1);
        let nearest = nearest(&end, unlinked).map(Into::into);
        Err(TopologyError::UnknownEnd { number, end, nearest })
    }

    fn pooled(&self) -> Result<bool, TopologyError> {
        match self.routing.as_deref() {
            None | Some("minimal" | "hash") => Ok(false),
            Some("pooled") => Ok(true),
            Some(other) => Err(TopologyError::Key {
                key: "routing",
                value: other.into(),
                fault: "the known ones are minimal and pooled".into(),
            }),
        }
    }
}

impl FileLink {
    fn costs(&self, place: &Place<'_>) -> Result<Costs, TopologyError> {
        let latency = place.time("L", &self.latency)?;
        let gap_per_byte = place.rate(&self.gap_per_byte)?;
        let longest_wait = self.longest_wait.as_ref().map(|value| place.time("q", value)).transpose()?;
        Ok(Costs { gap_per_byte, latency, longest_wait: longest_wait.unwrap_or(Time::NEVER) })
    }
}

impl FileChange {
    fn change(&self, number: usize) -> Result<Change, TopologyError> {
        let place = Place { number, ends: &self.ends };
        if let Some(share) = self.bandwidth.filter(|share| !(*share > 0.0 && *share <= 1.0)) {
            let fix = "it is the share that is left, above 0 and at most 1; for none, write failed = true";
            return Err(place.fault("bandwidth", share.to_string(), fix));
        }
        Ok(Change {
            gap_per_byte: self.gap_per_byte.as_ref().map(|value| place.rate(value)).transpose()?,
            latency: self.latency.as_ref().map(|value| place.time("L", value)).transpose()?,
            bandwidth: self.bandwidth,
            failed: self.failed,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Network;

    const STAR: &str = r#"
[topology]
routing = "minimal"
segment = "auto"
hosts = ["h0", "h1", "h2", "h3"]

[[topology.link]]
ends = ["h0", "s0"]
L = "300ns"
G = "40ps"

[[topology.link]]
ends = ["h1", "s0"]
L = "300ns"
G = "40ps"

[[topology.link]]
ends = ["h2", "s0"]
L = "300ns"
G = "40ps"

[[topology.link]]
ends = ["h3", "s0"]
L = "300ns"
G = "25GB/s"
"#;

    fn link() -> Link {
        Network::parse("chic").unwrap().base
    }

    fn fault(text: &str) -> String {
        Topology::from_toml(text, &link()).unwrap_err().to_string()
    }

    #[test]
    fn the_contract() {
        let topology = Topology::from_toml(STAR, &link()).unwrap();
        assert_eq!((topology.hosts(), topology.ports()), (4, 8));
        let route: Vec<_> = topology.route(1, 3).into_iter().map(|port| topology.ends(port)).collect();
        let named = |from: &str, to: &str| (from.to_string(), to.to_string());
        assert_eq!(route, [named("h1", "s0"), named("s0", "h3")]);
        assert_eq!(topology.latency(1, 3), Time::from_ns(600));
        assert_eq!(topology.least_latency(), Time::from_ns(600));
        assert_eq!(topology.costs(topology.last(0, 3)).gap_per_byte, PerByte::from_ps(40));
        assert_eq!(topology.find_host("h2"), Some(2));
    }

    #[test]
    fn changed_links() {
        let slow = format!("{STAR}\n[[topology.change]]\nends = [\"s0\", \"h2\"]\nbandwidth = 0.25\n");
        let topology = Topology::from_toml(&slow, &link()).unwrap();
        assert_eq!(topology.costs(topology.first(2, 0)).gap_per_byte, PerByte::from_ps(160));
        assert_eq!(topology.costs(topology.last(0, 2)).gap_per_byte, PerByte::from_ps(160));
        let failed = slow.replace("bandwidth = 0.25", "failed = true");
        assert!(fault(&failed).contains("host h2 has no link"), "{}", fault(&failed));
        let nowhere = slow.replace("[\"s0\", \"h2\"]", "[\"s0\", \"s1\"]");
        assert!(fault(&nowhere).contains("there is no link between s0 and s1"));
        let none = slow.replace("0.25", "0.0");
        assert!(fault(&none).contains("link 1 from s0 to h2: bandwidth is 0"), "{}", fault(&none));
    }

    #[test]
    fn a_generated_shape_in_a_file() {
        let text = "[topology]\nshape = \"fat-tree:radix=4,levels=2\"\nsegment = \"none\"\n\
                    [[topology.change]]\nends = [\"leaf1\", \"spine0\"]\nfailed = true\n";
        let topology = Topology::from_toml(text, &link()).unwrap();
        assert_eq!((topology.hosts(), topology.segment), (8, super::super::SegmentRule::Whole));
        let over: Vec<_> = topology.route(0, 2).into_iter().map(|port| topology.ends(port).1).collect();
        assert_eq!(over, ["leaf0", "spine1", "leaf1", "h2"]);
        assert!(fault(&text.replace("segment", "hosts = [\"a\"]\nsegment")).contains("leave them out"));
    }

    #[test]
    fn errors_name_the_element() {
        let with = |from: &str, to: &str| fault(&STAR.replacen(from, to, 1));
        assert!(with("segment", "segmnet").contains("did you mean `segment`"));
        let unknown = with("ends = [\"h3\"", "ends = [\"hh3\"");
        assert!(unknown.contains("link 4 ends at hh3") && unknown.contains("did you mean `h3`"), "{unknown}");
        let zero = with("25GB/s", "0GB/s");
        assert!(zero.contains("link 4 from h3 to s0: G") && zero.contains("zero"), "{zero}");
        let negative = with("300ns", "-300ns");
        assert!(negative.contains("link 1 from h0 to s0: L") && negative.contains("negative"), "{negative}");
        assert!(with("\"h0\", \"h1\"", "\"h0\", \"h0\"").contains("host h0 is listed twice"));
        assert!(with("\"h3\"]", "\"h3\", \"h4\"]").contains("host h4 has no link"));
        assert!(with("[\"h0\", \"s0\"]", "[\"s0\", \"s0\"]").contains("both ends are the same"));
        assert!(with("minimal", "shortest").contains("routing = \"shortest\""));
        assert!(with("auto", "lots").contains("segment = \"lots\""));
        assert!(with("300ns", "90000s").contains("longer than a day"));
    }

    proptest::proptest! {
        #[test]
        fn no_text_breaks_it(text in "(?s).*") {
            let _ = Topology::from_toml(&text, &link());
            let _ = Topology::parse(&text, &link());
        }
    }
}
