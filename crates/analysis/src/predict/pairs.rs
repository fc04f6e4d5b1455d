//! Messages of a trace: when their sender and their receiver were at it.

use straggler_model::Time;
use straggler_trace::messages::{Message, Messages, Place};
use straggler_trace::{Call, Class, Start, Trace};

/// One message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pair {
    pub bytes: u64,
    /// The call that sent it.
    pub sent: (Time, Time),
    /// Whether that call only sends.
    pub only_sends: bool,
    /// When the receive was posted.
    pub posted: Time,
    /// The call in which it completed.
    pub received: (Time, Time),
    /// Whether that call waited for nothing else.
    pub alone: bool,
}

/// All messages whose both ends are in the trace.
pub(super) fn pairs(trace: &Trace) -> Vec<Pair> {
    let messages = Messages::of_trace(trace);
    messages.matched.iter().filter_map(|message| pair(trace, message)).collect()
}

fn pair(trace: &Trace, message: &Message) -> Option<Pair> {
    let call = |place: Place| trace.ranks.get(place.rank as usize)?.calls.get(place.call as usize);
    let interval = |call: &Call| (call.enter, call.exit);
    let Message { sent, received } = message;
    let (send, post) = (call(sent.place)?, call(received.place)?);
    let done = call(Place { call: received.done?, ..received.place })?;
    let waited_for = trace
        .ranks
        .get(received.place.rank as usize)?
        .details(done)
        .map_or(1, |details| details.requests.len());
    Some(Pair {
        bytes: sent.bytes,
        sent: interval(send),
        only_sends: matches!(send.function.class(), Class::Send(_, Start::Blocking | Start::Nonblocking)),
        posted: post.enter,
        received: interval(done),
        alone: waited_for <= 1,
    })
}
