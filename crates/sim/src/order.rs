//! The order of events on one process. This is the only place that decides it.
//!
//! Among the events with the smallest eligible time, the one created first runs first; then
//! last segments of messages, then acknowledgements, then local operations (sends, receives, computations, each in order of
//! appearance), then messages by source, and from one source in the order they were sent. Nothing else
//! may influence the order: no insertion counter, no thread, no node.
//!
//! An event that finds its CPU or NIC busy becomes eligible when they are free. Engines may update its
//! key at once or later: free times only grow, so in both cases the event that runs next is the one
//! with the smallest key under the current free times.

use serde::{Deserialize, Serialize};
use straggler_model::Time;
use straggler_schedule::OperationKind;

/// The kind of an event, in the order of precedence.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[repr(u8)]
pub enum Class {
    /// The last segment of a message, which only completes the receive of that message.
    LastSegment,
    Acknowledgement,
    Send,
    Recv,
    Calc,
    Message,
}

impl From<OperationKind> for Class {
    #[inline(always)]
    fn from(kind: OperationKind) -> Class {
        match kind {
            OperationKind::Send => Class::Send,
            OperationKind::Recv => Class::Recv,
            OperationKind::Calc => Class::Calc,
        }
    }
}

/// The position of an event among those of its process. Smaller keys run first; no two events of a
/// process have equal keys.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Key {
    /// When the event may run at the earliest.
    pub eligible: Time,
    /// When it was created: the run time of the event that caused it.
    pub created: Time,
    pub class: Class,
    /// Local operations: number in the schedule. Messages: source, then the order of sending.
    pub order: u64,
}

impl Key {
    /// Larger than the key of any event.
    pub const LAST: Key =
        Key { eligible: Time::NEVER, created: Time::NEVER, class: Class::Message, order: u64::MAX };
}
