//! An implicit schedule whose steps wait for one another, as a program: rank, phase and stage are all it
//! remembers.

use crate::agenda::Batch;
use crate::host::OneLane;
use crate::program::Program;
use crate::release::Release;
use std::ops::Range;
use straggler_model::{Rank, Time};
use straggler_schedule::{Operation, OperationKind, Script, Step, Then};

/// The number of each operation of a step is its kind: at most one of each is there. The computation
/// after the rest of a step is alone then.
const SEND: u32 = OperationKind::Send as u32;
const CALC: u32 = OperationKind::Calc as u32;

/// Flags of a stage: a bit for each kind of operation that is outstanding, and one for the computation
/// after them.
const AFTER: u32 = 1 << CALC;
const FLAGS: u32 = 2 * AFTER - 1;
const FLAG_BITS: u32 = FLAGS.count_ones();

/// Where a process is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cursor {
    phase: u32,
    /// The low bits are the stage's flags.
    stage: u32,
}

impl Cursor {
    #[inline(always)]
    fn stage(&self) -> u32 {
        self.stage >> FLAG_BITS
    }

    #[inline(always)]
    fn flags(&self) -> u32 {
        self.stage & FLAGS
    }
}

/// A script without overlapping steps. On one CPU an operation has never completed after its CPU is free,
/// unless receives overlap, so that completions need not be remembered.
#[derive(Debug)]
pub struct StepProgram<'a, S: ?Sized> {
    script: &'a S,
}

impl<'a, S: Script + ?Sized> StepProgram<'a, S> {
    pub fn new(script: &'a S) -> Self {
        StepProgram { script }
    }

    #[inline(always)]
    fn step(&self, rank: Rank, cursor: &Cursor) -> Step {
        self.script.step(rank, cursor.phase, cursor.stage())
    }

    /// Enters the stage, or the first stage of the next phase that has any.
    #[inline(always)]
    fn go_to(&self, rank: Rank, cursor: &mut Cursor, stage: u32, release: &mut impl FnMut(Release)) {
        if stage < self.script.stages(rank, cursor.phase) {
            return self.enter(rank, cursor, stage, release);
        }
        cursor.phase += 1;
        while cursor.phase < self.script.phases() {
            if self.script.stages(rank, cursor.phase) > 0 {
                return self.enter(rank, cursor, 0, release);
            }
            cursor.phase += 1;
        }
    }

    /// Releases the operations of a stage of the cursor's phase.
    #[inline(always)]
    fn enter(&self, rank: Rank, cursor: &mut Cursor, stage: u32, release: &mut impl FnMut(Release)) {
        let step = self.script.step(rank, cursor.phase, stage);
        debug_assert_eq!(step.then, Then::Wait, "an overlapping step needs another program");
        let mut flags = if step.after > Time::ZERO { AFTER } else { 0 };
        let mut issue = |there: bool, kind: OperationKind| {
            if there {
                flags |= 1 << (kind as u32 - 1);
                release(released(kind));
            }
        };
        issue(step.send.is_some(), OperationKind::Send);
        issue(step.recv.is_some(), OperationKind::Recv);
        issue(step.calc.is_some(), OperationKind::Calc);
        debug_assert_ne!(flags & !AFTER, 0, "an empty step never completes");
        cursor.stage = stage << FLAG_BITS | flags;
    }
}

#[inline(always)]
fn released(kind: OperationKind) -> Release {
    Release { id: kind as u32, kind, cpu: 0, nic: 0, ready: Time::ZERO }
}

impl<S: Script + ?Sized> Program for StepProgram<'_, S> {
    type Host = OneLane;
    type Agenda = Batch;
    type Local = Cursor;
    type Block = ();

    fn processes(&self) -> u32 {
        self.script.processes()
    }

    fn largest_message(&self) -> u64 {
        self.script.largest_message()
    }

    fn block(&self, _: Range<Rank>) {}

    #[inline]
    fn start(&self, rank: Rank, cursor: &mut Cursor, _: &mut (), release: &mut impl FnMut(Release)) {
        if self.script.phases() > 0 {
            self.go_to(rank, cursor, 0, release);
        }
    }

    #[inline(always)]
    fn operation(&self, rank: Rank, cursor: &Cursor, _: &(), kind: OperationKind, _: u32) -> Operation {
        let step = self.step(rank, cursor);
        let operation = match kind {
            OperationKind::Send => step.send.map(|m| Operation::send(m.bytes, m.peer, m.tag)),
            OperationKind::Recv => step.recv.map(|m| Operation::recv(m.bytes, m.peer, m.tag)),
            OperationKind::Calc if cursor.flags() == AFTER => Some(Operation::calc(step.after)),
            OperationKind::Calc => step.calc.map(Operation::calc),
        };
        debug_assert!(operation.is_some(), "rank {rank}: {kind:?} is not part of {step:?}");
        operation.unwrap_or(Operation::calc(Time::ZERO))
    }

    #[inline(always)]
    fn started(&self, _: Rank, _: &mut Cursor, _: &mut (), _: u32, _: Time, _: &mut impl FnMut(Release)) {}

    #[inline(always)]
    fn completed(
        &self,
        rank: Rank,
        cursor: &mut Cursor,
        _: &mut (),
        id: u32,
        _: Time,
        release: &mut impl FnMut(Release),
    ) {
        debug_assert!((SEND..=CALC).contains(&id));
        if cursor.flags() != AFTER {
            cursor.stage &= !(1 << (id - 1));
            match cursor.flags() {
                0 => {}
                AFTER => return release(released(OperationKind::Calc)),
                _ => return,
            }
        }
        self.go_to(rank, cursor, cursor.stage() + 1, release);
    }

    fn finished(&self, _: Rank, cursor: &Cursor, _: &()) -> bool {
        cursor.phase >= self.script.phases()
    }
}
