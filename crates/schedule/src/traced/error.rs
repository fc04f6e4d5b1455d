//! Why a trace cannot be turned into a schedule.

use crate::collectives::CollectiveError;
use straggler_model::Rank;
use straggler_trace::{CommId, Function};

/// A send, receive or collective of the trace without a counterpart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unmatched {
    pub rank: Rank,
    /// Index of the call among those of the rank, from 0.
    pub call: usize,
    pub function: Function,
    /// Description of what is missing.
    pub missing: String,
}

impl std::fmt::Display for Unmatched {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "rank {}, call {}, {}: {}", self.rank, self.call, self.function, self.missing)
    }
}

/// Why a trace cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TraceError {
    #[error("the trace has no ranks")]
    Empty,
    #[error(
        "communicator {comm} lists rank {member}, which is not one of the {processes} traced ranks or appears twice"
    )]
    Member { comm: CommId, member: Rank, processes: u32 },
    #[error("rank {rank}, call {call}, {function}: there is no communicator {comm}")]
    NoCommunicator { rank: Rank, call: usize, function: Function, comm: CommId },
    #[error("rank {rank}, call {call}, {function}: the rank is not a member of communicator {comm}")]
    NotAMember { rank: Rank, call: usize, function: Function, comm: CommId },
    #[error("rank {rank}, call {call}, {function}: {peer} is not a rank of communicator {comm}")]
    NoPeer { rank: Rank, call: usize, function: Function, comm: CommId, peer: i32 },
    #[error(
        "rank {rank}, call {call}, {function}: collective {number} on communicator {comm} is {theirs} on rank \
         {other}; all ranks must call the same collectives with the same root"
    )]
    Different {
        rank: Rank,
        call: usize,
        function: Function,
        comm: CommId,
        number: usize,
        other: Rank,
        theirs: Function,
    },
    #[error("rank {rank}: {threads} threads are too many: the model has 256 CPUs per rank")]
    TooManyThreads { rank: Rank, threads: usize },
    #[error("rank {rank} has more than {} instructions", u32::MAX)]
    TooLong { rank: Rank },
    #[error("the trace uses more tags than a schedule can number")]
    TooManyTags,
    #[error("{} unmatched:{}", .0.len(), listed(.0))]
    Unmatched(Vec<Unmatched>),
}

/// Number of unmatched calls shown in the message; the error holds all.
const SHOWN: usize = 20;

fn listed(all: &[Unmatched]) -> String {
    let mut text: String = all.iter().take(SHOWN).map(|one| format!("\n  {one}")).collect();
    if all.len() > SHOWN {
        text += &format!("\n  … and {} more", all.len() - SHOWN);
    }
    text
}

/// Why a recording cannot be played back.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PlaybackError {
    #[error("0 copies: give at least 1")]
    NoCopies,
    #[error("{copies} copies of {processes} processes are too many: at most {}", i32::MAX)]
    TooManyProcesses { processes: u32, copies: u32 },
    #[error("{operation}: {fault}")]
    Collective { operation: &'static str, fault: CollectiveError },
    #[error("{operation}: its data exceeds 2^62 bytes in total")]
    TooMuchData { operation: &'static str },
    #[error("concurrent collectives use more tags than can be numbered: {lanes} lanes of {width} tags")]
    TooManyTags { lanes: u32, width: u32 },
    #[error(
        "rank {rank} always has nonblocking operations in flight and has more operations than can be numbered"
    )]
    TooLong { rank: Rank },
    #[error(
        "rank {rank} has more operations or dependencies than a graph can hold: replay the trace instead"
    )]
    TooLarge { rank: Rank },
}
