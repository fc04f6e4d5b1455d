//! Whether states that were read from a checkpoint can be those of a replay.

use super::decider::{Decider, PollKind};
use super::state::{Process, Thread, UnderWay, Wanted};
use super::{AFTER, Processes, Replay, place_of};
use crate::agenda::InProgress;
use crate::checkpoint::{Unsound, ensure};
use std::ops::Range;
use straggler_model::{Rank, Time};
use straggler_schedule::traced::{Instruction, PLACES, TracedRank};
use straggler_schedule::{OperationKind, Step, Then};

/// An operation in progress: its kind, its number on its thread, and whether it is ready.
type Local = (OperationKind, u32, bool);

/// No count gets as far as this.
const MOST: u32 = u32::MAX / 2;

impl Replay<'_> {
    pub(super) fn check_processes(
        &self,
        ranks: Range<Rank>,
        block: &Processes,
        in_progress: &[InProgress],
    ) -> Result<(), Unsound> {
        let fits = block.first == ranks.start && block.states.len() == ranks.len();
        ensure(fits, "the processes are others")?;
        for ((rank, process), in_progress) in ranks.zip(&block.states).zip(in_progress) {
            let recorded = self.playback.rank(rank);
            let decides = self.playback.recording().decides();
            let new = Process::new(recorded, decides, self.keeper.is_some());
            let shape = |process: &Process| {
                (process.threads.len(), process.decider.is_some(), process.kept.is_some())
            };
            ensure(shape(process) == shape(&new), "a process has other threads")?;
            let by_thread = self.by_thread(process, in_progress)?;
            for ((thread, new), own) in process.threads.iter().zip(&new.threads).zip(&by_thread) {
                let is_own = (thread.start(), thread.end) == (new.start(), new.end)
                    && (thread.start()..=thread.end).contains(&thread.cursor);
                ensure(is_own, "a thread is outside of its instructions")?;
                self.check_thread(rank, thread, own)?;
            }
            if let Some(decider) = &process.decider {
                self.check_decider(recorded, &process.threads[0], decider)?;
            }
        }
        Ok(())
    }

    /// The operations in progress of each thread.
    fn by_thread(&self, process: &Process, in_progress: &InProgress) -> Result<Vec<Vec<Local>>, Unsound> {
        let mut threads = vec![Vec::new(); process.threads.len()];
        let posted = in_progress.posted.iter().map(|&id| (OperationKind::Recv, id, None));
        let sent = in_progress.acknowledged.iter().map(|&id| (OperationKind::Send, id, None));
        let ready = in_progress.ready.iter().map(|&(kind, id, lane)| (kind, id, Some(lane)));
        for (kind, id, lane) in ready.chain(posted).chain(sent) {
            let (at, local) = self.split(id);
            let thread: &mut Vec<Local> = threads.get_mut(at).ok_or("there is no such thread")?;
            ensure(lane.is_none_or(|lane| lane == [at as u8, 0]), "an operation is on another CPU")?;
            ensure(thread.iter().all(|&(_, known, _)| known != local), "an operation is in progress twice")?;
            thread.push((kind, local, lane.is_some()));
        }
        Ok(threads)
    }

    fn check_thread(&self, rank: Rank, thread: &Thread, operations: &[Local]) -> Result<(), Unsound> {
        thread.check(1u64 << self.shift)?;
        let mut found = 0;
        for entry in &thread.under_way {
            ensure(
                (thread.start()..thread.cursor).contains(&entry.instruction),
                "an instruction has not begun",
            )?;
            let first = u64::from(entry.first);
            let numbers = first..first + u64::from(entry.stages) * u64::from(PLACES);
            let own = operations.iter().filter(|&&(_, local, _)| numbers.contains(&u64::from(local)));
            let own: Vec<Local> = own.copied().collect();
            found += own.len();
            self.check_entry(rank, thread, entry, &own)?;
        }
        ensure(found == operations.len(), "an operation belongs to no instruction")?;
        let wanted =
            thread.under_way.iter().filter(|entry| !entry.gone && entry.wanted == Wanted::Yes).count();
        let last = thread.cursor.checked_sub(1).map(|last| *self.instruction(rank, last));
        let most = match last {
            Some(Instruction::Wait { count, .. }) => count,
            Some(Instruction::Choose { .. }) => 1,
            _ => 0,
        };
        let fits = wanted as u64 <= u64::from(thread.waiting) && thread.waiting <= most;
        ensure(fits, "a thread waits for something else")
    }

    fn check_entry(
        &self,
        rank: Rank,
        thread: &Thread,
        entry: &UnderWay,
        operations: &[Local],
    ) -> Result<(), Unsound> {
        let instruction = self.instruction(rank, entry.instruction);
        let is_choice = matches!(instruction, Instruction::Choose { .. });
        let stages = if is_choice { 1 } else { self.playback.stages(rank, instruction) };
        let has_state = !matches!(instruction, Instruction::Wait { .. } | Instruction::Poll { .. });
        ensure(has_state && entry.stages == stages, "an instruction has other stages")?;
        if entry.gone || entry.over {
            return ensure(operations.is_empty(), "a completed instruction has operations");
        }
        ensure(entry.stage < stages, "there is no such stage")?;
        let step_at = |stage: u32| match is_choice {
            true => Step::calc(Time::ZERO),
            false => self.playback.step(rank, instruction, stage),
        };
        let (mut unstarted, mut is_after) = (0, false);
        for &(kind, local, is_ready) in operations {
            let (stage, place) = ((local - entry.first) / PLACES, (local - entry.first) % PLACES);
            let is_last = place == AFTER;
            let is_there = stage <= entry.stage && step_at(stage).operation(kind, is_last).is_some();
            ensure(is_there && (is_last || place == place_of(kind)), "there is no such operation")?;
            unstarted += u8::from(is_ready && stage == entry.stage && !is_last);
            is_after |= is_last;
        }
        let (step, open) = (step_at(entry.stage), entry.open as usize);
        let fits = open >= operations.len().max(1)
            && entry.open < MOST
            && (!is_after || open == 1)
            && entry.unstarted == unstarted
            && entry.waits == (step.then == Then::Wait)
            && entry.after == (step.after > Time::ZERO && !is_after);
        ensure(fits, "a stage is not where its operations are")?;
        let starts = entry.stage == 0 && unstarted > 0 && entry.instruction + 1 == thread.cursor;
        ensure(!entry.starting || starts, "a thread waits for something that has started")
    }

    fn check_decider(
        &self,
        recorded: &TracedRank,
        thread: &Thread,
        decider: &Decider,
    ) -> Result<(), Unsound> {
        decider.check()?;
        let instruction = |number: u32| recorded.instructions().get(number as usize);
        if let Some(choice) = decider.choice {
            let fits = match instruction(choice.instruction) {
                Some(&Instruction::Choose { first, count, chosen, .. }) => {
                    (first, count, chosen) == (choice.first, choice.count, choice.chosen)
                        && choice.known <= count
                        && choice.instruction + 1 == thread.cursor
                        && thread.waiting == 1
                }
                _ => false,
            };
            ensure(fits, "a choice is not that of its instruction")?;
        }
        for poll in &decider.polls {
            let fits = match instruction(poll.instruction) {
                Some(&Instruction::Poll { calls, .. }) => poll.kind != PollKind::Last && poll.calls == calls,
                Some(Instruction::Wait { .. } | Instruction::Choose { .. }) => poll.kind == PollKind::Last,
                _ => false,
            };
            ensure(fits, "a test is not that of its instruction")?;
        }
        Ok(())
    }
}
