//! Requests that are started, queried, cancelled or freed.

use crate::abi::Handle;
use crate::clock;
use crate::language::Kind;
use crate::note::{call, good, recorded};
use crate::site::{Length, Site, Wanted, Words, is_cancelled};
use crate::{pausing, process};
use libc::c_int;
use straggler_trace::RequestId;

/// (request)
pub fn start<W: Words>(site: Site<W>) -> c_int {
    begin(site, Length::One, 0)
}

/// (count, requests)
pub fn startall<W: Words>(site: Site<W>) -> c_int {
    begin(site, Length::Argument(0), 1)
}

/// Starts persistent requests: each gets a number for this start.
fn begin<W: Words>(site: Site<W>, length: Length, requests: usize) -> c_int {
    call(&site, |scratch, seen| {
        if !good(seen) {
            return;
        }
        // A call that succeeded leaves the handles of persistent requests unchanged.
        let handles = site.handles(Kind::Request, requests, length);
        let recorded = !pausing::is_paused();
        let first = process::with(|process| {
            let known: Vec<(Handle, RequestId)> = handles
                .from(0)
                .filter_map(|(_, handle)| Some((handle, process.requests.find(handle)?.persistent?)))
                .collect();
            let first = process.requests.number(known.len() as u32);
            for (place, &(handle, persistent)) in known.iter().enumerate() {
                if recorded {
                    scratch.requests.push(persistent);
                }
                if let Some(open) = process.requests.find(handle) {
                    (open.number, open.active, open.cancelled) =
                        (first.wrapping_add(place as u32), true, false);
                    open.recorded = recorded;
                }
            }
            first
        });
        if !scratch.requests.is_empty() {
            seen.made = Some((first, scratch.requests.len() as u32));
        }
    })
}

/// (request, flag, status): the request stays. For a request that was to be cancelled, the status
/// tells whether it was.
pub fn get_status<W: Words>(mut site: Site<W>) -> c_int {
    let handle = site.handle(Kind::Request, 0);
    let Some(mut guard) = recorded() else { return site.invoke() };
    site.with_statuses(2, Wanted::One, |site| {
        let enter = clock::ticks();
        let code = site.invoke();
        let seen = site.seen(enter, clock::ticks(), code);
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
pub fn cancel<W: Words>(site: Site<W>) -> c_int {
    let handle = site.first_handle(Kind::Request, 0);
    call(&site, |scratch, _| {
        process::with(|process| {
            if let Some(open) = process.requests.find(handle) {
                open.cancelled = true;
                if open.recorded {
                    scratch.requests.push(open.number);
                }
            }
        });
    })
}

/// (request)
pub fn request_free<W: Words>(site: Site<W>) -> c_int {
    let handle = site.first_handle(Kind::Request, 0);
    let open = process::with(|process| process.requests.find(handle).copied());
    let was_cancelled = open.is_some_and(|open| {
        open.was_cancelled
            || open.cancelled && (open.persistent.is_none() || open.active) && is_cancelled(handle)
    });
    call(&site, |scratch, seen| {
        process::with(|process| {
            if let Some(&mut open) = process.requests.find(handle) {
                if open.recorded {
                    scratch.requests.push(open.number);
                }
                if was_cancelled && open.recorded {
                    scratch.attributes.completed([(0, None, true)].into_iter());
                }
                if good(seen) {
                    process.requests.remove_found(handle, open.number);
                }
            }
        });
    })
}
