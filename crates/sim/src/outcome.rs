//! Results and errors of runs.

use crate::ports::LinkLoads;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use straggler_model::{Rank, Tag, Time};
use straggler_schedule::graph::ANY;
use straggler_schedule::{Operation, OperationKind};

/// The result of a run that ended.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// When the CPUs of each rank become free for the last time, for the ranks of [`Outcome::ranks`].
    pub finish: Vec<Time>,
    /// All ranks; on a cluster those of this member.
    pub ranks: Vec<Range<Rank>>,
    /// When the last of all ranks has finished, including other members of a cluster.
    pub(crate) latest: Time,
    /// Messages that ran on their receivers.
    pub messages: u64,
    /// Windows in which anything happened; 0 for the reference engine.
    pub windows: u64,
    /// Threads that took part.
    pub threads: usize,
    /// Why the program could not finish, if it could not, and what it left behind.
    pub stuck: Option<Stuck>,
    /// What the ports of shared links have done, if that was measured; on a cluster those of this member.
    pub loads: LinkLoads,
}

impl Outcome {
    /// The outcome of a run on an accelerator. The finish times may be empty.
    pub(crate) fn of_elsewhere(makespan: Time, finish: Vec<Time>, processes: u32, messages: u64) -> Outcome {
        let ranks = std::iter::once(0..processes).collect();
        Outcome { finish, ranks, latest: makespan, messages, threads: 1, ..Outcome::default() }
    }

    /// When the last of all ranks has finished, on all members of a cluster.
    pub fn makespan(&self) -> Time {
        self.latest
    }
}

/// Why an engine gave no outcome.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum RunError {
    #[error("simulated time exceeds its range of 213 days: check the lengths of computations and noise")]
    TimeOverflow,
    #[error("interrupted")]
    Interrupted,
    #[error(
        "the windowed engine needs a lookahead above 0 (o_s + L, and A where messages exceed S): use the reference engine"
    )]
    NoLookahead,
    #[error("rank {rank} sends to rank {peer}, but there are only {processes} processes")]
    PeerOutOfRange { rank: Rank, peer: Rank, processes: u32 },
    #[error(
        "a cluster needs a lookahead above 0 (o_s + L, and A where messages exceed S): run it on one machine with \
         `straggler simulate`"
    )]
    NoClusterWithoutLookahead,
    #[error("the checkpoint cannot be {what}: {why}")]
    Checkpoint { what: String, why: String },
    #[error("the members of the cluster sent data that cannot be parsed: start the same program everywhere")]
    Garbled,
    #[error("a message of {bytes} bytes is longer than the model can time (2^63 - 1 bytes)")]
    MessageTooLarge { bytes: u64 },
}

impl RunError {
    /// The largest message. The lengths above it can mark acknowledgements.
    pub const LARGEST_MESSAGE: u64 = i64::MAX as u64;
}

/// An operation that started and never completed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Blocked {
    pub rank: Rank,
    pub id: u32,
    /// A posted receive without a message, or a rendezvous send without a receive.
    pub operation: Operation,
}

/// A message that arrived and was never received.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Leftover {
    pub from: Rank,
    pub to: Rank,
    pub tag: Tag,
    pub bytes: u64,
}

/// How a program got stuck. The lists hold the first few of each kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stuck {
    /// Ranks that did not finish.
    pub unfinished: u64,
    pub blocked: Vec<Blocked>,
    pub leftover_count: u64,
    pub leftovers: Vec<Leftover>,
    /// Ranks that wait for each other in a cycle: each for the next, and the last for the first.
    pub cycle: Vec<Rank>,
}

/// How many examples of each kind are kept.
const EXAMPLES: usize = 16;

/// Collects the remains of a run, rank by rank.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Remains {
    /// When the last rank has finished.
    latest: Time,
    unfinished: u64,
    out_of_time: bool,
    waiting: Vec<Blocked>,
    /// What unfinished ranks still have to send to, or receive from, another rank.
    still_sends: HashSet<(Rank, Rank, Tag)>,
    still_receives: HashSet<(Rank, Rank, Tag)>,
    leftover_count: u64,
    leftovers: Vec<Leftover>,
}

impl Remains {
    /// Adds the finish times of ranks.
    pub fn finished(&mut self, finish: &[Time]) {
        self.latest = finish.iter().copied().max().unwrap_or_default().max(self.latest);
    }

    pub fn latest(&self) -> Time {
        self.latest
    }

    pub fn unfinished(&mut self) {
        self.unfinished += 1;
    }

    /// Notes that an operation was ready but never ran, because its start time overflowed.
    pub fn out_of_time(&mut self) {
        self.out_of_time = true;
    }

    pub fn blocked(&mut self, blocked: Blocked) {
        self.waiting.push(blocked);
    }

    /// Adds an operation that `rank` has not started.
    pub fn unstarted(&mut self, rank: Rank, operation: &Operation) {
        let there = (rank, operation.peer, operation.tag);
        match operation.kind {
            OperationKind::Send => self.still_sends.insert(there),
            OperationKind::Recv => self.still_receives.insert(there),
            OperationKind::Calc => false,
        };
    }

    /// Adds a message that was not received. Operation `send` sent it, and waits for the receive if it
    /// is a rendezvous.
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

    /// Adds the remains of other ranks.
    pub fn append(&mut self, mut later: Remains) {
        self.latest = self.latest.max(later.latest);
        self.unfinished += later.unfinished;
        self.out_of_time |= later.out_of_time;
        self.waiting.append(&mut later.waiting);
        self.still_sends.extend(later.still_sends);
        self.still_receives.extend(later.still_receives);
        self.leftover_count += later.leftover_count;
        self.leftovers.append(&mut later.leftovers);
        // The sort is stable, and the leftovers of one rank are in order already.
        self.leftovers.sort_by_key(|leftover| leftover.to);
        self.leftovers.truncate(EXAMPLES);
    }

    /// Determines whether the run finished, got stuck or failed.
    pub fn conclude(mut self) -> Result<Option<Stuck>, RunError> {
        if self.out_of_time || self.latest == Time::NEVER {
            return Err(RunError::TimeOverflow);
        }
        if self.unfinished == 0 && self.leftover_count == 0 {
            return Ok(None);
        }
        self.waiting.sort_by_key(|blocked| (blocked.rank, blocked.id));
        self.leftovers.sort_by_key(|left| (left.to, left.from, left.tag));
        let cycle = self.find_cycle();
        let members: HashSet<Rank> = cycle.iter().copied().collect();
        // Ranks on the cycle come first.
        self.waiting.sort_by_key(|blocked| !members.contains(&blocked.rank));
        self.waiting.truncate(EXAMPLES);
        Ok(Some(Stuck {
            unfinished: self.unfinished,
            blocked: self.waiting,
            leftover_count: self.leftover_count,
            leftovers: self.leftovers,
            cycle,
        }))
    }

    /// Whether the peer of a blocked operation still has the matching operation ahead of it.
    fn peer_would_serve(&self, blocked: &Blocked) -> bool {
        let Operation { kind, peer, tag, .. } = blocked.operation;
        let rank = blocked.rank;
        match kind {
            OperationKind::Recv if tag == ANY => {
                self.still_sends.iter().any(|&(from, to, _)| (from, to) == (peer, rank))
            }
            OperationKind::Recv => self.still_sends.contains(&(peer, rank, tag)),
            _ => [(rank, tag), (ANY, tag), (rank, ANY), (ANY, ANY)]
                .iter()
                .any(|&(source, tag)| self.still_receives.contains(&(peer, source, tag))),
        }
    }

    /// Finds ranks that wait for each other, by depth-first search over who waits for whom.
    fn find_cycle(&self) -> Vec<Rank> {
        let mut waits_for: HashMap<Rank, Vec<Rank>> = HashMap::new();
        for blocked in &self.waiting {
            if self.peer_would_serve(blocked) {
                waits_for.entry(blocked.rank).or_default().push(blocked.operation.peer);
            }
        }
        let mut done: HashSet<Rank> = HashSet::new();
        for start in self.waiting.iter().map(|blocked| blocked.rank) {
            // The ranks on the current path, each with how many of its peers were followed.
            let mut path: Vec<(Rank, usize)> = vec![(start, 0)];
            let mut on_path: HashMap<Rank, usize> = HashMap::from([(start, 0)]);
            while let Some(&(rank, followed)) = path.last() {
                let peer = waits_for.get(&rank).and_then(|peers| peers.get(followed)).copied();
                match peer.filter(|_| !done.contains(&rank)) {
                    None => {
                        done.insert(rank);
                        on_path.remove(&rank);
                        path.pop();
                    }
                    Some(peer) => {
                        if let Some(last) = path.last_mut() {
                            last.1 += 1;
                        }
                        if let Some(&at) = on_path.get(&peer) {
                            return path[at..].iter().map(|&(rank, _)| rank).collect();
                        }
                        if !done.contains(&peer) {
                            on_path.insert(peer, path.len());
                            path.push((peer, 0));
                        }
                    }
                }
            }
        }
        Vec::new()
    }
}
