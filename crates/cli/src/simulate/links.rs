//! Links that messages share: the topology of a simulation, and what the messages did to its links.

use crate::kernel::prelude::*;
use straggler_model::{Network, Topology};
use straggler_sim::{Fabric, Placement, ports::LinkLoads};

/// The most loads that are kept over all replicas, of 32 bytes each.
const MOST_KEPT: u64 = 1 << 24;
/// The most links in an answer; of more, the busiest are told.
const MOST_TOLD: usize = 1 << 16;

/// A topology with the processes of a run on its hosts.
pub fn load(text: &str, network: &Network, processes: u32, replicas: usize) -> Outcome<Fabric> {
    let topology = Topology::load(text, &network.base)?;
    let mut fabric = Fabric::new(topology, Placement::Cyclic, processes)?;
    // One run keeps its loads as long as its ports fit into memory, which is checked later.
    let loads = u64::from(fabric.topology.ports()).saturating_mul(replicas as u64);
    fabric.measured = replicas == 1 || loads <= MOST_KEPT;
    Ok(fabric)
}

/// What messages did to one direction of a link.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LinkLoad {
    pub from: String,
    pub to: String,
    pub messages: u64,
    pub bytes: u64,
    pub busy_ps: u64,
    pub waited_ps: u64,
}

/// The loads of all links, by number of the port; the busiest if there are very many.
pub fn loads(fabric: &Fabric, loads: &LinkLoads) -> Vec<LinkLoad> {
    let ports = loads.iter().flat_map(|(first, loads)| (*first..).zip(loads));
    let mut ports: Vec<_> = ports.collect();
    ports.sort_unstable_by_key(|(port, load)| (std::cmp::Reverse(load.busy), *port));
    ports.truncate(MOST_TOLD);
    ports.sort_unstable_by_key(|(port, _)| *port);
    let told = |(port, load): (u32, &straggler_sim::ports::Load)| {
        let (from, to) = fabric.topology.ends(port);
        let (busy_ps, waited_ps) = (load.busy.ps(), load.waited.ps());
        LinkLoad { from, to, messages: load.messages, bytes: load.bytes, busy_ps, waited_ps }
    };
    ports.into_iter().map(told).collect()
}

/// " The busiest link, from leaf0 to spine1, is busy 94 % of the time; its 12 messages waited 3.1 µs on average."
pub fn busiest(links: &[LinkLoad], makespan: Time) -> String {
    let first_of_busiest = |one: &&LinkLoad, other: &&LinkLoad| one.busy_ps > other.busy_ps;
    let busiest = links.iter().reduce(|one, other| if first_of_busiest(&other, &one) { other } else { one });
    let Some(link) = busiest.filter(|link| link.messages > 0) else { return String::new() };
    let share = link.busy_ps as f64 / makespan.ps().max(1) as f64;
    let waited = match Time(link.waited_ps / link.messages) {
        Time(0) => "did not wait for it".to_string(),
        average => format!("waited {average} for it on average"),
    };
    let messages = counted(link.messages, "message", "messages");
    format!(
        " The busiest link, from {} to {}, is busy {} of the time; its {messages} {waited}.",
        link.from,
        link.to,
        percent(share)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_link_is_named() {
        let link = |from: &str, messages, busy_ps, waited_ps| {
            let (from, to) = (from.to_string(), "s0".to_string());
            LinkLoad { from, to, messages, bytes: 8, busy_ps, waited_ps }
        };
        let links = [link("h0", 1, 500, 0), link("h1", 2, 940, 6_000), link("h2", 3, 940, 1)];
        let told = busiest(&links, Time(1000));
        assert!(told.contains("from h1 to s0, is busy 94"), "{told}");
        assert!(told.ends_with("its 2 messages waited 3 ns for it on average."), "{told}");
        assert_eq!(busiest(&[link("h0", 0, 0, 0)], Time(1000)), "");
        assert!(busiest(&links[..1], Time(1000)).contains("1 message did not wait"));
    }
}
