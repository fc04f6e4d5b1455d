//! Calls that are recorded with their times, and with their request if they make one.

use crate::clock;
use crate::language::Language;
use crate::note::{call, is_persistent, made, recorded};
use crate::site::{Invoke, Site};
use crate::thread::Seen;
use libc::c_int;

/// Any function; a request is its last argument.
pub fn timed<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    call(&site, |_, seen| {
        if site.function().makes_request() {
            made(seen, &site, N - 1, is_persistent(site.function()), false);
        }
    })
}

/// A Fortran subroutine that may have strings among its arguments.
pub fn timed_strings<L: Language, const N: usize>(site: Site<L, N>, lengths: [usize; 2])
where
    [usize; N]: Invoke,
{
    if !site.exists() {
        return;
    }
    let Some(mut guard) = recorded() else {
        site.invoke_strings(lengths);
        return;
    };
    let enter = clock::ticks();
    let code = site.invoke_strings(lengths);
    let mut seen = Seen::new(site.function(), enter, clock::ticks(), code);
    if site.function().makes_request() && N > 0 {
        made(&mut seen, &site, N - 1, is_persistent(site.function()), false);
    }
    guard.record(&seen);
}

/// A question whose flag is argument `FLAG`: unsuccessful ones are counted.
fn asked<L: Language, const N: usize, const FLAG: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    let Some(mut guard) = recorded() else { return site.invoke() };
    let enter = clock::ticks();
    let code = site.invoke();
    let seen = Seen::new(site.function(), enter, clock::ticks(), code);
    if code == 0 && site.int_behind(FLAG) == 0 {
        guard.poll(&seen);
    } else {
        guard.record(&seen);
    }
    code
}

/// (request, partition, flag)
pub fn arrived<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    asked::<L, N, 2>(site)
}
