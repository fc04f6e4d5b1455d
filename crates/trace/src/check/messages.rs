//! Messages without a partner, and those that do not fit.

use super::{Missing, counted, named};
use crate::call::CommId;
use crate::format::assemble::Finding;
use crate::messages::{CallPlace, Ends, Message, Messages, Received, Sent};
use crate::trace::Trace;
use std::collections::{BTreeMap, BTreeSet};
use straggler_model::Rank;

pub(super) fn check(
    trace: &Trace,
    ends: &[Ends],
    found: &Messages,
    missing: &Missing<'_>,
    findings: &mut Vec<Finding>,
) {
    let mut cut = Cut::default();
    let unresolved: BTreeSet<(Rank, CommId)> = ends
        .iter()
        .flat_map(|rank| rank.unresolved.iter().map(move |&(_, comm)| (rank.rank, comm)))
        .collect();
    for sent in &found.lost {
        if !cut.add(sent.place.rank, sent.to, missing) {
            findings.push(lost(trace, sent, unresolved.contains(&(sent.to, sent.comm))));
        }
    }
    for received in &found.awaited {
        // A receive that no call found completed is reported with the requests.
        if !cut.add(received.place.rank, received.from, missing) && received.done().is_some() {
            findings.push(awaited(trace, received));
        }
    }
    findings.extend(found.matched.iter().filter_map(|message| too_long(trace, message)));
    ends.iter().for_each(|rank| others(trace, rank, findings));
    cut.report(findings);
}

/// Number of messages whose partner may be in a missing part of a stream, by the rank of that
/// stream and whether recording was paused there.
#[derive(Default)]
struct Cut(BTreeMap<(Rank, bool), usize>);

impl Cut {
    /// Counts a message if calls are missing on either side; returns whether that is the case.
    fn add(&mut self, here: Rank, partner: Rank, missing: &Missing<'_>) -> bool {
        let of = |ranks: &BTreeSet<Rank>| [partner, here].into_iter().find(|rank| ranks.contains(rank));
        let whose = match (of(missing.incomplete), of(missing.paused)) {
            (Some(rank), _) => (rank, false),
            (None, Some(rank)) => (rank, true),
            (None, None) => return false,
        };
        *self.0.entry(whose).or_default() += 1;
        true
    }

    fn report(self, findings: &mut Vec<Finding>) {
        for ((rank, paused), count) in self.0 {
            let why = match paused {
                true => "recording was paused on this rank, but not at the same point on the others",
                false => "the stream of this rank is incomplete",
            };
            let what =
                format!("{} no partner, because {why}", counted(count, "message has", "messages have"));
            findings.push(Finding::warning(rank, what));
        }
    }
}

fn lost(trace: &Trace, sent: &Sent, may_be_taken: bool) -> Finding {
    let what = format!(
        "{} sends {} bytes with tag {} to rank {} (communicator {}), which never receives them",
        named(trace, sent.place),
        sent.bytes,
        sent.tag,
        sent.to,
        sent.comm
    );
    if may_be_taken {
        let what = format!("{what}, unless by a wildcard receive whose sender is not recorded");
        return Finding::warning(sent.place.rank, what);
    }
    Finding::error(sent.place.rank, what)
}

fn awaited(trace: &Trace, received: &Received) -> Finding {
    let what = format!(
        "{} receives a message with tag {} from rank {} (communicator {}), which never sends it",
        named(trace, received.place),
        received.tag,
        received.from,
        received.comm
    );
    Finding::error(received.place.rank, what)
}

/// Reports a message that does not fit into its buffer. If the receiving call failed too, this is
/// the program's fault, not the trace's.
fn too_long(trace: &Trace, message: &Message) -> Option<Finding> {
    let (sent, received) = (&message.sent, message.received());
    let room = received.room()?;
    if sent.bytes <= room {
        return None;
    }
    let what = format!(
        "{} has room for {room} bytes, but {} of rank {} sends {}",
        named(trace, received.place),
        named(trace, sent.place),
        sent.place.rank,
        sent.bytes
    );
    if failed(trace, &received) {
        return Some(Finding::warning(
            received.place.rank,
            format!("{what}: the call failed, the message is truncated"),
        ));
    }
    Some(Finding::error(received.place.rank, what))
}

/// Whether the call that completed the receive returned an error.
fn failed(trace: &Trace, received: &Received) -> bool {
    let rank = trace.ranks.get(received.place.rank as usize);
    let call = rank.and_then(|rank| rank.calls.get(received.done()? as usize));
    rank.zip(call).and_then(|(rank, call)| rank.details(call)).is_some_and(|details| details.error.is_some())
}

fn others(trace: &Trace, of_rank: &Ends, findings: &mut Vec<Finding>) {
    let rank = of_rank.rank;
    let name = |call: u32| named(trace, CallPlace { rank, call });
    for &(call, peer) in &of_rank.strangers {
        let what = format!("{} names rank {peer}, which is not in its communicator", name(call));
        findings.push(Finding::error(rank, what));
    }
    for &call in &of_rank.kept {
        let what = format!("{} matches a message that is never received", name(call));
        findings.push(Finding::warning(rank, what));
    }
    if let Some(&(first, _)) = of_rank.unresolved.first() {
        let count = counted(of_rank.unresolved.len(), "wildcard receive", "wildcard receives");
        let what = format!("the sender is not recorded for {count}, first {}", name(first));
        findings.push(Finding::warning(rank, what));
    }
}
