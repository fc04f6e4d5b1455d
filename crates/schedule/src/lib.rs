//! Schedules: what every process of a program does and what has to happen before what.

pub mod collectives;
pub mod graph;
pub mod steps;

pub use graph::{Graph, GraphBuilder, Operation, OperationKind, RankBuilder, RankView};
pub use steps::{Step, Steps};
