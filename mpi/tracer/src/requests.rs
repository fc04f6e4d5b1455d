//! Which requests are open: from the library's handles to numbers of our own.
//!
//! A handle is not unique: a library may hand out one for several operations that are over already, so each has
//! its numbers in order of creation.

use crate::abi::Handle;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Spreads handles, which are addresses or small integers.
#[derive(Clone, Copy, Default, Debug)]
pub struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_usize(usize::from(byte)));
    }
    #[inline(always)]
    fn write_usize(&mut self, value: usize) {
        let mixed = (self.0 ^ value as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ mixed >> 32;
    }
}

pub type ByHandle<T> = HashMap<Handle, T, BuildHasherDefault<Spread>>;

/// One open request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Open {
    /// Its number; of a persistent request that runs, that of this run.
    pub number: u32,
    /// The number of the persistent request itself.
    pub persistent: Option<u32>,
    /// Of a persistent request: it has been started and not completed.
    pub active: bool,
    /// The source or the tag is open: the status tells who it was.
    pub wildcard: bool,
    /// The program has asked to cancel it.
    pub cancelled: bool,
}

/// All open requests of the process.
#[derive(Debug, Default)]
pub struct Requests {
    first: ByHandle<Open>,
    /// Further requests of the same handle, in order.
    more: ByHandle<Vec<Open>>,
    next: u32,
}

impl Requests {
    /// Numbers for `count` new requests.
    pub fn number(&mut self, count: u32) -> u32 {
        self.next = self.next.wrapping_add(count);
        self.next.wrapping_sub(count)
    }

    pub fn insert(&mut self, handle: Handle, open: Open) {
        use std::collections::hash_map::Entry;
        match self.first.entry(handle) {
            Entry::Vacant(place) => {
                place.insert(open);
            }
            Entry::Occupied(_) => self.more.entry(handle).or_default().push(open),
        }
    }

    /// Whether any handle stands for more than one request.
    #[inline]
    pub fn has_doubles(&self) -> bool {
        !self.more.is_empty()
    }

    /// The request behind a handle; the `nth` one, if there are several.
    pub fn find(&mut self, handle: Handle, nth: usize) -> Option<&mut Open> {
        match nth.checked_sub(1) {
            None => self.first.get_mut(&handle),
            Some(place) => self.more.get_mut(&handle).and_then(|more| more.get_mut(place)),
        }
    }

    /// Forgets a request that is over.
    pub fn remove(&mut self, handle: Handle, number: u32) {
        use std::collections::hash_map::Entry;
        let Entry::Occupied(mut first) = self.first.entry(handle) else { return };
        let is_first = first.get().number == number;
        // Handles that stand for several requests are rare.
        let Some(more) = (!self.more.is_empty()).then(|| self.more.get_mut(&handle)).flatten() else {
            if is_first {
                first.remove();
            }
            return;
        };
        if is_first {
            first.insert(more.remove(0));
        } else {
            more.retain(|open| open.number != number);
        }
        if more.is_empty() {
            self.more.remove(&handle);
        }
    }
}
