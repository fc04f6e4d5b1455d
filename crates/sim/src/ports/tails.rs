//! Messages of several segments whose last one arrives after the message has run, or before.

use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use straggler_model::{Rank, Time};

/// A message: its receiver, its source, and its number there.
type Key = (Rank, Rank, u32);

/// What completes with the last segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum Whole {
    /// A receive, by its number.
    Receive(u32),
    /// The arrival of a message at a program that takes all messages.
    Arrival { tag: u32, bytes: u64 },
}

/// Something that waits for the last segment of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Awaited {
    pub what: Whole,
    /// When the event ran that it belongs to.
    pub created: Time,
    /// When it completes unless the last segment is later.
    pub done: Time,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Tail {
    /// The last segment has arrived, and nothing waits for it yet.
    Came(Time),
    Awaited(Awaited),
}

/// By message.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Tails {
    open: HashMap<Key, Tail>,
}

impl Tails {
    /// Waits for the last segment of a message. Returns when it arrived, if it has.
    pub fn wait(&mut self, message: Key, awaited: Awaited) -> Option<Time> {
        match self.open.insert(message, Tail::Awaited(awaited)) {
            Some(Tail::Came(at)) => {
                self.open.remove(&message);
                Some(at)
            }
            _ => None,
        }
    }

    /// The last segment of a message has arrived. Returns what waits for it.
    pub fn came(&mut self, message: Key, at: Time) -> Option<Awaited> {
        match self.open.remove(&message) {
            Some(Tail::Awaited(awaited)) => Some(awaited),
            _ => {
                self.open.insert(message, Tail::Came(at));
                None
            }
        }
    }

    /// The receives of a process that wait for last segments.
    pub fn receives(&self) -> impl Iterator<Item = (Rank, u32)> + '_ {
        self.open.iter().filter_map(|(&(rank, ..), tail)| match tail {
            Tail::Awaited(Awaited { what: Whole::Receive(id), .. }) => Some((rank, *id)),
            _ => None,
        })
    }

    /// The receivers and sources of all messages.
    pub fn ends(&self) -> impl Iterator<Item = (Rank, Rank)> + '_ {
        self.open.keys().map(|&(rank, from, _)| (rank, from))
    }
}
