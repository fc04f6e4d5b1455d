//! MPI_Pcontrol(0) pauses the recording of the process, a positive level resumes it.
//!
//! The tables of the process stay up to date: communicators, windows and requests are known
//! whenever they were made. During a pause, only what the rest of the trace refers to is recorded,
//! so that every request in it is made and completed there:
//! - calls that make or free communicators and windows, and that prepare persistent requests;
//! - calls that complete, cancel or free a request made before;
//! - a receive whose matching probe was recorded.
//!
//! Operations begun during a pause are left out of the lists of calls that complete them later.

use crate::note::is_persistent;
use std::sync::atomic::{AtomicBool, Ordering};
use straggler_trace::{Class, Function};

static PAUSED: AtomicBool = AtomicBool::new(false);

#[inline(always)]
pub fn is_paused() -> bool {
    PAUSED.load(Ordering::Relaxed)
}

/// Pauses or resumes; returns whether it was paused before.
pub fn set(paused: bool) -> bool {
    PAUSED.swap(paused, Ordering::Relaxed)
}

/// Whether calls of a function are recorded even during a pause.
pub fn is_kept(function: Function) -> bool {
    let windows = matches!(
        function,
        Function::Win_create
            | Function::Win_allocate
            | Function::Win_allocate_shared
            | Function::Win_create_dynamic
            | Function::Win_free
            | Function::Abort
    );
    let class = function.class();
    windows
        || is_persistent(function)
        || matches!(
            class,
            Class::Init | Class::Finalize | Class::NewComm { .. } | Class::FreeComm | Class::Mark
        )
}
