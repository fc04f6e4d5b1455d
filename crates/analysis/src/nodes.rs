//! Which nodes of a cluster slow down a job: noise measured on all of them at the same time, and its cost.
//!
//! ```text
//!  Part (what a process measured) ─► Cluster ─┬─► waits: how long a job waits for each node alone
//!                                               ├─► costs: simulated, with the worst nodes replaced, without a source
//!                                               ├─► outliers: nodes whose noise differs from that of the others
//!                                               ├─► speed: nodes that run slower, noise or not
//!                                               ├─► moments: whether noise hits several nodes at once
//!                                               └─► Summary ─► baseline: what has become worse
//! ```
//! All are pure functions of the measurements and a seed. A cluster of one node is compared core by core
//! ([`Cluster::by_core`]); everything below then refers to cores.

pub mod baseline;
mod cluster;
pub(crate) mod costs;
mod layout;
pub(crate) mod moments;
pub mod outliers;
mod samples;
pub(crate) mod speed;
mod summary;
mod waits;

pub use cluster::{Cluster, CoreClock, CoreNoise, Measurement, Node, NodeId, Part, Unit};
pub use costs::{Costs, Gain, Question, Removal, Scale};
pub use moments::Moments;
pub use outliers::Outliers;
pub use speed::Speeds;
pub use summary::Summary;

#[cfg(test)]
mod tests;
