//! The ends of messages on one rank.

use super::{CallPlace, NO_ROOM, NONE, Received, Sent};
use crate::call::{CommId, Matched, special};
use crate::operations::{Operation, Operations};
use crate::trace::Trace;
use straggler_model::Rank;

/// What one rank sent and received.
#[derive(Clone, Debug, Default)]
pub struct Ends {
    pub rank: Rank,
    /// Messages to other ranks and to itself, in the order of posting.
    pub sends: Vec<Sent>,
    pub receives: Vec<Received>,
    /// Wildcard receives whose sender is unknown, by their number and communicator.
    pub unresolved: Vec<(u32, CommId)>,
    /// Calls that name a peer outside their communicator, with that peer.
    pub strangers: Vec<(u32, i32)>,
    /// Matching probes whose message was never received, by their number.
    pub kept: Vec<u32>,
}

impl Ends {
    /// What `rank` sent and received.
    pub fn new(trace: &Trace, rank: Rank, operations: &Operations<'_>) -> Ends {
        let mut finding = Finding::new(trace, rank, operations);
        for (row, operation) in (0..).zip(operations.rows()) {
            finding.send(operation);
            finding.receive(row, operation);
        }
        operations.kept().iter().for_each(|&probe| finding.kept(probe));
        finding.finish()
    }

    /// Returns only what `rank` sent.
    pub fn sends_of(trace: &Trace, rank: Rank, operations: &Operations<'_>) -> Vec<Sent> {
        let mut finding = Finding::new(trace, rank, operations);
        operations.rows().iter().for_each(|operation| finding.send(operation));
        finding.found.sends
    }

    /// Returns only what `rank` received.
    pub fn receives_of(trace: &Trace, rank: Rank, operations: &Operations<'_>) -> Vec<Received> {
        let mut finding = Finding::new(trace, rank, operations);
        (0..).zip(operations.rows()).for_each(|(row, operation)| finding.receive(row, operation));
        operations.kept().iter().for_each(|&probe| finding.kept(probe));
        finding.finish().receives
    }

    /// Returns what every rank of a trace sent and received.
    pub fn of_ranks(trace: &Trace, operations: &[Operations<'_>]) -> Vec<Ends> {
        (0..).zip(operations).map(|(rank, operations)| Ends::new(trace, rank, operations)).collect()
    }
}

struct Finding<'t, 'o> {
    trace: &'t Trace,
    operations: &'o Operations<'o>,
    found: Ends,
    /// Whether a probe kept a message, so that receives are out of order.
    out_of_order: bool,
}

/// Whether the operation led to a message.
fn happened(operation: &Operation) -> bool {
    !operation.failed && !operation.is_cancelled()
}

impl<'t, 'o> Finding<'t, 'o> {
    fn new(trace: &'t Trace, rank: Rank, operations: &'o Operations<'o>) -> Finding<'t, 'o> {
        Finding { trace, operations, found: Ends { rank, ..Ends::default() }, out_of_order: false }
    }

    fn send(&mut self, operation: &Operation) {
        if !operation.sends() || !happened(operation) {
            return;
        }
        let (operations, begun) = (self.operations, operation.begun);
        let Some((what, by)) = operations.call(operation.described).zip(operations.call(begun)) else {
            return;
        };
        let Some(to) = self.peer(operation.described, what.comm, what.peer) else { return };
        let place = self.place(begun);
        let (comm, tag, bytes, enter) = (what.comm, what.tag, what.sent, by.enter);
        let done = operation.completed().unwrap_or(NONE);
        self.found.sends.push(Sent { place, to, comm, tag, bytes, enter, done });
    }

    fn receive(&mut self, row: u32, operation: &Operation) {
        if !operation.receives() || !happened(operation) {
            return;
        }
        let operations = self.operations;
        let (Some(call), Some(comm)) = (operations.call(operation.described), operations.comm(operation))
        else {
            return;
        };
        let posted = operations.posted(operation);
        self.out_of_order |= posted != operation.begun;
        // The call that names the peer: the one that has the arguments.
        let by = if posted == operation.begun { operation.described } else { posted };
        let received = Received {
            place: self.place(operation.begun),
            from: Rank::MAX,
            comm,
            tag: operation.source.tag,
            operation: row,
            room: call.received,
            done: operation.completed().unwrap_or(NONE),
        };
        self.post(by, operation.source, received);
    }

    /// A message that a probe matched and that was never received.
    fn kept(&mut self, probe: u32) {
        let Some(call) = self.operations.call(probe) else { return };
        let (source, place) = (self.operations.found_by(call), self.place(probe));
        let (comm, tag) = (call.comm, source.tag);
        let received =
            Received { place, from: Rank::MAX, comm, tag, operation: NONE, room: NO_ROOM, done: NONE };
        self.out_of_order = true;
        if self.post(probe, source, received) && self.operations.details(call).message.is_some() {
            self.found.kept.push(probe);
        }
    }

    /// Posts a receive, unless it is from MPI_PROC_NULL; one with an unknown sender is noted
    /// instead. Returns whether it was posted or noted.
    fn post(&mut self, by: u32, source: Matched, received: Received) -> bool {
        if source.peer == special::NOBODY {
            return false;
        }
        if source.peer == special::ANY || source.tag == special::ANY {
            self.found.unresolved.push((received.place.call, received.comm));
            return true;
        }
        let from = self.peer(by, received.comm, source.peer);
        self.found.receives.extend(from.map(|from| Received { from, ..received }));
        from.is_some()
    }

    fn place(&self, call: u32) -> CallPlace {
        CallPlace { rank: self.found.rank, call }
    }

    /// The world rank of a peer. `None` for MPI_PROC_NULL, for processes of another world, if the
    /// call names no peer, and if there is no such rank.
    fn peer(&mut self, number: u32, comm: CommId, peer: i32) -> Option<Rank> {
        if matches!(peer, special::NOBODY | special::NONE) {
            return None;
        }
        let of_comm = self.trace.communicators.get(comm.index());
        let found = of_comm.and_then(|of_comm| of_comm.world_rank(self.found.rank, peer));
        if let Some(rank) = found.filter(|&rank| rank < self.trace.processes()) {
            return Some(rank);
        }
        let has_others = |ranks: &[Rank]| ranks.contains(&Rank::MAX);
        if !of_comm.is_some_and(|of_comm| has_others(&of_comm.members) || has_others(&of_comm.remote)) {
            self.found.strangers.push((number, peer));
        }
        None
    }

    /// Orders the receives. A probe that keeps a message takes it out of the queue, so the receive
    /// of that message takes the probe's place.
    fn finish(self) -> Ends {
        let Finding { operations, mut found, out_of_order, .. } = self;
        if out_of_order {
            let row = |received: &Received| received.operation().and_then(|row| operations.get(row));
            found.receives.sort_by_key(|received| {
                row(received).map_or(received.place.call, |operation| operations.posted(operation))
            });
            found.unresolved.sort_unstable();
        }
        found
    }
}
