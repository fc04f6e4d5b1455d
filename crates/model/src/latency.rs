//! Latency as a distribution: what repeated timings of one operation found, and the file that keeps it.
//!
//! ```text
//!  Bins ─► Histogram ─► Series (one distribution and its labels) ─► Measurement ⇄ FILE.lat
//!             ▲ merge      ▲ merge                                     ▲ merge
//! ```
//! Times are whole picoseconds and everything that is added up is an integer, so merging gives what recording
//! all in one place would have given, whatever the order: over threads, processes and files.

mod bins;
mod error;
mod file;
mod histogram;
mod measurement;
mod series;

pub use bins::{Bins, BinsError};
pub use error::{Fault, LatencyError, MergeError};
pub use file::{FORMAT, VERSION, from_bytes, read, to_bytes, write};
pub use histogram::{Bin, Bounds, Histogram, Outside};
pub use measurement::{Measurement, Process};
pub use series::{Cycle, Kind, Labels, Pair, Series, TimerCost};
