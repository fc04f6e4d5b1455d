//! Since when a rank had been doing nothing but wait for what a call found.
//!
//! A blocking call begins to wait when it is entered. A test or probe that finds something is the last of a loop: the rank
//! has been waiting since it first asked for the same thing, as long as it did little else between its questions. A
//! receive that takes what a probe has found waits since the probe does.

use std::collections::HashMap;
use straggler_model::Time;
use straggler_schedule::traced::Options;
use straggler_trace::operations::{Acted, Given, Operations};
use straggler_trace::{Call, Class, Details};

/// A call that finds more at once does not tell when which of them came.
const FEW: usize = 8;

/// How a rank waited for what a call found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Waited {
    pub since: Time,
    /// What lies between the probe that found a message and the receive that took it: it is no part of the waiting.
    pub apart: Time,
    /// A probe had found the message before the call received it.
    pub probed: bool,
}

/// For each rank and each of its calls that waited since before it was entered.
pub(super) type Waits = Vec<HashMap<u32, Waited>>;

pub(super) fn waits(ranks: &[Operations<'_>]) -> Waits {
    let spin = Options::default().spin;
    ranks.iter().map(|rank| Watch { rank, spin, found: HashMap::new() }.walk()).collect()
}

/// What a thread did last.
#[derive(Debug, Default)]
struct Last<'a> {
    /// Unsuccessful tests and probes without computation between them.
    polls: Vec<Acted<'a, 'a>>,
    polled_until: Time,
    /// Since when the thread had waited for what a probe found, if that was its last call.
    probed: Option<Time>,
}

struct Watch<'a> {
    rank: &'a Operations<'a>,
    spin: Time,
    found: HashMap<u32, Waited>,
}

impl<'a> Watch<'a> {
    fn walk(mut self) -> HashMap<u32, Waited> {
        let mut threads: HashMap<u16, Last<'a>> = HashMap::new();
        for acted in self.rank.walk() {
            let last = threads.entry(acted.call.thread).or_default();
            match acted.call.function.class() {
                Class::Test(_) | Class::Probe { blocking: false, .. } if !acted.details.found => {
                    self.poll(last, acted);
                }
                class => {
                    let since = self.since(last, &acted);
                    let waited = Waited { since, apart: Time::ZERO, probed: false };
                    let waited = self.received(last, &acted).or((since < acted.call.enter).then_some(waited));
                    self.found.extend(waited.map(|waited| (acted.number, waited)));
                    last.probed = matches!(class, Class::Probe { .. }).then_some(since);
                    last.polls.clear();
                }
            }
        }
        self.found
    }

    /// Nothing was there.
    fn poll(&self, last: &mut Last<'a>, acted: Acted<'a, 'a>) {
        let Acted { call, details, .. } = acted;
        last.probed = None;
        if call.enter.since(last.polled_until) >= self.spin {
            last.polls.clear();
        }
        if self.between(call, details) >= self.spin {
            last.polls.clear();
        } else {
            last.polls.push(acted);
        }
        last.polled_until = last.polled_until.max(call.exit);
    }

    /// The time between two calls that one record counts.
    fn between(&self, call: &Call, details: &Details) -> Time {
        let Some(repeated) = details.repeated else { return Time::ZERO };
        let between = call.exit.since(call.enter).since(repeated.inside);
        Time(between.ps() / repeated.calls.saturating_sub(1).max(1))
    }

    /// Since when the thread had asked for what a test or probe has found.
    fn since(&self, last: &Last<'_>, acted: &Acted<'_, '_>) -> Time {
        let call = acted.call;
        let asks = matches!(call.function.class(), Class::Test(_) | Class::Probe { blocking: false, .. });
        if !asks || call.enter.since(last.polled_until) >= self.spin || acted.finished().len() > FEW {
            return call.enter;
        }
        let same = last.polls.iter().filter(|poll| asks_for(poll, acted));
        same.map(|poll| poll.call.enter).min().unwrap_or(call.enter).min(call.enter)
    }

    /// A receive right after the probe that found its message.
    fn received(&self, last: &Last<'_>, acted: &Acted<'_, '_>) -> Option<Waited> {
        let since = last.probed?;
        let operation = acted.begun.iter().find(|operation| operation.just_probed)?;
        let probe = self.rank.call(operation.probe()?)?;
        let apart = acted.call.enter.since(probe.exit);
        Some(Waited { since, apart, probed: true })
    }
}

/// Whether an unsuccessful call would have found what a later one did.
fn asks_for(poll: &Acted<'_, '_>, found: &Acted<'_, '_>) -> bool {
    let asked = |call: &Call| (call.function, call.comm, call.peer, call.tag);
    let mut wanted = found.finished().filter(|given| matches!(given, Given::Operation(_)));
    asked(poll.call) == asked(found.call) && wanted.all(|row| poll.given().any(|given| given == row))
}
