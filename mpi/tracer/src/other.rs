//! Calls recorded with their times, and with their request if they make one.

use crate::clock;
use crate::note::{Making, call, made, recorded};
use crate::site::{Site, Words};
use libc::c_int;

/// Any function; if it makes a request, that is its last argument.
pub fn timed<W: Words>(site: Site<W>) -> c_int {
    call(&site, |_, seen| {
        if site.function().makes_request() {
            made(seen, &site, W::LAST, Making::new(site.function()));
        }
    })
}

/// A Fortran subroutine that may have strings among its arguments.
pub fn timed_strings<W: Words>(site: Site<W>, lengths: [usize; 2]) -> c_int {
    if !site.exists() {
        return 0;
    }
    let Some(mut guard) = recorded() else {
        return site.invoke_strings(lengths);
    };
    let enter = clock::ticks();
    let code = site.invoke_strings(lengths);
    let mut seen = site.seen(enter, clock::ticks(), code);
    if site.function().makes_request() && W::COUNT > 0 {
        made(&mut seen, &site, W::LAST, Making::new(site.function()));
    }
    guard.record(&seen);
    code
}

/// A poll whose flag is argument `flag`: unsuccessful ones are counted.
fn asked<W: Words>(site: Site<W>, flag: usize) -> c_int {
    let Some(mut guard) = recorded() else { return site.invoke() };
    let enter = clock::ticks();
    let code = site.invoke();
    let seen = site.seen(enter, clock::ticks(), code);
    if code == 0 && site.int_behind(flag) == 0 {
        guard.poll(&seen);
    } else {
        guard.record(&seen);
    }
    code
}

/// (request, partition, flag)
pub fn arrived<W: Words>(site: Site<W>) -> c_int {
    asked(site, 2)
}
