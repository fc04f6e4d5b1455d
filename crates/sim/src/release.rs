//! What programs and engines tell each other: operations that have become ready, messages that have come.

use straggler_model::{Rank, Tag, Time};
use straggler_schedule::OperationKind;

/// An operation that has become ready.
#[derive(Clone, Copy, Debug)]
pub struct Release {
    /// The operation's number on its rank, by order of appearance.
    pub id: u32,
    pub kind: OperationKind,
    pub cpu: u8,
    pub nic: u8,
    /// The latest completion (or start) of what it depends on.
    pub ready: Time,
}

/// A message that has reached a program which takes messages as they come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrived {
    pub from: Rank,
    pub tag: Tag,
    pub bytes: u64,
}
