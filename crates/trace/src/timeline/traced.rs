//! The timeline of a traced run: what its calls did, and the computation between them.

use super::{Activity, Arrow, Kind, Lane, Timeline};
use crate::call::Call;
use crate::messages::{Message, Messages};
use crate::trace::{RankTrace, Trace};
use crate::{Class, Function};
use std::collections::BTreeMap;
use straggler_model::{Rank, Tag, Time};

impl Timeline {
    /// The timeline of a trace up to about `most` calls, and where it ends if that is not all of it.
    pub fn of_trace(trace: &Trace, most: usize) -> (Timeline, Option<Time>) {
        let cut = cut(trace, most);
        let until = cut.unwrap_or(Time::NEVER);
        let ranks = (0..).zip(&trace.ranks);
        let activities = ranks.flat_map(|(rank, of_rank)| activities(trace, rank, of_rank, until)).collect();
        let messages = Messages::of_trace(trace).matched;
        let arrows = messages.iter().filter_map(|message| arrow(trace, message));
        let arrows = arrows.filter(|arrow| arrow.received <= until && arrow.sent <= until).collect();
        (Timeline::join([Timeline { activities, arrows }]), cut)
    }
}

/// The time at which `most` calls have started; `None` if there are no more.
fn cut(trace: &Trace, most: usize) -> Option<Time> {
    let mut enters: Vec<Time> =
        trace.ranks.iter().flat_map(|rank| rank.calls.iter().map(|call| call.enter)).collect();
    if enters.len() <= most {
        return None;
    }
    Some(*enters.select_nth_unstable(most).1)
}

fn activities(trace: &Trace, rank: Rank, of_rank: &RankTrace, until: Time) -> Vec<Activity> {
    let mut found = Vec::new();
    // Until when each thread is inside a call. It computes only after its first call.
    let mut busy: BTreeMap<u16, Time> = BTreeMap::new();
    for call in of_rank.calls.iter().filter(|call| call.enter <= until) {
        let Some(kind) = kind(call.function) else { continue };
        let free = busy.get(&call.thread).copied();
        // A call inside another is part of it.
        if free.is_some_and(|free| call.exit <= free) {
            continue;
        }
        let lane = Lane::Cpu(call.thread.min(255) as u8);
        let nothing = Activity {
            rank,
            lane,
            kind: Kind::Compute,
            function: None,
            start: free.unwrap_or_default(),
            end: call.enter,
            noise: Time::ZERO,
            bytes: 0,
            peer: Rank::MAX,
            tag: 0,
        };
        if free.is_some_and(|free| free < call.enter) {
            found.push(nothing);
        }
        let start = free.map_or(call.enter, |free| free.max(call.enter));
        let (bytes, peer) = (call.sent.max(call.received), peer(trace, rank, call));
        let function = Some(call.function).filter(|&function| function != Function::Unknown);
        let tag = tag(call.tag);
        found.push(Activity { kind, function, start, end: call.exit, bytes, peer, tag, ..nothing });
        busy.insert(call.thread, call.exit);
    }
    found
}

/// The kind of activity of a function; `None` for marks.
pub fn kind(function: Function) -> Option<Kind> {
    Some(match function.class() {
        Class::Send(..) | Class::Sendrecv(_) | Class::Begin => Kind::Send,
        Class::Recv(_) | Class::MatchedRecv(_) => Kind::Receive,
        Class::Wait(_) | Class::Test(_) | Class::Probe { .. } => Kind::Wait,
        Class::Collective(..) | Class::Neighbor(..) | Class::NewComm { .. } => Kind::Collective,
        Class::Epoch { collective: true } => Kind::Collective,
        Class::Mark => return None,
        _ => Kind::Other,
    })
}

fn peer(trace: &Trace, rank: Rank, call: &Call) -> Rank {
    let comm = trace.communicators.get(call.comm.index());
    comm.and_then(|comm| comm.world_rank(rank, call.peer)).unwrap_or(Rank::MAX)
}

fn tag(tag: i32) -> Tag {
    Tag::try_from(tag).unwrap_or(0)
}

/// From the beginning of the send to the end of the call that completed the receive; `None` if no call did.
fn arrow(trace: &Trace, message: &Message) -> Option<Arrow> {
    let call_of = |rank: Rank, call: u32| trace.ranks.get(rank as usize)?.calls.get(call as usize);
    let (sent, received) = (&message.sent, message.received());
    let sending = call_of(sent.place.rank, sent.place.call)?;
    let receiving = call_of(received.place.rank, received.done()?)?;
    Some(Arrow {
        from: sent.place.rank,
        from_cpu: sending.thread.min(255) as u8,
        to: received.place.rank,
        to_cpu: receiving.thread.min(255) as u8,
        sent: sent.enter,
        received: receiving.exit,
        bytes: sent.bytes,
        tag: tag(sent.tag),
    })
}
