//! Analysis of simulated runs, traces and measurements.

pub mod assess;
pub mod critical_path;
pub mod growth;
pub mod inflection;
pub mod latency;
pub mod loggp;
pub mod nodes;
pub mod noise;
pub mod partition;
pub mod predict;
pub mod recovery;
pub mod regression;
pub mod study;
pub mod waits;
pub mod whatif;

pub use critical_path::CriticalPath;
