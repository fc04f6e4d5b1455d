//! The open requests: maps the library's handles to our own numbers.
//!
//! A handle is not unique: a library may return the same one for several operations that are
//! already complete. So each handle has a list of requests, in order of creation.

use crate::abi::Handle;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};
use straggler_trace::RequestId;

/// A hasher that spreads handles, which are addresses or small integers.
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
    /// Its number; for an active persistent request, that of the current start.
    pub number: RequestId,
    /// The number of the persistent request itself.
    pub persistent: Option<RequestId>,
    /// Whether a persistent request has been started and not completed.
    pub active: bool,
    /// Whether source or tag is a wildcard, so that the status tells who sent.
    pub wildcard: bool,
    /// Whether the program has asked to cancel it.
    pub cancelled: bool,
    /// Whether an MPI_Status has reported that it was cancelled.
    pub was_cancelled: bool,
    /// Whether a call is waiting for it or testing it.
    pub in_use: bool,
    /// Whether the call that began it is in the trace; not if recording was paused.
    pub recorded: bool,
    /// The buffer size of a receive in bytes, or [`Open::NO_ROOM`].
    pub room: u64,
}

impl Open {
    /// It does not receive a message.
    pub const NO_ROOM: u64 = u64::MAX;

    pub fn new(number: RequestId) -> Open {
        Open {
            number,
            persistent: None,
            active: false,
            wildcard: false,
            cancelled: false,
            was_cancelled: false,
            in_use: false,
            recorded: true,
            room: Open::NO_ROOM,
        }
    }

    pub fn receives(&self) -> bool {
        self.room != Open::NO_ROOM
    }
}

/// The open requests of one handle, in order of creation.
#[derive(Debug, Default)]
struct SameHandle {
    open: VecDeque<Open>,
    /// At least this many at the front are in use.
    in_use: usize,
}

/// Where the requests of a handle are stored, as long as one of them is open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slot(u32);

/// How many handles without open requests are kept, to avoid allocations.
const KEPT: usize = 4096;

/// All open requests of the process.
#[derive(Debug, Default)]
pub struct Requests {
    by_handle: ByHandle<u32>,
    places: Vec<SameHandle>,
    /// Places that belong to no handle.
    free: Vec<u32>,
    next: RequestId,
}

impl Requests {
    /// Reserves numbers for `count` new requests.
    pub fn number(&mut self, count: u32) -> RequestId {
        let first = self.next;
        self.next = first.wrapping_add(count);
        first
    }

    #[inline]
    pub fn insert(&mut self, handle: Handle, open: Open) {
        let place = *self.by_handle.entry(handle).or_insert_with(|| match self.free.pop() {
            Some(place) => place,
            None => {
                self.places.push(SameHandle::default());
                self.places.len() as u32 - 1
            }
        });
        self.places[place as usize].open.push_back(open);
    }

    fn place(&self, handle: Handle) -> Option<Slot> {
        self.by_handle.get(&handle).map(|&place| Slot(place))
    }

    /// The first request of a handle that no call is waiting for or testing.
    pub fn find(&mut self, handle: Handle) -> Option<&mut Open> {
        let Slot(place) = self.place(handle)?;
        let same = &mut self.places[place as usize];
        same.open.iter_mut().skip(same.in_use).find(|open| !open.in_use)
    }

    /// Like [`Requests::find`], for a call that waits for the request or tests it: until the call
    /// is over, no other call gets it. A library may return the same handle again, to another
    /// thread, before the call that completed the request has returned here. An inactive persistent
    /// request is left where it is.
    #[inline]
    pub fn take(&mut self, handle: Handle) -> Option<(Slot, Open)> {
        let place = self.place(handle)?;
        let same = &mut self.places[place.0 as usize];
        while same.open.get(same.in_use).is_some_and(|open| open.in_use) {
            same.in_use += 1;
        }
        let open = same.open.get_mut(same.in_use)?;
        let taken = *open;
        if open.persistent.is_none() || open.active {
            open.in_use = true;
            same.in_use += 1;
        }
        Some((place, taken))
    }

    #[inline]
    fn by_number(&mut self, place: Slot, number: RequestId) -> Option<(&mut SameHandle, usize)> {
        let same = self.places.get_mut(place.0 as usize)?;
        let nth = same.open.iter().position(|open| open.number == number)?;
        Some((same, nth))
    }

    /// Ends the use of a request that is not complete, or that is persistent.
    pub fn give_back(&mut self, place: Slot, number: RequestId, still_active: bool) {
        if let Some((same, nth)) = self.by_number(place, number) {
            same.open[nth].in_use = false;
            same.open[nth].active &= still_active;
            same.in_use = same.in_use.min(nth);
        }
    }

    /// Forgets a completed request.
    #[inline]
    pub fn remove(&mut self, place: Slot, handle: Handle, number: RequestId) {
        let Some((same, nth)) = self.by_number(place, number) else { return };
        if nth == 0 {
            same.open.pop_front();
        } else {
            same.open.remove(nth);
        }
        same.in_use -= usize::from(nth < same.in_use);
        // Libraries reuse handles: its place is kept, unless there are very many.
        if same.open.is_empty() && self.by_handle.len() > KEPT {
            self.by_handle.remove(&handle);
            self.free.push(place.0);
        }
    }

    /// Forgets a request of a handle, by its number.
    pub fn remove_found(&mut self, handle: Handle, number: RequestId) {
        if let Some(place) = self.place(handle) {
            self.remove(place, handle, number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(requests: &mut Requests, handle: Handle, count: usize) -> Vec<(Slot, RequestId)> {
        (0..count).map_while(|_| requests.take(handle).map(|(place, open)| (place, open.number))).collect()
    }

    #[test]
    fn equal_handles_are_taken_in_order_and_once() {
        let mut requests = Requests::default();
        (0..3).for_each(|number| requests.insert(7, Open::new(RequestId(number))));
        let taken = numbers(&mut requests, 7, 9);
        assert_eq!(taken.iter().map(|one| one.1).collect::<Vec<_>>(), [0, 1, 2].map(RequestId));
        assert!(requests.find(7).is_none());
        // The second completes, the others are open again.
        requests.remove(taken[1].0, 7, RequestId(1));
        requests.give_back(taken[2].0, RequestId(2), true);
        requests.give_back(taken[0].0, RequestId(0), true);
        assert_eq!(requests.find(7).map(|open| open.number), Some(RequestId(0)));
        assert_eq!(
            numbers(&mut requests, 7, 9).iter().map(|one| one.1).collect::<Vec<_>>(),
            [0, 2].map(RequestId)
        );
    }

    #[test]
    fn persistent_requests_at_rest_are_nobodys() {
        let mut requests = Requests::default();
        requests.insert(7, Open { persistent: Some(RequestId(4)), ..Open::new(RequestId(4)) });
        assert!(requests.take(7).is_some_and(|(_, open)| !open.active));
        assert!(requests.find(7).is_some_and(|open| !open.in_use));
        requests.find(7).unwrap().active = true;
        let (place, running) = requests.take(7).unwrap();
        assert!(running.active && requests.take(7).is_none());
        requests.give_back(place, RequestId(4), false);
        assert!(requests.find(7).is_some_and(|open| !open.active));
    }

    /// Compared with a list of open requests, with recurring handles and more of them than are kept.
    #[test]
    fn places_are_used_again() {
        let (mut requests, mut expected) =
            (Requests::default(), HashMap::<Handle, VecDeque<RequestId>>::new());
        let mut random = 1u64;
        for _ in 0..200_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let handle = (random >> 33) as usize % 9_000;
            let known = expected.entry(handle).or_default();
            if random >> 20 & 1 == 0 {
                let number = requests.number(1);
                requests.insert(handle, Open::new(number));
                known.push_back(number);
            } else {
                let taken = requests.take(handle);
                assert_eq!(taken.map(|(_, open)| open.number), known.pop_front());
                if let Some((place, open)) = taken {
                    requests.remove(place, handle, open.number);
                }
            }
        }
        assert!(requests.places.len() < 9_001);
    }
}
