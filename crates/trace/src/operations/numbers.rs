//! What the numbers of requests stand for.

use crate::call::RequestId;
use std::collections::HashMap;

/// What the number of a request stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Slot {
    /// The row with this number.
    Row(u32),
    /// The persistent request with this number.
    Prepared(u32),
}

/// Requests by their number. In an intact trace numbers count up from 0, so nearly all are in a list. A
/// number far off, which only occurs in a damaged trace, goes into a map and does not lengthen the list.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    near: Vec<u32>,
    far: HashMap<RequestId, u32>,
}

const EMPTY: u32 = u32::MAX;
const PREPARED: u32 = 1 << 31;

/// The list may double for one request, and may always reach this far.
const REACH: usize = 1 << 12;

impl Numbers {
    pub(super) fn set(&mut self, request: RequestId, slot: Slot) {
        let value = match slot {
            Slot::Row(row) => row,
            Slot::Prepared(number) => number | PREPARED,
        };
        let place = request.index();
        if place >= self.near.len().saturating_mul(2).max(REACH) {
            self.far.insert(request, value);
            return;
        }
        if place >= self.near.len() {
            self.near.resize(place + 1, EMPTY);
        }
        self.near[place] = value;
    }

    pub(super) fn get(&self, request: RequestId) -> Option<Slot> {
        let near = self.near.get(request.index()).copied().filter(|&value| value != EMPTY);
        let value = near.or_else(|| self.far.get(&request).copied())?;
        Some(if value & PREPARED == 0 { Slot::Row(value) } else { Slot::Prepared(value & !PREPARED) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_near_and_far_are_found() {
        let mut numbers = Numbers::default();
        let far = [u32::MAX - 1, 1 << 30];
        far.iter().for_each(|&request| numbers.set(RequestId(request), Slot::Prepared(request & 7)));
        assert_eq!(numbers.near.capacity(), 0);
        for request in 0..100_000 {
            numbers.set(RequestId(request), Slot::Row(request + 1));
        }
        assert_eq!(numbers.far.len(), 2);
        assert!((0..100_000).all(|request| numbers.get(RequestId(request)) == Some(Slot::Row(request + 1))));
        assert!(
            far.iter().all(|&request| numbers.get(RequestId(request)) == Some(Slot::Prepared(request & 7)))
        );
        assert_eq!(numbers.get(RequestId(100_000)), None);
        numbers.set(RequestId(5), Slot::Prepared(0));
        assert_eq!(numbers.get(RequestId(5)), Some(Slot::Prepared(0)));
    }
}
