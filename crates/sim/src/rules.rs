//! What an operation costs: the execution model's rules, written once, for every engine.
//!
//! Each rule runs one event at the time `t` at which its resources are free, moves their free times
//! on, and says when the operation has completed. L, o, g, G, O, S are the link's parameters; a message
//! of k bytes pays for max(k, 1) - 1 of them.

use crate::host::{Cpu, Host};
use straggler_model::noise::Noise;
use straggler_model::{Link, Network, Rank, Time};

/// A, the latency of a rendezvous acknowledgement from the match back to the sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Acknowledgement {
    /// The link's L, which is what a network needs.
    #[default]
    Latency,
    Fixed(Time),
}

/// Everything the rules depend on.
#[derive(Debug)]
pub struct Rules<'a, N> {
    pub network: &'a Network,
    pub noise: &'a N,
    pub acknowledgement: Acknowledgement,
    /// Charge the CPU o_r + (k-1)·O for a message while its bytes arrive beside it.
    pub receive_overlap: bool,
}

/// What a rule charged.
#[derive(Clone, Copy, Debug)]
pub struct Charge {
    /// When the operation has completed.
    pub done: Time,
    /// The part of it that is noise.
    pub noise: Time,
}

/// What a send caused.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub charge: Charge,
    /// When the message is eligible at the receiver.
    pub arrival: Time,
    /// The send completes only when the receiver has matched the message.
    pub rendezvous: bool,
}

/// What a message of some size costs on a link: everything of the rules that does not depend on when and where. Times
/// saturate, so it does not matter in which order they are added.
#[derive(Clone, Copy, Debug)]
pub struct Tariff {
    /// o_s and o_r, on which noise falls.
    pub send_overhead: Time,
    pub recv_overhead: Time,
    /// What the send takes of its CPU: o_s + (k-1)·O.
    pub send_cpu: Time,
    /// What the message takes of its receiver's CPU: o_r + the larger of (k-1)·O and (k-1)·G.
    pub message_cpu: Time,
    /// What it takes of either NIC: g + (k-1)·G.
    pub nic: Time,
    /// (k-1)·O and (k-1)·G.
    pub overhead: Time,
    pub gap: Time,
    /// From the start of the send to the arrival.
    pub flight: Time,
    pub rendezvous: bool,
}

impl Tariff {
    #[inline(always)]
    pub fn of(link: &Link, bytes: u64) -> Tariff {
        let overhead = link.overhead_per_byte.of_message(bytes);
        let gap = link.gap_per_byte.of_message(bytes);
        Tariff {
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
}

impl<N: Noise> Rules<'_, N> {
    /// A computation of length `d` at `t`.
    #[inline(always)]
    pub fn calc(&self, rank: Rank, cpu: &mut Cpu, t: Time, d: Time) -> Charge {
        let noise = self.noise.charge(rank, &mut cpu.quiet, t, t + d);
        cpu.free = t + d + noise;
        Charge { done: cpu.free, noise }
    }

    /// A send at `t`.
    #[inline(always)]
    pub fn send(
        &self,
        rank: Rank,
        to: Rank,
        cpu: &mut Cpu,
        send_free: &mut Time,
        t: Time,
        bytes: u64,
    ) -> Sent {
        self.send_at(&Tariff::of(self.network.link(rank, to), bytes), rank, cpu, send_free, t)
    }

    /// A send at `t`, of a message whose costs are known. Noise during o does not delay the message.
    #[inline(always)]
    pub fn send_at(&self, tariff: &Tariff, rank: Rank, cpu: &mut Cpu, send_free: &mut Time, t: Time) -> Sent {
        let noise = self.noise.charge_overhead(rank, &mut cpu.quiet, t, t + tariff.send_overhead);
        cpu.free = t + tariff.send_cpu + noise;
        *send_free = t + tariff.nic;
        Sent {
            charge: Charge { done: cpu.free, noise },
            arrival: t + tariff.flight,
            rendezvous: tariff.rendezvous,
        }
    }

    /// A message that runs on the receiver at `t`; `done` is when the receive it matches completes.
    #[inline(always)]
    pub fn message(
        &self,
        rank: Rank,
        from: Rank,
        cpu: &mut Cpu,
        recv_free: &mut Time,
        t: Time,
        bytes: u64,
    ) -> Charge {
        let tariff = Tariff::of(self.network.link(from, rank), bytes);
        if !self.receive_overlap {
            return self.message_at(&tariff, rank, cpu, recv_free, t);
        }
        let noise = self.noise.charge_overhead(rank, &mut cpu.quiet, t, t + tariff.recv_overhead);
        *recv_free = t + tariff.nic;
        cpu.free = t + tariff.recv_overhead + noise + tariff.overhead;
        Charge { done: cpu.free.max(t + tariff.recv_overhead + tariff.gap), noise }
    }

    /// A message whose costs are known runs on the receiver at `t`, where receives do not overlap.
    #[inline(always)]
    pub fn message_at(
        &self,
        tariff: &Tariff,
        rank: Rank,
        cpu: &mut Cpu,
        recv_free: &mut Time,
        t: Time,
    ) -> Charge {
        let noise = self.noise.charge_overhead(rank, &mut cpu.quiet, t, t + tariff.recv_overhead);
        *recv_free = t + tariff.nic;
        cpu.free = t + tariff.message_cpu + noise;
        Charge { done: cpu.free, noise }
    }

    /// When the bytes of a message that found no receive are there: a receive that is posted before
    /// completes then. Without overlap they were paid for when the message ran.
    #[inline(always)]
    pub fn early_done(&self, charge: &Charge) -> Time {
        if self.receive_overlap { charge.done } else { Time::ZERO }
    }

    /// The acknowledgement of a rendezvous send, at `t`.
    #[inline(always)]
    pub fn acknowledge(&self, cpu: &mut Cpu, send_free: &mut Time, t: Time) {
        cpu.free = cpu.free.max(t);
        *send_free = (*send_free).max(t);
    }

    /// A of the link from `sender` to `receiver`.
    #[inline(always)]
    pub fn acknowledgement(&self, sender: Rank, receiver: Rank) -> Time {
        acknowledgement_of(self.acknowledgement, self.network.link(sender, receiver))
    }

    /// c of a message that arrives at `arrival`: the time its send ran.
    #[inline(always)]
    pub fn sent_at(&self, from: Rank, to: Rank, arrival: Time) -> Time {
        arrival - self.network.link(from, to).flight()
    }

    /// Nothing a process does at t reaches another before t + lookahead. `largest` is the size of the
    /// largest message: when it cannot be a rendezvous, no acknowledgements travel.
    pub fn lookahead(&self, largest: u64) -> Time {
        let mut lookahead = self.network.lookahead();
        if self.network.may_rendezvous(largest) {
            for link in self.network.links() {
                lookahead = lookahead.min(acknowledgement_of(self.acknowledgement, link));
            }
        }
        lookahead
    }
}

fn acknowledgement_of(acknowledgement: Acknowledgement, link: &Link) -> Time {
    match acknowledgement {
        Acknowledgement::Latency => link.latency,
        Acknowledgement::Fixed(time) => time,
    }
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
