//! Schedules: what every process of a program does, and what must happen before what.

pub mod collectives;
pub mod goal;
pub mod graph;
pub mod script;
pub mod steps;
pub mod summary;
pub mod tournament;
pub mod traced;
pub mod validate;
pub mod workloads;

pub use graph::{Graph, GraphBuilder, Operation, OperationKind, RankBuilder, RankView};
pub use script::{Cycles, Script};
pub use steps::{Message, Step, Steps, Symmetry, Then};

// One test program for the crate: unit tests beside the code, and in `tests` those of what the crate offers.
#[cfg(test)]
extern crate self as straggler_schedule;
#[cfg(test)]
#[path = "../tests/goal.rs"]
mod tests;
