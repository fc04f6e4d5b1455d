//! State while a trace is read: what its ranks share, and what was read of each.

use super::behind::InstructionPlace;
use super::collective::Collectives;
use super::error::TraceError;
use super::notes::Notes;
use super::options::Options;
use super::recording::{Awaited, Instruction, TracedRank};
use super::transfers::Transfers;
use std::collections::HashMap;
use straggler_model::{Rank, Tag, Time};
use straggler_trace::{Class, CommId, RankTrace, Trace};

/// State shared by all ranks while a trace is read.
#[derive(Debug)]
pub(super) struct Shared<'a> {
    /// For each communicator, whether processes that are not in the trace take part.
    pub reaches_out: Vec<bool>,
    pub trace: &'a Trace,
    pub options: Options,
    /// When the clock of the recording starts.
    pub origin: Time,
    pub collectives: Collectives,
    pub notes: Notes,
    /// For calls that create a communicator, by rank and call: when the last member entered.
    pub complete: HashMap<(Rank, u32), Time>,
    /// An intercommunicator has an id on each side; the smaller one stands for both.
    pub one_side: Vec<CommId>,
    pub tags: HashMap<(CommId, i64), Tag>,
    pub transfers: Transfers,
}

/// A rank after reading.
#[derive(Debug, Default)]
pub(super) struct ReadRank {
    pub recorded: TracedRank,
    /// Receives from any source or with any tag, in the order of their instructions.
    pub wild: Vec<WildReceive>,
    /// Receives whose message an earlier probe took, as (receive, probe), in the order of the receives.
    pub taken: Vec<(u32, u32)>,
}

impl ReadRank {
    /// The call that took the message of a receive: the receive itself, or an earlier probe.
    pub fn taken_at(&self, receive: u32) -> u32 {
        let found = self.taken.binary_search_by_key(&receive, |&(receive, _)| receive);
        found.map_or(receive, |place| self.taken[place].1)
    }
}

/// A receive with wildcards, and what it accepts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct WildReceive {
    pub instruction: u32,
    pub pattern: Pattern,
}

/// A thread of a rank while it is read.
#[derive(Debug, Default)]
pub(super) struct ReadThread {
    pub instructions: Vec<Instruction>,
    pub origins: Vec<u32>,
    pub waits: Vec<InstructionPlace>,
}

impl Shared<'_> {
    /// The id that stands for both sides of an intercommunicator.
    pub fn side(&self, comm: CommId) -> CommId {
        self.one_side.get(comm.index()).copied().unwrap_or(comm)
    }

    /// A number for a tag on a communicator, unique within the run.
    pub fn tag(&mut self, comm: CommId, tag: i64) -> Result<Tag, TraceError> {
        let side = self.side(comm);
        let next = self.tags.len();
        let tag = *self.tags.entry((side, tag)).or_insert(next as u32);
        // The replies to synchronous sends need as many tags again.
        if next < (u32::MAX / 4) as usize { Ok(tag) } else { Err(TraceError::TooManyTags) }
    }
}

/// Which messages a receive accepts. `None` means any source, or any tag.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Pattern {
    pub comm: CommId,
    pub from: Option<Rank>,
    pub tag: Option<i64>,
}

pub(super) fn init_exit(rank: &RankTrace) -> Option<Time> {
    rank.calls.iter().find(|call| call.function.class() == Class::Init).map(|call| call.exit)
}

/// Joins the threads of a rank into one list of instructions.
pub(super) fn assembled(
    rank: Rank,
    threads: Vec<ReadThread>,
    traced_end: Time,
) -> Result<ReadRank, TraceError> {
    let sizes: Vec<usize> = threads.iter().map(|thread| thread.instructions.len()).collect();
    let waits: usize = threads.iter().map(|thread| thread.waits.len()).sum();
    if sizes.iter().sum::<usize>().max(waits) >= u32::MAX as usize {
        return Err(TraceError::TooLong { rank });
    }
    let starts: Vec<u32> =
        sizes.iter().scan(0, |start, size| Some(std::mem::replace(start, *start + *size as u32))).collect();
    let mut read = ReadRank::default();
    read.recorded.traced_end = traced_end;
    let mut awaited = Vec::with_capacity(waits);
    for (number, mut thread) in threads.into_iter().enumerate() {
        let first_wait = read.recorded.waits.len() as u32;
        for instruction in &mut thread.instructions {
            if let Instruction::Wait { first, .. }
            | Instruction::Choose { first, .. }
            | Instruction::Poll { first, .. } = instruction
            {
                *first += first_wait;
            }
        }
        for place in &thread.waits {
            let instruction = starts.get(usize::from(place.thread)).map_or(0, |start| start + place.number);
            read.recorded.waits.push(instruction);
            let here = usize::from(place.thread) == number;
            awaited.push((instruction, if here { Awaited::Here } else { Awaited::Elsewhere }));
        }
        read.recorded.instructions.append(&mut thread.instructions);
        read.recorded.thread_ends.push(read.recorded.instructions.len() as u32);
        read.recorded.origins.append(&mut thread.origins);
    }
    for (instruction, by) in awaited {
        let instruction = read.recorded.instructions.get_mut(instruction as usize);
        if let Some(how) = instruction.and_then(Instruction::how_mut) {
            how.awaited = by;
        }
    }
    Ok(read)
}
