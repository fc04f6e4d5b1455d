//! Unsuccessful tests and probes that were counted instead of recorded individually. The computation of a thread
//! between them lies inside the one call that represents all of them.

use std::collections::HashMap;
use straggler_model::Time;
use straggler_schedule::traced::{Options, computed_between};
use straggler_trace::{Call, RankTrace, Repeated};

/// Polls that were counted together: a stretch of their thread's time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Polls {
    pub start: Time,
    pub end: Time,
    inside: Time,
    calls: u64,
}

impl Polls {
    pub fn length(&self) -> Time {
        self.end.since(self.start)
    }

    /// The computation between the polls.
    pub fn computed(&self) -> Time {
        computed_between(self.length(), self.inside, self.calls, Options::default().spin)
    }
}

impl Polls {
    /// The polls with changed computation between them: their distance stays the same and their number changes. With
    /// a smaller distance, the thread would seem to wait instead of compute.
    pub fn repeated(&self, of_call: Repeated, computed: Time) -> Repeated {
        let before = u128::from(self.computed().ps().max(1));
        let calls = u128::from(of_call.calls) * u128::from(computed.ps()) / before;
        Repeated { calls: u64::try_from(calls).unwrap_or(u64::MAX).max(1), ..of_call }
    }
}

/// The polls of a rank with computation between them, by the first call of each stretch.
pub(super) fn polls(traced: &RankTrace) -> HashMap<usize, Polls> {
    let mut found: HashMap<usize, Polls> = HashMap::new();
    let mut open: HashMap<u16, usize> = HashMap::new();
    for (number, call) in traced.calls.iter().enumerate() {
        let Some(polls) = counted(traced, call) else {
            open.remove(&call.thread);
            continue;
        };
        let beside = open.get(&call.thread).and_then(|first| found.get_mut(first));
        match beside.filter(|stretch| call.enter < stretch.end) {
            Some(stretch) => {
                stretch.end = stretch.end.max(polls.end);
                stretch.inside += polls.inside;
                stretch.calls = stretch.calls.saturating_add(polls.calls);
            }
            None => {
                open.insert(call.thread, number);
                found.insert(number, polls);
            }
        }
    }
    found.retain(|_, stretch| stretch.computed() > Time::ZERO);
    found
}

fn counted(traced: &RankTrace, call: &Call) -> Option<Polls> {
    let repeated = traced.details(call)?.repeated?;
    Some(Polls { start: call.enter, end: call.exit, inside: repeated.inside, calls: repeated.calls })
}
