//! The events of one thread: for every call, entering, what OTF2 records of it, and leaving.
//!
//! What begins an operation is recorded when the call begins, what ends one when it ends. As Score-P does, nothing is
//! recorded of messages to and from nobody.

use super::definitions::{Names, references};
use super::encoder::Encoder;
use crate::call::{NO_COMM, special};
use crate::otf2::error::WriteError;
use crate::otf2::ids::{event, root};
use crate::otf2::volume::{self, Factors};
use crate::{
    Call, Class, Collective, Details, Function, HowMany, Matched, RankTrace, RequestId, Start, Trace,
};
use std::collections::HashMap;
use straggler_model::Rank;

/// The operation that makes a communicator.
const CREATE_HANDLE: u8 = 17;

/// The file of one thread, and how many events it has.
pub(super) fn encode(
    trace: &Trace,
    rank: Rank,
    thread: u16,
    names: &mut Names,
) -> Result<(Vec<u8>, u64), WriteError> {
    let Some(own) = trace.ranks.get(rank as usize) else { return Ok((Encoder::events().finish(), 0)) };
    let mut writing = Writing {
        trace,
        own,
        rank,
        references: references(&trace.communicators),
        requests: requests(own),
        names,
        out: Encoder::events(),
        regions: Vec::new(),
        time: 0,
    };
    writing.thread(thread)?;
    let events = writing.out.count();
    Ok((writing.out.finish(), events))
}

/// What a request is for, and the call with its peer, tag and bytes.
#[derive(Clone, Copy, Debug)]
struct Made {
    kind: Kind,
    call: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Send,
    Receive,
    Collective(Collective),
}

/// The requests of a rank that OTF2 has records for. A prepared one is none, but what begins it is.
fn requests(rank: &RankTrace) -> HashMap<RequestId, Made> {
    let mut made = HashMap::new();
    let mut prepared = HashMap::new();
    for (number, call) in rank.calls.iter().enumerate().filter(|(_, call)| call.request != Call::NO_REQUEST) {
        let (kind, start) = match call.function.class() {
            Class::Send(_, start) | Class::Sendrecv(start) => (Kind::Send, start),
            Class::Recv(start) | Class::MatchedRecv(start) => (Kind::Receive, start),
            Class::Collective(operation, start) | Class::Neighbor(operation, start) => {
                (Kind::Collective(operation), start)
            }
            Class::Begin => {
                let begun = rank.details(call).map(|details| details.requests.as_slice()).unwrap_or_default();
                for (place, from) in begun.iter().enumerate() {
                    let own = call.request.saturating_add(place as RequestId);
                    made.extend(prepared.get(from).map(|&operation| (own, operation)));
                }
                continue;
            }
            _ => continue,
        };
        let list = if start == Start::Persistent { &mut prepared } else { &mut made };
        list.insert(call.request, Made { kind, call: number });
    }
    made
}

struct Writing<'a> {
    trace: &'a Trace,
    own: &'a RankTrace,
    rank: Rank,
    references: Vec<u32>,
    requests: HashMap<RequestId, Made>,
    names: &'a mut Names,
    out: Encoder,
    /// The user's regions that are open.
    regions: Vec<u32>,
    time: u64,
}

impl Writing<'_> {
    /// All calls of a thread; the first thread also has the name of the program.
    fn thread(&mut self, thread: u16) -> Result<(), WriteError> {
        let own = self.own;
        let mut calls = own.calls.iter().enumerate().filter(|(_, call)| call.thread == thread).peekable();
        let program = Some(self.trace.meta.program.as_str()).filter(|name| !name.is_empty() && thread == 0);
        let program = calls.peek().map(|(_, call)| call.enter.ps()).zip(program);
        if let Some((time, name)) = program {
            self.program_begin(time, name);
        }
        for (number, call) in calls {
            self.call(number, call)?;
        }
        self.leave_regions();
        if program.is_some() {
            self.program_end();
        }
        Ok(())
    }

    fn call(&mut self, number: usize, call: &Call) -> Result<(), WriteError> {
        let (mut enter, mut exit) = (call.enter.ps(), call.exit.ps());
        let counted = self.own.details(call).is_some_and(|details| details.repeated.is_some());
        if counted {
            // Polls that were counted side by side follow one another here.
            (enter, exit) = (enter.max(self.time), exit.max(self.time));
        }
        if enter < self.time || exit < enter {
            return Err(WriteError::Overlap {
                rank: self.rank,
                call: number,
                function: call.function.name(),
            });
        }
        let details = self.own.details(call);
        let text = details.and_then(|details| details.text.as_deref());
        if let Function::RegionEnter | Function::RegionLeave = call.function {
            self.mark(call.function, text.unwrap_or_default(), enter);
            return Ok(());
        }
        let name = match call.function {
            Function::Unknown => text.unwrap_or("MPI_unknown"),
            function => function.name(),
        };
        let rank = self.rank;
        let wrong = |what| WriteError::Call { rank, call: number, function: call.function.name(), what };
        let region = self.names.region(name, Some(call.function));
        self.out.at(enter);
        self.out.short_record(event::ENTER, region.into());
        let empty = Details::default();
        let details = details.unwrap_or(&empty);
        self.begin(call, details).map_err(wrong)?;
        self.out.at(exit);
        self.end(call, details).map_err(wrong)?;
        self.out.short_record(event::LEAVE, region.into());
        self.time = exit;
        Ok(())
    }

    /// The program, by its name and without arguments.
    fn program_begin(&mut self, time: u64, name: &str) {
        let mut body = Encoder::body();
        body.u32(self.names.string(name));
        body.u32(0);
        self.out.at(time);
        self.out.record(event::PROGRAM_BEGIN, body);
    }

    fn program_end(&mut self) {
        let mut body = Encoder::body();
        body.u64(0);
        self.out.record(event::PROGRAM_END, body);
    }

    /// Enters or leaves a region of the user's. Leaving one that is not the innermost is left out: OTF2 cannot hold it.
    fn mark(&mut self, function: Function, name: &str, time: u64) {
        let region = self.names.region(name, None);
        let leaves = function == Function::RegionLeave;
        if leaves && self.regions.pop_if(|open| *open == region).is_none() {
            return;
        }
        if !leaves {
            self.regions.push(region);
        }
        self.out.at(time);
        self.out.short_record(if leaves { event::LEAVE } else { event::ENTER }, region.into());
        self.time = time;
    }

    fn leave_regions(&mut self) {
        while let Some(region) = self.regions.pop() {
            self.out.short_record(event::LEAVE, region.into());
        }
    }

    /// What is recorded when a call begins.
    fn begin(&mut self, call: &Call, details: &Details) -> Result<(), &'static str> {
        match call.function.class() {
            Class::Send(_, Start::Blocking) | Class::Sendrecv(Start::Blocking) => {
                let to = Matched { peer: call.peer, tag: call.tag };
                self.message(event::SEND, call, to, call.sent, None)
            }
            Class::Collective(_, Start::Blocking)
            | Class::Neighbor(_, Start::Blocking)
            | Class::NewComm { .. }
                if call.comm != NO_COMM =>
            {
                self.out.record(event::COLLECTIVE_BEGIN, Encoder::body());
                Ok(())
            }
            Class::Begin => {
                let begun = call.request..call.request.saturating_add(details.requests.len() as u32);
                begun.into_iter().try_for_each(|request| self.begun(request))
            }
            _ => self.begun(call.request),
        }
    }

    /// What is recorded when a request is made.
    fn begun(&mut self, request: RequestId) -> Result<(), &'static str> {
        let Some((made, call)) = self.made(request) else { return Ok(()) };
        match made.kind {
            Kind::Send => {
                let to = Matched { peer: call.peer, tag: call.tag };
                self.message(event::ISEND, &call, to, call.sent, Some(request))
            }
            Kind::Receive => {
                self.out.short_record(event::IRECV_REQUEST, request.into());
                Ok(())
            }
            Kind::Collective(_) => {
                let mut body = Encoder::body();
                body.u64(request.into());
                self.out.record(event::COLLECTIVE_REQUEST, body);
                Ok(())
            }
        }
    }

    /// What a request is for, unless nothing is recorded of it.
    fn made(&self, request: RequestId) -> Option<(Made, Call)> {
        let made = *self.requests.get(&request)?;
        let call = *self.own.calls.get(made.call)?;
        let is_collective = matches!(made.kind, Kind::Collective(_));
        let known = call.comm != NO_COMM && (is_collective || is_somebody(call.peer));
        // A receive that was cancelled, or never ended, has no communicator in some traces.
        (known || (made.kind == Kind::Receive && call.peer != special::NOBODY)).then_some((made, call))
    }

    /// What is recorded when a call ends.
    fn end(&mut self, call: &Call, details: &Details) -> Result<(), &'static str> {
        match call.function.class() {
            Class::Recv(Start::Blocking) | Class::MatchedRecv(Start::Blocking) => {
                let from = details.matched.unwrap_or(Matched { peer: call.peer, tag: call.tag });
                self.message(event::RECV, call, from, call.received, None)
            }
            Class::Sendrecv(Start::Blocking) => match details.matched.or(details.receive) {
                Some(from) => self.message(event::RECV, call, from, call.received, None),
                None => Ok(()),
            },
            Class::Collective(operation, Start::Blocking) | Class::Neighbor(operation, Start::Blocking) => {
                self.collective(call, operation, None)
            }
            Class::NewComm { .. } => self.new_comm(call, details),
            Class::FreeComm if call.comm != NO_COMM => self.comm(event::COMM_DESTROY, call.comm),
            Class::Wait(_) | Class::Test(_) | Class::Drop => {
                details.requests.iter().try_for_each(|&request| self.ended(call, details, request))
            }
            _ => Ok(()),
        }
    }

    /// What is recorded of a request that a call waits for.
    fn ended(&mut self, call: &Call, details: &Details, request: RequestId) -> Result<(), &'static str> {
        let Some((made, maker)) = self.made(request) else { return Ok(()) };
        let listed = details.completed.iter().find(|completed| completed.request == request);
        let has_ended = match call.function.class() {
            Class::Wait(HowMany::One | HowMany::All) => true,
            Class::Test(HowMany::One | HowMany::All) => details.found,
            _ => listed.is_some(),
        };
        // Also of a request that a call gives up: no other record names a request that goes on.
        if !has_ended {
            self.out.short_record(event::REQUEST_TEST, request.into());
            return Ok(());
        }
        if listed.is_some_and(|completed| completed.cancelled) {
            self.out.short_record(event::REQUEST_CANCELLED, request.into());
            return Ok(());
        }
        match made.kind {
            Kind::Send => self.out.short_record(event::ISEND_COMPLETE, request.into()),
            Kind::Receive => {
                let asked = Matched { peer: maker.peer, tag: maker.tag };
                let from = listed.and_then(|completed| completed.matched).unwrap_or(asked);
                return self.message(event::IRECV, &maker, from, maker.received, Some(request));
            }
            Kind::Collective(operation) => return self.collective(&maker, operation, Some(request)),
        }
        Ok(())
    }

    fn message(
        &mut self,
        id: u8,
        call: &Call,
        partner: Matched,
        bytes: u64,
        request: Option<RequestId>,
    ) -> Result<(), &'static str> {
        if call.comm == NO_COMM || !is_somebody(partner.peer) {
            return Ok(());
        }
        let mut body = Encoder::body();
        body.u32(partner.peer as u32);
        body.u32(self.reference(call.comm)?);
        body.u32(partner.tag as u32);
        body.u64(bytes);
        if let Some(request) = request {
            body.u64(request.into());
        }
        self.out.record(id, body);
        Ok(())
    }

    fn collective(
        &mut self,
        call: &Call,
        operation: Collective,
        request: Option<RequestId>,
    ) -> Result<(), &'static str> {
        if call.comm == NO_COMM {
            return Ok(());
        }
        let (sent, received) = self.volume(call, operation).ok_or("moves more bytes than OTF2 can count")?;
        self.collected(call, volume::number(operation), root_of(call.peer), [sent, received], request)
    }

    fn collected(
        &mut self,
        call: &Call,
        operation: u8,
        root: u32,
        bytes: [u64; 2],
        request: Option<RequestId>,
    ) -> Result<(), &'static str> {
        let mut body = Encoder::body();
        body.u8(operation);
        body.u32(self.reference(call.comm)?);
        body.u32(root);
        bytes.into_iter().for_each(|bytes| body.u64(bytes));
        if let Some(request) = request {
            body.u64(request.into());
        }
        let id = if request.is_some() { event::COLLECTIVE_COMPLETE } else { event::COLLECTIVE_END };
        self.out.record(id, body);
        Ok(())
    }

    /// The bytes of a collective as Score-P counts them; those among neighbours as they are.
    fn volume(&self, call: &Call, operation: Collective) -> Option<(u64, u64)> {
        let Class::Collective(..) = call.function.class() else { return Some((call.sent, call.received)) };
        let comm = self.trace.communicators.get(call.comm as usize);
        let (size, me) = comm.map_or((1, 0), |comm| {
            let side = if comm.remote.is_empty() { &comm.members } else { &comm.remote };
            let is_scan = matches!(operation, Collective::Scan | Collective::Exscan);
            (side.len() as u64, if is_scan { comm.rank_of(self.rank).unwrap_or_default() } else { 0 })
        });
        let factors = Factors::of(operation, size, me.into());
        Some((call.sent.checked_mul(factors.sent)?, call.received.checked_mul(factors.received)?))
    }

    fn new_comm(&mut self, call: &Call, details: &Details) -> Result<(), &'static str> {
        if let Some(comm) = details.new_comm {
            self.comm(event::COMM_CREATE, comm)?;
        }
        if call.comm != NO_COMM {
            self.collected(call, CREATE_HANDLE, root::NONE, [0, 0], None)?;
        }
        Ok(())
    }

    fn comm(&mut self, id: u8, comm: u32) -> Result<(), &'static str> {
        let mut body = Encoder::body();
        body.u32(self.reference(comm)?);
        self.out.record(id, body);
        Ok(())
    }

    fn reference(&self, comm: u32) -> Result<u32, &'static str> {
        let reference = self.references.get(comm as usize).copied();
        reference.ok_or("names a communicator that the trace does not have")
    }
}

fn is_somebody(peer: i32) -> bool {
    !matches!(peer, special::NOBODY | special::NONE)
}

fn root_of(peer: i32) -> u32 {
    match peer {
        special::ROOT => root::SELF,
        special::NOBODY => root::THIS_GROUP,
        peer => u32::try_from(peer).unwrap_or(root::NONE),
    }
}
