//! The events of one thread: for every call, entering, what OTF2 records of it, and leaving.
//!
//! What begins an operation is recorded when the call begins, what ends one when it ends. As Score-P does, nothing is
//! recorded of messages to and from nobody.

use super::definitions::Names;
use super::encoder::Encoder;
use super::requests::{self, Kind, Listed, Made, Partner, Requests};
use crate::call::{NO_COMM, special};
use crate::otf2::error::WriteError;
use crate::otf2::ids::{event, root};
use crate::otf2::volume::{self, Factors};
use crate::{
    Call, Class, Collective, Completed, Details, Function, Matched, RankTrace, RequestId, Start, Trace,
};
use std::collections::HashMap;

/// The operation that makes a communicator.
const CREATE_HANDLE: u8 = 17;

/// The file of one thread, and how many events it has.
pub(super) fn encode(
    whole: &Whole<'_>,
    own: &Rank<'_>,
    thread: u16,
    names: &mut Names,
) -> Result<(Vec<u8>, u64), WriteError> {
    let out = Encoder::events();
    let mut writing = Writing { whole, own, names, out, regions: Vec::new(), time: 0 };
    writing.thread(thread)?;
    let events = writing.out.count();
    Ok((writing.out.finish(), events))
}

/// What the events of every rank need to know of the others.
pub(super) struct Whole<'a> {
    pub(super) trace: &'a Trace,
    /// The numbers of communicators.
    pub(super) references: &'a [u32],
}

/// What the events of every thread need to know of their rank.
pub(super) struct Rank<'a> {
    pub(super) number: straggler_model::Rank,
    pub(super) calls: &'a RankTrace,
    pub(super) requests: Requests,
    pub(super) lengths: &'a HashMap<(u32, RequestId), u64>,
}

struct Writing<'a> {
    whole: &'a Whole<'a>,
    own: &'a Rank<'a>,
    names: &'a mut Names,
    out: Encoder,
    /// The user's regions that are open.
    regions: Vec<u32>,
    time: u64,
}

/// A call in its place.
#[derive(Clone, Copy)]
struct Site<'a> {
    number: usize,
    call: &'a Call,
    details: &'a Details,
}

/// A request, by the numbers in the archive of what it is for.
struct Parts<'a> {
    made: Made,
    maker: Site<'a>,
    send: Option<u64>,
    receive: Option<u64>,
    collective: Option<Collective>,
}

static NO_DETAILS: std::sync::LazyLock<Details> = std::sync::LazyLock::new(Details::default);

impl<'a> Writing<'a> {
    /// All calls of a thread; the first thread also has the name of the program.
    fn thread(&mut self, thread: u16) -> Result<(), WriteError> {
        let own = self.own;
        let all = own.calls.calls.iter().enumerate();
        let mut calls = all.filter(|(_, call)| call.thread == thread).peekable();
        let program = Some(self.whole.trace.meta.program.as_str());
        let program = program.filter(|name| !name.is_empty() && thread == 0);
        let program = calls.peek().map(|(_, call)| call.enter.ps()).zip(program);
        if let Some((time, name)) = program {
            self.program_begin(time, name);
        }
        for (number, call) in calls {
            self.call(self.site(number, call))?;
        }
        self.leave_regions();
        if program.is_some() {
            self.program_end();
        }
        Ok(())
    }

    fn site(&self, number: usize, call: &'a Call) -> Site<'a> {
        Site { number, call, details: self.own.calls.details(call).unwrap_or(&NO_DETAILS) }
    }

    fn call(&mut self, site: Site<'_>) -> Result<(), WriteError> {
        let Site { number, call, details } = site;
        let (rank, function) = (self.own.number, call.function.name());
        let (mut enter, mut exit) = (call.enter.ps(), call.exit.ps());
        if details.repeated.is_some() {
            // Polls that were counted side by side follow one another here.
            (enter, exit) = (enter.max(self.time), exit.max(self.time));
        }
        if enter < self.time || exit < enter {
            return Err(WriteError::Overlap { rank, call: number, function });
        }
        let text = details.text.as_deref();
        if let Function::RegionEnter | Function::RegionLeave = call.function {
            self.mark(call.function, text.unwrap_or_default(), enter);
            return Ok(());
        }
        let name = match call.function {
            Function::Unknown => text.unwrap_or("MPI_unknown"),
            _ => function,
        };
        let wrong = |what| WriteError::Call { rank, call: number, function, what };
        let region = self.names.region(name, Some(call.function));
        self.out.at(enter);
        self.out.short_record(event::ENTER, region.into());
        self.begin(site).map_err(wrong)?;
        self.out.at(exit);
        self.end(site).map_err(wrong)?;
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
    fn begin(&mut self, site: Site<'_>) -> Result<(), &'static str> {
        let Site { call, details, .. } = site;
        match call.function.class() {
            class if requests::failed(class, details) => Ok(()),
            Class::Send(_, Start::Blocking) | Class::Sendrecv(Start::Blocking) => {
                self.message(event::SEND, destination(call), call.sent, None)
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
        let Some(parts) = self.parts(request) else { return Ok(()) };
        if let Some(number) = parts.send {
            let call = parts.maker.call;
            self.message(event::ISEND, destination(call), call.sent, Some(number))?;
        }
        if let Some(number) = parts.receive {
            self.out.short_record(event::IRECV_REQUEST, number);
        }
        if parts.collective.is_some() {
            let mut body = Encoder::body();
            body.u64(request.into());
            self.out.record(event::COLLECTIVE_REQUEST, body);
        }
        Ok(())
    }

    /// What a request is for, unless nothing is recorded of it.
    fn parts(&self, request: RequestId) -> Option<Parts<'a>> {
        let made = self.own.requests.made(request)?;
        let maker = self.site(made.call, self.own.calls.calls.get(made.call)?);
        let parts = Parts { made, maker, send: None, receive: None, collective: None };
        let parts = match made.kind {
            Kind::Send => Parts { send: Some(request.into()), ..parts },
            Kind::Receive => Parts { receive: Some(request.into()), ..parts },
            Kind::Exchange => Parts {
                send: Some(request.into()),
                receive: Some(requests::receiving_half(request)),
                ..parts
            },
            Kind::Collective(operation) => {
                let collective = Some(operation).filter(|_| maker.call.comm != NO_COMM);
                return collective.map(|_| Parts { collective, ..parts });
            }
        };
        // A receive that was cancelled, or never ended, has no communicator in some traces.
        let (to, from) = (destination(maker.call), self.source(maker).who);
        let send = parts.send.filter(|_| to.is_known());
        let receive = parts.receive.filter(|_| from.peer != special::NOBODY);
        (send.is_some() || receive.is_some()).then_some(Parts { send, receive, ..parts })
    }

    fn source(&self, site: Site<'_>) -> Partner {
        self.own.requests.source(site.number, site.call, site.details)
    }

    /// What is recorded when a call ends.
    fn end(&mut self, site: Site<'_>) -> Result<(), &'static str> {
        let Site { number, call, details } = site;
        match call.function.class() {
            class if requests::failed(class, details) => Ok(()),
            Class::Recv(Start::Blocking)
            | Class::MatchedRecv(Start::Blocking)
            | Class::Sendrecv(Start::Blocking) => {
                let bytes = self.length(number, Call::NO_REQUEST, call.received);
                self.message(event::RECV, self.source(site), bytes, None)
            }
            Class::Collective(operation, Start::Blocking) | Class::Neighbor(operation, Start::Blocking) => {
                self.collective(call, operation, None)
            }
            Class::NewComm { .. } => self.new_comm(call, details),
            Class::FreeComm if call.comm != NO_COMM => self.comm(event::COMM_DESTROY, call.comm),
            Class::Wait(_) | Class::Test(_) | Class::Drop => {
                let listed = Listed::of(details);
                let mut all = details.requests.iter();
                all.try_for_each(|&request| self.ended(site, request, listed.find(request)))
            }
            Class::Finalize => {
                let mut all = self.own.requests.forgotten_until(number).iter();
                all.try_for_each(|&request| self.forgotten(request))
            }
            _ => Ok(()),
        }
    }

    /// What is recorded of a request that a call waits for.
    fn ended(
        &mut self,
        site: Site<'_>,
        request: RequestId,
        listed: Option<&Completed>,
    ) -> Result<(), &'static str> {
        let Some(parts) = self.parts(request) else { return Ok(()) };
        // Also of a request that a call gives up: no other record names a request that goes on.
        if !requests::has_ended(site.call, site.details, listed) {
            let number = parts.send.or(parts.receive).unwrap_or(request.into());
            self.out.short_record(event::REQUEST_TEST, number);
            return Ok(());
        }
        if !self.own.requests.is_ended_by(request, site.number) {
            return Ok(());
        }
        if listed.is_some_and(|completed| completed.cancelled) {
            for number in [parts.send, parts.receive].into_iter().flatten() {
                self.out.short_record(event::REQUEST_CANCELLED, number);
            }
            return Ok(());
        }
        if let Some(number) = parts.send {
            self.out.short_record(event::ISEND_COMPLETE, number);
        }
        self.arrived(&parts, request, listed.and_then(|completed| completed.matched))
    }

    /// A request that only MPI_Finalize ends: whom it was from, if that is known.
    fn forgotten(&mut self, request: RequestId) -> Result<(), &'static str> {
        let Some(parts) = self.parts(request) else { return Ok(()) };
        let from = self.source(parts.maker).who;
        if parts.receive.is_some() && (from.peer == special::ANY || from.tag == special::ANY) {
            return Ok(());
        }
        self.arrived(&parts, request, None)
    }

    /// The end of a receive or of a collective.
    fn arrived(
        &mut self,
        parts: &Parts<'_>,
        request: RequestId,
        matched: Option<Matched>,
    ) -> Result<(), &'static str> {
        let call = parts.maker.call;
        if let Some(number) = parts.receive {
            let asked = self.source(parts.maker);
            let source = Partner { who: matched.unwrap_or(asked.who), ..asked };
            let bytes = self.length(parts.made.by, request, call.received);
            self.message(event::IRECV, source, bytes, Some(number))?;
        }
        match parts.collective {
            Some(operation) => self.collective(call, operation, Some(request)),
            None => Ok(()),
        }
    }

    /// The bytes that came, where the trace knows; else those there was room for.
    fn length(&self, by: usize, request: RequestId, room: u64) -> u64 {
        let key = u32::try_from(by).ok().map(|by| (by, request));
        key.and_then(|key| self.own.lengths.get(&key)).copied().unwrap_or(room)
    }

    fn message(
        &mut self,
        id: u8,
        partner: Partner,
        bytes: u64,
        request: Option<u64>,
    ) -> Result<(), &'static str> {
        if !partner.is_known() {
            return Ok(());
        }
        let mut body = Encoder::body();
        body.u32(partner.who.peer as u32);
        body.u32(self.reference(partner.comm)?);
        body.u32(partner.who.tag as u32);
        body.u64(bytes);
        if let Some(request) = request {
            body.u64(request);
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
        let comm = self.whole.trace.communicators.get(call.comm as usize);
        let (size, me) = comm.map_or((1, 0), |comm| {
            let is_scan = matches!(operation, Collective::Scan | Collective::Exscan);
            let me = if is_scan { comm.rank_of(self.own.number).unwrap_or_default() } else { 0 };
            (comm.peers(self.own.number).len() as u64, me)
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
        let reference = self.whole.references.get(comm as usize).copied();
        reference.ok_or("names a communicator that the trace does not have")
    }
}

fn destination(call: &Call) -> Partner {
    Partner { comm: call.comm, who: Matched { peer: call.peer, tag: call.tag } }
}

fn root_of(peer: i32) -> u32 {
    match peer {
        special::ROOT => root::SELF,
        special::NOBODY => root::THIS_GROUP,
        peer => u32::try_from(peer).unwrap_or(root::NONE),
    }
}
