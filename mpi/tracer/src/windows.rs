//! One-sided communication: windows, epochs, transfers.

use crate::abi::Handle;
use crate::clock;
use crate::language::Kind;
use crate::note::{Making, call, good, made, peer, recorded};
use crate::process::{self, Window};
use crate::site::{Site, Words};
use crate::thread::{Scratch, Seen};
use libc::c_int;
use straggler_trace::format::attribute;

fn note_window(scratch: &mut Scratch, seen: &mut Seen, window: Option<Window>) {
    match window {
        Some(window) => {
            seen.comm = window.comm.local;
            scratch.attributes.number(attribute::WINDOW, u64::from(window.number));
        }
        None => process::not_understood(format!("window of unknown origin in {}", seen.function)),
    }
}

fn find(handle: Handle) -> Option<Window> {
    process::with(|process| process.windows.get(&handle).copied())
}

fn make<W: Words>(site: Site<W>, comm: usize) -> c_int {
    call(&site, |scratch, seen| {
        if !good(seen) {
            return;
        }
        let comm = scratch.comm(site.handle(Kind::Comm, comm));
        let handle = site.handle_behind(Kind::Window, W::LAST);
        let window = process::with(|process| {
            let window = Window { number: process.next_window, comm };
            process.next_window += 1;
            process.windows.insert(handle, window);
            window
        });
        note_window(scratch, seen, Some(window));
    })
}

/// (base, size, unit, info, comm, window), or with the base after the communicator
pub fn create<W: Words>(site: Site<W>) -> c_int {
    make(site, 4)
}

/// (size, unit, info, comm, base, window)
pub fn allocate<W: Words>(site: Site<W>) -> c_int {
    make(site, 3)
}

/// (info, comm, window)
pub fn create_dynamic<W: Words>(site: Site<W>) -> c_int {
    make(site, 1)
}

/// (window), by reference
pub fn free<W: Words>(site: Site<W>) -> c_int {
    // Removed before the call: another thread may get its handle before this call returns.
    let handle = site.first_handle(Kind::Window, 0);
    let window = process::with(|process| process.windows.remove(&handle));
    call(&site, |scratch, seen| {
        note_window(scratch, seen, window);
        if let (false, Some(window)) = (good(seen), window) {
            process::with(|process| process.windows.insert(handle, window));
        }
    })
}

/// A call of an epoch; the window is the last argument.
pub fn epoch<W: Words>(site: Site<W>) -> c_int {
    call(&site, |scratch, seen| note_window(scratch, seen, find(site.handle(Kind::Window, W::LAST))))
}

/// (group, assertions, window): begins an epoch with the processes of a group.
pub fn with_group<W: Words>(site: Site<W>) -> c_int {
    call(&site, |scratch, seen| {
        note_window(scratch, seen, find(site.handle(Kind::Window, 2)));
        if good(seen) {
            let ranks = process::world_ranks(site.handle(Kind::Group, 0));
            scratch.attributes.sizes(attribute::GROUP, ranks.iter().map(|&rank| u64::from(rank)));
        }
    })
}

/// (rank, window)
pub fn with_rank<W: Words>(site: Site<W>) -> c_int {
    call(&site, |scratch, seen| {
        seen.peer = peer(site.int(0));
        note_window(scratch, seen, find(site.handle(Kind::Window, 1)));
    })
}

/// (kind of lock, rank, assertions, window)
pub fn lock<W: Words>(site: Site<W>) -> c_int {
    call(&site, |scratch, seen| {
        seen.peer = peer(site.int(1));
        note_window(scratch, seen, find(site.handle(Kind::Window, 3)));
    })
}

/// (window, flag): unsuccessful tests are counted.
pub fn test<W: Words>(site: Site<W>) -> c_int {
    let Some(mut guard) = recorded() else { return site.invoke() };
    let enter = clock::ticks();
    let code = site.invoke();
    let mut seen = site.seen(enter, clock::ticks(), code);
    if good(&seen) && site.int_behind(1) == 0 {
        seen.comm = find(site.handle(Kind::Window, 0)).map_or(seen.comm, |window| window.comm.local);
        guard.poll(&seen);
        return code;
    }
    note_window(guard.scratch(), &mut seen, find(site.handle(Kind::Window, 0)));
    guard.scratch().attributes.found();
    guard.record(&seen);
    code
}

/// A transfer to or from `rank`; a request is the last argument, if the function makes one.
fn transfer<W: Words>(
    site: Site<W>,
    [rank, window]: [usize; 2],
    sent: Option<[usize; 2]>,
    received: Option<[usize; 2]>,
) -> c_int {
    call(&site, |scratch, seen| {
        seen.peer = peer(site.int(rank));
        note_window(scratch, seen, find(site.handle(Kind::Window, window)));
        if good(seen) {
            let size = |[count, datatype]: [usize; 2]| site.bytes(count, datatype);
            (seen.sent, seen.received) = (sent.map_or(0, size), received.map_or(0, size));
        }
        if site.function().makes_request() {
            made(seen, &site, W::LAST, Making::new(site.function()));
        }
    })
}

/// (origin, count, datatype, rank, displacement, count, datatype, window [, request])
pub fn put<W: Words>(site: Site<W>) -> c_int {
    transfer(site, [3, 7], Some([1, 2]), None)
}

/// Same arguments as `put`, in the other direction.
pub fn get<W: Words>(site: Site<W>) -> c_int {
    transfer(site, [3, 7], None, Some([1, 2]))
}

/// (origin, count, datatype, rank, displacement, count, datatype, operation, window [, request])
pub fn accumulate<W: Words>(site: Site<W>) -> c_int {
    transfer(site, [3, 8], Some([1, 2]), None)
}

/// (origin, count, datatype, result, count, datatype, rank, displacement, count, datatype,
/// operation, window [, request]); data comes back even if none is sent.
pub fn get_accumulate<W: Words>(site: Site<W>) -> c_int {
    transfer(site, [6, 11], Some([8, 9]), Some([4, 5]))
}

/// (origin, result, datatype, rank, displacement, operation, window)
pub fn fetch_and_op<W: Words>(site: Site<W>) -> c_int {
    one_element(site, 2, [3, 6])
}

/// (origin, compare, result, datatype, rank, displacement, window)
pub fn compare_and_swap<W: Words>(site: Site<W>) -> c_int {
    one_element(site, 3, [4, 6])
}

fn one_element<W: Words>(site: Site<W>, datatype: usize, [rank, window]: [usize; 2]) -> c_int {
    call(&site, |scratch, seen| {
        seen.peer = peer(site.int(rank));
        note_window(scratch, seen, find(site.handle(Kind::Window, window)));
        if good(seen) {
            let size = crate::note::size_of_type(site.handle(Kind::Datatype, datatype));
            (seen.sent, seen.received) = (size, size);
        }
    })
}
