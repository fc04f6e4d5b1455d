//! Since when a rank had been doing nothing but wait for what a call found.
//!
//! A blocking call begins to wait when it is entered. A test or probe that finds something is the last of a loop: the rank
//! has been waiting since it first asked for the same thing, as long as it did little else between its questions. A
//! receive that takes what a probe has found waits since the probe does.

use std::collections::HashMap;
use straggler_model::Time;
use straggler_schedule::traced::Options;
use straggler_trace::messages::takes_probed;
use straggler_trace::{Call, Class, Details, HowMany, RankTrace, RequestId};

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

pub(super) fn waits(ranks: &[RankTrace]) -> Waits {
    let spin = Options::default().spin;
    ranks.iter().map(|rank| Watch { rank, spin, found: HashMap::new() }.walk()).collect()
}

/// What a thread did last.
#[derive(Debug, Default)]
struct Last {
    /// Unsuccessful tests and probes without computation between them.
    polls: Vec<u32>,
    polled_until: Time,
    /// A probe that found something, and since when it did.
    probe: Option<(u32, Time)>,
}

struct Watch<'a> {
    rank: &'a RankTrace,
    spin: Time,
    found: HashMap<u32, Waited>,
}

impl Watch<'_> {
    fn walk(mut self) -> HashMap<u32, Waited> {
        let mut threads: HashMap<u16, Last> = HashMap::new();
        let nothing = Details::default();
        for (number, call) in (0..).zip(&self.rank.calls) {
            let last = threads.entry(call.thread).or_default();
            let details = self.rank.details(call).unwrap_or(&nothing);
            match call.function.class() {
                Class::Test(_) | Class::Probe { blocking: false, .. } if !details.found => {
                    self.poll(last, number, call, details);
                }
                class => {
                    let since = self.since(last, call, details);
                    let received = self.received(last, call);
                    let waited = received.or((since < call.enter).then_some(Waited {
                        since,
                        apart: Time::ZERO,
                        probed: false,
                    }));
                    self.found.extend(waited.map(|waited| (number, waited)));
                    last.probe = matches!(class, Class::Probe { .. }).then_some((number, since));
                    last.polls.clear();
                }
            }
        }
        self.found
    }

    /// Nothing was there.
    fn poll(&self, last: &mut Last, number: u32, call: &Call, details: &Details) {
        last.probe = None;
        if call.enter.since(last.polled_until) >= self.spin {
            last.polls.clear();
        }
        if self.between(call, details) >= self.spin {
            last.polls.clear();
        } else {
            last.polls.push(number);
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
    fn since(&self, last: &Last, call: &Call, details: &Details) -> Time {
        let asks = matches!(call.function.class(), Class::Test(_) | Class::Probe { blocking: false, .. });
        if !asks || call.enter.since(last.polled_until) >= self.spin {
            return call.enter;
        }
        let wanted = found_by(call, details);
        if wanted.len() > FEW {
            return call.enter;
        }
        let polls = last.polls.iter().filter_map(|&poll| self.rank.calls.get(poll as usize));
        let same = polls.filter(|poll| self.asks_for(poll, call, &wanted));
        same.map(|poll| poll.enter).min().unwrap_or(call.enter).min(call.enter)
    }

    /// Whether an unsuccessful call would have found what a later one did.
    fn asks_for(&self, poll: &Call, found: &Call, wanted: &[RequestId]) -> bool {
        let same = (poll.function, poll.comm, poll.peer, poll.tag)
            == (found.function, found.comm, found.peer, found.tag);
        let given = self.rank.details(poll).map(|details| &details.requests[..]).unwrap_or_default();
        same && wanted.iter().all(|request| given.contains(request))
    }

    /// A receive right after the probe that found its message.
    fn received(&self, last: &Last, call: &Call) -> Option<Waited> {
        let (number, since) = last.probe?;
        let probe = self.rank.calls.get(number as usize)?;
        let apart = call.enter.since(probe.exit);
        takes_probed(self.rank, probe, call).then_some(Waited { since, apart, probed: true })
    }
}

/// The requests that a test has found completed.
fn found_by(call: &Call, details: &Details) -> Vec<RequestId> {
    match call.function.class() {
        Class::Test(HowMany::One | HowMany::All) => details.requests.clone(),
        _ => details.completed.iter().map(|one| one.request).collect(),
    }
}
