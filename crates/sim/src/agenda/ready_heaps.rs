//! Ready operations of one process in heaps, for processes with many.

use super::pending::Pending;
use super::two_heaps::TwoHeaps;
use crate::host::Host;
use crate::order::Key;
use crate::rules;
use serde::{Deserialize, Serialize};
use straggler_model::Time;
use straggler_schedule::OperationKind;

/// The resources an operation waits for: its kind, CPU and NIC.
type Lane = (OperationKind, u8, u8);

/// The ready operations of a process, by lane.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct ReadyHeaps {
    lanes: Vec<(Lane, TwoHeaps)>,
    /// The result of the last search: lane, key and operation.
    found: Option<(usize, Key, u32)>,
}

/// When the resources of a lane are free. A receive waits only for its own time.
fn free(host: &impl Host, (kind, cpu, nic): Lane) -> Time {
    match kind {
        OperationKind::Send => rules::send_eligible(host, cpu, nic, Time::ZERO),
        OperationKind::Recv => Time::ZERO,
        OperationKind::Calc => rules::calc_eligible(host, cpu, Time::ZERO),
    }
}

impl ReadyHeaps {
    pub fn push(&mut self, pending: Pending) {
        let lane = (pending.kind, pending.cpu, pending.nic);
        let index = self.lanes.iter().position(|(known, _)| *known == lane).unwrap_or_else(|| {
            self.lanes.push((lane, TwoHeaps::default()));
            self.lanes.len() - 1
        });
        self.lanes[index].1.push(pending.ready, pending.created, u64::from(pending.id), pending.id);
    }

    /// Finds the operation with the smallest key. Returns its eligible time.
    pub fn find(&mut self, host: &impl Host) -> Time {
        self.found = None;
        for (index, (lane, heaps)) in self.lanes.iter_mut().enumerate() {
            let Some(first) = heaps.first(free(host, *lane)) else { continue };
            let class = lane.0.into();
            let key = Key { eligible: first.eligible, created: first.created, class, order: first.order };
            if self.found.as_ref().is_none_or(|(_, least, _)| key < *least) {
                self.found = Some((index, key, first.payload));
            }
        }
        self.found.map_or(Time::NEVER, |(_, key, _)| key.eligible)
    }

    /// The key of the operation that the last search found.
    pub fn key(&self) -> Key {
        self.found.map_or(Key::LAST, |(_, key, _)| key)
    }

    /// Removes the operation that the last search found, which must exist.
    pub fn remove_found(&mut self) -> (OperationKind, u32) {
        let Some((index, _, id)) = self.found.take() else {
            debug_assert!(false, "nothing was found");
            return (OperationKind::Calc, 0);
        };
        let (lane, heaps) = &mut self.lanes[index];
        heaps.pop();
        (lane.0, id)
    }

    /// All operations, each with its lane.
    pub fn items(&self) -> impl Iterator<Item = (OperationKind, u32, [u8; 2])> + '_ {
        let of_lane = |&(lane, ref heaps): &'_ (Lane, TwoHeaps)| {
            let (kind, cpu, nic) = lane;
            heaps.payloads().map(move |id| (kind, id, [cpu, nic])).collect::<Vec<_>>()
        };
        self.lanes.iter().flat_map(of_lane)
    }

    pub fn is_empty(&self) -> bool {
        self.lanes.iter().all(|(_, heaps)| heaps.is_empty())
    }
}
