//! An implicit schedule as a program: rank, cycle and stage are all it remembers.

use crate::host::OneLane;
use crate::program::{Program, Release};
use crate::windowed::Batch;
use std::marker::PhantomData;
use std::ops::Range;
use straggler_model::{Rank, Time};
use straggler_schedule::{Operation, OperationKind, Step, Steps};

/// The number of each operation of a step is its kind: at most one of each is there.
const SEND: u32 = OperationKind::Send as u32;
const CALC: u32 = OperationKind::Calc as u32;

/// Remembers, or not, when the operations of a step have completed. On one CPU that is never after the
/// CPU is free, except with overlapped receives.
pub trait Tracking: Copy + Default + Send + Sync {
    fn note(&mut self, done: Time);
    fn latest(&self) -> Time;
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Untracked;

impl Tracking for Untracked {
    #[inline(always)]
    fn note(&mut self, _: Time) {}
    #[inline(always)]
    fn latest(&self) -> Time {
        Time::ZERO
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Tracked(Time);

impl Tracking for Tracked {
    fn note(&mut self, done: Time) {
        self.0 = self.0.max(done);
    }
    fn latest(&self) -> Time {
        self.0
    }
}

/// Where a process is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cursor<T> {
    cycle: u32,
    /// The low three bits tell which operations of the stage are outstanding.
    stage: u32,
    completions: T,
}

impl<T> Cursor<T> {
    #[inline(always)]
    fn stage(&self) -> u32 {
        self.stage >> 3
    }
}

/// `cycles` repetitions of an implicit schedule, each after `compute` time of computation.
#[derive(Debug)]
pub struct StepProgram<'a, S, T> {
    steps: &'a S,
    cycles: u32,
    compute: Time,
    /// How many stages a cycle has before those of the schedule: one if there is a computation.
    lead: u32,
    tracking: PhantomData<T>,
}

impl<'a, S: Steps, T: Tracking> StepProgram<'a, S, T> {
    pub fn new(steps: &'a S, cycles: u32, compute: Time) -> Self {
        StepProgram { steps, cycles, compute, lead: u32::from(compute > Time::ZERO), tracking: PhantomData }
    }

    #[inline(always)]
    fn stages(&self, rank: Rank) -> u32 {
        self.steps.stages(rank) + self.lead
    }

    #[inline(always)]
    fn step(&self, rank: Rank, stage: u32) -> Step {
        if stage < self.lead { Step::calc(self.compute) } else { self.steps.step(rank, stage - self.lead) }
    }

    /// Releases the operations of the cursor's stage.
    #[inline(always)]
    fn enter(&self, rank: Rank, cursor: &mut Cursor<T>, stage: u32, release: &mut impl FnMut(Release)) {
        let step = self.step(rank, stage);
        let ready = cursor.completions.latest();
        let mut outstanding = 0;
        let mut issue = |there: bool, kind: OperationKind| {
            if there {
                outstanding |= 1 << (kind as u32 - 1);
                release(Release { id: kind as u32, kind, cpu: 0, nic: 0, ready });
            }
        };
        issue(step.send.is_some(), OperationKind::Send);
        issue(step.recv.is_some(), OperationKind::Recv);
        issue(step.calc.is_some(), OperationKind::Calc);
        debug_assert_ne!(outstanding, 0, "an empty step never completes");
        cursor.stage = stage << 3 | outstanding;
    }
}

impl<S: Steps, T: Tracking> Program for StepProgram<'_, S, T> {
    type Host = OneLane;
    type Agenda = Batch;
    type Local = Cursor<T>;
    type Block = ();

    fn processes(&self) -> u32 {
        self.steps.processes()
    }

    fn largest_message(&self) -> u64 {
        self.steps.largest_message()
    }

    fn block(&self, _: Range<Rank>) {}

    #[inline]
    fn start(&self, rank: Rank, cursor: &mut Cursor<T>, _: &mut (), release: &mut impl FnMut(Release)) {
        if self.cycles == 0 || self.stages(rank) == 0 {
            cursor.cycle = self.cycles;
        } else {
            self.enter(rank, cursor, 0, release);
        }
    }

    #[inline(always)]
    fn operation(&self, rank: Rank, cursor: &Cursor<T>, kind: OperationKind, _: u32) -> Operation {
        let step = self.step(rank, cursor.stage());
        let operation = match kind {
            OperationKind::Send => step.send.map(|m| Operation::send(m.bytes, m.peer, m.tag)),
            OperationKind::Recv => step.recv.map(|m| Operation::recv(m.bytes, m.peer, m.tag)),
            OperationKind::Calc => step.calc.map(Operation::calc),
        };
        debug_assert!(operation.is_some(), "rank {rank}: {kind:?} is not part of {step:?}");
        operation.unwrap_or(Operation::calc(Time::ZERO))
    }

    #[inline(always)]
    fn started(&self, _: Rank, _: &mut Cursor<T>, _: &mut (), _: u32, _: Time, _: &mut impl FnMut(Release)) {}

    #[inline(always)]
    fn completed(
        &self,
        rank: Rank,
        cursor: &mut Cursor<T>,
        _: &mut (),
        id: u32,
        done: Time,
        release: &mut impl FnMut(Release),
    ) {
        debug_assert!((SEND..=CALC).contains(&id));
        cursor.completions.note(done);
        cursor.stage &= !(1 << (id - 1));
        if cursor.stage & 7 != 0 {
            return;
        }
        let next = cursor.stage() + 1;
        if next < self.stages(rank) {
            self.enter(rank, cursor, next, release);
        } else {
            cursor.cycle += 1;
            if cursor.cycle < self.cycles {
                self.enter(rank, cursor, 0, release);
            }
        }
    }

    fn finished(&self, _: Rank, cursor: &Cursor<T>, _: &()) -> bool {
        cursor.cycle == self.cycles
    }

    fn last_completion(&self, _: Rank, cursor: &Cursor<T>, _: &()) -> Time {
        cursor.completions.latest()
    }
}
