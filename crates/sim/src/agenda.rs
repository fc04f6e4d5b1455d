//! What a process has ready to run, has posted and has received early.

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

use crate::checkpoint::Saved;
use crate::host::Host;
use crate::message::{Body, Early};
use crate::order::Key;
use crate::release::Release;
use straggler_model::{Rank, Tag, Time};
use straggler_schedule::OperationKind;

/// The local events of one process, and its matching of receives and messages.
pub trait Agenda: Default + Saved {
    /// What the agendas of neighbouring processes share.
    type Pool: Default + Saved;
    /// What messages between such processes carry.
    type Body: Body;

    /// An operation has become ready, released by an event that ran at `created`.
    fn release(&mut self, pool: &mut Self::Pool, release: &Release, created: Time, host: &impl Host);
    /// When the first local operation may run under the host's free times; [`Time::NEVER`]: there is none.
    fn next(&mut self, host: &impl Host) -> Time;
    /// The whole key of that operation, to settle a tie.
    fn key(&self, host: &impl Host) -> Key;
    /// Takes the operation that `next` has just found, at the time it gave.
    fn take(&mut self, pool: &mut Self::Pool, host: &impl Host, t: Time) -> (OperationKind, u32);
    /// Counts a send, where the order of sending cannot be told from where messages lie.
    fn count_send(&mut self) -> u32;
    /// Posts receive `id`; gives the message it matches if that has already arrived.
    fn post(&mut self, pool: &mut Self::Pool, id: u32, source: Rank, tag: Tag) -> Option<Early>;
    /// A message has run; gives the posted receive it matches, or keeps the message.
    fn arrive(
        &mut self,
        pool: &mut Self::Pool,
        early: Early,
        pattern: impl Fn(u32) -> (Rank, Tag),
    ) -> Option<u32>;

    /// Asks for memory that will be needed when the process runs, and gives the operation that is likely
    /// to complete then.
    fn prefetch(&self, pool: &Self::Pool) -> Option<u32>;

    /// Whether no operation is ready.
    fn is_idle(&self) -> bool;
    /// Receives that were posted and not matched.
    fn posted(&self, pool: &Self::Pool) -> Vec<u32>;
    /// Messages that were not received.
    fn unreceived(&self, pool: &Self::Pool) -> Vec<Early>;
}
