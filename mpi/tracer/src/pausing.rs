//! MPI_Pcontrol(0) pauses the recording of the process, a positive level resumes it.
//!
//! The tables of the process go on: communicators, windows and requests are known whenever they were made. While paused, only
//! what the rest of the trace refers to is recorded, so that every request in it is made and completed there:
//! - what makes or frees communicators and windows, and what prepares persistent requests;
//! - what completes, cancels or frees a request that was made before;
//! - a receive whose matching probe was recorded.
//!
//! What was begun while paused is left out of the lists of calls that complete it later.

use crate::note::is_persistent;
use std::sync::atomic::{AtomicBool, Ordering};
use straggler_trace::{Class, Function};

static PAUSED: AtomicBool = AtomicBool::new(false);

#[inline(always)]
pub fn is_paused() -> bool {
    PAUSED.load(Ordering::Relaxed)
}

/// Pauses or resumes; gives whether it was paused.
pub fn set(paused: bool) -> bool {
    PAUSED.swap(paused, Ordering::Relaxed)
}

/// Whether calls of a function are recorded also while paused.
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
