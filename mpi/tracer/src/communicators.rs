//! Calls that make and free communicators.

use crate::abi::abi;
use crate::clock;
use crate::language::Kind;
use crate::note::{Making, call, good, made, recorded};
use crate::process;
use crate::site::{Site, Words};
use libc::c_int;

/// A call on the communicator at argument `parent` that puts a new one at argument `new`.
fn make<W: Words>(site: Site<W>, parent: Option<usize>, new: usize) -> c_int {
    call(&site, |scratch, seen| {
        if good(seen) {
            if let Some(parent) = parent {
                seen.comm = scratch.comm(site.handle(Kind::Comm, parent)).local;
            }
            let handle = site.handle_behind(Kind::Comm, new);
            let unfinished = site.function().makes_request();
            if handle != abi().comm_null && unfinished {
                // Not to be asked anything before its request is over: it will be what its parent is.
                let parent = parent.map_or(0, |parent| site.handle(Kind::Comm, parent));
                process::know_like(parent, handle, &mut scratch.attributes);
            } else if handle != abi().comm_null {
                process::know(handle, &mut scratch.attributes);
            }
        }
        if site.function().makes_request() {
            made(seen, &site, W::LAST, Making::of(site.function()));
        }
    })
}

/// The parent comes first, the new one last.
pub fn from_first<W: Words>(site: Site<W>) -> c_int {
    make(site, Some(0), W::LAST)
}

/// The same with a request behind.
pub fn later_from_first<W: Words>(site: Site<W>) -> c_int {
    make(site, Some(0), W::LAST - 1)
}

/// No parent; the new one is last.
pub fn from_none<W: Words>(site: Site<W>) -> c_int {
    make(site, None, W::LAST)
}

/// (port, info, root, comm, new)
pub fn meet<W: Words>(site: Site<W>) -> c_int {
    make(site, Some(3), 4)
}

/// (parent): the same every time.
pub fn get_parent<W: Words>(site: Site<W>) -> c_int {
    call(&site, |scratch, seen| {
        if good(seen) {
            // The null one where the program was not spawned.
            scratch.comm(site.handle_behind(Kind::Comm, 0));
        }
    })
}

/// (comm)
pub fn free<W: Words>(site: Site<W>) -> c_int {
    let Some(mut guard) = recorded() else { return site.invoke() };
    // It is forgotten before: another thread may get its handle before this call is back.
    let handle = site.first_handle(Kind::Comm, 0);
    let known = process::forget(handle);
    let enter = clock::ticks();
    let code = site.invoke();
    let mut seen = site.seen(enter, clock::ticks(), code);
    if let Some(comm) = known {
        seen.comm = comm.local;
        if !good(&seen) {
            process::remember(handle, comm);
        }
    }
    guard.record(&seen);
    code
}

/// (command, arguments, number, info, root, comm, new, codes), or one more in front
pub fn spawn<W: Words>(site: Site<W>) -> c_int {
    make(site, Some(W::LAST - 2), W::LAST - 1)
}
