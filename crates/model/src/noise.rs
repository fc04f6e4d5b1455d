//! Noise: what the system takes from a process's CPU, and when.
//!
//! A [`Detours`] list is a trace that repeats for ever. A [`Source`] lays one over some ranks,
//! each with its own phase. [`Injection`] is all sources of a run and answers the one question
//! engines ask: how much noise falls into this interval of this process?

mod detours;
mod injection;

pub use detours::Detours;
pub use injection::{Injection, Noise, Phases, QuietUntil, Silence, Source, Waveform, Who};
