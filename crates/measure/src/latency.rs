//! Measuring latencies: a recorder for any kernel, and the kernels that need no MPI.
//!
//! ```text
//!  Clock ─► Recorder (begin … end, cycles) ─► Series ─► Measurement
//!  Operation ─► drive (cycles of trials, stop, progress) ──▲
//! ```
//! Kernels are [`Operation`]s: one call is one trial. [`measure`] runs those of a [`Kernel`] one after
//! another, each on a pinned thread of its own, and keeps the data if one fails or the run is stopped.

mod drive;
mod kernels;
mod recorder;
mod topology;

pub use drive::{Effort, Ended, Operation, Watch, drive};
pub use kernels::tcp::{Remote, Server, ServerError};
pub use kernels::{Kernel, Options, measure};
pub use recorder::{Begun, Recorder};
pub use topology::place;

use crate::machine;
use std::time::{SystemTime, UNIX_EPOCH};
use straggler_model::latency::Measurement;
use straggler_model::provenance::{Origin, Timer};

/// Creates a measurement of this machine without series. It has a note if the timer's rate may not be
/// constant.
pub fn begin(kernel: &str, command: &str, timer: &Timer) -> Measurement {
    let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let version = env!("CARGO_PKG_VERSION").into();
    let mut measurement =
        Measurement::new(kernel, Origin::Measured { version, command: command.into(), started });
    measurement.machines = vec![machine::this()];
    measurement.timers = vec![timer.clone()];
    if let Some(doubt) = &timer.not_invariant {
        measurement.notes.push(format!(
            "The machine has no invariant timer ({}): {doubt}. Times may be wrong.",
            timer.name
        ));
    }
    measurement
}
