//! The analysis of Lin et al., "Understanding Stragglers in Large Model Training Using What-if Analysis" (OSDI 2025), as its
//! published tool does it: one graph, derived from the first data-parallel rank in the first step, serves all of them.
//!
//! ```text
//! Dense ─► Graph (who waits for whom; groups that transfer together) ─► Times (transfers, launch delays, ideal durations)
//!                                                                       └─► replays with some durations real, the others ideal
//! ```

mod answers;
mod dense;
mod graph;
mod replay;

pub use answers::{Answers, Rem, Slowdowns, Worker, analyse};
pub use dense::{Dense, DenseError, Op};
pub use graph::{GraphError, graph};
pub use replay::{StepTimes, Times};
