//! Predicts a traced run under a hypothesis: with other computation, other messages, or another network.
//!
//! A hypothesis turns the trace into a changed one; the file is not modified. The original and the changed trace are
//! replayed by the same code. The result is a trace again, whose wait states are found as in a recorded one.
//!
//! ```text
//! Trace ─► Hypothesis ─► Trace' ─► TracedRun ─► Playback ─► replay ─► simulated Trace ─► WaitStates
//! ```

pub mod calls;
pub(crate) mod computation;
mod edit;
pub(crate) mod error;
pub(crate) mod hypothesis;
pub mod messages;
pub mod nonblocking;
mod parts;
pub mod place;
mod polls;
pub mod regions;
pub mod scenario;
pub mod search;
pub(crate) mod simulated;
pub(crate) mod steps;
#[cfg(test)]
mod tests;

pub use error::WhatIfError;
pub use hypothesis::{Difference, Shares, apply_all};
pub use scenario::{Bound, Decided, DecisionKind, Hang, InCalls, Scenario, ScenarioError};
pub use search::Search;
pub use simulated::{reenacted, simulated};
pub use steps::Variation;
