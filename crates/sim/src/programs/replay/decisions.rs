//! Decisions of a process in a replay: which requests complete first, whether a test succeeds, whose message a
//! receive takes.
//!
//! A completion may be reported before it happens: a computation when it begins, a message when its overhead begins.
//! Something reported later may complete earlier, such as the acknowledgement of a large send. So a choice is made
//! only when the time of the completion has come, in a computation of length 0 (a moment). If only receives are left,
//! no moment is needed: they complete one after the other, as the CPU processes them.

use super::Replay;
use super::decider::{Changed, Choice, Decider, Poll, PollAnswer, PollKind, Tested};
use super::state::{Process, Thread, UnderWay, Wanted};
use crate::release::Release;
use smallvec::SmallVec;
use straggler_model::{Rank, Time};
use straggler_schedule::OperationKind;
use straggler_schedule::traced::{Asked, Instruction, PLACES};

impl Replay<'_> {
    /// Begins a choice that the thread has reached. Returns whether it is made at once.
    pub(super) fn choose(
        &self,
        rank: Rank,
        process: &mut Process,
        at: usize,
        number: u32,
        release: &mut impl FnMut(Release),
    ) -> bool {
        let recorded = self.playback.rank(rank);
        let Instruction::Choose { first, count, chosen, .. } = *self.instruction(rank, number) else {
            return true;
        };
        let Process { threads, decider, .. } = process;
        let (Some(decider), thread) = (decider, &mut threads[at]) else { return true };
        let mut choice = Choice { instruction: number, first, count, chosen, known: 0, since: thread.ready };
        for &role in recorded.awaited(first, count) {
            match thread.find(decider.role(role)).map(|place| &mut thread.under_way[place]) {
                Some(entry) if !entry.over => entry.wanted = Wanted::Choice,
                Some(_) => choice.known += 1,
                None => debug_assert!(false, "rank {rank}: what is chosen from is not under way"),
            }
        }
        decider.choice = Some(choice);
        thread.waiting = 1;
        self.decide(rank, process, at, release)
    }

    /// Reconsiders the choice after the completion of something that the thread may choose was reported.
    pub(super) fn consider(
        &self,
        rank: Rank,
        process: &mut Process,
        at: usize,
        release: &mut impl FnMut(Release),
    ) {
        if let Some(choice) = process.decider.as_mut().and_then(|decider| decider.choice.as_mut()) {
            choice.known += 1;
        }
        if self.decide(rank, process, at, release) {
            self.advance(rank, process, at, release);
        }
    }

    /// Called when the time of a completion has come.
    pub(super) fn moment(
        &self,
        rank: Rank,
        process: &mut Process,
        at: usize,
        now: Time,
        release: &mut impl FnMut(Release),
    ) {
        let Some(decider) = &mut process.decider else { return };
        decider.now = decider.now.max(now);
        // An earlier completion may have made the choice in the meantime.
        if decider.choice.is_some() && self.decide(rank, process, at, release) {
            self.advance(rank, process, at, release);
        }
    }

    /// Makes the choice if it is known which requests complete first; otherwise asks for a moment. Returns whether
    /// the choice is made.
    fn decide(
        &self,
        rank: Rank,
        process: &mut Process,
        at: usize,
        release: &mut impl FnMut(Release),
    ) -> bool {
        let Process { threads, decider, .. } = &mut *process;
        let (Some(decider), thread) = (decider, &mut threads[at]) else { return false };
        let Some(choice) = decider.choice.filter(|choice| choice.known >= choice.chosen) else {
            return false;
        };
        let list = self.playback.rank(rank).awaited(choice.first, choice.count);
        let place = |role: &u32| thread.find(decider.role(*role));
        let mut over: Vec<&UnderWay> = list
            .iter()
            .filter_map(place)
            .map(|place| &thread.under_way[place])
            .filter(|entry| entry.over)
            .collect();
        over.sort_unstable_by_key(|entry| (entry.done, entry.report));
        over.truncate(choice.chosen as usize);
        let done = over.last().map_or(Time::ZERO, |entry| entry.done);
        let is_known =
            done <= decider.now || choice.known == choice.count || self.only_receives_left(rank, thread);
        if is_known {
            let taken: Vec<u32> = over.iter().map(|entry| entry.instruction).collect();
            self.take(rank, process, at, &choice, &taken, done);
        } else {
            self.ask_for_moment(thread, at, choice.instruction, done, release);
        }
        is_known
    }

    /// Whether all open candidates are receives, whose messages the CPU processes one after the other.
    fn only_receives_left(&self, rank: Rank, thread: &Thread) -> bool {
        let mut open = thread
            .under_way
            .iter()
            .filter(|entry| !entry.gone && entry.wanted == Wanted::Choice && !entry.over);
        self.in_order
            && open.all(|entry| match *self.instruction(rank, entry.instruction) {
                Instruction::Recv { how, .. } => !how.answered,
                _ => false,
            })
    }

    fn ask_for_moment(
        &self,
        thread: &mut Thread,
        at: usize,
        number: u32,
        ready: Time,
        release: &mut impl FnMut(Release),
    ) {
        let place = thread.begin(number, 1, false);
        let entry = &mut thread.under_way[place];
        (entry.open, entry.unstarted, entry.waits) = (1, 1, true);
        let id = self.number(at, entry.first + super::place_of(OperationKind::Calc));
        release(Release { id, kind: OperationKind::Calc, cpu: at as u8, nic: 0, ready });
    }

    /// Takes the requests that completed first, and ends the choice.
    fn take(&self, rank: Rank, process: &mut Process, at: usize, choice: &Choice, taken: &[u32], done: Time) {
        let recorded = self.playback.rank(rank);
        let Process { threads, decider, .. } = process;
        let (Some(decider), thread) = (decider, &mut threads[at]) else { return };
        let list = recorded.awaited(choice.first, choice.count);
        for &role in list {
            if let Some(place) = thread.find(decider.role(role)) {
                thread.under_way[place].wanted = Wanted::No;
            }
        }
        let mut found = Time::ZERO;
        for &one in taken {
            if let Some(place) = thread.find(one) {
                found = found.max(thread.under_way[place].could_be_found());
                thread.remove(place);
            }
        }
        let traced = recorded.chosen(choice.first, choice.count, choice.chosen);
        let pairs = decider.exchange(list, traced, taken);
        let asked = match *self.instruction(rank, choice.instruction) {
            Instruction::Choose { asked, .. } => asked,
            _ => Asked::Waited,
        };
        let later = asked == Asked::Tested && found > choice.since;
        if !pairs.is_empty() {
            decider.changed(choice.instruction, Changed::Requests(pairs));
        } else if later {
            decider.changed(choice.instruction, Changed::Later);
        }
        decider.choice = None;
        thread.waiting = 0;
        thread.ready = thread.ready.max(done);
        match asked {
            Asked::Waited => taken.iter().for_each(|&one| decider.completed(one)),
            _ => decider.poll_last(choice.instruction, thread.ready, taken.iter().copied()),
        }
    }

    /// Begins a test that found something in the trace; the thread then waits for it.
    pub(super) fn tested(&self, rank: Rank, process: &mut Process, at: usize, number: u32) {
        let Process { threads, decider, .. } = process;
        let (Some(decider), thread) = (decider, &threads[at]) else { return };
        let Instruction::Wait { first, count, asked } = *self.instruction(rank, number) else { return };
        if asked == Asked::Tested {
            decider.tested = Some(Tested { instruction: number, since: thread.ready, found: Time::ZERO });
        }
        let list = self.playback.rank(rank).awaited(first, count).iter();
        let list: SmallVec<[u32; 4]> = list.map(|&role| decider.role(role)).collect();
        decider.poll_last(number, thread.ready, list.into_iter());
    }

    /// Numbers a completion, and checks whether tests find it.
    pub(super) fn report(&self, process: &mut Process, at: usize, place: usize) {
        let Process { threads, decider, .. } = process;
        let (Some(decider), thread) = (decider, &mut threads[at]) else { return };
        decider.reports += 1;
        let entry = &mut thread.under_way[place];
        entry.report = decider.reports;
        if !decider.polls.is_empty() {
            entry.over = true;
            note_completed(decider, thread);
        }
    }

    /// Notes a change if the test would have failed when the thread reached it.
    #[inline]
    pub(super) fn settle_test(&self, process: &mut Process) {
        if let Some(decider) = &mut process.decider
            && let Some(tested) = decider.tested.take()
            && tested.found > tested.since
        {
            decider.changed(tested.instruction, Changed::Later);
        }
    }

    /// Notes the source of a receive's message.
    pub(super) fn took(&self, rank: Rank, process: &mut Process, id: u32, from: Rank, delay: Time) {
        let (at, local) = self.split(id);
        let thread = &mut process.threads[at];
        let Some(place) = thread.holding(local) else { return };
        (thread.under_way[place].delay, thread.under_way[place].source) = (delay, from);
        let number = thread.under_way[place].instruction;
        let wild = self.playback.rank(rank).wild();
        let Ok(place) = wild.binary_search_by_key(&number, |wild| wild.instruction) else { return };
        let from = from - self.playback.base(rank);
        if let Some(decider) = process.decider.as_mut().filter(|_| wild[place].from != from) {
            decider.changed(number, Changed::Source(from));
        }
    }

    /// Adds a test that failed in the trace. It is repeated at its place in the computation that follows.
    pub(super) fn ask(&self, rank: Rank, process: &mut Process, number: u32) {
        let recorded = self.playback.rank(rank);
        let Instruction::Poll { first, count, all, calls, after } = *self.instruction(rank, number) else {
            return;
        };
        let Some(decider) = &mut process.decider else { return };
        let kind = if all { PollKind::All } else { PollKind::Any };
        let poll = Poll { instruction: number, calls, kind, at: after, anchored: false, first: 0, count: 0 };
        let list = recorded.awaited(first, count).iter();
        let list: SmallVec<[u32; 4]> = list.map(|&role| decider.role(role)).collect();
        decider.poll(poll, list.into_iter());
    }

    /// Sets the time of tests without a computation after them: when the thread reaches what follows.
    #[inline]
    pub(super) fn anchor_polls(&self, process: &mut Process, at: usize) {
        if process.decider.as_ref().is_none_or(|decider| decider.polls.is_empty()) {
            return;
        }
        let ready = process.threads[at].ready;
        self.anchor(process, at, ready);
    }

    fn anchor(&self, process: &mut Process, at: usize, start: Time) {
        let Process { threads, decider, .. } = process;
        let Some(decider) = decider else { return };
        for poll in decider.polls.iter_mut().filter(|poll| !poll.anchored) {
            (poll.at, poll.anchored) = (start + poll.at, true);
        }
        note_completed(decider, &threads[at]);
    }

    /// Operation `local` of the only thread has started at `at`.
    #[inline]
    pub(super) fn time_has_come(&self, rank: Rank, process: &mut Process, local: u32, at: Time) {
        let Process { threads, decider, .. } = &mut *process;
        let Some(decider) = decider else { return };
        decider.now = decider.now.max(at);
        if decider.polls.is_empty() {
            return;
        }
        let thread = &mut threads[0];
        let number = thread.holding(local).map(|place| thread.under_way[place].instruction);
        let own = number.map(|number| self.instruction(rank, number));
        if matches!(own, Some(Instruction::Calc(_))) && local % PLACES == super::place_of(OperationKind::Calc)
        {
            self.anchor(process, 0, at);
        }
        let Process { threads, decider, .. } = process;
        let Some(decider) = decider else { return };
        note_completed(decider, &threads[0]);
    }
}

/// Notes which of the requests that tests ask about had completed by then, and answers the tests that can be
/// answered.
fn note_completed(decider: &mut Decider, thread: &Thread) {
    let Decider { polls, polled, .. } = &mut *decider;
    for poll in polls.iter().filter(|poll| poll.anchored && poll.kind != PollKind::Last) {
        let list = &mut polled[poll.first as usize..(poll.first + poll.count) as usize];
        for (one, answer) in list.iter_mut().filter(|(_, answer)| *answer == PollAnswer::Unknown) {
            let entry = thread.find(*one).map(|place| &thread.under_way[place]).filter(|entry| entry.over);
            if let Some(entry) = entry {
                *answer = if entry.could_be_found() <= poll.at { PollAnswer::Yes } else { PollAnswer::No };
            }
        }
    }
    decider.answer();
}
