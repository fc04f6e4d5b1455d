//! Follows requests and kept messages through the calls of a rank.

use super::numbers::{Numbers, Slot};
use super::walk::{Finished, Lists};
use super::{Fate, Given, Kind, NONE, Operation, Operations, resolved};
use crate::call::{Call, Details, Matched, NO_COMM, RequestId, special};
use crate::trace::RankTrace;
use crate::{Class, Function, Start};
use std::collections::HashMap;

pub(super) fn resolve(traced: &RankTrace) -> Operations<'_> {
    let mut walk = Resolver::new(traced);
    walk.ready = last_ready(traced);
    for (number, call) in (0..).zip(&traced.calls) {
        walk.call(number, call);
    }
    walk.finish()
}

/// For each started message in partitions, by its request: the call that makes its last partition ready.
fn last_ready(traced: &RankTrace) -> HashMap<RequestId, u32> {
    let calls = (0..).zip(&traced.calls).filter(|(_, call)| call.function.class() == Class::Ready);
    let requests = calls.filter_map(|(number, call)| Some((number, traced.details(call)?)));
    requests
        .flat_map(|(number, details)| details.requests.iter().map(move |&request| (request, number)))
        .collect()
}

/// The source and tag that a call found or receives from, according to the call itself.
pub(super) fn whom(call: &Call, details: &Details) -> Matched {
    resolved(Matched { peer: call.peer, tag: call.tag }, details.matched)
}

/// A persistent request: the call that prepared it, and the row of its last start.
#[derive(Debug)]
struct Prepared {
    by: u32,
    row: Option<u32>,
}

struct Resolver<'a> {
    found: Operations<'a>,
    numbers: Numbers,
    prepared: Vec<Prepared>,
    /// Matching probes, by the number of their message.
    kept: HashMap<u32, u32>,
    /// All matching probes, in order.
    keeping: Vec<u32>,
    /// For each thread, its last call if that was a probe that found something.
    probes: Vec<u32>,
    /// Rows that the current call reports as cancelled, in order.
    cancelled: Vec<u32>,
    /// Messages in partitions, by the request of their start: the call that sends them.
    ready: HashMap<RequestId, u32>,
}

impl<'a> Resolver<'a> {
    fn new(traced: &'a RankTrace) -> Resolver<'a> {
        let (rows, given, finished) = (Vec::new(), Vec::new(), Vec::new());
        let (kept, probed, lengths) = (Vec::new(), Vec::new(), Vec::new());
        let found = Operations { traced, rows, given, finished, kept, probed, lengths };
        Resolver {
            found,
            numbers: Numbers::default(),
            prepared: Vec::new(),
            kept: HashMap::new(),
            keeping: Vec::new(),
            probes: Vec::new(),
            cancelled: Vec::new(),
            ready: HashMap::new(),
        }
    }

    fn call(&mut self, number: u32, call: &'a Call) {
        let details = self.found.details(call);
        let probe = self.last_probe(call.thread);
        match call.function.class() {
            Class::Send(_, start) => self.operate(number, call, Kind::Send, start),
            Class::Recv(start) => self.receive(number, call, start, probe),
            Class::Sendrecv(start) => self.exchange(number, call, start),
            Class::MatchedRecv(start) => self.matched_receive(number, call, start, probe),
            Class::Collective(_, start) | Class::Neighbor(_, start) => {
                self.operate(number, call, Kind::Collective, start);
            }
            Class::Probe { blocking, keeps } => {
                if details.error.is_none() && (blocking || details.found) {
                    self.probe(number, call, keeps);
                }
            }
            // Without the arguments of the call, nothing is known about the message.
            Class::Partitioned { sends } if call.comm != NO_COMM => {
                let kind = if sends { Kind::Send } else { Kind::Receive };
                self.operate(number, call, kind, Start::Persistent);
            }
            Class::Begin => self.begin(number, call),
            Class::Ready => self.ready(number, details),
            Class::Wait(_) | Class::Test(_) => self.complete(number, call),
            Class::Drop => self.give_up(number, call),
            _ if call.request == Call::NO_REQUEST => {}
            _ => {
                let is_prepared = call.function.name().ends_with("_init");
                let start = if is_prepared { Start::Persistent } else { Start::Nonblocking };
                self.operate(number, call, Kind::Other, start);
            }
        }
    }

    /// Takes the last call of a thread, if it was a probe.
    fn last_probe(&mut self, thread: u16) -> Option<u32> {
        let last = self.probes.get_mut(usize::from(thread))?;
        Some(std::mem::replace(last, NONE)).filter(|&probe| probe != NONE)
    }

    /// An operation whose arguments are those of the call itself.
    fn described(&self, number: u32, call: &Call, kind: Kind) -> Operation {
        Operation {
            described: number,
            begun: number,
            completed: NONE,
            probe: NONE,
            request: call.request,
            source: Matched { peer: special::NONE, tag: special::NONE },
            kind,
            fate: Fate::Open,
            failed: self.found.details(call).has_failed(),
            just_probed: false,
        }
    }

    fn operate(&mut self, number: u32, call: &Call, kind: Kind, start: Start) {
        self.push(self.described(number, call, kind), start);
    }

    /// Appends a row, or registers an operation that is only prepared.
    fn push(&mut self, operation: Operation, start: Start) {
        let (row, request) = (self.found.rows.len() as u32, operation.request);
        let slot = match start {
            Start::Persistent => {
                self.prepared.push(Prepared { by: operation.described, row: None });
                Slot::Prepared(self.prepared.len() as u32 - 1)
            }
            Start::Nonblocking => {
                self.found.rows.push(operation);
                Slot::Row(row)
            }
            Start::Blocking => {
                let (completed, fate) = (operation.begun, Fate::Completed);
                self.found.rows.push(Operation { completed, fate, ..operation });
                Slot::Row(row)
            }
        };
        if operation.has_request() {
            self.numbers.set(request, slot);
        }
    }

    /// Adds a receive, which may take what a probe found just before.
    fn receive(&mut self, number: u32, call: &Call, start: Start, probe: Option<u32>) {
        let source = whom(call, self.found.details(call));
        let operation = Operation { source, ..self.described(number, call, Kind::Receive) };
        let found = probe.and_then(|number| Some((number, self.found.call(number)?)));
        let found = found.filter(|(_, probe)| {
            let keeps = matches!(probe.function.class(), Class::Probe { keeps: true, .. });
            !keeps && probe.comm == call.comm && self.found.found_by(probe) == source
        });
        let found = found.filter(|_| start == Start::Blocking && !operation.failed);
        match found {
            Some((probe, _)) => self.take_probed(operation, start, probe, true),
            None => self.push(operation, start),
        }
    }

    /// Adds a receive of the message that a probe found.
    fn take_probed(&mut self, operation: Operation, start: Start, probe: u32, just_probed: bool) {
        if just_probed {
            self.found.probed.push((probe, self.found.rows.len() as u32));
        }
        self.push(Operation { probe, just_probed, ..operation }, start);
    }

    /// Adds a receive of a message that a probe kept. If the trace does not say which probe, the
    /// call may say who sent it.
    fn matched_receive(&mut self, number: u32, call: &Call, start: Start, last: Option<u32>) {
        let details = self.found.details(call);
        let operation = self.described(number, call, Kind::Receive);
        let kept =
            details.message.filter(|_| !operation.failed).and_then(|message| self.kept.remove(&message));
        match kept.and_then(|probe| Some((probe, self.found.call(probe)?))) {
            Some((probe, kept)) => {
                let source = self.found.found_by(kept);
                let at_once = start == Start::Blocking && last == Some(probe);
                self.take_probed(Operation { source, ..operation }, start, probe, at_once);
            }
            None => self.push(Operation { source: whom(call, details), ..operation }, start),
        }
    }

    fn exchange(&mut self, number: u32, call: &Call, start: Start) {
        let details = self.found.details(call);
        let asked = details.receive.unwrap_or(Matched { peer: special::NOBODY, tag: special::NONE });
        let source = resolved(asked, details.matched);
        self.push(Operation { source, ..self.described(number, call, Kind::Exchange) }, start);
    }

    fn probe(&mut self, number: u32, call: &Call, keeps: bool) {
        let thread = usize::from(call.thread);
        if thread >= self.probes.len() {
            self.probes.resize(thread + 1, NONE);
        }
        self.probes[thread] = number;
        if keeps {
            self.keeping.push(number);
            self.kept.extend(self.found.details(call).message.map(|message| (message, number)));
        }
    }

    /// Starts prepared operations. Each start makes a new request, or the trace keeps naming the persistent one.
    fn begin(&mut self, number: u32, call: &'a Call) {
        for (place, &persistent) in (0..).zip(&self.found.details(call).requests) {
            let made =
                call.request.0.checked_add(place).filter(|_| call.request != Call::NO_REQUEST).map(RequestId);
            let given = match self.numbers.get(persistent) {
                Some(Slot::Prepared(prepared)) => {
                    self.begin_one(number, prepared, made.unwrap_or(persistent), made)
                }
                // The request is not persistent, or unknown.
                known => {
                    let lost = self.described(number, call, Kind::Other);
                    if let Some(request) = made {
                        self.push(Operation { request, ..lost }, Start::Nonblocking);
                    }
                    if let Some(Slot::Row(row)) = known { Given::Over(row) } else { Given::Unknown }
                }
            };
            self.found.given.push(given.into());
        }
    }

    fn begin_one(
        &mut self,
        number: u32,
        prepared: u32,
        request: RequestId,
        made: Option<RequestId>,
    ) -> Given {
        let row = self.found.rows.len() as u32;
        let Some(known) = self.prepared.get_mut(prepared as usize) else { return Given::Unknown };
        if self.ready.get(&request).is_some_and(|&sent| sent > number) {
            // A message in partitions: a later call sends it.
            known.row = None;
            self.numbers.set(request, Slot::Prepared(prepared));
            return Given::Idle;
        }
        known.row = Some(row);
        let Some(call) = self.found.call(known.by) else { return Given::Unknown };
        let by = known.by;
        let (kind, source) = match call.function.class() {
            Class::Partitioned { .. } if call.comm == NO_COMM => (Kind::Other, None),
            Class::Send(..) | Class::Partitioned { sends: true } => (Kind::Send, None),
            Class::Recv(_) | Class::Partitioned { .. } => {
                (Kind::Receive, Some(Matched { peer: call.peer, tag: call.tag }))
            }
            Class::Collective(..) | Class::Neighbor(..) => (Kind::Collective, None),
            _ => (Kind::Other, None),
        };
        let operation = self.described(by, call, kind);
        let source = source.unwrap_or(operation.source);
        self.found.rows.push(Operation { begun: number, request, source, failed: false, ..operation });
        if made.is_some() {
            self.numbers.set(request, Slot::Row(row));
        }
        Given::Operation(row)
    }

    /// Sends the messages whose last partition a call makes ready.
    fn ready(&mut self, number: u32, details: &Details) {
        for &request in &details.requests {
            let sends = self.ready.get(&request) == Some(&number);
            if let Some(Slot::Prepared(prepared)) = self.numbers.get(request).filter(|_| sends) {
                self.begin_one(number, prepared, request, Some(request));
            }
        }
    }

    /// What a request stands for at this point.
    fn look_up(&self, request: RequestId) -> Given {
        let is_open = |row: u32| self.found.get(row).is_some_and(|operation| operation.fate == Fate::Open);
        match self.numbers.get(request) {
            None => Given::Unknown,
            Some(Slot::Row(row)) if is_open(row) => Given::Operation(row),
            Some(Slot::Row(row)) => Given::Over(row),
            Some(Slot::Prepared(prepared)) => {
                let row = self.prepared.get(prepared as usize).and_then(|prepared| prepared.row);
                row.filter(|&row| is_open(row)).map_or(Given::Idle, Given::Operation)
            }
        }
    }

    /// Lists what the requests of a call stand for.
    fn list(&mut self, details: &Details) {
        for &request in &details.requests {
            let given = self.look_up(request);
            self.found.given.push(given.into());
        }
    }

    fn complete(&mut self, number: u32, call: &'a Call) {
        let details = self.found.details(call);
        for &(request, bytes) in &details.lengths {
            if let Given::Operation(row) = self.look_up(request) {
                self.found.lengths.push((row, bytes));
            }
        }
        match Lists::new(call, details).finished {
            Finished::Given => self.complete_all(number, details),
            Finished::Told(count) => {
                self.list(details);
                for completed in details.completed.iter().take(count) {
                    let given = self.look_up(completed.request);
                    self.note_given(given, completed.matched);
                    self.close(number, given, completed.cancelled);
                    self.found.finished.push(given.into());
                }
            }
        }
    }

    /// Completes every request in the list; the call gives more details for some.
    fn complete_all(&mut self, number: u32, details: &Details) {
        self.note_cancelled(details);
        for completed in details.completed.iter().filter(|one| !one.cancelled) {
            self.note_given(self.look_up(completed.request), completed.matched);
        }
        for &request in &details.requests {
            let given = self.look_up(request);
            self.close(number, given, self.is_cancelled(given));
            self.found.given.push(given.into());
        }
    }

    /// Handles a free or a cancel. A freed request needs no completion. A cancelled one must still
    /// be completed, unless this call already reports that it was cancelled.
    fn give_up(&mut self, number: u32, call: &'a Call) {
        let details = self.found.details(call);
        self.note_cancelled(details);
        for &request in &details.requests {
            let given = self.look_up(request);
            if self.is_cancelled(given) {
                self.close(number, given, true);
            } else if let (Given::Operation(row), Function::Request_free) = (given, call.function)
                && let Some(operation) = self.found.rows.get_mut(row as usize)
            {
                operation.fate = Fate::Freed;
            }
            self.found.given.push(given.into());
        }
    }

    /// Collects the rows that a call reports as cancelled.
    fn note_cancelled(&mut self, details: &Details) {
        let mut rows = std::mem::take(&mut self.cancelled);
        rows.clear();
        for completed in details.completed.iter().filter(|one| one.cancelled) {
            if let Given::Operation(row) = self.look_up(completed.request) {
                rows.push(row);
            }
        }
        rows.sort_unstable();
        self.cancelled = rows;
    }

    fn is_cancelled(&self, given: Given) -> bool {
        matches!(given, Given::Operation(row) if self.cancelled.binary_search(&row).is_ok())
    }

    /// Records whom a wildcard matched.
    fn note_given(&mut self, given: Given, matched: Option<Matched>) {
        let Given::Operation(row) = given else { return };
        if let Some(operation) = self.found.rows.get_mut(row as usize) {
            operation.source = resolved(operation.source, matched);
        }
    }

    fn close(&mut self, number: u32, given: Given, cancelled: bool) {
        let Given::Operation(row) = given else { return };
        if let Some(operation) = self.found.rows.get_mut(row as usize) {
            operation.completed = number;
            operation.fate = if cancelled { Fate::Cancelled } else { Fate::Completed };
        }
    }

    fn finish(mut self) -> Operations<'a> {
        self.found.probed.sort_unstable();
        self.found.lengths.sort_unstable();
        let mut taken: Vec<u32> = self.found.rows.iter().filter_map(Operation::probe).collect();
        taken.sort_unstable();
        self.keeping.retain(|probe| taken.binary_search(probe).is_err());
        self.found.kept = self.keeping;
        self.found
    }
}
