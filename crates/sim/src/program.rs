//! Programs: what a process does next, given what has happened to it.

use crate::agenda::{Agenda, InProgress};
use crate::checkpoint::{Saved, Unsound};
use crate::host::Host;
use crate::release::{Arrived, Release};
use std::ops::Range;
use straggler_model::{Rank, Tag, Time};
use straggler_schedule::{Operation, OperationKind};

/// The tag of a pseudo-computation that takes no time and suffers no noise. A program releases one to be called at
/// its ready time, or when its CPU is free after that.
pub const MOMENT: Tag = Tag::MAX;

/// A message-passing program. Engines are generic over it, so that calls are inlined.
///
/// The state of a process is in two places: `Local` is stored with the process's other state in one cache line, and
/// `Block` holds the rest for a range of neighbouring ranks.
pub trait Program: Sync {
    type Host: Host;
    type Agenda: Agenda;
    type Local: Copy + Default + Saved;
    type Block: Saved;

    /// Whether a process uses memory outside its slot, so that prefetching pays even if neighbouring processes run
    /// one after the other.
    const SCATTERED: bool = false;

    /// Whether the program takes every message on arrival, by [`Program::arrived`], instead of posting receives. What
    /// it does next may depend on what has arrived.
    const TAKES_ARRIVALS: bool = false;

    /// Whether what the program does next may depend on completion times and on the sources of messages.
    /// [`Program::matched`] tells it the source, and it may release a [`MOMENT`].
    const DECIDES: bool = false;

    fn processes(&self) -> u32;
    /// The size of the largest message, which decides whether rendezvous can happen.
    fn largest_message(&self) -> u64;
    fn block(&self, ranks: Range<Rank>) -> Self::Block;

    /// Releases the operations that are ready at the start.
    fn start(
        &self,
        rank: Rank,
        local: &mut Self::Local,
        block: &mut Self::Block,
        release: &mut impl FnMut(Release),
    );
    /// The operation of the given kind and number, which was released and has not completed.
    fn operation(
        &self,
        rank: Rank,
        local: &Self::Local,
        block: &Self::Block,
        kind: OperationKind,
        id: u32,
    ) -> Operation;
    /// Operation `id` has started at `at`. Releases the operations that waited for the start.
    fn started(
        &self,
        rank: Rank,
        local: &mut Self::Local,
        block: &mut Self::Block,
        id: u32,
        at: Time,
        release: &mut impl FnMut(Release),
    );
    /// Operation `id` has completed, or will at `done`. Releases the operations that waited for it.
    fn completed(
        &self,
        rank: Rank,
        local: &mut Self::Local,
        block: &mut Self::Block,
        id: u32,
        done: Time,
        release: &mut impl FnMut(Release),
    );
    /// A message has arrived, and its overhead ends at `done`. Releases the operations that it makes possible.
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
    /// Receive `id` takes a message from `from`, which waited for the CPU or the NIC for `delay`. The completion
    /// follows.
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
    /// Prefetches the memory that the completion of operation `id` will need.
    #[inline(always)]
    fn prefetch(&self, _rank: Rank, _block: &Self::Block, _id: u32) {}
    /// Checks the states of some neighbouring processes, which were read from a checkpoint, against the operations that
    /// each has in progress.
    fn check(
        &self,
        ranks: Range<Rank>,
        locals: &[Self::Local],
        block: &Self::Block,
        in_progress: &[InProgress],
    ) -> Result<(), Unsound>;
    /// Whether a message that was read can be one to process `to`.
    fn can_arrive(&self, _to: &Self::Local, _message: Arrived) -> bool {
        true
    }
    /// Whether a process can have a send with this number.
    fn has_send(&self, rank: Rank, id: u32) -> bool;
    /// Whether everything the process had to do has completed.
    fn finished(&self, rank: Rank, local: &Self::Local, block: &Self::Block) -> bool;
    /// The operations of an unfinished process that have not started.
    fn unstarted(&self, _rank: Rank, _block: &Self::Block, _tell: &mut dyn FnMut(&Operation)) {}
    /// The latest completion so far, for programs in which it can be after the CPUs are free.
    fn last_completion(&self, _rank: Rank, _local: &Self::Local, _block: &Self::Block) -> Time {
        Time::ZERO
    }
}
