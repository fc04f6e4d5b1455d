//! The critical path of a run: the chain of events that ends with the makespan, each event started by the one before.
//! Its parts add up to the makespan exactly.
//!
//! [`Recorder`](straggler_sim::observers::Recorder) watches a run and records for every event what it waited for
//! last: the CPU, the NIC, a message, an acknowledgement or the completion of another operation. [`CriticalPath::new`]
//! walks back from the event that finishes last and splits every hop into the model's parameters.

mod parts;
mod walk;

pub use parts::{Counts, Parts, Unit};
pub use walk::{CriticalPath, Stretch};
