//! Waits in blocking collectives.

use super::{Pattern, Wait};
use straggler_model::Time;
use straggler_trace::collectives::meetings;
use straggler_trace::messages::Place;
use straggler_trace::{Call, Class, Collective, Start, Trace};

/// One member of a collective.
#[derive(Clone, Copy, Debug)]
struct Member<'a> {
    place: Place,
    call: &'a Call,
    /// When the operation was over.
    over: Time,
    /// Its rank on the communicator.
    number: u32,
}

pub(super) fn waits(trace: &Trace) -> Vec<Wait> {
    let mut found = Vec::new();
    for (_, places) in meetings(trace) {
        let member = |(number, place)| {
            let call = trace.call(place)?;
            Some(Member { place, call, over: trace.moment(place).unwrap_or(call.exit), number })
        };
        let members: Option<Vec<Member<'_>>> = (0..).zip(places).map(member).collect();
        // A single process waits for nobody.
        if let Some(members) = members.filter(|members| members.len() > 1) {
            of_one(&members, &mut found);
        }
    }
    found
}

fn of_one(members: &[Member<'_>], found: &mut Vec<Wait>) {
    let Some(first) = members.first() else { return };
    let Class::Collective(kind, Start::Blocking) = first.call.function.class() else { return };
    if members.iter().any(|member| member.call.function != first.call.function) {
        return;
    }
    match kind {
        Collective::Barrier => {
            everybody(members, [Pattern::WaitAtBarrier, Pattern::BarrierCompletion], found);
        }
        Collective::Allgather
        | Collective::Allgatherv
        | Collective::Allreduce
        | Collective::Alltoall
        | Collective::ReduceScatter
        | Collective::ReduceScatterBlock => {
            if members.iter().any(|member| moves(member.call)) {
                everybody(members, [Pattern::WaitAtNxn, Pattern::NxnCompletion], found);
            }
        }
        // With sizes of their own for every pair, nobody knows who needs whom.
        Collective::Alltoallv | Collective::Alltoallw => {}
        Collective::Bcast | Collective::Scatter | Collective::Scatterv => from_root(members, found),
        Collective::Gather | Collective::Gatherv | Collective::Reduce => to_root(members, found),
        Collective::Scan | Collective::Exscan => prefix(members, found),
    }
}

fn moves(call: &Call) -> bool {
    call.sent > 0 || call.received > 0
}

/// Waits until `cause` had come.
fn until(member: &Member<'_>, cause: &Member<'_>, pattern: Pattern) -> Option<Wait> {
    let time = cause.call.enter.min(member.over).since(member.call.enter);
    let wait = Wait { place: member.place, pattern, time, cause: Some(cause.place), wrong_order: false };
    (time > Time::ZERO).then_some(wait)
}

/// Everybody waits for the last, and is late when the first has left.
fn everybody(members: &[Member<'_>], [wait, completion]: [Pattern; 2], found: &mut Vec<Wait>) {
    let (Some(last), Some(first)) = (
        members.iter().max_by_key(|member| member.call.enter),
        members.iter().min_by_key(|member| member.over),
    ) else {
        return;
    };
    for member in members {
        found.extend(until(member, last, wait));
        let begin = first.over.max(last.call.enter.min(member.over));
        let time = member.over.since(begin);
        let place = member.place;
        let late = Wait { place, pattern: completion, time, cause: None, wrong_order: false };
        found.extend((time > Time::ZERO).then_some(late));
    }
}

fn root<'a, 'm>(members: &'m [Member<'a>]) -> Option<&'m Member<'a>> {
    let number = u32::try_from(members.first()?.call.peer).ok()?;
    members.iter().find(|member| member.number == number)
}

fn from_root(members: &[Member<'_>], found: &mut Vec<Wait>) {
    let Some(root) = root(members).filter(|root| moves(root.call)) else { return };
    let others = members.iter().filter(|member| member.number != root.number && moves(member.call));
    found.extend(others.filter_map(|member| until(member, root, Pattern::LateBroadcast)));
}

fn to_root(members: &[Member<'_>], found: &mut Vec<Wait>) {
    let Some(root) = root(members).filter(|root| moves(root.call)) else { return };
    let senders = members.iter().filter(|member| moves(member.call));
    let Some(last) = senders.max_by_key(|member| member.call.enter) else { return };
    found.extend(until(root, last, Pattern::EarlyReduce));
}

fn prefix(members: &[Member<'_>], found: &mut Vec<Wait>) {
    let mut last: Option<&Member<'_>> = None;
    for member in members.iter().filter(|member| moves(member.call)) {
        found.extend(last.and_then(|last| until(member, last, Pattern::EarlyScan)));
        last = last.into_iter().chain([member]).max_by_key(|member| member.call.enter);
    }
}
