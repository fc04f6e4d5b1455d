//! Since when a rank had been only waiting for what a call found.
//!
//! A blocking call waits from its start. A test or probe that succeeds is the last of a loop: the rank has been
//! waiting since it first polled for the same thing, as long as it did little else in between. A receive of a probed
//! message waits since the probe does. If a rank sends and then waits at once, messages may have arrived while it
//! sent: it has been waiting since it began to send.

use std::collections::HashMap;
use straggler_model::Time;
use straggler_schedule::traced::Options;
use straggler_trace::operations::{Acted, Given, Kind, Operation, Operations};
use straggler_trace::{Call, Class, Details, Start};

/// If a call completes more than this, the arrival times of its messages are unclear.
const FEW: usize = 8;

/// After a large message the next call may begin this much later: caches are cold.
const COLD: Time = Time::from_ns(100_000);

/// How a rank waited for what a call found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Waited {
    pub since: Time,
    /// The time between the probe that found a message and the receive that took it; it is not waiting time.
    pub apart: Time,
    /// A probe had found the message before the call received it.
    pub probed: bool,
    /// What the rank sent between then and the call.
    pub sends: u32,
    pub bytes: u64,
    /// The first call after that time.
    pub first: Option<u32>,
}

impl Waited {
    pub fn since(since: Time) -> Waited {
        Waited { since, apart: Time::ZERO, probed: false, sends: 0, bytes: 0, first: None }
    }
}

/// A run of calls that only send.
#[derive(Clone, Copy, Debug)]
struct Sending {
    /// Its first call.
    first: u32,
    since: Time,
    until: Time,
    sends: u32,
    bytes: u64,
}

impl Sending {
    /// Whether a call entered at that time continues it; after a large message, cold caches allow a longer pause.
    fn goes_on(&self, enter: Time, spin: Time) -> bool {
        let pause = enter.since(self.until);
        pause < spin || pause < COLD.min(Time(self.until.since(self.since).ps() / 8))
    }
}

/// How one rank waited.
#[derive(Debug, Default)]
pub(super) struct Waits {
    /// Calls whose waiting began before they were entered.
    found: HashMap<u32, Waited>,
    /// From the first sending call to the waiting call after it; in order.
    sending: Vec<(u32, u32)>,
}

impl Waits {
    pub fn get(&self, call: u32) -> Option<Waited> {
        self.found.get(&call).copied()
    }

    /// Whether messages may have arrived during a sending call. If intervals of several threads overlap, the one that
    /// ends first decides.
    pub fn may_receive(&self, send: u32) -> bool {
        let next = self.sending.partition_point(|&(_, last)| last < send);
        self.sending.get(next).is_some_and(|&(first, _)| first <= send)
    }
}

/// How each rank waited.
pub(super) fn waits(ranks: &[Operations<'_>]) -> Vec<Waits> {
    let spin = Options::default().spin;
    ranks.iter().map(|rank| Watch { rank, spin, waits: Waits::default() }.walk()).collect()
}

/// What a thread did last.
#[derive(Debug, Default)]
struct Last<'a> {
    /// Unsuccessful tests and probes without computation between them.
    polls: Vec<Acted<'a, 'a>>,
    polled_until: Time,
    /// If the last call was a probe, since when the thread had waited for what it found.
    probed: Option<Time>,
    /// The preceding calls, if they only sent.
    sending: Option<Sending>,
}

struct Watch<'a> {
    rank: &'a Operations<'a>,
    spin: Time,
    waits: Waits,
}

impl<'a> Watch<'a> {
    fn walk(mut self) -> Waits {
        let mut threads: HashMap<u16, Last<'a>> = HashMap::new();
        for acted in self.rank.walk() {
            let last = threads.entry(acted.call.thread).or_default();
            match acted.call.function.class() {
                Class::Test(_) | Class::Probe { blocking: false, .. } if !acted.details.found => {
                    self.poll(last, acted);
                }
                class => {
                    let since = self.since(last, &acted);
                    let sends = self.sends(last, &acted, since);
                    let looped = (since < acted.call.enter).then(|| Waited::since(since));
                    let waited = self.received(last, &acted).or(sends).or(looped);
                    self.waits.found.extend(waited.map(|waited| (acted.number, waited)));
                    last.probed = matches!(class, Class::Probe { .. }).then_some(since);
                    last.polls.clear();
                }
            }
        }
        // Calls of threads interleave, so intervals may end in another order than they begin.
        self.waits.sending.sort_unstable_by_key(|&(_, last)| last);
        self.waits
    }

    /// An unsuccessful test or probe.
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

    /// The mean time between two of the repeated calls that one record holds.
    fn between(&self, call: &Call, details: &Details) -> Time {
        let Some(repeated) = details.repeated else { return Time::ZERO };
        let between = call.exit.since(call.enter).since(repeated.inside);
        Time(between.ps() / repeated.calls.saturating_sub(1).max(1))
    }

    /// Since when the thread had polled for what a test or probe found.
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
        Some(Waited { apart, probed: true, ..Waited::since(since) })
    }

    /// A waiting call right after calls that only send: messages may have arrived during these.
    fn sends(&mut self, last: &mut Last<'_>, acted: &Acted<'_, '_>, since: Time) -> Option<Waited> {
        let call = acted.call;
        let before = last.sending.take().filter(|sending| sending.goes_on(since, self.spin));
        let fresh = Sending { first: acted.number, since, until: call.exit, sends: 0, bytes: 0 };
        let mut sending = Sending { until: call.exit, ..before.unwrap_or(fresh) };
        if acted.begun.iter().any(Operation::sends) {
            sending.sends = sending.sends.saturating_add(1);
            sending.bytes = sending.bytes.saturating_add(call.sent);
        }
        let only_sends = match call.function.class() {
            Class::Send(..) => true,
            Class::Recv(Start::Nonblocking | Start::Persistent) => before.is_some(),
            Class::Wait(_) => acted.finished().all(|given| self.is_send(given)),
            _ => false,
        };
        if only_sends {
            last.sending = Some(sending);
            return None;
        }
        let Sending { first, since, sends, bytes, .. } = sending;
        if sends == 0 {
            return None;
        }
        self.waits.sending.push((first, acted.number));
        Some(Waited { sends, bytes, first: Some(first), ..Waited::since(since) })
    }

    fn is_send(&self, given: Given) -> bool {
        let Given::Operation(row) = given else { return true };
        self.rank.get(row).is_some_and(|operation| operation.kind == Kind::Send)
    }
}

/// Whether an unsuccessful call polled for what a later one found.
fn asks_for(poll: &Acted<'_, '_>, found: &Acted<'_, '_>) -> bool {
    let asked = |call: &Call| (call.function, call.comm, call.peer, call.tag);
    let mut wanted = found.finished().filter(|given| matches!(given, Given::Operation(_)));
    asked(poll.call) == asked(found.call) && wanted.all(|row| poll.given().any(|given| given == row))
}
