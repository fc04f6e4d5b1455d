//! A local operation that waits for its turn.

use crate::host::Host;
use crate::order::Key;
use crate::rules;
use straggler_model::Time;
use straggler_schedule::OperationKind;

#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    /// For a receive the time it is posted; for the others not before this.
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
}
