//! The programs an engine can run.

mod graph;
mod steps;

pub use graph::GraphProgram;
pub use steps::{StepProgram, Tracked, Untracked};
