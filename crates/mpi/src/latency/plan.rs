//! The configurations to measure, one after the other.

use super::{Kernel, Options};
use crate::session::Session;
use anyhow::{Result, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use straggler_model::latency::Process;
use straggler_model::units::Bytes;
use straggler_report::numbers::counted;
use straggler_schedule::tournament;

/// How many processes communicate, with how many peers, and the size of messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Configuration {
    pub size: u64,
    pub per_node: u32,
    pub peers: u32,
    /// Number of switches over which nodes are spread, as many nodes as the smallest switch has;
    /// `None` for all nodes.
    pub switches: Option<u32>,
}

impl fmt::Display for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Configuration { size, per_node, peers, switches } = *self;
        let count = |number: u32, one, many| counted(u64::from(number), one, many);
        let (peers, processes) = (count(peers, "peer", "peers"), count(per_node, "process", "processes"));
        write!(f, "{} with {peers} and {processes} per node", Bytes(size))?;
        match switches {
            Some(switches) => write!(f, " on {}", count(switches, "switch", "switches")),
            None => Ok(()),
        }
    }
}

/// The world ranks that communicate, given the number of processes per node and of switches.
pub fn active(session: &Session, per_node: u32, switches: Option<u32>) -> Vec<u32> {
    let nodes = switches.map(|switches| spread_nodes(&session.processes, switches));
    let takes_part = |(process, &local): (&Process, &u32)| {
        let is_chosen =
            nodes.as_ref().is_none_or(|nodes| process.node.is_some_and(|node| nodes.contains(&node)));
        (is_chosen && local < per_node).then_some(process.rank)
    };
    session.processes.iter().zip(&session.local).filter_map(takes_part).collect()
}

/// The nodes of each switch; `None` if the switch of some process is unknown.
fn by_switch(processes: &[Process]) -> Option<Vec<BTreeSet<u32>>> {
    let mut switches: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
    for process in processes {
        switches.entry(process.switch.as_deref()?).or_default().insert(process.node?);
    }
    Some(switches.into_values().collect())
}

/// As many nodes as the smallest switch has, taken in turn from the first `switches` ones: only
/// their placement differs, not their number.
fn spread_nodes(processes: &[Process], switches: u32) -> BTreeSet<u32> {
    let all = by_switch(processes).unwrap_or_default();
    let count = all.iter().map(BTreeSet::len).min().unwrap_or(0);
    let used = &all[..all.len().min(switches as usize)];
    let in_turn = (0..count).flat_map(|place| used.iter().filter_map(move |nodes| nodes.iter().nth(place)));
    in_turn.take(count).copied().collect()
}

/// The placements of a sweep: 1, 2, 4, … switches, if several with several nodes are known, and then the whole job.
fn placements(processes: &[Process]) -> Vec<Option<u32>> {
    let switches = by_switch(processes).unwrap_or_default();
    let least = switches.iter().map(BTreeSet::len).min().unwrap_or(0);
    // Spreading over more switches than there are nodes to take changes nothing.
    let most = switches.len().min(least) as u32;
    let varied = if most < 2 { Vec::new() } else { doubled(most) };
    varied.into_iter().map(Some).chain([None]).collect()
}

/// All requested configurations for which there are enough processes.
pub fn configurations(session: &Session, options: &Options) -> Result<Vec<Configuration>> {
    if session.size < 2 {
        bail!(
            "a latency measurement needs two processes, but this job has one: start it with `mpirun -n 2 straggler mpi latency \
             …`"
        );
    }
    for &Bytes(size) in &options.sizes {
        let each = if options.kernel == Kernel::Alltoall { u64::from(session.size) } else { 1 };
        if size.saturating_mul(each) > LARGEST {
            bail!(
                "--sizes {}: a process sends at most {} at once: use a smaller size",
                Bytes(size),
                Bytes(LARGEST)
            );
        }
    }
    let most = session.most_on_a_node();
    let per_node = match (options.sweep, options.per_node.is_empty()) {
        (true, _) => doubled(most),
        (false, true) => vec![most],
        (false, false) => options.per_node.clone(),
    };
    let placements = if options.sweep { placements(&session.processes) } else { vec![None] };
    let mut all = Vec::new();
    for (per_node, switches) in
        per_node.iter().flat_map(|&per_node| placements.iter().map(move |&one| (per_node, one)))
    {
        if per_node == 0 || per_node > most {
            bail!("--per-node {per_node}: the nodes of this job have 1 to {most} processes");
        }
        let active = active(session, per_node, switches).len() as u32;
        let rounds = tournament::steps(active);
        if rounds == 0 {
            if !options.sweep {
                bail!(
                    "--per-node {per_node} on one node leaves no process to communicate with: use 2 or more"
                );
            }
            continue;
        }
        let peers = match (options.sweep && !options.kernel.is_collective(), options.peers.is_empty()) {
            (true, _) => doubled(active - 1),
            (false, true) => vec![active - 1],
            (false, false) => options.peers.clone(),
        };
        for peers in peers {
            if peers == 0 || peers >= active {
                let most = counted(u64::from(active - 1), "peer", "peers");
                bail!("--peers {peers}: with {active} communicating processes each has at most {most}");
            }
            // A barrier has no bytes, so all sizes would be the same.
            let sizes = if options.kernel == Kernel::Barrier { &[Bytes(0)][..] } else { &options.sizes };
            all.extend(sizes.iter().map(|size| Configuration { size: size.0, per_node, peers, switches }));
        }
    }
    Ok(all)
}

/// MPI counts bytes with 31 bits.
const LARGEST: u64 = 1 << 30;

/// 1, 2, 4, … and the number itself.
fn doubled(last: u32) -> Vec<u32> {
    let mut all: Vec<u32> = (0..).map(|power| 1u32 << power).take_while(|&number| number < last).collect();
    all.push(last);
    all
}

#[cfg(test)]
mod tests {
    use super::{doubled, placements, spread_nodes};
    use std::collections::BTreeSet;
    use straggler_model::latency::Process;

    /// Two processes on each node; nodes 0 to 3 on one switch, 4 to 8 on another.
    fn processes(names: [Option<&str>; 2]) -> Vec<Process> {
        let of = |rank: u32| {
            let switch = names[usize::from(rank / 2 > 3)].map(String::from);
            Process { rank, node: Some(rank / 2), switch, ..Process::default() }
        };
        (0..18).map(of).collect()
    }

    #[test]
    fn placement_varies_where_switches_are_known() {
        let known = processes([Some("leaf1"), Some("leaf2")]);
        assert_eq!(placements(&known), [Some(1), Some(2), None]);
        assert_eq!(spread_nodes(&known, 1), BTreeSet::from([0, 1, 2, 3]));
        assert_eq!(spread_nodes(&known, 2), BTreeSet::from([0, 1, 4, 5]));
        for unknown in [[None, None], [Some("leaf1"), None], [Some("leaf1"), Some("leaf1")]] {
            assert_eq!(placements(&processes(unknown)), [None], "{unknown:?}");
        }
    }

    #[test]
    fn sweeps_end_with_all() {
        assert_eq!(doubled(1), [1]);
        assert_eq!(doubled(4), [1, 2, 4]);
        assert_eq!(doubled(6), [1, 2, 4, 6]);
    }
}
