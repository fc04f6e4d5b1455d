//! Traces with calls taken out, put in or changed. The time that a call took which is not there any more is gone too; what
//! was computed before it is computed before the next.

use std::collections::HashMap;
use straggler_model::Time;
use straggler_trace::{Call, Details, RankTrace};

/// The calls of a rank while they are edited.
pub struct Editor {
    rank: RankTrace,
    /// What each thread has computed since its last call.
    computed: HashMap<u16, Time>,
    /// Where each thread is: in the trace, and now.
    clocks: HashMap<u16, (Time, Time)>,
}

impl Editor {
    /// A rank without its calls.
    pub fn new(traced: &RankTrace) -> Editor {
        let rank = RankTrace {
            host: traced.host.clone(),
            cores: traced.cores.clone(),
            clock: traced.clock,
            unknown: traced.unknown.clone(),
            usage: traced.usage,
            ..RankTrace::default()
        };
        Editor { rank, computed: HashMap::new(), clocks: HashMap::new() }
    }

    /// The thread of a call has computed up to it.
    pub fn compute_up_to(&mut self, call: &Call) {
        let (traced, _) = *self.clocks.entry(call.thread).or_insert((call.enter, call.enter));
        *self.computed.entry(call.thread).or_default() += call.enter.since(traced);
        if let Some((traced, _)) = self.clocks.get_mut(&call.thread) {
            *traced = (*traced).max(call.exit);
        }
    }

    /// The thread computes more.
    pub fn compute(&mut self, thread: u16, time: Time) {
        *self.computed.entry(thread).or_default() += time;
    }

    /// What the thread has computed since its last call.
    pub fn computed(&self, thread: u16) -> Time {
        self.computed.get(&thread).copied().unwrap_or_default()
    }

    /// A call comes after so much of what was computed; the rest comes after it.
    pub fn push_after(&mut self, part: Time, call: &Call, details: Option<Details>) {
        let computed = self.computed.entry(call.thread).or_default();
        let part = part.min(*computed);
        *computed = computed.since(part);
        let (_, now) = self.clocks.entry(call.thread).or_insert((call.enter, call.enter));
        let (length, enter) = (call.exit.since(call.enter), *now + part);
        *now = enter + length;
        let old = call.enter;
        let call = Call { enter, exit: enter + length, details: Call::NO_DETAILS, ..*call };
        match details {
            Some(mut details) => {
                details.moment = details.moment.map(|moment| enter + moment.since(old));
                self.rank.push_with(call, details);
            }
            None => self.rank.push(call),
        }
    }

    /// A call comes after all that was computed.
    pub fn push(&mut self, call: &Call, details: Option<Details>) {
        self.push_after(self.computed(call.thread), call, details);
    }

    pub fn finish(self) -> RankTrace {
        self.rank
    }
}
