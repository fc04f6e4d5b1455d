//! Messages of a trace: when their sender and receiver were in their calls.

use super::waiting::{Waited, Waits, waits};
use straggler_model::{Rank, Time, parallel};
use straggler_trace::messages::{CallPlace, Message, Messages};
use straggler_trace::operations::{Kind, Operations};
use straggler_trace::{Call, Class, HowMany, RankTrace, Start, Trace};

/// One message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pair {
    pub bytes: u64,
    /// The call that sent it.
    pub sent: (Time, Time),
    /// Whether that call only sends.
    pub only_sends: bool,
    /// The call in which the sender waited for the message to be sent: the same one if it blocks.
    pub sender_waited: SenderWaited,
    /// Whether that call blocks and messages may have arrived meanwhile.
    pub mixed: bool,
    /// When the receive was posted, or the receiver began to probe for the message.
    pub posted: Time,
    /// The call in which it completed.
    pub received: (Time, Time),
    /// Since when the receiver waited for it, and what else it did meanwhile.
    pub waited: Waited,
    /// The place of that call.
    pub done: CallPlace,
    /// How many operations that call completed, of any kind.
    pub served: usize,
}

/// The call that completed a send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SenderWaited {
    pub enter: Time,
    pub exit: Time,
    /// Whether it waited for sends and nothing else.
    pub for_sends_only: bool,
}

/// All messages with both ends in the trace, grouped by receiving call, in the order of their sends.
pub(super) fn pairs(trace: &Trace) -> Vec<Pair> {
    let operations = Operations::of_trace(trace);
    let messages = Messages::of_operations(trace, &operations);
    let waits = waits(&operations);
    let released = Released::new(trace, &messages.matched);
    let others: Vec<Vec<bool>> = parallel::map_list(&operations, completes_others);
    let pair = |message: &Message| {
        let sender_waited = sender_waited(trace, message, others.get(message.sent.place.rank as usize)?);
        pair(trace, message, sender_waited, &waits, &released)
    };
    let mut pairs: Vec<Pair> = messages.matched.iter().filter_map(pair).collect();
    pairs.sort_by_key(|pair| (pair.done.rank, pair.done.call, pair.sent));
    pairs
}

/// Sends that waited for their receivers, by rank and call; the call that completed them, and when the receive was
/// posted.
struct Released(Vec<(CallPlace, u32, Time)>);

impl Released {
    fn new(trace: &Trace, messages: &[Message]) -> Released {
        let one = |message: &Message| {
            let (sent, done) = (message.sent, message.sent_in()?);
            let (over, posted) = (trace.call(done)?.exit, trace.call(message.received().place)?.enter);
            (sent.enter < posted && posted < over).then_some((sent.place, done.call, posted))
        };
        let mut all: Vec<(CallPlace, u32, Time)> = messages.iter().filter_map(one).collect();
        all.sort_unstable();
        Released(all)
    }

    /// When the last receive was posted that calls of a rank, from `first` to before `last`, waited for.
    fn last(&self, rank: Rank, first: u32, last: u32) -> Option<Time> {
        let from = self.0.partition_point(|&(place, ..)| place < CallPlace { rank, call: first });
        let sends =
            self.0.get(from..)?.iter().take_while(|(place, ..)| *place < CallPlace { rank, call: last });
        sends.filter(|(_, done, _)| *done < last).map(|&(.., time)| time).max()
    }
}

/// By call: whether it completes anything but sends.
fn completes_others(operations: &Operations<'_>) -> Vec<bool> {
    let mut others = vec![false; operations.traced().calls.len()];
    for row in operations.rows().iter().filter(|row| row.kind != Kind::Send) {
        row.completed()
            .and_then(|call| others.get_mut(call as usize))
            .into_iter()
            .for_each(|other| *other = true);
    }
    others
}

/// A send that no call completed tells nothing.
fn sender_waited(trace: &Trace, message: &Message, completes_others: &[bool]) -> SenderWaited {
    let unknown = SenderWaited { enter: Time::NEVER, exit: Time::NEVER, for_sends_only: false };
    let Some((place, call)) = message.sent_in().and_then(|place| Some((place, trace.call(place)?))) else {
        return unknown;
    };
    let is_test = matches!(call.function.class(), Class::Test(_));
    let others = completes_others.get(place.call as usize) != Some(&false);
    SenderWaited { enter: call.enter, exit: call.exit, for_sends_only: !others && !is_test }
}

fn pair(
    trace: &Trace,
    message: &Message,
    sender_waited: SenderWaited,
    waits: &[Waits],
    released: &Released,
) -> Option<Pair> {
    let interval = |call: &Call| (call.enter, call.exit);
    let (sent, received) = (&message.sent, message.received());
    let (send, post) = (trace.call(sent.place)?, trace.call(received.place)?);
    let place = message.received_in()?;
    let done = trace.call(place)?;
    let rank = place.rank as usize;
    let mut waited = waits.get(rank)?.get(place.call).unwrap_or(Waited::since(done.enter));
    // While its own sends waited for their receivers, the rank did not receive.
    let released = waited.first.and_then(|first| released.last(place.rank, first, place.call));
    waited.since = waited.since.max(released.unwrap_or_default());
    Some(Pair {
        bytes: sent.bytes,
        sent: interval(send),
        sender_waited,
        only_sends: matches!(send.function.class(), Class::Send(_, Start::Blocking | Start::Nonblocking)),
        mixed: matches!(send.function.class(), Class::Send(_, Start::Blocking))
            && waits.get(sent.place.rank as usize)?.may_receive(sent.place.call),
        // A receive posted after its probe does not show who waited for whom.
        posted: if waited.probed { post.enter.min(waited.since) } else { post.enter },
        received: interval(done),
        waited,
        done: place,
        served: served(trace.ranks.get(rank)?, done),
    })
}

/// How many operations a call completed.
fn served(rank: &RankTrace, call: &Call) -> usize {
    let Some(details) = rank.details(call) else { return 1 };
    match call.function.class() {
        Class::Wait(HowMany::Any | HowMany::Some) | Class::Test(HowMany::Any | HowMany::Some) => {
            details.completed.len()
        }
        _ => details.requests.len(),
    }
}
