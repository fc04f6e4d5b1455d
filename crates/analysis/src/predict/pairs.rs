//! Messages of a trace: when their sender and their receiver were at it.

use super::waiting::{Waited, Waits, waits};
use std::collections::HashMap;
use straggler_model::{Rank, Time};
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
    /// When the receive was posted, or the receiver began to probe for the message.
    pub posted: Time,
    /// The call in which it completed.
    pub received: (Time, Time),
    /// Since when the receiver waited for that, and what else it did meanwhile.
    pub waited: Waited,
    /// Whether that call was for nothing else.
    pub alone: bool,
    /// Whether, of all messages that call received, this was sent last: it is the one that was waited for.
    pub last: bool,
    /// How far the clocks of the two ranks may be off against each other.
    pub clocks: Time,
}

/// What clocks may be off where nothing is known of them.
const UNKNOWN: Time = Time::from_ns(2_000);

/// What clocks may be off, from what each is said to be.
fn clocks(trace: &Trace, ranks: [Rank; 2]) -> Time {
    let error = |rank: Rank| trace.ranks.get(rank as usize)?.clock.error;
    match ranks.map(error) {
        [Some(one), Some(other)] => one + other,
        _ => UNKNOWN,
    }
}

/// All messages whose both ends are in the trace.
pub(super) fn pairs(trace: &Trace) -> Vec<Pair> {
    let operations = Operations::of_trace(trace);
    let messages = Messages::of_operations(trace, &operations);
    let mut last: HashMap<Place, Time> = HashMap::new();
    for message in &messages.matched {
        if let Some(done) = done(message) {
            let latest = last.entry(done).or_default();
            *latest = message.sent.enter.max(*latest);
        }
    }
    let waits = waits(&operations);
    messages.matched.iter().filter_map(|message| pair(trace, message, &last, &waits)).collect()
}

/// The call in which a message was there.
fn done(message: &Message) -> Option<Place> {
    Some(Place { call: message.received.done?, ..message.received.place })
}

fn pair(trace: &Trace, message: &Message, last: &HashMap<Place, Time>, waits: &Waits) -> Option<Pair> {
    let call = |place: Place| trace.ranks.get(place.rank as usize)?.calls.get(place.call as usize);
    let interval = |call: &Call| (call.enter, call.exit);
    let Message { sent, received } = message;
    let (send, post) = (call(sent.place)?, call(received.place)?);
    let place = done(message)?;
    let done = call(place)?;
    let rank = place.rank as usize;
    let plain = Waited { since: done.enter, apart: Time::ZERO, probed: false };
    let waited = waits.get(rank)?.get(&place.call).copied().unwrap_or(plain);
    Some(Pair {
        bytes: sent.bytes,
        sent: interval(send),
        only_sends: matches!(send.function.class(), Class::Send(_, Start::Blocking | Start::Nonblocking)),
        // A receive that follows its message says nothing about who waited for whom.
        posted: if waited.probed { post.enter.min(waited.since) } else { post.enter },
        received: interval(done),
        waited,
        alone: served(trace.ranks.get(rank)?, done) <= 1,
        last: last.get(&place).is_some_and(|&latest| latest == sent.enter),
        clocks: clocks(trace, [sent.place.rank, place.rank]),
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
