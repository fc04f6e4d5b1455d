//! The functions of `mpi/include/straggler_latency.h`.
//!
//! No panic unwinds into the caller: code that may fail runs under `border::guarded`, which turns errors and panics
//! into codes and keeps their text for `straggler_latency_error`. `begin` and `end`, which are called for every
//! trial, cannot panic.

#![allow(unsafe_code, reason = "every function takes what C gives it")]

mod border;
mod session;

use border::{Code, guarded, text};
use session::Session;
use std::ffi::{c_char, c_int};
use std::ptr::null_mut;
use straggler_measure::latency::{Begun, Recorder};

/// # Safety
/// `kernel` is null or a zero-terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn straggler_latency_open(kernel: *const c_char) -> *mut Session {
    guarded(null_mut(), || {
        // SAFETY: promised by the caller.
        let kernel = unsafe { text(kernel, "the name of the kernel") }?;
        Ok(Box::into_raw(Box::new(Session::open(kernel)?)))
    })
    .1
}

/// # Safety
/// `session` is null or comes from `straggler_latency_open` and is not closed; `name` and `bins` are null or
/// zero-terminated strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn straggler_latency_series(
    session: *mut Session,
    name: *const c_char,
    bytes: u64,
    bins: *const c_char,
) -> *mut Recorder {
    guarded(null_mut(), || {
        // SAFETY: promised by the caller; sessions are only used through shared references.
        let session = unsafe { session.as_ref() }.ok_or_else(|| border::null("the measurement"))?;
        // SAFETY: promised by the caller.
        let name = unsafe { text(name, "the name of the series") }?;
        let bins = match bins.is_null() {
            true => None,
            // SAFETY: promised by the caller.
            false => Some(unsafe { text(bins, "the layout of bins") }?),
        };
        session.series(name, bytes, bins)
    })
    .1
}

/// # Safety
/// `recorder` is null or comes from a measurement that is not closed, and no other thread uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn straggler_latency_begin(recorder: *mut Recorder) -> u64 {
    // SAFETY: promised by the caller.
    match unsafe { recorder.as_mut() } {
        Some(recorder) => recorder.begin().0,
        None => 0,
    }
}

/// # Safety
/// As for `straggler_latency_begin`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn straggler_latency_end(recorder: *mut Recorder, begun: u64) -> c_int {
    // SAFETY: promised by the caller.
    match unsafe { recorder.as_mut() } {
        Some(recorder) => {
            recorder.end(Begun(begun));
            Code::Ok as c_int
        }
        None => guarded((), || Err(border::null("the recorder"))).0,
    }
}

/// # Safety
/// As for `straggler_latency_begin`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn straggler_latency_cycle(recorder: *mut Recorder) -> c_int {
    guarded((), || {
        // SAFETY: promised by the caller.
        let recorder = unsafe { recorder.as_mut() }.ok_or_else(|| border::null("the recorder"))?;
        recorder.end_cycle();
        Ok(())
    })
    .0
}

/// # Safety
/// As for `straggler_latency_series`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn straggler_latency_note(session: *mut Session, note: *const c_char) -> c_int {
    guarded((), || {
        // SAFETY: promised by the caller.
        let session = unsafe { session.as_ref() }.ok_or_else(|| border::null("the measurement"))?;
        // SAFETY: promised by the caller.
        session.note(unsafe { text(note, "the note") }?);
        Ok(())
    })
    .0
}

/// # Safety
/// As for `straggler_latency_series`, and no thread uses a recorder of the measurement.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn straggler_latency_write(session: *mut Session, path: *const c_char) -> c_int {
    guarded((), || {
        // SAFETY: promised by the caller.
        let session = unsafe { session.as_ref() }.ok_or_else(|| border::null("the measurement"))?;
        // SAFETY: promised by the caller.
        let path = unsafe { text(path, "the name of the file") }?;
        // SAFETY: promised by the caller.
        unsafe { session.write(path) }
    })
    .0
}

/// # Safety
/// As for `straggler_latency_write`; neither the measurement nor its recorders are used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn straggler_latency_close(session: *mut Session) {
    guarded((), || {
        if !session.is_null() {
            // SAFETY: it comes from `Box::into_raw` and is not used again.
            drop(unsafe { Box::from_raw(session) });
        }
        Ok(())
    });
}

/// The message of the last error on this thread.
#[unsafe(no_mangle)]
pub extern "C" fn straggler_latency_error() -> *const c_char {
    border::last_error()
}
