//! A single error or warning about a schedule.

use std::fmt;

use straggler_model::units::{counted, grouped};
use straggler_model::{Rank, Tag};

use crate::goal::error::Circle;
use crate::graph::ANY;

/// How serious a finding is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Severity {
    /// The schedule can be simulated, but is probably not what was meant.
    Warning,
    /// The schedule cannot finish, or violates the rules of message passing.
    Error,
}

/// Operations are numbered inside their rank, from 0.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Finding {
    /// Each operation has to happen before the next, and the last before the first.
    Cycle {
        rank: Rank,
        operations: Vec<u32>,
    },
    SelfDependency {
        rank: Rank,
        operation: u32,
    },
    PeerOutOfRange {
        rank: Rank,
        operation: u32,
        peer: Rank,
        processes: u32,
    },
    SendToSelf {
        rank: Rank,
        operation: u32,
    },
    /// At least `count` messages are never received; `first` is one of the sends.
    UnmatchedSends {
        from: Rank,
        to: Rank,
        tag: Tag,
        count: u64,
        first: u32,
    },
    /// At least `count` receives that no message completes; `first` is one of them. Source and tag
    /// may be wildcards.
    UnmatchedReceives {
        rank: Rank,
        from: Rank,
        tag: Tag,
        count: u64,
        first: u32,
    },
    /// A rank with wildcards receives more or fewer messages than are sent to it.
    Unbalanced {
        rank: Rank,
        messages: u64,
        receives: u64,
    },
    /// `count` receives of `rank` are smaller than their messages, matched in the order of the
    /// schedule. The first one is given with the operations and bytes at both ends.
    ReceiveTooSmall {
        from: Rank,
        rank: Rank,
        tag: Tag,
        count: u64,
        first: SizeMismatch,
    },
}

/// A message that is larger than its receive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SizeMismatch {
    pub send: u32,
    pub recv: u32,
    pub message_bytes: u64,
    pub receive_bytes: u64,
}

impl Finding {
    pub fn severity(&self) -> Severity {
        match self {
            Finding::SendToSelf { .. } | Finding::ReceiveTooSmall { .. } => Severity::Warning,
            _ => Severity::Error,
        }
    }

    /// The rank that the finding is about.
    pub fn rank(&self) -> Rank {
        match *self {
            Finding::Cycle { rank, .. }
            | Finding::SelfDependency { rank, .. }
            | Finding::PeerOutOfRange { rank, .. }
            | Finding::SendToSelf { rank, .. }
            | Finding::UnmatchedSends { from: rank, .. }
            | Finding::UnmatchedReceives { rank, .. }
            | Finding::Unbalanced { rank, .. }
            | Finding::ReceiveTooSmall { rank, .. } => rank,
        }
    }
}

/// A rank or a tag: `rank 3`, or `any rank`.
struct Named(&'static str, u32);

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Named(what, ANY) => write!(f, "any {what}"),
            Named(what, number) => write!(f, "{what} {number}"),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Finding::Cycle { rank, operations } => {
                let names: Vec<String> =
                    operations.iter().map(|operation| format!("operation {operation}")).collect();
                write!(f, "rank {rank}: operations form a dependency cycle: {}", Circle(&names))
            }
            Finding::SelfDependency { rank, operation } => {
                write!(f, "rank {rank}, operation {operation}: depends on itself")
            }
            Finding::PeerOutOfRange { rank, operation, peer, processes } => {
                write!(
                    f,
                    "rank {rank}, operation {operation}: peer {peer} is out of range, the schedule has {}",
                    counted(u64::from(*processes), "rank", "ranks")
                )
            }
            Finding::SendToSelf { rank, operation } => {
                write!(f, "rank {rank}, operation {operation}: sends to itself")
            }
            Finding::UnmatchedSends { from, to, tag, count, first } => write!(
                f,
                "rank {from}, operation {first}: {} to rank {to} with tag {tag} {} never received",
                counted(*count, "message", "messages"),
                if *count == 1 { "is" } else { "are" }
            ),
            Finding::UnmatchedReceives { rank, from, tag, count, first } => write!(
                f,
                "rank {rank}, operation {first}: {} from {} with {} never {} a message",
                counted(*count, "receive", "receives"),
                Named("rank", *from),
                Named("tag", *tag),
                if *count == 1 { "gets" } else { "get" }
            ),
            Finding::Unbalanced { rank, messages, receives } => {
                let messages = counted(*messages, "message is", "messages are");
                write!(f, "rank {rank}: {messages} sent to it, but it receives {}", grouped(*receives))
            }
            Finding::ReceiveTooSmall { from, rank, tag, count, first } => write!(
                f,
                "rank {rank}, operation {}: {} from rank {from} with tag {tag} {} smaller than the message, this one \
                 {} of {}",
                first.recv,
                counted(*count, "receive", "receives"),
                if *count == 1 { "is" } else { "are" },
                grouped(first.receive_bytes),
                counted(first.message_bytes, "byte", "bytes")
            ),
        }
    }
}
