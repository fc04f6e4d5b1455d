//! Ready operations of one process without a fixed order: on several lanes, or completed out of order. A list
//! while there are few, heaps when there are many.

use super::pending::Pending;
use super::ready_heaps::ReadyHeaps;
use crate::host::Host;
use crate::order::Key;
use serde::{Deserialize, Serialize};
use straggler_model::Time;
use straggler_schedule::OperationKind;

/// More operations than this move into heaps.
const LONG: usize = 24;

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Unordered {
    pending: Vec<Pending>,
    /// The place of the first operation, found by `next`.
    first: usize,
    heaps: Option<Box<ReadyHeaps>>,
}

impl Unordered {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty() && self.heaps.is_none()
    }

    pub fn push(&mut self, pending: Pending) {
        if self.heaps.is_none() && self.pending.len() < LONG {
            self.pending.push(pending);
            return;
        }
        let heaps = self.heaps.get_or_insert_default();
        for pending in self.pending.drain(..).chain([pending]) {
            heaps.push(pending);
        }
    }

    /// All operations, each with its CPU and NIC.
    pub fn items(&self) -> Vec<(OperationKind, u32, [u8; 2])> {
        let listed = self.pending.iter().map(Pending::item);
        listed.chain(self.heaps.iter().flat_map(|heaps| heaps.items())).collect()
    }

    /// When the first operation may run; [`Time::NEVER`] if there is none.
    pub fn next(&mut self, host: &impl Host) -> Time {
        if let Some(heaps) = &mut self.heaps {
            return heaps.find(host);
        }
        let mut least = Key::LAST;
        for (place, pending) in self.pending.iter().enumerate() {
            let key = pending.key(host);
            if key < least {
                (least, self.first) = (key, place);
            }
        }
        least.eligible
    }

    /// The key of the operation that `next` has found.
    pub fn key(&self, host: &impl Host) -> Key {
        match &self.heaps {
            Some(heaps) => heaps.key(),
            None => self.pending.get(self.first).map_or(Key::LAST, |pending| pending.key(host)),
        }
    }

    /// Takes the operation that `next` has found.
    pub fn take(&mut self) -> (OperationKind, u32) {
        let Some(heaps) = &mut self.heaps else {
            let Pending { kind, id, .. } = self.pending.swap_remove(self.first);
            return (kind, id);
        };
        let found = heaps.remove_found();
        if heaps.is_empty() {
            self.heaps = None;
        }
        found
    }
}
