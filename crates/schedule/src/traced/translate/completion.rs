//! Calls that start, complete or query requests.

use super::{Ask, Polls, RankReader, Site};
use crate::traced::behind::{Behind, InstructionPlace};
use crate::traced::error::TraceError;
use crate::traced::notes::Reason;
use crate::traced::options::Decisions;
use crate::traced::recording::{Asked, Instruction};
use straggler_model::Time;
use straggler_trace::operations::{Acted, Fate, Given, Kind};
use straggler_trace::{Class, HowMany, Matched, Start};

impl<'a> RankReader<'_, 'a> {
    /// Starts persistent requests.
    pub(super) fn begin(&mut self, site: &Site<'a>, acted: &Acted<'_, 'a>) -> Result<(), TraceError> {
        // A send in partitions that is not ready yet is idle.
        let unknown = acted.given().filter(|given| !matches!(given, Given::Operation(_) | Given::Idle));
        unknown.for_each(|_| self.shared.notes.count(Reason::UnknownRequest, site.call.function));
        for (row, operation) in acted.rows() {
            let prepared = Some(operation.described).filter(|&call| call != acted.number);
            let Some((index, call)) = prepared.and_then(|index| Some((index, self.operations.call(index)?)))
            else {
                self.become_of(row, Behind::NotReplayed);
                continue;
            };
            let (index, details) = (index as usize, self.operations.details(call));
            let prepared = Site { index, thread: site.thread, call, details, row: None };
            if operation.kind == Kind::Other || super::unusable(&self.shared.reaches_out, &prepared).is_some()
            {
                self.shared.notes.count(Reason::UnknownRequest, site.call.function);
                self.become_of(row, Behind::NotReplayed);
                continue;
            }
            self.operate(site, &prepared, Start::Nonblocking, row)?;
        }
        Ok(())
    }

    pub(super) fn wait(&mut self, site: &Site<'_>, acted: &Acted<'_, '_>) {
        // Null requests are not listed, and waiting for them takes no time; formats without
        // requests list none.
        let (mut places, mut untold) = (Vec::new(), acted.finished().len() == 0);
        for given in acted.finished() {
            let behind = match given {
                Given::Operation(row) => self.behind.get(row as usize).copied(),
                Given::Idle => continue,
                Given::Over(_) | Given::Unknown => None,
            };
            match behind {
                Some(Behind::Instructions(instructions)) => places.extend(instructions.iter()),
                Some(Behind::NotReplayed) => untold = true,
                None => {
                    self.shared.notes.count(Reason::UnknownRequest, site.call.function);
                    untold = true;
                }
            }
        }
        // If a replayed operation is waited for too, the time spent on the other requests is unknown.
        if untold && places.is_empty() {
            self.wait_not_replayed(site);
        }
        let asked = self.asked(site);
        match self.candidates(site, acted) {
            Some(candidates) if candidates.len() > places.len() => {
                self.await_some(site, candidates, &places, asked)
            }
            _ => self.await_all(site, places, asked),
        }
    }

    /// How a call finds out about its requests. Irrelevant if the replay follows the trace.
    fn asked(&self, site: &Site<'_>) -> Asked {
        let thread = &self.threads[usize::from(site.thread)];
        match site.call.function.class() {
            Class::Test(_) if self.decides && thread.polled_since.is_some() => Asked::Polled,
            Class::Test(_) if self.decides => Asked::Tested,
            _ => Asked::Waited,
        }
    }

    /// The operations among which a call chooses, if the choice can be left to the replay: each
    /// must be a single instruction that the program waits for, here or later.
    fn candidates(&mut self, site: &Site<'_>, acted: &Acted<'_, '_>) -> Option<Vec<InstructionPlace>> {
        let (Class::Wait(how) | Class::Test(how)) = site.call.function.class() else { return None };
        if !matches!(how, HowMany::Any | HowMany::Some) || self.redecides_not() {
            return None;
        }
        if !self.decides {
            self.shared.notes.count(Reason::BoundThreads, site.call.function);
            return None;
        }
        let candidates = self.asked_for(acted);
        if candidates.is_none() {
            self.shared.notes.count(Reason::BoundChoice, site.call.function);
        }
        candidates
    }

    fn redecides_not(&self) -> bool {
        self.shared.options.decisions == Decisions::AsRecorded
    }

    /// The instructions that the requests of a call stand for, without requests that never
    /// complete. `None` if a request is not a single instruction.
    fn asked_for(&self, acted: &Acted<'_, '_>) -> Option<Vec<InstructionPlace>> {
        let mut found = Vec::new();
        for given in acted.given() {
            let Given::Operation(row) = given else { continue };
            let operation = self.operations.get(row)?;
            if operation.fate != Fate::Completed {
                continue;
            }
            let Some(Behind::Instructions(places)) = self.behind.get(row as usize) else { return None };
            let mut places = places.iter();
            match (places.next(), places.next()) {
                (Some(place), None) => found.push(place),
                _ => return None,
            }
        }
        Some(found)
    }

    /// Waits for as many of the candidates as completed in the traced run.
    fn await_some(
        &mut self,
        site: &Site<'_>,
        candidates: Vec<InstructionPlace>,
        taken: &[InstructionPlace],
        asked: Asked,
    ) {
        if taken.is_empty() {
            return;
        }
        let waits = &mut self.threads[usize::from(site.thread)].read.waits;
        let (first, count, chosen) = (waits.len() as u32, candidates.len() as u32, taken.len() as u32);
        waits.extend(candidates.iter().chain(taken));
        self.emit(site, Instruction::Choose { first, count, chosen, asked });
    }

    /// Counts waiting that cannot be replayed as computation, including unsuccessful tests before
    /// it. Very short waits are not noted.
    fn wait_not_replayed(&mut self, site: &Site<'_>) {
        let thread = &mut self.threads[usize::from(site.thread)];
        let (since, computed) = thread.polled_since.take().unwrap_or((site.call.enter, thread.computed));
        let waited = site.call.exit.since(since);
        thread.computed = computed + waited;
        if waited >= self.shared.options.spin {
            let name = site.call.function.name();
            self.shared.notes.count_unmodelled(Reason::NotReplayed, name, waited, self.rank);
        }
    }

    pub(super) fn test(&mut self, site: &Site<'_>, acted: &Acted<'_, '_>) {
        // Null requests are not listed, so a test of only those counts as another poll in a waiting loop.
        if !site.details.found || acted.given().len() == 0 && acted.finished().len() == 0 {
            self.poll(site);
            if self.decides {
                self.ask(site, acted);
            }
            return;
        }
        // Computation between the tests happened before the last of them.
        self.threads[usize::from(site.thread)].settle_polls(self.shared.options.spin);
        self.wait(site, acted);
    }

    /// Records an unsuccessful test, which the replay repeats.
    fn ask(&mut self, site: &Site<'_>, acted: &Acted<'_, '_>) {
        let Class::Test(how) = site.call.function.class() else { return };
        let Some(of) = self.asked_for(acted).filter(|of| !of.is_empty()) else { return };
        let all = matches!(how, HowMany::One | HowMany::All);
        let thread = &mut self.threads[usize::from(site.thread)];
        let repeated = site.details.repeated.map_or(1, |repeated| repeated.calls);
        let calls = u32::try_from(repeated).unwrap_or(u32::MAX);
        let after = thread.computed;
        match thread.asks.last_mut() {
            Some(last) if last.after == after && last.all == all && last.of == of => {
                last.calls = last.calls.saturating_add(calls);
            }
            _ => thread.asks.push(Ask {
                origin: u32::try_from(site.index).unwrap_or(u32::MAX),
                after,
                of,
                all,
                calls,
            }),
        }
    }

    pub(super) fn probe(&mut self, site: &Site<'a>, blocking: bool) -> Result<(), TraceError> {
        if !blocking && !site.details.found {
            self.poll(site);
            if self.decides {
                self.shared.notes.count(Reason::BoundProbe, site.call.function);
            }
            return Ok(());
        }
        if blocking {
            self.shared.notes.count(Reason::Probe, site.call.function);
        }
        self.receive_probed(site)
    }

    /// If the thread's next call receives the message that a probe found, translates the receive at
    /// the place of the probe, so that the time between the two comes after the message. Otherwise
    /// the receive stays where it is.
    fn receive_probed(&mut self, probe: &Site<'a>) -> Result<(), TraceError> {
        let number = u32::try_from(probe.index).unwrap_or(u32::MAX);
        let row = self.operations.received_after(number);
        let received = row.and_then(|row| Some((row, self.operations.get(row)?.begun)));
        let Some((row, index)) = received else { return Ok(()) };
        let Some(call) = self.operations.call(index) else { return Ok(()) };
        let (index, details) = (index as usize, self.operations.details(call));
        let receive = Site { index, thread: probe.thread, call, details, row: Some(row) };
        if super::unusable(&self.shared.reaches_out, &receive).is_some() {
            return Ok(());
        }
        let thread = &mut self.threads[usize::from(probe.thread)];
        thread.settle_polls(self.shared.options.spin);
        thread.received = Some(index);
        let asked = Matched { peer: probe.call.peer, tag: probe.call.tag };
        self.looked_for = Some((probe.call.comm, asked));
        self.operate(&receive, &receive, Start::Blocking, row)?;
        self.looked_for = None;
        Ok(())
    }

    /// Handles an unsuccessful poll. Time inside the calls is waiting, as are short gaps between them.
    fn poll(&mut self, site: &Site<'_>) {
        let spin = self.shared.options.spin;
        let thread = &mut self.threads[usize::from(site.thread)];
        thread.polling = true;
        thread.polled_since.get_or_insert((site.call.enter, thread.computed));
        let Some(repeated) = site.details.repeated else { return };
        let (enter, exit) = (site.call.enter, site.call.exit);
        // Different polls of one loop are counted over the same period, so their time is merged.
        if thread.polls.as_ref().is_some_and(|polls| enter >= polls.end) {
            thread.settle_polls(spin);
        }
        let polls =
            thread.polls.get_or_insert(Polls { start: enter, end: exit, inside: Time::ZERO, calls: 0 });
        polls.end = polls.end.max(exit);
        polls.inside += repeated.inside;
        polls.calls = polls.calls.saturating_add(repeated.calls);
    }

    /// Waits for these instructions.
    pub(super) fn await_all(&mut self, site: &Site<'_>, places: Vec<InstructionPlace>, asked: Asked) {
        if places.is_empty() {
            return;
        }
        let waits = &mut self.threads[usize::from(site.thread)].read.waits;
        let (first, count) = (waits.len() as u32, places.len() as u32);
        waits.extend(places);
        self.emit(site, Instruction::Wait { first, count, asked });
    }
}
