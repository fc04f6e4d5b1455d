//! Collective operations as implicit schedules: one algorithm a file, the choice among them apart.
//!
//! Every algorithm is a [`Steps`]: a pure function of rank and stage. [`Choice`] is what a user
//! asks for (`allreduce:ring`); [`Choice::build`] makes it a [`Collective`] for a number of
//! processes.

pub mod allreduce;
pub mod barrier;
pub mod broadcast;
mod choice;
pub mod reduce;
#[cfg(test)]
mod tests;

use straggler_model::Rank;

pub use choice::{Choice, UnknownCollective};

use crate::steps::{Step, Steps};

/// A collective cannot be built for these parameters.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CollectiveError {
    #[error("a collective operation needs at least one process")]
    NoProcesses,
    #[error("{processes} processes are too many for {algorithm}: at most {limit}")]
    TooManyProcesses { algorithm: &'static str, processes: u32, limit: u32 },
    #[error("root {root} is out of range: there are {processes} processes, so it goes from 0 to {}", .processes - 1)]
    RootOutOfRange { root: Rank, processes: u32 },
}

/// So many processes that a rank and a distance add up inside 32 bits.
const MOST_PROCESSES: u32 = 1 << 31;

fn check_processes(algorithm: &'static str, processes: u32, limit: u32) -> Result<(), CollectiveError> {
    match processes {
        0 => Err(CollectiveError::NoProcesses),
        _ if processes > limit => Err(CollectiveError::TooManyProcesses { algorithm, processes, limit }),
        _ => Ok(()),
    }
}

fn check_root(root: Rank, processes: u32) -> Result<(), CollectiveError> {
    if root < processes { Ok(()) } else { Err(CollectiveError::RootOutOfRange { root, processes }) }
}

/// How many bits a number has; the rounds of doubling until it is exceeded.
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

/// Any of the collectives. An engine that wants its inner loop compiled for one algorithm matches
/// the variant; the implementation of [`Steps`] here chooses at every call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Collective {
    /// Allreduce, and barrier.
    Dissemination(allreduce::Dissemination),
    RecursiveDoubling(allreduce::RecursiveDoubling),
    Ring(allreduce::Ring),
    BinomialBroadcast(broadcast::Binomial),
    BinomialReduce(reduce::Binomial),
}

macro_rules! each {
    ($collective:expr, $steps:ident => $call:expr) => {
        match $collective {
            Collective::Dissemination($steps) => $call,
            Collective::RecursiveDoubling($steps) => $call,
            Collective::Ring($steps) => $call,
            Collective::BinomialBroadcast($steps) => $call,
            Collective::BinomialReduce($steps) => $call,
        }
    };
}

impl Steps for Collective {
    fn processes(&self) -> u32 {
        each!(self, steps => steps.processes())
    }

    fn stages(&self, rank: Rank) -> u32 {
        each!(self, steps => steps.stages(rank))
    }

    fn step(&self, rank: Rank, stage: u32) -> Step {
        each!(self, steps => steps.step(rank, stage))
    }

    fn largest_message(&self) -> u64 {
        each!(self, steps => steps.largest_message())
    }

    fn messages(&self) -> u64 {
        each!(self, steps => steps.messages())
    }
}
