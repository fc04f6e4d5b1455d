//! A run replayed with real messages, compared with the simulated ones.

use super::waits::RunWaits;
use crate::console::Console;
use crate::exit::{Failure, Outcome};
use crate::inputs::trace::{open_trace, refuse_one_of_many};
use serde::Serialize;
use std::path::Path;
use straggler_analysis::waits::WaitStates;
use straggler_analysis::whatif::InCalls;
use straggler_model::Time;
use straggler_schedule::traced::{Options, TracedRun};
use straggler_trace::Trace;

/// The run as JSON.
#[derive(Clone, Debug, Serialize)]
pub struct Replayed {
    pub trace: String,
    pub replayed_ps: u64,
    /// (replayed − simulated) / simulated.
    pub error: Option<f64>,
    pub waits: RunWaits,
    pub notes: Vec<String>,
}

impl Replayed {
    /// Reads the run that a replay of `original` wrote.
    pub fn read(path: &Path, original: &Trace, options: &Options, console: &Console) -> Outcome<Replayed> {
        let opened = open_trace(path)?;
        refuse_one_of_many(path, &opened.trace)?;
        opened.warn_of_errors(path, console);
        let trace = &opened.trace;
        if trace.processes() != original.processes() {
            return Err(Failure::bad_input(format!(
                "{}: {} ranks, but the trace has {}: give --replayed a file that `straggler mpi replay` \
                 wrote from this trace",
                path.display(),
                trace.processes(),
                original.processes()
            )));
        }
        let recording = TracedRun::from_trace(trace, options)
            .map_err(|error| Failure::bad_input(format!("{}: {error}", path.display())))?;
        Ok(Replayed {
            trace: path.display().to_string(),
            replayed_ps: recording.traced_end().ps(),
            error: None,
            waits: RunWaits::of(&WaitStates::of(trace), &InCalls::of(trace)),
            notes: trace.notes.iter().filter(|note| note.starts_with("replayed: ")).cloned().collect(),
        })
    }

    /// Compares it with the simulation of the same run.
    pub fn against(self, simulated: Time) -> Replayed {
        let whole = simulated.ps() as f64;
        Replayed { error: (whole > 0.0).then(|| self.replayed_ps as f64 / whole - 1.0), ..self }
    }
}
