//! Measuring this machine: its noise, and latencies as distributions ([`latency`]).
//!
//! ```text
//!  timer ──► Timebase ──┐
//!  cores ──► kernels ───┼─► Recording (detours, speed profile) ─► sources ─► Recording with names
//!  /proc, tracefs ──────┴────────────────────────────────────────────▲
//! ```
//! Kernels run with any clock, so tests need no real time. The operating system is observed at the same time
//! and joined with the detours afterwards, on the same clock.

pub mod cores;
pub mod kernels;
pub mod latency;
pub mod machine;
pub mod noise;
pub mod self_test;
pub mod sources;
pub(crate) mod timebase;
pub mod timer;

pub use timebase::{Timebase, Worker};

// One test program for the crate: unit tests beside the code, and in `tests` those of what the crate offers.
#[cfg(test)]
extern crate self as straggler_measure;
#[cfg(test)]
#[path = "../tests/measure.rs"]
mod tests;
