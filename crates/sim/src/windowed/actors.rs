//! The interface between the windowed engine and the processes it runs.
//!
//! Blocks, calendars and the exchange of messages are the same for every program. How a process runs through a window
//! is not: [`super::general`] runs any program in the model's full generality, [`super::stepping`] runs implicit
//! steps with hardly more than the arithmetic of the rules.

use super::calendar::Chunks;
use super::frame::Frame;
use super::mail::{Mail, One};
use super::outgoing::Outgoing;
use crate::checkpoint::{Saved, Unsound};
use crate::host::Host;
use crate::lanes::Lanes;
use crate::latency::Latency;
use crate::message::{Body, Message, Stamp};
use crate::outcome::{Remains, RunError};
use crate::rules::Rules;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use straggler_model::{Rank, Time};
use straggler_noise::Noise;

/// The processes of a run and how each runs through a window. A process runs independently there: nothing that others
/// do in the same window can reach it.
pub(super) trait Actors: Sync {
    type Noise: Noise;
    type Latency: Latency;
    type Host: Host;
    type Body: Body;
    /// The observer's stamp on a message, and its number if latencies are drawn.
    type Stamp: Stamp;
    /// The observer of the processes of one part.
    type Observer: Send;
    /// One process.
    type Slot: Saved;
    /// State of neighbouring processes outside their slots.
    type Shared: Saved;

    /// Whether a process uses memory outside its slot, so that prefetching pays even if neighbouring processes run
    /// one after the other.
    const SCATTERED: bool;

    fn processes(&self) -> u32;
    /// The size of the largest message.
    fn largest_message(&self) -> u64;
    fn rules(&self) -> &Rules<'_, Self::Noise, Self::Latency>;
    fn slot(&self) -> Self::Slot;
    fn shared(&self, ranks: Range<Rank>) -> Self::Shared;
    fn host(slot: &Self::Slot) -> &Self::Host;
    /// Checks the states of some neighbouring processes, which were read from a checkpoint, and the messages on their way
    /// to them.
    fn check(
        &self,
        ranks: Range<Rank>,
        slots: &[Self::Slot],
        shared: &Self::Shared,
        arriving: &[MessageOf<Self>],
    ) -> Result<(), Unsound>;
    /// Whether the messages of a process run in the order of arrival, then of source. True if there is one lane, all
    /// links are equal and nothing is acknowledged.
    fn in_order_of_arrival(&self) -> bool {
        false
    }

    /// Makes the first operations of a process ready.
    fn start(&self, process: Process<'_, Self>, turn: &mut Turn<'_, Self>);
    /// Runs the events of a process in order up to the end of the window. Returns the time of the next local event,
    /// by [`Frame::newly_due`].
    fn run(
        &self,
        process: Process<'_, Self>,
        turn: &mut Turn<'_, Self>,
        mail: &mut impl Mail<Self::Body, Self::Stamp>,
    ) -> Time;
    /// Like [`Actors::run`] with one message; also returns whether the message has run.
    #[inline(always)]
    fn run_one(
        &self,
        process: Process<'_, Self>,
        turn: &mut Turn<'_, Self>,
        message: &MessageOf<Self>,
    ) -> (Time, bool) {
        let mut mail = One(Some(message));
        let next = self.run(process, turn, &mut mail);
        (next, mail.is_empty())
    }
    /// Like [`Actors::run`] without messages.
    #[inline(always)]
    fn run_alone(&self, process: Process<'_, Self>, turn: &mut Turn<'_, Self>) -> Time {
        self.run(process, turn, &mut One(None))
    }
    /// Prefetches the memory a process will need when it runs; its slot is in the cache by now.
    fn prefetch(&self, rank: Rank, slot: &Self::Slot, shared: &Self::Shared);
    /// Returns when a process has finished, and adds what it leaves behind to `remains`.
    fn conclude(&self, rank: Rank, slot: &Self::Slot, shared: &Self::Shared, remains: &mut Remains) -> Time;
}

/// The messages of a run.
pub(super) type MessageOf<A> = Message<<A as Actors>::Body, <A as Actors>::Stamp>;

/// A process that is running.
pub(super) struct Process<'a, A: Actors + ?Sized> {
    pub rank: Rank,
    pub slot: &'a mut A::Slot,
    pub shared: &'a mut A::Shared,
}

/// State outside a process that it may use while it runs.
pub(super) struct Turn<'a, A: Actors + ?Sized> {
    pub frame: Frame,
    pub outgoing: &'a mut Outgoing<MessageOf<A>>,
    pub chunks: &'a mut Chunks<MessageOf<A>>,
    pub lanes: &'a mut Lanes,
    pub latency: A::Latency,
    /// Messages that leave their host over shared links.
    pub launched: &'a mut Vec<MessageOf<A>>,
    pub observer: &'a mut A::Observer,
    pub stop: &'a AtomicBool,
    pub processes: u32,
    /// Messages that ran on their receivers.
    pub messages: u64,
    /// Local operations that ran.
    pub operations: u64,
    pub error: Option<RunError>,
}

/// The stop flag is checked after this many operations, since a window may be long.
const CHECK: u64 = 1 << 20;

impl<A: Actors + ?Sized> Turn<'_, A> {
    /// Whether `time` is within the range of simulated time.
    #[inline(always)]
    pub fn check_time(&mut self, time: Time) -> bool {
        if time == Time::NEVER {
            self.error = Some(RunError::TimeOverflow);
        }
        time != Time::NEVER
    }

    /// Counts a local operation; returns whether the run continues.
    #[inline(always)]
    pub fn count_operation(&mut self) -> bool {
        self.operations += 1;
        if self.operations.is_multiple_of(CHECK) && self.stop.load(Ordering::Relaxed) {
            self.error = Some(RunError::Interrupted);
            return false;
        }
        true
    }

    /// Sends a message.
    #[inline(always)]
    pub fn post(&mut self, message: MessageOf<A>) {
        let (to, body) = (message.to, message.body);
        if to >= self.processes {
            return self.refuse(message.from, to);
        }
        if let Some(fabric) = self.latency.fabric()
            && !body.is_acknowledgement()
            && !fabric.together(message.from, to)
        {
            return self.launched.push(message);
        }
        let soon = Time(message.arrival) < self.frame.next_until;
        self.outgoing.push(self.chunks, to >> self.frame.shift, soon, message);
    }

    /// Like [`Turn::post`], for a message that is known to arrive in the next window, unless time overflows.
    #[inline(always)]
    pub fn post_soon(&mut self, message: MessageOf<A>) {
        debug_assert!(message.arrival < self.frame.next_until.ps() || message.arrival == Time::NEVER.ps());
        if message.to >= self.processes {
            return self.refuse(message.from, message.to);
        }
        self.outgoing.push_soon(self.chunks, message.to >> self.frame.shift, message);
    }

    #[cold]
    fn refuse(&mut self, rank: Rank, peer: Rank) {
        self.error = Some(RunError::PeerOutOfRange { rank, peer, processes: self.processes });
    }
}
