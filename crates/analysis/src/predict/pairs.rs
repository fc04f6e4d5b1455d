//! Messages of a trace: when their sender and their receiver were at it.

use std::collections::HashMap;
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
    /// Whether, of all messages that call received, this was sent last: it is the one that was waited for.
    pub last: bool,
}

/// All messages whose both ends are in the trace.
pub(super) fn pairs(trace: &Trace) -> Vec<Pair> {
    let messages = Messages::of_trace(trace);
    let mut last: HashMap<Place, Time> = HashMap::new();
    for message in &messages.matched {
        if let Some(done) = done(message) {
            let latest = last.entry(done).or_default();
            *latest = message.sent.enter.max(*latest);
        }
    }
    messages.matched.iter().filter_map(|message| pair(trace, message, &last)).collect()
}

/// The call in which a message was there.
fn done(message: &Message) -> Option<Place> {
    Some(Place { call: message.received.done?, ..message.received.place })
}

fn pair(trace: &Trace, message: &Message, last: &HashMap<Place, Time>) -> Option<Pair> {
    let call = |place: Place| trace.ranks.get(place.rank as usize)?.calls.get(place.call as usize);
    let interval = |call: &Call| (call.enter, call.exit);
    let Message { sent, received } = message;
    let (send, post) = (call(sent.place)?, call(received.place)?);
    let place = done(message)?;
    let done = call(place)?;
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
        last: last.get(&place).is_some_and(|&latest| latest == sent.enter),
    })
}
