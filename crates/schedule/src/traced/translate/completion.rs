//! Calls that begin, complete or ask about requests.

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
    /// Begins persistent requests.
    pub(super) fn begin(&mut self, site: &Site<'a>, acted: &Acted<'_, 'a>) -> Result<(), TraceError> {
        let unknown = acted.given().filter(|given| !matches!(given, Given::Operation(_)));
        unknown.for_each(|_| self.shared.notes.count(Reason::UnknownRequest, site.call.function));
        for (row, operation) in acted.rows() {
            let prepared = Some(operation.described).filter(|&call| call != acted.number);
            let Some((index, call)) = prepared.and_then(|index| Some((index, self.operations.call(index)?)))
            else {
                self.become_of(row, Behind::Untold);
                continue;
            };
            let (index, details) = (index as usize, self.operations.details(call));
            let prepared = Site { index, thread: site.thread, call, details, row: None };
            if operation.kind == Kind::Other || super::unusable(&self.shared.reaches_out, &prepared).is_some()
            {
                self.shared.notes.count(Reason::UnknownRequest, site.call.function);
                self.become_of(row, Behind::Untold);
                continue;
            }
            self.operate(site, &prepared, Start::Nonblocking, row)?;
        }
        Ok(())
    }

    pub(super) fn wait(&mut self, site: &Site<'_>, acted: &Acted<'_, '_>) {
        // Null requests are not listed, and waiting for them takes no time; formats that know no requests list none.
        let (mut places, mut untold) = (Vec::new(), acted.finished().len() == 0);
        for given in acted.finished() {
            let behind = match given {
                Given::Operation(row) => self.behind.get(row as usize).copied(),
                Given::Idle => continue,
                Given::Over(_) | Given::Unknown => None,
            };
            match behind {
                Some(Behind::Instructions(instructions)) => places.extend(instructions.iter()),
                Some(Behind::Untold) => untold = true,
                None => {
                    self.shared.notes.count(Reason::UnknownRequest, site.call.function);
                    untold = true;
                }
            }
        }
        // Together with a replayed operation, the time of the wait for it alone is unknown.
        if untold && places.is_empty() {
            self.wait_untold(site);
        }
        let asked = self.asked(site);
        match self.candidates(site, acted) {
            Some(candidates) if candidates.len() > places.len() => {
                self.await_some(site, candidates, &places, asked)
            }
            _ => self.await_all(site, places, asked),
        }
    }

    /// How a call finds out about its requests. To those who follow the trace it is all the same.
    fn asked(&self, site: &Site<'_>) -> Asked {
        let thread = &self.threads[usize::from(site.thread)];
        match site.call.function.class() {
            Class::Test(_) if self.decides && thread.polled_since.is_some() => Asked::Polled,
            Class::Test(_) if self.decides => Asked::Tested,
            _ => Asked::Waited,
        }
    }

    /// The operations among which a call chooses, if it does and that can be left to the replay: each must be one
    /// instruction that the program waits for, here or later.
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

    /// What the requests of a call stand for. Those that nothing completes are left out; none if one is not one instruction.
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

    /// What follows waits for as many of the candidates as the traced run took.
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

    /// Waiting that cannot be replayed, with the unsuccessful tests before; what ended at once is not worth telling.
    fn wait_untold(&mut self, site: &Site<'_>) {
        let thread = &mut self.threads[usize::from(site.thread)];
        let (since, computed) = thread.polled_since.take().unwrap_or((site.call.enter, thread.computed));
        let waited = site.call.exit.since(since);
        thread.computed = computed + waited;
        if waited >= self.shared.options.spin {
            self.shared.notes.count_time(Reason::Untold, site.call.function.name(), waited);
        }
    }

    pub(super) fn test(&mut self, site: &Site<'_>, acted: &Acted<'_, '_>) {
        // Null requests are not listed: a test of nothing else is one more look in a loop that waits for something.
        if !site.details.found || acted.given().len() == 0 && acted.finished().len() == 0 {
            self.poll(site);
            if self.decides {
                self.ask(site, acted);
            }
            return;
        }
        // What was computed between the tests was computed before the last of them.
        self.threads[usize::from(site.thread)].settle_polls(self.shared.options.spin);
        self.wait(site, acted);
    }

    /// An unsuccessful test is asked again by the replay.
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

    /// If the thread's next call receives what a probe has found, the message is waited for where the probe is: what lies
    /// between the two happens when it is there. Otherwise it is received where the program receives it.
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

    /// Nothing was there. Time inside of the calls is waiting; between them too, if there is little.
    fn poll(&mut self, site: &Site<'_>) {
        let spin = self.shared.options.spin;
        let thread = &mut self.threads[usize::from(site.thread)];
        thread.polling = true;
        thread.polled_since.get_or_insert((site.call.enter, thread.computed));
        let Some(repeated) = site.details.repeated else { return };
        let (enter, exit) = (site.call.enter, site.call.exit);
        // Different polls of one loop were counted side by side: their time is one.
        if thread.polls.as_ref().is_some_and(|polls| enter >= polls.end) {
            thread.settle_polls(spin);
        }
        let polls =
            thread.polls.get_or_insert(Polls { start: enter, end: exit, inside: Time::ZERO, calls: 0 });
        polls.end = polls.end.max(exit);
        polls.inside += repeated.inside;
        polls.calls = polls.calls.saturating_add(repeated.calls);
    }

    /// What follows waits for these operations.
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
