//! Latencies: measuring, comparing and diagnosing them, and drawing them in simulations.

pub mod compare;
pub mod diagnose;
pub mod drawn;
pub mod file;
pub mod measure;
pub mod merge;
pub mod page;
pub mod plan;
pub mod words;
