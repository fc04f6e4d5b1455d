//! Measuring this machine: its noise, and latencies as distributions ([`latency`]).
//!
//! ```text
//!  timer ──► Timebase ──┐
//!  cores ──► kernels ───┼─► Recording (detours, speed profile) ─► sources ─► Recording with names
//!  /proc, tracefs ──────┴────────────────────────────────────────────▲
//! ```
//! Kernels run against any clock, so that tests need no time. What the kernel did meanwhile is observed
//! beside them and joined with the detours afterwards, on the same clock.

pub mod cores;
pub mod kernels;
pub mod latency;
pub mod machine;
pub mod noise;
pub mod self_test;
pub mod sources;
pub mod timebase;
pub mod timer;

pub use timebase::{Timebase, Worker};
