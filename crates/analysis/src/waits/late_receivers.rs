//! Sends that wait for their receives.
//!
//! As in Scalasca, only a call that sends and nothing else waits for its receiver: not MPI_Sendrecv, in which the
//! receive may be what takes long. A buffered send never waits. Nor does an eager message, unless its call took much
//! longer than others of that size: then the receiver had no room for it. Which messages are eager follows from the
//! trace: sends that returned before their receive was posted.

use super::{Pattern, Wait};
use straggler_model::{Rank, Time, parallel};
use straggler_trace::messages::{CallPlace, Message, Sent};
use straggler_trace::operations::Operations;
use straggler_trace::{Class, Mode, Start, Trace};

/// The receiving end of a message that may keep its sender waiting.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Receipt {
    /// The sender's call that completed it.
    done: u32,
    /// The call that posted the receive, and when.
    place: CallPlace,
    posted: Time,
    /// The size of the message, or [`SYNCHRONOUS`].
    bytes: u64,
}

// There is one per message.
const _: () = assert!(size_of::<Receipt>() == 32);

/// Stands for the size of a message whose send always waits for its receiver.
const SYNCHRONOUS: u64 = u64::MAX;

/// Late receivers, at most one per call, by place. `messages` are by receiver.
pub(super) fn waits(trace: &Trace, operations: &[Operations<'_>], messages: &[Vec<Message>]) -> Vec<Wait> {
    let senders = by_sender(trace, operations, messages);
    let eager = parallel::map(senders.len(), |rank| Eager::new(trace, rank as Rank, &senders[rank]));
    let eager = eager.iter().fold(Eager::default(), Eager::with);
    let of_rank = |rank: usize, receipts| of_sender(trace, rank as Rank, receipts, &eager);
    parallel::map_owned(senders, of_rank).into_iter().flatten().collect()
}

/// The messages of each sender that were completed by calls that may wait.
fn by_sender(trace: &Trace, operations: &[Operations<'_>], messages: &[Vec<Message>]) -> Vec<Vec<Receipt>> {
    let mut senders = vec![Vec::new(); trace.ranks.len()];
    for message in messages.iter().flatten() {
        let (sent, place) = (&message.sent, message.received().place);
        let rank = sent.place.rank as usize;
        let known = (senders.get_mut(rank), sent.done(), trace.call(place), mode(operations.get(rank), sent));
        if let (Some(sender), Some(done), Some(post), Some(mode)) = known
            && mode != Mode::Buffered
        {
            let bytes = if mode == Mode::Synchronous { SYNCHRONOUS } else { sent.bytes };
            sender.push(Receipt { done, place, posted: post.enter, bytes });
        }
    }
    senders
}

/// When a send may return; none for the sending half of an MPI_Sendrecv.
fn mode(operations: Option<&Operations<'_>>, sent: &Sent) -> Option<Mode> {
    let operations = operations?;
    let described = match operations.call(sent.place.call)?.function.class() {
        // Starts of persistent sends that are alike in size and tag are taken to be alike in their mode.
        Class::Begin | Class::Ready => {
            let from = operations.rows().partition_point(|row| row.begun < sent.place.call);
            let begun = operations.rows()[from..].iter().take_while(|row| row.begun == sent.place.call);
            let calls = begun.filter_map(|row| operations.call(row.described));
            calls.into_iter().find(|call| call.sent == sent.bytes && call.tag == sent.tag)?
        }
        _ => operations.call(sent.place.call)?,
    };
    match described.function.class() {
        Class::Send(mode, _) => Some(mode),
        Class::Sendrecv(Start::Nonblocking) | Class::Partitioned { .. } => Some(Mode::Standard),
        _ => None,
    }
}

/// A call that completes many sends waits for the last receive posted during the call.
fn of_sender(trace: &Trace, rank: Rank, mut receipts: Vec<Receipt>, eager: &Eager) -> Vec<Wait> {
    receipts.sort_unstable();
    let of_call = |together: &[Receipt]| {
        let place = CallPlace { rank, call: together[0].done };
        let send = trace.call(place)?;
        let blocks = matches!(send.function.class(), Class::Send(_, Start::Blocking) | Class::Wait(_));
        let waits_for_requests = matches!(send.function.class(), Class::Wait(_));
        let length = (!waits_for_requests).then(|| send.exit.since(send.enter));
        let late = together.iter().filter(|receipt| {
            let while_it_lasts = receipt.posted > send.enter && receipt.posted < send.exit;
            while_it_lasts && !eager.explains(receipt.bytes, length)
        });
        let late = late.max_by_key(|receipt| receipt.posted).filter(|_| blocks)?;
        let (time, cause) = (late.posted.since(send.enter), Some(late.place));
        Some(Wait { place, pattern: Pattern::LateReceiver, time, cause, wrong_order: false })
    };
    receipts.chunk_by(|one, next| one.done == next.done).filter_map(of_call).collect()
}

/// An eager send that took this many times as long as usual was blocked.
const BLOCKED: u64 = 4;

/// Sends that returned before their receive was posted.
#[derive(Clone, Debug, Default)]
struct Eager {
    /// The longest of their messages.
    most: Option<u64>,
    /// How many blocking calls of each size and length there are, both by their power of two; empty if there are none.
    calls: Vec<[u32; 64]>,
}

/// The power of two of a size or a length.
fn class(number: u64) -> usize {
    number.checked_ilog2().unwrap_or(0) as usize
}

impl Eager {
    fn new(trace: &Trace, rank: Rank, receipts: &[Receipt]) -> Eager {
        let doubt = |rank: Rank| trace.ranks.get(rank as usize).and_then(|traced| traced.clock.error);
        let mut eager = Eager::default();
        for receipt in receipts.iter().filter(|receipt| receipt.bytes != SYNCHRONOUS) {
            let Some(call) = trace.call(CallPlace { rank, call: receipt.done }) else { continue };
            let doubts = [rank, receipt.place.rank].map(|rank| doubt(rank).unwrap_or_default());
            if call.exit + doubts[0] + doubts[1] > receipt.posted {
                continue;
            }
            eager.most = eager.most.max(Some(receipt.bytes));
            if matches!(call.function.class(), Class::Send(_, Start::Blocking)) {
                eager.calls.resize(64, [0; 64]);
                eager.calls[class(receipt.bytes)][class(call.exit.since(call.enter).ps())] += 1;
            }
        }
        eager
    }

    fn with(mut self, other: &Eager) -> Eager {
        self.most = self.most.max(other.most);
        if self.calls.is_empty() {
            self.calls.clone_from(&other.calls);
        } else {
            for (sum, more) in self.calls.iter_mut().flatten().zip(other.calls.iter().flatten()) {
                *sum = sum.saturating_add(*more);
            }
        }
        self
    }

    /// Whether a message of this size needs no receiver, so that its call, if it has one of its own, did not wait
    /// for one.
    fn explains(&self, bytes: u64, length: Option<Time>) -> bool {
        let is_eager = self.most.is_some_and(|most| bytes <= most);
        is_eager
            && length.is_none_or(|length| {
                self.usual(bytes).is_some_and(|usual| length.ps() <= usual.ps().saturating_mul(BLOCKED))
            })
    }

    /// How long blocking calls of this size usually take, rounded up to a power of two; or of the next size that has
    /// any.
    fn usual(&self, bytes: u64) -> Option<Time> {
        let of_size = |lengths: &[u32; 64]| {
            let half = lengths.iter().map(|&calls| u64::from(calls)).sum::<u64>().div_ceil(2);
            let mut up_to = 0;
            let reaches_half = |&calls: &u32| {
                up_to += u64::from(calls);
                up_to >= half
            };
            (half > 0).then(|| lengths.iter().position(reaches_half)).flatten()
        };
        let median = self.calls.iter().skip(class(bytes)).find_map(of_size)?;
        Some(Time(2u64.saturating_pow(median as u32 + 1)))
    }
}
