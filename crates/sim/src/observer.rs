//! Observers that record events while a program runs. Runs without an observer pay nothing.

use crate::release::Release;
use straggler_model::{Rank, Tag, Time};

/// The kind of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RanKind {
    Send {
        rendezvous: bool,
    },
    /// A receive was posted; `matched` if its message had already arrived.
    Recv {
        matched: bool,
    },
    Calc,
    /// A message ran on its receiver and completes this receive, if it was posted.
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
    /// The operation's number; for a message, the number of its send.
    pub id: u32,
    /// For sends and messages: the message's number on its source, if latencies are drawn.
    pub number: u32,
    pub cpu: u8,
    pub nic: u8,
    /// When it ran.
    pub t: Time,
    /// When the operation has completed.
    pub done: Time,
    /// When its CPU is free again; differs from `done` for overlapped receives.
    pub cpu_free: Time,
    /// When the NIC is free again, for sends and messages.
    pub nic_free: Time,
    /// The noise it contains.
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
    /// The same event with another cause.
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

/// Observes the events of some processes. Events of one process come in the order in which they
/// ran; the operations that an event releases are reported right after it.
pub trait Observer: Send + Sized {
    /// A stamp carried by messages, so that the receiver can name the cause.
    type Stamp: bytemuck::Pod + Default + Send;
    fn ran(&mut self, event: &Ran<Self::Stamp>) -> Self::Stamp;
    /// An operation of `rank` may run once its ready time has come.
    fn released(&mut self, rank: Rank, release: &Release);
    /// Whether it wants to know. If not, engines do not call the other two.
    #[inline(always)]
    fn is_active(&self) -> bool {
        true
    }
}

/// Observes nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nothing;

impl Observer for Nothing {
    type Stamp = ();
    #[inline(always)]
    fn ran(&mut self, _: &Ran<()>) {}
    #[inline(always)]
    fn released(&mut self, _: Rank, _: &Release) {}
    #[inline(always)]
    fn is_active(&self) -> bool {
        false
    }
}
