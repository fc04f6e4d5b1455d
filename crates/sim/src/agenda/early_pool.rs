//! Messages that came before their receives, of neighbouring processes with implicit steps.

use crate::message::Early;
use crate::prefetch::prefetch;
use straggler_model::{Rank, Tag, Time};
use straggler_schedule::OperationKind;

/// Each process has a list that is closed to a ring, so that its last member names the first.
#[derive(Debug, Default)]
pub struct EarlyPool {
    nodes: Vec<Node>,
    /// Place plus one of the first free node, 0 for none.
    free: u32,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    bytes: u64,
    done: Time,
    from: Rank,
    tag: Tag,
    /// Place plus one.
    next: u32,
}

impl EarlyPool {
    fn node(&mut self, place: u32) -> &mut Node {
        &mut self.nodes[place as usize - 1]
    }

    /// Adds behind `last` (0: to an empty ring) and gives the new last place.
    pub(crate) fn append(&mut self, last: u32, early: &Early) -> u32 {
        let place = if self.free != 0 {
            let place = self.free;
            self.free = self.node(place).next;
            place
        } else {
            self.nodes.push(Node { bytes: 0, done: Time::ZERO, from: 0, tag: 0, next: 0 });
            self.nodes.len() as u32
        };
        let first = if last == 0 { place } else { std::mem::replace(&mut self.node(last).next, place) };
        *self.node(place) =
            Node { bytes: early.bytes, done: early.done, from: early.from, tag: early.tag, next: first };
        place
    }

    /// Removes the first match from the ring that ends at `last`.
    pub(crate) fn remove(&mut self, last: &mut u32, source: Rank, tag: Tag) -> Option<Early> {
        let mut before = *last;
        loop {
            let place = self.node(before).next;
            let node = *self.node(place);
            let early = early_of(&node);
            if early.matches(source, tag) {
                self.node(before).next = node.next;
                if place == *last {
                    *last = if before == place { 0 } else { before };
                }
                self.node(place).next = self.free;
                self.free = place;
                return Some(early);
            }
            if place == *last {
                return None;
            }
            before = place;
        }
    }

    /// Asks for the memory of the last member of a ring.
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
            list.push(early_of(&self.nodes[place as usize - 1]));
            if place == last {
                break;
            }
        }
        list
    }
}

fn early_of(node: &Node) -> Early {
    Early {
        from: node.from,
        tag: node.tag,
        bytes: node.bytes,
        send: OperationKind::Send as u32,
        cpu: 0,
        nic: 0,
        done: node.done,
    }
}
