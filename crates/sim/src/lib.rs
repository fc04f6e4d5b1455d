//! The LogGOPS execution model and its engines.
//!
//! [`rules`] says what an operation costs and [`order`] who goes first; both engines call them.
//! A [`Program`] says what a process does next. [`mod@reference`] runs a program with one global queue,
//! as literally as the model is written down. [`windowed`] gives every process its own little agenda
//! and advances all of them through windows no longer than the model's lookahead, on any number of
//! threads, to the same integers.
//!
//! What other crates use: a [`Workload`] says what is run, [`Simulation`] runs it, [`Replicas`] runs it again and
//! again with noise drawn anew. Engines are compiled behind these, in this crate alone.

pub mod accelerator;
pub mod agenda;
pub mod checkpoint;
pub mod cluster;
pub mod control;
mod execution;
pub mod host;
mod huge_pages;
pub mod lanes;
pub mod latency;
pub mod memory;
pub mod message;
pub mod observer;
pub mod observers;
pub mod order;
pub mod outcome;
mod prefetch;
pub mod program;
pub mod programs;
pub mod reference;
pub mod release;
pub mod replicas;
pub mod resampling;
pub mod rules;
pub mod simulation;
pub mod windowed;
pub mod workload;

pub use accelerator::{Accelerated, Accelerator, Ended, Wanted};
pub use control::{Control, Progress};
pub use observer::{Nothing, Observer};
pub use outcome::{Outcome, RunError, Stuck};
pub use program::Program;
pub use replicas::Replicas;
pub use rules::{Acknowledgement, Rules};
pub use simulation::{Engine, EngineChoice, Run, Simulation};
pub use workload::Workload;
