//! Calls that begin, complete, ask about or give up requests.

use super::{Polls, RankReader, Site};
use crate::traced::error::TraceError;
use crate::traced::notes::Reason;
use crate::traced::recording::Instruction;
use crate::traced::requests::{Behind, Place};
use straggler_model::Time;
use straggler_trace::messages::takes_probed;
use straggler_trace::{Call, Function, HowMany, RequestId, Start};

/// So many calls of other threads may lie between a probe and its receive.
const LOOK_AHEAD: usize = 64;

impl<'a> RankReader<'_, 'a> {
    /// Begins persistent requests.
    pub(super) fn begin(&mut self, site: &Site<'a>) -> Result<(), TraceError> {
        let requests = &site.details.requests;
        for (place, &persistent) in (0..).zip(requests) {
            let known = self.requests.prepared_by(persistent);
            let prepared = known.and_then(|index| Some((index, self.traced.calls.get(index)?)));
            let made = site.call.request.checked_add(place).filter(|_| site.call.request != Call::NO_REQUEST);
            let Some((index, call)) = prepared else {
                self.shared.notes.count(Reason::UnknownRequest, site.call.function);
                made.into_iter().for_each(|made| self.requests.make(made, Behind::Untold));
                continue;
            };
            let details = self.traced.details(call).unwrap_or(&super::NO_DETAILS);
            // Traces that give no new numbers mean the persistent request itself.
            let made = made.unwrap_or(persistent);
            self.requests.begin(persistent, made);
            let prepared = Site { index, thread: site.thread, call, details };
            self.operate(site, &prepared, Start::Nonblocking, made)?;
        }
        Ok(())
    }

    pub(super) fn wait(&mut self, site: &Site<'_>, how_many: HowMany) {
        let completed = site.details.completed.iter().map(|one| one.request);
        let listed = &site.details.requests;
        let all = matches!(how_many, HowMany::One | HowMany::All) && !listed.is_empty();
        let requests: Vec<RequestId> = if all { listed.clone() } else { completed.collect() };
        // Null requests are not listed, and waiting for them takes no time; formats that know no requests list none.
        let (mut places, mut untold) = (Vec::new(), requests.is_empty());
        for request in requests {
            match self.requests.complete(request) {
                Some(Behind::Operations(operations)) => places.extend(operations),
                Some(Behind::Untold) => untold = true,
                None => {
                    self.shared.notes.count(Reason::UnknownRequest, site.call.function);
                    untold = true;
                }
            }
        }
        // Beside something that is replayed, nobody knows how long it would have been waited for alone.
        if untold && places.is_empty() {
            self.wait_untold(site);
        }
        self.await_all(site, places);
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

    pub(super) fn test(&mut self, site: &Site<'_>, how_many: HowMany) {
        // Null requests are not listed: a test of nothing else is one more look in a loop that waits for something.
        if !site.details.found || site.details.requests.is_empty() && site.details.completed.is_empty() {
            return self.poll(site);
        }
        // What was computed between the tests was computed before the last of them.
        self.threads[usize::from(site.thread)].settle_polls(self.shared.options.spin);
        self.wait(site, how_many);
    }

    /// What was kept for one receive is remembered.
    pub(super) fn probe(&mut self, site: &Site<'a>, blocking: bool, keeps: bool) -> Result<(), TraceError> {
        if !blocking && !site.details.found {
            self.poll(site);
            return Ok(());
        }
        if blocking {
            self.shared.notes.count(Reason::Probe, site.call.function);
        }
        if let (true, Some(message), Some(matched)) = (keeps, site.details.message, site.details.matched) {
            self.messages.insert(message, (site.call.comm, matched));
        }
        self.receive_probed(site)
    }

    /// If the thread's next call receives what a probe has found, the message is waited for where the probe is: what lies
    /// between the two happens when it is there. Otherwise it is received where the program receives it.
    fn receive_probed(&mut self, probe: &Site<'a>) -> Result<(), TraceError> {
        let traced = self.traced;
        let after = traced.calls.iter().enumerate().skip(probe.index + 1).take(LOOK_AHEAD);
        let next = after.into_iter().find(|(_, call)| call.thread == probe.call.thread);
        let Some((index, call)) = next.filter(|(_, call)| takes_probed(traced, probe.call, call)) else {
            return Ok(());
        };
        let details = traced.details(call).unwrap_or(&super::NO_DETAILS);
        let receive = Site { index, thread: probe.thread, call, details };
        if super::unusable(&self.shared.reaches_out, &receive).is_some() {
            return Ok(());
        }
        let thread = &mut self.threads[usize::from(probe.thread)];
        thread.settle_polls(self.shared.options.spin);
        thread.received = Some(index);
        self.operate(&receive, &receive, Start::Blocking, Call::NO_REQUEST)
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

    /// A request that is given up is still served, but nobody waits for it.
    pub(super) fn give_up(&mut self, site: &Site<'_>) {
        if site.call.function == Function::Request_free {
            for &request in &site.details.requests {
                self.requests.complete(request);
            }
        }
    }

    /// What follows waits for these operations.
    pub(super) fn await_all(&mut self, site: &Site<'_>, places: Vec<Place>) {
        if places.is_empty() {
            return;
        }
        let waits = &mut self.threads[usize::from(site.thread)].read.waits;
        let (first, count) = (waits.len() as u32, places.len() as u32);
        waits.extend(places);
        self.emit(site, Instruction::Wait { first, count });
    }
}
