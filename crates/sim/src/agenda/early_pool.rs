//! Messages that arrived before their receives, for neighbouring processes with implicit steps.

use crate::checkpoint::{Unsound, ensure};
use crate::message::Early;
use crate::prefetch::prefetch;
use serde::{Deserialize, Serialize};
use straggler_model::{Rank, Tag, Time};
use straggler_schedule::OperationKind;
use straggler_schedule::graph::ANY;

/// Each process has a circular list, whose last member points to the first.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct EarlyPool {
    nodes: Vec<Node>,
    /// When the bytes of the message at each place have arrived, if that is not when it ran; nothing beyond the end.
    late: Vec<Late>,
    /// Place plus one of the first free node, 0 for none.
    free: u32,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Node {
    /// In two halves, so that a node takes 20 bytes.
    bytes: [u32; 2],
    from: Rank,
    tag: Tag,
    /// Place plus one.
    next: u32,
}

/// When the bytes of a message have arrived, and whether its last segment, by the message's number, still has to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Late {
    pub done: Time,
    pub number: u32,
    pub partial: bool,
}

impl Late {
    pub fn of(early: &Early) -> Late {
        Late { done: early.done, number: early.number, partial: early.partial }
    }
}

const _: () = assert!(size_of::<Node>() == 20);

impl EarlyPool {
    /// Checks a pool that was read, with the last places of all its rings.
    pub(crate) fn check(&self, rings: impl Iterator<Item = u32>) -> Result<(), Unsound> {
        ensure(self.late.len() <= self.nodes.len(), "early messages end before their times")?;
        let mut seen = vec![false; self.nodes.len()];
        let mut walk = |first: u32, last: u32| {
            let mut place = first;
            while place != 0 {
                let seen = seen.get_mut(place as usize - 1).ok_or("an early message is nowhere")?;
                ensure(!std::mem::replace(seen, true), "early messages are in a circle, or in two lists")?;
                if place == last {
                    break;
                }
                place = self.nodes[place as usize - 1].next;
            }
            ensure(place == last, "early messages do not end at the last")
        };
        walk(self.free, 0)?;
        for last in rings.filter(|&last| last != 0) {
            let first = self.nodes.get(last as usize - 1).ok_or("an early message is nowhere")?.next;
            walk(first, last)?;
        }
        Ok(())
    }

    fn node(&mut self, place: u32) -> &mut Node {
        &mut self.nodes[place as usize - 1]
    }

    /// Returns a free place. There may be as many as processes, so the list grows by a quarter instead of doubling.
    #[inline(always)]
    fn take_free(&mut self) -> u32 {
        if self.free != 0 {
            let place = self.free;
            self.free = self.node(place).next;
            return place;
        }
        if self.nodes.len() == self.nodes.capacity() {
            self.nodes.reserve_exact(self.nodes.len() / 4 + 64);
        }
        self.nodes.push(Node::default());
        self.nodes.len() as u32
    }

    /// Adds a message after `last` (0: to an empty ring) and returns the new last place.
    #[inline(always)]
    pub(crate) fn append(&mut self, last: u32, from: (Rank, Tag), bytes: u64, late: Late) -> u32 {
        let place = self.append_whole(last, from, bytes);
        // Mostly known when this is compiled.
        if late != Late::default() {
            self.note_late(place, late);
        }
        place
    }

    fn append_whole(&mut self, last: u32, (from, tag): (Rank, Tag), bytes: u64) -> u32 {
        let place = self.take_free();
        let first = if last == 0 { place } else { std::mem::replace(&mut self.node(last).next, place) };
        let bytes = [bytes as u32, (bytes >> 32) as u32];
        *self.node(place) = Node { bytes, from, tag, next: first };
        if !self.late.is_empty() {
            self.note_late(place, Late::default());
        }
        place
    }

    #[inline(never)]
    fn note_late(&mut self, place: u32, late: Late) {
        if self.late.len() < place as usize {
            self.late.resize(place as usize, Late::default());
        }
        self.late[place as usize - 1] = late;
    }

    /// Removes the first match from the ring that ends at `last`.
    pub(crate) fn remove(&mut self, last: &mut u32, source: Rank, tag: Tag) -> Option<Early> {
        let place = self.unlink(last, source, tag);
        (place != 0).then(|| self.early(place))
    }

    /// Like [`EarlyPool::remove`], but only returns whether there was a match.
    #[inline(always)]
    pub(crate) fn discard(&mut self, last: &mut u32, source: Rank, tag: Tag) -> bool {
        self.unlink(last, source, tag) != 0
    }

    /// Removes the first match from the ring that ends at `last`. Returns its place, which is now free, or 0.
    #[inline(never)]
    fn unlink(&mut self, last: &mut u32, source: Rank, tag: Tag) -> u32 {
        let mut before = *last;
        loop {
            let place = self.node(before).next;
            let Node { from, tag: sent_tag, next, .. } = *self.node(place);
            if (from == source || source == ANY) && (sent_tag == tag || tag == ANY) {
                self.node(before).next = next;
                self.node(place).next = self.free;
                self.free = place;
                if place == *last {
                    *last = if before == place { 0 } else { before };
                }
                return place;
            }
            if place == *last {
                return 0;
            }
            before = place;
        }
    }

    /// Prefetches the last member of a ring.
    #[inline(always)]
    pub(crate) fn prefetch(&self, last: u32) {
        if last != 0
            && let Some(node) = self.nodes.get(last as usize - 1)
        {
            prefetch(node);
        }
    }

    /// The messages of the ring that ends at `last`, in order.
    pub(crate) fn ring(&self, last: u32) -> Vec<Early> {
        let mut list = Vec::new();
        let mut place = last;
        while place != 0 {
            place = self.nodes[place as usize - 1].next;
            list.push(self.early(place));
            if place == last {
                break;
            }
        }
        list
    }

    fn early(&self, place: u32) -> Early {
        let index = place as usize - 1;
        let Node { bytes: [low, high], from, tag, .. } = self.nodes[index];
        let bytes = u64::from(low) | u64::from(high) << 32;
        let Late { done, number, partial } = self.late.get(index).copied().unwrap_or_default();
        Early {
            from,
            tag,
            bytes,
            send: OperationKind::Send as u32,
            done,
            number,
            partial,
            ..Early::default()
        }
    }
}
