//! Which receive took which message.
//!
//! MPI keeps the order of messages: of those with the same sender, receiver, communicator and tag, the first that is
//! sent matches the first receive that is posted (MPI 4.1, section 3.5). A trace says whom wildcards matched, so every
//! receive has a sender and a tag, and two queues in the order of posting find all partners. A matching probe takes its
//! message out of the queue when it finds it; the receive of that message comes later.

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
    /// The call that began it: of a persistent send, the one that started it.
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
    /// The call that posted it; of a message that a probe kept and nobody received, the probe.
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
    /// What its receiver knows beyond that, as in [`Received`].
    call: u32,
    operation: u32,
    done: u32,
    room: u64,
}

// There are as many as a trace has messages.
const _: () = assert!(size_of::<Message>() == 64 && size_of::<Sent>() == 40 && size_of::<Received>() == 40);

/// Stands for no call, no row and no room: no rank has so many, and no message is so long.
const NONE: u32 = u32::MAX;
const NO_ROOM: u64 = u64::MAX;

fn known(number: u32) -> Option<u32> {
    (number != NONE).then_some(number)
}

impl Sent {
    /// The call after which it was over: the send itself if it blocks, or what found it completed.
    pub fn done(&self) -> Option<u32> {
        known(self.done)
    }
}

impl Received {
    /// Its row in [`Operations::rows`]; none of a message that was only kept.
    pub fn operation(&self) -> Option<u32> {
        known(self.operation)
    }

    /// Bytes there is room for; none where the call that would say so is not there.
    pub fn room(&self) -> Option<u64> {
        (self.room != NO_ROOM).then_some(self.room)
    }

    /// The call after which the message was there: the receive itself, or what found it completed.
    pub fn done(&self) -> Option<u32> {
        known(self.done)
    }
}

impl Message {
    fn of(sent: Sent, received: &Received) -> Message {
        let Received { place, operation, done, room, .. } = *received;
        Message { sent, call: place.call, operation, done, room }
    }

    pub fn received(&self) -> Received {
        let Message { sent, call, operation, done, room } = *self;
        let Sent { place, to, comm, tag, .. } = sent;
        Received { place: CallPlace { rank: to, call }, from: place.rank, comm, tag, operation, room, done }
    }

    /// The call after which it was there.
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
    /// By receiver, sender, communicator and tag, each in the order of sending.
    pub matched: Vec<Message>,
    /// Sent, but never received.
    pub lost: Vec<Sent>,
    /// Posted, but never sent.
    pub awaited: Vec<Received>,
}

impl Messages {
    /// The messages of a trace, from what each of its ranks sent and received.
    pub fn of(ranks: &[Ends]) -> Messages {
        let sends = ranks.iter().flat_map(|rank| rank.sends.iter().copied()).collect();
        let receives = ranks.iter().flat_map(|rank| rank.receives.iter().copied()).collect();
        Messages::between(sends, receives)
    }

    /// The messages that were sent and received so, of each rank in the order of posting.
    pub fn between(mut sends: Vec<Sent>, mut receives: Vec<Received>) -> Messages {
        // Stable: what has the same key stays in the order of posting.
        sends.sort_by_key(key_of_send);
        receives.sort_by_key(key_of_receive);
        pair(&sends, &receives)
    }

    /// The messages of a trace, from what the calls of each of its ranks do.
    pub fn of_operations(trace: &Trace, operations: &[Operations<'_>]) -> Messages {
        Messages::of(&Ends::of_ranks(trace, operations))
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

/// Walks both lists, which are sorted by the same key.
fn pair(sends: &[Sent], receives: &[Received]) -> Messages {
    let matched = Vec::with_capacity(sends.len().min(receives.len()));
    let mut found = Messages { matched, ..Messages::default() };
    let (mut sends, mut receives) = (sends.iter().peekable(), receives.iter().peekable());
    loop {
        match (sends.peek().copied(), receives.peek().copied()) {
            (Some(&sent), Some(&received)) => match key_of_send(&sent).cmp(&key_of_receive(&received)) {
                std::cmp::Ordering::Equal => {
                    found.matched.push(Message::of(sent, &received));
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
