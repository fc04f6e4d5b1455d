//! The critical path of a run: the chain of events, each started by the one before, that ends with the
//! makespan. Its parts add up to the makespan exactly.
//!
//! [`Recorder`](straggler_sim::observers::Recorder) watches a run and notes for every event what it waited for last: the CPU, the NIC, a
//! message, an acknowledgement or the completion of another operation. [`CriticalPath::of`] walks back
//! from the event that finishes last and splits every hop into the model's parameters.

mod parts;
mod walk;

pub use parts::{Counts, Parts, Unit};
pub use walk::{CriticalPath, Stretch};
