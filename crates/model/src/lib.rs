//! Types shared by the rest of straggler: simulated time, networks, statistics, provenance and
//! random numbers. Nothing here knows about schedules or engines.

pub mod columns;
pub mod date;
pub mod latency;
pub mod network;
pub mod parallel;
pub mod path_text;
pub mod philox;
pub mod provenance;
pub mod replace;
pub mod samples;
pub mod spelling;
pub mod stats;
pub mod study;
pub mod switches;
pub mod time;
pub mod toml_file;
pub mod topology;
pub mod units;
pub mod words;

pub use network::{Link, Network, PerByte};
pub use time::Time;
pub use topology::Topology;

/// A process of the simulated program, counted from 0.
pub type Rank = u32;

/// A message's tag.
pub type Tag = u32;

// One test program for the crate: unit tests beside the code, and in `tests` those of what the crate offers.
#[cfg(test)]
extern crate self as straggler_model;
#[cfg(test)]
#[path = "../tests/model.rs"]
mod tests;
