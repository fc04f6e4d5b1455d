//! The ready operations, posted receives and early messages of a process.

mod batch;
pub(crate) mod early_pool;
mod lists;
mod matching;
mod pending;
mod queues;
mod ready_heaps;
mod step_queues;
pub(crate) mod step_ready;
pub(crate) mod two_heaps;
mod unordered;

pub use batch::Batch;
pub(crate) use queues::Pair;
pub use queues::{QueuePool, Queues};
pub use step_queues::StepQueues;

use crate::checkpoint::{Saved, Unsound};
use crate::host::Host;
use crate::message::{Body, Early};
use crate::order::Key;
use crate::release::Release;
use straggler_model::{Rank, Tag, Time};
use straggler_schedule::OperationKind;

/// The operations of a process that have been released and have not completed, as far as its own state tells.
#[derive(Debug, Default)]
pub struct InProgress {
    /// With their CPU and NIC.
    pub ready: Vec<(OperationKind, u32, [u8; 2])>,
    /// Receives that wait for their messages.
    pub posted: Vec<u32>,
    /// Sends whose acknowledgements are on their way.
    pub acknowledged: Vec<u32>,
}

impl InProgress {
    /// The number of operations.
    pub fn count(&self) -> usize {
        self.ready.len() + self.posted.len() + self.acknowledged.len()
    }
}

/// The local events of one process, and its matching of receives and messages.
pub trait Agenda: Default + Saved {
    /// Storage shared by the agendas of neighbouring processes.
    type Pool: Default + Saved;
    /// The body of messages between these processes.
    type Body: Body;

    /// An operation has become ready, released by an event that ran at `created`.
    fn release(&mut self, pool: &mut Self::Pool, release: &Release, created: Time, host: &impl Host);
    /// When the first local operation may run, given the host's free times; [`Time::NEVER`] if there is none.
    fn next(&mut self, host: &impl Host) -> Time;
    /// The full key of that operation, to break a tie.
    fn key(&self, host: &impl Host) -> Key;
    /// Takes the operation that `next` has just found, at the time it returned.
    fn take(&mut self, pool: &mut Self::Pool, host: &impl Host, t: Time) -> (OperationKind, u32);
    /// Returns a sequence number for a send, if the order of messages in memory does not give the order of
    /// sending.
    fn count_send(&mut self) -> u32;
    /// Posts receive `id`. Returns the matching message if it has already arrived.
    fn post(&mut self, pool: &mut Self::Pool, id: u32, source: Rank, tag: Tag) -> Option<Early>;
    /// Matches a message that has run. Returns the posted receive, or keeps the message if there is none.
    fn arrive(
        &mut self,
        pool: &mut Self::Pool,
        early: Early,
        pattern: impl Fn(u32) -> (Rank, Tag),
    ) -> Option<u32>;

    /// Prefetches memory that the process will need when it runs. Returns the operation that is likely to
    /// complete then.
    fn prefetch(&self, pool: &Self::Pool) -> Option<u32>;

    /// Checks the agendas of neighbouring processes and their pool, which were read from a checkpoint: lists, and what
    /// the agendas say about themselves.
    fn check<'a>(agendas: impl Iterator<Item = &'a Self>, pool: &Self::Pool) -> Result<(), Unsound>
    where
        Self: 'a;
    /// Whether no operation is ready.
    fn is_idle(&self) -> bool;
    /// The ready operations, each with its CPU and NIC.
    fn ready(&self, pool: &Self::Pool) -> Vec<(OperationKind, u32, [u8; 2])>;
    /// Posted receives without a message.
    fn posted(&self, pool: &Self::Pool) -> Vec<u32>;
    /// Messages without a receive.
    fn unreceived(&self, pool: &Self::Pool) -> Vec<Early>;
}
