//! Which switch each node is connected to, according to Slurm's topology.conf:
//!
//! ```text
//! SwitchName=leaf1 Nodes=n[001-016]
//! SwitchName=leaf2 Nodes=n[017-032]
//! SwitchName=spine Switches=leaf[1-2]
//! ```
//! A node's position is the path from the topmost switch: `spine/leaf1`.

mod hosts;

pub use hosts::expanded as host_list;

use std::collections::BTreeMap;

/// Why a text is not a topology.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TopologyError {
    #[error("line {line}: `{list}` is not a list of hosts: {what}")]
    Hosts { line: usize, list: String, what: &'static str },
    #[error(
        "line {line}: cannot parse `{word}`: write SwitchName=NAME with Nodes=LIST or Switches=LIST, as in Slurm's \
         topology.conf"
    )]
    Word { line: usize, word: String },
    #[error("line {line}: the name of the switch is missing: write SwitchName=NAME first")]
    NoName { line: usize },
    #[error("line {line}: the switch `{name}` is defined twice: give each switch one line")]
    Twice { line: usize, name: String },
    #[error("line {line}: {name} is below `{first}` and below `{second}`: put it below one of them")]
    TwoParents { line: usize, name: String, first: String, second: String },
    #[error("the switches above `{name}` form a cycle: one of them must be the root")]
    Circle { name: String },
    #[error("no switch has nodes: write lines like SwitchName=leaf1 Nodes=n[001-016]")]
    Empty,
}

/// The switch above each node and each switch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Switches {
    of_node: BTreeMap<String, String>,
    above: BTreeMap<String, String>,
}

/// Separates the switches of a path.
const SEPARATOR: &str = "/";

impl Switches {
    pub fn parse(text: &str) -> Result<Switches, TopologyError> {
        let (mut found, mut known) = (Switches::default(), Vec::new());
        for (line, content) in whole_lines(text) {
            found.add(line, &content, &mut known)?;
        }
        if found.of_node.is_empty() {
            return Err(TopologyError::Empty);
        }
        for switch in found.of_node.values() {
            found.path(switch).ok_or_else(|| TopologyError::Circle { name: switch.clone() })?;
        }
        Ok(found)
    }

    fn add(&mut self, line: usize, content: &str, known: &mut Vec<String>) -> Result<(), TopologyError> {
        let mut name: Option<String> = None;
        for word in content.split_whitespace() {
            let (key, value) =
                word.split_once('=').ok_or_else(|| TopologyError::Word { line, word: word.into() })?;
            let below = match key.to_ascii_lowercase().as_str() {
                "switchname" | "blockname" => {
                    if known.iter().any(|other| other == value) {
                        return Err(TopologyError::Twice { line, name: value.into() });
                    }
                    known.push(value.into());
                    name = Some(value.into());
                    continue;
                }
                "nodes" => &mut self.of_node,
                "switches" => &mut self.above,
                // Link speed is not used.
                "linkspeed" => continue,
                _ => return Err(TopologyError::Word { line, word: word.into() }),
            };
            let switch = name.as_ref().ok_or(TopologyError::NoName { line })?;
            let wrong = |what| TopologyError::Hosts { line, list: value.into(), what };
            for host in hosts::expanded(value).map_err(wrong)? {
                if let Some(first) =
                    below.insert(host.clone(), switch.clone()).filter(|first| first != switch)
                {
                    let second = switch.clone();
                    return Err(TopologyError::TwoParents { line, name: host, first, second });
                }
            }
        }
        if name.is_none() { Err(TopologyError::NoName { line }) } else { Ok(()) }
    }

    /// The path from the topmost switch down to this one; `None` if there is a cycle.
    fn path(&self, switch: &str) -> Option<String> {
        let mut path = vec![switch];
        while let Some(above) = self.above.get(path[path.len() - 1]) {
            if path.len() > self.above.len() {
                return None;
            }
            path.push(above);
        }
        path.reverse();
        Some(path.join(SEPARATOR))
    }

    /// The path to the switch of a node, which may be given with its domain.
    pub fn get(&self, host: &str) -> Option<String> {
        let short = host.split('.').next().unwrap_or(host);
        let switch = self.of_node.get(host).or_else(|| self.of_node.get(short))?;
        self.path(switch)
    }
}

/// Lines without comments, continuation lines joined, each with the number of its first line.
fn whole_lines(text: &str) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    let mut continues = false;
    for (number, line) in (1..).zip(text.lines()) {
        let plain = line.split('#').next().unwrap_or("").trim_end();
        let (content, more) = match plain.strip_suffix('\\') {
            Some(content) => (content, true),
            None => (plain, false),
        };
        match lines.last_mut().filter(|_| continues) {
            Some((_, before)) => before.push_str(content),
            None => lines.push((number, content.into())),
        }
        continues = more;
    }
    lines.retain(|(_, content)| !content.trim().is_empty());
    lines
}

/// The path of switches in the topology address that Slurm gives each process: `spine.leaf1.n001` with the
/// pattern `switch.switch.node`. `None` if it has no switches.
pub fn of_slurm(address: &str, pattern: &str) -> Option<String> {
    let kinds: Vec<&str> = pattern.split('.').collect();
    // The node comes last, and its name may contain dots.
    let names: Vec<&str> = address.splitn(kinds.len(), '.').collect();
    if names.len() != kinds.len() {
        return None;
    }
    let is_switch = |kind: &str| matches!(kind, "switch" | "block");
    let switches = names.iter().zip(&kinds).filter(|(name, kind)| is_switch(kind) && !name.is_empty());
    let path: Vec<&str> = switches.map(|(name, _)| *name).collect();
    (!path.is_empty()).then(|| path.join(SEPARATOR))
}

/// How many levels up two paths meet: 0 for the same switch, `None` if they never do.
pub fn levels_apart(one: &str, other: &str) -> Option<usize> {
    let [one, other] = [one, other].map(|path| path.split(SEPARATOR).collect::<Vec<_>>());
    let common = one.iter().zip(&other).take_while(|(a, b)| a == b).count();
    (common > 0).then(|| one.len().max(other.len()) - common)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "# two leaves\nSwitchName=leaf1 Nodes=n[001-002] LinkSpeed=100\n\
                        switchname=leaf2 \\\n  nodes=n[003-004]\nSwitchName=spine Switches=leaf[1-2]\n";

    #[test]
    fn a_tree_is_read() {
        let switches = Switches::parse(TREE).unwrap();
        assert_eq!(switches.get("n002").as_deref(), Some("spine/leaf1"));
        assert_eq!(switches.get("n003.cluster.example").as_deref(), Some("spine/leaf2"));
        assert_eq!(switches.get("n005"), None);
        assert_eq!(levels_apart("spine/leaf1", "spine/leaf2"), Some(1));
        assert_eq!(levels_apart("a/b/c", "a/d/e"), Some(2));
        assert_eq!((levels_apart("a", "a"), levels_apart("a", "b")), (Some(0), None));
    }

    #[test]
    fn what_is_wrong_and_where() {
        for (text, says) in [
            ("SwitchName=a Nodes=n1\n\nRack=b", "line 3: cannot parse `Rack=b`"),
            ("SwitchName=a nodes", "line 1: cannot parse `nodes`"),
            ("Nodes=n1", "line 1: the name of the switch is missing"),
            ("LinkSpeed=1", "line 1: the name of the switch is missing"),
            ("SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2", "line 2: the switch `a` is defined twice"),
            ("SwitchName=a Nodes=n1\nSwitchName=b Nodes=n[1-2]", "line 2: n1 is below `a` and below `b`"),
            ("SwitchName=a Nodes=n1 Switches=b\nSwitchName=b Switches=a", "form a cycle"),
            ("SwitchName=a Nodes=n[1", "line 1: `n[1` is not a list of hosts"),
            ("# nothing", "no switch has nodes"),
            ("", "no switch has nodes"),
        ] {
            let fault = Switches::parse(text).unwrap_err().to_string();
            assert!(fault.contains(says), "{text}: {fault}");
        }
    }

    #[test]
    fn what_slurm_tells_processes() {
        let path = |address, pattern| of_slurm(address, pattern);
        assert_eq!(path("spine.leaf1.n001", "switch.switch.node").as_deref(), Some("spine/leaf1"));
        assert_eq!(path("leaf1.n001.example", "switch.node").as_deref(), Some("leaf1"));
        assert_eq!(path("n001", "node"), None);
        assert_eq!(path(".n001", "switch.node"), None);
        assert_eq!(path("", ""), None);
        assert_eq!(path("n001", "switch.node"), None);
    }
}
