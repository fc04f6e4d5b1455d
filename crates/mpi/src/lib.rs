//! The processes of an MPI job: what `straggler mpi` does with them.
//!
//! ```text
//! Launcher (its variables) ─► Library (found and loaded) ─► Mpi (initialised) ─► Session (who runs where)
//!                                                                                  │
//!   ┌──────────────────────────────────────────────────────────────────────────────┘
//!   ├─► latency: Plan ─► rounds of pairs, or collectives ─► Series, merged up a tree ─► rank 0: Measurement
//!   ├─► assess: clocks, noise on all cores ─► rank 0: Measurement
//!   ├─► loggp: two processes ─► experiments ─► rank 0: LogGp
//!   ├─► replay: TracedRun ─► Player on each process ─► Played
//!   ├─► validate: collectives with injected detours ─► rank 0: the same, simulated, beside the measured
//!   └─► cluster: Job, for simulations and studies of the engine
//! ```
//! All processes run the same code and take the same decisions: what only one of them knows (a
//! signal, the time left) is agreed on before any process acts on it.
//!
//! No MPI is needed to build it: the library is found when a job starts (`library`), its functions are looked up once
//! (`functions`), and a small safe layer calls them (`communicator`, `wire`).

pub mod assess;
mod clock;
pub mod cluster;
pub mod communicator;
mod functions;
mod handles;
pub mod latency;
pub mod launcher;
pub mod library;
pub mod loggp;
mod own_thread;
mod process;
pub mod replay;
mod session;
pub mod validate;
mod wire;

pub use cluster::Job;
pub use launcher::Launcher;
pub use process::{Mpi, StartError};
pub use session::{Alone, Session};

// One test program for the crate: unit tests beside the code, and in `tests` those of what the crate offers.
#[cfg(test)]
extern crate self as straggler_mpi;
#[cfg(test)]
#[path = "../tests/libraries.rs"]
mod tests;
