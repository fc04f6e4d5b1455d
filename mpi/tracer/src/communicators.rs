//! Calls that make and free communicators.

use crate::abi::abi;
use crate::clock;
use crate::language::{Kind, Language};
use crate::note::{call, good, made, recorded};
use crate::process;
use crate::site::{Invoke, Site};
use crate::thread::Seen;
use libc::c_int;

/// A call on the communicator at argument `parent` that puts a new one at argument `new`.
fn make<L: Language, const N: usize>(site: Site<L, N>, parent: Option<usize>, new: usize) -> c_int
where
    [usize; N]: Invoke,
{
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
            made(seen, &site, N - 1, false, false);
        }
    })
}

/// The parent comes first, the new one last.
pub fn from_first<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    make(site, Some(0), N - 1)
}

/// The same with a request behind.
pub fn later_from_first<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    make(site, Some(0), N - 2)
}

/// No parent; the new one is last.
pub fn from_none<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    make(site, None, N - 1)
}

/// (port, info, root, comm, new)
pub fn meet<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    make(site, Some(3), 4)
}

/// (parent): the same every time.
pub fn get_parent<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    call(&site, |scratch, seen| {
        if good(seen) {
            // The null one where the program was not spawned.
            scratch.comm(site.handle_behind(Kind::Comm, 0));
        }
    })
}

/// (comm)
pub fn free<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    let Some(mut guard) = recorded() else { return site.invoke() };
    // It is forgotten before: another thread may get its handle before this call is back.
    let handle = site.first_handle(Kind::Comm, 0);
    let known = process::forget(handle);
    let enter = clock::ticks();
    let code = site.invoke();
    let mut seen = Seen::new(site.function(), enter, clock::ticks(), code);
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
pub fn spawn<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    make(site, Some(N - 3), N - 2)
}
