//! Times that are impossible.

use super::{counted, named};
use crate::format::assemble::{Finding, Severity};
use crate::messages::{CallPlace, Message, Messages};
use crate::trace::{RankTrace, Trace};
use std::collections::BTreeMap;
use straggler_model::{Rank, Time};

pub(super) fn check(trace: &Trace, found: &Messages, findings: &mut Vec<Finding>) {
    for (rank, of_rank) in (0..).zip(&trace.ranks) {
        let backwards = backwards(of_rank);
        if let Some(&first) = backwards.first() {
            let count = counted(backwards.len(), "call goes", "calls go");
            let first = named(trace, CallPlace { rank, call: first });
            findings.push(Finding::error(rank, format!("{count} back in time, first {first}")));
        }
    }
    let threaded: Vec<bool> = trace.ranks.iter().map(has_threads).collect();
    let mut early: BTreeMap<(Rank, bool), Early> = BTreeMap::new();
    for message in &found.matched {
        if let Some(by) = arrives_early(trace, message) {
            let ranks = [message.sent.place.rank, message.sent.to];
            let threads = ranks.iter().any(|&rank| threaded.get(rank as usize) == Some(&true));
            early.entry((ranks[1], threads)).or_default().add(*message, by);
        }
    }
    findings.extend(early.iter().map(|(&(rank, threads), early)| early.report(trace, rank, threads)));
}

/// Whether several threads of a rank make calls. The order in which MPI matched their messages is
/// not recorded, so messages may be paired wrongly.
fn has_threads(rank: &RankTrace) -> bool {
    rank.calls.iter().any(|call| Some(call.thread) != rank.calls.first().map(|first| first.thread))
}

/// The calls that end before they begin, begin before an earlier entry, or begin inside another
/// call of their thread and end after it. Calls nested in another are fine: libraries make some
/// inside MPI_Finalize. Counted polls are left out, since those of one loop overlap.
fn backwards(of_rank: &RankTrace) -> Vec<u32> {
    let mut busy: BTreeMap<u16, Time> = BTreeMap::new();
    let mut last = Time::ZERO;
    let mut found = Vec::new();
    for (number, call) in (0..).zip(&of_rank.calls) {
        if of_rank.details(call).is_some_and(|details| details.repeated.is_some()) {
            continue;
        }
        let until = busy.entry(call.thread).or_default();
        let crosses = call.enter < *until && call.exit > *until;
        if call.exit < call.enter || call.enter < last || crosses {
            found.push(number);
        }
        *until = (*until).max(call.exit);
        last = last.max(call.enter);
    }
    found
}

/// How long before its sending a message is received, if that exceeds the stated clock errors.
fn arrives_early(trace: &Trace, message: &Message) -> Option<Time> {
    let (from, to) = (message.sent.place.rank, message.sent.to);
    let receiver = trace.ranks.get(to as usize)?;
    let done = receiver.calls.get(message.received().done()? as usize)?.exit;
    let by = message.sent.enter.since(done);
    let allowed = stated(trace, from).unwrap_or_default() + stated(trace, to).unwrap_or_default();
    (by > allowed).then_some(by)
}

fn stated(trace: &Trace, rank: Rank) -> Option<Time> {
    trace.ranks.get(rank as usize)?.clock.error
}

/// The messages of one receiver that arrive before they are sent.
#[derive(Default)]
struct Early {
    count: usize,
    worst: Option<(Time, Message)>,
}

impl Early {
    fn add(&mut self, message: Message, by: Time) {
        self.count += 1;
        if self.worst.is_none_or(|(worst, _)| by > worst) {
            self.worst = Some((by, message));
        }
    }

    /// An error if both clocks have a stated error, which must then be wrong. A warning if one has
    /// none, or if messages of several threads may have been confused.
    fn report(&self, trace: &Trace, rank: Rank, threads: bool) -> Finding {
        let Some((by, message)) = self.worst else { return Finding::warning(rank, "") };
        let (sent, received) = (message.sent, message.received());
        let errors = [sent.place.rank, rank].map(|rank| stated(trace, rank));
        let stated = match errors {
            _ if threads => {
                "several threads make calls, and the order in which MPI matched their messages is not \
                             recorded"
                    .into()
            }
            [Some(a), Some(b)] => format!("the stated clock error is {}", a + b),
            _ => "the clock error is unknown".into(),
        };
        let severity = if threads || errors.contains(&None) { Severity::Warning } else { Severity::Error };
        let what = format!(
            "{} before they are sent, by up to {by} ({} from {} of rank {}); {stated}",
            counted(self.count, "message is received", "messages are received"),
            named(trace, received.place),
            named(trace, sent.place),
            sent.place.rank
        );
        Finding { severity, ..Finding::error(rank, what) }
    }
}
