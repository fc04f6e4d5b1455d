//! Threads with precedence over others, as far as permitted.

use rustix::process::setpriority_process;
use std::ffi::c_int;

/// The priority granted to the injecting thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Priority {
    /// SCHED_FIFO: it runs as soon as it wakes up.
    RealTime,
    /// The best niceness of the ordinary scheduler.
    Nice,
    /// No priority: the scheduler decides when a woken thread runs.
    Ordinary,
}

/// While it exists, threads started by the calling thread have precedence over all ordinary ones, if
/// permitted: a core on which other programs run is then as good as idle. Niceness would not suffice: if the
/// kernel groups tasks by session, it counts only within a session.
///
/// The kernel makes sure that a real-time thread that never sleeps leaves the others a twentieth of the time;
/// the injecting thread has precedence over it.
#[derive(Debug)]
pub(super) struct Favour(bool);

impl Favour {
    pub fn ask() -> Favour {
        Favour(schedule(SCHED_FIFO, FAVOURED))
    }
}

impl Drop for Favour {
    fn drop(&mut self) {
        if self.0 {
            schedule(SCHED_OTHER, 0);
        }
    }
}

/// Raises the calling thread's priority as far as permitted.
pub(super) fn raise() -> Priority {
    if schedule(SCHED_FIFO, FIRST) {
        Priority::RealTime
    } else if setpriority_process(None, -20).is_ok() {
        Priority::Nice
    } else {
        Priority::Ordinary
    }
}

const SCHED_OTHER: c_int = 0;
const SCHED_FIFO: c_int = 1;

/// Priorities among real-time threads: the injecting one first.
const FIRST: c_int = 10;
const FAVOURED: c_int = 1;

/// `struct sched_param`: a priority, and the space that some C libraries reserve after it.
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

/// Sets the calling thread's policy and priority; returns whether this was permitted.
fn schedule(policy: c_int, priority: c_int) -> bool {
    let parameters = Parameters { priority, reserved: [0; 15] };
    // SAFETY: 0 is the calling thread; the pointer is to a live value at least as large as the C structure
    // and is only read.
    #[allow(unsafe_code)]
    let result = unsafe { sched_setscheduler(0, policy, &parameters) };
    // Linux returns 0, POSIX the former policy.
    result >= 0
}
