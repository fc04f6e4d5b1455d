//! The events of one thread: for every call, an enter, the records OTF2 has for it, and a leave.
//!
//! Records of starting operations have the time of the call's beginning, those of ending operations
//! that of its end. As in Score-P, messages to and from MPI_PROC_NULL are not recorded.

use super::definitions::Names;
use super::encoder::Encoder;
use super::regions::Owner;
use super::requests::{self, Forgotten, Partner};
use super::windows::{Transfers, Windows};
use crate::otf2::error::WriteError;
use crate::otf2::ids::{event, root};
use crate::otf2::volume::{self, Factors};
use std::collections::HashMap;
use straggler_trace::call::{CommId, NO_COMM, special};
use straggler_trace::operations::{Acted, Given, Kind, Operation, Operations};
use straggler_trace::{Call, Class, Collective, Details, Function, Matched, RequestId, Start, Trace};

/// The event file of one thread, and the number of its events.
pub(super) fn encode(
    whole: &Whole<'_>,
    own: &Rank<'_>,
    thread: u16,
    names: &mut Names,
) -> Result<(Vec<u8>, u64), WriteError> {
    let out = Encoder::events();
    let transfers = Transfers::default();
    let mut writing = Writing { whole, own, names, out, regions: Vec::new(), transfers, time: 0 };
    writing.thread(thread)?;
    let events = writing.out.count();
    Ok((writing.out.finish(), events))
}

/// What the events of a rank need to know about all ranks.
pub(super) struct Whole<'a> {
    pub(super) trace: &'a Trace,
    /// The numbers of communicators in the archive.
    pub(super) references: &'a [u32],
    pub(super) windows: &'a Windows,
}

/// What the events of a thread need to know about its rank.
pub(super) struct Rank<'a> {
    pub(super) number: straggler_model::Rank,
    pub(super) operations: &'a Operations<'a>,
    pub(super) forgotten: Forgotten,
    pub(super) lengths: &'a HashMap<u32, u64>,
}

struct Writing<'a> {
    whole: &'a Whole<'a>,
    own: &'a Rank<'a>,
    names: &'a mut Names,
    out: Encoder,
    /// The open user regions.
    regions: Vec<u32>,
    transfers: Transfers,
    time: u64,
}

/// An operation with a request, with the request numbers of its parts in the archive.
struct Parts<'a> {
    row: u32,
    operation: &'a Operation,
    /// The call that has its arguments.
    described: &'a Call,
    send: Option<u64>,
    receive: Option<u64>,
    collective: Option<Collective>,
}

impl<'a> Writing<'a> {
    /// Writes all calls of a thread; the first thread also gets the name of the program.
    fn thread(&mut self, thread: u16) -> Result<(), WriteError> {
        let own = self.own;
        let mut calls = own.operations.walk().filter(|acted| acted.call.thread == thread).peekable();
        let program = Some(self.whole.trace.meta.program.as_str());
        let program = program.filter(|name| !name.is_empty() && thread == 0);
        let program = calls.peek().map(|acted| acted.call.enter.ps()).zip(program);
        if let Some((time, name)) = program {
            self.program_begin(time, name);
        }
        for acted in calls {
            self.call(&acted)?;
        }
        self.leave_regions();
        if program.is_some() {
            self.program_end();
        }
        Ok(())
    }

    fn call(&mut self, acted: &Acted<'a, 'a>) -> Result<(), WriteError> {
        let Acted { call, details, .. } = *acted;
        let number = acted.number as usize;
        let (rank, function) = (self.own.number, call.function.name());
        let (mut enter, mut exit) = (call.enter.ps(), call.exit.ps());
        if is_fruitless(call, details) {
            // The tracer counts polls in one record per kind, so they may overlap; here they follow one another.
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
        let region = self.names.region(name, Owner::Mpi(call.function));
        self.out.at(enter);
        self.out.short_record(event::ENTER, region.into());
        self.begin(acted).map_err(wrong)?;
        self.out.at(exit);
        self.end(acted).map_err(wrong)?;
        self.out.short_record(event::LEAVE, region.into());
        self.time = exit;
        Ok(())
    }

    /// Writes the program with its arguments, and the region by which analysers know it.
    fn program_begin(&mut self, time: u64, name: &str) {
        let mut words = name.split(' ').map(|word| self.names.string(word));
        let mut body = Encoder::body();
        body.u32(words.next().unwrap_or_default());
        let arguments: Vec<u32> = words.collect();
        body.u32(arguments.len() as u32);
        arguments.into_iter().for_each(|argument| body.u32(argument));
        self.names.program(name);
        self.out.at(time);
        self.out.record(event::PROGRAM_BEGIN, body);
    }

    fn program_end(&mut self) {
        let mut body = Encoder::body();
        body.u64(0);
        self.out.record(event::PROGRAM_END, body);
    }

    /// Enters or leaves a user region. Leaving one that is not the innermost is left out, since
    /// OTF2 cannot express it.
    fn mark(&mut self, function: Function, name: &str, time: u64) {
        let region = self.names.region(name, Owner::User);
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

    /// Writes what is recorded when a call begins.
    fn begin(&mut self, acted: &Acted<'a, 'a>) -> Result<(), &'static str> {
        let Acted { call, details, .. } = *acted;
        match call.function.class() {
            class if requests::failed(class, details) => Ok(()),
            Class::OneSided | Class::Epoch { .. } => {
                self.transfers.begin(&mut self.out, self.whole.windows, self.own.number, call, details);
                Ok(())
            }
            Class::Send(_, Start::Blocking) | Class::Sendrecv(Start::Blocking) => {
                self.message(event::SEND, destination(call), call.sent, None)
            }
            Class::Collective(_, Start::Blocking)
            | Class::Neighbor(_, Start::Blocking)
            | Class::NewComm { .. }
                if call.comm != NO_COMM && is_collective(call.function) =>
            {
                self.out.record(event::COLLECTIVE_BEGIN, Encoder::body());
                Ok(())
            }
            _ => acted.rows().try_for_each(|(row, _)| self.begun(row)),
        }
    }

    /// Writes what is recorded when a request is made.
    fn begun(&mut self, row: u32) -> Result<(), &'static str> {
        let Some(parts) = self.parts(row) else { return Ok(()) };
        if let Some(number) = parts.send {
            let call = parts.described;
            self.message(event::ISEND, destination(call), call.sent, Some(number))?;
        }
        if let Some(number) = parts.receive {
            self.out.short_record(event::IRECV_REQUEST, number);
        }
        if parts.collective.is_some() {
            let mut body = Encoder::body();
            body.u64(parts.operation.request.0.into());
            self.out.record(event::COLLECTIVE_REQUEST, body);
        }
        Ok(())
    }

    /// The parts of a request; `None` if nothing is recorded for it.
    fn parts(&self, row: u32) -> Option<Parts<'a>> {
        let operations = self.own.operations;
        let operation = operations.get(row).filter(|row| row.has_request())?;
        let described = operations.call(operation.described)?;
        let request = operation.request;
        let parts = Parts { row, operation, described, send: None, receive: None, collective: None };
        let parts = match operation.kind {
            Kind::Other => return None,
            Kind::Collective => {
                let collective = collective_of(described).filter(|_| described.comm != NO_COMM);
                return collective.map(|_| Parts { collective, ..parts });
            }
            _ if operation.failed => return None,
            Kind::Send => Parts { send: Some(request.0.into()), ..parts },
            Kind::Receive => Parts { receive: Some(request.0.into()), ..parts },
            Kind::Exchange => Parts {
                send: Some(request.0.into()),
                receive: Some(requests::receiving_half(request)),
                ..parts
            },
        };
        // A receive need not have a known communicator: cancelled and unfinished ones have none in some traces.
        let send = parts.send.filter(|_| destination(described).is_known());
        let receive = parts.receive.filter(|_| operation.source.peer != special::NOBODY);
        (send.is_some() || receive.is_some()).then_some(Parts { send, receive, ..parts })
    }

    /// The source of a receive.
    fn source(&self, operation: &Operation) -> Partner {
        let comm = self.own.operations.comm(operation).unwrap_or(NO_COMM);
        Partner { comm, who: operation.source }
    }

    /// Writes what is recorded when a call ends.
    fn end(&mut self, acted: &Acted<'a, 'a>) -> Result<(), &'static str> {
        let Acted { number, call, details, .. } = *acted;
        match call.function.class() {
            class if requests::failed(class, details) => Ok(()),
            Class::OneSided | Class::Epoch { .. } => {
                self.transfers.end(&mut self.out, self.whole.windows, self.own.number, call, details);
                Ok(())
            }
            Class::Recv(Start::Blocking)
            | Class::MatchedRecv(Start::Blocking)
            | Class::Sendrecv(Start::Blocking) => acted.rows().try_for_each(|(row, operation)| {
                self.message(event::RECV, self.source(operation), self.length(row, call.received), None)
            }),
            Class::Collective(operation, Start::Blocking) | Class::Neighbor(operation, Start::Blocking) => {
                self.collective(call, operation, None)
            }
            Class::NewComm { .. } => self.new_comm(call, details),
            Class::FreeComm if call.comm != NO_COMM => self.comm(event::COMM_DESTROY, call.comm),
            Class::Wait(_) | Class::Test(_) | Class::Drop => {
                acted.given().try_for_each(|given| self.named(acted, given))
            }
            Class::Finalize => {
                self.own.forgotten.until(number).iter().try_for_each(|&row| self.forgotten(row))
            }
            _ => Ok(()),
        }
    }

    /// Writes what is recorded for a request that a call names.
    fn named(&mut self, acted: &Acted<'a, 'a>, given: Given) -> Result<(), &'static str> {
        let (row, is_over) = match given {
            Given::Operation(row) => (row, false),
            Given::Over(row) => (row, true),
            Given::Idle | Given::Unknown => return Ok(()),
        };
        let Some(parts) = self.parts(row) else { return Ok(()) };
        if !is_over && parts.operation.completed() == Some(acted.number) {
            return self.ended(&parts);
        }
        // This includes freed requests: no other record names a request that stays active.
        if !(is_over && acted.finishes_all()) {
            let number = parts.send.or(parts.receive).unwrap_or(parts.operation.request.0.into());
            self.out.short_record(event::REQUEST_TEST, number);
        }
        Ok(())
    }

    /// Writes what is recorded when a request ends.
    fn ended(&mut self, parts: &Parts<'_>) -> Result<(), &'static str> {
        if parts.operation.is_cancelled() {
            for number in [parts.send, parts.receive].into_iter().flatten() {
                self.out.short_record(event::REQUEST_CANCELLED, number);
            }
            return Ok(());
        }
        if let Some(number) = parts.send {
            self.out.short_record(event::ISEND_COMPLETE, number);
        }
        self.arrived(parts)
    }

    /// Ends a request that only MPI_Finalize ends, if its source is known.
    fn forgotten(&mut self, row: u32) -> Result<(), &'static str> {
        let Some(parts) = self.parts(row) else { return Ok(()) };
        let from = parts.operation.source;
        if parts.receive.is_some() && (from.peer == special::ANY || from.tag == special::ANY) {
            return Ok(());
        }
        self.arrived(&parts)
    }

    /// Writes the end of a receive or of a collective.
    fn arrived(&mut self, parts: &Parts<'_>) -> Result<(), &'static str> {
        let call = parts.described;
        if let Some(number) = parts.receive {
            let bytes = self.length(parts.row, call.received);
            self.message(event::IRECV, self.source(parts.operation), bytes, Some(number))?;
        }
        match parts.collective {
            Some(operation) => self.collective(call, operation, Some(parts.operation.request)),
            None => Ok(()),
        }
    }

    /// The bytes received, if the trace tells, else the size of the buffer.
    fn length(&self, row: u32, room: u64) -> u64 {
        self.own.lengths.get(&row).copied().unwrap_or(room)
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
            body.u64(request.0.into());
        }
        let id = if request.is_some() { event::COLLECTIVE_COMPLETE } else { event::COLLECTIVE_END };
        self.out.record(id, body);
        Ok(())
    }

    /// The bytes of a collective as Score-P counts them; those of neighbourhood collectives as they are.
    fn volume(&self, call: &Call, operation: Collective) -> Option<(u64, u64)> {
        let Class::Collective(..) = call.function.class() else { return Some((call.sent, call.received)) };
        let comm = self.whole.trace.communicators.get(call.comm.index());
        let (size, me) = comm.map_or((1, 0), |comm| {
            let is_scan = matches!(operation, Collective::Scan | Collective::Exscan);
            let me = if is_scan { comm.rank_of(self.own.number).unwrap_or_default() } else { 0 };
            (comm.peers(self.own.number).len() as u64, me)
        });
        let factors = Factors::new(operation, size, me.into());
        Some((call.sent.checked_mul(factors.sent)?, call.received.checked_mul(factors.received)?))
    }

    /// Writes the creation of a communicator, as an operation of its own among the members of its parent.
    fn new_comm(&mut self, call: &Call, details: &Details) -> Result<(), &'static str> {
        if let Some(comm) = details.new_comm {
            self.comm(event::COMM_CREATE, comm)?;
        }
        if call.comm != NO_COMM && is_collective(call.function) {
            self.collected(call, volume::CREATE_HANDLE, root::NONE, [0, 0], None)?;
        }
        Ok(())
    }

    fn comm(&mut self, id: u8, comm: CommId) -> Result<(), &'static str> {
        let mut body = Encoder::body();
        body.u32(self.reference(comm)?);
        self.out.record(id, body);
        Ok(())
    }

    fn reference(&self, comm: CommId) -> Result<u32, &'static str> {
        let reference = self.whole.references.get(comm.index()).copied();
        reference.ok_or("names a communicator that is not in the trace")
    }
}

/// Whether a call is an unsuccessful poll.
fn is_fruitless(call: &Call, details: &Details) -> bool {
    let asks = matches!(call.function.class(), Class::Test(_) | Class::Probe { blocking: false, .. })
        || matches!(call.function, Function::Win_test | Function::Parrived | Function::Request_get_status);
    asks && !details.found
}

/// Whether all processes of the communicator are in the call at the same time. An analyser that
/// replays the trace waits for all of them, so calls that return early or that not all make must
/// not appear as collectives.
fn is_collective(function: Function) -> bool {
    let passes = matches!(function, Function::Comm_idup | Function::Comm_idup_with_info);
    !passes && !matches!(function.class(), Class::NewComm { collective: false })
}

/// The collective that a call performs or prepares.
fn collective_of(call: &Call) -> Option<Collective> {
    match call.function.class() {
        Class::Collective(operation, _) | Class::Neighbor(operation, _) => Some(operation),
        _ => None,
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
