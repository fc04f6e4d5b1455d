//! Executes the instructions of a traced rank with real messages.
//!
//! Where MPI leaves a choice, it decides by the rules of the simulation: see [`Decider`].

use super::Compute;
use super::part::Part;
use super::rooms::Rooms;
use super::share::Share;
use super::watch::Watch;
use crate::clock::now_ns;
use crate::wire::{self, Ask, Pending, Result, SendMode, Wire};
use std::collections::HashMap;
use std::time::Duration;
use straggler_model::Time;
use straggler_schedule::graph::ANY;
use straggler_schedule::traced::{Asked, How, Instruction};
use straggler_sim::programs::{Changed, Decider, Poll, PollAnswer, PollKind, Replayed};

/// A sleep may end this much too late, so the last part of a wait is spent busily.
const LATE_NS: i64 = 200_000;

pub struct Player<'a> {
    part: &'a Part<'a>,
    wire: &'a Wire,
    rooms: Rooms,
    compute: Compute,
    watch: &'a Watch,
    /// When the run begins, on the clock of this node.
    start_ns: i64,
    decider: Decider,
    /// Operations that have begun and were not waited for, by instruction.
    under_way: HashMap<u32, Pending>,
    /// Tests to be made during the computation that follows.
    asks: Vec<(u32, Time)>,
    /// When the last instruction was completed.
    last: Time,
    replayed: Replayed,
}

impl<'a> Player<'a> {
    pub fn new(
        part: &'a Part<'a>,
        wire: &'a Wire,
        watch: &'a Watch,
        compute: Compute,
        start_ns: i64,
    ) -> Player<'a> {
        Player {
            part,
            wire,
            rooms: part.rooms(),
            compute,
            watch,
            start_ns,
            decider: Decider::default(),
            under_way: HashMap::new(),
            asks: Vec::new(),
            last: Time::ZERO,
            replayed: Replayed::new(part.recorded.instructions().len()),
        }
    }

    /// Executes all instructions, beginning at the start time. Times are those of this node since then.
    pub fn play(mut self) -> Result<Replayed> {
        self.compute_until(Time::ZERO);
        for (number, instruction) in (0..).zip(self.part.recorded.instructions()) {
            if !matches!(instruction, Instruction::Calc(_) | Instruction::Poll { .. }) {
                self.ask_all(None)?;
                self.watch.enter(number);
            }
            let place = number as usize;
            self.replayed.entered[place] =
                if matches!(instruction, Instruction::Calc(_)) { self.last } else { self.now() };
            self.go_through(number, instruction)?;
            self.last = self.now();
            self.replayed.left[place] = self.last;
            self.watch.leave();
        }
        self.ask_all(None)?;
        let mut open: Vec<&mut Pending> =
            self.under_way.values_mut().filter(|pending| !pending.is_complete()).collect();
        wire::ask(Ask::WaitAll, &mut open)?;
        self.replayed.decided(&mut self.decider);
        Ok(self.replayed)
    }

    fn now(&self) -> Time {
        Time::from_ns(u64::try_from(now_ns() - self.start_ns).unwrap_or(0))
    }

    fn go_through(&mut self, number: u32, instruction: &Instruction) -> Result<()> {
        match *instruction {
            Instruction::Calc(time) => {
                let end = self.last + time;
                self.ask_all(Some(end))?;
                self.compute_until(end);
                Ok(())
            }
            Instruction::Send { bytes, to, tag, how } => self.send(number, bytes as usize, to, tag, how),
            Instruction::Recv { from, tag, how, .. } => self.receive(number, from, tag, how),
            Instruction::Collective { call, member, how } => self.collective(number, call, member, how),
            Instruction::Wait { first, count, asked } => {
                let roles = self.part.recorded.awaited(first, count);
                self.wait(number, roles, asked)
            }
            Instruction::Choose { first, count, chosen, asked } => {
                let list = self.part.recorded.awaited(first, count);
                let recorded = self.part.recorded.chosen(first, count, chosen);
                self.choose(number, list, recorded, asked)
            }
            Instruction::Poll { after, .. } => {
                self.asks.push((number, after));
                Ok(())
            }
        }
    }

    /// Computes until a moment of the run.
    fn compute_until(&self, end: Time) {
        let end = self.start_ns + i64::try_from(end.ps() / 1000).unwrap_or(i64::MAX);
        let left = end - now_ns();
        if self.compute == Compute::Sleep && left > LATE_NS {
            std::thread::sleep(Duration::from_nanos((left - LATE_NS) as u64));
        }
        while now_ns() < end {
            std::hint::spin_loop();
        }
    }

    fn send(&mut self, number: u32, bytes: usize, to: u32, tag: u32, how: How) -> Result<()> {
        let mode = if how.answered { SendMode::Synchronous } else { SendMode::Standard };
        if how.blocking {
            return self.wire.send(mode, bytes, to, tag);
        }
        let pending = self.wire.begin_send(mode, bytes, to, tag)?;
        self.under_way.insert(number, pending);
        Ok(())
    }

    fn receive(&mut self, number: u32, from: u32, tag: u32, how: How) -> Result<()> {
        let from = (from != ANY).then_some(from);
        let bytes = self.part.room_of(number);
        let mut room = self.rooms.take(bytes);
        if how.blocking {
            let source = self.wire.receive(&mut room, bytes, from, tag)?;
            self.rooms.give_back(room);
            self.note_source(number, source);
        } else {
            let pending = self.wire.begin_receive(room, bytes, from, tag)?;
            self.under_way.insert(number, pending);
        }
        Ok(())
    }

    fn collective(&mut self, number: u32, call: u32, member: u32, how: How) -> Result<()> {
        let Some(share) = Share::new(self.part.recording, call, member) else { return Ok(()) };
        let mut room = self.rooms.take(share.incoming());
        if how.blocking {
            self.wire.collective(&share, &mut room)?;
            self.rooms.give_back(room);
        } else {
            let pending = self.wire.begin_collective(&share, room)?;
            self.under_way.insert(number, pending);
        }
        Ok(())
    }

    /// Waits for or tests the incomplete ones of these instructions. Returns those that have completed now.
    fn ask_for(&mut self, ask: Ask, instructions: &[u32]) -> Result<Vec<u32>> {
        // In the order of the program's list, since MPI prefers earlier entries.
        let open = instructions.iter().filter(|&&number| !self.is_complete(number));
        let numbers: Vec<u32> = open.copied().collect();
        let mut pending: Vec<Pending> =
            numbers.iter().filter_map(|number| self.under_way.remove(number)).collect();
        let places = wire::ask(ask, &mut pending.iter_mut().collect::<Vec<_>>());
        self.under_way.extend(numbers.iter().copied().zip(pending));
        Ok(places?.into_iter().map(|place| numbers[place]).collect())
    }

    fn is_complete(&self, number: u32) -> bool {
        self.under_way.get(&number).is_none_or(Pending::is_complete)
    }

    fn wait(&mut self, number: u32, roles: &[u32], asked: Asked) -> Result<()> {
        let actual: Vec<u32> = roles.iter().map(|&role| self.decider.role(role)).collect();
        if asked != Asked::Waited {
            self.decider.poll_last(number, self.now(), actual.iter().copied());
            self.decider.answer();
        }
        self.complete_all(number, &actual, asked)?;
        for (&role, &one) in roles.iter().zip(&actual) {
            self.decider.retire(role);
            self.decider.completed(one);
            self.forget(one);
        }
        Ok(())
    }

    fn complete_all(&mut self, number: u32, actual: &[u32], asked: Asked) -> Result<()> {
        if asked == Asked::Waited {
            self.ask_for(Ask::WaitAll, actual)?;
            return Ok(());
        }
        let mut first = true;
        while !actual.iter().all(|&one| self.is_complete(one)) {
            self.ask_for(Ask::TestAll, actual)?;
            let failed = !actual.iter().all(|&one| self.is_complete(one));
            if failed && first && asked == Asked::Tested {
                self.decider.changed(number, Changed::Later);
            }
            first = false;
        }
        Ok(())
    }

    /// Takes as many of a list as the traced run took, whichever complete first.
    fn choose(&mut self, number: u32, list: &[u32], recorded: &[u32], asked: Asked) -> Result<()> {
        let actual: Vec<u32> = list.iter().map(|&role| self.decider.role(role)).collect();
        let mut taken: Vec<u32> = actual.iter().copied().filter(|&one| self.is_complete(one)).collect();
        let waits = asked == Asked::Waited;
        let ask = match (waits, recorded.len()) {
            (true, 1) => Ask::WaitAny,
            (true, _) => Ask::WaitSome,
            (false, 1) => Ask::TestAny,
            (false, _) => Ask::TestSome,
        };
        let mut asks = 0;
        while taken.len() < recorded.len() {
            let more = self.ask_for(ask, &actual)?;
            taken.extend(more);
            asks += 1;
        }
        taken.truncate(recorded.len());
        let pairs = self.decider.exchange(list, recorded, &taken);
        if !pairs.is_empty() {
            self.decider.changed(number, Changed::Requests(pairs));
        } else if asked == Asked::Tested && asks > 1 {
            self.decider.changed(number, Changed::Later);
        }
        match asked {
            Asked::Waited => taken.iter().for_each(|&one| self.decider.completed(one)),
            _ => {
                self.decider.poll_last(number, self.now(), taken.iter().copied());
                self.decider.answer();
            }
        }
        taken.iter().for_each(|&one| self.forget(one));
        Ok(())
    }

    /// Makes the tests that failed in the traced run: each at its place in a computation that ends
    /// at `end`, or all now.
    fn ask_all(&mut self, end: Option<Time>) -> Result<()> {
        for (number, after) in std::mem::take(&mut self.asks) {
            if let Some(end) = end {
                self.compute_until(end.min(self.last + after));
            }
            self.poll(number)?;
        }
        Ok(())
    }

    fn poll(&mut self, number: u32) -> Result<()> {
        let Some(&Instruction::Poll { first, count, all, calls, .. }) =
            self.part.recorded.instructions().get(number as usize)
        else {
            return Ok(());
        };
        let roles = self.part.recorded.awaited(first, count);
        let actual: Vec<u32> = roles.iter().map(|&role| self.decider.role(role)).collect();
        self.ask_for(if all { Ask::TestAll } else { Ask::TestSome }, &actual)?;
        let kind = if all { PollKind::All } else { PollKind::Any };
        let poll =
            Poll { instruction: number, calls, kind, at: self.now(), anchored: true, first: 0, count: 0 };
        self.decider.poll(poll, actual.into_iter());
        for (one, answer) in &mut self.decider.polled {
            let is_complete = self.under_way.get(one).is_some_and(Pending::is_complete);
            *answer = if is_complete { PollAnswer::Yes } else { PollAnswer::No };
        }
        self.decider.answer();
        Ok(())
    }

    /// Releases a completed operation that the program no longer needs.
    fn forget(&mut self, number: u32) {
        let Some(mut pending) = self.under_way.remove(&number) else { return };
        self.note_source(number, pending.source);
        pending.take_room().into_iter().for_each(|room| self.rooms.give_back(room));
    }

    /// Notes if a wildcard receive took another message than in the traced run.
    fn note_source(&mut self, number: u32, source: Option<u32>) {
        let wild = self.part.recorded.wild();
        let Ok(place) = wild.binary_search_by_key(&number, |wild| wild.instruction) else { return };
        if let Some(from) = source.filter(|&from| from != wild[place].from) {
            self.decider.changed(number, Changed::Source(from));
        }
    }
}
