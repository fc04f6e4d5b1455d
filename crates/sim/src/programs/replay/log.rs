//! The record of a replay: when every instruction was reached and passed, and what was decided.

use super::decider::{Change, Decider};
use serde::{Deserialize, Serialize};
use std::sync::{Mutex, PoisonError};
use straggler_model::{Rank, Time};

/// How one process went through its instructions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replayed {
    /// When its thread reached each instruction; [`Time::NEVER`] if it did not.
    pub entered: Vec<Time>,
    /// When the thread passed each instruction.
    pub left: Vec<Time>,
    /// Decisions that differ from the trace's, in the order in which they were made.
    pub changes: Vec<Change>,
    /// Number of test calls that are not made any more, because an earlier one succeeds.
    pub superfluous: u64,
    /// Instructions that consist only of such calls, in the order of the trace.
    pub unneeded: Vec<u32>,
}

/// Collects the records of processes.
#[derive(Debug, Default)]
pub struct Keeper(Mutex<Vec<(Rank, Vec<Replayed>)>>);

impl Keeper {
    pub fn take(&self, first: Rank, replayed: Vec<Replayed>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((first, replayed));
    }

    /// The records of all processes, by rank.
    pub fn into_processes(self) -> Vec<Replayed> {
        let mut parts = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        parts.sort_by_key(|&(first, _)| first);
        parts.into_iter().flat_map(|(_, replayed)| replayed).collect()
    }
}

impl Replayed {
    pub fn new(instructions: usize) -> Replayed {
        Replayed {
            entered: vec![Time::NEVER; instructions],
            left: vec![Time::NEVER; instructions],
            changes: Vec::new(),
            superfluous: 0,
            unneeded: Vec::new(),
        }
    }

    pub fn decided(&mut self, decider: &mut Decider) {
        self.changes = std::mem::take(&mut decider.changes);
        self.superfluous = decider.superfluous;
        self.unneeded = std::mem::take(&mut decider.unneeded);
    }
}
