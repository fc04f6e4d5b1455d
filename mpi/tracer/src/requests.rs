//! Which requests are open: from the library's handles to numbers of our own.
//!
//! A handle is not unique: a library may hand out one for several operations that are over already, so each has
//! its numbers in order of creation.

use crate::abi::Handle;
use std::collections::{HashMap, VecDeque};
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
    /// A status has said that it was.
    pub was_cancelled: bool,
    /// A call waits for it or tests it.
    pub in_use: bool,
}

/// The open requests of one handle, in order of creation.
#[derive(Debug, Default)]
struct SameHandle {
    open: VecDeque<Open>,
    /// So many at the front are in use, at least.
    in_use: usize,
}

/// So many handles without open requests are remembered, to spare allocations.
const KEPT: usize = 4096;

/// All open requests of the process.
#[derive(Debug, Default)]
pub struct Requests {
    by_handle: ByHandle<SameHandle>,
    next: u32,
}

impl Requests {
    /// Numbers for `count` new requests.
    pub fn number(&mut self, count: u32) -> u32 {
        self.next = self.next.wrapping_add(count);
        self.next.wrapping_sub(count)
    }

    pub fn insert(&mut self, handle: Handle, open: Open) {
        self.by_handle.entry(handle).or_default().open.push_back(open);
    }

    /// The first request behind a handle that no call is waiting for or testing.
    pub fn find(&mut self, handle: Handle) -> Option<&mut Open> {
        let same = self.by_handle.get_mut(&handle)?;
        same.open.iter_mut().skip(same.in_use).find(|open| !open.in_use)
    }

    /// The same, for a call that waits for it or tests it: until the call is over, it is nobody else's. A library may hand
    /// out the handle again, to another thread, before the call that completed it has returned here.
    pub fn take(&mut self, handle: Handle) -> Option<Open> {
        let same = self.by_handle.get_mut(&handle)?;
        while same.open.get(same.in_use).is_some_and(|open| open.in_use) {
            same.in_use += 1;
        }
        let open = same.open.get_mut(same.in_use)?;
        open.in_use = true;
        let taken = *open;
        same.in_use += 1;
        Some(taken)
    }

    fn by_number(&mut self, handle: Handle, number: u32) -> Option<(&mut SameHandle, usize)> {
        let same = self.by_handle.get_mut(&handle)?;
        let place = same.open.iter().position(|open| open.number == number)?;
        Some((same, place))
    }

    /// The call is over and the request is not, or it is a persistent one.
    pub fn give_back(&mut self, handle: Handle, number: u32, still_active: bool) {
        if let Some((same, place)) = self.by_number(handle, number) {
            same.open[place].in_use = false;
            same.open[place].active &= still_active;
            same.in_use = same.in_use.min(place);
        }
    }

    /// Forgets a request that is over.
    pub fn remove(&mut self, handle: Handle, number: u32) {
        let Some((same, place)) = self.by_number(handle, number) else { return };
        same.open.remove(place);
        same.in_use -= usize::from(place < same.in_use);
        // Libraries use handles again: its place is kept, unless there are very many.
        if same.open.is_empty() && self.by_handle.len() > KEPT {
            self.by_handle.remove(&handle);
        }
    }
}
