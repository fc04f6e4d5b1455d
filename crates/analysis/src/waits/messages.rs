//! Waits for messages: late senders and late receivers.

use super::{Pattern, Wait};
use std::cmp::Reverse;
use std::collections::VecDeque;
use straggler_model::Time;
use straggler_trace::messages::{Message, Messages, Place};
use straggler_trace::operations::Operations;
use straggler_trace::{Class, HowMany, Start, Trace};

/// So many late senders of a rank are kept in mind, to see whether a message that was sent earlier comes after them.
const REMEMBERED: usize = 100;

pub(super) fn waits(trace: &Trace, operations: &[Operations<'_>]) -> Vec<Wait> {
    let mut messages = Messages::of_operations(trace, operations).matched;
    let mut waits = late_senders(trace, &mut messages);
    let receivers = late_receivers(trace, &mut messages);
    waits.extend(receivers);
    // Of a call that waited for both one counts. In a wait for requests that is the sender, as in Scalasca, which lets late
    // receivers go there; in a call that itself sends and receives, the one that took longer.
    let goes_first = |wait: &Wait| {
        let class = trace.call(wait.place).map(|call| call.function.class());
        wait.pattern == Pattern::LateSender && matches!(class, Some(Class::Wait(_)))
    };
    waits.sort_by_key(|wait| (wait.place, !goes_first(wait), Reverse(wait.time), wait.pattern));
    waits.dedup_by_key(|wait| wait.place);
    waits
}

fn sent_at(trace: &Trace, message: &Message) -> Time {
    trace.moment(message.sent.place).unwrap_or(message.sent.enter)
}

/// The longest wait for a sender in each call that received.
fn late_senders(trace: &Trace, messages: &mut [Message]) -> Vec<Wait> {
    messages.sort_by_key(|message| (message.received_in(), message.received.place, message.sent.enter));
    let mut waits: Vec<Wait> = Vec::new();
    let mut late: VecDeque<(Time, usize)> = VecDeque::new();
    let mut rank = None;
    for together in messages.chunk_by(|one, next| one.received_in() == next.received_in()) {
        let Some(place) = together[0].received_in() else { continue };
        if rank != Some(place.rank) {
            (rank, late) = (Some(place.rank), VecDeque::new());
        }
        for message in together {
            let earlier = sent_at(trace, message);
            late.retain(|&(sent, wait)| {
                let overtaken = sent > earlier;
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
fn late_sender(trace: &Trace, place: Place, messages: &[Message]) -> Option<(Wait, Time)> {
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
fn late_receivers(trace: &Trace, messages: &mut [Message]) -> Vec<Wait> {
    messages.sort_by_key(|message| (message.sent_in(), message.received.place));
    let mut waits = Vec::new();
    for together in messages.chunk_by(|one, next| one.sent_in() == next.sent_in()) {
        let Some(place) = together[0].sent_in() else { continue };
        let late = together.iter().filter_map(|message| late_receiver(trace, place, message));
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
