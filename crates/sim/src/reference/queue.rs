//! The event queue of the reference engine: a monotone radix heap on time.
//!
//! Time never goes back: an event pushed is never earlier than the last one popped, and both ends
//! assert it. Bucket i > 0 holds the events whose time first differs from the last popped time in bit
//! i - 1; bucket 0 those at that very time, in a binary heap by the rest of their key, since equal times
//! must come out in the model's order. An event moves at most 64 times, each time to a lower bucket.

use crate::order::Key;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use straggler_model::Rank;

/// An event of a process. Between processes the order of equal keys is settled by rank.
pub(super) type Entry = (Key, Rank, u32);

#[derive(Debug)]
pub(super) struct RadixHeap {
    last: u64,
    len: usize,
    now: BinaryHeap<Reverse<Entry>>,
    later: [Vec<Entry>; 64],
}

impl RadixHeap {
    pub fn new() -> RadixHeap {
        RadixHeap { last: 0, len: 0, now: BinaryHeap::new(), later: std::array::from_fn(|_| Vec::new()) }
    }

    pub fn push(&mut self, entry: Entry) {
        let time = entry.0.eligible.ps();
        assert!(
            time >= self.last,
            "an event at {time} ps is pushed after one at {} ps was popped",
            self.last
        );
        self.len += 1;
        self.place(entry, time);
    }

    fn place(&mut self, entry: Entry, time: u64) {
        match (time ^ self.last).checked_ilog2() {
            None => self.now.push(Reverse(entry)),
            Some(bit) => self.later[bit as usize].push(entry),
        }
    }

    pub fn pop(&mut self) -> Option<Entry> {
        if self.now.is_empty() {
            let bucket = self.later.iter().position(|bucket| !bucket.is_empty())?;
            let entries = std::mem::take(&mut self.later[bucket]);
            self.last = entries.iter().map(|(key, ..)| key.eligible.ps()).min()?;
            for &entry in &entries {
                self.place(entry, entry.0.eligible.ps());
            }
            let mut entries = entries;
            entries.clear();
            self.later[bucket] = entries;
        }
        self.len -= 1;
        self.now.pop().map(|Reverse(entry)| entry)
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.len
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::Class;
    use proptest::prelude::*;
    use straggler_model::Time;

    fn entry(eligible: u64, created: u64, order: u64) -> Entry {
        (Key { eligible: Time(eligible), created: Time(created), class: Class::Calc, order }, 0, 0)
    }

    proptest! {
        /// Pops interleaved with pushes give what a sorted set gives.
        #[test]
        fn equals_a_sorted_set(steps in prop::collection::vec((any::<bool>(), 0u64..50, 0u64..3), 1..200)) {
            let mut heap = RadixHeap::new();
            let mut set = std::collections::BTreeSet::new();
            let mut now = 0;
            for (order, (push, delay, created)) in steps.into_iter().enumerate() {
                if push {
                    let entry = entry(now + delay * delay * 1000, created, order as u64);
                    heap.push(entry);
                    set.insert(entry);
                } else {
                    let popped = heap.pop();
                    prop_assert_eq!(popped, set.pop_first());
                    now = popped.map_or(now, |(key, ..)| key.eligible.ps());
                }
                prop_assert_eq!(heap.len(), set.len());
            }
        }
    }
}
