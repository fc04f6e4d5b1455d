//! An implicit schedule with nonblocking calls, as a program: several steps may be in progress at once.

use super::tracking::Tracking;
use crate::agenda::{InProgress, StepQueues};
use crate::checkpoint::{Unsound, ensure};
use crate::host::OneLane;
use crate::program::Program;
use crate::release::Release;
use serde::{Deserialize, Serialize};
use std::marker::PhantomData;
use std::ops::Range;
use straggler_model::{Rank, Time};
use straggler_schedule::{Operation, OperationKind, Script, Step, Then};

/// The position of a process. The operations of its phase are numbered by stage and place in the step,
/// in order of appearance.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Cursor<T> {
    phase: u32,
    /// The last stage that was entered.
    stage: u32,
    /// Operations of this and earlier stages that have not completed.
    open: u32,
    /// Operations of the stage that have not started.
    unstarted: u8,
    /// Whether the next stage waits for all open operations.
    waits: bool,
    /// Whether a computation follows when no operation is open any more.
    after: bool,
    completions: T,
}

/// Operations of a step by their place in it; the last is the computation after the others.
const PLACES: u32 = 4;
const AFTER: u32 = 3;

/// More operations than this are never open at once.
const MOST_OPEN: usize = u32::MAX as usize / 2;

#[inline(always)]
fn place_of(kind: OperationKind) -> u32 {
    kind as u32 - 1
}

/// A program that runs any script.
#[derive(Debug)]
pub struct OverlappingProgram<'a, S: ?Sized, T> {
    script: &'a S,
    tracking: PhantomData<T>,
}

impl<'a, S: Script + ?Sized, T: Tracking> OverlappingProgram<'a, S, T> {
    pub fn new(script: &'a S) -> Self {
        OverlappingProgram { script, tracking: PhantomData }
    }

    /// Enters the stage, or the first stage of the next phase that has any.
    #[inline]
    fn go_to(
        &self,
        rank: Rank,
        cursor: &mut Cursor<T>,
        stage: u32,
        ready: Time,
        release: &mut impl FnMut(Release),
    ) {
        if stage < self.script.stages(rank, cursor.phase) {
            return self.enter(rank, cursor, stage, ready, release);
        }
        debug_assert_eq!(cursor.open, 0, "a phase ends when all of it has completed");
        cursor.phase += 1;
        while cursor.phase < self.script.phases() {
            if self.script.stages(rank, cursor.phase) > 0 {
                return self.enter(rank, cursor, 0, ready, release);
            }
            cursor.phase += 1;
        }
    }

    #[inline]
    fn enter(
        &self,
        rank: Rank,
        cursor: &mut Cursor<T>,
        stage: u32,
        ready: Time,
        release: &mut impl FnMut(Release),
    ) {
        let step = self.script.step(rank, cursor.phase, stage);
        let mut count = 0;
        let mut issue = |there: bool, kind: OperationKind| {
            if there {
                count += 1;
                release(Release { id: stage * PLACES + place_of(kind), kind, cpu: 0, nic: 0, ready });
            }
        };
        issue(step.send.is_some(), OperationKind::Send);
        issue(step.recv.is_some(), OperationKind::Recv);
        issue(step.calc.is_some(), OperationKind::Calc);
        debug_assert_ne!(count, 0, "an empty step never completes");
        cursor.stage = stage;
        cursor.open += u32::from(count);
        cursor.unstarted = count;
        cursor.waits = step.then == Then::Wait;
        cursor.after = step.after > Time::ZERO;
    }

    #[inline(always)]
    fn step(&self, rank: Rank, cursor: &Cursor<T>, id: u32) -> Step {
        self.script.step(rank, cursor.phase, id / PLACES)
    }
}

impl<S: Script + ?Sized, T: Tracking> Program for OverlappingProgram<'_, S, T> {
    type Host = OneLane;
    type Agenda = StepQueues;
    type Local = Cursor<T>;
    type Block = ();

    fn processes(&self) -> u32 {
        self.script.processes()
    }

    fn largest_message(&self) -> u64 {
        self.script.largest_message()
    }

    fn block(&self, _: Range<Rank>) {}

    fn start(&self, rank: Rank, cursor: &mut Cursor<T>, _: &mut (), release: &mut impl FnMut(Release)) {
        if self.script.phases() > 0 {
            self.go_to(rank, cursor, 0, Time::ZERO, release);
        }
    }

    #[inline]
    fn operation(&self, rank: Rank, cursor: &Cursor<T>, _: &(), kind: OperationKind, id: u32) -> Operation {
        let step = self.step(rank, cursor, id);
        let operation = step.operation(kind, id % PLACES == AFTER);
        debug_assert!(operation.is_some(), "rank {rank}: {kind:?} is not part of {step:?}");
        operation.unwrap_or(Operation::calc(Time::ZERO))
    }

    #[inline]
    fn started(
        &self,
        rank: Rank,
        cursor: &mut Cursor<T>,
        _: &mut (),
        id: u32,
        at: Time,
        release: &mut impl FnMut(Release),
    ) {
        if id / PLACES != cursor.stage || id % PLACES == AFTER {
            return;
        }
        cursor.unstarted -= 1;
        if cursor.unstarted == 0 && !cursor.waits {
            self.go_to(rank, cursor, cursor.stage + 1, at, release);
        }
    }

    #[inline]
    fn completed(
        &self,
        rank: Rank,
        cursor: &mut Cursor<T>,
        _: &mut (),
        _: u32,
        done: Time,
        release: &mut impl FnMut(Release),
    ) {
        cursor.completions.note(done);
        cursor.open -= 1;
        if cursor.open > 0 || !cursor.waits {
            return;
        }
        let ready = cursor.completions.latest();
        if cursor.after {
            cursor.after = false;
            cursor.open = 1;
            let id = cursor.stage * PLACES + AFTER;
            return release(Release { id, kind: OperationKind::Calc, cpu: 0, nic: 0, ready });
        }
        self.go_to(rank, cursor, cursor.stage + 1, ready, release);
    }

    fn check(
        &self,
        ranks: Range<Rank>,
        cursors: &[Cursor<T>],
        _: &(),
        in_progress: &[InProgress],
    ) -> Result<(), Unsound> {
        for ((rank, cursor), in_progress) in ranks.zip(cursors).zip(in_progress) {
            if cursor.phase >= self.script.phases() {
                ensure(in_progress.count() == 0 && cursor.open == 0, "a finished process has operations")?;
                continue;
            }
            ensure(cursor.stage < self.script.stages(rank, cursor.phase), "there is no such stage")?;
            let ready = in_progress.ready.iter().map(|&(kind, id, _)| (kind, id));
            let posted = in_progress.posted.iter().map(|&id| (OperationKind::Recv, id));
            let (mut known, mut unstarted, mut is_after) = (Vec::new(), 0, false);
            for (kind, id) in ready.chain(posted) {
                let is_last = id % PLACES == AFTER;
                ensure(id / PLACES <= cursor.stage, "an operation is ready before its stage")?;
                let operation = self.step(rank, cursor, id).operation(kind, is_last);
                ensure(
                    operation.is_some() && (is_last || id % PLACES == place_of(kind)),
                    "there is no such operation",
                )?;
                known.push(id);
                is_after |= is_last;
            }
            for &(_, id, _) in &in_progress.ready {
                unstarted += u8::from(id / PLACES == cursor.stage && id % PLACES != AFTER);
            }
            known.sort_unstable();
            ensure(known.windows(2).all(|two| two[0] != two[1]), "an operation is in progress twice")?;
            // Others may be sends without an acknowledgement.
            let open = cursor.open as usize;
            ensure(
                open >= in_progress.count().max(1) && open <= MOST_OPEN,
                "the number of open operations is wrong",
            )?;
            let step = self.script.step(rank, cursor.phase, cursor.stage);
            let is_last = is_after && open == 1;
            let fits = cursor.unstarted == unstarted
                && cursor.waits == (step.then == Then::Wait)
                && cursor.after == (step.after > Time::ZERO && !is_after)
                && (!is_after || is_last);
            ensure(fits, "a stage is not where its operations are")?;
        }
        Ok(())
    }

    fn has_send(&self, _: Rank, _: u32) -> bool {
        true
    }

    fn finished(&self, _: Rank, cursor: &Cursor<T>, _: &()) -> bool {
        cursor.phase >= self.script.phases()
    }

    fn last_completion(&self, _: Rank, cursor: &Cursor<T>, _: &()) -> Time {
        cursor.completions.latest()
    }
}
