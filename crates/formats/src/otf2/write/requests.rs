//! What OTF2 records about the operations of a rank beyond their calls: lengths of messages, and
//! operations that no call ends.

use std::collections::HashMap;
use straggler_trace::call::{CommId, Matched, NO_COMM, special};
use straggler_trace::messages::Messages;
use straggler_trace::operations::{Fate, Kind, Operation, Operations};
use straggler_trace::{Class, Details, RequestId, Trace};

/// The other end of a message, and the communicator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Partner {
    pub(super) comm: CommId,
    pub(super) who: Matched,
}

impl Partner {
    pub(super) fn is_known(self) -> bool {
        self.comm != NO_COMM && !matches!(self.who.peer, special::NOBODY | special::NONE)
    }
}

/// The request number, in an archive, of the receiving half of a send and receive: above all other numbers.
pub(super) fn receiving_half(request: RequestId) -> u64 {
    1 << 32 | u64::from(request.0)
}

/// Operations that only MPI_Finalize ends.
///
/// A receive that no call ends (it was freed, or the program forgot it) is recorded as ending in
/// MPI_Finalize, where MPI itself must have finished it: OTF2 names the sender and the communicator
/// only where an operation ends.
#[derive(Debug, Default)]
pub(super) struct Forgotten {
    finalize: u32,
    rows: Vec<u32>,
}

impl Forgotten {
    pub(super) fn new(operations: &Operations<'_>) -> Forgotten {
        let calls = &operations.traced().calls;
        let Some(finalize) = calls.iter().rposition(|call| call.function.class() == Class::Finalize) else {
            return Forgotten::default();
        };
        let finalize = finalize as u32;
        // A send has nothing more to record.
        let is_open = |row: &Operation| {
            let is_told = matches!(row.kind, Kind::Receive | Kind::Exchange | Kind::Collective);
            is_told
                && row.has_request()
                && row.begun < finalize
                && matches!(row.fate, Fate::Open | Fate::Freed)
        };
        let open = (0..).zip(operations.rows()).filter(|(_, row)| is_open(row));
        let mut open: Vec<(RequestId, u32)> = open.map(|(number, row)| (row.request, number)).collect();
        open.sort_unstable();
        Forgotten { finalize, rows: open.into_iter().map(|(_, row)| row).collect() }
    }

    /// The rows that end in a call without being passed to it, in the order of their requests.
    pub(super) fn until(&self, call: u32) -> &[u32] {
        if self.finalize == call { &self.rows } else { &[] }
    }
}

/// Whether a message was not sent or received because the call failed.
pub(super) fn failed(class: Class, details: &Details) -> bool {
    let is_message = matches!(
        class,
        Class::Send(..) | Class::Recv(_) | Class::Sendrecv(_) | Class::MatchedRecv(_) | Class::Probe { .. }
    );
    is_message && details.has_failed()
}

/// The lengths of messages that were shorter than their buffers, by the rows of their receives, for
/// every rank: OTF2 records the bytes received, a trace the size of the buffer.
pub(super) fn lengths(trace: &Trace, operations: &[Operations<'_>]) -> Vec<HashMap<u32, u64>> {
    let mut lengths = vec![HashMap::new(); trace.ranks.len()];
    for message in Messages::of_operations(trace, operations).matched {
        let (sent, received) = (message.sent, message.received());
        let is_shorter = received.room().is_some_and(|room| sent.bytes < room);
        if let (true, Some(of_rank)) = (is_shorter, lengths.get_mut(received.place.rank as usize)) {
            of_rank.extend(received.operation().map(|row| (row, sent.bytes)));
        }
    }
    lengths
}
