//! Which host each process runs on.

use super::FabricError;
use std::collections::HashMap;
use std::str::FromStr;
use straggler_model::Rank;
use straggler_model::philox::Stream;
use straggler_model::spelling::nearest;
use straggler_model::switches::host_list;
use straggler_model::topology::{Host, Shape, Topology};

/// Where the processes of a run are.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Placement {
    /// Rank r is on host r modulo the number of hosts.
    #[default]
    Cyclic,
    /// The host of each rank.
    Hosts(Vec<Host>),
}

/// Where to put processes, as written: `cyclic`, `block`, `random`, `random:7`, or a list of hosts such as
/// `hosts:a,b` or `n[001-512]`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Places {
    #[default]
    Cyclic,
    /// Neighbouring ranks share a host if there are more ranks than hosts.
    Block,
    /// Like [`Places::Cyclic`], with the hosts in a random order.
    Random(u64),
    /// Rank r is on the r-th of these hosts. If they are fewer than ranks, neighbouring ranks share one, as if Slurm
    /// distributed them in blocks.
    Hosts(Vec<String>),
}

/// A source of random numbers that nothing else uses.
const SOURCE: u32 = 0x70_6c61;

impl FromStr for Places {
    type Err = String;

    fn from_str(text: &str) -> Result<Places, String> {
        let text = text.trim();
        match text.split_once(':').unwrap_or((text, "")) {
            ("cyclic", "") => Ok(Places::Cyclic),
            ("block", "") => Ok(Places::Block),
            ("random", "") => Ok(Places::Random(0)),
            ("random", seed) => {
                let wrong =
                    |_| format!("the seed `{seed}` is not a whole number: write for example random:7");
                seed.trim().parse().map(Places::Random).map_err(wrong)
            }
            ("hosts", list) => Places::list(list),
            _ if text.contains([',', '[']) => Places::list(text),
            _ => Err(format!(
                "`{text}` is unknown: write block, cyclic, random, random:SEED, hosts:FILE, hosts:LIST or a list such \
                 as n[001-512]{}",
                straggler_model::spelling::hint(nearest(text, ["block", "cyclic", "random", "hosts:"]))
            )),
        }
    }
}

impl Places {
    fn list(list: &str) -> Result<Places, String> {
        host_list(list).map(Places::Hosts).map_err(|what| format!("`{list}` is not a list of hosts: {what}"))
    }

    /// The hosts of a file: one, or a list, in each line.
    pub fn from_lines(text: &str) -> Result<Places, String> {
        let mut hosts = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let list = line.split('#').next().unwrap_or_default().trim();
            if !list.is_empty() {
                hosts.extend(host_list(list).map_err(|what| format!("line {number}: `{list}`: {what}"))?);
            }
        }
        if hosts.is_empty() {
            Err("it names no host: write one in each line".into())
        } else {
            Ok(Places::Hosts(hosts))
        }
    }

    /// Finds the host of each process.
    pub fn on(&self, topology: &Topology, processes: u32) -> Result<Placement, FabricError> {
        let hosts = topology.hosts();
        match self {
            Places::Cyclic => Ok(Placement::Cyclic),
            Places::Block if processes <= hosts => Ok(Placement::Cyclic),
            Places::Block => {
                let each = processes.div_ceil(hosts.max(1));
                Ok(Placement::Hosts((0..processes).map(|rank| rank / each).collect()))
            }
            Places::Random(seed) => {
                let order = shuffled(hosts, *seed);
                let host =
                    |rank: Rank| order.get((rank % hosts.max(1)) as usize).copied().unwrap_or_default();
                Ok(Placement::Hosts((0..processes).map(host).collect()))
            }
            Places::Hosts(names) => by_name(topology, names, processes),
        }
    }
}

/// All hosts in a random order.
fn shuffled(hosts: u32, seed: u64) -> Vec<Host> {
    let mut order: Vec<Host> = (0..hosts).collect();
    let mut random = Stream::new(seed, 0, 0, SOURCE);
    for place in (1..order.len()).rev() {
        order.swap(place, random.below(place as u64 + 1) as usize);
    }
    order
}

fn by_name(topology: &Topology, names: &[String], processes: u32) -> Result<Placement, FabricError> {
    if names.is_empty() {
        return Err(FabricError::TooFew { placed: 0, processes });
    }
    // Only the names of graphs have to be searched.
    let searched: HashMap<&str, Host> = match &topology.shape {
        Shape::Graph(graph) => (0..graph.hosts()).map(|host| (graph.name(host), host)).collect(),
        Shape::Tree(_) | Shape::Routers(_) => HashMap::new(),
    };
    let find = |name: &str| searched.get(name).copied().or_else(|| topology.find_host(name));
    let each = (processes as usize).div_ceil(names.len().max(1)).max(1);
    let place = |rank: Rank| {
        let name = &names[rank as usize / each];
        find(name).ok_or_else(|| unknown(topology, rank, name))
    };
    (0..processes).map(place).collect::<Result<_, _>>().map(Placement::Hosts)
}

/// More names are not searched for a similar one.
const FEW: u32 = 10_000;

fn unknown(topology: &Topology, rank: Rank, name: &str) -> FabricError {
    let known: Vec<String> = (0..topology.hosts().min(FEW)).map(|host| topology.host_name(host)).collect();
    let nearest = nearest(name, known.iter().map(String::as_str)).map(Into::into);
    let (first, last) = (topology.host_name(0), topology.host_name(topology.hosts().saturating_sub(1)));
    FabricError::UnknownHost { rank, name: name.into(), first, last, nearest }
}

#[cfg(test)]
mod tests {
    use super::*;
    use straggler_model::Network;

    fn star(hosts: u32) -> Topology {
        let link = Network::parse("chic").unwrap().base;
        Topology::parse(&format!("star:hosts={hosts}"), &link).unwrap()
    }

    fn placed(text: &str, hosts: u32, processes: u32) -> Result<Vec<Host>, String> {
        let topology = star(hosts);
        match text.parse::<Places>()?.on(&topology, processes).map_err(|fault| fault.to_string())? {
            Placement::Cyclic => Ok((0..processes).map(|rank| rank % hosts).collect()),
            Placement::Hosts(list) => Ok(list),
        }
    }

    #[test]
    fn ranks_are_placed() {
        assert_eq!(placed("cyclic", 3, 7).unwrap(), [0, 1, 2, 0, 1, 2, 0]);
        assert_eq!(placed("block", 3, 7).unwrap(), [0, 0, 0, 1, 1, 1, 2]);
        assert_eq!(placed("block", 8, 3).unwrap(), [0, 1, 2]);
        assert_eq!(placed("hosts:h2,h0", 3, 2).unwrap(), [2, 0]);
        assert_eq!(placed("h[5-7]", 8, 6).unwrap(), [5, 5, 6, 6, 7, 7]);
        assert_eq!(placed("hosts:h1", 3, 3).unwrap(), [1, 1, 1]);
        assert_eq!(placed("hosts:h2,h1,h0", 3, 2).unwrap(), [2, 1]);
    }

    #[test]
    fn random_places_are_a_permutation_of_the_hosts() {
        let (one, other) = (placed("random", 100, 100).unwrap(), placed("random:1", 100, 100).unwrap());
        for order in [&one, &other] {
            let mut sorted = order.clone();
            sorted.sort();
            assert_eq!(sorted, (0..100).collect::<Vec<_>>());
        }
        assert_ne!(one, other);
        assert_eq!(one, placed("random:0", 100, 100).unwrap());
        assert_eq!(placed("random", 3, 6).unwrap()[..3], placed("random", 3, 6).unwrap()[3..]);
    }

    #[test]
    fn errors_name_rank_and_host() {
        let fault = placed("h[0-1],h9", 4, 3).unwrap_err();
        assert!(fault.contains("rank 2 is placed on host h9") && fault.contains("h0 to h3"), "{fault}");
        assert!(placed("hosts:hh3,h1", 4, 2).unwrap_err().contains("did you mean `h3`"));
        for (text, part) in [
            ("cycli", "did you mean `cyclic`"),
            ("random:x", "seed `x`"),
            ("hosts:", "empty name"),
            ("n[1-2", "brackets do not match"),
            ("", "is unknown"),
        ] {
            let fault = placed(text, 4, 2).unwrap_err();
            assert!(fault.contains(part), "{text}: {fault}");
        }
    }

    #[test]
    fn files_have_hosts_in_lines() {
        let hosts = |names: &[&str]| Places::Hosts(names.iter().map(|name| name.to_string()).collect());
        assert_eq!(Places::from_lines("# mine\nh1\n\nh[2-3] # more\n").unwrap(), hosts(&["h1", "h2", "h3"]));
        assert!(Places::from_lines("h1\nh[\n").unwrap_err().starts_with("line 2: `h[`"));
        assert!(Places::from_lines("# none\n").is_err());
    }
}
