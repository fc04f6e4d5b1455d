//! Events that wait for the same resource, each found in logarithmic time.
//!
//! An event is eligible at its own time or when its resource is free, whichever is later. So there are two
//! heaps: events that wait for their own time, and events that only wait for the resource, which are all
//! eligible at once and ordered by the rest of the key. Free times only grow, so events move from the
//! first heap to the second and never back.

use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use straggler_model::Time;

/// An event: when it was created, its order among those created then, and where its details are.
type Rest = (Time, u64, u32);

#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct TwoHeaps {
    waiting: BinaryHeap<Reverse<(Time, Rest)>>,
    eligible: BinaryHeap<Reverse<Rest>>,
}

/// The first event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct First {
    pub eligible: Time,
    pub created: Time,
    pub order: u64,
    pub payload: u32,
}

impl TwoHeaps {
    pub fn push(&mut self, own: Time, created: Time, order: u64, payload: u32) {
        self.waiting.push(Reverse((own, (created, order, payload))));
    }

    /// The first event if the resource is busy until `free`, which must never decrease.
    pub fn first(&mut self, free: Time) -> Option<First> {
        while let Some(&Reverse((own, rest))) = self.waiting.peek()
            && own <= free
        {
            self.waiting.pop();
            self.eligible.push(Reverse(rest));
        }
        let (eligible, (created, order, payload)) = match (self.eligible.peek(), self.waiting.peek()) {
            (Some(&Reverse(rest)), _) => (free, rest),
            (None, Some(&Reverse(waiting))) => waiting,
            (None, None) => return None,
        };
        Some(First { eligible, created, order, payload })
    }

    /// Removes the event that `first` has just found.
    pub fn pop(&mut self) {
        if self.eligible.pop().is_none() {
            self.waiting.pop();
        }
    }

    /// The payloads of all events, in any order.
    pub fn payloads(&self) -> impl Iterator<Item = u32> + '_ {
        let waiting = self.waiting.iter().map(|&Reverse((_, (.., payload)))| payload);
        waiting.chain(self.eligible.iter().map(|&Reverse((.., payload))| payload))
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.eligible.is_empty()
    }
}
