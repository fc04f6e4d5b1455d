//! Waits for messages: late senders and late receivers.

use super::{Pattern, Wait};
use rayon::prelude::*;
use std::collections::VecDeque;
use straggler_model::Time;
use straggler_trace::messages::{Message, Place};
use straggler_trace::{Class, HowMany, Start, Trace};

/// So many late senders of a rank are kept in mind, to see whether a message that was sent earlier comes after them.
const REMEMBERED: usize = 100;

/// Late senders and late receivers, at most one of each in a call. Messages are by receiver.
pub(super) fn waits(trace: &Trace, messages: &[Message]) -> [Vec<Wait>; 2] {
    let receivers: Vec<&[Message]> =
        messages.chunk_by(|one, next| one.received.place.rank == next.received.place.rank).collect();
    let senders = by_sender(trace, messages);
    [
        receivers.into_par_iter().flat_map_iter(|of_rank| late_senders(trace, of_rank)).collect(),
        senders.into_par_iter().flat_map_iter(|of_rank| late_receivers(trace, messages, of_rank)).collect(),
    ]
}

/// The messages of each sender.
fn by_sender(trace: &Trace, messages: &[Message]) -> Vec<Vec<u32>> {
    let mut senders = vec![Vec::new(); trace.ranks.len()];
    for (number, message) in (0..).zip(messages) {
        if let Some(sender) = senders.get_mut(message.sent.place.rank as usize) {
            sender.push(number);
        }
    }
    senders
}

fn sent_at(trace: &Trace, message: &Message) -> Time {
    trace.moment(message.sent.place).unwrap_or(message.sent.enter)
}

/// The longest wait for a sender in each call of a rank that received.
fn late_senders(trace: &Trace, messages: &[Message]) -> Vec<Wait> {
    let mut order: Vec<&Message> = messages.iter().collect();
    order.sort_by_key(|message| (message.received.done, message.received.place.call, message.sent.enter));
    let mut waits: Vec<Wait> = Vec::new();
    let mut late: VecDeque<(Time, usize)> = VecDeque::new();
    for together in order.chunk_by(|one, next| one.received.done == next.received.done) {
        let Some(place) = together[0].received_in() else { continue };
        if !late.is_empty() {
            let earliest = together.iter().map(|message| sent_at(trace, message)).min().unwrap_or_default();
            late.retain(|&(sent, wait)| {
                let overtaken = sent > earliest;
                waits[wait].wrong_order |= overtaken;
                !overtaken
            });
        }
        let Some((wait, sent)) = late_sender(trace, place, together) else { continue };
        if late.len() == REMEMBERED {
            late.pop_front();
        }
        late.push_back((sent, waits.len()));
        waits.push(wait);
    }
    waits
}

/// The wait of a call for its latest message, and when that was sent. A test does not wait.
fn late_sender(trace: &Trace, place: Place, messages: &[&Message]) -> Option<(Wait, Time)> {
    let receive = trace.call(place)?;
    if matches!(receive.function.class(), Class::Test(_)) {
        return None;
    }
    let latest = messages.iter().max_by_key(|message| message.sent.enter)?;
    let time = latest.sent.enter.min(receive.exit).since(receive.enter);
    let wait = Wait {
        place,
        pattern: Pattern::LateSender,
        time,
        cause: Some(latest.sent.place),
        wrong_order: false,
    };
    (time > Time::ZERO).then_some((wait, sent_at(trace, latest)))
}

/// A call that completes many sends waits for the latest receiver.
fn late_receivers(trace: &Trace, messages: &[Message], mut of_rank: Vec<u32>) -> Vec<Wait> {
    let message = |&number: &u32| &messages[number as usize];
    of_rank.sort_by_key(|number| (message(number).sent.done, message(number).received.place));
    let mut waits = Vec::new();
    for together in of_rank.chunk_by(|one, next| message(one).sent.done == message(next).sent.done) {
        let Some(place) = message(&together[0]).sent_in() else { continue };
        let late = together.iter().filter_map(|number| late_receiver(trace, place, message(number)));
        waits.extend(late.max_by_key(|wait| wait.time));
    }
    waits
}

/// The receive was posted while the sender stayed in its call.
fn late_receiver(trace: &Trace, place: Place, message: &Message) -> Option<Wait> {
    let (send, post) = (trace.call(place)?, trace.call(message.received.place)?);
    let blocks = matches!(
        send.function.class(),
        Class::Send(_, Start::Blocking)
            | Class::Sendrecv(Start::Blocking)
            | Class::Wait(HowMany::One | HowMany::All | HowMany::Any | HowMany::Some)
    );
    let time = post.enter.since(send.enter);
    let wait = Wait {
        place,
        pattern: Pattern::LateReceiver,
        time,
        cause: Some(message.received.place),
        wrong_order: false,
    };
    (blocks && time > Time::ZERO && post.enter < send.exit).then_some(wait)
}
