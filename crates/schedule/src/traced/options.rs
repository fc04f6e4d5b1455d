//! How a trace is read.

use crate::workloads::Only;
use straggler_model::Time;

/// When ranks begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Begin {
    /// As traced: each rank computes from the moment the first rank left MPI_Init until it left it itself.
    #[default]
    AsTraced,
    /// All at once.
    Together,
}

/// Who decides outcomes that MPI leaves open: which request of a list completes, whether a test
/// succeeds, and whose message a receive from any source takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Decisions {
    /// The traced run.
    #[default]
    AsRecorded,
    /// The replay decides, but receives from any source take the message they took in the trace.
    RedecideRequests,
    /// The replay decides.
    Redecide,
}

/// What works on nonblocking collectives while the program computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Progress {
    /// Nothing: their messages are handled only while the rank waits.
    #[default]
    Calls,
    /// A thread of the library with a core of its own, or the network.
    Thread,
}

/// How a trace is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Which communication is kept; computation is always kept.
    pub only: Only,
    pub begin: Begin,
    /// Drops calls without a counterpart in the trace instead of rejecting the trace.
    pub drop_unmatched: bool,
    /// Gaps shorter than this between unsuccessful tests or probes count as waiting, not computation.
    pub spin: Time,
    pub decisions: Decisions,
    pub progress: Progress,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            only: Only::All,
            begin: Begin::AsTraced,
            drop_unmatched: false,
            spin: Time::from_ns(1_000),
            decisions: Decisions::AsRecorded,
            progress: Progress::Calls,
        }
    }
}
