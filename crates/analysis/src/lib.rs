//! Analysis of simulated runs, traces and measurements.

pub mod assess;
pub mod critical_path;
pub mod growth;
pub mod inflection;
pub mod latency;
pub mod limit;
pub mod loggp;
pub mod nodes;
pub mod noise;
pub mod partition;
pub mod predict;
pub mod recovery;
pub(crate) mod regression;
pub mod study;
pub mod waits;
pub mod whatif;

pub use critical_path::CriticalPath;

// One test program for the crate: unit tests beside the code, and in `tests` those of what the crate offers.
#[cfg(test)]
extern crate self as straggler_analysis;
#[cfg(test)]
#[path = "../tests/analysis.rs"]
mod tests;
