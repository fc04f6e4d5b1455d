//! Waits in collectives: in blocking calls, and in the waits that complete nonblocking ones.

use super::meetings::Meetings;
use super::{Pattern, Wait};
use std::ops::Range;
use straggler_model::{Time, parallel};
use straggler_trace::messages::CallPlace;
use straggler_trace::operations::Operations;
use straggler_trace::{Class, Collective, Function, Start, Trace};

/// One member of a collective.
#[derive(Clone, Copy, Debug)]
struct Member {
    /// The call that entered the collective, and when.
    come: CallPlace,
    comes: Time,
    /// The call in which the member waits for it, its start and its end. The same call if it blocks; none if no call
    /// waits.
    stays: Option<(CallPlace, Time)>,
    over: Time,
    /// Its rank on the communicator.
    number: u32,
    root: i32,
    /// Whether it sends or receives anything.
    moves: bool,
}

/// Waits in blocking calls, and waits for nonblocking collectives. A call that completes several has a wait for each.
pub(super) fn waits(trace: &Trace, operations: &[Operations<'_>]) -> (Vec<Wait>, Vec<Wait>) {
    let all = Meetings::of(trace);
    let found: Vec<Wait> =
        all.iter().flat_map(|meetings| on_communicator(trace, operations, meetings)).collect();
    let blocks = |wait: &Wait| {
        let class = trace.call(wait.place).map(|call| call.function.class());
        matches!(class, Some(Class::Collective(_, Start::Blocking)))
    };
    found.into_iter().partition(blocks)
}

fn on_communicator(trace: &Trace, operations: &[Operations<'_>], meetings: &Meetings<'_>) -> Vec<Wait> {
    // A single process never waits.
    if meetings.members.len() < 2 {
        return Vec::new();
    }
    let some = |range: Range<usize>| {
        let (mut members, mut found) = (Vec::new(), Vec::new());
        for number in range {
            let places = meetings.places(meetings.nth(number));
            if let Some((kind, start)) = gather(trace, operations, places, &mut members) {
                of_one(kind, start, &members, &mut found);
            }
        }
        found
    };
    parallel::ranges(meetings.count(), some).concat()
}

/// The members of one collective; none if its kind is unknown, or not the same for all.
fn gather(
    trace: &Trace,
    operations: &[Operations<'_>],
    places: impl Iterator<Item = CallPlace>,
    members: &mut Vec<Member>,
) -> Option<(Collective, Start)> {
    members.clear();
    let mut function: Option<Function> = None;
    for (number, place) in (0..).zip(places) {
        let call = trace.call(place)?;
        if *function.get_or_insert(call.function) != call.function {
            return None;
        }
        let Class::Collective(_, start) = call.function.class() else { return None };
        let (stays, over) = match start {
            Start::Blocking => (Some((place, call.enter)), trace.moment(place).unwrap_or(call.exit)),
            Start::Nonblocking => match stays(trace, operations, place) {
                Some((stays, over)) => (Some(stays), over),
                None => (None, call.exit),
            },
            Start::Persistent => return None,
        };
        let moves = call.sent > 0 || call.received > 0;
        members.push(Member { come: place, comes: call.enter, stays, over, number, root: call.peer, moves });
    }
    match function?.class() {
        Class::Collective(kind, start) => Some((kind, start)),
        _ => None,
    }
}

/// The wait that completed an operation, its start and its end. Tests do not wait.
fn stays(
    trace: &Trace,
    operations: &[Operations<'_>],
    begun: CallPlace,
) -> Option<((CallPlace, Time), Time)> {
    let rows = operations.get(begun.rank as usize)?.rows();
    let row = rows.get(rows.partition_point(|row| row.begun < begun.call))?;
    let place = CallPlace { call: row.completed().filter(|_| row.begun == begun.call)?, ..begun };
    let call = trace.call(place).filter(|call| matches!(call.function.class(), Class::Wait(_)))?;
    Some(((place, call.enter), call.exit))
}

fn of_one(kind: Collective, start: Start, members: &[Member], found: &mut Vec<Wait>) {
    match kind {
        Collective::Barrier => {
            everybody(start, members, [Pattern::WaitAtBarrier, Pattern::BarrierCompletion], found);
        }
        Collective::Allgather
        | Collective::Allgatherv
        | Collective::Allreduce
        | Collective::Alltoall
        | Collective::ReduceScatter
        | Collective::ReduceScatterBlock => {
            if members.iter().any(|member| member.moves) {
                everybody(start, members, [Pattern::WaitAtNxn, Pattern::NxnCompletion], found);
            }
        }
        // With a separate size for each pair, the dependencies are unknown.
        Collective::Alltoallv | Collective::Alltoallw => {}
        Collective::Bcast | Collective::Scatter | Collective::Scatterv => from_root(members, found),
        Collective::Gather | Collective::Gatherv | Collective::Reduce => to_root(members, found),
        Collective::Scan | Collective::Exscan => prefix(members, found),
    }
}

/// The wait until `cause` entered.
fn until(member: &Member, cause: &Member, pattern: Pattern) -> Option<Wait> {
    let (place, since) = member.stays?;
    let time = cause.comes.min(member.over).since(since);
    let wait = Wait { place, pattern, time, cause: Some(cause.come), wrong_order: false };
    (time > Time::ZERO).then_some(wait)
}

/// All ranks wait for the last to enter, and completion lasts from the first exit to their own. For a nonblocking
/// collective, when it completed inside the wait is unknown.
fn everybody(start: Start, members: &[Member], [wait, completion]: [Pattern; 2], found: &mut Vec<Wait>) {
    let (Some(last), Some(first)) =
        (members.iter().max_by_key(|member| member.comes), members.iter().map(|member| member.over).min())
    else {
        return;
    };
    for member in members {
        found.extend(until(member, last, wait));
        let begin = first.max(last.comes.min(member.over));
        let time = member.over.since(begin);
        let late = Wait { place: member.come, pattern: completion, time, cause: None, wrong_order: false };
        found.extend((start == Start::Blocking && time > Time::ZERO).then_some(late));
    }
}

fn root(members: &[Member]) -> Option<&Member> {
    let number = usize::try_from(members.first()?.root).ok()?;
    members.get(number).filter(|root| root.moves)
}

fn from_root(members: &[Member], found: &mut Vec<Wait>) {
    let Some(root) = root(members) else { return };
    let others = members.iter().filter(|member| member.number != root.number && member.moves);
    found.extend(others.filter_map(|member| until(member, root, Pattern::LateBroadcast)));
}

fn to_root(members: &[Member], found: &mut Vec<Wait>) {
    let Some(root) = root(members) else { return };
    let senders = members.iter().filter(|member| member.moves);
    let Some(last) = senders.max_by_key(|member| member.comes) else { return };
    found.extend(until(root, last, Pattern::EarlyReduce));
}

fn prefix(members: &[Member], found: &mut Vec<Wait>) {
    let mut last: Option<&Member> = None;
    for member in members.iter().filter(|member| member.moves) {
        found.extend(last.and_then(|last| until(member, last, Pattern::EarlyScan)));
        last = last.into_iter().chain([member]).max_by_key(|member| member.comes);
    }
}
