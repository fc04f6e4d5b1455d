//! What the calls of a rank do, worked out in one place.
//!
//! A trace names requests and kept messages by numbers, and later calls say what became of them:
//! which request a wait completed, whom a wildcard matched, what was cancelled. [`Operations::new`]
//! follows these numbers through the calls of a rank. The result is a table with a row for each
//! operation that a call began, and, for each call that names requests, the rows they stand for.
//! Code that needs messages, schedules, waiting times or records of another format reads these
//! rows; no other code looks up a request.
//!
//! Threads share requests, so a rank is followed as a whole, in the order of its calls.
//! [`Operations::walk`] visits the calls one by one, with what each begins, asks for and finds
//! completed. Arguments and outcomes stay apart: a call's own arguments are in [`Call`], their
//! outcome is in [`Operation::source`] and [`Acted::finished`].

mod numbers;
mod resolve;
mod walk;

pub use walk::{Acted, Walk};

use crate::Class;
use crate::call::{Call, CommId, Details, Matched, RequestId, special};
use crate::trace::{RankTrace, Trace};

/// Stands for no call.
const NONE: u32 = u32::MAX;

/// What the calls of one rank do.
#[derive(Clone, Debug)]
pub struct Operations<'a> {
    traced: &'a RankTrace,
    rows: Vec<Operation>,
    /// For every call that names requests, in order: what each of them stands for.
    given: Vec<Encoded>,
    /// What calls completed, where that is not everything they were given.
    finished: Vec<Encoded>,
    /// Matching probes whose message was never received.
    kept: Vec<u32>,
    /// Probes with the operation that received their message, begun by the next call of the same
    /// thread. Sorted by probe.
    probed: Vec<(u32, u32)>,
    /// Rows of receives whose messages were shorter than their buffers, with the bytes received. Sorted by row.
    lengths: Vec<(u32, u64)>,
}

/// Something that a call began: a message, a collective, or anything else that has a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Operation {
    /// The call that has its arguments; for a persistent operation, the call that prepared it.
    pub described: u32,
    /// The call that began it.
    pub begun: u32,
    completed: u32,
    probe: u32,
    /// Its request, or [`Call::NO_REQUEST`].
    pub request: RequestId,
    /// The source and tag it receives from: as requested, with wildcards replaced by what was
    /// matched. A wildcard remains if the trace does not say what was matched.
    pub source: Matched,
    pub kind: Kind,
    pub fate: Fate,
    /// The call returned an error and took no message.
    pub failed: bool,
    /// The previous call on its thread was the probe that found its message.
    pub just_probed: bool,
}

// A trace has one per call that communicates, so the size matters.
const _: () = assert!(size_of::<Operation>() == 32);

/// What an operation does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Send,
    Receive,
    /// A send and a receive that share at most one request.
    Exchange,
    Collective,
    /// Nothing is known about it except that it has a request.
    Other,
}

/// What became of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// No call has found it completed.
    Open,
    Completed,
    Cancelled,
    /// Its request was freed while the operation was under way.
    Freed,
}

/// What a request stands for, in a call that names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Given {
    /// This row, which was open when the call began, or which the call began itself.
    Operation(u32),
    /// This row, which an earlier call completed or freed. A call may name an inactive persistent request this way.
    Over(u32),
    /// A persistent request, by its own number, that is not active.
    Idle,
    /// No call made this request.
    Unknown,
}

/// [`Given`] in four bytes: a row and a bit that says whether it is over, or one of two special values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Encoded(u32);

const UNKNOWN: u32 = u32::MAX;
const IDLE: u32 = u32::MAX - 1;
const OVER: u32 = 1 << 31;

impl Encoded {
    fn decode(self) -> Given {
        match self.0 {
            UNKNOWN => Given::Unknown,
            IDLE => Given::Idle,
            row if row & OVER != 0 => Given::Over(row & !OVER),
            row => Given::Operation(row),
        }
    }
}

impl From<Given> for Encoded {
    fn from(given: Given) -> Encoded {
        Encoded(match given {
            Given::Unknown => UNKNOWN,
            Given::Idle => IDLE,
            Given::Over(row) => row | OVER,
            Given::Operation(row) => row,
        })
    }
}

impl Operation {
    /// The call after which it was over: the one that began it if that blocks, else the one that
    /// found it completed or cancelled.
    pub fn completed(&self) -> Option<u32> {
        (self.completed != NONE).then_some(self.completed)
    }

    /// The probe that found the message it received: for a matched receive, wherever the probe was;
    /// for any other receive, only if the probe came [right before](Operation::just_probed).
    pub fn probe(&self) -> Option<u32> {
        (self.probe != NONE).then_some(self.probe)
    }

    pub fn is_cancelled(&self) -> bool {
        self.fate == Fate::Cancelled
    }

    pub fn sends(&self) -> bool {
        matches!(self.kind, Kind::Send | Kind::Exchange)
    }

    pub fn receives(&self) -> bool {
        matches!(self.kind, Kind::Receive | Kind::Exchange)
    }

    /// Whether a request for it was handed out.
    pub fn has_request(&self) -> bool {
        self.request != Call::NO_REQUEST
    }
}

impl<'a> Operations<'a> {
    /// Follows the calls of a rank.
    pub fn new(traced: &'a RankTrace) -> Operations<'a> {
        resolve::resolve(traced)
    }

    /// Follows the calls of every rank of a trace.
    pub fn of_trace(trace: &'a Trace) -> Vec<Operations<'a>> {
        trace.ranks.iter().map(Operations::new).collect()
    }

    pub fn traced(&self) -> &'a RankTrace {
        self.traced
    }

    /// All operations, in the order in which they were begun.
    pub fn rows(&self) -> &[Operation] {
        &self.rows
    }

    pub fn get(&self, row: u32) -> Option<&Operation> {
        self.rows.get(row as usize)
    }

    /// Visits the calls one by one, with what each does.
    pub fn walk(&self) -> Walk<'_, 'a> {
        Walk::new(self)
    }

    pub fn call(&self, number: u32) -> Option<&'a Call> {
        self.traced.calls.get(number as usize)
    }

    /// The details of a call; empty ones where it has none.
    pub fn details(&self, call: &Call) -> &'a Details {
        self.traced.details(call).unwrap_or(Details::NOTHING)
    }

    /// The communicator of an operation. The receive of a kept message does not record it, but its probe does.
    pub fn comm(&self, operation: &Operation) -> Option<CommId> {
        let from = operation.probe().unwrap_or(operation.described);
        self.call(from).map(|call| call.comm)
    }

    /// The call that decides an operation's place in the matching order: the one that began it, or
    /// the probe that took the message out of the queue.
    pub fn posted(&self, operation: &Operation) -> u32 {
        let class = self.call(operation.described).map(|call| call.function.class());
        let kept = operation.probe().filter(|_| matches!(class, Some(Class::MatchedRecv(_))));
        kept.unwrap_or(operation.begun)
    }

    /// The bytes received, if the trace says so, else the size of the buffer.
    pub fn received(&self, row: u32, operation: &Operation) -> u64 {
        let told = self.lengths.binary_search_by_key(&row, |&(row, _)| row).ok();
        let told = told.and_then(|place| self.lengths.get(place)).map(|&(_, bytes)| bytes);
        told.or_else(|| self.call(operation.described).map(|call| call.received)).unwrap_or(0)
    }

    /// Matching probes whose message was never received, in order.
    pub fn kept(&self) -> &[u32] {
        &self.kept
    }

    /// The source and tag a probe found.
    pub fn found_by(&self, probe: &Call) -> Matched {
        resolve::whom(probe, self.details(probe))
    }

    /// The operation that received what a probe found, if the next call of the probe's thread began it.
    pub fn received_after(&self, probe: u32) -> Option<u32> {
        let place = self.probed.binary_search_by_key(&probe, |&(probe, _)| probe).ok()?;
        self.probed.get(place).map(|&(_, row)| row)
    }
}

/// What was requested, with wildcards and unrecorded values replaced by what was matched.
fn resolved(asked: Matched, matched: Option<Matched>) -> Matched {
    let Some(matched) = matched else { return asked };
    let is_open = |value: i32| matches!(value, special::ANY | special::NONE);
    Matched {
        peer: if is_open(asked.peer) { matched.peer } else { asked.peer },
        tag: if is_open(asked.tag) { matched.tag } else { asked.tag },
    }
}
