//! The state of a process of an implicit schedule between its events.

use crate::agenda::early_pool::{EarlyPool, Late};
use crate::agenda::step_ready::{self, CALC, RECV, SEND};
use crate::checkpoint::{Unsound, ensure};
use crate::host::OneLane;
use crate::message::{Body, Compact, Message};
use crate::order::Key;
use crate::rules;
use serde::{Deserialize, Serialize};
use straggler_model::Time;
use straggler_schedule::{Step, Then};

/// One process, in one cache line. On one CPU no operation completes after the CPU is free, so completion times need
/// not be stored.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[repr(C, align(64))]
pub struct Slot {
    pub(super) host: OneLane,
    /// When the operations of the step became ready, and when the event that released them ran; after the last step, when
    /// all of it had completed.
    pub(super) ready: Time,
    pub(super) created: Time,
    pub(super) phase: u32,
    pub(super) stage: u32,
    /// The ring of its early messages in the pool, 0 for none.
    pub(super) early: u32,
    pub(super) state: State,
}

/// The state of the operations of a step.
#[derive(Clone, Copy, Debug, Default, bytemuck::Pod, bytemuck::Zeroable, Serialize, Deserialize)]
#[repr(C, align(4))]
pub(super) struct State {
    /// Bits of the operations that have not run.
    pub(super) pending: u8,
    /// Bits of the operations that have not completed, and [`AFTER`].
    pub(super) open: u8,
    /// 1 if the receive waits for its message.
    pub(super) posted: u8,
    /// 1 if an operation of the step completed after the CPU was free; see [`super::Shared`].
    pub(super) late: u8,
}

impl State {
    /// A send and a receive are ready, and the step has nothing else.
    pub const EXCHANGES: State = State { pending: SEND | RECV, open: SEND | RECV, posted: 0, late: 0 };
    /// Only the message that the step receives is missing.
    pub const WAITS: State = State { pending: 0, open: RECV, posted: 1, late: 0 };

    /// Compares all bytes at once.
    #[inline(always)]
    pub fn is(self, other: State) -> bool {
        bytemuck::cast::<State, u32>(self) == bytemuck::cast::<State, u32>(other)
    }
}

const _: () = assert!(size_of::<Slot>() == 64);

/// Bit for the computation that ends a step, which is still to come; no kind of operation has this bit.
pub(super) const AFTER: u8 = 1;
const _: () = assert!(AFTER & (SEND | RECV | CALC) == 0);

impl Slot {
    /// Checks a process that was read: whether its operations are those of its step, or there are none if all steps are
    /// done. `acknowledged` of its sends have acknowledgements on their way, and `partial` of its receives wait for a last
    /// segment.
    pub(super) fn check(&self, step: Option<&Step>, acknowledged: u32, partial: u32) -> Result<(), Unsound> {
        let State { pending, open, posted, late } = self.state;
        let Some(step) = step else {
            let is_idle = (pending, open, posted, late, acknowledged) == (0, 0, 0, 0, 0);
            return ensure(is_idle, "a finished process has operations");
        };
        let (own, after) = Slot::operations(step);
        let is_ready = if open == AFTER { pending == CALC } else { pending & !(open & own) == 0 };
        let is_open = open != 0 && open & !(own | after) == 0 && open & after == after;
        let receives = open & RECV != 0 && pending & RECV == 0;
        let waits = u32::from(posted) + partial;
        let is_posted = waits == u32::from(receives);
        let sends = open & SEND != 0 && pending & SEND == 0;
        let fits = is_ready && is_open && is_posted && acknowledged <= u32::from(sends) && late <= 1;
        ensure(fits, "operations are not those of the step")
    }

    /// The bits of a step's operations, and of the computation that ends it.
    #[inline(always)]
    fn operations(step: &Step) -> (u8, u8) {
        let bit = |there: bool, bit: u8| if there { bit } else { 0 };
        let operations =
            bit(step.send.is_some(), SEND) | bit(step.recv.is_some(), RECV) | bit(step.calc.is_some(), CALC);
        (operations, bit(step.after > Time::ZERO, AFTER))
    }

    /// When the first local event may run.
    #[inline(always)]
    pub(super) fn next(&self) -> Time {
        step_ready::next(self.state.pending, self.ready, &self.host)
    }

    /// Keeps a message that no receive waits for.
    #[inline(always)]
    pub(super) fn keep(&mut self, pool: &mut EarlyPool, message: &Message<Compact, impl Copy>, late: Late) {
        let (from, body) = (message.from, message.body);
        self.early = pool.append(self.early, (from, body.tag()), body.bytes(), late);
    }

    /// The key of the first local event.
    pub(super) fn key(&self) -> Key {
        step_ready::key(self.state.pending, self.ready, self.created, &self.host)
    }

    /// Makes the operations of a step ready at `ready`, by an event that ran at `t`.
    #[inline(always)]
    pub(super) fn enter(&mut self, step: &Step, t: Time, ready: Time) {
        debug_assert_eq!(step.then, Then::Wait, "an overlapping step needs another actor");
        let (operations, after) = Slot::operations(step);
        debug_assert_ne!(operations, 0, "an empty step never completes");
        self.state.open = operations | after;
        self.release(operations, t, ready);
    }

    /// Makes operations ready at `ready`, by an event that ran at `t`.
    #[inline(always)]
    pub(super) fn release(&mut self, operations: u8, t: Time, ready: Time) {
        self.ready = ready;
        self.created = t;
        self.state.pending = operations;
    }

    /// If only a send, a receive or both are ready and run before `before`, returns when the last of them runs.
    #[inline(always)]
    pub(super) fn exchanges_at(&self, before: Time) -> Option<Time> {
        let pending = self.state.pending;
        if pending == 0 || pending >= CALC {
            return None;
        }
        let sends = pending & SEND != 0;
        let t = if sends { rules::send_eligible(&self.host, 0, 0, self.ready) } else { self.ready };
        (t < before).then_some(t)
    }
}
