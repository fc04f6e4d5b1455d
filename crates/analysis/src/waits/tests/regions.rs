//! Waits by region, function and rank.

use super::{at, call, of_calls, recv, send, trace};
use crate::waits::{RegionWaits, Regions, WaitStates};
use straggler_model::Time;
use straggler_trace::{Call, Details, Function, RankTrace, Trace};

/// A mark of a region.
fn mark(rank: &mut RankTrace, function: Function, when: u64, name: &str) {
    let details = Details::named(name);
    rank.push_with(Call::new(function, at(when), at(when)), details);
}

/// Name, exclusive and inclusive microseconds, number of parts.
fn by_region(trace: &Trace) -> Vec<(String, u64, u64, usize)> {
    let microseconds = |time: Time| time.ps() / 1_000_000;
    let rows = RegionWaits::new(trace, &WaitStates::new(trace), &Regions::new(trace));
    let name = |row: &RegionWaits| row.region.as_ref().map_or_else(|| "-".into(), ToString::to_string);
    rows.iter()
        .map(|row| {
            let (own, all) = (microseconds(row.exclusive.time), microseconds(row.inclusive.time));
            (name(row), own, all, row.parts.len())
        })
        .collect()
}

#[test]
fn a_wait_belongs_to_its_innermost_region() {
    let mut rank = RankTrace::default();
    rank.push(recv(0, 11, 1));
    mark(&mut rank, Function::RegionEnter, 11, "outer");
    rank.push(recv(12, 33, 1));
    mark(&mut rank, Function::RegionEnter, 33, "inner");
    rank.push(recv(34, 65, 1));
    mark(&mut rank, Function::RegionLeave, 65, "inner");
    rank.push(recv(66, 107, 1));
    mark(&mut rank, Function::RegionLeave, 107, "outer");
    // Left twice: ignored.
    mark(&mut rank, Function::RegionLeave, 108, "outer");
    rank.push(recv(110, 121, 1));
    let sends = [10, 32, 64, 106, 120].map(|when| send(when, when + 1, 0));
    let trace = trace(vec![rank, of_calls(sends)]);
    let expected = [("outer", 60, 90, 1), ("inner", 30, 30, 1), ("-", 20, 20, 1)];
    let expected = expected.map(|(name, own, all, parts)| (name.to_owned(), own, all, parts));
    assert_eq!(by_region(&trace), expected);
}

/// A recursive region counts a wait once, an MPI_Pcontrol level lasts until the next, and threads have their own regions.
#[test]
fn regions_of_all_kinds() {
    let mut rank = RankTrace::default();
    mark(&mut rank, Function::RegionEnter, 0, "a");
    mark(&mut rank, Function::RegionEnter, 0, "a");
    mark(&mut rank, Function::Pcontrol, 0, "3");
    rank.push(recv(1, 12, 1));
    mark(&mut rank, Function::Pcontrol, 12, "0");
    rank.push(recv(13, 34, 1));
    rank.push(Call { thread: 1, ..recv(35, 76, 1) });
    let sends = [11, 33, 75].map(|when| send(when, when + 1, 0));
    let trace = trace(vec![rank, of_calls(sends)]);
    let expected = [("-", 40, 40, 1), ("a", 20, 30, 1), ("pcontrol 3", 10, 10, 1)];
    let expected = expected.map(|(name, own, all, parts)| (name.to_owned(), own, all, parts));
    assert_eq!(by_region(&trace), expected);
}

#[test]
fn without_marks_all_is_outside() {
    let ranks = vec![
        of_calls([recv(0, 11, 1), call(Function::Barrier, 12, 30, -1)]),
        of_calls([send(10, 11, 0), call(Function::Barrier, 20, 30, -1)]),
    ];
    assert_eq!(by_region(&trace(ranks)), [("-".to_owned(), 18, 18, 2)]);
}
