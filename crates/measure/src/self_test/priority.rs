//! A thread that others must make way for, as far as that is permitted.

use rustix::process::setpriority_process;
use std::ffi::c_int;

/// What the injecting thread was granted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Priority {
    /// SCHED_FIFO: it runs as soon as it wakes up.
    RealTime,
    /// The best niceness of the ordinary scheduler.
    Nice,
    /// None: the scheduler decides when a thread that wakes up runs.
    Ordinary,
}

/// Raises the calling thread's priority as far as it may.
pub(super) fn raise() -> Priority {
    if real_time() {
        Priority::RealTime
    } else if setpriority_process(None, -20).is_ok() {
        Priority::Nice
    } else {
        Priority::Ordinary
    }
}

const SCHED_FIFO: c_int = 1;

/// `struct sched_param`: a priority, and what some C libraries reserve behind it.
#[repr(C)]
struct Parameters {
    priority: c_int,
    reserved: [c_int; 15],
}

// SAFETY: the C library's function of that name and signature (POSIX), which the standard library links.
#[allow(unsafe_code)]
unsafe extern "C" {
    fn sched_setscheduler(process: c_int, policy: c_int, parameters: *const Parameters) -> c_int;
}

fn real_time() -> bool {
    let parameters = Parameters { priority: 10, reserved: [0; 15] };
    // SAFETY: 0 is the calling thread; the pointer is to a live value at least as large as the C structure
    // and is only read.
    #[allow(unsafe_code)]
    let failed = unsafe { sched_setscheduler(0, SCHED_FIFO, &parameters) };
    failed == 0
}
