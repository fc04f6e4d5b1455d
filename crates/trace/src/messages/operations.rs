//! What the calls of one rank do: messages they send and receive, requests they make and complete.

use super::{Place, Received, Sent};
use crate::call::{Call, CommId, Completed, Details, Matched, RequestId, special};
use crate::trace::{RankTrace, Trace};
use crate::{Class, HowMany, Start};
use std::collections::{HashMap, HashSet};
use straggler_model::Rank;

/// What one rank did.
#[derive(Clone, Debug, Default)]
pub struct Operations {
    pub rank: Rank,
    sends: Vec<Posted<Sent>>,
    receives: Vec<Posted<Received>>,
    /// Every request the rank made, by its number.
    pub requests: HashMap<RequestId, Made>,
    /// Requests given to a call although nobody had made them: the call's number and the request's.
    pub unknown: Vec<(u32, RequestId)>,
    /// Wildcard receives of which it is not known whom they matched, by their number and communicator.
    pub unresolved: Vec<(u32, CommId)>,
    /// Calls that name a peer which their communicator has not, with this peer.
    pub strangers: Vec<(u32, i32)>,
    /// Matching probes whose message nobody received, by their number.
    pub kept: Vec<u32>,
}

/// A request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Made {
    /// The call that made it.
    pub by: u32,
    /// It is only prepared: each time it is begun makes another.
    pub persistent: bool,
    /// Nothing has found it completed, and nobody gave it up.
    pub open: bool,
    send: Option<u32>,
    receive: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Posted<T> {
    what: T,
    /// It was cancelled, or of a wildcard nobody knows whom it matched.
    gone: bool,
}

impl Operations {
    /// What `rank` did, in the order of its calls.
    pub fn of(trace: &Trace, rank: Rank) -> Operations {
        let Some(of_rank) = trace.ranks.get(rank as usize) else { return Operations::default() };
        let found = Operations { rank, ..Operations::default() };
        let mut walk = Walk { trace, of_rank, found, kept: HashMap::new(), wildcards: HashMap::new() };
        for (number, call) in (0..).zip(&of_rank.calls) {
            walk.call(number, call);
        }
        walk.finish()
    }

    /// Messages to other ranks and to itself, in the order in which they were posted.
    pub fn sends(&self) -> impl Iterator<Item = Sent> + '_ {
        self.sends.iter().filter(|posted| !posted.gone).map(|posted| posted.what)
    }

    pub fn receives(&self) -> impl Iterator<Item = Received> + '_ {
        self.receives.iter().filter(|posted| !posted.gone).map(|posted| posted.what)
    }
}

struct Walk<'a> {
    trace: &'a Trace,
    of_rank: &'a RankTrace,
    found: Operations,
    /// Messages that a probe keeps, by their number: the receive they will be.
    kept: HashMap<u32, u32>,
    /// Receives whose sender or tag is not known yet, by their place among the receives: what was asked for.
    wildcards: HashMap<u32, Matched>,
}

impl<'a> Walk<'a> {
    fn call(&mut self, number: u32, call: &'a Call) {
        let nothing = Details::default();
        let details = self.of_rank.details(call).unwrap_or(&nothing);
        let failed = details.error.is_some();
        match call.function.class() {
            Class::Send(_, start) if !failed => {
                let send =
                    if start == Start::Persistent { None } else { self.send(number, call, number, call) };
                self.make(number, call, send, None);
            }
            Class::Recv(start) if !failed => {
                let receive = if start == Start::Persistent {
                    None
                } else {
                    self.receive(number, number, call, details.matched)
                };
                self.settle(start, receive, number);
                self.make(number, call, None, receive);
            }
            Class::Sendrecv(start) if !failed => self.send_and_receive(number, call, details, start),
            Class::Probe { blocking, keeps: true } if !failed && (blocking || details.found) => {
                self.probe(number, call, details);
            }
            Class::MatchedRecv(start) if !failed => self.matched_receive(number, call, details, start),
            Class::Begin => self.begin(number, call, details),
            Class::Wait(how) => self.complete(number, details, how, true),
            Class::Test(how) => self.complete(number, details, how, details.found),
            Class::Drop => self.drop_requests(number, call, details),
            _ => self.make(number, call, None, None),
        }
    }

    /// Notes the request a call made, if it made one.
    fn make(&mut self, number: u32, call: &Call, send: Option<u32>, receive: Option<u32>) {
        if call.request == Call::NO_REQUEST {
            return;
        }
        let persistent = matches!(
            call.function.class(),
            Class::Send(_, Start::Persistent)
                | Class::Recv(Start::Persistent)
                | Class::Collective(_, Start::Persistent)
                | Class::Neighbor(_, Start::Persistent)
        ) || call.function.name().ends_with("_init");
        let failed = self.of_rank.details(call).is_some_and(|details| details.error.is_some());
        self.number(receive, call.request);
        let made = Made { by: number, persistent, open: !persistent && !failed, send, receive };
        self.found.requests.insert(call.request, made);
    }

    fn number(&mut self, receive: Option<u32>, request: RequestId) {
        if let Some(posted) = receive.and_then(|index| self.found.receives.get_mut(index as usize)) {
            posted.what.request = request;
        }
    }

    /// A message of `what`, posted by the call of this number.
    fn send(&mut self, number: u32, call: &Call, by: u32, what: &Call) -> Option<u32> {
        let to = self.peer(by, what.comm, what.peer)?;
        let sent = Sent {
            place: self.place(number),
            to,
            comm: what.comm,
            tag: what.tag,
            bytes: what.sent,
            enter: call.enter,
        };
        self.found.sends.push(Posted { what: sent, gone: false });
        Some(self.found.sends.len() as u32 - 1)
    }

    fn receive(&mut self, number: u32, by: u32, what: &Call, matched: Option<Matched>) -> Option<u32> {
        let asked = Matched { peer: what.peer, tag: what.tag };
        self.post(number, by, what.comm, asked, matched, Some(what.received))
    }

    /// Posts a receive; one whose sender is not known waits for its completion to say so.
    fn post(
        &mut self,
        number: u32,
        by: u32,
        comm: CommId,
        asked: Matched,
        matched: Option<Matched>,
        room: Option<u64>,
    ) -> Option<u32> {
        let exact = resolved(asked, matched);
        let known = exact.peer != special::ANY && exact.tag != special::ANY;
        let from = if known { self.peer(by, comm, exact.peer)? } else { Rank::MAX };
        if exact.peer == special::NOBODY {
            return None;
        }
        let place = self.place(number);
        let request = Call::NO_REQUEST;
        let received = Received { place, from, comm, tag: exact.tag, request, room, done: None };
        self.found.receives.push(Posted { what: received, gone: !known });
        let index = self.found.receives.len() as u32 - 1;
        if !known {
            self.wildcards.insert(index, asked);
        }
        Some(index)
    }

    /// A blocking receive is done when it returns.
    fn settle(&mut self, start: Start, receive: Option<u32>, number: u32) {
        if start == Start::Blocking {
            self.done(receive, number, None);
        }
    }

    fn done(&mut self, receive: Option<u32>, number: u32, matched: Option<Matched>) {
        let Some(index) = receive else { return };
        if let (Some(&asked), Some(_)) = (self.wildcards.get(&index), matched) {
            self.resolve(index, resolved(asked, matched));
        }
        if let Some(posted) = self.found.receives.get_mut(index as usize) {
            posted.what.done = Some(number);
        }
    }

    fn resolve(&mut self, index: u32, exact: Matched) {
        let Some(posted) = self.found.receives.get(index as usize) else { return };
        let (by, comm) = (posted.what.place.call, posted.what.comm);
        if exact.peer == special::ANY || exact.tag == special::ANY {
            return;
        }
        self.wildcards.remove(&index);
        let from = self.peer(by, comm, exact.peer);
        if let (Some(from), Some(posted)) = (from, self.found.receives.get_mut(index as usize)) {
            (posted.what.from, posted.what.tag, posted.gone) = (from, exact.tag, false);
        }
    }

    fn send_and_receive(&mut self, number: u32, call: &Call, details: &Details, start: Start) {
        let send = self.send(number, call, number, call);
        let receive = details.receive.and_then(|asked| {
            self.post(number, number, call.comm, asked, details.matched, Some(call.received))
        });
        self.settle(start, receive, number);
        self.make(number, call, send, receive);
    }

    /// From here on the message belongs to whoever receives it by its number.
    fn probe(&mut self, number: u32, call: &Call, details: &Details) {
        let asked = Matched { peer: call.peer, tag: call.tag };
        let receive = self.post(number, number, call.comm, asked, details.matched, None);
        if let (Some(receive), Some(message)) = (receive, details.message) {
            self.kept.insert(message, receive);
        }
    }

    /// Where the trace does not say which probe kept the message, the receive may say who sent it.
    fn matched_receive(&mut self, number: u32, call: &Call, details: &Details, start: Start) {
        let kept = details.message.and_then(|message| self.kept.remove(&message));
        let receive = kept.or_else(|| self.receive(number, number, call, details.matched));
        let place = self.place(number);
        if let Some(posted) = receive.and_then(|index| self.found.receives.get_mut(index as usize)) {
            (posted.what.place, posted.what.room) = (place, Some(call.received));
        }
        self.settle(start, receive, number);
        self.make(number, call, None, receive);
    }

    /// Prepared operations begin: each makes a request of its own.
    fn begin(&mut self, number: u32, call: &'a Call, details: &Details) {
        for (position, &prepared) in (0..).zip(&details.requests) {
            let Some(by) = self.found.requests.get(&prepared).map(|made| made.by) else {
                self.found.unknown.push((number, prepared));
                continue;
            };
            let Some(what) = self.of_rank.calls.get(by as usize) else { continue };
            let (send, receive) = match what.function.class() {
                Class::Send(..) => (self.send(number, call, by, what), None),
                Class::Recv(_) => (None, self.receive(number, by, what, None)),
                _ => (None, None),
            };
            if call.request != Call::NO_REQUEST {
                let made = Made { by: number, persistent: false, open: true, send, receive };
                let request = call.request.wrapping_add(position);
                self.number(receive, request);
                self.found.requests.insert(request, made);
            }
        }
    }

    fn complete(&mut self, number: u32, details: &Details, how: HowMany, found: bool) {
        self.note_unknown(number, details);
        if found && matches!(how, HowMany::One | HowMany::All) {
            let told: HashSet<RequestId> = details.completed.iter().map(|one| one.request).collect();
            for &request in &details.requests {
                if !told.contains(&request) {
                    self.close(number, &Completed { request, matched: None, cancelled: false });
                }
            }
        }
        for completed in &details.completed {
            self.close(number, completed);
        }
    }

    fn note_unknown(&mut self, number: u32, details: &Details) {
        let known = &self.found.requests;
        let unknown = details.requests.iter().filter(|request| !known.contains_key(request));
        self.found.unknown.extend(unknown.map(|&request| (number, request)));
    }

    fn close(&mut self, number: u32, completed: &Completed) {
        let Some(made) = self.found.requests.get_mut(&completed.request) else { return };
        // A completed request that is waited for again is a null request, or a persistent one at rest.
        if !made.open {
            return;
        }
        made.open = false;
        let (send, receive) = (made.send, made.receive);
        if !completed.cancelled {
            return self.done(receive, number, completed.matched);
        }
        if let Some(posted) = send.and_then(|index| self.found.sends.get_mut(index as usize)) {
            posted.gone = true;
        }
        if let Some(index) = receive {
            self.wildcards.remove(&index);
            if let Some(posted) = self.found.receives.get_mut(index as usize) {
                posted.gone = true;
            }
        }
    }

    /// A request that is given up is nobody's any more; one that is cancelled still has to be completed.
    fn drop_requests(&mut self, number: u32, call: &Call, details: &Details) {
        self.note_unknown(number, details);
        // A status may have said before that it was cancelled.
        details.completed.iter().filter(|one| one.cancelled).for_each(|one| self.close(number, one));
        if call.function == crate::Function::Request_free {
            for request in &details.requests {
                if let Some(made) = self.found.requests.get_mut(request) {
                    made.open = false;
                }
            }
        }
    }

    fn place(&self, call: u32) -> Place {
        Place { rank: self.found.rank, call }
    }

    /// The world rank of a peer; none for nobody, for processes of another world, where the call does not say, and
    /// where there is no such rank.
    fn peer(&mut self, number: u32, comm: CommId, peer: i32) -> Option<Rank> {
        if matches!(peer, special::NOBODY | special::NONE) {
            return None;
        }
        let of_comm = self.trace.communicators.get(comm as usize);
        let found = of_comm.and_then(|of_comm| of_comm.world_rank(self.found.rank, peer));
        if let Some(rank) = found.filter(|&rank| rank < self.trace.processes()) {
            return Some(rank);
        }
        let has_others = |ranks: &[Rank]| ranks.contains(&Rank::MAX);
        if !of_comm.is_some_and(|of_comm| has_others(&of_comm.members) || has_others(&of_comm.remote)) {
            self.found.strangers.push((number, peer));
        }
        None
    }

    fn finish(mut self) -> Operations {
        let mut unresolved: Vec<u32> = self.wildcards.into_keys().collect();
        unresolved.sort_unstable();
        let receives = &self.found.receives;
        let places = unresolved.iter().filter_map(|&index| receives.get(index as usize));
        self.found.unresolved = places.map(|posted| (posted.what.place.call, posted.what.comm)).collect();
        let mut kept: Vec<u32> = self.kept.into_values().collect();
        kept.sort_unstable();
        let kept = kept.iter().filter_map(|&index| receives.get(index as usize));
        self.found.kept = kept.map(|posted| posted.what.place.call).collect();
        self.found
    }
}

/// What was asked for, with what was matched in the place of wildcards.
pub(super) fn resolved(asked: Matched, matched: Option<Matched>) -> Matched {
    let Some(matched) = matched else { return asked };
    Matched {
        peer: if asked.peer == special::ANY { matched.peer } else { asked.peer },
        tag: if asked.tag == special::ANY { matched.tag } else { asked.tag },
    }
}
