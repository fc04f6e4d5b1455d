//! How a trace is read.

use crate::workloads::Only;
use straggler_model::Time;

/// When ranks begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Begin {
    /// As in the trace: each computes from when the first rank has left MPI_Init to when it has itself.
    #[default]
    AsTraced,
    /// All at once.
    Together,
}

/// Who decides what the outcome of a run is that MPI leaves open: which request of a list completes, whether a test
/// succeeds, whose message a receive from anyone takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Decisions {
    /// The traced run.
    #[default]
    AsRecorded,
    /// The program that replays it, by what has happened to it; but receives from anyone take what they took.
    RedecideRequests,
    /// The program that replays it, by what has happened to it.
    Redecide,
}

/// How a trace is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Which communication is kept; computation always is.
    pub only: Only,
    pub begin: Begin,
    /// Leaves out what has no counterpart in the trace, instead of refusing the trace.
    pub drop_unmatched: bool,
    /// Shorter times between unsuccessful tests or probes are part of waiting, not computation.
    pub spin: Time,
    pub decisions: Decisions,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            only: Only::All,
            begin: Begin::AsTraced,
            drop_unmatched: false,
            spin: Time::from_ns(1_000),
            decisions: Decisions::AsRecorded,
        }
    }
}
