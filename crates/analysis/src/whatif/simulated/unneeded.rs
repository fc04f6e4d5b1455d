//! Tests that are not called any more, because an earlier one has found what they ask for.
//!
//! The earlier test, which failed in the traced run, succeeds; those behind it are taken out, and with them a region that then
//! holds nothing (Böhme et al. 2010, figure 3c and d). The computation between them stays.

use std::collections::HashSet;
use straggler_schedule::traced::{Instruction, RankRecording};
use straggler_sim::programs::{Changed, Replayed};
use straggler_trace::{Call, Class, Completed, Details, Function, HowMany, RankTrace};

/// Takes the tests of a rank out that a replay found unneeded.
pub(super) fn remove(recorded: &RankRecording, replayed: &Replayed, rank: &mut RankTrace) {
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
    let earlier = replayed.changes.iter().filter(|change| change.what == Changed::Earlier);
    let earlier: Vec<usize> = earlier.map(|change| origin(change.instruction)).collect();
    for &number in &replayed.unneeded {
        let last = origin(number);
        if matches!(instruction(number), Some(Instruction::Wait { .. })) && completes(rank, &earlier, last) {
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

/// Lets an earlier test complete what a later one completed, if there is one that asked for the same.
fn completes(rank: &mut RankTrace, earlier: &[usize], last: usize) -> bool {
    let details =
        |rank: &RankTrace, call: usize| -> Option<Details> { rank.details(rank.calls.get(call)?).cloned() };
    let Some(Details { requests, completed, .. }) = details(rank, last) else { return false };
    let asks_for_same = |&&call: &&usize| {
        let all = |call: &Call| matches!(call.function.class(), Class::Test(HowMany::One | HowMany::All));
        call < last
            && rank.calls.get(call).is_some_and(all)
            && details(rank, call).is_some_and(|details| details.requests == requests)
    };
    let Some(&call) = earlier.iter().find(asks_for_same) else { return false };
    let place = rank.calls[call].details as usize;
    let Some(details) = rank.details.get_mut(place) else { return false };
    let told = |completed: &&Completed| completed.matched.is_some() || completed.cancelled;
    details.found = true;
    details.rare.get_mut().into_iter().for_each(|rare| rare.repeated = None);
    details.completed = completed.iter().filter(told).copied().collect();
    true
}

/// The marks of regions that hold nothing any more.
fn empty_regions(rank: &RankTrace, gone: &HashSet<usize>) -> HashSet<usize> {
    let mut empty = HashSet::new();
    // The last mark that entered a region, as long as nothing but what is gone came after it.
    let mut open: Option<usize> = None;
    let mut held_something = false;
    for (number, call) in rank.calls.iter().enumerate() {
        if gone.contains(&number) {
            held_something = true;
            continue;
        }
        let name = |number: usize| rank.calls.get(number).and_then(|call| rank.details(call)?.text.clone());
        match (call.function, open) {
            (Function::RegionEnter, _) => (open, held_something) = (Some(number), false),
            (Function::RegionLeave, Some(enter)) if held_something && name(enter) == name(number) => {
                empty.extend([enter, number]);
                open = None;
            }
            _ => open = None,
        }
    }
    empty
}
