//! The collectives of a trace, each assembled from what its members recorded.
//!
//! The n-th collective that a rank calls on a communicator is the n-th of all other members too;
//! MPI requires this of blocking and nonblocking collectives together. Persistent ones are
//! initialised in the same order everywhere, but may be started in any order: the n-th start of one
//! belongs to its n-th start on the other members.

use super::error::TraceError;
use super::recording::{BlockSizes, CollectiveCall, Group};
use crate::collectives::Operation;
use std::collections::HashMap;
use straggler_model::Rank;
use straggler_trace::{Call, Collective, CommId, Communicator, Details, Function, Rare};

/// The operation that models an MPI function.
pub(super) fn operation_of(kind: Collective) -> Operation {
    match kind {
        Collective::Allgather => Operation::Allgather,
        Collective::Allgatherv => Operation::Allgatherv,
        Collective::Allreduce => Operation::Allreduce,
        Collective::Alltoall => Operation::Alltoall,
        Collective::Alltoallv | Collective::Alltoallw => Operation::Alltoallv,
        Collective::Barrier => Operation::Barrier,
        Collective::Bcast => Operation::Bcast,
        Collective::Exscan => Operation::Exscan,
        Collective::Gather => Operation::Gather,
        Collective::Gatherv => Operation::Gatherv,
        Collective::Reduce => Operation::Reduce,
        Collective::ReduceScatter => Operation::ReduceScatter,
        Collective::ReduceScatterBlock => Operation::ReduceScatterBlock,
        Collective::Scan => Operation::Scan,
        Collective::Scatter => Operation::Scatter,
        Collective::Scatterv => Operation::Scatterv,
    }
}

/// What one member recorded about a collective that it takes part in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Join<'a> {
    pub rank: Rank,
    /// Index of the call among those of the rank.
    pub index: usize,
    pub call: &'a Call,
    pub details: &'a Details,
    pub comm: CommId,
    pub series: Series,
    pub member: u32,
    pub operation: Operation,
    pub root: Rank,
    pub blocking: bool,
}

/// A sequence of collectives on a communicator that has the same order on all members.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Series {
    /// Collectives that are called directly.
    Called,
    /// The starts of the n-th persistent collective.
    Prepared(u32),
    /// On an intercommunicator, collectives with this root: only the other group takes part besides it.
    Rooted(Rank),
}

/// A collective while its members join.
#[derive(Debug)]
struct Gathering {
    group: u32,
    operation: Operation,
    root: Rank,
    lane: u32,
    joined: u32,
    /// The rank that joined first.
    rank: Rank,
    function: Function,
    blocking: bool,
    /// Size of the largest vector or block.
    bytes: u64,
    /// Fallback if `bytes` is 0 because data is in place: the largest size on the other side of the call.
    room: u64,
    /// Block sizes by member, for operations whose blocks differ.
    blocks: HashMap<u32, u64>,
    /// Block sizes of all members, as listed by one of them.
    listed: Option<Vec<u64>>,
    /// Block sizes from each member to all members.
    rows: HashMap<u32, Vec<u64>>,
}

#[derive(Debug, Default)]
pub(super) struct Collectives {
    gatherings: Vec<Gathering>,
    /// The collectives of each communicator and series, in order.
    in_order: HashMap<(CommId, Series), Vec<u32>>,
    groups: Vec<Group>,
    /// By communicator, first member and size: on an intercommunicator, members depend on the root, which is the first.
    group_of: HashMap<(CommId, Option<Rank>, usize), u32>,
    /// Blocking collectives on a communicator cannot overlap, so they share a lane.
    lane_of: HashMap<CommId, u32>,
    pub lanes: u32,
}

impl Collectives {
    /// Adds a member to its `number`-th collective of a series on the communicator. Returns the
    /// index of the call.
    pub fn join(
        &mut self,
        number: usize,
        join: &Join<'_>,
        communicator: &Communicator,
        processes: u32,
    ) -> Result<u32, TraceError> {
        let known = self.in_order.get(&(join.comm, join.series)).and_then(|calls| calls.get(number)).copied();
        let call = match known {
            Some(call) => call,
            None => self.open(join, communicator, processes),
        };
        let gathering = &mut self.gatherings[call as usize];
        let same = gathering.operation == join.operation
            && gathering.root == join.root
            && gathering.blocking == join.blocking;
        if !same {
            return Err(TraceError::Different {
                rank: join.rank,
                call: join.index,
                function: join.call.function,
                comm: join.comm,
                number,
                other: gathering.rank,
                theirs: gathering.function,
            });
        }
        gathering.joined += 1;
        gathering.take(join, communicator.members.len());
        Ok(call)
    }

    fn open(&mut self, join: &Join<'_>, communicator: &Communicator, processes: u32) -> u32 {
        let groups = &mut self.groups;
        let members = &communicator.members;
        let group = (join.comm, members.first().copied(), members.len());
        let group = *self.group_of.entry(group).or_insert_with(|| {
            let members = members.clone();
            let along = communicator.name.starts_with(straggler_trace::ALONG_COPIES);
            let grows = along || members.len() == processes as usize;
            groups.push(Group { grows, divides: along, members });
            groups.len() as u32 - 1
        });
        let own = if join.blocking { self.lane_of.get(&join.comm).copied() } else { None };
        let lane = own.unwrap_or_else(|| {
            self.lanes += 1;
            self.lanes - 1
        });
        if join.blocking {
            self.lane_of.insert(join.comm, lane);
        }
        self.gatherings.push(Gathering {
            group,
            operation: join.operation,
            root: join.root,
            lane,
            joined: 0,
            rank: join.rank,
            function: join.call.function,
            blocking: join.blocking,
            bytes: 0,
            room: 0,
            blocks: HashMap::new(),
            listed: None,
            rows: HashMap::new(),
        });
        let call = self.gatherings.len() as u32 - 1;
        self.in_order.entry((join.comm, join.series)).or_default().push(call);
        call
    }

    /// Number of members that did not take part in a call.
    pub fn missing(&self, call: u32) -> usize {
        let gathering = &self.gatherings[call as usize];
        self.groups[gathering.group as usize].members.len() - gathering.joined as usize
    }

    pub fn all_complete(&self) -> bool {
        (0..self.gatherings.len() as u32).all(|call| self.missing(call) == 0)
    }

    /// Returns the tables of a recording: groups, calls, and the different sizes.
    pub fn finish(self) -> (Vec<Group>, Vec<CollectiveCall>, Vec<BlockSizes>) {
        let mut known: HashMap<BlockSizes, u32> = HashMap::new();
        let mut all = Vec::new();
        let mut calls = Vec::with_capacity(self.gatherings.len());
        for gathering in self.gatherings {
            let members = self.groups[gathering.group as usize].members.len();
            let Gathering { group, operation, root, lane, .. } = gathering;
            let sizes = gathering.sizes(members);
            let place = *known.entry(sizes).or_insert_with_key(|sizes| {
                all.push(sizes.clone());
                all.len() as u32 - 1
            });
            calls.push(CollectiveCall { group, operation, root, sizes: place, lane });
        }
        (self.groups, calls, all)
    }
}

impl Gathering {
    /// Records the data that a member sends and receives.
    fn take(&mut self, join: &Join<'_>, members: usize) {
        let Call { sent, received, .. } = *join.call;
        let Rare { sent_sizes, received_sizes, .. } = &*join.details.rare;
        let is_root = join.member == join.root;
        let mut own = None;
        match self.operation {
            Operation::Barrier => {}
            Operation::Allreduce
            | Operation::Bcast
            | Operation::Exscan
            | Operation::Reduce
            | Operation::Scan => {
                self.bytes = self.bytes.max(sent).max(received);
            }
            Operation::Allgather | Operation::Gather => {
                self.bytes = self.bytes.max(sent);
                self.room = self.room.max(received);
            }
            Operation::Scatter => self.bytes = self.bytes.max(if is_root { sent } else { received }),
            Operation::Alltoall => {
                self.bytes = self.bytes.max(sent);
                self.room = self.room.max(received);
            }
            Operation::ReduceScatterBlock => {
                self.bytes = self.bytes.max(received);
                self.room = self.room.max(sent);
            }
            Operation::Allgatherv | Operation::Gatherv => own = Some((sent, received_sizes)),
            Operation::Scatterv => own = Some((received, sent_sizes)),
            Operation::ReduceScatter => {
                let list = if received_sizes.is_empty() { sent_sizes } else { received_sizes };
                own = Some((received, list));
            }
            Operation::Alltoallv => {
                // With data in place there is only one list: received data replaces what was sent.
                let row = if sent_sizes.is_empty() { received_sizes } else { sent_sizes };
                if row.len() == members {
                    self.rows.insert(join.member, row.clone());
                }
                self.bytes = self.bytes.max(sent);
            }
        }
        if let Some((bytes, list)) = own {
            self.blocks.insert(join.member, bytes);
            if list.len() == members && self.listed.is_none() {
                self.listed = Some(list.clone());
            }
        }
    }

    fn sizes(mut self, members: usize) -> BlockSizes {
        match self.operation {
            Operation::Alltoallv => self.pairs(members),
            operation if operation.is_vector() => {
                let own = |member| self.blocks.get(&member).copied().unwrap_or(0);
                let list = self.listed.take().unwrap_or_else(|| (0..members as u32).map(own).collect());
                evened(list, BlockSizes::PerMember)
            }
            _ => BlockSizes::Uniform(if self.bytes > 0 { self.bytes } else { self.room }),
        }
    }

    fn pairs(&self, members: usize) -> BlockSizes {
        // With lists from only a few members, a full matrix would need memory out of proportion to the trace.
        if self.rows.len() * 2 <= members {
            return BlockSizes::Uniform(self.bytes);
        }
        let nothing = vec![0; members];
        let rows = (0..members as u32).map(|member| self.rows.get(&member).unwrap_or(&nothing));
        evened(rows.flatten().copied().collect(), BlockSizes::PerPair)
    }
}

/// Returns a list of sizes, or a uniform size if all entries are the same.
fn evened(list: Vec<u64>, kind: fn(std::sync::Arc<[u64]>) -> BlockSizes) -> BlockSizes {
    match list.first() {
        Some(&first) if list.iter().any(|&bytes| bytes != first) => kind(list.into()),
        first => BlockSizes::Uniform(first.copied().unwrap_or(0)),
    }
}
