//! Waits in collectives: in blocking calls, and in the waits that complete nonblocking and persistent ones.

use super::meetings::{Meetings, Part};
use super::{Pattern, Wait};
use std::ops::Range;
use straggler_model::{Time, parallel};
use straggler_trace::call::special;
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
    /// Its number among all members.
    number: u32,
    /// On an intercommunicator, whether it is in the first group.
    in_first: bool,
    root: i32,
    /// Whether it sends or receives anything.
    moves: bool,
}

/// A collective: what it does, how it starts, and whether it is between two groups.
#[derive(Clone, Copy, Debug)]
struct What {
    kind: Collective,
    start: Start,
    between_groups: bool,
}

/// Waits in blocking calls, and waits for nonblocking collectives. A call that completes several has a wait for each.
pub(super) fn waits(trace: &Trace, operations: &[Operations<'_>]) -> (Vec<Wait>, Vec<Wait>) {
    let all = Meetings::new(trace, operations);
    let found: Vec<Wait> =
        all.iter().flat_map(|meetings| on_communicator(trace, operations, meetings)).collect();
    let blocks = |wait: &Wait| {
        let class = trace.call(wait.place).map(|call| call.function.class());
        matches!(class, Some(Class::Collective(_, Start::Blocking)))
    };
    found.into_iter().partition(blocks)
}

fn on_communicator(trace: &Trace, operations: &[Operations<'_>], meetings: &Meetings) -> Vec<Wait> {
    // A single process never waits.
    if meetings.members.len() < 2 {
        return Vec::new();
    }
    let some = |range: Range<usize>| {
        let (mut members, mut found) = (Vec::new(), Vec::new());
        for number in range {
            let parts = meetings.nth(number, operations);
            if let Some(what) = gather(trace, parts, meetings.first_group, &mut members) {
                of_one(what, &members, &mut found);
            }
        }
        found
    };
    parallel::ranges(meetings.count(), some).concat()
}

/// The members of one collective; none if its kind is unknown, or not the same for all.
fn gather<'a>(
    trace: &Trace,
    parts: impl Iterator<Item = Option<Part<'a>>>,
    first_group: Option<usize>,
    members: &mut Vec<Member>,
) -> Option<What> {
    members.clear();
    let mut function: Option<Function> = None;
    for (number, part) in (0..).zip(parts) {
        let Part { come, described, completed } = part?;
        if *function.get_or_insert(described.function) != described.function {
            return None;
        }
        let Class::Collective(_, start) = described.function.class() else { return None };
        let call = trace.call(come)?;
        let (stays, over) = match start {
            Start::Blocking => (Some((come, call.enter)), trace.moment(come).unwrap_or(call.exit)),
            Start::Nonblocking | Start::Persistent => match stays(trace, completed) {
                Some((stays, over)) => (Some(stays), over),
                None => (None, call.exit),
            },
        };
        let moves = described.sent > 0 || described.received > 0;
        let in_first = first_group.is_none_or(|size| (number as usize) < size);
        let (comes, root) = (call.enter, described.peer);
        members.push(Member { come, comes, stays, over, number, in_first, root, moves });
    }
    match function?.class() {
        Class::Collective(kind, start) => Some(What { kind, start, between_groups: first_group.is_some() }),
        _ => None,
    }
}

/// The wait that completed an operation, its start and its end. Tests do not wait.
fn stays(trace: &Trace, completed: Option<CallPlace>) -> Option<((CallPlace, Time), Time)> {
    let place = completed?;
    let call = trace.call(place).filter(|call| matches!(call.function.class(), Class::Wait(_)))?;
    Some(((place, call.enter), call.exit))
}

fn of_one(what: What, members: &[Member], found: &mut Vec<Wait>) {
    match what.kind {
        Collective::Barrier => {
            everybody(what, members, [Pattern::WaitAtBarrier, Pattern::BarrierCompletion], found);
        }
        Collective::Allgather
        | Collective::Allgatherv
        | Collective::Allreduce
        | Collective::Alltoall
        | Collective::ReduceScatter
        | Collective::ReduceScatterBlock => {
            if members.iter().any(|member| member.moves) {
                everybody(what, members, [Pattern::WaitAtNxn, Pattern::NxnCompletion], found);
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
/// collective, when it completed inside the wait is unknown. Between two groups, a rank may leave before the last of
/// its own group enters: then it waited for the other group only.
fn everybody(what: What, members: &[Member], [wait, completion]: [Pattern; 2], found: &mut Vec<Wait>) {
    let last_of = |in_first: Option<bool>| {
        let group = members.iter().filter(|member| in_first.is_none_or(|first| member.in_first == first));
        group.max_by_key(|member| member.comes)
    };
    let (Some(last), Some(first)) = (last_of(None), members.iter().map(|member| member.over).min()) else {
        return;
    };
    let completes = what.start == Start::Blocking && !what.between_groups;
    let groups = [false, true].map(|group| last_of(Some(group)).filter(|_| what.between_groups));
    for member in members {
        let other_group = groups[usize::from(!member.in_first)].filter(|_| member.over < last.comes);
        found.extend(until(member, other_group.unwrap_or(last), wait));
        let begin = first.max(last.comes.min(member.over));
        let time = member.over.since(begin);
        let late = Wait { place: member.come, pattern: completion, time, cause: None, wrong_order: false };
        found.extend((completes && time > Time::ZERO).then_some(late));
    }
}

/// The root. Between two groups it names itself, and the rest of its group takes no part.
fn root(members: &[Member]) -> Option<&Member> {
    let named = members.iter().find(|member| member.root == special::ROOT);
    let number = usize::try_from(members.first()?.root).ok();
    named.or_else(|| members.get(number?)).filter(|root| root.moves)
}

fn others<'a>(members: &'a [Member], root: &Member) -> impl Iterator<Item = &'a Member> {
    let number = root.number;
    let takes_part = |member: &Member| member.moves && member.root != special::NOBODY;
    members.iter().filter(move |member| member.number != number && takes_part(member))
}

fn from_root(members: &[Member], found: &mut Vec<Wait>) {
    let Some(root) = root(members) else { return };
    found.extend(others(members, root).filter_map(|member| until(member, root, Pattern::LateBroadcast)));
}

fn to_root(members: &[Member], found: &mut Vec<Wait>) {
    let Some(root) = root(members) else { return };
    let Some(last) = others(members, root).chain([root]).max_by_key(|member| member.comes) else { return };
    found.extend(until(root, last, Pattern::EarlyReduce));
}

fn prefix(members: &[Member], found: &mut Vec<Wait>) {
    let mut last: Option<&Member> = None;
    for member in members.iter().filter(|member| member.moves) {
        found.extend(last.and_then(|last| until(member, last, Pattern::EarlyScan)));
        last = last.into_iter().chain([member]).max_by_key(|member| member.comes);
    }
}
