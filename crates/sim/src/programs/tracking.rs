//! Tracks when the operations of a step have completed. On one CPU that is never after the CPU is free,
//! except with overlapped receives; only then it has to be stored.

use crate::checkpoint::Saved;
use serde::{Deserialize, Serialize};
use straggler_model::Time;

/// Stores the latest completion, or nothing.
pub trait Tracking: Copy + Default + Saved + Sync {
    fn note(&mut self, done: Time);
    fn latest(&self) -> Time;
}

/// Stores nothing: operations complete no later than the CPU is free.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Untracked;

impl Tracking for Untracked {
    #[inline(always)]
    fn note(&mut self, _: Time) {}
    #[inline(always)]
    fn latest(&self) -> Time {
        Time::ZERO
    }
}

/// The latest completion so far.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Tracked(Time);

impl Tracking for Tracked {
    fn note(&mut self, done: Time) {
        self.0 = self.0.max(done);
    }
    fn latest(&self) -> Time {
        self.0
    }
}
