//! Requests that are started, asked for their status, cancelled or given up.

use crate::abi::Handle;
use crate::clock;
use crate::language::{Kind, Language};
use crate::note::{call, good, recorded};
use crate::process;
use crate::site::{Invoke, Length, Site, Wanted, is_cancelled};
use crate::thread::Seen;
use libc::c_int;

/// (request)
pub fn start<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    begin(site, Length::One, 0)
}

/// (count, requests)
pub fn startall<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    begin(site, Length::Argument(0), 1)
}

/// Persistent requests begin: each gets a number for this run.
fn begin<L: Language, const N: usize>(site: Site<L, N>, length: Length, requests: usize) -> c_int
where
    [usize; N]: Invoke,
{
    call(&site, |scratch, seen| {
        if !good(seen) {
            return;
        }
        // A call that has succeeded leaves the handles of persistent requests as they were.
        let handles = site.handles(Kind::Request, requests, length);
        let first = process::with(|process| {
            let known: Vec<(Handle, u32)> = handles
                .from(0)
                .filter_map(|(_, handle)| Some((handle, process.requests.find(handle)?.persistent?)))
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

/// (request, flag, status): the request stays. Of one that was to be cancelled, the status says whether it was.
pub fn get_status<L: Language, const N: usize>(mut site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    let handle = site.handle(Kind::Request, 0);
    let Some(mut guard) = recorded() else { return site.invoke() };
    site.with_statuses(2, Wanted::One, |site| {
        let enter = clock::ticks();
        let code = site.invoke();
        let seen = Seen::new(site.function(), enter, clock::ticks(), code);
        if good(&seen) && site.int_behind(1) == 0 {
            guard.poll(&seen);
            return code;
        }
        process::with(|process| {
            if let Some(open) = process.requests.find(handle).filter(|open| good(&seen) && open.cancelled) {
                open.was_cancelled = site.status(2, 0).was_cancelled();
            }
        });
        guard.record(&seen);
        code
    })
}

/// (request)
pub fn cancel<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    let handle = site.first_handle(Kind::Request, 0);
    call(&site, |scratch, _| {
        process::with(|process| {
            if let Some(open) = process.requests.find(handle) {
                open.cancelled = true;
                scratch.requests.push(open.number);
            }
        });
    })
}

/// (request)
pub fn request_free<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    let handle = site.first_handle(Kind::Request, 0);
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
