//! What one process does next, given what has happened to it.

use crate::agenda::Agenda;
use crate::checkpoint::Saved;
use crate::host::Host;
use crate::release::{Arrived, Release};
use std::ops::Range;
use straggler_model::{Rank, Tag, Time};
use straggler_schedule::{Operation, OperationKind};

/// The tag of a computation that is none: it takes no time and no noise falls on it. A program releases it to be told that a
/// time has come, or the time after that at which its CPU is free.
pub const MOMENT: Tag = Tag::MAX;

/// A message-passing program. Engines are generic over it, so that a call costs what its body costs.
///
/// What a program remembers of a process is in two places: `Local` lies with the process's other state
/// in one cache line, and `Block` holds what a run of neighbouring ranks keeps elsewhere.
pub trait Program: Sync {
    type Host: Host;
    type Agenda: Agenda;
    type Local: Copy + Default + Saved;
    type Block: Saved;

    /// Whether a process keeps memory beyond its slot, so that asking for it ahead pays even where
    /// neighbouring processes run one after the other.
    const SCATTERED: bool = false;

    /// Whether the program takes every message as it comes, by [`Program::arrived`], instead of receiving
    /// it: what it does next may depend on what has arrived.
    const TAKES_ARRIVALS: bool = false;

    /// Whether what the program does next may depend on when things complete and whose message it was: it is told the latter
    /// by [`Program::matched`], and may ask for a [`MOMENT`].
    const DECIDES: bool = false;

    fn processes(&self) -> u32;
    /// The largest message, to know whether rendezvous can happen.
    fn largest_message(&self) -> u64;
    fn block(&self, ranks: Range<Rank>) -> Self::Block;

    /// Releases what is ready at the start.
    fn start(
        &self,
        rank: Rank,
        local: &mut Self::Local,
        block: &mut Self::Block,
        release: &mut impl FnMut(Release),
    );
    /// The operation, of the given kind, behind a number that was released and has not completed.
    fn operation(
        &self,
        rank: Rank,
        local: &Self::Local,
        block: &Self::Block,
        kind: OperationKind,
        id: u32,
    ) -> Operation;
    /// Operation `id` has started at `at`; releases what waited for that.
    fn started(
        &self,
        rank: Rank,
        local: &mut Self::Local,
        block: &mut Self::Block,
        id: u32,
        at: Time,
        release: &mut impl FnMut(Release),
    );
    /// Operation `id` has completed, or will at `done`; releases what waited for that.
    fn completed(
        &self,
        rank: Rank,
        local: &mut Self::Local,
        block: &mut Self::Block,
        id: u32,
        done: Time,
        release: &mut impl FnMut(Release),
    );
    /// A message has arrived and its overhead is paid at `done`; releases what that makes possible.
    #[inline(always)]
    fn arrived(
        &self,
        _rank: Rank,
        _local: &mut Self::Local,
        _block: &mut Self::Block,
        _message: Arrived,
        _done: Time,
        _release: &mut impl FnMut(Release),
    ) {
    }
    /// Receive `id` takes a message of `from`, which had to wait for the CPU or the NIC so long; its completion follows.
    #[inline(always)]
    fn matched(
        &self,
        _rank: Rank,
        _local: &mut Self::Local,
        _block: &mut Self::Block,
        _id: u32,
        _from: Rank,
        _delay: Time,
    ) {
    }
    /// Asks for the memory that the completion of operation `id` will need.
    #[inline(always)]
    fn prefetch(&self, _rank: Rank, _block: &Self::Block, _id: u32) {}
    /// Whether everything the process had to do has completed.
    fn finished(&self, rank: Rank, local: &Self::Local, block: &Self::Block) -> bool;
    /// The operations of an unfinished process that have not started.
    fn unstarted(&self, _rank: Rank, _block: &Self::Block, _tell: &mut dyn FnMut(&Operation)) {}
    /// The latest completion seen, where that can lie beyond the free time of the CPUs.
    fn last_completion(&self, _rank: Rank, _local: &Self::Local, _block: &Self::Block) -> Time {
        Time::ZERO
    }
}
