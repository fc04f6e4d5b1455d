//! The cost of operations: the rules of the execution model, used by every engine.
//!
//! Each rule runs one event at a time `t` at which its resources are free, advances their free times, and returns
//! when the operation completes. L, o, g, G, O, S are the link's parameters; a message of k bytes pays for
//! max(k, 1) - 1 of them.

use crate::host::{Cpu, Host};
use crate::lanes::Lanes;
use crate::latency::{Latency, OfLink};
use crate::message::Transit;
use crate::ports::Fabric;
use std::ops::Range;
use straggler_model::network::Draw;
use straggler_model::{Link, Network, Rank, Time};
use straggler_noise::Noise;

/// A, the latency of a rendezvous acknowledgement from the match back to the sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Acknowledgement {
    /// The link's L. If latencies are drawn, an acknowledgement counts as a message of the matching process, with a
    /// draw of its own.
    #[default]
    Latency,
    Fixed(Time),
}

/// Messages whose bytes arrive without using the receiver's CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Overlap {
    /// None.
    Never,
    /// Those that are larger than their link's limit.
    ByLink,
    Always,
}

/// Everything the rules depend on.
#[derive(Debug)]
pub struct Rules<'a, N, L = OfLink> {
    pub network: &'a Network,
    pub noise: &'a N,
    pub latency: L,
    pub acknowledgement: Acknowledgement,
    /// Whether there are messages whose bytes arrive in parallel, so that the CPU is charged only o_r + (k-1)·O.
    pub overlap: Overlap,
}

/// What a rule charged.
#[derive(Clone, Copy, Debug)]
pub struct Charge {
    /// When the operation completes.
    pub done: Time,
    /// The noise it contains.
    pub noise: Time,
}

/// The effects of a send.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub charge: Charge,
    /// When the message is eligible at the receiver, or enters its first port.
    pub arrival: Time,
    /// Whether the send completes only when the receiver has matched the message.
    pub rendezvous: bool,
    /// The creation time of the message: when the send ran, or [`Rules::sent_at`] if latencies are drawn.
    pub created: Time,
    /// How many messages the process has sent before, if they are counted.
    pub number: u32,
}

/// The costs of a message of one size on a link: the part of the rules that does not depend on time and rank. Times
/// saturate, so the order of additions does not matter.
#[derive(Clone, Copy, Debug)]
pub struct MessageCost {
    /// o_s and o_r, which noise can extend.
    pub send_overhead: Time,
    pub recv_overhead: Time,
    /// CPU time of the send: o_s + (k-1)·O.
    pub send_cpu: Time,
    /// CPU time of the receiver: o_r + the larger of (k-1)·O and (k-1)·G.
    pub message_cpu: Time,
    /// Time of either NIC: g + (k-1)·G.
    pub nic: Time,
    /// (k-1)·O and (k-1)·G.
    pub overhead: Time,
    pub gap: Time,
    /// From the start of the send to the arrival.
    pub flight: Time,
    pub rendezvous: bool,
}

impl MessageCost {
    #[inline(always)]
    pub fn new(link: &Link, bytes: u64) -> MessageCost {
        let overhead = link.overhead_per_byte.of_message(bytes);
        let gap = link.gap_per_byte.of_message(bytes);
        MessageCost {
            send_overhead: link.send_overhead,
            recv_overhead: link.recv_overhead,
            send_cpu: link.send_overhead + overhead,
            message_cpu: link.recv_overhead + overhead.max(gap),
            nic: link.gap + gap,
            overhead,
            gap,
            flight: link.flight(),
            rendezvous: link.is_rendezvous(bytes),
        }
    }

    /// The costs of a send with drawn parameters.
    #[inline(always)]
    fn sending(&self, draw: &Draw) -> MessageCost {
        let send_overhead = draw.send_overhead;
        let (send_cpu, flight) = (send_overhead + self.overhead, send_overhead + draw.latency);
        MessageCost { send_overhead, send_cpu, flight, ..*self }
    }

    /// The receiver's costs with drawn parameters.
    #[inline(always)]
    fn receiving(&self, draw: &Draw) -> MessageCost {
        let recv_overhead = draw.recv_overhead;
        MessageCost { recv_overhead, message_cpu: recv_overhead + self.overhead.max(self.gap), ..*self }
    }
}

impl<N: Noise, L: Latency> Rules<'_, N, L> {
    /// Runs a computation of length `d` at `t`.
    #[inline(always)]
    pub fn calc(&self, rank: Rank, cpu: &mut Cpu, t: Time, d: Time) -> Charge {
        let noise = self.noise.charge(rank, &mut cpu.quiet, t, t + d);
        cpu.free = t + d + noise;
        Charge { done: cpu.free, noise }
    }

    /// Runs a send at `t`.
    #[inline(always)]
    pub fn send(&self, (rank, to): (Rank, Rank), sender: Sender<'_>, t: Time, bytes: u64) -> Sent {
        self.send_at(&self.send_cost(rank, to, bytes), (rank, to), sender, t)
    }

    /// The sender's costs of a message. On shared links L is that of its ports, and G that of its first port.
    #[inline(always)]
    pub fn send_cost(&self, from: Rank, to: Rank, bytes: u64) -> MessageCost {
        let link = self.network.link(from, to);
        match self.routed(from, to) {
            None => MessageCost::new(link, bytes),
            Some(fabric) => {
                let gap_per_byte = fabric.first_gap(from, to);
                MessageCost::new(&Link { latency: Time::ZERO, gap_per_byte, ..*link }, bytes)
            }
        }
    }

    /// The receiver's costs of a message. On shared links G is that of its last port.
    #[inline(always)]
    pub fn recv_cost(&self, from: Rank, to: Rank, bytes: u64) -> MessageCost {
        let link = self.network.link(from, to);
        match self.routed(from, to) {
            None => MessageCost::new(link, bytes),
            Some(fabric) => {
                MessageCost::new(&Link { gap_per_byte: fabric.last_gap(from, to), ..*link }, bytes)
            }
        }
    }

    /// The shared links that messages between two processes use, if they do.
    #[inline(always)]
    pub fn routed(&self, from: Rank, to: Rank) -> Option<&Fabric> {
        self.latency.fabric().filter(|fabric| !fabric.together(from, to))
    }

    /// Runs a send at `t`, of a message whose costs are known. Noise during o does not delay the message.
    #[inline(always)]
    pub fn send_at(&self, cost: &MessageCost, (rank, to): (Rank, Rank), sender: Sender<'_>, t: Time) -> Sent {
        let Sender { cpu, send_free, lanes } = sender;
        if !self.latency.counts() {
            return self.charge_send(cost, rank, cpu, send_free, t);
        }
        let number = lanes.count(rank);
        let Some(drawn) = self.latency.drawn() else {
            return Sent { number, ..self.charge_send(cost, rank, cpu, send_free, t) };
        };
        let class = self.network.class(rank, to);
        let mut draw = drawn.draw(class, rank, number);
        let routed = self.routed(rank, to).is_some();
        if routed {
            // The least latency stands for that of the route; what is more delays the message before its first port.
            draw.latency = draw.latency - drawn.classes()[class].latency.smallest();
        }
        let sent = self.charge_send(&cost.sending(&draw), rank, cpu, send_free, t);
        let arrival = lanes.arrival(rank, to, t, sent.arrival);
        let created = if routed { t } else { self.sent_at(rank, to, arrival) };
        Sent { arrival, created, number, ..sent }
    }

    #[inline(always)]
    fn charge_send(
        &self,
        cost: &MessageCost,
        rank: Rank,
        cpu: &mut Cpu,
        send_free: &mut Time,
        t: Time,
    ) -> Sent {
        let noise = self.noise.charge_overhead(rank, &mut cpu.quiet, t, t + cost.send_overhead);
        cpu.free = t + cost.send_cpu + noise;
        *send_free = t + cost.nic;
        Sent {
            charge: Charge { done: cpu.free, noise },
            arrival: t + cost.flight,
            rendezvous: cost.rendezvous,
            created: t,
            number: 0,
        }
    }

    /// Runs a message on its receiver at `t`; `done` is when the matching receive completes. Also returns when its bytes have
    /// arrived: a receive that is posted before then completes at that time. Without overlap and shared links it is zero,
    /// because the bytes were paid for when the message ran.
    #[inline(always)]
    pub fn message(
        &self,
        came: Arrival,
        cpu: &mut Cpu,
        recv_free: &mut Time,
        t: Time,
        bytes: u64,
    ) -> (Charge, Time) {
        let cost = self.recv_cost(came.from, came.to, bytes);
        let (charge, arrived) = match self.overlap == Overlap::Never || !self.overlaps_by_link(came, bytes) {
            true => (self.message_at(&cost, came, cpu, recv_free, t), Time::ZERO),
            false => self.overlapped_message(&cost, came, cpu, recv_free, t),
        };
        let whole = self.whole_at(came, came.transit.tail().unwrap_or(Time::ZERO));
        (Charge { done: charge.done.max(whole), ..charge }, arrived.max(whole))
    }

    /// Runs a message whose bytes arrive without using the receiver's CPU.
    #[inline(always)]
    fn overlapped_message(
        &self,
        cost: &MessageCost,
        came: Arrival,
        cpu: &mut Cpu,
        recv_free: &mut Time,
        t: Time,
    ) -> (Charge, Time) {
        let mut room = None;
        let cost = self.received(cost, came, &mut room);
        let noise = self.noise.charge_overhead(came.to, &mut cpu.quiet, t, t + cost.recv_overhead);
        *recv_free = t + cost.nic;
        cpu.free = t + cost.recv_overhead + noise + cost.overhead;
        let done = cpu.free.max(t + cost.recv_overhead + cost.gap);
        (Charge { done, noise }, done)
    }

    /// When a message is complete whose last byte arrives at `tail` over shared links: o_r later. Zero if that is zero.
    #[inline(always)]
    pub fn whole_at(&self, came: Arrival, tail: Time) -> Time {
        if tail == Time::ZERO || self.latency.fabric().is_none() {
            return Time::ZERO;
        }
        let recv_overhead = match self.latency.drawn() {
            Some(drawn) => {
                let class = self.network.class(came.from, came.to);
                drawn.draw(class, came.from, came.transit.number).recv_overhead
            }
            None => self.network.link(came.from, came.to).recv_overhead,
        };
        tail + recv_overhead
    }

    /// Runs a message whose costs are known on its receiver at `t`, if receives do not overlap.
    #[inline(always)]
    pub fn message_at(
        &self,
        cost: &MessageCost,
        came: Arrival,
        cpu: &mut Cpu,
        recv_free: &mut Time,
        t: Time,
    ) -> Charge {
        let mut room = None;
        let cost = self.received(cost, came, &mut room);
        let noise = self.noise.charge_overhead(came.to, &mut cpu.quiet, t, t + cost.recv_overhead);
        *recv_free = t + cost.nic;
        cpu.free = t + cost.message_cpu + noise;
        Charge { done: cpu.free, noise }
    }

    /// The receiver's costs of a message, with its own o_r if that is drawn; then `room` stores them.
    #[inline(always)]
    fn received<'r>(
        &self,
        cost: &'r MessageCost,
        came: Arrival,
        room: &'r mut Option<MessageCost>,
    ) -> &'r MessageCost {
        match self.latency.drawn() {
            Some(drawn) if drawn.draws_overheads() => {
                let class = self.network.class(came.from, came.to);
                room.insert(cost.receiving(&drawn.draw(class, came.from, came.transit.number)))
            }
            _ => cost,
        }
    }

    /// Whether the receiver's CPU is free while the bytes of a message arrive, if that may be.
    #[cold]
    fn overlaps_by_link(&self, came: Arrival, bytes: u64) -> bool {
        self.overlap == Overlap::Always || self.network.link(came.from, came.to).is_overlapped(bytes)
    }

    /// Runs the acknowledgement of a rendezvous send at `t`.
    #[inline(always)]
    pub fn acknowledge(&self, cpu: &mut Cpu, send_free: &mut Time, t: Time) {
        cpu.free = cpu.free.max(t);
        *send_free = (*send_free).max(t);
    }

    /// When the acknowledgement of a message that `receiver` matched at `t` reaches `sender`. Acknowledgements keep
    /// no order: they have no o and overtake messages even if latencies are constant. On shared links they have the
    /// latencies of the way back and never wait.
    #[inline(always)]
    pub fn acknowledged(&self, sender: Rank, receiver: Rank, lanes: &mut Lanes, t: Time) -> Time {
        let class = self.network.class(sender, receiver);
        let least = self.least_acknowledgement(sender, receiver, class);
        match (self.acknowledgement, self.latency.drawn()) {
            (Acknowledgement::Latency, Some(drawn)) => {
                let number = lanes.count(receiver);
                let drawn_more =
                    drawn.draw(class, receiver, number).latency - drawn.classes()[class].latency.smallest();
                t + least + drawn_more
            }
            _ => t + least,
        }
    }

    /// The creation time of a message that arrives at `arrival`: when its send ran. If latencies are drawn or links are
    /// shared, the last time at which it could have been sent, so that messages that wait for a CPU run in the order of
    /// arrival.
    #[inline(always)]
    pub fn sent_at(&self, from: Rank, to: Rank, arrival: Time) -> Time {
        if let Some(fabric) = self.routed(from, to) {
            return arrival - (self.least_send_overhead(self.network.class(from, to)) + fabric.least_latency);
        }
        match self.latency.drawn() {
            None => arrival - self.network.link(from, to).flight(),
            Some(drawn) => arrival - drawn.classes()[self.network.class(from, to)].flight(),
        }
    }

    /// The creation time of an acknowledgement from `receiver` that reaches `sender` at `arrival`.
    #[inline(always)]
    pub fn matched_at(&self, sender: Rank, receiver: Rank, arrival: Time) -> Time {
        arrival - self.least_acknowledgement(sender, receiver, self.network.class(sender, receiver))
    }

    /// The latency A of an acknowledgement, or the smallest if it is drawn.
    #[inline(always)]
    fn least_acknowledgement(&self, sender: Rank, receiver: Rank, class: usize) -> Time {
        match (self.acknowledgement, self.routed(receiver, sender)) {
            (Acknowledgement::Latency, Some(fabric)) => fabric.latency(receiver, sender),
            _ => self.acknowledgement_of(class),
        }
    }

    /// The latency A of a link class, or the smallest if it is drawn.
    fn acknowledgement_of(&self, class: usize) -> Time {
        match (self.acknowledgement, self.latency.drawn()) {
            (Acknowledgement::Fixed(time), _) => time,
            (Acknowledgement::Latency, Some(drawn)) => drawn.classes()[class].latency.smallest(),
            (Acknowledgement::Latency, None) => self.network.link_of(class).latency,
        }
    }

    /// o_s of a link class, or the smallest if it is drawn.
    #[inline(always)]
    fn least_send_overhead(&self, class: usize) -> Time {
        match self.latency.drawn() {
            None => self.network.link_of(class).send_overhead,
            Some(drawn) => drawn.classes()[class].send_overhead.smallest(),
        }
    }

    /// The least time from a send to the first port of its message.
    pub fn least_entry(&self) -> Time {
        let classes = 0..self.network.links().count();
        classes.map(|class| self.least_send_overhead(class)).min().unwrap_or(Time::ZERO)
    }

    /// Nothing a process does at t reaches another before t + lookahead, and nothing a port does at t another port that
    /// is not in a later stage. `largest` is the size of the largest message: if it cannot be a rendezvous, there are no
    /// acknowledgements.
    pub fn lookahead(&self, largest: u64) -> Time {
        let own = self.latency.drawn().map_or_else(|| self.network.lookahead(), |drawn| drawn.lookahead());
        let (messages, least_route) = match self.latency.fabric().filter(|fabric| fabric.topology.hosts() > 1)
        {
            None => (own, Time::NEVER),
            Some(fabric) => {
                let through = self.least_entry() + fabric.least_latency;
                let through =
                    if fabric.topology.is_feed_forward() { through } else { through.min(fabric.least_hop) };
                (if fabric.shares_hosts() { own.min(through) } else { through }, fabric.least_latency)
            }
        };
        if !self.network.may_rendezvous(largest) {
            return messages;
        }
        let classes = 0..self.network.links().count();
        let least = classes.map(|class| self.acknowledgement_of(class)).fold(messages, Time::min);
        if self.acknowledgement == Acknowledgement::Latency { least.min(least_route) } else { least }
    }

    /// Whether every send takes time.
    pub fn sends_take_time(&self) -> bool {
        match self.latency.drawn() {
            None => self.network.links().all(|link| link.send_overhead > Time::ZERO),
            Some(drawn) => drawn.classes().iter().all(|class| class.send_overhead.smallest() > Time::ZERO),
        }
    }

    /// The record of the messages that processes send; empty if they are not counted.
    pub fn lanes(&self, ranks: Range<Rank>, largest: u64) -> Lanes {
        match (self.latency.counts(), self.latency.fabric()) {
            (false, _) => Lanes::default(),
            (true, None) => Lanes::new(ranks, self.lookahead(largest)),
            // Messages must not overtake before their first port.
            (true, Some(_)) => Lanes::new(ranks, self.least_entry().min(self.lookahead(largest))),
        }
    }
}

/// The state that a send uses.
#[derive(Debug)]
pub struct Sender<'a> {
    pub cpu: &'a mut Cpu,
    pub send_free: &'a mut Time,
    pub lanes: &'a mut Lanes,
}

/// A message that has arrived.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    pub from: Rank,
    pub to: Rank,
    /// Its number on its source, if messages are counted, and when its last byte arrives, if it used shared links.
    pub transit: Transit,
}

/// When a computation may run on `host`, given when it became ready.
#[inline(always)]
pub fn calc_eligible(host: &impl Host, cpu: u8, ready: Time) -> Time {
    ready.max(host.cpu(cpu).free)
}

/// When a send may run on `host`, given when it became ready.
#[inline(always)]
pub fn send_eligible(host: &impl Host, cpu: u8, nic: u8, ready: Time) -> Time {
    ready.max(host.cpu(cpu).free).max(host.send_free(nic))
}

/// When a message may run on `host`, given when it arrived.
#[inline(always)]
pub fn message_eligible(host: &impl Host, cpu: u8, nic: u8, arrival: Time) -> Time {
    arrival.max(host.cpu(cpu).free).max(host.recv_free(nic))
}
