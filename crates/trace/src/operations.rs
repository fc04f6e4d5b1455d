//! What the calls of a rank do, found out once for everybody.
//!
//! A trace names requests and kept messages by numbers, and says what became of them in later calls: which request a wait
//! has completed, whom a wildcard has matched, what was cancelled. [`Operations::of`] follows these numbers through the
//! calls of a rank. The result is a table with a row for each operation that a call has begun, and for each call that
//! names requests the rows they stand for. Whoever needs messages, schedules, waiting times or records of another format
//! reads these rows; no other code looks up a request.
//!
//! Threads share requests, so a rank is followed as a whole, in the order of its calls. [`Operations::walk`] gives one call
//! after the other with what it begins, what it asks for and what it finds completed. Decisions of the run stay data: a
//! call's own arguments are in [`Call`], their outcome is in [`Operation::source`] and [`Acted::finished`].

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
    /// Of every call that names requests, in order: what each of them stands for.
    given: Vec<Encoded>,
    /// What calls have completed, where that is not all they were given.
    finished: Vec<Encoded>,
    /// Matching probes whose message was never received.
    kept: Vec<u32>,
    /// Probes, each with the operation of its thread's next call, which received the message. By probe.
    probed: Vec<(u32, u32)>,
    /// Rows of receives whose messages were shorter than their room, with their bytes. By row.
    lengths: Vec<(u32, u64)>,
}

/// Something that a call has begun: a message, a collective, or whatever else has a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Operation {
    /// The call that has its arguments: of a persistent one, the call that prepared it.
    pub described: u32,
    /// The call that began it.
    pub begun: u32,
    completed: u32,
    probe: u32,
    /// The request it has, or [`Call::NO_REQUEST`].
    pub request: RequestId,
    /// Whom it receives from: what was asked for, with what came in place of wildcards. Wildcards are left where nothing
    /// told what came.
    pub source: Matched,
    pub kind: Kind,
    pub fate: Fate,
    /// The call returned an error, and took no message.
    pub failed: bool,
    /// The call before it on its thread was the probe that found its message.
    pub just_probed: bool,
}

// There are as many as a trace has calls that communicate.
const _: () = assert!(size_of::<Operation>() == 32);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Send,
    Receive,
    /// A send and a receive with one request at most.
    Exchange,
    Collective,
    /// Nothing is known of it but that it has a request.
    Other,
}

/// What became of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// No call has found it completed.
    Open,
    Completed,
    Cancelled,
    /// Its request was given up while it went on.
    Freed,
}

/// What a request stands for, in a call that names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Given {
    /// This row. It was open when the call began, or the call has begun it.
    Operation(u32),
    /// This row, which a call before has completed or given up. A persistent request at rest may be named so.
    Over(u32),
    /// A persistent request, by its own number, that is not under way.
    Idle,
    /// No call has made it.
    Unknown,
}

/// [`Given`] in four bytes: a row, with one bit if it is over, or one of two marks.
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
    /// The call after which it was over: itself if it blocks, else what found it completed or cancelled.
    pub fn completed(&self) -> Option<u32> {
        (self.completed != NONE).then_some(self.completed)
    }

    /// The probe that found the message which it received: of a matched receive wherever that was, of another one if
    /// it came [right before](Operation::just_probed).
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
    pub fn of(traced: &'a RankTrace) -> Operations<'a> {
        resolve::resolve(traced)
    }

    /// The same for every rank of a trace.
    pub fn of_trace(trace: &'a Trace) -> Vec<Operations<'a>> {
        trace.ranks.iter().map(Operations::of).collect()
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

    /// One call after the other, with what it does.
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

    /// The communicator of an operation. The call that receives a kept message does not know it, but the probe does.
    pub fn comm(&self, operation: &Operation) -> Option<CommId> {
        let from = operation.probe().unwrap_or(operation.described);
        self.call(from).map(|call| call.comm)
    }

    /// The call by whose place in order an operation finds its message: what began it, or the probe that took the message
    /// out of the queue.
    pub fn posted(&self, operation: &Operation) -> u32 {
        let class = self.call(operation.described).map(|call| call.function.class());
        let kept = operation.probe().filter(|_| matches!(class, Some(Class::MatchedRecv(_))));
        kept.unwrap_or(operation.begun)
    }

    /// The bytes that a receive has received, as far as the trace tells; else what it has room for.
    pub fn received(&self, row: u32, operation: &Operation) -> u64 {
        let told = self.lengths.binary_search_by_key(&row, |&(row, _)| row).ok();
        let told = told.and_then(|place| self.lengths.get(place)).map(|&(_, bytes)| bytes);
        told.or_else(|| self.call(operation.described).map(|call| call.received)).unwrap_or(0)
    }

    /// Matching probes whose message was never received, in order.
    pub fn kept(&self) -> &[u32] {
        &self.kept
    }

    /// Whom a probe has found.
    pub fn found_by(&self, probe: &Call) -> Matched {
        resolve::whom(probe, self.details(probe))
    }

    /// The operation that received what a probe had found, if it was begun by the next call of the probe's thread.
    pub fn received_after(&self, probe: u32) -> Option<u32> {
        let place = self.probed.binary_search_by_key(&probe, |&(probe, _)| probe).ok()?;
        self.probed.get(place).map(|&(_, row)| row)
    }
}

/// What was asked for, with what was matched in the place of wildcards and of what was not told.
fn resolved(asked: Matched, matched: Option<Matched>) -> Matched {
    let Some(matched) = matched else { return asked };
    let is_open = |value: i32| matches!(value, special::ANY | special::NONE);
    Matched {
        peer: if is_open(asked.peer) { matched.peer } else { asked.peer },
        tag: if is_open(asked.tag) { matched.tag } else { asked.tag },
    }
}
