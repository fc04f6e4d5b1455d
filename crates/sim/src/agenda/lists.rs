//! Short lists of many processes in shared memory. A list is two numbers, and short lists need no allocation of their
//! own.

use crate::checkpoint::{Unsound, ensure};
use crate::prefetch::prefetch_at;
use serde::{Deserialize, Serialize};

/// Storage for the lists of one kind.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Slab<T> {
    nodes: Vec<Node<T>>,
    /// Place plus one of the first free node, 0 for none.
    free: u32,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Node<T> {
    item: T,
    /// Place plus one of the next node, 0 for none.
    next: u32,
}

/// A first-in, first-out list, stored in a slab.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct List {
    /// Place plus one, 0 for none.
    first: u32,
    last: u32,
}

/// A member of a list: its place plus one, and that of the member before it, 0 for none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor {
    before: u32,
    at: u32,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Slab { nodes: Vec::new(), free: 0 }
    }
}

impl<T: Copy> Slab<T> {
    #[inline(always)]
    fn node(&self, place: u32) -> &Node<T> {
        &self.nodes[place as usize - 1]
    }

    #[inline(always)]
    fn node_mut(&mut self, place: u32) -> &mut Node<T> {
        &mut self.nodes[place as usize - 1]
    }

    #[inline(always)]
    fn add(&mut self, item: T, next: u32) -> u32 {
        if self.free == 0 {
            self.nodes.push(Node { item, next });
            return self.nodes.len() as u32;
        }
        let place = self.free;
        let node = self.node_mut(place);
        let free = node.next;
        *node = Node { item, next };
        self.free = free;
        place
    }
}

/// Checks the lists of a slab that was read, one after the other.
pub(super) struct Check<'a, T> {
    slab: &'a Slab<T>,
    /// The nodes of the lists so far.
    seen: Vec<bool>,
}

impl<'a, T: Copy> Check<'a, T> {
    /// Begins with the free nodes.
    pub fn begin(slab: &'a Slab<T>) -> Result<Check<'a, T>, Unsound> {
        let mut check = Check { slab, seen: vec![false; slab.nodes.len()] };
        check.walk(slab.free)?;
        Ok(check)
    }

    pub fn list(&mut self, list: List) -> Result<(), Unsound> {
        ensure(self.walk(list.first)? == list.last, "a list does not end at its last member")
    }

    /// Marks a list and returns its last node, 0 if it is empty.
    fn walk(&mut self, first: u32) -> Result<u32, Unsound> {
        let (mut last, mut place) = (0, first);
        while place != 0 {
            let seen = self.seen.get_mut(place as usize - 1).ok_or("a list leads nowhere")?;
            ensure(!std::mem::replace(seen, true), "a list runs in a circle, or into another")?;
            (last, place) = (place, self.slab.nodes[place as usize - 1].next);
        }
        Ok(last)
    }
}

impl List {
    #[inline(always)]
    pub fn is_empty(self) -> bool {
        self.first == 0
    }

    /// Prefetches the first member.
    #[inline(always)]
    pub fn prefetch<T>(self, slab: &Slab<T>) {
        if self.first != 0 {
            prefetch_at(&slab.nodes, self.first as usize - 1);
        }
    }

    #[inline(always)]
    pub fn last<T: Copy>(self, slab: &Slab<T>) -> Option<&T> {
        if self.last == 0 { None } else { Some(&slab.node(self.last).item) }
    }

    #[inline(always)]
    pub fn push<T: Copy>(&mut self, slab: &mut Slab<T>, item: T) {
        let place = slab.add(item, 0);
        if self.last == 0 {
            self.first = place;
        } else {
            slab.node_mut(self.last).next = place;
        }
        self.last = place;
    }

    /// A cursor at the first member.
    #[inline(always)]
    pub fn start(self) -> Cursor {
        Cursor { before: 0, at: self.first }
    }

    #[inline(always)]
    pub fn pop<T: Copy>(&mut self, slab: &mut Slab<T>) -> Option<T> {
        if self.first == 0 { None } else { Some(self.pop_known(slab)) }
    }

    /// Removes the first member, which must exist.
    #[inline(always)]
    pub fn pop_known<T: Copy>(&mut self, slab: &mut Slab<T>) -> T {
        self.remove(slab, self.start())
    }

    /// Removes the member at the cursor, which must exist.
    #[inline(always)]
    pub fn remove<T: Copy>(&mut self, slab: &mut Slab<T>, Cursor { before, at }: Cursor) -> T {
        let free = slab.free;
        let node = slab.node_mut(at);
        let (item, next) = (node.item, node.next);
        node.next = free;
        slab.free = at;
        if before == 0 {
            self.first = next;
        } else {
            slab.node_mut(before).next = next;
        }
        if next == 0 {
            self.last = before;
        }
        item
    }

    /// Inserts before the cursor, or at the end if the cursor is past the last member.
    pub fn insert<T: Copy>(&mut self, slab: &mut Slab<T>, Cursor { before, at }: Cursor, item: T) {
        let place = slab.add(item, at);
        if before == 0 {
            self.first = place;
        } else {
            slab.node_mut(before).next = place;
        }
        if at == 0 {
            self.last = place;
        }
    }

    /// Finds the first member for which `is_it` holds. Returns a cursor to it, or past the end, and whether the
    /// search took more than `limit` steps.
    #[inline(always)]
    pub fn find<T: Copy>(self, slab: &Slab<T>, limit: u32, is_it: impl Fn(&T) -> bool) -> (Cursor, bool) {
        let mut cursor = self.start();
        let mut steps = 0;
        while cursor.at != 0 {
            let node = slab.node(cursor.at);
            if is_it(&node.item) {
                break;
            }
            cursor = Cursor { before: cursor.at, at: node.next };
            steps += 1;
        }
        (cursor, steps > limit)
    }

    /// The members from first to last.
    pub fn items<T: Copy>(self, slab: &Slab<T>) -> impl Iterator<Item = T> + '_ {
        let mut at = self.first;
        std::iter::from_fn(move || {
            let node = (at != 0).then(|| slab.node(at))?;
            at = node.next;
            Some(node.item)
        })
    }
}

impl Cursor {
    /// The member at the cursor, or None past the end.
    #[inline(always)]
    pub fn item<T: Copy>(self, slab: &Slab<T>) -> Option<&T> {
        if self.at == 0 { None } else { Some(&slab.node(self.at).item) }
    }

    /// The member before the cursor.
    #[inline(always)]
    pub fn previous<T: Copy>(self, slab: &Slab<T>) -> Option<&T> {
        if self.before == 0 { None } else { Some(&slab.node(self.before).item) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Lists that share a slab behave like separate queues.
        #[test]
        fn equals_queues(steps in prop::collection::vec((0usize..3, 0u8..4, 0u32..5), 1..200)) {
            let mut slab = Slab::default();
            let mut lists = [List::default(); 3];
            let mut queues: [Vec<u32>; 3] = Default::default();
            for (at, what, value) in steps {
                let (list, queue) = (&mut lists[at], &mut queues[at]);
                let place = queue.iter().position(|&known| known == value);
                match what {
                    0 | 1 => {
                        list.push(&mut slab, value);
                        queue.push(value);
                    }
                    2 => {
                        let (cursor, _) = list.find(&slab, 9, |&known| known == value);
                        prop_assert_eq!(cursor.item(&slab).copied(), place.map(|_| value));
                        prop_assert_eq!(cursor.previous(&slab).copied(), place.unwrap_or(queue.len()).checked_sub(1).map(|at| queue[at]));
                        if let Some(place) = place {
                            prop_assert_eq!(list.remove(&mut slab, cursor), queue.remove(place));
                        }
                    }
                    _ => {
                        let (cursor, _) = list.find(&slab, 9, |&known| known == value);
                        list.insert(&mut slab, cursor, value + 5);
                        queue.insert(place.unwrap_or(queue.len()), value + 5);
                    }
                }
                prop_assert_eq!(list.items(&slab).collect::<Vec<_>>(), queue.clone());
                prop_assert_eq!(list.last(&slab), queue.last());
            }
        }
    }
}
