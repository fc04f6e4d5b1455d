//! The requests of one rank, looked up by the handles that a trace uses.
//!
//! A handle is whatever the foreign trace writes: the number of a request, or the address of the
//! variable that holds it. Handles recur: a library reuses the handle of a finished request, and
//! some return the same handle for several that are already complete. So a handle stands for a list
//! of open requests, and each occurrence of it in the list of a wait stands for another one of them.

use std::collections::HashMap;
use std::hash::Hash;
use straggler_trace::RequestId;

/// Which of several open requests with the same handle is meant first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Meant {
    /// Handles are numbers: the requests are interchangeable and taken in order of creation.
    Oldest,
    /// Handles are variables: the last value written is the one left.
    Newest,
}

/// A request that is neither complete nor freed.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// Its number as a prepared operation, which can be started repeatedly.
    prepared: Option<RequestId>,
    /// Its number as an active operation.
    active: Option<RequestId>,
}

#[derive(Debug)]
pub(super) struct Requests<Handle> {
    meant: Meant,
    next: RequestId,
    open: HashMap<Handle, Vec<Slot>>,
}

impl<Handle: Copy + Eq + Hash> Requests<Handle> {
    pub fn new(meant: Meant) -> Requests<Handle> {
        Requests { meant, next: RequestId(0), open: HashMap::new() }
    }

    /// Registers a new active operation.
    pub fn made(&mut self, handle: Handle) -> RequestId {
        let number = self.number();
        self.insert(handle, Slot { prepared: None, active: Some(number) });
        number
    }

    /// Registers a new prepared operation.
    pub fn prepared(&mut self, handle: Handle) -> RequestId {
        let number = self.number();
        self.insert(handle, Slot { prepared: Some(number), active: None });
        number
    }

    /// Starts a prepared operation. Returns its number and that of the active operation.
    pub fn begun(&mut self, handle: Handle) -> Option<(RequestId, RequestId)> {
        let next = self.next;
        let slots = self.open.get_mut(&handle)?;
        let slot = slots.iter_mut().find(|slot| slot.prepared.is_some() && slot.active.is_none())?;
        slot.active = Some(next);
        let prepared = slot.prepared?;
        Some((prepared, self.number()))
    }

    /// The active operation of each handle in a list; a repeated handle stands for the next one of its requests.
    pub fn listed(&self, handles: &[Handle]) -> Vec<Option<RequestId>> {
        let mut seen: HashMap<Handle, usize> = HashMap::new();
        let mut find = |handle: &Handle| {
            let nth = seen.entry(*handle).or_insert(0);
            *nth += 1;
            self.nth(handle, *nth - 1)
        };
        handles.iter().map(&mut find).collect()
    }

    /// Completes `request`, known by this handle: a prepared one can be started again, any other is removed.
    pub fn completed(&mut self, handle: Handle, request: RequestId) {
        let Some(slots) = self.open.get_mut(&handle) else { return };
        let Some(at) = slots.iter().position(|slot| slot.active == Some(request)) else { return };
        match slots.get_mut(at) {
            Some(slot) if slot.prepared.is_some() => slot.active = None,
            _ => {
                slots.remove(at);
            }
        }
        if slots.is_empty() {
            self.open.remove(&handle);
        }
    }

    /// Frees a request by its handle.
    pub fn freed(&mut self, handle: Handle) -> Option<RequestId> {
        let slots = self.open.get_mut(&handle)?;
        let slot = match self.meant {
            Meant::Oldest if slots.is_empty() => None,
            Meant::Oldest => Some(slots.remove(0)),
            Meant::Newest => slots.pop(),
        }?;
        if slots.is_empty() {
            self.open.remove(&handle);
        }
        slot.active.or(slot.prepared)
    }

    /// All active operations, oldest first.
    pub fn under_way(&self) -> Vec<(Handle, RequestId)> {
        let slots =
            self.open.iter().flat_map(|(handle, slots)| slots.iter().map(move |slot| (*handle, slot.active)));
        let mut all: Vec<_> = slots.filter_map(|(handle, active)| Some((handle, active?))).collect();
        all.sort_by_key(|(_, request)| *request);
        all
    }

    /// Prepared operations that are not active, by their own numbers.
    pub fn idle(&self) -> Vec<(Handle, RequestId)> {
        let slots =
            self.open.iter().flat_map(|(handle, slots)| slots.iter().map(move |slot| (*handle, slot)));
        let idle = slots.filter(|(_, slot)| slot.active.is_none());
        idle.filter_map(|(handle, slot)| Some((handle, slot.prepared?))).collect()
    }

    fn nth(&self, handle: &Handle, nth: usize) -> Option<RequestId> {
        let slots = self.open.get(handle)?.iter();
        let mut active: Box<dyn Iterator<Item = RequestId>> = match self.meant {
            Meant::Oldest => Box::new(slots.filter_map(|slot| slot.active)),
            Meant::Newest => Box::new(slots.rev().filter_map(|slot| slot.active)),
        };
        active.nth(nth)
    }

    fn insert(&mut self, handle: Handle, slot: Slot) {
        self.open.entry(handle).or_default().push(slot);
    }

    fn number(&mut self) -> RequestId {
        let number = self.next;
        self.next.0 = self.next.0.saturating_add(1);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_handle_stands_for_several_requests_in_order() {
        let mut requests = Requests::new(Meant::Oldest);
        assert_eq!([requests.made(7), requests.made(7), requests.made(8)], [0, 1, 2].map(RequestId));
        assert_eq!(
            requests.listed(&[7, 8, 7, 7, 9]),
            [Some(RequestId(0)), Some(RequestId(2)), Some(RequestId(1)), None, None]
        );
        requests.completed(7, RequestId(0));
        assert_eq!(requests.listed(&[7]), [Some(RequestId(1))]);
        assert_eq!(requests.made(7), RequestId(3));
        assert_eq!(requests.listed(&[7, 7]), [Some(RequestId(1)), Some(RequestId(3))]);
    }

    #[test]
    fn a_variable_holds_its_last_request() {
        let mut requests = Requests::new(Meant::Newest);
        requests.made(7);
        requests.made(7);
        assert_eq!(requests.listed(&[7]), [Some(RequestId(1))]);
        requests.completed(7, RequestId(1));
        assert_eq!(requests.listed(&[7]), [Some(RequestId(0))]);
        assert_eq!(requests.under_way(), [(7, RequestId(0))]);
    }

    #[test]
    fn prepared_requests_get_a_number_each_time_they_are_begun() {
        let mut requests = Requests::new(Meant::Oldest);
        assert_eq!(requests.prepared(5), RequestId(0));
        assert_eq!(requests.listed(&[5]), [None]);
        assert_eq!(requests.begun(5), Some((RequestId(0), RequestId(1))));
        assert_eq!(requests.begun(5), None, "under way already");
        requests.completed(5, RequestId(1));
        assert_eq!(requests.begun(5), Some((RequestId(0), RequestId(2))));
        assert_eq!(requests.freed(5), Some(RequestId(2)));
        assert_eq!(requests.begun(5), None);
    }
}
