//! Requests that are started, asked for their status, cancelled or given up.
//!
//! # Safety
//! All functions here run a call of the program, with its arguments.
#![allow(clippy::missing_safety_doc)]

use crate::abi::Handle;
use crate::clock;
use crate::completion::{is_cancelled, was_cancelled};
use crate::language::{Kind, Language};
use crate::note::{call, good, recorded};
use crate::p2p::OwnStatus;
use crate::process;
use crate::site::{Invoke, Site};
use crate::thread::Seen;
use libc::c_int;

/// (request)
pub unsafe fn start<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    // SAFETY: the caller's promise: a call of the program, with the arguments of its function.
    unsafe { begin(site, None, 0) }
}

/// (count, requests)
pub unsafe fn startall<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    // SAFETY: the caller's promise: a call of the program, with the arguments of its function.
    unsafe { begin(site, Some(0), 1) }
}

/// Persistent requests begin: each gets a number for this run.
unsafe fn begin<L: Language, const N: usize>(site: Site<L, N>, count: Option<usize>, requests: usize) -> c_int
where
    [usize; N]: Invoke,
{
    // SAFETY: the list of requests is as long as the count says; a call that has succeeded leaves the handles of
    // persistent requests as they were.
    unsafe {
        call(&site, |scratch, seen| {
            if !good(seen) {
                return;
            }
            let count = count.map_or(1, |count| site.int(count).max(0) as usize);
            let handles: Vec<Handle> =
                (0..count).map(|index| L::handle_at(Kind::Request, site.args[requests], index)).collect();
            let first = process::with(|process| {
                let known: Vec<(Handle, u32)> = handles
                    .iter()
                    .filter_map(|&handle| Some((handle, process.requests.find(handle)?.persistent?)))
                    .collect();
                let first = process.requests.number(known.len() as u32);
                for (place, &(handle, persistent)) in known.iter().enumerate() {
                    scratch.requests.push(persistent);
                    if let Some(open) = process.requests.find(handle) {
                        (open.number, open.active, open.cancelled) = (first + place as u32, true, false);
                    }
                }
                first
            });
            if !scratch.requests.is_empty() {
                seen.made = Some((first, scratch.requests.len() as u32));
            }
        })
    }
}

/// (request, flag, status): the request stays. Of one that was to be cancelled, the status says whether it was.
pub unsafe fn get_status<L: Language, const N: usize>(mut site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    // SAFETY: the caller's promise: a call of the program, with the arguments of its function.
    unsafe {
        let handle = L::handle(Kind::Request, site.args[0]);
        let Some(mut guard) = recorded() else { return site.invoke() };
        let mut own = OwnStatus::new();
        site.args[2] = own.instead_of::<L>(site.args[2]);
        let enter = clock::ticks();
        let code = site.invoke();
        let seen = Seen::new(site.function, enter, clock::ticks(), code);
        if good(&seen) && site.int_behind(1) == 0 {
            guard.poll(&seen);
            return code;
        }
        process::with(|process| {
            if let Some(open) = process.requests.find(handle).filter(|open| good(&seen) && open.cancelled) {
                open.was_cancelled = was_cancelled(site.args[2]);
            }
        });
        guard.record(&seen);
        code
    }
}

/// (request)
pub unsafe fn cancel<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    // SAFETY: the caller's promise: a call of the program, with the arguments of its function.
    unsafe {
        let handle = L::first_handle(Kind::Request, site.args[0]);
        call(&site, |scratch, _| {
            process::with(|process| {
                if let Some(open) = process.requests.find(handle) {
                    open.cancelled = true;
                    scratch.requests.push(open.number);
                }
            });
        })
    }
}

/// (request)
pub unsafe fn request_free<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    // SAFETY: the caller's promise: a call of the program, with the arguments of its function.
    unsafe {
        let handle = L::first_handle(Kind::Request, site.args[0]);
        let open = process::with(|process| process.requests.find(handle).copied());
        let was_cancelled = open.is_some_and(|open| {
            open.was_cancelled
                || open.cancelled && (open.persistent.is_none() || open.active) && is_cancelled(handle)
        });
        call(&site, |scratch, seen| {
            process::with(|process| {
                if let Some(&mut open) = process.requests.find(handle) {
                    scratch.requests.push(open.number);
                    if was_cancelled {
                        scratch.attributes.completed([(0, None, true)].into_iter());
                    }
                    if good(seen) {
                        process.requests.remove_found(handle, open.number);
                    }
                }
            });
        })
    }
}
