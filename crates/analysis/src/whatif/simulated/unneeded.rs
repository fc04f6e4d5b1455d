//! Removes tests that would no longer be called, because an earlier one has found what they ask for.
//!
//! The earlier test, which failed in the traced run, succeeds. Those after it are removed, along with regions that
//! are then empty (Böhme et al. 2010, figure 3c and d). The computation between them stays.

use std::collections::{HashMap, HashSet};
use straggler_model::Time;
use straggler_schedule::traced::{Instruction, Options, TracedRank};
use straggler_sim::programs::{Changed, Replayed};
use straggler_trace::{Class, Completed, Function, HowMany, RankTrace, RequestId};

/// Removes the tests of a rank that the replay found unneeded.
pub(super) fn remove(recorded: &TracedRank, replayed: &Replayed, rank: &mut RankTrace) {
    if replayed.unneeded.is_empty() {
        return;
    }
    let instruction = |number: u32| recorded.instructions().get(number as usize);
    let origin = |number: u32| recorded.origin(number) as usize;
    let mut gone: HashSet<usize> = HashSet::new();
    for &number in &replayed.unneeded {
        if matches!(instruction(number), Some(Instruction::Poll { .. })) {
            gone.insert(origin(number));
        }
    }
    let succeeding = Succeeding::new(recorded, replayed, rank);
    for &number in &replayed.unneeded {
        let last = origin(number);
        if matches!(instruction(number), Some(Instruction::Wait { .. })) && succeeding.complete(rank, last) {
            gone.insert(last);
        }
    }
    let empty = empty_regions(rank, &gone);
    let mut number = 0;
    rank.calls.retain(|_| {
        number += 1;
        !gone.contains(&(number - 1)) && !empty.contains(&(number - 1))
    });
}

/// Tests for all of their requests that failed in the trace and now succeed, by these requests.
struct Succeeding(HashMap<Vec<RequestId>, Vec<usize>>);

impl Succeeding {
    fn new(recorded: &TracedRank, replayed: &Replayed, rank: &RankTrace) -> Succeeding {
        let mut found: HashMap<Vec<RequestId>, Vec<usize>> = HashMap::new();
        for change in replayed.changes.iter().filter(|change| change.what == Changed::Earlier) {
            let number = recorded.origin(change.instruction) as usize;
            let Some(call) = rank.calls.get(number) else { continue };
            let all = matches!(call.function.class(), Class::Test(HowMany::One | HowMany::All));
            if let Some(details) = rank.details(call).filter(|_| all) {
                found.entry(details.requests.to_vec()).or_default().push(number);
            }
        }
        found.values_mut().for_each(|calls| calls.sort_unstable());
        Succeeding(found)
    }

    /// Lets an earlier test complete what a later one completed, if one asked for the same requests.
    fn complete(&self, rank: &mut RankTrace, last: usize) -> bool {
        let Some(later) = rank.calls.get(last).and_then(|call| rank.details(call)) else { return false };
        let Some(calls) = self.0.get(&later.requests[..]) else { return false };
        let told = |completed: &&Completed| completed.matched.is_some() || completed.cancelled;
        let completed = later.completed.iter().filter(told).copied().collect();
        let before = calls.partition_point(|&call| call < last);
        let Some(&call) = before.checked_sub(1).and_then(|before| calls.get(before)) else { return false };
        let place = rank.calls[call].details as usize;
        let Some(details) = rank.details.get_mut(place) else { return false };
        (details.found, details.completed) = (true, completed);
        details.rare.get_mut().into_iter().for_each(|rare| rare.repeated = None);
        true
    }
}

/// An open region.
#[derive(Default)]
struct Open<'a> {
    enter: usize,
    name: &'a str,
    /// Removed tests in it.
    tests: u64,
    /// Whether it contains another call.
    busy: bool,
    computed: Time,
}

/// The marks of regions that are empty now: they contain no call, and no computation beyond that of a polling loop.
fn empty_regions(rank: &RankTrace, gone: &HashSet<usize>) -> HashSet<usize> {
    let mut empty = HashSet::new();
    let mut threads: HashMap<u16, (Time, Vec<Open<'_>>)> = HashMap::new();
    for (number, call) in rank.calls.iter().enumerate() {
        let (last, open) = threads.entry(call.thread).or_default();
        if let Some(top) = open.last_mut() {
            top.computed += call.enter.since(*last);
        }
        *last = call.exit;
        let name = rank.details(call).and_then(|details| details.text.as_deref()).unwrap_or_default();
        match (call.function, open.last_mut()) {
            (Function::RegionEnter, _) => open.push(Open { enter: number, name, ..Open::default() }),
            (Function::RegionLeave, Some(top)) if top.name == name => {
                let Open { enter, tests, busy, computed, .. } = *top;
                let is_empty = !busy && tests > 0 && computed.ps() / tests < Options::default().spin.ps();
                open.pop();
                if is_empty {
                    empty.extend([enter, number]);
                }
                if let Some(around) = open.last_mut() {
                    around.tests += tests;
                    around.busy |= !is_empty;
                    around.computed += computed;
                }
            }
            (_, Some(top)) if gone.contains(&number) => {
                let repeated = rank.details(call).and_then(|details| details.repeated);
                top.tests += repeated.map_or(1, |repeated| repeated.calls);
            }
            (_, Some(top)) => top.busy = true,
            (_, None) => {}
        }
    }
    empty
}
