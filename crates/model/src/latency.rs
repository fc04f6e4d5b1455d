//! Latency as a distribution: the timings of a repeated operation, and the file that stores them.
//!
//! ```text
//!  Bins ─► Histogram ─► Series (one distribution and its labels) ─► Measurement ⇄ FILE.lat
//!             ▲ merge      ▲ merge                                     ▲ merge
//! ```
//! Times are whole picoseconds and all sums are integers, so merging is exact and independent of order:
//! threads, processes and files merge to what one recorder would have seen.

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
pub use series::{Cycle, Kind, Labels, Pair, Run, Series, TimerCost};
