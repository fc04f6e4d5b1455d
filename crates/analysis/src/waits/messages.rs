//! Messages by receiver, and waits for those that were sent late.

use super::{Pattern, Wait};
use std::collections::VecDeque;
use straggler_model::{Rank, Time, parallel};
use straggler_trace::messages::{CallPlace, Ends, Message, Messages, Sent};
use straggler_trace::operations::Operations;
use straggler_trace::{Class, RankTrace, Trace};

/// How many late senders of a rank are remembered, to detect a message that was sent earlier and received after them.
const REMEMBERED: usize = 100;

/// The matched messages of a trace, by receiver. [`Messages::matched`] has them in one list.
pub fn messages_by_receiver(trace: &Trace, operations: &[Operations<'_>]) -> Vec<Vec<Message>> {
    let sends = sends_by_receiver(trace, operations);
    parallel::map_owned(sends, |rank, sends| {
        Messages::between(sends, Ends::receives_of(trace, rank as Rank, &operations[rank])).matched
    })
}

/// The messages sent to each rank, in the order of the senders.
fn sends_by_receiver(trace: &Trace, operations: &[Operations<'_>]) -> Vec<Vec<Sent>> {
    let of_sender = |rank: usize| Ends::sends_of(trace, rank as Rank, &operations[rank]);
    let senders: Vec<Vec<Sent>> = parallel::map(operations.len(), of_sender);
    let mut counts = vec![0; operations.len()];
    for sent in senders.iter().flatten() {
        counts.get_mut(sent.to as usize).into_iter().for_each(|count| *count += 1);
    }
    let mut receivers: Vec<Vec<Sent>> = counts.into_iter().map(Vec::with_capacity).collect();
    // Consumes the lists of the senders, which frees their memory.
    for sent in senders.into_iter().flatten() {
        receivers.get_mut(sent.to as usize).into_iter().for_each(|receiver| receiver.push(sent));
    }
    receivers
}

/// Late senders, at most one per call, by place. `messages` are by receiver.
pub(super) fn waits(trace: &Trace, messages: &[Vec<Message>]) -> Vec<Wait> {
    let tells_moment = |rank: &RankTrace| rank.details.iter().any(|details| details.moment.is_some());
    let tells_moments = parallel::map_list(&trace.ranks, tells_moment).contains(&true);
    parallel::flat_map(messages.len(), |rank| late_senders(trace, tells_moments, &messages[rank]))
}

/// Late senders that a rank has waited for, to detect messages sent earlier and received later.
struct Remembered<'a> {
    trace: &'a Trace,
    /// Whether the trace records when messages were sent inside their calls.
    tells_moments: bool,
    late: VecDeque<(Time, usize)>,
    /// No remembered message was sent later than this.
    latest: Time,
}

impl Remembered<'_> {
    fn sent_at(&self, message: &Message) -> Time {
        let told = self.tells_moments.then(|| self.trace.moment(message.sent.place)).flatten();
        told.unwrap_or(message.sent.enter)
    }

    /// Records received messages: earlier waits for messages that were sent after one of them were in wrong order.
    fn see(&mut self, messages: &[&Message], waits: &mut [Wait]) {
        let Some(earliest) = messages.iter().map(|message| self.sent_at(message)).min() else { return };
        if earliest >= self.latest {
            return;
        }
        self.late.retain(|&(sent, wait)| {
            waits[wait].wrong_order |= sent > earliest;
            sent <= earliest
        });
        self.latest = earliest;
    }

    fn remember(&mut self, message: &Message, wait: usize) {
        if self.late.len() == REMEMBERED {
            self.late.pop_front();
        }
        let sent = self.sent_at(message);
        self.latest = self.latest.max(sent);
        self.late.push_back((sent, wait));
    }
}

/// The longest wait for a sender in each receiving call of a rank.
fn late_senders(trace: &Trace, tells_moments: bool, messages: &[Message]) -> Vec<Wait> {
    let key = |(number, message): (u32, &Message)| {
        let received = message.received();
        Some((received.done()?, received.place.call, message.sent.enter, number))
    };
    let mut order: Vec<(u32, u32, Time, u32)> = (0..).zip(messages).filter_map(key).collect();
    // A stable sort, because it profits from the order of the messages of one sender.
    order.sort();
    let mut waits: Vec<Wait> = Vec::new();
    let mut remembered = Remembered { trace, tells_moments, late: VecDeque::new(), latest: Time::ZERO };
    let mut together: Vec<&Message> = Vec::new();
    for group in order.chunk_by(|one, next| one.0 == next.0) {
        together.clear();
        together.extend(group.iter().map(|&(.., number)| &messages[number as usize]));
        remembered.see(&together, &mut waits);
        let place = CallPlace { call: group[0].0, rank: together[0].sent.to };
        if let Some((wait, latest)) = late_sender(trace, place, &together) {
            remembered.remember(latest, waits.len());
            waits.push(wait);
        }
    }
    waits
}

/// The wait of a call for its latest message. A test does not wait.
fn late_sender<'m>(trace: &Trace, place: CallPlace, messages: &[&'m Message]) -> Option<(Wait, &'m Message)> {
    let receive = trace.call(place)?;
    let latest = messages.iter().max_by_key(|message| message.sent.enter)?;
    let time = latest.sent.enter.min(receive.exit).since(receive.enter);
    let cause = Some(latest.sent.place);
    let wait = Wait { place, pattern: Pattern::LateSender, time, cause, wrong_order: false };
    let waits = time > Time::ZERO && !matches!(receive.function.class(), Class::Test(_));
    waits.then_some((wait, latest))
}
