//! Records a call: times it, runs it and describes it.

use crate::language::Kind;
use crate::process::{self, Phase};
use crate::recording;
use crate::requests::Open;
use crate::site::{Site, Words, pmpi};
use crate::thread::{Entered, Guard, Scratch, Seen, enter};
use crate::{abi::Handle, abi::abi, clock, pausing};
use libc::c_int;
use straggler_trace::call::special;
use straggler_trace::{Class, Function, Start};

/// The guard of a call that is to be recorded; `None` if it is inside another call, or if nothing is recorded.
#[inline(always)]
pub fn recorded() -> Option<Guard> {
    match process::phase() {
        Phase::Recording => enter().map(Entered::with_state),
        Phase::Over => None,
        Phase::Before => late(),
    }
}

#[cold]
fn late() -> Option<Guard> {
    let entered = enter()?;
    recording::begin_late();
    (process::phase() == Phase::Recording).then(|| entered.with_state())
}

/// Runs a call and records it, described by `describe`.
#[inline(always)]
pub fn call<W: Words>(site: &Site<W>, describe: impl FnOnce(&mut Scratch, &mut Seen)) -> c_int {
    let Some(mut guard) = recorded() else {
        return site.invoke();
    };
    let enter = clock::ticks();
    let code = site.invoke();
    let mut seen = site.seen(enter, clock::ticks(), code);
    describe(guard.scratch(), &mut seen);
    guard.record(&seen);
    code
}

/// Whether a function only prepares an operation that is started later.
pub fn is_persistent(function: Function) -> bool {
    match function.class() {
        Class::Send(_, start) | Class::Recv(start) => start == Start::Persistent,
        Class::Collective(_, start) | Class::Neighbor(_, start) => start == Start::Persistent,
        Class::Partitioned { .. } => true,
        _ => false,
    }
}

/// Converts a peer to its value in traces.
#[inline(always)]
pub fn peer(rank: i32) -> i32 {
    let abi = abi();
    if rank >= 0 {
        rank
    } else if rank == abi.any_source {
        special::ANY
    } else if rank == abi.nobody {
        special::NOBODY
    } else if rank == abi.root {
        special::ROOT
    } else {
        special::NONE
    }
}

#[inline(always)]
pub fn tag(tag: i32) -> i32 {
    if tag >= 0 {
        tag
    } else if tag == abi().any_tag {
        special::ANY
    } else {
        special::NONE
    }
}

/// The size of a datatype; 0 if it is not a datatype or has no size.
#[inline]
pub fn size_of_type(datatype: Handle) -> u64 {
    if !abi().may_be_datatype(datatype) {
        return 0;
    }
    if let Some(size) = abi().size_in_handle(datatype) {
        return size;
    }
    let mut size = 0i32;
    pmpi!(Type_size(datatype, &raw mut size));
    if size >= 0 {
        return size as u64;
    }
    // The size exceeds an int.
    let mut size = 0i64;
    pmpi!(Type_size_x(datatype, &raw mut size));
    size.max(0) as u64
}

/// Whether a call succeeded, so that its outputs are set.
#[inline(always)]
pub fn good(seen: &Seen) -> bool {
    seen.error == 0
}

/// Whether a receive took a message: it succeeded, or the message was longer than its buffer.
#[inline(always)]
pub fn arrived(seen: &Seen) -> bool {
    good(seen) || is_truncated(seen.error)
}

#[cold]
fn is_truncated(code: i32) -> bool {
    let mut class = 0i32;
    pmpi!(Error_class(code, &raw mut class));
    class == abi().err_truncate
}

/// The request that a call makes.
#[derive(Clone, Copy, Debug)]
pub struct Making {
    pub persistent: bool,
    /// Whether source or tag of a receive is a wildcard.
    pub wildcard: bool,
    /// The buffer size of a receive in bytes, or [`Open::NO_ROOM`].
    pub room: u64,
    pub recorded: bool,
}

impl Making {
    /// A request that receives no message.
    #[inline(always)]
    pub fn new(function: Function) -> Making {
        let recorded = !pausing::is_paused() || pausing::is_kept(function);
        Making { persistent: is_persistent(function), wildcard: false, room: Open::NO_ROOM, recorded }
    }
}

/// Numbers the request that a call made, at argument `request`.
#[inline]
pub fn made<W: Words>(seen: &mut Seen, site: &Site<W>, request: usize, making: Making) {
    // A call that failed has made no request, but its record stands for one.
    let handle = if good(seen) { site.handle_behind(Kind::Request, request) } else { abi().request_null };
    let number = process::with(|process| {
        let number = process.requests.number(1);
        if handle != abi().request_null {
            let Making { persistent, wildcard, room, recorded } = making;
            let persistent = persistent.then_some(number);
            process
                .requests
                .insert(handle, Open { persistent, wildcard, room, recorded, ..Open::new(number) });
        }
        number
    });
    seen.made = Some((number, 1));
}
