//! Replays a traced program: every thread of a process runs through its instructions.
//!
//! The state of a process is the position of its threads and the instructions in progress; it does not grow with the
//! trace. Operations are numbered in the order of the schedule: [`PLACES`] numbers per step, consecutive within an
//! instruction, and from 0 again whenever a thread has nothing in progress. The top bits of a number are the thread.
//! The materialised schedule has the same order, so both give the same results.

mod check;
mod decider;
mod decisions;
mod log;
mod state;

pub use decider::{Change, Changed, Decider, Poll, PollAnswer, PollKind};
pub use log::{Keeper, Replayed};

use crate::agenda::{InProgress, Queues};
use crate::checkpoint::Unsound;
use crate::host::ManyLanes;
use crate::program::{MOMENT, Program};
use crate::release::Release;
use serde::{Deserialize, Serialize};
use state::{Process, Thread, UnderWay, Wanted};
use std::ops::Range;
use std::sync::Arc;
use straggler_model::{Rank, Time};
use straggler_schedule::graph::ANY;
use straggler_schedule::traced::{Asked, Awaited, Instruction, PLACES, Playback};
use straggler_schedule::{Operation, OperationKind, Step, Then};

/// The place in a step of the computation after the rest.
const AFTER: u32 = 3;

/// A traced program as a program of the simulation.
#[derive(Debug)]
pub struct Replay<'a> {
    playback: &'a Playback,
    /// The lowest bit of the thread in an operation's number.
    shift: u32,
    /// Whether operations that use the CPU complete in the order in which their completions are reported.
    in_order: bool,
    keeper: Option<Arc<Keeper>>,
}

/// The states of some neighbouring processes.
#[derive(Debug, Serialize, Deserialize)]
pub struct Processes {
    first: Rank,
    states: Vec<Process>,
    /// Only for runs whose replay is kept; they are never resumed from a checkpoint.
    #[serde(skip)]
    keeper: Option<Arc<Keeper>>,
}

impl Drop for Processes {
    /// Hands the records of the processes to the keeper.
    fn drop(&mut self) {
        let Some(keeper) = &self.keeper else { return };
        let replayed = self.states.iter_mut().map(|process| {
            let mut kept = process.kept.take().unwrap_or_default();
            process.decider.iter_mut().for_each(|decider| kept.decided(decider));
            *kept
        });
        keeper.take(self.first, replayed.collect());
    }
}

impl Processes {
    #[inline]
    fn get(&self, rank: Rank) -> &Process {
        &self.states[(rank - self.first) as usize]
    }

    #[inline]
    fn get_mut(&mut self, rank: Rank) -> &mut Process {
        &mut self.states[(rank - self.first) as usize]
    }
}

impl<'a> Replay<'a> {
    /// `receive_overlap` is the simulation's. The keeper, if there is one, gets a record of what the processes did.
    pub fn new(playback: &'a Playback, receive_overlap: bool, keeper: Option<Arc<Keeper>>) -> Self {
        let shift = u32::BITS - playback.thread_bits();
        Replay { playback, shift, in_order: !receive_overlap, keeper }
    }

    /// The thread of an operation, and its number there.
    #[inline]
    fn split(&self, id: u32) -> (usize, u32) {
        let thread = u64::from(id) >> self.shift;
        (thread as usize, (u64::from(id) - (thread << self.shift)) as u32)
    }

    #[inline]
    fn number(&self, thread: usize, local: u32) -> u32 {
        ((thread as u64) << self.shift) as u32 | local
    }

    fn instruction(&self, rank: Rank, number: u32) -> &'a Instruction {
        &self.playback.rank(rank).instructions()[number as usize]
    }

    fn is_choice(&self, rank: Rank, number: u32) -> bool {
        matches!(self.instruction(rank, number), Instruction::Choose { .. })
    }

    /// Advances a thread to the first instruction that has to run or wait.
    fn advance(&self, rank: Rank, process: &mut Process, at: usize, release: &mut impl FnMut(Release)) {
        let instructions = self.playback.rank(rank).instructions();
        loop {
            let thread = &mut process.threads[at];
            if let Some(kept) = process.kept.as_deref_mut().filter(|_| thread.cursor > thread.start()) {
                kept.left[thread.cursor as usize - 1] = thread.ready;
            }
            if thread.cursor == thread.end {
                return;
            }
            let (number, instruction) = (thread.cursor, &instructions[thread.cursor as usize]);
            thread.cursor += 1;
            if let Some(kept) = &mut process.kept {
                kept.entered[number as usize] = thread.ready;
            }
            match *instruction {
                Instruction::Wait { first, count, asked } => {
                    self.anchor_polls(process, at);
                    if asked != Asked::Waited {
                        self.tested(rank, process, at, number);
                    }
                    self.wait(rank, process, at, first, count);
                    if process.threads[at].waiting > 0 {
                        return;
                    }
                    self.settle_test(process);
                    continue;
                }
                Instruction::Choose { .. } => {
                    self.anchor_polls(process, at);
                    if !self.choose(rank, process, at, number, release) {
                        return;
                    }
                    continue;
                }
                Instruction::Poll { .. } => {
                    self.ask(rank, process, number);
                    continue;
                }
                Instruction::Calc(_) => {}
                _ => self.anchor_polls(process, at),
            }
            let thread = &mut process.threads[at];
            let stages = self.playback.stages(rank, instruction);
            let how = instruction.how();
            if stages > 0 {
                let ready = thread.ready;
                let place = thread.begin(number, stages, !how.blocking);
                return self.enter(rank, thread, at, place, 0, ready, release);
            }
            if how.awaited == Awaited::Here && process.decider.is_some() {
                // A collective of one process completes at once, and may be chosen.
                let place = thread.begin(number, 0, false);
                thread.under_way[place].done = thread.ready;
                self.report(process, at, place);
                process.threads[at].under_way[place].over = true;
                continue;
            }
            if how.awaited == Awaited::Elsewhere {
                let place = thread.begin(number, 0, false);
                thread.under_way[place].done = thread.ready;
                self.notify_others(rank, process, at, place, release);
            }
        }
    }

    /// Waits for the requests of a list that have not completed.
    fn wait(&self, rank: Rank, process: &mut Process, at: usize, first: u32, count: u32) {
        let recorded = self.playback.rank(rank);
        for &role in recorded.awaited(first, count) {
            let awaited = process.play(role);
            let owner = recorded.thread_of(awaited);
            let found = process.threads[owner].find(awaited);
            let over = found.map(|place| process.threads[owner].under_way[place]).filter(|entry| entry.over);
            match (over, found) {
                (Some(entry), Some(place)) => {
                    process.threads[owner].remove(place);
                    process.test_found(&entry);
                    let thread = &mut process.threads[at];
                    thread.ready = thread.ready.max(entry.done);
                }
                // It is no longer in progress: there is nothing to wait for.
                (_, None) if owner == at => {}
                (_, None) => process.threads[at].waiting += 1,
                (None, Some(place)) => {
                    process.threads[owner].under_way[place].wanted =
                        if owner == at { Wanted::Yes } else { Wanted::No };
                    process.threads[at].waiting += 1;
                }
            }
        }
    }

    /// Releases the operations of a step.
    #[allow(clippy::too_many_arguments)]
    #[inline]
    fn enter(
        &self,
        rank: Rank,
        thread: &mut Thread,
        at: usize,
        place: usize,
        stage: u32,
        ready: Time,
        release: &mut impl FnMut(Release),
    ) {
        let entry = &mut thread.under_way[place];
        let instruction = self.instruction(rank, entry.instruction);
        let step = self.playback.step(rank, instruction, stage);
        let first = self.number(at, entry.first + stage * PLACES);
        let cpu = self.playback.cpu(rank, at, instruction);
        let mut count = 0;
        let mut issue = |there: bool, kind: OperationKind| {
            if there {
                count += 1;
                release(Release { id: first + place_of(kind), kind, cpu, nic: 0, ready });
            }
        };
        issue(step.send.is_some(), OperationKind::Send);
        issue(step.recv.is_some(), OperationKind::Recv);
        issue(step.calc.is_some(), OperationKind::Calc);
        debug_assert_ne!(count, 0, "an empty step never completes");
        entry.stage = stage;
        entry.open += u32::from(count);
        entry.unstarted = count;
        entry.waits = step.then == Then::Wait;
        entry.after = step.after > Time::ZERO;
    }

    /// Handles the completion of an instruction.
    fn finish(
        &self,
        rank: Rank,
        process: &mut Process,
        at: usize,
        place: usize,
        release: &mut impl FnMut(Release),
    ) {
        let thread = &mut process.threads[at];
        let entry = &mut thread.under_way[place];
        let (done, wanted, number) = (entry.done, entry.wanted, entry.instruction);
        let instruction = self.instruction(rank, number);
        if self.is_choice(rank, number) {
            thread.remove(place);
            return self.moment(rank, process, at, done, release);
        }
        if process.decider.is_some() {
            self.report(process, at, place);
        }
        let thread = &mut process.threads[at];
        let entry = &mut thread.under_way[place];
        let how = instruction.how();
        match how.awaited {
            _ if how.blocking => {
                thread.remove(place);
                thread.ready = thread.ready.max(done);
                self.advance(rank, process, at, release);
            }
            Awaited::Never => thread.remove(place),
            Awaited::Here if wanted == Wanted::Yes => {
                let entry = *entry;
                thread.remove(place);
                process.test_found(&entry);
                self.served(rank, process, at, done, release);
            }
            Awaited::Here => {
                entry.over = true;
                if wanted == Wanted::Choice {
                    self.consider(rank, process, at, release);
                }
            }
            Awaited::Elsewhere => self.notify_others(rank, process, at, place, release),
        }
    }

    /// Handles the completion of something that a thread waits for.
    fn served(
        &self,
        rank: Rank,
        process: &mut Process,
        at: usize,
        done: Time,
        release: &mut impl FnMut(Release),
    ) {
        let thread = &mut process.threads[at];
        thread.ready = thread.ready.max(done);
        thread.waiting -= 1;
        if thread.waiting == 0 {
            self.settle_test(process);
            self.advance(rank, process, at, release);
        }
    }

    /// Handles the completion of an instruction that another thread waits for, now or later.
    fn notify_others(
        &self,
        rank: Rank,
        process: &mut Process,
        at: usize,
        place: usize,
        release: &mut impl FnMut(Release),
    ) {
        let entry = &mut process.threads[at].under_way[place];
        entry.over = true;
        let (number, done) = (entry.instruction, entry.done);
        let recorded = self.playback.rank(rank);
        let waits = |thread: &Thread| {
            // The cursor of a waiting thread is just behind its wait instruction.
            let last =
                thread.cursor.checked_sub(1).and_then(|last| recorded.instructions().get(last as usize));
            match last {
                Some(&Instruction::Wait { first, count, .. }) if thread.waiting > 0 => {
                    recorded.awaited(first, count).contains(&number)
                }
                _ => false,
            }
        };
        if let Some(other) = process.threads.iter().position(waits) {
            process.threads[at].remove(place);
            self.served(rank, process, other, done, release);
        }
    }

    /// The step an operation belongs to, and its place there.
    #[inline]
    fn step_of(&self, rank: Rank, entry: &UnderWay, local: u32) -> (Step, u32) {
        let (stage, place) = ((local - entry.first) / PLACES, (local - entry.first) % PLACES);
        (self.playback.step(rank, self.instruction(rank, entry.instruction), stage), place)
    }
}

#[inline]
fn place_of(kind: OperationKind) -> u32 {
    kind as u32 - 1
}

impl Program for Replay<'_> {
    type Host = ManyLanes;
    type Agenda = Queues;
    type Local = ();
    type Block = Processes;

    const DECIDES: bool = true;

    fn processes(&self) -> u32 {
        self.playback.processes()
    }

    fn largest_message(&self) -> u64 {
        self.playback.largest_message()
    }

    fn block(&self, ranks: Range<Rank>) -> Processes {
        let first = ranks.start;
        let (decides, keeps) = (self.playback.recording().decides(), self.keeper.is_some());
        let states = ranks.map(|rank| Process::new(self.playback.rank(rank), decides, keeps)).collect();
        Processes { first, states, keeper: self.keeper.clone() }
    }

    fn start(&self, rank: Rank, _: &mut (), block: &mut Processes, release: &mut impl FnMut(Release)) {
        let process = block.get_mut(rank);
        for thread in 0..process.threads.len() {
            // Another thread may have started it already.
            if process.threads[thread].is_at_start() {
                self.advance(rank, process, thread, release);
            }
        }
    }

    #[inline]
    fn operation(&self, rank: Rank, _: &(), block: &Processes, kind: OperationKind, id: u32) -> Operation {
        let (at, local) = self.split(id);
        let thread = &block.get(rank).threads[at];
        let operation = thread.holding(local).and_then(|place| {
            let entry = &thread.under_way[place];
            let cpu = self.playback.cpu(rank, at, self.instruction(rank, entry.instruction));
            if kind == OperationKind::Calc && self.is_choice(rank, entry.instruction) {
                return Some(Operation { tag: MOMENT, cpu, ..Operation::calc(Time::ZERO) });
            }
            let (step, place) = self.step_of(rank, entry, local);
            let operation = step.operation(kind, place == AFTER)?;
            // The answer to a message that was received from any source.
            let is_answer = kind == OperationKind::Send && operation.peer == ANY;
            let peer = if is_answer { entry.source } else { operation.peer };
            Some(Operation { peer, cpu, ..operation })
        });
        debug_assert!(operation.is_some(), "rank {rank}: operation {id} is not under way");
        operation.unwrap_or(Operation::calc(Time::ZERO))
    }

    #[inline]
    fn started(
        &self,
        rank: Rank,
        _: &mut (),
        block: &mut Processes,
        id: u32,
        at: Time,
        release: &mut impl FnMut(Release),
    ) {
        let process = block.get_mut(rank);
        let (number, local) = self.split(id);
        if process.decider.is_some() {
            self.time_has_come(rank, process, local, at);
        }
        let thread = &mut process.threads[number];
        let Some(place) = thread.holding(local) else { return };
        let entry = &mut thread.under_way[place];
        let stage = (local - entry.first) / PLACES;
        if stage != entry.stage || (local - entry.first) % PLACES == AFTER {
            return;
        }
        entry.unstarted -= 1;
        if entry.unstarted > 0 {
            return;
        }
        let starting = std::mem::take(&mut entry.starting);
        if !entry.waits {
            self.enter(rank, thread, number, place, stage + 1, at, release);
        }
        if starting {
            thread.ready = thread.ready.max(at);
            self.advance(rank, process, number, release);
        }
    }

    #[inline]
    fn completed(
        &self,
        rank: Rank,
        _: &mut (),
        block: &mut Processes,
        id: u32,
        done: Time,
        release: &mut impl FnMut(Release),
    ) {
        let process = block.get_mut(rank);
        let (number, local) = self.split(id);
        process.latest = process.latest.max(done);
        let thread = &mut process.threads[number];
        let Some(place) = thread.holding(local) else { return };
        let entry = &mut thread.under_way[place];
        entry.done = entry.done.max(done);
        entry.open -= 1;
        if entry.open > 0 || !entry.waits {
            return;
        }
        let (stage, ready) = (entry.stage, entry.done);
        if std::mem::take(&mut entry.after) {
            entry.open = 1;
            let cpu = self.playback.cpu(rank, number, self.instruction(rank, entry.instruction));
            let id = self.number(number, entry.first + stage * PLACES + AFTER);
            return release(Release { id, kind: OperationKind::Calc, cpu, nic: 0, ready });
        }
        if stage + 1 < entry.stages {
            self.enter(rank, thread, number, place, stage + 1, ready, release);
        } else {
            self.finish(rank, process, number, place, release);
        }
    }

    /// Notes the source of a receive's message.
    #[inline]
    fn matched(&self, rank: Rank, _: &mut (), block: &mut Processes, id: u32, from: Rank, delay: Time) {
        let process = block.get_mut(rank);
        if process.decider.is_some() {
            self.took(rank, process, id, from, delay);
        }
    }

    fn check(
        &self,
        ranks: Range<Rank>,
        _: &[()],
        block: &Processes,
        in_progress: &[InProgress],
    ) -> Result<(), Unsound> {
        self.check_processes(ranks, block, in_progress)
    }

    fn has_send(&self, rank: Rank, id: u32) -> bool {
        self.split(id).0 < self.playback.rank(rank).threads()
    }

    fn finished(&self, rank: Rank, _: &(), block: &Processes) -> bool {
        block.get(rank).threads.iter().all(Thread::is_over)
    }

    fn unstarted(&self, rank: Rank, block: &Processes, visit: &mut dyn FnMut(&Operation)) {
        let mut all = |instruction: &Instruction, from: u32| {
            for stage in from..self.playback.stages(rank, instruction) {
                let step = self.playback.step(rank, instruction, stage);
                step.operations().for_each(|operation| visit(&operation));
            }
        };
        for thread in &block.get(rank).threads {
            for entry in thread.under_way.iter().filter(|entry| !entry.gone && !entry.over) {
                all(self.instruction(rank, entry.instruction), entry.stage + 1);
            }
            for number in thread.cursor..thread.end {
                all(self.instruction(rank, number), 0);
            }
        }
    }

    fn last_completion(&self, rank: Rank, _: &(), block: &Processes) -> Time {
        block.get(rank).latest
    }
}
