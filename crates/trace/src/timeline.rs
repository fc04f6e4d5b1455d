//! What happened on each process, when: one type for simulated and for measured runs.

mod regions;
mod traced;

pub use regions::RegionSpan;

pub use traced::kind;

use crate::Function;
use straggler_model::{Rank, Tag, Time};

/// Where an activity took place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Lane {
    Cpu(u8),
    /// The sending side of a NIC.
    Send(u8),
    /// The receiving side of a NIC.
    Receive(u8),
}

/// What an activity was.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    Compute,
    /// The CPU's share of a send.
    Send,
    /// The CPU's share of a message that arrives.
    Receive,
    /// A NIC is busy with a message: g + (k-1)·G.
    Gap,
    /// A call that waits for messages or asks for them.
    Wait,
    /// A call of a collective operation.
    Collective,
    /// Any other call.
    Other,
}

/// A stretch of time on a lane of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Activity {
    pub rank: Rank,
    pub lane: Lane,
    pub kind: Kind,
    /// The function called, in a traced run; `None` for computations, for simulated activities, and
    /// for calls without a name.
    pub function: Option<Function>,
    pub start: Time,
    pub end: Time,
    /// How much of it was noise.
    pub noise: Time,
    /// Bytes of a message; 0 for a computation.
    pub bytes: u64,
    /// The other process, or [`Rank::MAX`] where a call has none.
    pub peer: Rank,
    pub tag: Tag,
}

/// A message, from the start of its send to the start of its reception; in a traced run, to the end
/// of the call that received it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrow {
    pub from: Rank,
    pub from_cpu: u8,
    pub to: Rank,
    pub to_cpu: u8,
    pub sent: Time,
    pub received: Time,
    pub bytes: u64,
    pub tag: Tag,
}

/// A run, or the part of it that was asked for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Timeline {
    pub activities: Vec<Activity>,
    pub arrows: Vec<Arrow>,
}

impl Timeline {
    /// Joins the parts of a run and sorts everything by rank and time, so that the result does not
    /// depend on how the run was divided.
    pub fn join(parts: impl IntoIterator<Item = Timeline>) -> Timeline {
        let mut whole = Timeline::default();
        for mut part in parts {
            whole.activities.append(&mut part.activities);
            whole.arrows.append(&mut part.arrows);
        }
        whole.activities.sort_by_key(|a| (a.rank, a.start, a.lane, a.end, a.peer, a.tag));
        whole.arrows.sort_by_key(|a| (a.to, a.received, a.from, a.sent, a.tag));
        whole
    }
}
