//! What programs and engines tell each other about: ready operations and arrived messages.

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

/// A message that has arrived at a program that takes messages on arrival.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrived {
    pub from: Rank,
    pub tag: Tag,
    pub bytes: u64,
}
