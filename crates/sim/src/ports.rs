//! Shared links: which ports a message passes, and how a port serves it.
//!
//! A message that leaves its host is cut into segments. Each has a head, which goes on while its tail still arrives, and
//! passes the ports of its route one after the other. A port serves one segment at a time, in the order of their heads.
//! The message reaches its receiver with the head of its first segment; its receive is done no earlier than the tail of
//! its last segment, plus o_r.

mod loads;
mod placement;
mod tails;

pub use loads::{LinkLoads, Load};
pub use placement::{Placement, Places};
pub(crate) use tails::{Awaited, Tails, Whole};

use crate::message::Transit;
use straggler_model::spelling::hint;
use straggler_model::topology::{Host, Port, Stage, Topology, hash};
use straggler_model::{PerByte, Rank, Time};

/// Why processes cannot be placed on a topology.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FabricError {
    #[error("the placement names a host for {placed} ranks, but the program has {processes}")]
    TooFew { placed: usize, processes: u32 },
    #[error("rank {rank} is on host {host}, but the topology has {hosts}")]
    NoSuchHost { rank: Rank, host: Host, hosts: u32 },
    #[error(
        "rank {rank} is placed on host {name}, which the topology does not have: its hosts are {first} to {last}{}",
        hint(.nearest.as_deref())
    )]
    UnknownHost { rank: Rank, name: String, first: String, last: String, nearest: Option<String> },
    #[error("links with a longest wait (q) cannot be simulated yet: leave q out")]
    BoundedWaits,
}

/// The links of a machine with processes on its hosts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fabric {
    pub topology: Topology,
    placement: Placement,
    hosts: u32,
    /// Whether every rank has the number of its host.
    is_identity: bool,
    /// Whether any two ranks share a host.
    shares_hosts: bool,
    pub(crate) least_latency: Time,
    pub(crate) least_hop: Time,
    pub(crate) stages: Vec<Stage>,
    /// The G of the first and of the last port of every route, if they are the same for all.
    pub(crate) edge: Option<(PerByte, PerByte)>,
    /// Whether to keep the loads of the ports.
    pub measured: bool,
    /// Whether segments wait for each other; otherwise messages only have the latencies of their routes.
    pub waits: bool,
}

impl Fabric {
    pub fn new(topology: Topology, placement: Placement, processes: u32) -> Result<Fabric, FabricError> {
        let hosts = topology.hosts();
        let shares_hosts = match &placement {
            Placement::Cyclic => processes > hosts,
            Placement::Hosts(list) => check_placement(list, hosts, processes)?,
        };
        if topology.may_overtake() {
            return Err(FabricError::BoundedWaits);
        }
        let is_identity = placement == Placement::Cyclic && processes <= hosts;
        let (least_latency, least_hop) = (topology.least_latency(), topology.least_hop());
        let (stages, edge) = (topology.stages(), topology.edge_gaps());
        Ok(Fabric {
            topology,
            placement,
            hosts,
            is_identity,
            shares_hosts,
            least_latency,
            least_hop,
            stages,
            edge,
            measured: false,
            waits: true,
        })
    }

    #[inline(always)]
    pub fn host(&self, rank: Rank) -> Host {
        if self.is_identity { rank } else { self.placed(rank) }
    }

    #[inline(never)]
    fn placed(&self, rank: Rank) -> Host {
        match &self.placement {
            Placement::Cyclic => rank % self.hosts,
            Placement::Hosts(list) => list.get(rank as usize).copied().unwrap_or_default(),
        }
    }

    /// Whether two processes are on one host, so that they use the network's own link.
    #[inline(always)]
    pub fn together(&self, one: Rank, other: Rank) -> bool {
        self.host(one) == self.host(other)
    }

    pub fn shares_hosts(&self) -> bool {
        self.shares_hosts
    }

    /// The first port of a message; None if it stays on its host.
    #[inline(always)]
    pub fn first(&self, from: Rank, to: Rank) -> Option<Port> {
        let (from, to) = (self.host(from), self.host(to));
        (from != to).then(|| self.topology.first(from, to))
    }

    /// The port after `port`; None if that was the last.
    #[inline(always)]
    pub fn next(&self, port: Port, from: Rank, to: Rank) -> Option<Port> {
        self.topology.next(port, self.host(from), self.host(to))
    }

    /// Like [`Fabric::next`], with the kinds of ports; see [`Topology::next_in`].
    #[inline(always)]
    pub(crate) fn next_in(&self, port: (usize, Port), from: Rank, to: Rank) -> Option<(usize, Port)> {
        self.topology.next_in(port, self.host(from), self.host(to))
    }

    /// Whether every rank has the number of its host, and first ports that of their host.
    pub(crate) fn is_in_order(&self) -> bool {
        self.is_identity && self.topology.is_feed_forward()
    }

    /// Whether only one process uses the first port of its messages, and nobody asks for its load.
    pub(crate) fn has_own_first_ports(&self) -> bool {
        self.topology.is_feed_forward() && !self.shares_hosts && !self.measured
    }

    /// Whether a message between two processes passes a port.
    pub(crate) fn on_route(&self, port: Port, from: Rank, to: Rank) -> bool {
        self.topology.route(self.host(from), self.host(to)).contains(&port)
    }

    /// The sum of latencies on the way of a message between two hosts.
    pub fn latency(&self, from: Rank, to: Rank) -> Time {
        self.topology.latency(self.host(from), self.host(to))
    }

    /// G of the first port of a message.
    #[inline(always)]
    pub(crate) fn first_gap(&self, from: Rank, to: Rank) -> PerByte {
        match self.edge {
            Some((first, _)) => first,
            None => self.topology.costs(self.topology.first(self.host(from), self.host(to))).gap_per_byte,
        }
    }

    /// G of the last port of a message.
    #[inline(always)]
    pub(crate) fn last_gap(&self, from: Rank, to: Rank) -> PerByte {
        match self.edge {
            Some((_, last)) => last,
            None => self.topology.costs(self.topology.last(self.host(from), self.host(to))).gap_per_byte,
        }
    }

    /// The order of two segments whose heads reach a port at the same time: as a hash of port, source and time says, so
    /// that no source always goes first; of one source in the order of sending, so that nothing overtakes.
    #[inline(always)]
    pub(crate) fn tie(&self, port: Port, source: Rank, head: Time) -> u64 {
        hash(self.topology.seed, u64::from(port) << 32 | u64::from(source), head.ps())
    }
}

/// Checks the hosts of ranks. Returns whether any two share one.
fn check_placement(list: &[Host], hosts: u32, processes: u32) -> Result<bool, FabricError> {
    if list.len() < processes as usize {
        return Err(FabricError::TooFew { placed: list.len(), processes });
    }
    let used = &list[..processes as usize];
    if let Some((rank, &host)) = (0..).zip(used).find(|&(_, &host)| host >= hosts) {
        return Err(FabricError::NoSuchHost { rank, host, hosts });
    }
    let mut taken = vec![false; hosts as usize];
    Ok(used.iter().any(|&host| std::mem::replace(&mut taken[host as usize], true)))
}

/// When the head and the tail of a segment reach the next port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Passage {
    pub head: Time,
    pub tail: Time,
}

/// Serves a segment, which takes so much work, at a port that is free at `free`. Returns when the service starts.
#[inline(always)]
pub(crate) fn serve(latency: Time, work: Time, free: &mut Time, passage: &mut Passage) -> Time {
    let start = passage.head.max(*free);
    *free = start + work;
    passage.tail = passage.tail.max(*free) + latency;
    passage.head = start + latency;
    start
}

/// A part of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Segment {
    pub bytes: u64,
    pub number: u32,
    /// How many segments the message has.
    pub count: u32,
}

impl Segment {
    #[inline(always)]
    pub fn new(topology: &Topology, message: u64, number: u32) -> Segment {
        let count = topology.segment.count(message);
        let bytes = if count == 1 { message } else { topology.segment.bytes(message, number) };
        Segment { bytes, number, count }
    }

    /// A message of one segment.
    #[inline(always)]
    pub fn whole(bytes: u64) -> Segment {
        Segment { bytes, number: 0, count: 1 }
    }

    /// How long a port with this G is busy with it.
    #[inline(always)]
    pub fn work(&self, gap: PerByte) -> Time {
        if self.count == 1 { gap.of_message(self.bytes) } else { gap.of_part(self.bytes) }
    }

    #[inline(always)]
    pub fn is_first(&self) -> bool {
        self.number == 0
    }

    #[inline(always)]
    pub fn is_last(&self) -> bool {
        self.number + 1 == self.count
    }

    /// What the receiver is told when the first segment arrives, whose tail arrives at `tail`.
    #[inline(always)]
    pub fn transit(&self, number: u32, tail: Time) -> Transit {
        if self.count == 1 { Transit::whole(number, tail) } else { Transit::partial(number) }
    }
}
