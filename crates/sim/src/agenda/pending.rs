//! A local operation that waits for its turn.

use crate::host::Host;
use crate::order::Key;
use crate::rules;
use serde::{Deserialize, Serialize};
use straggler_model::Time;
use straggler_schedule::OperationKind;

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Pending {
    /// For a receive, the time it is posted; for others, the earliest time they may run.
    pub ready: Time,
    pub created: Time,
    pub id: u32,
    pub kind: OperationKind,
    pub cpu: u8,
    pub nic: u8,
}

impl Pending {
    #[inline]
    pub fn key(&self, host: &impl Host) -> Key {
        let eligible = match self.kind {
            OperationKind::Send => rules::send_eligible(host, self.cpu, self.nic, self.ready),
            OperationKind::Recv => self.ready,
            OperationKind::Calc => rules::calc_eligible(host, self.cpu, self.ready),
        };
        Key { eligible, created: self.created, class: self.kind.into(), order: u64::from(self.id) }
    }

    /// The operation, with its CPU and NIC.
    pub fn item(&self) -> (OperationKind, u32, [u8; 2]) {
        (self.kind, self.id, [self.cpu, self.nic])
    }

    /// Whether this operation runs before another of its kind whatever the free times are. A receive waits only for
    /// its own time; other operations may find their CPU or NIC busy until both are ready.
    #[inline(always)]
    pub fn always_before(&self, other: &Pending) -> bool {
        if self.kind == OperationKind::Recv {
            return self.stands_before(other);
        }
        (self.cpu, self.nic) == (other.cpu, other.nic)
            && self.ready <= other.ready
            && (self.created < other.created || self.created == other.created && self.id < other.id)
    }

    /// Whether this operation runs before another of its kind on a host that is always free.
    #[inline(always)]
    pub fn stands_before(&self, other: &Pending) -> bool {
        (self.ready, self.created, self.id) < (other.ready, other.created, other.id)
    }
}
