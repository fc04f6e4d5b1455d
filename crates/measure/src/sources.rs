//! What took the CPU: the kernel is observed during a measurement, and its detours get names.

pub mod ftrace_text;
pub mod join;
pub mod names;
pub mod spans;

use crate::{Timebase, Worker};
use straggler_model::noise::Recording;

/// How the kernel is to be observed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Wish {
    /// The best way that is permitted.
    #[default]
    Auto,
    Tracepoints,
    Osnoise,
    Counters,
    Nothing,
}

/// The kernel under observation, from before a measurement until after it.
#[derive(Debug)]
pub struct Observation {}

/// Why the kernel cannot be observed as asked.
#[derive(Debug, thiserror::Error)]
pub enum SourcesError {}

impl Observation {
    /// Starts to observe what happens on `cores`.
    pub fn begin(_wish: Wish, _cores: &[u32]) -> Result<Observation, SourcesError> {
        Ok(Observation {})
    }

    /// Ends the observation and names the sources of the recording's detours. `workers` are the threads that
    /// measured: what ran instead of them is noise.
    pub fn end(
        self,
        _recording: &mut Recording,
        _timebase: &Timebase,
        _workers: &[Worker],
    ) -> Result<(), SourcesError> {
        Ok(())
    }
}
