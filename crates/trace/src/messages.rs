//! Which receive took which message.
//!
//! MPI keeps the order of messages: among those with the same sender, receiver, communicator and
//! tag, the first one sent matches the first receive posted (MPI 4.1, section 3.5). A trace says
//! whom wildcards matched, so every receive has a sender and a tag, and two queues in the order of
//! posting find all partners. A matching probe takes its message out of the queue when it finds it;
//! the receive of that message comes later.

mod ends;

pub use crate::place::CallPlace;
pub use ends::Ends;

use crate::call::CommId;
use crate::operations::Operations;
use crate::trace::Trace;
use straggler_model::{Rank, Time};

/// The sending side of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sent {
    /// The call that began it; for a persistent send, the one that started it.
    pub place: CallPlace,
    pub to: Rank,
    pub comm: CommId,
    pub tag: i32,
    pub bytes: u64,
    pub enter: Time,
    done: u32,
}

/// The receiving side of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Received {
    /// The call that posted it; for a message that a probe kept and nobody received, the probe.
    pub place: CallPlace,
    pub from: Rank,
    pub comm: CommId,
    pub tag: i32,
    operation: u32,
    room: u64,
    done: u32,
}

/// A message with both of its sides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    pub sent: Sent,
    /// The receiver's fields, as in [`Received`].
    call: u32,
    operation: u32,
    done: u32,
    room: u64,
}

// A trace holds one per message, so the size matters.
const _: () = assert!(size_of::<Message>() == 64 && size_of::<Sent>() == 40 && size_of::<Received>() == 40);

/// Stand for no call, no row and no known buffer size. No rank has that many calls, and no message is that long.
const NONE: u32 = u32::MAX;
const NO_ROOM: u64 = u64::MAX;

fn known(number: u32) -> Option<u32> {
    (number != NONE).then_some(number)
}

impl Sent {
    /// The call after which the send was over: the send itself if it blocks, else the call that found it completed.
    pub fn done(&self) -> Option<u32> {
        known(self.done)
    }
}

impl Received {
    /// Its row in [`Operations::rows`]; `None` for a message that was only kept by a probe.
    pub fn operation(&self) -> Option<u32> {
        known(self.operation)
    }

    /// The size of the receive buffer in bytes; `None` if the call that would tell is missing.
    pub fn room(&self) -> Option<u64> {
        (self.room != NO_ROOM).then_some(self.room)
    }

    /// The call after which the message had arrived: the receive itself, or the call that found it completed.
    pub fn done(&self) -> Option<u32> {
        known(self.done)
    }
}

impl Message {
    fn new(sent: Sent, received: &Received) -> Message {
        let Received { place, operation, done, room, .. } = *received;
        Message { sent, call: place.call, operation, done, room }
    }

    pub fn received(&self) -> Received {
        let Message { sent, call, operation, done, room } = *self;
        let Sent { place, to, comm, tag, .. } = sent;
        Received { place: CallPlace { rank: to, call }, from: place.rank, comm, tag, operation, room, done }
    }

    /// The call after which the message had arrived.
    pub fn received_in(&self) -> Option<CallPlace> {
        Some(CallPlace { rank: self.sent.to, call: known(self.done)? })
    }

    /// The call after which its send was over.
    pub fn sent_in(&self) -> Option<CallPlace> {
        Some(CallPlace { call: self.sent.done()?, ..self.sent.place })
    }
}

/// All messages of a trace between two ranks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Messages {
    /// Sorted by receiver, sender, communicator and tag, and then by the order of sending.
    pub matched: Vec<Message>,
    /// Messages that were never received.
    pub lost: Vec<Sent>,
    /// Receives whose message was never sent.
    pub awaited: Vec<Received>,
}

impl Messages {
    /// The messages of a trace, from what each of its ranks sent and received.
    pub fn new(ranks: &[Ends]) -> Messages {
        let sends = ranks.iter().flat_map(|rank| rank.sends.iter().copied()).collect();
        let receives = ranks.iter().flat_map(|rank| rank.receives.iter().copied()).collect();
        Messages::between(sends, receives)
    }

    /// Pairs sends with receives. Those of each rank are in the order of posting.
    pub fn between(mut sends: Vec<Sent>, mut receives: Vec<Received>) -> Messages {
        // A stable sort keeps entries with the same key in the order of posting.
        sends.sort_by_key(key_of_send);
        receives.sort_by_key(key_of_receive);
        pair(&sends, &receives)
    }

    /// The messages of a trace, from what the calls of each of its ranks do.
    pub fn of_operations(trace: &Trace, operations: &[Operations<'_>]) -> Messages {
        Messages::new(&Ends::of_ranks(trace, operations))
    }

    /// The messages of a trace.
    pub fn of_trace(trace: &Trace) -> Messages {
        Messages::of_operations(trace, &Operations::of_trace(trace))
    }
}

type Key = (Rank, Rank, CommId, i32);

fn key_of_send(sent: &Sent) -> Key {
    (sent.to, sent.place.rank, sent.comm, sent.tag)
}

fn key_of_receive(received: &Received) -> Key {
    (received.place.rank, received.from, received.comm, received.tag)
}

/// Pairs the entries of two lists, which are sorted by the same key.
fn pair(sends: &[Sent], receives: &[Received]) -> Messages {
    let matched = Vec::with_capacity(sends.len().min(receives.len()));
    let mut found = Messages { matched, ..Messages::default() };
    let (mut sends, mut receives) = (sends.iter().peekable(), receives.iter().peekable());
    loop {
        match (sends.peek().copied(), receives.peek().copied()) {
            (Some(&sent), Some(&received)) => match key_of_send(&sent).cmp(&key_of_receive(&received)) {
                std::cmp::Ordering::Equal => {
                    found.matched.push(Message::new(sent, &received));
                    sends.next();
                    receives.next();
                }
                std::cmp::Ordering::Less => found.lost.extend(sends.next()),
                std::cmp::Ordering::Greater => found.awaited.extend(receives.next()),
            },
            (Some(_), None) => found.lost.extend(sends.next()),
            (None, Some(_)) => found.awaited.extend(receives.next()),
            (None, None) => return found,
        }
    }
}
