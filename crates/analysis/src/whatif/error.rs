//! Errors in a hypothesis.

use super::place::{Where, short_list};
use std::fmt;
use straggler_model::spelling::{hint, nearest};
use straggler_model::{Rank, Time};
use straggler_trace::CommId;

/// Why a hypothesis cannot be applied to a trace.
#[derive(Clone, PartialEq, Debug)]
pub enum WhatIfError {
    NoRegion {
        name: String,
        known: Vec<String>,
    },
    /// There is no computation at this place.
    NothingThere {
        place: Where,
        end: Time,
    },
    /// Nothing is repeated often enough to separate noise from work.
    NotRepeated {
        place: Where,
        least: usize,
    },
    Weights {
        given: usize,
        ranks: usize,
    },
    /// Ranks do not synchronise equally often.
    NoSteps,
    /// No message matches the filter. Lists the existing tags and communicators, and the smallest and the largest
    /// size.
    NoMessage {
        asked: String,
        tags: Vec<i32>,
        communicators: Vec<CommId>,
        sizes: Option<(u64, u64)>,
    },
    /// Messages that cannot be merged or split.
    FixedMessages {
        asked: String,
        count: u64,
    },
    /// A rank that the trace does not have.
    NoRank {
        rank: Rank,
        ranks: usize,
    },
    /// A barrier of all ranks in a region that they do not enter equally often.
    Uneven {
        region: String,
        entries: Vec<(Rank, u64)>,
    },
    /// The function is never called. Lists those that are.
    NoCall {
        asked: String,
        known: Vec<String>,
    },
}

impl fmt::Display for WhatIfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WhatIfError::NoRegion { name, known } if known.is_empty() => write!(
                f,
                "there is no region `{name}`: the program marks none. Mark regions with straggler_region_enter and \
                 straggler_region_leave, or use `all` for all computation"
            ),
            WhatIfError::NoRegion { name, known } => {
                let hint = hint(nearest(name, known.iter().map(String::as_str)));
                write!(f, "there is no region `{name}`. The program marks: {}{hint}", short_list(known))
            }
            WhatIfError::NothingThere { place, end } => {
                write!(f, "there is no computation {}. The trace lasts {end}", place.text())
            }
            WhatIfError::NotRepeated { place, least } => write!(
                f,
                "no computation {} repeats {least} times on a rank, so noise cannot be separated from work: use the \
                 trace of a longer run, or --scale",
                place.text()
            ),
            WhatIfError::Weights { given, ranks } => {
                write!(
                    f,
                    "{given} weights for {ranks} ranks: give one per rank, at least one of them above 0"
                )
            }
            WhatIfError::NoSteps => f.write_str(
                "there are no steps to balance: ranks have few collectives in common, and do not wait equally often; \
                 balance a region, or the whole run",
            ),
            WhatIfError::NoMessage { asked, sizes: None, .. } => {
                write!(f, "no message matches {asked}: the trace has no messages between two ranks")
            }
            WhatIfError::NoMessage { asked, tags, communicators, sizes: Some((least, most)) } => write!(
                f,
                "no message matches {asked}. There are messages of {least} to {most} bytes, with tags {}, on \
                 communicators {}",
                short_list(tags),
                short_list(communicators)
            ),
            WhatIfError::FixedMessages { asked, count } => write!(
                f,
                "the {count} messages that match {asked} belong to persistent requests, to MPI_Sendrecv or to \
                 probes, and cannot be merged or split: select others with from, to or tag"
            ),
            WhatIfError::NoRank { rank, ranks } => {
                write!(f, "there is no rank {rank}: ranks are 0 to {}", ranks.saturating_sub(1))
            }
            WhatIfError::Uneven { region, entries } => {
                let entries: Vec<String> =
                    entries.iter().map(|(rank, count)| format!("rank {rank} {count} times")).collect();
                write!(
                    f,
                    "ranks do not enter {region} equally often ({}): a barrier there would wait forever",
                    short_list(&entries)
                )
            }
            WhatIfError::NoCall { asked, known } if known.is_empty() => {
                write!(f, "the program never calls {asked}, nor anything else that this change applies to")
            }
            WhatIfError::NoCall { asked, known } => {
                write!(f, "the program never calls {asked}. It calls {}", short_list(known))
            }
        }
    }
}

impl std::error::Error for WhatIfError {}
