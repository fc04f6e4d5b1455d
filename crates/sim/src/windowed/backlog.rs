//! Many messages of one process that wait for its CPU, after an incast or a long detour. Kept with the
//! process, so that they are not searched in every window.

use super::mail::{Mail, created_of};
use crate::agenda::two_heaps::TwoHeaps;
use crate::checkpoint::{Unsound, ensure};
use crate::host::Host;
use crate::latency::Latency;
use crate::message::{Body, Message, Stamp};
use crate::order::{Class, Key};
use crate::rules::{self, Rules};
use serde::{Deserialize, Serialize};
use straggler_model::Time;
use straggler_noise::Noise;

/// The resources a message waits for: a CPU and the receiving side of a NIC; None for acknowledgements.
type Lane = Option<(u8, u8)>;

#[derive(Debug, Serialize, Deserialize)]
#[serde(bound(serialize = "B: Body, S: bytemuck::Pod", deserialize = "B: Body, S: bytemuck::Pod"))]
pub(super) struct Backlog<B: Copy, S: Copy> {
    messages: Vec<Message<B, S>>,
    /// Places in `messages` that are free.
    free: Vec<u32>,
    lanes: Vec<(Lane, TwoHeaps)>,
    /// Counts insertions, which come in the order of sending for each source.
    inserted: usize,
    /// The lane and the key of the message that `first` has found.
    found: Option<(usize, Key)>,
    /// The last window for which the process was scheduled to wake.
    pub noted: u64,
}

impl<B: Copy, S: Copy> Default for Backlog<B, S> {
    fn default() -> Self {
        let (messages, free, lanes) = (Vec::new(), Vec::new(), Vec::new());
        Backlog { messages, free, lanes, inserted: 0, found: None, noted: 0 }
    }
}

impl<B: Body, S: Stamp> Backlog<B, S> {
    /// Checks a backlog that was read: every message is in exactly one heap, that of its lane, or is free.
    pub fn check(&self) -> Result<(), Unsound> {
        let mut seen = vec![false; self.messages.len()];
        let mut see = |place: u32| {
            let seen = seen.get_mut(place as usize).ok_or("a waiting message is nowhere")?;
            ensure(!std::mem::replace(seen, true), "a waiting message is in two lists")
        };
        self.free.iter().try_for_each(|&place| see(place))?;
        for (lane, heaps) in &self.lanes {
            for place in heaps.payloads() {
                see(place)?;
                let body = self.messages[place as usize].body;
                let waits = !(body.is_acknowledgement() || S::SEGMENTED && body.is_last_segment());
                let own = waits.then(|| (body.cpu(), body.nic()));
                ensure(own == *lane, "a message waits in another lane")?;
            }
        }
        ensure(seen.iter().all(|&seen| seen) && self.len() > 0, "a waiting message is in no list")?;
        ensure(self.inserted < usize::MAX / 2, "more messages came than there can be")
    }

    /// The waiting messages, in any order.
    pub fn messages(&self) -> impl Iterator<Item = &Message<B, S>> {
        let places = self.lanes.iter().flat_map(|(_, heaps)| heaps.payloads());
        places.filter_map(|place| self.messages.get(place as usize))
    }

    pub fn len(&self) -> usize {
        self.messages.len() - self.free.len()
    }

    pub fn push<N: Noise, L: Latency>(&mut self, message: Message<B, S>, rules: &Rules<'_, N, L>) {
        let body = message.body;
        self.inserted += 1;
        let (lane, order) = if S::SEGMENTED && body.is_last_segment() {
            (None, u64::from(message.from) << 32 | self.inserted as u64 & u64::from(u32::MAX))
        } else if body.is_acknowledgement() {
            (None, u64::from(body.send()))
        } else {
            let order = u64::from(message.from) << 32 | u64::from(body.sequence(self.inserted));
            (Some((body.cpu(), body.nic())), order)
        };
        let place = self.free.pop().unwrap_or(self.messages.len() as u32);
        match self.messages.get_mut(place as usize) {
            Some(slot) => *slot = message,
            None => self.messages.push(message),
        }
        let index = self.lanes.iter().position(|(known, _)| *known == lane).unwrap_or_else(|| {
            self.lanes.push((lane, TwoHeaps::default()));
            self.lanes.len() - 1
        });
        let created = created_of(&message, rules);
        self.lanes[index].1.push(Time(message.arrival), created, order, place);
    }
}

impl<B: Body, S: Stamp> Mail<B, S> for Backlog<B, S> {
    fn first<N: Noise, L: Latency>(&mut self, host: &impl Host, _: &Rules<'_, N, L>) -> (Time, usize) {
        let mut place = 0;
        self.found = None;
        for (index, (lane, heaps)) in self.lanes.iter_mut().enumerate() {
            let (free, class) = match *lane {
                Some((cpu, nic)) => (rules::message_eligible(host, cpu, nic, Time::ZERO), Class::Message),
                None => (Time::ZERO, Class::Acknowledgement),
            };
            let Some(first) = heaps.first(free) else { continue };
            let key = Key { eligible: first.eligible, created: first.created, class, order: first.order };
            if self.found.as_ref().is_none_or(|(_, least)| key < *least) {
                self.found = Some((index, key));
                place = first.payload as usize;
            }
        }
        (self.found.map_or(Time::NEVER, |(_, key)| key.eligible), place)
    }

    fn key<N: Noise, L: Latency>(&self, _: usize, _: &impl Host, _: &Rules<'_, N, L>) -> Key {
        self.found.map_or(Key::LAST, |(_, key)| key)
    }

    fn take(&mut self, place: usize) -> Option<Message<B, S>> {
        let (lane, _) = self.found.take()?;
        self.lanes[lane].1.pop();
        self.free.push(place as u32);
        self.messages.get(place).copied()
    }

    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::{Host, ManyLanes};
    use crate::latency::OfLink;
    use crate::message::Full;
    use crate::rules::Arrival;
    use crate::rules::Overlap;
    use crate::windowed::mail::Inbox;
    use proptest::prelude::*;
    use straggler_model::{Link, Network, PerByte};
    use straggler_noise::Silence;
    use straggler_schedule::Operation;

    fn network() -> Network {
        let link = Link {
            latency: Time(100),
            send_overhead: Time(0),
            recv_overhead: Time(10),
            gap: Time(7),
            gap_per_byte: PerByte::ZERO,
            overhead_per_byte: PerByte::ZERO,
            eager_limit: 1000,
            overlap_limit: u64::MAX,
        };
        Network::uniform("test", link)
    }

    proptest! {
        /// A backlog behaves like a plain list while the host's free times grow.
        #[test]
        fn equals_a_list(arrivals in prop::collection::vec((100u64..200, 0u32..3, 0u8..2, 0u8..2), 1..60)) {
            let network = network();
            let rules = Rules { network: &network, noise: &Silence, latency: OfLink, acknowledgement: Default::default(), overlap: Overlap::Never };
            let mut host = ManyLanes::new();
            let (mut list, mut backlog) = (Inbox::new(), Backlog::default());
            for (sequence, (arrival, from, cpu, nic)) in arrivals.into_iter().enumerate() {
                let operation = Operation { cpu, nic, ..Operation::send(1, 9, 0) };
                let body = Full::new(sequence as u32, sequence as u32, &operation);
                let message = Message { arrival, to: 9, from, body, stamp: () };
                list.push(message);
                backlog.push(message, &rules);
            }
            while !list.is_empty() {
                let (expected, place) = list.first(&host, &rules);
                let (found, in_backlog) = backlog.first(&host, &rules);
                prop_assert_eq!(found, expected);
                prop_assert_eq!(backlog.key(in_backlog, &host, &rules), list.key(place, &host, &rules));
                let (a, b) = (list.take(place).unwrap(), backlog.take(in_backlog).unwrap());
                prop_assert_eq!(a.body.send(), b.body.send());
                let (cpu, recv_free) = host.receiving(a.body.cpu(), a.body.nic());
                rules.message(Arrival { from: a.from, to: 9, transit: Default::default() }, cpu, recv_free, found, 1);
            }
            prop_assert!(backlog.is_empty());
        }
    }
}
