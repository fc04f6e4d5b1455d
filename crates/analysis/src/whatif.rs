//! What a traced run would have been like: with other computations, other messages, another network.
//!
//! A hypothesis makes another trace of the trace; the file stays as it is. Both are replayed by the same code, and become
//! traces again, in which wait states are found as in a recorded one.
//!
//! ```text
//! Trace ─► Hypothesis ─► Trace' ─► TracedRun ─► Playback ─► replay ─► simulated Trace ─► WaitStates
//! ```

pub mod calls;
pub mod computation;
mod edit;
pub mod error;
pub mod hypothesis;
pub mod messages;
pub mod nonblocking;
mod parts;
pub mod place;
mod polls;
pub mod regions;
pub mod scenario;
pub mod search;
pub mod simulated;
#[cfg(test)]
mod tests;

pub use error::WhatIfError;
pub use hypothesis::{Difference, apply_all};
pub use scenario::{Bound, Decided, DecisionKind, Hang, InCalls, Scenario, ScenarioError};
pub use search::Search;
pub use simulated::{reenacted, simulated};
