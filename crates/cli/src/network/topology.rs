//! `straggler network show` of a topology: its links, level by level.

use crate::kernel::prelude::*;
use crate::network::load_network;
use straggler_model::topology::LinkSummary;
use straggler_model::{Link, PerByte, Topology};
use straggler_report::numbers::rounded;

#[derive(Debug, Serialize)]
pub struct TopologyAnswer {
    pub topology: String,
    pub hosts: u32,
    /// Pooled links lead to switches that act as one.
    pub switches: u32,
    /// Every link is two ports, one for each direction.
    pub ports: u32,
    pub links: Vec<LinkAnswer>,
    /// In one direction, between two halves of the hosts; null if it does not follow from the shape.
    pub bisection_bytes_per_second: Option<f64>,
}

/// The links of a kind, in one direction. Without a network, L and G are null if they would be those of the network.
#[derive(Debug, Serialize)]
pub struct LinkAnswer {
    pub from: &'static str,
    pub to: &'static str,
    pub links: u32,
    #[serde(rename = "L_ps")]
    pub latency: Option<u64>,
    #[serde(rename = "G_ps")]
    pub gap_per_byte: Option<f64>,
    /// How many are degraded, failed or otherwise different.
    pub changed: u32,
}

impl TopologyAnswer {
    pub fn load(text: &str, network: Option<&str>) -> Outcome<TopologyAnswer> {
        let network = network.map(|network| load_network(network, None)).transpose()?;
        // What differs between two networks is that of the network.
        let link = |factor: u32| network.as_ref().map_or_else(|| example(factor), |network| network.base);
        let (topology, compared) = (Topology::load(text, &link(1))?, Topology::load(text, &link(2))?);
        let pairs = topology.links().into_iter().zip(compared.links());
        let links: Vec<LinkAnswer> = pairs.map(|(one, other)| LinkAnswer::new(&one, &other)).collect();
        let known = links.iter().all(|link| link.gap_per_byte.is_some());
        Ok(TopologyAnswer {
            topology: topology.to_string(),
            hosts: topology.hosts(),
            switches: topology.switches(),
            ports: topology.ports(),
            links,
            bisection_bytes_per_second: topology.bisection().filter(|_| known),
        })
    }

    pub fn text(&self) -> String {
        let of_network = |told: Option<String>| told.unwrap_or_else(|| "network's".into());
        let gap = |link: &LinkAnswer| link.gap_per_byte.map(|ps| PerByte::from_picoseconds(ps).to_string());
        let bandwidth = |link: &LinkAnswer| link.gap_per_byte.filter(|ps| *ps > 0.0).map(|ps| 1e12 / ps);
        let table = Columns::over(&self.links)
            .text("from", |link| link.from)
            .text("to", |link| link.to)
            .number("links", |link| grouped(link.links))
            .number("L", |link| of_network(link.latency.map(|ps| Time(ps).to_string())))
            .number("G", |link| of_network(gap(link)))
            .number("bandwidth", |link| bandwidth(link).map_or_else(String::new, per_second))
            .number("changed", |link| {
                Some(link.changed).filter(|count| *count > 0).map_or_else(String::new, grouped)
            })
            .build();
        let bisection = self.bisection_bytes_per_second.map_or_else(String::new, |rate| {
            let of_host = per_second(2.0 * rate / f64::from(self.hosts));
            format!(
                "\nBetween two halves of the hosts: {}, {of_host} for each host of a half\n",
                per_second(rate)
            )
        });
        let (hosts, switches) = (counted(self.hosts.into(), "host", "hosts"), self.switches.into());
        let switches = counted(switches, "switch", "switches");
        format!("{}: {hosts}, {switches}\n\n{table}{bisection}", self.topology)
    }
}

impl LinkAnswer {
    fn new(one: &LinkSummary, other: &LinkSummary) -> LinkAnswer {
        let (costs, others) = (one.costs, other.costs);
        let gap = costs.gap_per_byte;
        LinkAnswer {
            from: one.kind.from,
            to: one.kind.to,
            links: one.ports,
            latency: (costs.latency == others.latency).then_some(costs.latency.ps()),
            gap_per_byte: (gap == others.gap_per_byte).then_some(gap.picoseconds()),
            changed: one.changed,
        }
    }
}

/// The link of some network.
fn example(factor: u32) -> Link {
    let time = Time::from_ns(1_000 * u64::from(factor));
    Link {
        latency: time,
        send_overhead: time,
        recv_overhead: time,
        gap: time,
        gap_per_byte: PerByte::from_ps(10 * factor),
        overhead_per_byte: PerByte::ZERO,
        eager_limit: u64::MAX,
        overlap_limit: u64::MAX,
    }
}

fn per_second(bytes: f64) -> String {
    let units = [(1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s")];
    match units.into_iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => format!("{} {name}", rounded(bytes / unit)),
        None => format!("{}/s", Bytes(bytes as u64)),
    }
}
