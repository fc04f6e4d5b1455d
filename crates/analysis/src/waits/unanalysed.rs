//! Calls that may wait in ways that no pattern describes.

use super::{Missing, Total};
use std::collections::BTreeMap;
use straggler_model::Rank;
use straggler_trace::call::NO_COMM;
use straggler_trace::messages::CallPlace;
use straggler_trace::operations::{Acted, Given, Operation, Operations};
use straggler_trace::{Call, Class, Collective, CommId, Function, Trace};

/// The time in calls whose waits are not analysed, the longest first. A call that waits for requests counts for the
/// function that made them. Tests and nonblocking probes return at once, but a loop of them is a wait too. Calls whose
/// partner is missing in the trace count as well.
pub fn unanalysed(trace: &Trace, missing: &Missing) -> Vec<(Function, Total)> {
    let is_outside = |rank: &Rank| *rank == Rank::MAX;
    let reach_out = |comm: CommId| {
        let comm = trace.communicators.get(comm.index());
        comm.is_some_and(|comm| comm.members.iter().chain(&comm.remote).any(is_outside))
    };
    let is_unknown = |call: &Call| {
        let is_untold = matches!(call.function.class(), Class::Partitioned { .. }) && call.comm == NO_COMM;
        may_wait(call.function) || is_untold || is_collective(call) && reach_out(call.comm)
    };
    let mut sums: BTreeMap<Function, Total> = BTreeMap::new();
    for (number, rank) in (0..).zip(&trace.ranks) {
        let mut add = |function: Function, call: &Call| {
            let repeated = rank.details(call).and_then(|details| details.repeated);
            let (count, time) =
                repeated.map_or((1, call.exit.since(call.enter)), |polls| (polls.calls, polls.inside));
            let sum = sums.entry(function).or_default();
            *sum = Total { count: sum.count + count, time: sum.time + time };
        };
        let is_alone = |call: u32| missing.holds(CallPlace { rank: number, call });
        let calls = (0..).zip(&rank.calls).filter(|&(number, call)| is_unknown(call) || is_alone(number));
        calls.for_each(|(_, call)| add(call.function, call));
        if !rank.calls.iter().any(|call| is_unknown(call) && call.function.makes_request()) {
            continue;
        }
        let operations = Operations::new(rank);
        let described = |given: Given| {
            let Given::Operation(row) = given else { return None };
            operations.call(operations.get(row).map(|row: &Operation| row.described)?)
        };
        let is_wait = |acted: &Acted<'_, '_>| matches!(acted.call.function.class(), Class::Wait(_));
        for acted in operations.walk().filter(|acted| is_wait(acted) && !is_alone(acted.number)) {
            let mut calls = acted.finished().map(described).peekable();
            if let Some(&Some(first)) = calls.peek()
                && calls.all(|call| call.is_some_and(is_unknown))
            {
                add(first.function, acted.call);
            }
        }
    }
    let mut sums: Vec<(Function, Total)> = sums.into_iter().filter(|(_, total)| total.count > 0).collect();
    sums.sort_by_key(|&(function, total)| (std::cmp::Reverse(total.time), function));
    sums
}

fn is_collective(call: &Call) -> bool {
    matches!(call.function.class(), Class::Collective(..))
}

fn may_wait(function: Function) -> bool {
    match function.class() {
        Class::Probe { .. } | Class::Test(_) | Class::Epoch { .. } | Class::OneSided | Class::Other => true,
        Class::Collective(Collective::Alltoallv | Collective::Alltoallw, _) | Class::Neighbor(..) => true,
        Class::NewComm { collective } => collective,
        _ => false,
    }
}
