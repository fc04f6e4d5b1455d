//! What a run ends with.

use straggler_model::{Rank, Tag, Time};
use straggler_schedule::Operation;

/// A run that came to its end.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// When each rank's CPUs are free for good.
    pub finish: Vec<Time>,
    /// Messages that ran on their receivers.
    pub messages: u64,
    /// Windows in which anything happened; 0 for the reference engine.
    pub windows: u64,
    /// Why the program could not finish, if it could not, and what it left behind.
    pub stuck: Option<Stuck>,
}

impl Outcome {
    pub fn makespan(&self) -> Time {
        self.finish.iter().copied().max().unwrap_or(Time::ZERO)
    }
}

/// Why an engine gave no outcome.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    #[error("simulated time ran past its end, 213 days: check the lengths of computations and noise")]
    TimeOverflow,
    #[error("interrupted")]
    Interrupted,
    #[error(
        "the windowed engine needs a lookahead above 0 (o_s + L, and A where messages exceed S): use the reference engine"
    )]
    NoLookahead,
    #[error("rank {rank} sends to rank {peer}, but there are only {processes} processes")]
    PeerOutOfRange { rank: Rank, peer: Rank, processes: u32 },
    #[error("a message of {bytes} bytes is longer than the model can time (2^63 - 1 bytes)")]
    MessageTooLarge { bytes: u64 },
}

impl RunError {
    /// Longer messages are refused, so that engines may mark acknowledgements by their length.
    pub const LARGEST_MESSAGE: u64 = i64::MAX as u64;
}

/// An operation that started and never completed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Blocked {
    pub rank: Rank,
    pub id: u32,
    /// A posted receive without a message, or a rendezvous send without a receive.
    pub operation: Operation,
}

/// A message that arrived and was never received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Leftover {
    pub from: Rank,
    pub to: Rank,
    pub tag: Tag,
    pub bytes: u64,
}

/// How a program got stuck. The lists hold the first few of each kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stuck {
    /// Ranks that did not come to their end.
    pub unfinished: u64,
    pub blocked: Vec<Blocked>,
    pub leftover_count: u64,
    pub leftovers: Vec<Leftover>,
    /// Ranks that wait for each other in a circle, each for the next, the last for the first.
    pub cycle: Vec<Rank>,
}

/// How many examples of each kind are kept.
const EXAMPLES: usize = 16;

/// Collects the remains of a run, rank by rank.
#[derive(Debug, Default)]
pub(crate) struct Remains {
    unfinished: u64,
    waiting: Vec<Blocked>,
    leftover_count: u64,
    leftovers: Vec<Leftover>,
}

impl Remains {
    pub fn unfinished(&mut self) {
        self.unfinished += 1;
    }

    pub fn blocked(&mut self, blocked: Blocked) {
        self.waiting.push(blocked);
    }

    /// A message that was not received, sent by operation `send`, which waits for that if the message is
    /// a rendezvous.
    pub fn leftover(&mut self, leftover: Leftover, send: u32, rendezvous: bool) {
        if rendezvous {
            let operation = Operation::send(leftover.bytes, leftover.to, leftover.tag);
            self.waiting.push(Blocked { rank: leftover.from, id: send, operation });
        }
        self.leftover_count += 1;
        if self.leftovers.len() < EXAMPLES {
            self.leftovers.push(leftover);
        }
    }

    pub fn conclude(mut self) -> Option<Stuck> {
        if self.unfinished == 0 && self.leftover_count == 0 {
            return None;
        }
        self.waiting.sort_by_key(|blocked| (blocked.rank, blocked.id));
        self.leftovers.sort_by_key(|left| (left.to, left.from, left.tag));
        let cycle = find_cycle(&self.waiting);
        let on_cycle = |blocked: &Blocked| cycle.contains(&blocked.rank);
        // Show those on the cycle first.
        self.waiting.sort_by_key(|blocked| !on_cycle(blocked));
        self.waiting.truncate(EXAMPLES);
        Some(Stuck {
            unfinished: self.unfinished,
            blocked: self.waiting,
            leftover_count: self.leftover_count,
            leftovers: self.leftovers,
            cycle,
        })
    }
}

/// Follows, from each blocked rank, the one it waits for, until a rank comes up twice.
fn find_cycle(waiting: &[Blocked]) -> Vec<Rank> {
    use std::collections::HashMap;
    let mut waits_for: HashMap<Rank, Rank> = HashMap::new();
    for blocked in waiting {
        if blocked.operation.peer != straggler_schedule::graph::ANY {
            waits_for.entry(blocked.rank).or_insert(blocked.operation.peer);
        }
    }
    let mut seen: HashMap<Rank, usize> = HashMap::new();
    for (walk, blocked) in waiting.iter().enumerate() {
        let mut rank = blocked.rank;
        let mut path = Vec::new();
        while !seen.contains_key(&rank) && waits_for.contains_key(&rank) {
            seen.insert(rank, walk);
            path.push(rank);
            rank = waits_for[&rank];
        }
        if seen.get(&rank) == Some(&walk)
            && let Some(start) = path.iter().position(|&on_path| on_path == rank)
        {
            return path.split_off(start);
        }
    }
    Vec::new()
}
