//! Messages without a partner, and those that do not fit.

use super::{counted, named};
use crate::format::assemble::Finding;
use crate::messages::{Ends, Message, Messages, Place, Received, Sent};
use crate::trace::Trace;
use std::collections::{BTreeMap, BTreeSet};
use straggler_model::Rank;

pub(super) fn check(
    trace: &Trace,
    ends: &[Ends],
    found: &Messages,
    incomplete: &BTreeSet<Rank>,
    findings: &mut Vec<Finding>,
) {
    let mut cut = Cut::default();
    let unresolved: BTreeSet<(Rank, u32)> = ends
        .iter()
        .flat_map(|rank| rank.unresolved.iter().map(move |&(_, comm)| (rank.rank, comm)))
        .collect();
    for sent in &found.lost {
        if incomplete.contains(&sent.to) || incomplete.contains(&sent.place.rank) {
            cut.add(sent.place.rank, sent.to, incomplete);
        } else {
            findings.push(lost(trace, sent, unresolved.contains(&(sent.to, sent.comm))));
        }
    }
    for received in &found.awaited {
        // A receive that nothing has found completed is told with the requests.
        if incomplete.contains(&received.from) || incomplete.contains(&received.place.rank) {
            cut.add(received.place.rank, received.from, incomplete);
        } else if received.done().is_some() {
            findings.push(awaited(trace, received));
        }
    }
    findings.extend(found.matched.iter().filter_map(|message| too_long(trace, message)));
    ends.iter().for_each(|rank| others(trace, rank, findings));
    cut.tell(findings);
}

/// Messages whose partner may be in a part of a stream that is not there, by the rank of that stream.
#[derive(Default)]
struct Cut(BTreeMap<Rank, usize>);

impl Cut {
    fn add(&mut self, here: Rank, partner: Rank, incomplete: &BTreeSet<Rank>) {
        let whose = if incomplete.contains(&partner) { partner } else { here };
        *self.0.entry(whose).or_default() += 1;
    }

    fn tell(self, findings: &mut Vec<Finding>) {
        for (rank, count) in self.0 {
            let what = format!(
                "{} no partner, as the stream of this rank is not whole",
                counted(count, "message has", "messages have")
            );
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
        let what = format!("{what}, unless by a wildcard receive whose sender is not known");
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

/// A message that does not fit. Where the call that received it says so, too, it is the program's fault, not the trace's.
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
            format!("{what}: the call failed, the message is cut"),
        ));
    }
    Some(Finding::error(received.place.rank, what))
}

/// Whether the call that found a message there returned an error.
fn failed(trace: &Trace, received: &Received) -> bool {
    let rank = trace.ranks.get(received.place.rank as usize);
    let call = rank.and_then(|rank| rank.calls.get(received.done()? as usize));
    rank.zip(call).and_then(|(rank, call)| rank.details(call)).is_some_and(|details| details.error.is_some())
}

fn others(trace: &Trace, of_rank: &Ends, findings: &mut Vec<Finding>) {
    let rank = of_rank.rank;
    let name = |call: u32| named(trace, Place { rank, call });
    for &(call, peer) in &of_rank.strangers {
        let what = format!("{} names rank {peer}, which its communicator has not", name(call));
        findings.push(Finding::error(rank, what));
    }
    for &call in &of_rank.kept {
        let what = format!("{} keeps a message that nobody receives", name(call));
        findings.push(Finding::warning(rank, what));
    }
    if let Some(&(first, _)) = of_rank.unresolved.first() {
        let count = counted(of_rank.unresolved.len(), "wildcard receive", "wildcard receives");
        let what = format!("of {count} it is not known who sent the message, first {}", name(first));
        findings.push(Finding::warning(rank, what));
    }
}
