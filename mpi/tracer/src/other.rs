//! Calls that are recorded with their times, and with their request if they make one.
//!
//! # Safety
//! All functions here run a call of the program, with its arguments.
#![allow(clippy::missing_safety_doc)]

use crate::clock;
use crate::language::Language;
use crate::note::{call, is_persistent, made, recorded};
use crate::site::{Invoke, Site};
use crate::symbols::Symbol;
use crate::thread::Seen;
use libc::c_int;
use straggler_trace::Function;

/// Any function; a request is its last argument.
pub unsafe fn timed<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    // SAFETY: the caller's promise: a call of the program, with the arguments of its function.
    unsafe {
        call(&site, |_, seen| {
            if site.function.makes_request() {
                made::<L>(seen, site.args[N - 1], is_persistent(site.function), false);
            }
        })
    }
}

/// A Fortran subroutine that may have strings among its arguments.
pub unsafe fn timed_strings<const N: usize>(
    function: Function,
    real: &Symbol,
    args: [usize; N],
    error: usize,
    lengths: [usize; 2],
) where
    [usize; N]: Invoke,
{
    // SAFETY: the caller's promise: a call of the program, with the arguments of its function.
    unsafe {
        let Some(real) = real.get() else { return };
        let Some(mut guard) = recorded() else { return args.invoke_strings(real, error, lengths) };
        let mut own: c_int = 0;
        let error = if error == 0 { &raw mut own as usize } else { error };
        let enter = clock::ticks();
        args.invoke_strings(real, error, lengths);
        let code = (error as *const c_int).read();
        let mut seen = Seen::new(function, enter, clock::ticks(), code);
        if function.makes_request() && N > 0 {
            made::<crate::language::Fortran>(&mut seen, args[N - 1], is_persistent(function), false);
        }
        guard.record(&seen);
    }
}

/// A question whose flag is argument `FLAG`: unsuccessful ones are counted.
unsafe fn asked<L: Language, const N: usize, const FLAG: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    // SAFETY: the caller's promise: a call of the program, with the arguments of its function.
    unsafe {
        let Some(mut guard) = recorded() else { return site.invoke() };
        let enter = clock::ticks();
        let code = site.invoke();
        let seen = Seen::new(site.function, enter, clock::ticks(), code);
        if code == 0 && site.int_behind(FLAG) == 0 {
            guard.poll(&seen);
        } else {
            guard.record(&seen);
        }
        code
    }
}

/// (request, partition, flag)
pub unsafe fn arrived<L: Language, const N: usize>(site: Site<L, N>) -> c_int
where
    [usize; N]: Invoke,
{
    // SAFETY: the caller's promise: a call of the program, with the arguments of its function.
    unsafe { asked::<L, N, 2>(site) }
}
