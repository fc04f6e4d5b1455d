//! The requests of a rank: what each is for, and which call ends it.
//!
//! A receive that nothing ends (it was given up, or the program forgot it) is said to end in MPI_Finalize, where MPI
//! itself must have done with it: OTF2 tells who sent, and on which communicator, only where an operation ends.

use crate::call::{CommId, NO_COMM, special};
use crate::messages::Messages;
use crate::{
    Call, Class, Collective, Completed, Details, HowMany, Matched, RankTrace, RequestId, Start, Trace,
};
use std::collections::HashMap;

/// What a request is for, the call with its peer, tag and bytes, and the one that began it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Made {
    pub(super) kind: Kind,
    pub(super) call: usize,
    pub(super) by: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Send,
    Receive,
    /// A send and a receive with one request.
    Exchange,
    Collective(Collective),
}

/// The other end of a message, and the communicator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Partner {
    pub(super) comm: CommId,
    pub(super) who: Matched,
}

impl Partner {
    pub(super) fn is_known(self) -> bool {
        self.comm != NO_COMM && !matches!(self.who.peer, special::NOBODY | special::NONE)
    }
}

/// The number in an archive of the receiving half of a request that is also a send: above all others.
pub(super) fn receiving_half(request: RequestId) -> u64 {
    1 << 32 | u64::from(request)
}

/// The requests of a rank that OTF2 has records for. A prepared one is none, but what begins it is.
#[derive(Debug, Default)]
pub(super) struct Requests {
    made: HashMap<RequestId, Made>,
    /// The call that ends each: the first, where several claim to.
    ends: HashMap<RequestId, usize>,
    /// What matching probes had kept, by the call that receives it.
    kept: HashMap<usize, Partner>,
    /// What nothing ends but MPI_Finalize, with its place among the calls.
    forgotten: Option<(usize, Vec<RequestId>)>,
}

impl Requests {
    pub(super) fn of(rank: &RankTrace) -> Requests {
        let mut walk = Walk::default();
        let nothing = Details::default();
        for (number, call) in rank.calls.iter().enumerate() {
            let details = rank.details(call).unwrap_or(&nothing);
            walk.call(number, call, details);
        }
        let finalize = rank.calls.iter().rposition(|call| call.function.class() == Class::Finalize);
        walk.found.forgotten = finalize.map(|number| (number, walk.forgotten(number)));
        walk.found
    }

    pub(super) fn made(&self, request: RequestId) -> Option<Made> {
        self.made.get(&request).copied()
    }

    pub(super) fn is_ended_by(&self, request: RequestId, call: usize) -> bool {
        self.ends.get(&request) == Some(&call)
    }

    /// The requests that a call ends without having been given them, in order.
    pub(super) fn forgotten_until(&self, call: usize) -> &[RequestId] {
        match &self.forgotten {
            Some((finalize, requests)) if *finalize == call => requests,
            _ => &[],
        }
    }

    /// Whom a receive is from, as far as its own call tells.
    pub(super) fn source(&self, number: usize, call: &Call, details: &Details) -> Partner {
        if let Some(&kept) = self.kept.get(&number) {
            return kept;
        }
        let asked = match call.function.class() {
            Class::Sendrecv(_) => {
                details.receive.unwrap_or(Matched { peer: special::NOBODY, tag: special::NONE })
            }
            _ => Matched { peer: call.peer, tag: call.tag },
        };
        Partner { comm: call.comm, who: details.matched.unwrap_or(asked) }
    }
}

#[derive(Default)]
struct Walk {
    found: Requests,
    prepared: HashMap<RequestId, Made>,
    /// By the numbers of messages.
    kept: HashMap<u32, Partner>,
}

impl Walk {
    fn call(&mut self, number: usize, call: &Call, details: &Details) {
        match call.function.class() {
            class if failed(class, details) => {}
            Class::Send(_, start) => self.make(Kind::Send, start, number, call),
            Class::Recv(start) => self.make(Kind::Receive, start, number, call),
            Class::Sendrecv(start) => self.make(Kind::Exchange, start, number, call),
            Class::MatchedRecv(start) => {
                let kept = details.message.and_then(|message| self.kept.remove(&message));
                self.found.kept.extend(kept.map(|source| (number, source)));
                self.make(Kind::Receive, start, number, call);
            }
            Class::Collective(operation, start) | Class::Neighbor(operation, start) => {
                self.make(Kind::Collective(operation), start, number, call);
            }
            Class::Probe { blocking, keeps: true } if blocking || details.found => {
                let asked = Matched { peer: call.peer, tag: call.tag };
                let source = Partner { comm: call.comm, who: details.matched.unwrap_or(asked) };
                self.kept.extend(details.message.map(|message| (message, source)));
            }
            Class::Begin => self.begin(number, call, details),
            Class::Wait(_) | Class::Test(_) | Class::Drop => self.end(number, call, details),
            _ => {}
        }
    }

    fn make(&mut self, kind: Kind, start: Start, number: usize, call: &Call) {
        if call.request == Call::NO_REQUEST {
            return;
        }
        let list = if start == Start::Persistent { &mut self.prepared } else { &mut self.found.made };
        list.insert(call.request, Made { kind, call: number, by: number });
    }

    fn begin(&mut self, number: usize, call: &Call, details: &Details) {
        if call.request == Call::NO_REQUEST {
            return;
        }
        for (place, from) in (0..).zip(&details.requests) {
            let begun = self.prepared.get(from).map(|&made| Made { by: number, ..made });
            let own = call.request.saturating_add(place);
            self.found.made.extend(begun.map(|made| (own, made)));
        }
    }

    fn end(&mut self, number: usize, call: &Call, details: &Details) {
        let listed = Listed::of(details);
        for &request in &details.requests {
            if has_ended(call, details, listed.find(request)) {
                self.found.ends.entry(request).or_insert(number);
            }
        }
    }

    /// What nothing has ended; of a send there is nothing more to tell.
    fn forgotten(&self, finalize: usize) -> Vec<RequestId> {
        let is_open = |&(request, made): &(&RequestId, &Made)| {
            made.kind != Kind::Send && made.by < finalize && !self.found.ends.contains_key(request)
        };
        let mut open: Vec<_> = self.found.made.iter().filter(is_open).map(|(&request, _)| request).collect();
        open.sort_unstable();
        open
    }
}

/// A message that could not be sent or received is none.
pub(super) fn failed(class: Class, details: &Details) -> bool {
    let is_message = matches!(
        class,
        Class::Send(..) | Class::Recv(_) | Class::Sendrecv(_) | Class::MatchedRecv(_) | Class::Probe { .. }
    );
    is_message && details.error.is_some()
}

/// What a call found completed, by request.
pub(super) struct Listed<'a>(HashMap<RequestId, &'a Completed>);

impl<'a> Listed<'a> {
    pub(super) fn of(details: &'a Details) -> Listed<'a> {
        Listed(details.completed.iter().map(|completed| (completed.request, completed)).collect())
    }

    pub(super) fn find(&self, request: RequestId) -> Option<&'a Completed> {
        self.0.get(&request).copied()
    }
}

/// Whether a call found a request of its list completed.
pub(super) fn has_ended(call: &Call, details: &Details, listed: Option<&Completed>) -> bool {
    match call.function.class() {
        Class::Wait(HowMany::One | HowMany::All) => true,
        Class::Test(HowMany::One | HowMany::All) => details.found,
        _ => listed.is_some(),
    }
}

/// The lengths of messages that were shorter than there was room for, by the call that posted their receive and its
/// request, for every rank: OTF2 tells what came, a trace what might have.
pub(super) fn lengths(trace: &Trace) -> Vec<HashMap<(u32, RequestId), u64>> {
    let mut lengths = vec![HashMap::new(); trace.ranks.len()];
    for message in Messages::of_trace(trace).matched {
        let (sent, received) = (message.sent, message.received);
        let is_shorter = received.room.is_some_and(|room| sent.bytes < room);
        if let (true, Some(of_rank)) = (is_shorter, lengths.get_mut(received.place.rank as usize)) {
            of_rank.insert((received.place.call, received.request), sent.bytes);
        }
    }
    lengths
}
