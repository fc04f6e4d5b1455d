//! Errors in GOAL files: what is wrong, where, and how to fix it.

use std::fmt;

use straggler_model::Rank;

/// Why a GOAL file was rejected.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum GoalError {
    #[error("{place}: {problem}")]
    Text { place: GoalPlace, problem: TextProblem },
    #[error("{}{field}: {problem}", OfRank(*.rank))]
    Binary { rank: Option<Rank>, field: &'static str, problem: BinaryProblem },
    #[error("neither GOAL text nor GOAL binary: text starts with `num_ranks N`, binary with the number 4223")]
    UnknownFormat,
}

/// A place in a text file. Lines and columns count from 1, columns in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GoalPlace {
    pub line: u64,
    pub column: u64,
    /// The rank whose block contains the place.
    pub rank: Option<Rank>,
}

impl fmt::Display for GoalPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)?;
        match self.rank {
            Some(rank) => write!(f, ", rank {rank}"),
            None => Ok(()),
        }
    }
}

struct OfRank(Option<Rank>);

impl fmt::Display for OfRank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(rank) => write!(f, "rank {rank}, "),
            None => Ok(()),
        }
    }
}

/// An error in a text file.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TextProblem {
    #[error("`num_ranks N` is missing: put it before the first rank")]
    MissingNumRanks,
    #[error("`num_ranks` is given twice: keep one of them")]
    RepeatedNumRanks,
    #[error("`num_ranks` is 0: a schedule has at least one rank")]
    NoRanks,
    #[error(
        "num_ranks {ranks} is too large for a file of {bytes} bytes, at most {limit} are accepted: give the number \
         of ranks that take part"
    )]
    TooManyRanks { ranks: u64, bytes: u64, limit: u64 },
    #[error("rank {rank} is out of range: num_ranks is {ranks}, so ranks go from 0 to {}", .ranks - 1)]
    RankOutOfRange { rank: u64, ranks: u32 },
    #[error("rank {rank} has a second block: merge it into the first")]
    RepeatedRank { rank: Rank },
    #[error("peer {peer} is out of range: num_ranks is {ranks}, so ranks go from 0 to {}", .ranks - 1)]
    PeerOutOfRange { peer: u64, ranks: u32 },
    #[error("a send needs a definite {what}: only a receive may have the wildcard -1")]
    WildcardSend { what: &'static str },
    #[error("expected {expected}, found {found}")]
    Unexpected { expected: &'static str, found: String },
    #[error("the {what} is too large: at most {limit}")]
    TooLarge { what: &'static str, limit: u64 },
    #[error("`{option}` is given twice for one operation: keep one of them")]
    RepeatedOption { option: &'static str },
    #[error("unknown label `{label}`{}", Suggestion(.nearest))]
    UnknownLabel { label: String, nearest: Option<String> },
    #[error("label `{label}` is defined twice in this rank: rename one of the operations")]
    RepeatedLabel { label: String },
    #[error("`{label}` depends on itself: remove this dependency")]
    SelfDependency { label: String },
    #[error("operations form a dependency cycle: {}; remove one of these dependencies", Circle(.operations))]
    Cycle { operations: Vec<String> },
    #[error("the block of this rank is not closed: add `}}` after its last operation")]
    UnterminatedBlock,
    #[error("this comment is not closed: add `*/` where it ends")]
    UnterminatedComment,
    #[error("this rank has more than {limit} operations: split the schedule over more ranks")]
    TooManyOperations { limit: u32 },
    #[error("this rank has more than {limit} dependencies: remove those that follow from others")]
    TooManyDependencies { limit: u32 },
}

struct Suggestion<'a>(&'a Option<String>);

impl fmt::Display for Suggestion<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(nearest) => write!(f, ": did you mean `{nearest}`?"),
            None => f.write_str(": define it in this rank; labels are local to a rank"),
        }
    }
}

/// The operations of a cycle: each must happen before the next, and the last before the first.
pub(crate) struct Circle<'a>(pub &'a [String]);

impl fmt::Display for Circle<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 8;
        for operation in self.0.iter().take(SHOWN) {
            write!(f, "{operation} → ")?;
        }
        if self.0.len() > SHOWN {
            write!(f, "… ({} in all) → ", self.0.len())?;
        }
        f.write_str(self.0.first().map_or("", String::as_str))
    }
}

/// An error in a field of a binary file.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BinaryProblem {
    #[error("{found} is not the number 4223 of a GOAL binary file: convert the schedule again")]
    WrongMagic { found: u64 },
    #[error(
        "2342 marks a file that another simulator used as its memory and destroyed: convert the schedule again"
    )]
    Destroyed,
    #[error("the file is truncated: {needed} bytes are needed, {available} are left")]
    Truncated { needed: u64, available: u64 },
    #[error("a schedule has at least one rank")]
    NoRanks,
    #[error("{found} is out of range: at most {limit}")]
    OutOfRange { found: u64, limit: u64 },
    #[error(
        "the schedules of all ranks are longer than the file, so some overlap: convert the schedule again"
    )]
    Overlap,
    #[error("the file states {found}, but the correct value is {counted}: convert the schedule again")]
    Mismatch { found: u64, counted: u64 },
    #[error("node {node} has {found}, but at most {limit} is possible")]
    NodeOutOfRange { node: u32, found: u64, limit: u64 },
    #[error("node {node} has {found}, which is none of 1 (send), 2 (receive) and 3 (computation)")]
    UnknownType { node: u32, found: u8 },
    #[error("node {node} states {found}, but the correct value is {counted}: convert the schedule again")]
    NodeMismatch { node: u32, found: u64, counted: u64 },
    #[error("node {node} is a send with a wildcard: only a receive may have one")]
    WildcardSend { node: u32 },
    #[error(
        "node {node} computes {found} ns, which exceeds the range of simulated time (at most {limit} ns)"
    )]
    TooLong { node: u32, found: u64, limit: u64 },
    #[error("node {node} depends on itself: remove this dependency")]
    SelfDependency { node: u32 },
    #[error("nodes form a dependency cycle: {}; remove one of these dependencies", Circle(.nodes))]
    Cycle { nodes: Vec<String> },
}

/// An error at a byte of a text file, before the line is known.
#[derive(Debug)]
pub(super) struct Fault {
    pub offset: usize,
    pub rank: Option<Rank>,
    pub problem: TextProblem,
}

/// The error is boxed, so that the success path carries only a pointer.
pub(super) type Parsed<T> = Result<T, Box<Fault>>;

impl Fault {
    /// Counts lines and columns up to the fault.
    pub fn locate(self, bytes: &[u8]) -> GoalError {
        let before = &bytes[..self.offset.min(bytes.len())];
        let line_start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
        let place = GoalPlace {
            line: memchr::memchr_iter(b'\n', before).count() as u64 + 1,
            column: (before.len() - line_start) as u64 + 1,
            rank: self.rank,
        };
        GoalError::Text { place, problem: self.problem }
    }
}
