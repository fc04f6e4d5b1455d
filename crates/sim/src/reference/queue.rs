//! The event queue of the reference engine: a monotone radix heap on time.
//!
//! Time never goes back: an event pushed is never earlier than the last one popped, and both ends assert it. Bucket i
//! holds the events whose time first differs from the last popped time in bit i. Events at that time itself come out
//! in the model's order: they are sorted when the time is reached, which is cheap if they were pushed in order.
//! Events pushed later at the same time go to a separate binary heap.

use crate::order::{Class, Key};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use straggler_model::Rank;

/// An event of a process. Between processes the order of equal keys is settled by rank.
pub(super) type Entry = (Key, Rank, u32);

#[derive(Debug)]
pub(super) struct RadixHeap {
    last: u64,
    len: usize,
    /// The events at time `last` that were known when it was reached, in reverse order. Not sorted before the first
    /// pop.
    now: Vec<Entry>,
    /// Whether an event was popped.
    popped: bool,
    /// The events at time `last` that were pushed since.
    fresh: BinaryHeap<Reverse<Entry>>,
    later: [Vec<Entry>; 64],
}

/// Fewer events are sorted without grouping them first.
const FEW: usize = 32;

/// The sort key of events at the same time.
#[inline(always)]
fn rest(&(key, rank, _): &Entry) -> (u64, u128) {
    let place = u128::from(key.class as u8) << 96 | u128::from(key.order) << 32 | u128::from(rank);
    (key.created.ps(), place)
}

impl RadixHeap {
    pub fn new() -> RadixHeap {
        RadixHeap {
            last: 0,
            len: 0,
            now: Vec::new(),
            popped: false,
            fresh: BinaryHeap::new(),
            later: std::array::from_fn(|_| Vec::new()),
        }
    }

    pub fn push(&mut self, entry: Entry) {
        let time = entry.0.eligible.ps();
        assert!(
            time >= self.last,
            "an event at {time} ps is pushed after one at {} ps was popped",
            self.last
        );
        self.len += 1;
        match (time ^ self.last).checked_ilog2() {
            Some(bit) => self.later[bit as usize].push(entry),
            None if self.popped => self.fresh.push(Reverse(entry)),
            None => self.now.push(entry),
        }
    }

    pub fn pop(&mut self) -> Option<Entry> {
        if !self.popped {
            self.popped = true;
            self.sort_now();
        }
        if self.now.is_empty() && self.fresh.is_empty() {
            self.advance()?;
        }
        self.len -= 1;
        let popped = match (self.now.last(), self.fresh.peek()) {
            (Some(known), Some(Reverse(fresh))) if rest(fresh) < rest(known) => self.pop_fresh(),
            (None, _) => self.pop_fresh(),
            _ => self.now.pop(),
        };
        assert!(popped.is_none_or(|(key, ..)| key.eligible.ps() == self.last), "an event is out of its time");
        popped
    }

    fn pop_fresh(&mut self) -> Option<Entry> {
        self.fresh.pop().map(|Reverse(entry)| entry)
    }

    /// Advances to the next time that has events. Returns None if there is none.
    fn advance(&mut self) -> Option<()> {
        let bucket = self.later.iter().position(|bucket| !bucket.is_empty())?;
        let mut entries = std::mem::take(&mut self.later[bucket]);
        self.last = entries.iter().map(|(key, ..)| key.eligible.ps()).min()?;
        for &entry in &entries {
            match (entry.0.eligible.ps() ^ self.last).checked_ilog2() {
                Some(bit) => self.later[bit as usize].push(entry),
                None => self.now.push(entry),
            }
        }
        entries.clear();
        self.later[bucket] = entries;
        self.sort_now();
        Some(())
    }

    fn sort_now(&mut self) {
        if self.now.len() > FEW {
            self.group();
        }
        // Stable, as that sort takes little time where the order is already there in parts.
        self.now.sort_by_key(|event| std::cmp::Reverse(rest(event)));
    }

    /// Groups events by class, and local operations by number, keeping the order of pushes within a group. Where all
    /// processes do the same at the same time and were served by rank, each group is already sorted.
    fn group(&mut self) {
        let number = |(key, ..): &Entry| match key.class {
            Class::Send | Class::Recv | Class::Calc => key.order,
            Class::LastSegment | Class::Acknowledgement | Class::Message => 0,
        };
        let largest = self.now.iter().map(number).max().unwrap_or(u64::MAX);
        if largest >= self.now.len() as u64 / 4 {
            return;
        }
        let width = largest as usize + 1;
        let group = |entry: &Entry| (entry.0.class as usize) * width + number(entry) as usize;
        let mut places = vec![0; (Class::Message as usize + 1) * width];
        self.now.iter().for_each(|entry| places[group(entry)] += 1);
        let mut start = 0;
        for place in &mut places {
            start += std::mem::replace(place, start);
        }
        let mut grouped = self.now.clone();
        for entry in &self.now {
            let place = &mut places[group(entry)];
            grouped[*place] = *entry;
            *place += 1;
        }
        self.now = grouped;
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.len
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use straggler_model::Time;

    const CLASSES: [Class; 5] =
        [Class::Acknowledgement, Class::Send, Class::Recv, Class::Calc, Class::Message];

    proptest! {
        /// Pops interleaved with pushes behave like a sorted set, with few and with many events at a time.
        #[test]
        fn equals_a_sorted_set(
            steps in prop::collection::vec(
                (0u32..4, prop_oneof![2 => 0u64..3, 1 => 0u64..50], 0u64..3, 0usize..5, 0u64..9),
                1..600,
            ),
            // So many are pushed before the first is popped: most are due at one of three times.
            first in 0usize..300,
            pops in 1u32..4,
        ) {
            let mut heap = RadixHeap::new();
            let mut set = std::collections::BTreeSet::new();
            let mut now = 0;
            for (rank, (step, delay, created, class, order)) in (0..).zip(steps) {
                if step < pops || (rank as usize) < first {
                    let eligible = Time(now + delay * delay * 1000);
                    let key = Key { eligible, created: Time(created), class: CLASSES[class], order };
                    let entry = (key, rank, 0);
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
