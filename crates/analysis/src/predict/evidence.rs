//! What calls show about the network: equations between a time and the parameters.
//!
//! A call that received messages ends when the last of them has been handled. Each costs the receiver o_r + (k−1)·G,
//! one after the other, and none is handled before it arrives, o_s + L after its send began. So the call ends that
//! long after the last event that delayed it: its own start, if all messages were there by then, or the send of one of
//! them. Messages of a window of sends queue behind each other, and only one flight counts.

use super::joints::{Joint, joints};
use super::pairs::Pair;
use straggler_trace::{Class, Collective, Function, Trace};

/// Assumed parameters, in picoseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Costs {
    /// o_s.
    pub send: f64,
    /// O.
    pub sent_byte: f64,
    /// o_s + L + o_r: from the start of a send to the end of its receive.
    pub flight: f64,
    /// o_r.
    pub receive: f64,
    /// G.
    pub byte: f64,
}

impl Costs {
    /// Whether no cost differs by more than this share.
    pub fn is_about(&self, other: &Costs, share: f64) -> bool {
        let all = |costs: &Costs| [costs.send, costs.sent_byte, costs.flight, costs.receive, costs.byte];
        let close = |(one, other): (f64, f64)| (one - other).abs() <= share * one.abs().max(other.abs());
        all(self).into_iter().zip(all(other)).all(close)
    }

    /// The time that the evidence should have.
    pub fn cost(&self, evidence: &Evidence) -> f64 {
        evidence.flights * self.flight + evidence.others() * self.receive + evidence.bytes * self.byte
    }
}

/// A time made up of flights, receives and bytes.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Evidence {
    /// The collective it comes from; none for messages.
    pub collective: Option<Function>,
    /// Consecutive flights, each with its receive.
    pub flights: f64,
    pub receives: f64,
    pub bytes: f64,
    pub time: f64,
}

impl Evidence {
    /// The bytes of one message, minus the first.
    pub fn size(&self) -> f64 {
        self.bytes / self.receives
    }

    /// Receives that did not wait for a flight.
    pub fn others(&self) -> f64 {
        self.receives - self.flights
    }
}

/// A send that does not wait takes o_s + (k−1)·O, which has the form of a flight.
pub(super) fn of_send(pair: &Pair) -> Evidence {
    let time = pair.sent.1.since(pair.sent.0).ps() as f64;
    Evidence { flights: 1.0, receives: 1.0, bytes: paid(pair.bytes), time, collective: None }
}

/// The bytes that a message is charged for.
fn paid(bytes: u64) -> f64 {
    bytes.saturating_sub(1) as f64
}

/// What delayed a call that received these messages, and what it did from then on.
pub(super) fn of_receipt(messages: &[Pair], costs: &Costs) -> Option<Evidence> {
    let first = messages.first()?;
    let waited = &first.waited;
    let (since, exit) = (waited.since.ps() as f64, first.received.1.since(waited.apart).ps() as f64);
    let sending = f64::from(waited.sends) * costs.send + waited.bytes as f64 * costs.sent_byte;
    // Part of the time went into receiving, whatever the assumed cost of sends.
    let mut start = since + sending.min((exit - since) / 2.0).max(0.0);
    let mut free = start;
    let mut held = Evidence::default();
    for pair in messages {
        let sent = pair.sent.0.ps() as f64;
        let arrival = sent + costs.flight - costs.receive;
        if arrival > free {
            (start, free) = (sent, arrival);
            held = Evidence { flights: 1.0, ..Evidence::default() };
        }
        held.receives += 1.0;
        held.bytes += paid(pair.bytes);
        free += costs.receive + paid(pair.bytes) * costs.byte;
    }
    // A call that completed other operations too may have been busy with them.
    let only = held.flights > 0.0 || waited.sends > 0 || first.served <= messages.len();
    (only && exit > start).then_some(Evidence { time: exit - start, ..held })
}

/// Collectives in which all ranks wait for all others. From the last to enter to the last to leave, there are as many
/// consecutive flights as the usual algorithm has rounds. The first one on a communicator sets up connections and does
/// not count.
pub(super) fn of_collectives(trace: &Trace) -> Vec<Evidence> {
    let mut found = Vec::new();
    for joints in joints(trace) {
        let later = if joints.len() > 1 { &joints[1..] } else { &joints };
        found.extend(later.iter().filter_map(of_joint));
    }
    found
}

fn of_joint(joint: &Joint) -> Option<Evidence> {
    let Joint { function, members, .. } = *joint;
    let (rounds, block) = match function.class() {
        Class::Collective(Collective::Barrier | Collective::Allreduce | Collective::Allgather, _) => {
            (u32::BITS - members.saturating_sub(1).leading_zeros(), joint.sent)
        }
        Class::Collective(Collective::Alltoall, _) => (members.saturating_sub(1), joint.sent),
        // The call records the sum of its blocks.
        Class::Collective(Collective::Alltoallv, _) => {
            (members.saturating_sub(1), joint.sent / u64::from(members.max(1)))
        }
        _ => return None,
    };
    let flights = f64::from(rounds);
    let evidence = Evidence {
        collective: Some(function),
        flights,
        receives: flights,
        bytes: flights * paid(block),
        time: joint.span.ps() as f64,
    };
    (rounds > 0 && evidence.time > 0.0).then_some(evidence)
}
