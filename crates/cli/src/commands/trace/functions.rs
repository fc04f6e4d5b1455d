//! Totals over the calls of a function: all of them, or those from one call site.

use serde::Serialize;
use straggler_model::Time;
use straggler_trace::Function;
use straggler_trace::profile::{Counts, is_counted, share};

#[derive(Serialize)]
pub struct CallTotals {
    pub calls: u64,
    pub seconds: f64,
    pub longest_seconds: f64,
    pub bytes_sent: u64,
    pub bytes_received: u64,
}

impl CallTotals {
    pub fn of(counts: &Counts) -> CallTotals {
        CallTotals {
            calls: counts.calls,
            seconds: counts.time.seconds(),
            longest_seconds: counts.longest.seconds(),
            bytes_sent: counts.sent,
            bytes_received: counts.received,
        }
    }
}

#[derive(Serialize)]
pub struct FunctionTotals {
    pub function: &'static str,
    #[serde(flatten)]
    pub counts: CallTotals,
    pub mean_seconds: f64,
    pub share_of_application: f64,
    /// None for functions that do not count as time in MPI.
    pub share_of_mpi: Option<f64>,
}

impl FunctionTotals {
    /// Takes the time of all ranks in MPI, and their total time.
    pub fn of(function: Function, counts: &Counts, (mpi, application): (Time, Time)) -> FunctionTotals {
        FunctionTotals {
            function: function.name(),
            counts: CallTotals::of(counts),
            mean_seconds: counts.mean().seconds(),
            share_of_application: share(counts.time, application),
            share_of_mpi: is_counted(function).then(|| share(counts.time, mpi)),
        }
    }
}
