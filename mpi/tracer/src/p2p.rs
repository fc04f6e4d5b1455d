//! Point-to-point calls. Positions of arguments are those of the C functions; Fortran's are the same.

use crate::abi::abi;
use crate::clock;
use crate::language::{Kind, Language};
use crate::note::{arrived, call, good, is_persistent, made, peer, recorded, tag};
use crate::process;
use crate::site::{Invoke, Site, Wanted};
use crate::thread::{Scratch, Seen};
use libc::c_int;
use straggler_trace::call::{Matched, special};
use straggler_trace::format::attribute;

/// (buffer, count, datatype, destination, tag, comm [, request])
pub fn send<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    call(&site, |scratch, seen| {
        message(scratch, seen, &site, 1, [2, 3, 4, 5], Way::Out);
        if N > 6 {
            made(seen, &site, 6, is_persistent(site.function()), false);
        }
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Out,
    In,
}

/// Fills in what an envelope says. A call that failed may have any arguments, and its datatype is not asked.
#[inline(always)]
fn message<L: Language, const N: usize>(
    scratch: &mut Scratch,
    seen: &mut Seen,
    site: &Site<L, N>,
    count: usize,
    [datatype, other, its_tag, comm]: [usize; 4],
    way: Way,
) where
    [usize; N]: Invoke,
{
    (seen.peer, seen.tag) = (peer(site.int(other)), tag(site.int(its_tag)));
    if arrived(seen) {
        seen.comm = scratch.comm(site.handle(Kind::Comm, comm)).local;
        let size = site.bytes(count, datatype);
        match way {
            Way::Out => seen.sent = size,
            Way::In => seen.received = size,
        }
    }
}

/// A receive that failed because the message was longer than its room has taken it nevertheless.
fn tell_cut(scratch: &mut Scratch, seen: &Seen) {
    if !good(seen) && arrived(seen) {
        scratch.attributes.found();
    }
}

fn is_wildcard<L: Language, const N: usize>(site: &Site<L, N>, source: usize, its_tag: usize) -> bool
where
    [usize; N]: Invoke,
{
    peer(site.int(source)) == special::ANY || tag(site.int(its_tag)) == special::ANY
}

/// (buffer, count, datatype, source, tag, comm, status)
pub fn recv<L: Language, const N: usize>(mut site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    let wildcard = is_wildcard(&site, 3, 4);
    let wanted = if wildcard { Wanted::One } else { Wanted::None };
    site.with_statuses(6, wanted, |site| {
        call(site, |scratch, seen| {
            message(scratch, seen, site, 1, [2, 3, 4, 5], Way::In);
            if wildcard && arrived(seen) {
                scratch.attributes.matched(attribute::MATCHED, site.status(6, 0).matched());
            }
            tell_cut(scratch, seen);
        })
    })
}

/// (buffer, count, datatype, source, tag, comm, request)
pub fn irecv<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    call(&site, |scratch, seen| {
        message(scratch, seen, &site, 1, [2, 3, 4, 5], Way::In);
        made(seen, &site, 6, is_persistent(site.function()), is_wildcard(&site, 3, 4));
    })
}

/// (send buffer, count, datatype, destination, tag, receive buffer, count, datatype, source, tag, comm,
/// status or request)
pub fn sendrecv<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    both(site, [1, 2, 3, 4, 10], [6, 7, 8, 9])
}

/// (buffer, count, datatype, destination, tag, source, tag, comm, status or request)
pub fn sendrecv_replace<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    both(site, [1, 2, 3, 4, 7], [1, 2, 5, 6])
}

/// A send and a receive in one call; the last argument is a status or a request.
fn both<L: Language, const N: usize>(
    mut site: Site<L, N>,
    [count, datatype, destination, send_tag, comm]: [usize; 5],
    [receive_count, receive_datatype, source, receive_tag]: [usize; 4],
) -> c_int
where
    [usize; N]: Invoke,
{
    let waits = !site.function().makes_request();
    let wildcard = is_wildcard(&site, source, receive_tag);
    let wanted = if waits && wildcard { Wanted::One } else { Wanted::None };
    site.with_statuses(N - 1, wanted, |site| {
        call(site, |scratch, seen| {
            message(scratch, seen, site, count, [datatype, destination, send_tag, comm], Way::Out);
            let half = Matched { peer: peer(site.int(source)), tag: tag(site.int(receive_tag)) };
            scratch.attributes.matched(attribute::RECEIVE, half);
            if arrived(seen) {
                seen.received = site.bytes(receive_count, receive_datatype);
            }
            tell_cut(scratch, seen);
            if waits && wildcard && arrived(seen) {
                scratch.attributes.matched(attribute::MATCHED, site.status(N - 1, 0).matched());
            } else if !waits {
                made(seen, site, N - 1, false, wildcard);
            }
        })
    })
}

/// (source, tag, comm, status)
pub fn probe<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    look(site, None, None)
}

/// (source, tag, comm, flag, status)
pub fn iprobe<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    look(site, Some(3), None)
}

/// (source, tag, comm, message, status)
pub fn mprobe<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    look(site, None, Some(3))
}

/// (source, tag, comm, flag, message, status)
pub fn improbe<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    look(site, Some(3), Some(4))
}

/// Looks for a message; the status is the last argument.
fn look<L: Language, const N: usize>(
    mut site: Site<L, N>,
    flag: Option<usize>,
    message: Option<usize>,
) -> c_int
where
    [usize; N]: Invoke,
{
    let Some(mut guard) = recorded() else { return site.invoke() };
    site.with_statuses(N - 1, Wanted::One, |site| {
        let enter = clock::ticks();
        let code = site.invoke();
        let mut seen = Seen::new(site.function(), enter, clock::ticks(), code);
        (seen.peer, seen.tag) = (peer(site.int(0)), tag(site.int(1)));
        if !good(&seen) {
            guard.record(&seen);
            return code;
        }
        seen.comm = guard.scratch().comm(site.handle(Kind::Comm, 2)).local;
        if flag.is_some_and(|flag| site.int_behind(flag) == 0) {
            guard.poll(&seen);
            return code;
        }
        let scratch = guard.scratch();
        if flag.is_some() {
            scratch.attributes.found();
        }
        // Status and message are set where a message was found.
        scratch.attributes.matched(attribute::MATCHED, site.status(N - 1, 0).matched());
        if let Some(message) = message {
            let handle = site.handle_behind(Kind::Message, message);
            scratch.attributes.number(attribute::MESSAGE, u64::from(keep(handle)));
        }
        guard.record(&seen);
        code
    })
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
pub fn mrecv<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    // Taken out before: another thread may get its handle before this call is back.
    let handle = site.first_handle(Kind::Message, 3);
    let message = process::with(|process| process.messages.remove(&handle));
    call(&site, |scratch, seen| {
        if arrived(seen) {
            seen.received = site.bytes(1, 2);
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
        if site.function().makes_request() {
            made(seen, &site, 4, false, false);
        }
    })
}
