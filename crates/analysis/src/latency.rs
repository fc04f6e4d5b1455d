//! Analysis of measured latencies: how they are distributed, whether and how two measurements differ, and what may
//! have caused the shape of a distribution.
//!
//! ```text
//!  Histogram ─► Distribution (cells) ─┬─► Summary, Modes, Fits            of one distribution
//!  Cycles ─────────────────────────── ┼─► Stationarity
//!  Series of pairs ───────────────────┼─► Pairs: matrix, clusters, what explains them
//!  Series of ranks ───────────────────┼─► Ranks: who is slowest in a collective
//!  several Distributions ─────────────┼─► Comparison ─► Gate
//!  Measurement, NoiseRecording ───────┴─► Diagnosis: all of it and hints with their evidence
//! ```
//! All of these are pure functions, of a seed as well where something is drawn at random. Trials are known to the
//! width of their bins; every number that depends on it says so where it is defined.

pub(crate) mod agreement;
pub mod compare;
pub mod diagnose;
pub(crate) mod distribution;
mod draws;
pub mod fits;
pub mod gate;
pub(crate) mod groups;
pub mod messages;
pub(crate) mod modes;
pub mod noise;
pub mod pairs;
pub mod rank_tests;
pub mod ranks;
pub mod stationarity;
pub(crate) mod steps;
pub mod summary;
pub mod variation;

pub use compare::Comparison;
pub use diagnose::Diagnosis;
pub use distribution::Distribution;
pub use fits::Fits;
pub use gate::Gate;
pub use groups::Group;
pub use modes::Mode;
pub use pairs::Pairs;
pub use ranks::Ranks;
pub use stationarity::Stationarity;
pub use summary::Summary;
pub use variation::Variation;

#[cfg(test)]
mod samples;
