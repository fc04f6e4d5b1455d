//! Messages of a trace: when their sender and their receiver were at it.

use super::waiting::{Waited, Waits, waits};
use straggler_model::Time;
use straggler_trace::messages::{Message, Messages, Place};
use straggler_trace::operations::Operations;
use straggler_trace::{Call, Class, HowMany, RankTrace, Start, Trace};

/// One message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pair {
    pub bytes: u64,
    /// The call that sent it.
    pub sent: (Time, Time),
    /// Whether that call only sends.
    pub only_sends: bool,
    /// Whether that call blocks, and messages may have come in meanwhile.
    pub mixed: bool,
    /// When the receive was posted, or the receiver began to probe for the message.
    pub posted: Time,
    /// The call in which it completed.
    pub received: (Time, Time),
    /// Since when the receiver waited for that, and what else it did meanwhile.
    pub waited: Waited,
    /// Which call that is.
    pub done: Place,
    /// How many operations that call completed, of whatever kind.
    pub served: usize,
}

/// All messages whose both ends are in the trace, those that one call received together, in the order of their sends.
pub(super) fn pairs(trace: &Trace) -> Vec<Pair> {
    let operations = Operations::of_trace(trace);
    let messages = Messages::of_operations(trace, &operations);
    let waits = waits(&operations);
    let mut pairs: Vec<Pair> =
        messages.matched.iter().filter_map(|message| pair(trace, message, &waits)).collect();
    pairs.sort_by_key(|pair| (pair.done.rank, pair.done.call, pair.sent));
    pairs
}

/// The call in which a message was there.
fn done(message: &Message) -> Option<Place> {
    Some(Place { call: message.received.done?, ..message.received.place })
}

fn pair(trace: &Trace, message: &Message, waits: &[Waits]) -> Option<Pair> {
    let call = |place: Place| trace.ranks.get(place.rank as usize)?.calls.get(place.call as usize);
    let interval = |call: &Call| (call.enter, call.exit);
    let Message { sent, received } = message;
    let (send, post) = (call(sent.place)?, call(received.place)?);
    let place = done(message)?;
    let done = call(place)?;
    let rank = place.rank as usize;
    let waited = waits.get(rank)?.of(place.call).unwrap_or(Waited::since(done.enter));
    Some(Pair {
        bytes: sent.bytes,
        sent: interval(send),
        only_sends: matches!(send.function.class(), Class::Send(_, Start::Blocking | Start::Nonblocking)),
        mixed: matches!(send.function.class(), Class::Send(_, Start::Blocking))
            && waits.get(sent.place.rank as usize)?.may_receive(sent.place.call),
        // A receive that follows its message says nothing about who waited for whom.
        posted: if waited.probed { post.enter.min(waited.since) } else { post.enter },
        received: interval(done),
        waited,
        done: place,
        served: served(trace.ranks.get(rank)?, done),
    })
}

/// How many operations a call has completed.
fn served(rank: &RankTrace, call: &Call) -> usize {
    let Some(details) = rank.details(call) else { return 1 };
    match call.function.class() {
        Class::Wait(HowMany::Any | HowMany::Some) | Class::Test(HowMany::Any | HowMany::Some) => {
            details.completed.len()
        }
        _ => details.requests.len(),
    }
}
