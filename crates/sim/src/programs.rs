//! The programs an engine can run.

mod butterfly;
mod graph;
mod overlapping;
mod replay;
mod tracking;

pub use butterfly::{Butterfly, ButterflyError, Redundancy};
pub use graph::{Dependencies, GraphProgram, ProcessOperations};
pub use overlapping::OverlappingProgram;
pub use replay::{Change, Changed, Decider, Keeper, Poll, PollAnswer, PollKind, Replay, Replayed};
pub use tracking::{Tracked, Tracking, Untracked};
