//! Collective operations as implicit schedules: one file per algorithm, the selection apart from them.
//!
//! Every algorithm implements [`Steps`], a pure function of rank and stage, and [`Meaning`], which says which
//! bytes its messages carry. [`mod@check`] follows these bytes and proves that every rank gets what the
//! [`Operation`] promises. A [`Choice`] is what the user asks for (`allreduce:ring`). If it names no
//! algorithm, a [`Selector`] picks one. An [`Algorithm`] is built for a [`Job`] and becomes a [`Collective`].

mod algorithm;
pub(crate) mod allgather;
pub mod allreduce;
pub(crate) mod alltoall;
pub(crate) mod barrier;
pub(crate) mod bcast;
pub(crate) mod blockwise;
mod build;
mod catalogue;
pub mod check;
mod choice;
mod fold;
pub(crate) mod gather;
mod groups;
mod hops;
mod job;
mod meaning;
mod operation;
pub(crate) mod reduce;
pub(crate) mod reduce_scatter;
pub(crate) mod scan;
pub(crate) mod scatter;
pub mod selector;
mod sequence;
pub mod sizes;
#[cfg(test)]
mod tests;
pub(crate) mod tree;
mod two_level;

use crate::steps::{Step, Steps, Symmetry};
use std::ops::Range;
use std::sync::Arc;
use straggler_model::Rank;

pub use algorithm::{Algorithm, AlgorithmError, Levels, Name};
pub use catalogue::Entry;
pub use choice::{Choice, UnknownCollective};
pub use job::Job;
pub use meaning::{Buffer, COMBINE, Meaning, PLACE, Take, piece};
pub use operation::{Data, Operation, UnknownOperation};
pub use selector::{Selector, SelectorError};

/// Why a collective cannot be built for these parameters.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CollectiveError {
    #[error("a collective operation needs at least one process")]
    NoProcesses,
    #[error("{processes} processes are too many for {algorithm}: at most {limit}")]
    TooManyProcesses { algorithm: &'static str, processes: u32, limit: u32 },
    #[error("root {root} is out of range: with {processes} processes, give 0 to {}", .processes - 1)]
    RootOutOfRange { root: Rank, processes: u32 },
    #[error("{operation} has no algorithm {algorithm}")]
    NotAnAlgorithm { operation: &'static str, algorithm: &'static str },
    #[error(
        "{bytes} bytes in segments of {segment} give too many segments (at most {}): use larger ones",
        sizes::Segments::MOST
    )]
    TooManySegments { bytes: u64, segment: u64 },
    #[error("a tree of radix {radix} does not grow: give 2 or more")]
    RadixTooSmall { radix: u32 },
    #[error("two levels need the number of ranks per node: write two-level,per-node=N, with N at least 1")]
    PerNodeMissing,
    #[error("{operation} has no two-level algorithm: {reason}")]
    NoLevels { operation: &'static str, reason: &'static str },
}

/// With this limit, the sum of a rank and a distance fits in 32 bits.
const MOST_PROCESSES: u32 = 1 << 31;

/// Rejects numbers of processes with which an algorithm would have more steps than a program can count.
fn at_most(algorithm: Name, processes: u32, limit: u32) -> Result<(), CollectiveError> {
    if processes <= limit {
        return Ok(());
    }
    Err(CollectiveError::TooManyProcesses { algorithm: algorithm.text(), processes, limit })
}

/// Number of bits of `number`: the rounds of doubling, from 1, until it is exceeded.
#[inline(always)]
fn bits(number: u32) -> u32 {
    u32::BITS - number.leading_zeros()
}

/// `a + b` modulo `processes`, for `a` and `b` below it, without a division.
#[inline(always)]
fn add_modulo(a: u32, b: u32, processes: u32) -> u32 {
    let sum = a.wrapping_add(b);
    if sum >= processes { sum.wrapping_sub(processes) } else { sum }
}

/// `a - b` modulo `processes`, for `a` and `b` below it, without a division.
#[inline(always)]
fn subtract_modulo(a: u32, b: u32, processes: u32) -> u32 {
    if a >= b { a - b } else { a.wrapping_sub(b).wrapping_add(processes) }
}

/// Any of the collectives. The algorithms that run at the largest scales have variants of their
/// own, so that engines can be compiled for them; all others go through dynamic dispatch.
#[derive(Clone, Debug)]
pub enum Collective {
    /// Used for allreduce and barrier.
    Dissemination(allreduce::Dissemination),
    RecursiveDoubling(allreduce::RecursiveDoubling),
    Other(Arc<dyn Meaning>),
}

impl Collective {
    /// Wraps an algorithm without a variant of its own.
    pub fn other(algorithm: impl Meaning + 'static) -> Collective {
        Collective::Other(Arc::new(algorithm))
    }
}

macro_rules! each {
    ($collective:expr, $steps:ident => $call:expr) => {
        match $collective {
            Collective::Dissemination($steps) => $call,
            Collective::RecursiveDoubling($steps) => $call,
            Collective::Other($steps) => $call,
        }
    };
}

impl Steps for Collective {
    fn processes(&self) -> u32 {
        each!(self, steps => steps.processes())
    }

    #[inline(always)]
    fn stages(&self, rank: Rank) -> u32 {
        each!(self, steps => steps.stages(rank))
    }

    #[inline(always)]
    fn step(&self, rank: Rank, stage: u32) -> Step {
        each!(self, steps => steps.step(rank, stage))
    }

    fn largest_message(&self) -> u64 {
        each!(self, steps => steps.largest_message())
    }

    fn tags(&self) -> u32 {
        each!(self, steps => steps.tags())
    }

    fn overlaps(&self) -> bool {
        each!(self, steps => steps.overlaps())
    }

    fn symmetry(&self) -> Symmetry {
        each!(self, steps => steps.symmetry())
    }

    fn messages(&self) -> u64 {
        each!(self, steps => steps.messages())
    }
}

impl Meaning for Collective {
    fn carries(&self, rank: Rank, stage: u32) -> Vec<Range<u64>> {
        each!(self, steps => steps.carries(rank, stage))
    }

    fn source(&self) -> Buffer {
        each!(self, steps => steps.source())
    }

    fn takes(&self, rank: Rank, stage: u32) -> &'static [Take] {
        each!(self, steps => steps.takes(rank, stage))
    }
}
