//! The calls of a thread on their way into a block, and unsuccessful tests that are only counted.

use super::are_several;
use crate::call_sites::{self, Callers};
use crate::{output, process};
use std::sync::atomic::{AtomicU64, Ordering};
use straggler_trace::call::special;
use straggler_trace::format::local_comm;
use straggler_trace::format::write::{Attributes, CallBlock, Record};
use straggler_trace::{Class, Function, RequestId};

/// What is known about a call after it returned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seen {
    pub function: Function,
    pub enter: u64,
    pub exit: u64,
    pub comm: u32,
    pub peer: i32,
    pub tag: i32,
    pub sent: u64,
    pub received: u64,
    pub made: Option<(RequestId, u32)>,
    pub error: i32,
    /// The return address of the call; 0 if unknown.
    pub caller: usize,
}

impl Seen {
    pub fn new(function: Function, enter: u64, exit: u64, error: i32) -> Seen {
        Seen {
            function,
            enter,
            exit,
            comm: local_comm::NONE,
            peer: special::NONE,
            tag: special::NONE,
            sent: 0,
            received: 0,
            made: None,
            error,
            caller: 0,
        }
    }
}

/// Unsuccessful calls with the same arguments.
#[derive(Debug)]
struct Poll {
    seen: Seen,
    requests: Vec<RequestId>,
    calls: u64,
    inside: u64,
}

/// The maximum number of different calls in a polling loop that are counted.
const MOST_POLLS: usize = 16;

/// A block is written once it has waited this many nanoseconds, at the next call or by the watching thread.
pub(super) const LONGEST_NS: u64 = 100_000_000;

/// What a thread has recorded but not written yet.
#[derive(Debug)]
pub(super) struct Calls {
    number: u32,
    block: CallBlock,
    polls: Vec<Poll>,
    /// Call sites, if they are recorded.
    callers: Option<Callers>,
}

impl Calls {
    pub(super) fn new(now: u64) -> Calls {
        let callers = call_sites::are_wanted().then(Callers::default);
        let mut block = if callers.is_some() { CallBlock::with_sites() } else { CallBlock::new() };
        block.begin(now, RequestId(0));
        Calls { number: 0, block, polls: Vec::new(), callers }
    }

    /// Assigns the calls from now on to this thread.
    pub(super) fn belong_to(&mut self, number: u32) {
        self.number = number;
    }

    #[inline]
    pub(super) fn record(
        &mut self,
        seen: &Seen,
        requests: &[RequestId],
        attributes: &Attributes,
        deadline: &AtomicU64,
    ) {
        if !self.polls.is_empty() {
            self.write_polls();
        }
        let site = self.callers.as_mut().map_or(0, |callers| callers.number(seen.caller));
        write(&mut self.block, seen, requests, attributes, site);
        if is_foundation(seen.function) {
            // Written at once: without these calls, the rest is of little use.
            self.write_block();
        }
        self.after(seen.exit, deadline);
    }

    /// Counts an unsuccessful poll.
    #[inline]
    pub(super) fn poll(&mut self, seen: &Seen, requests: &[RequestId], deadline: &AtomicU64) {
        let same = |poll: &&mut Poll| {
            let known = &poll.seen;
            (known.function, known.caller, known.comm, known.peer, known.tag)
                == (seen.function, seen.caller, seen.comm, seen.peer, seen.tag)
                && same_requests(&poll.requests, requests)
        };
        let inside = seen.exit.saturating_sub(seen.enter);
        if let Some(poll) = self.polls.iter_mut().find(same) {
            poll.calls += 1;
            poll.inside += inside;
            poll.seen.exit = seen.exit;
            return;
        }
        if self.polls.len() == MOST_POLLS {
            let oldest = self.polls.remove(0);
            write_poll(&mut self.block, &mut self.callers, &oldest);
            self.after(seen.exit, deadline);
        }
        self.polls.push(Poll { seen: *seen, requests: requests.to_vec(), calls: 1, inside });
    }

    /// Writes everything, since the thread or the process ends.
    pub(super) fn write_out(&mut self) {
        self.write_polls();
        self.write_block();
    }

    pub(super) fn write_block(&mut self) {
        output::write_calls(&mut self.block, self.number);
    }

    /// Records the counted polls.
    fn write_polls(&mut self) {
        for poll in self.polls.drain(..) {
            write_poll(&mut self.block, &mut self.callers, &poll);
        }
    }

    /// Writes the block if it is full or has waited for long.
    #[inline(always)]
    fn after(&mut self, now: u64, deadline: &AtomicU64) {
        if self.block.is_full() || now > deadline.load(Ordering::Relaxed) {
            self.flush(now, deadline);
        }
    }

    #[cold]
    fn flush(&mut self, now: u64, deadline: &AtomicU64) {
        if deadline.load(Ordering::Relaxed) != 0 {
            self.write_block();
        }
        deadline.store(now.saturating_add(process::ticks_in(LONGEST_NS)), Ordering::Relaxed);
    }
}

/// Whether others refer to a call: the first one, and, if several threads make calls, those that
/// create communicators named in the blocks of other threads.
#[inline]
fn is_foundation(function: Function) -> bool {
    match function.class() {
        Class::Init => true,
        Class::NewComm { .. } => are_several(),
        _ => false,
    }
}

fn write_poll(block: &mut CallBlock, callers: &mut Option<Callers>, poll: &Poll) {
    let site = callers.as_mut().map_or(0, |callers| callers.number(poll.seen.caller));
    let mut counted = Attributes::new();
    if poll.calls > 1 {
        counted.repeated(poll.calls, poll.inside);
    }
    write(block, &poll.seen, &poll.requests, &counted, site);
}

/// Lists are short: comparing them inline is faster than calling a function.
#[inline(always)]
fn same_requests(a: &[RequestId], b: &[RequestId]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a == b)
}

#[inline(always)]
fn write(block: &mut CallBlock, seen: &Seen, requests: &[RequestId], attributes: &Attributes, site: u32) {
    block.record(&Record {
        comm: seen.comm,
        peer: seen.peer,
        tag: seen.tag,
        sent: seen.sent,
        received: seen.received,
        made: seen.made,
        requests,
        error: seen.error,
        site,
        ..Record::new(seen.function, seen.enter, seen.exit, attributes)
    });
}
