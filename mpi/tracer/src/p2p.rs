//! Point-to-point calls. Positions of arguments are those of the C functions; Fortran's are the same.
//!
//! # Safety
//! All functions here run a call of the program, with its arguments.
#![allow(clippy::missing_safety_doc)]

use crate::abi::{LONGEST_STATUS, abi};
use crate::clock;
use crate::language::{Kind, Language};
use crate::note::{arrived, bytes, call, good, is_persistent, made, peer, recorded, tag};
use crate::process;
use crate::site::{Invoke, Site};
use crate::thread::{Scratch, Seen};
use libc::c_int;
use std::mem::MaybeUninit;
use straggler_trace::call::{Matched, special};
use straggler_trace::format::attribute;

/// A status of our own, for where the program does not want one.
#[repr(C, align(8))]
pub struct OwnStatus(MaybeUninit<[u8; LONGEST_STATUS]>);

impl OwnStatus {
    /// Not filled: it is read only after a call that fills it.
    #[inline(always)]
    pub fn new() -> OwnStatus {
        OwnStatus(MaybeUninit::uninit())
    }

    pub fn at(&mut self) -> usize {
        self.0.as_mut_ptr() as usize
    }

    /// The status to pass: the program's, or this one if it wants none.
    pub fn instead_of<L: Language>(&mut self, word: usize) -> usize {
        if L::ignores_status(word) { self.at() } else { word }
    }
}

/// Who a status says it was.
pub unsafe fn matched(status: usize) -> Matched {
    // SAFETY: `status` is one that MPI has filled: the program's, which is not ignored, or ours in its place.
    let (source, its_tag) = unsafe { abi().source_and_tag(status) };
    Matched { peer: peer(source), tag: tag(its_tag) }
}

/// (buffer, count, datatype, destination, tag, comm [, request])
pub unsafe fn send<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    // SAFETY: the caller's promise: a call of the program, with the arguments of its function.
    unsafe {
        call(&site, |scratch, seen| {
            message(scratch, seen, &site, 1, [2, 3, 4, 5], Way::Out);
            if N > 6 {
                made::<L>(seen, site.args[6], is_persistent(site.function), false);
            }
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Out,
    In,
}

/// Fills in what an envelope says. A call that failed may have any arguments, and its datatype is not asked.
#[inline(always)]
unsafe fn message<L: Language, const N: usize>(
    scratch: &mut Scratch,
    seen: &mut Seen,
    site: &Site<L, N>,
    count: usize,
    [datatype, other, its_tag, comm]: [usize; 4],
    way: Way,
) where
    [usize; N]: Invoke,
{
    // SAFETY: the caller's promise: a call of the program, with the arguments of its function.
    unsafe {
        (seen.peer, seen.tag) = (peer(site.int(other)), tag(site.int(its_tag)));
        if arrived(seen) {
            seen.comm = scratch.comm(L::handle(Kind::Comm, site.args[comm])).local;
            let size = bytes::<L>(site.args[count], site.args[datatype]);
            match way {
                Way::Out => seen.sent = size,
                Way::In => seen.received = size,
            }
        }
    }
}

/// A receive that failed because the message was longer than its room has taken it nevertheless.
fn tell_cut(scratch: &mut Scratch, seen: &Seen) {
    if !good(seen) && arrived(seen) {
        scratch.attributes.found();
    }
}

unsafe fn is_wildcard<L: Language, const N: usize>(site: &Site<L, N>, source: usize, its_tag: usize) -> bool
where
    [usize; N]: Invoke,
{
    // SAFETY: the caller's promise: a call of the program, with the arguments of its function.
    unsafe { peer(site.int(source)) == special::ANY || tag(site.int(its_tag)) == special::ANY }
}

/// (buffer, count, datatype, source, tag, comm, status)
pub unsafe fn recv<L: Language, const N: usize>(mut site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    // SAFETY: the status is the last argument: where the program ignores it, `own` stands in its place and outlives the
    // call.
    unsafe {
        let wildcard = is_wildcard(&site, 3, 4);
        let mut own = OwnStatus::new();
        if wildcard {
            site.args[6] = own.instead_of::<L>(site.args[6]);
        }
        call(&site, |scratch, seen| {
            message(scratch, seen, &site, 1, [2, 3, 4, 5], Way::In);
            if wildcard && arrived(seen) {
                scratch.attributes.matched(attribute::MATCHED, matched(site.args[6]));
            }
            tell_cut(scratch, seen);
        })
    }
}

/// (buffer, count, datatype, source, tag, comm, request)
pub unsafe fn irecv<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    // SAFETY: the caller's promise: a call of the program, with the arguments of its function.
    unsafe {
        call(&site, |scratch, seen| {
            message(scratch, seen, &site, 1, [2, 3, 4, 5], Way::In);
            made::<L>(seen, site.args[6], is_persistent(site.function), is_wildcard(&site, 3, 4));
        })
    }
}

/// (send buffer, count, datatype, destination, tag, receive buffer, count, datatype, source, tag, comm,
/// status or request)
pub unsafe fn sendrecv<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    // SAFETY: the caller's promise: a call of the program, with the arguments of its function.
    unsafe { both(site, [1, 2, 3, 4, 10], [6, 7, 8, 9]) }
}

/// (buffer, count, datatype, destination, tag, source, tag, comm, status or request)
pub unsafe fn sendrecv_replace<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    // SAFETY: the caller's promise: a call of the program, with the arguments of its function.
    unsafe { both(site, [1, 2, 3, 4, 7], [1, 2, 5, 6]) }
}

/// A send and a receive in one call; the last argument is a status or a request.
unsafe fn both<L: Language, const N: usize>(
    mut site: Site<L, N>,
    [count, datatype, destination, send_tag, comm]: [usize; 5],
    [receive_count, receive_datatype, source, receive_tag]: [usize; 4],
) -> c_int
where
    [usize; N]: Invoke,
{
    // SAFETY: the caller's promise: a call of the program, with the arguments of its function.
    unsafe {
        let waits = !site.function.makes_request();
        let wildcard = is_wildcard(&site, source, receive_tag);
        let mut own = OwnStatus::new();
        if waits && wildcard {
            site.args[N - 1] = own.instead_of::<L>(site.args[N - 1]);
        }
        call(&site, |scratch, seen| {
            message(scratch, seen, &site, count, [datatype, destination, send_tag, comm], Way::Out);
            let half = Matched { peer: peer(site.int(source)), tag: tag(site.int(receive_tag)) };
            scratch.attributes.matched(attribute::RECEIVE, half);
            if arrived(seen) {
                seen.received = bytes::<L>(site.args[receive_count], site.args[receive_datatype]);
            }
            tell_cut(scratch, seen);
            if waits && wildcard && arrived(seen) {
                scratch.attributes.matched(attribute::MATCHED, matched(site.args[N - 1]));
            } else if !waits {
                made::<L>(seen, site.args[N - 1], false, wildcard);
            }
        })
    }
}

/// (source, tag, comm, status)
pub unsafe fn probe<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    // SAFETY: the caller's promise: a call of the program, with the arguments of its function.
    unsafe { look(site, None, None) }
}

/// (source, tag, comm, flag, status)
pub unsafe fn iprobe<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    // SAFETY: the caller's promise: a call of the program, with the arguments of its function.
    unsafe { look(site, Some(3), None) }
}

/// (source, tag, comm, message, status)
pub unsafe fn mprobe<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    // SAFETY: the caller's promise: a call of the program, with the arguments of its function.
    unsafe { look(site, None, Some(3)) }
}

/// (source, tag, comm, flag, message, status)
pub unsafe fn improbe<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    // SAFETY: the caller's promise: a call of the program, with the arguments of its function.
    unsafe { look(site, Some(3), Some(4)) }
}

/// Looks for a message; the status is the last argument.
unsafe fn look<L: Language, const N: usize>(
    mut site: Site<L, N>,
    flag: Option<usize>,
    message: Option<usize>,
) -> c_int
where
    [usize; N]: Invoke,
{
    // SAFETY: `own` stands in for a status that the program ignores and outlives the call. Flag, message and status are
    // read only after the call has succeeded, and the last two only if the flag says that there is a message.
    unsafe {
        let Some(mut guard) = recorded() else { return site.invoke() };
        let mut own = OwnStatus::new();
        site.args[N - 1] = own.instead_of::<L>(site.args[N - 1]);
        let enter = clock::ticks();
        let code = site.invoke();
        let mut seen = Seen::new(site.function, enter, clock::ticks(), code);
        (seen.peer, seen.tag) = (peer(site.int(0)), tag(site.int(1)));
        if !good(&seen) {
            guard.record(&seen);
            return code;
        }
        seen.comm = guard.scratch().comm(L::handle(Kind::Comm, site.args[2])).local;
        if flag.is_some_and(|flag| site.int_behind(flag) == 0) {
            guard.poll(&seen);
            return code;
        }
        let scratch = guard.scratch();
        if flag.is_some() {
            scratch.attributes.found();
        }
        scratch.attributes.matched(attribute::MATCHED, matched(site.args[N - 1]));
        if let Some(message) = message {
            let handle = L::handle_at(Kind::Message, site.args[message], 0);
            scratch.attributes.number(attribute::MESSAGE, u64::from(keep(handle)));
        }
        guard.record(&seen);
        code
    }
}

/// Numbers a message that a probe keeps.
fn keep(handle: crate::abi::Handle) -> u32 {
    process::with(|process| {
        let number = process.next_message;
        process.next_message = number.wrapping_add(1);
        process.messages.insert(handle, number);
        number
    })
}

/// (buffer, count, datatype, message, status or request)
pub unsafe fn mrecv<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    // SAFETY: the caller's promise: a call of the program, with the arguments of its function.
    unsafe {
        // Taken out before: another thread may get its handle before this call is back.
        let handle = L::first_handle(Kind::Message, site.args[3]);
        let message = process::with(|process| process.messages.remove(&handle));
        call(&site, |scratch, seen| {
            if arrived(seen) {
                seen.received = bytes::<L>(site.args[1], site.args[2]);
            }
            tell_cut(scratch, seen);
            if handle == abi().message_nobody {
                seen.peer = special::NOBODY;
            } else if let Some(number) = message {
                scratch.attributes.number(attribute::MESSAGE, u64::from(number));
                if !arrived(seen) {
                    process::with(|process| process.messages.insert(handle, number));
                }
            }
            if site.function.makes_request() {
                made::<L>(seen, site.args[4], false, false);
            }
        })
    }
}
