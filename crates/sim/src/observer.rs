//! What is recorded while a program runs. An observer that is not asked for costs nothing.

use crate::release::Release;
use straggler_model::{Rank, Tag, Time};

/// What an event was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RanKind {
    Send {
        rendezvous: bool,
    },
    /// A receive was posted; `matched` when its message had already arrived.
    Recv {
        matched: bool,
    },
    Calc,
    /// A message ran on its receiver; it completes this receive if that was posted.
    Message {
        completes: Option<u32>,
    },
    Acknowledgement,
}

/// One event that ran.
#[derive(Clone, Copy, Debug)]
pub struct Ran<S> {
    pub what: RanKind,
    pub rank: Rank,
    /// The operation's number; of a message, that of the send.
    pub id: u32,
    /// Of a send and of a message: its number on its source, where latencies are drawn.
    pub number: u32,
    pub cpu: u8,
    pub nic: u8,
    /// When it ran.
    pub t: Time,
    /// When what it did has completed.
    pub done: Time,
    /// When its CPU is free again; differs from `done` for overlapped receives.
    pub cpu_free: Time,
    /// When the NIC is free again, for sends and messages.
    pub nic_free: Time,
    /// The noise in it.
    pub noise: Time,
    /// Bytes of a message, picoseconds of a computation.
    pub amount: u64,
    pub peer: Rank,
    pub tag: Tag,
    /// When a message or an acknowledgement arrived.
    pub arrival: Time,
    /// The stamp of the remote event that caused a message or an acknowledgement.
    pub cause: S,
}

impl<S> Ran<S> {
    /// The same event, its cause named otherwise.
    pub fn with_cause<T>(&self, cause: T) -> Ran<T> {
        let &Ran {
            what,
            rank,
            id,
            number,
            cpu,
            nic,
            t,
            done,
            cpu_free,
            nic_free,
            noise,
            amount,
            peer,
            tag,
            arrival,
            ..
        } = self;
        Ran {
            what,
            rank,
            id,
            number,
            cpu,
            nic,
            t,
            done,
            cpu_free,
            nic_free,
            noise,
            amount,
            peer,
            tag,
            arrival,
            cause,
        }
    }
}

/// Watches the events of some processes. Events of one process come in the order in which they ran;
/// the operations that an event releases are told right after it.
pub trait Observer: Send + Sized {
    const ACTIVE: bool;
    /// What a message carries so that its receiver can name its cause.
    type Stamp: bytemuck::Pod + Default + Send;
    fn ran(&mut self, event: &Ran<Self::Stamp>) -> Self::Stamp;
    /// An operation of `rank` may run once its ready time has come.
    fn released(&mut self, rank: Rank, release: &Release);
}

/// Observes nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nothing;

impl Observer for Nothing {
    const ACTIVE: bool = false;
    type Stamp = ();
    #[inline(always)]
    fn ran(&mut self, _: &Ran<()>) {}
    #[inline(always)]
    fn released(&mut self, _: Rank, _: &Release) {}
}
