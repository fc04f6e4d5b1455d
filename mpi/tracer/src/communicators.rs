//! Calls that create and free communicators.

use crate::abi::abi;
use crate::clock;
use crate::language::Kind;
use crate::note::{Making, call, good, made, recorded};
use crate::process;
use crate::site::{Site, Words};
use libc::c_int;

/// A call on the communicator at argument `parent` that stores a new one at argument `new`.
fn make<W: Words>(site: Site<W>, parent: Option<usize>, new: usize) -> c_int {
    call(&site, |scratch, seen| {
        if good(seen) {
            if let Some(parent) = parent {
                seen.comm = scratch.comm(site.handle(Kind::Comm, parent)).local;
            }
            let handle = site.handle_behind(Kind::Comm, new);
            let unfinished = site.function().makes_request();
            if handle != abi().comm_null && unfinished {
                // It must not be queried before its request completes, but it will be like its parent.
                let parent = parent.map_or(0, |parent| site.handle(Kind::Comm, parent));
                process::know_like(parent, handle, &mut scratch.attributes);
            } else if handle != abi().comm_null {
                process::know(handle, &mut scratch.attributes);
            }
        }
        if site.function().makes_request() {
            made(seen, &site, W::LAST, Making::new(site.function()));
        }
    })
}

/// The parent is the first argument, the new communicator the last.
pub fn from_first<W: Words>(site: Site<W>) -> c_int {
    make(site, Some(0), W::LAST)
}

/// Like [`from_first`], followed by a request.
pub fn later_from_first<W: Words>(site: Site<W>) -> c_int {
    make(site, Some(0), W::LAST - 1)
}

/// No parent; the new communicator is the last argument.
pub fn from_none<W: Words>(site: Site<W>) -> c_int {
    make(site, None, W::LAST)
}

/// (port, info, root, comm, new)
pub fn meet<W: Words>(site: Site<W>) -> c_int {
    make(site, Some(3), 4)
}

/// (parent): returns the same communicator every time.
pub fn get_parent<W: Words>(site: Site<W>) -> c_int {
    call(&site, |scratch, seen| {
        if good(seen) {
            // MPI_COMM_NULL if the program was not spawned.
            scratch.comm(site.handle_behind(Kind::Comm, 0));
        }
    })
}

/// (comm)
pub fn free<W: Words>(site: Site<W>) -> c_int {
    let Some(mut guard) = recorded() else { return site.invoke() };
    // Forgotten before the call: another thread may get its handle before this call returns.
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

/// (command, arguments, number, info, root, comm, new, codes), or one more at the front
pub fn spawn<W: Words>(site: Site<W>) -> c_int {
    make(site, Some(W::LAST - 2), W::LAST - 1)
}
