//! What processes record of the messages they have sent, if latencies are drawn: how many there were, and until when
//! those in flight hold back later ones. Messages from one process to another never overtake each other.
//!
//! Only messages that could still be overtaken are kept, one for each destination: usually none or one.

use crate::checkpoint::{Unsound, ensure};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use straggler_model::{Rank, Time};

/// What the processes of a block record of the messages they have sent.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Lanes {
    first: Rank,
    /// A message sent at t never arrives before t + `lookahead`.
    lookahead: Time,
    senders: Vec<Sender>,
    flights: Vec<Flight>,
    /// Place plus one of the first free flight, 0 for none.
    free: u32,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Sender {
    sent: u32,
    /// Place plus one of its first flight, 0 for none.
    flights: u32,
}

/// The last message to a destination that a later one could overtake.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Flight {
    arrival: Time,
    to: Rank,
    next: u32,
}

impl Lanes {
    pub fn new(ranks: Range<Rank>, lookahead: Time) -> Lanes {
        let senders = vec![Sender::default(); ranks.len()];
        Lanes { first: ranks.start, lookahead, senders, ..Lanes::default() }
    }

    /// Checks a record that was read; `new` is that of the same processes before they run.
    pub fn check(&self, new: &Lanes) -> Result<(), Unsound> {
        let is_same =
            (self.first, self.lookahead, self.senders.len()) == (new.first, new.lookahead, new.senders.len());
        ensure(is_same, "messages in flight are those of other processes")?;
        let mut seen = vec![false; self.flights.len()];
        for first in self.senders.iter().map(|sender| sender.flights).chain([self.free]) {
            let mut place = first;
            while place != 0 {
                let seen = seen.get_mut(place as usize - 1).ok_or("a message in flight is nowhere")?;
                ensure(
                    !std::mem::replace(seen, true),
                    "messages in flight are in a circle, or in two lists",
                )?;
                place = self.flights[place as usize - 1].next;
            }
        }
        Ok(())
    }

    /// Counts a message of a process. Returns how many it has sent before.
    #[inline(always)]
    pub fn count(&mut self, from: Rank) -> u32 {
        let sent = &mut self.senders[(from - self.first) as usize].sent;
        let number = *sent;
        *sent = sent.wrapping_add(1);
        number
    }

    /// Returns when a message arrives that is sent at `t` and could arrive at `arrival`: not before earlier messages
    /// to the same destination. A process must send in order of time.
    pub fn arrival(&mut self, from: Rank, to: Rank, t: Time, mut arrival: Time) -> Time {
        let sender = (from - self.first) as usize;
        let earliest = t + self.lookahead;
        let (mut before, mut place) = (0, self.senders[sender].flights);
        while place != 0 {
            let Flight { arrival: held_until, to: held, next } = self.flights[place as usize - 1];
            if held == to {
                arrival = arrival.max(held_until);
            }
            if held == to || held_until <= earliest {
                *self.link(sender, before) = next;
                self.flights[place as usize - 1].next = std::mem::replace(&mut self.free, place);
            } else {
                before = place;
            }
            place = next;
        }
        if arrival > earliest {
            self.keep(sender, to, arrival);
        }
        arrival
    }

    /// The link to the flight behind `before`; 0 is the sender itself.
    fn link(&mut self, sender: usize, before: u32) -> &mut u32 {
        match before {
            0 => &mut self.senders[sender].flights,
            place => &mut self.flights[place as usize - 1].next,
        }
    }

    fn keep(&mut self, sender: usize, to: Rank, arrival: Time) {
        let next = self.senders[sender].flights;
        let flight = Flight { arrival, to, next };
        let place = if self.free == 0 {
            self.flights.push(flight);
            self.flights.len() as u32
        } else {
            let place = self.free;
            let room = &mut self.flights[place as usize - 1];
            self.free = std::mem::replace(room, flight).next;
            place
        };
        self.senders[sender].flights = place;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        /// Arrivals are the same as if the last arrival of every pair were kept forever.
        #[test]
        fn nothing_overtakes(sends in prop::collection::vec((0u32..3, 0u32..4, 0u64..20, 0u64..60), 1..100)) {
            let (mut lanes, lookahead) = (Lanes::new(5..8, Time(10)), 10);
            let (mut last, mut now) = (HashMap::new(), [0; 3]);
            for (from, to, pause, more) in sends {
                now[from as usize] += pause;
                let t = now[from as usize];
                let own = t + lookahead + more;
                let arrival = lanes.arrival(5 + from, to, Time(t), Time(own));
                let held = last.entry((from, to)).or_insert(0);
                *held = own.max(*held);
                prop_assert_eq!(arrival, Time(*held));
            }
        }
    }

    #[test]
    fn only_what_can_be_overtaken_is_kept() {
        let mut lanes = Lanes::new(0..1, Time(10));
        for t in 0..1000 {
            lanes.arrival(0, t, Time(u64::from(t) * 100), Time(u64::from(t) * 100 + 50));
            assert_eq!(lanes.flights.len(), 1);
        }
        assert_eq!((lanes.count(0), lanes.count(0)), (0, 1));
    }
}
