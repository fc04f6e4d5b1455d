//! Point-to-point calls. Positions of arguments are those of the C functions, and the same in Fortran.

use crate::abi::abi;
use crate::clock;
use crate::language::Kind;
use crate::note::{Making, arrived, call, good, made, peer, recorded, tag};
use crate::pausing;
use crate::process::{self, Kept};
use crate::site::{Site, Wanted, Words};
use crate::thread::{Scratch, Seen};
use libc::c_int;
use straggler_trace::Class;
use straggler_trace::call::{Matched, special};
use straggler_trace::format::attribute;

/// (buffer, count, datatype, destination, tag, comm [, request])
pub fn send<W: Words>(site: Site<W>) -> c_int {
    call(&site, |scratch, seen| {
        message(scratch, seen, &site, 1, [2, 3, 4, 5], Way::Out);
        if W::COUNT > 6 {
            made(seen, &site, 6, Making::new(site.function()));
        }
    })
}

/// (buffer, partitions, count, datatype, destination or source, tag, comm, info, request)
pub fn partitioned<W: Words>(site: Site<W>) -> c_int {
    call(&site, |scratch, seen| {
        let sends = site.function().class() == Class::Partitioned { sends: true };
        message(scratch, seen, &site, 2, [3, 4, 5, 6], if sends { Way::Out } else { Way::Room });
        let partitions = site.int(1).max(0) as u64;
        seen.sent = seen.sent.saturating_mul(partitions);
        seen.received = seen.received.saturating_mul(partitions);
        made(seen, &site, 8, Making::new(site.function()));
    })
}

/// (…, request): makes partitions ready.
pub fn ready<W: Words>(site: Site<W>) -> c_int {
    let handle = site.handle(Kind::Request, W::LAST);
    call(&site, |scratch, _| {
        process::with(|process| {
            let open = process.requests.find(handle).filter(|open| open.recorded);
            scratch.requests.extend(open.map(|open| open.number));
        });
    })
}

/// What the count and datatype of an envelope mean.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// What is sent.
    Out,
    /// The size of the receive buffer.
    Room,
    /// Not used: the status tells what was received.
    Told,
}

/// Records the fields of an envelope. A call that failed may have any arguments, so its datatype is not queried.
#[inline(always)]
fn message<W: Words>(
    scratch: &mut Scratch,
    seen: &mut Seen,
    site: &Site<W>,
    count: usize,
    [datatype, other, its_tag, comm]: [usize; 4],
    way: Way,
) {
    (seen.peer, seen.tag) = (peer(site.int(other)), tag(site.int(its_tag)));
    if arrived(seen) {
        seen.comm = scratch.comm(site.handle(Kind::Comm, comm)).local;
        match way {
            Way::Out => seen.sent = site.bytes(count, datatype),
            Way::Room => seen.received = site.bytes(count, datatype),
            Way::Told => {}
        }
    }
}

/// Notes that a receive took its message although it failed because the message was longer than its buffer.
fn tell_cut(scratch: &mut Scratch, seen: &Seen) {
    if !good(seen) && arrived(seen) {
        scratch.attributes.found();
    }
}

/// The bytes received, according to the status at argument `status`. A truncated message has filled its buffer.
#[inline(always)]
fn received<W: Words>(site: &Site<W>, seen: &Seen, status: usize, [count, datatype]: [usize; 2]) -> u64 {
    let told = if good(seen) { site.status(status, 0).bytes() } else { None };
    told.unwrap_or_else(|| site.bytes(count, datatype))
}

fn is_wildcard<W: Words>(site: &Site<W>, source: usize, its_tag: usize) -> bool {
    peer(site.int(source)) == special::ANY || tag(site.int(its_tag)) == special::ANY
}

/// (buffer, count, datatype, source, tag, comm, status)
pub fn recv<W: Words>(mut site: Site<W>) -> c_int {
    let wildcard = is_wildcard(&site, 3, 4);
    site.with_statuses(6, Wanted::One, |site| {
        call(site, |scratch, seen| {
            message(scratch, seen, site, 1, [2, 3, 4, 5], Way::Told);
            if arrived(seen) {
                seen.received = received(site, seen, 6, [1, 2]);
            }
            if wildcard && arrived(seen) {
                scratch.attributes.matched(attribute::MATCHED, site.status(6, 0).matched());
            }
            tell_cut(scratch, seen);
        })
    })
}

/// (buffer, count, datatype, source, tag, comm, request)
pub fn irecv<W: Words>(site: Site<W>) -> c_int {
    call(&site, |scratch, seen| {
        message(scratch, seen, &site, 1, [2, 3, 4, 5], Way::Room);
        let (wildcard, room) = (is_wildcard(&site, 3, 4), seen.received);
        made(seen, &site, 6, Making { wildcard, room, ..Making::new(site.function()) });
    })
}

/// (send buffer, count, datatype, destination, tag, receive buffer, count, datatype, source, tag, comm,
/// status or request)
pub fn sendrecv<W: Words>(site: Site<W>) -> c_int {
    both(site, [1, 2, 3, 4, 10], [6, 7, 8, 9])
}

/// (buffer, count, datatype, destination, tag, source, tag, comm, status or request)
pub fn sendrecv_replace<W: Words>(site: Site<W>) -> c_int {
    both(site, [1, 2, 3, 4, 7], [1, 2, 5, 6])
}

/// A send and a receive in one call; the last argument is a status or a request.
fn both<W: Words>(
    mut site: Site<W>,
    [count, datatype, destination, send_tag, comm]: [usize; 5],
    [receive_count, receive_datatype, source, receive_tag]: [usize; 4],
) -> c_int {
    let waits = !site.function().makes_request();
    let wildcard = is_wildcard(&site, source, receive_tag);
    let wanted = if waits { Wanted::One } else { Wanted::None };
    site.with_statuses(W::LAST, wanted, |site| {
        call(site, |scratch, seen| {
            message(scratch, seen, site, count, [datatype, destination, send_tag, comm], Way::Out);
            let half = Matched { peer: peer(site.int(source)), tag: tag(site.int(receive_tag)) };
            scratch.attributes.matched(attribute::RECEIVE, half);
            let room = [receive_count, receive_datatype];
            if arrived(seen) && waits {
                seen.received = received(site, seen, W::LAST, room);
            } else if arrived(seen) {
                seen.received = site.bytes(receive_count, receive_datatype);
            }
            tell_cut(scratch, seen);
            if waits && wildcard && arrived(seen) {
                scratch.attributes.matched(attribute::MATCHED, site.status(W::LAST, 0).matched());
            } else if !waits {
                let making = Making { wildcard, room: seen.received, ..Making::new(site.function()) };
                made(seen, site, W::LAST, making);
            }
        })
    })
}

/// (source, tag, comm, status)
pub fn probe<W: Words>(site: Site<W>) -> c_int {
    look(site, None, None)
}

/// (source, tag, comm, flag, status)
pub fn iprobe<W: Words>(site: Site<W>) -> c_int {
    look(site, Some(3), None)
}

/// (source, tag, comm, message, status)
pub fn mprobe<W: Words>(site: Site<W>) -> c_int {
    look(site, None, Some(3))
}

/// (source, tag, comm, flag, message, status)
pub fn improbe<W: Words>(site: Site<W>) -> c_int {
    look(site, Some(3), Some(4))
}

/// Probes for a message; the status is the last argument.
fn look<W: Words>(mut site: Site<W>, flag: Option<usize>, message: Option<usize>) -> c_int {
    let Some(mut guard) = recorded() else { return site.invoke() };
    site.with_statuses(W::LAST, Wanted::One, |site| {
        let enter = clock::ticks();
        let code = site.invoke();
        let mut seen = site.seen(enter, clock::ticks(), code);
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
        // Status and message are set if a message was found.
        scratch.attributes.matched(attribute::MATCHED, site.status(W::LAST, 0).matched());
        if let Some(message) = message {
            let handle = site.handle_behind(Kind::Message, message);
            scratch.attributes.number(attribute::MESSAGE, u64::from(keep(handle)));
        }
        guard.record(&seen);
        code
    })
}

/// Assigns a number to a message that a probe keeps.
fn keep(handle: crate::abi::Handle) -> u32 {
    process::with(|process| {
        let number = process.next_message;
        process.next_message = number.wrapping_add(1);
        process.messages.insert(handle, Kept { number, recorded: !pausing::is_paused() });
        number
    })
}

/// (buffer, count, datatype, message, status or request)
pub fn mrecv<W: Words>(mut site: Site<W>) -> c_int {
    // Removed before the call: another thread may get its handle before this call returns.
    let handle = site.first_handle(Kind::Message, 3);
    let message = process::with(|process| process.messages.remove(&handle));
    let waits = !site.function().makes_request();
    site.with_statuses(4, if waits { Wanted::One } else { Wanted::None }, |site| {
        call(site, |scratch, seen| {
            if arrived(seen) {
                seen.received = if waits { received(site, seen, 4, [1, 2]) } else { site.bytes(1, 2) };
            }
            tell_cut(scratch, seen);
            if handle == abi().message_nobody {
                seen.peer = special::NOBODY;
            } else if let Some(kept) = message {
                scratch.attributes.number(attribute::MESSAGE, u64::from(kept.number));
                // A probe and its receive are either both recorded or neither.
                scratch.recorded = Some(kept.recorded);
                if !arrived(seen) {
                    process::with(|process| process.messages.insert(handle, kept));
                }
            }
            if !waits {
                let making = Making { room: seen.received, ..Making::new(site.function()) };
                let recorded = scratch.recorded.unwrap_or(making.recorded);
                made(seen, site, 4, Making { recorded, ..making });
            }
        })
    })
}
