//! Noise: CPU time that the system takes from a process, and when.
//!
//! A [`Detours`] list is a trace that repeats for ever. A [`Source`] lays one over some ranks,
//! each with its own phase. [`Injection`] is all sources of a run and answers the one question
//! engines ask: how much noise falls into this interval of this process?
//!
//! User input passes three stages: a [`NoiseSpec`] is parsed, loading it reads files and draws
//! traces ([`Loaded`]), and [`Injection::new`] checks that the sources can be simulated together.

mod check;
mod describe;
mod detours;
pub mod format;
pub mod generate;
mod injection;
mod load;
pub mod offsets;
pub(crate) mod quanta;
pub mod recording;
pub mod signature;
pub mod spec;

pub use check::InjectionError;
pub use detours::{Columns, Detours, DetoursError};
pub use format::{Format, FormatError, Repairs};
pub use injection::{Injection, Noise, Phases, QuietUntil, Silence, Source, Waveform, Who};
pub use load::{DRAWN, LoadError, Loaded, signature_meant};
pub use recording::NoiseRecording;
pub use signature::{Signature, SignatureError};
pub use spec::{NoiseSpec, Shape, SignatureOrigin, SourceSpec, SpecError};

// One test program for the crate: unit tests beside the code, and in `tests` those of what the crate offers.
#[cfg(test)]
extern crate self as straggler_noise;
#[cfg(test)]
#[path = "../tests/noise.rs"]
mod tests;
