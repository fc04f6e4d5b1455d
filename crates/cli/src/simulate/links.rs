//! Links that messages share: the topology of a simulation, and what the messages did to its links.

use crate::kernel::prelude::*;
use crate::simulate::plan::Plan;
use straggler_model::topology::{Change, LinkKind};
use straggler_model::{Network, Topology};
use straggler_sim::ports::{LinkLoads, Load};
use straggler_sim::{Fabric, Places};

/// The most loads that are kept over all replicas, of 32 bytes each.
const MOST_KEPT: u64 = 1 << 24;
/// The most links in an answer; of more, the busiest are told.
const MOST_TOLD: usize = 1 << 16;

/// The topology of a plan with the processes of a run on its hosts.
pub fn load(plan: &Plan, network: &Network, processes: u32) -> Outcome<Option<Fabric>> {
    let Some(text) = &plan.topology else { return Ok(None) };
    let mut topology = Topology::load(text, &network.base)?;
    plan.changed_links.iter().try_for_each(|change| change.apply(&mut topology))?;
    let placement = places(plan.placement.as_deref())?.on(&topology, processes)?;
    let mut fabric = Fabric::new(topology, placement, processes)?;
    // One run keeps its loads as long as its ports fit into memory, which is checked later.
    let replicas = plan.replicas.len();
    let loads = u64::from(fabric.topology.ports()).saturating_mul(replicas as u64);
    fabric.measured = replicas == 1 || loads <= MOST_KEPT;
    Ok(Some(fabric))
}

/// A degraded or failed link, as typed: `leaf0/spine1=0.25`, `leaf0/spine1`.
#[derive(Clone, PartialEq, Debug)]
pub struct ChangedLink {
    ends: [String; 2],
    /// The share of the bandwidth that is left; None if it fails.
    left: Option<f64>,
}

impl ChangedLink {
    pub fn degraded(text: &str) -> Result<ChangedLink, String> {
        let (link, share) = text.rsplit_once('=').ok_or("write LINK=SHARE, for example leaf0/spine1=0.25")?;
        let left: f64 =
            share.trim().parse().map_err(|_| format!("`{share}` is not a number such as 0.25"))?;
        if !(left > 0.0 && left <= 1.0) {
            return Err(format!(
                "`{share}` is not the share that is left, above 0 and at most 1; for none, use --fail"
            ));
        }
        Ok(ChangedLink { left: Some(left), ..ChangedLink::failed(link)? })
    }

    pub fn failed(text: &str) -> Result<ChangedLink, String> {
        let ends = text.trim().split_once('/');
        let (one, other) = ends.ok_or("name the two ends of the link, for example leaf0/spine1")?;
        Ok(ChangedLink { ends: [one.into(), other.into()], left: None })
    }

    fn apply(&self, topology: &mut Topology) -> Outcome<()> {
        let change = Change { bandwidth: self.left, failed: self.left.is_none(), ..Change::default() };
        Ok(topology.change([&self.ends[0], &self.ends[1]], &change)?)
    }
}

/// Where ranks run, as typed.
fn places(text: Option<&str>) -> Outcome<Places> {
    let Some(text) = text else { return Ok(Places::default()) };
    let Some(path) = file_of_hosts(text) else {
        return text.parse().map_err(|fault| Failure::usage(format!("--placement {fault}")));
    };
    let lines = std::fs::read_to_string(&path).map_err(|fault| unreadable(&path, &fault))?;
    Places::from_lines(&lines).map_err(|fault| Failure::bad_input(format!("{}: {fault}", path.display())))
}

/// The file that a placement names, if there is one.
pub fn file_of_hosts(placement: &str) -> Option<PathBuf> {
    let path = PathBuf::from(placement.trim().strip_prefix("hosts:")?);
    path.is_file().then_some(path)
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
    let told = |(port, load): (u32, &Load)| {
        let (from, to) = fabric.topology.ends(port);
        let (busy_ps, waited_ps) = (load.busy.ps(), load.waited.ps());
        LinkLoad { from, to, messages: load.messages, bytes: load.bytes, busy_ps, waited_ps }
    };
    ports.into_iter().map(told).collect()
}

/// What messages did to the links of one kind, in one direction.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct KindLoad {
    pub from: &'static str,
    pub to: &'static str,
    /// How many there are.
    pub links: u32,
    pub messages: u64,
    pub bytes: u64,
    /// Of a link on average, and of the busiest.
    pub mean_busy_ps: u64,
    pub most_busy_ps: u64,
    /// Of a message on average.
    pub mean_waited_ps: u64,
}

/// The loads of each kind of link, in the order in which a message passes them.
pub fn by_kind(fabric: &Fabric, loads: &LinkLoads) -> Vec<KindLoad> {
    let kinds = fabric.topology.link_kinds();
    let mut found: Vec<Vec<Load>> = vec![Vec::new(); kinds.len()];
    for (port, load) in loads.iter().flat_map(|(first, loads)| (*first..).zip(loads)) {
        found[fabric.topology.kind_of(port)].push(*load);
    }
    kinds
        .into_iter()
        .zip(&found)
        .filter(|(_, loads)| !loads.is_empty())
        .map(|(kind, loads)| of_kind(kind, loads))
        .collect()
}

fn of_kind(LinkKind { from, to }: LinkKind, loads: &[Load]) -> KindLoad {
    let sum = |part: fn(&Load) -> u64| loads.iter().map(|load| u128::from(part(load))).sum::<u128>();
    let mean = |sum: u128, count: u64| (sum / u128::from(count.max(1))).try_into().unwrap_or(u64::MAX);
    let (links, messages) = (loads.len() as u32, loads.iter().map(|load| load.messages).sum());
    KindLoad {
        from,
        to,
        links,
        messages,
        bytes: sum(|load| load.bytes).try_into().unwrap_or(u64::MAX),
        mean_busy_ps: mean(sum(|load| load.busy.ps()), links.into()),
        most_busy_ps: loads.iter().map(|load| load.busy.ps()).max().unwrap_or(0),
        mean_waited_ps: mean(sum(|load| load.waited.ps()), messages),
    }
}

/// A table of the kinds of links.
pub fn table(kinds: &[KindLoad], makespan: Time) -> String {
    let share = |ps: u64| Cell::share(ps as f64 / makespan.ps().max(1) as f64);
    let table = Columns::over(kinds)
        .text("from", |kind| kind.from)
        .text("to", |kind| kind.to)
        .number("links", |kind| grouped(kind.links))
        .number("messages", |kind| grouped(kind.messages))
        .number("busy", |kind| share(kind.mean_busy_ps))
        .number("the busiest", |kind| share(kind.most_busy_ps))
        .number("wait of a message", |kind| Cell::ps(kind.mean_waited_ps))
        .build();
    format!("\nLinks, and for how much of the time they are busy:\n\n{table}")
}

/// " If nothing waited for a link, the run would take 31 % less (1.2 ms)."
pub fn cost_of_waiting(makespan: Time, without: Time) -> String {
    match makespan.ps().saturating_sub(without.ps()) {
        0 => " Waiting for links costs nothing.".into(),
        more => {
            let share = more as f64 / makespan.ps().max(1) as f64;
            format!(" If nothing waited for a link, the run would take {} less ({without}).", percent(share))
        }
    }
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
