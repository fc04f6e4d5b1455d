//! Answers and texts that several commands share.

pub mod diagnosis;
pub mod findings;
pub mod latency;
pub mod noise;
pub mod stuck;
pub mod study;
pub mod waits;
