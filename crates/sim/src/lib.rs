//! The LogGOPS execution model and its engines.
//!
//! [`rules`] defines what an operation costs and [`order`] which event runs first; both engines use them. A
//! [`Program`] says what a process does next. [`mod@reference`] runs a program with one global queue, following
//! the model literally. [`windowed`] gives every process its own agenda and advances all of them through windows
//! no longer than the model's lookahead, on any number of threads, with identical results.
//!
//! Other crates use these: a [`Workload`] says what to run, [`Simulation`] runs it, and [`Replicas`] runs it
//! repeatedly with newly drawn noise. Engines are compiled only in this crate.

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
pub mod ports;
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
pub use ports::{Fabric, Placement, Places};
pub use program::Program;
pub use replicas::Replicas;
pub use rules::{Acknowledgement, Rules};
pub use simulation::{Engine, EngineChoice, Run, Simulation};
pub use workload::Workload;

// One test program for the crate: unit tests beside the code, and in `tests` those of what the crate offers.
#[cfg(test)]
extern crate self as straggler_sim;
#[cfg(test)]
#[path = "../tests/sim.rs"]
mod tests;
