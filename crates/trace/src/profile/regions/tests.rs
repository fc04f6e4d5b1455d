use super::*;
use crate::call::special;
use crate::profile::Profile;
use crate::trace::{Communicator, Trace, WORLD};
use crate::{Details, RequestId};
use proptest::prelude::*;

/// What a thread does at a moment, in nanoseconds.
#[derive(Clone, Debug)]
enum Step {
    Enter(&'static str),
    Leave(&'static str),
    Level(i64),
    /// A send of this many bytes that takes this long.
    Send(u64, u64),
}

/// Thread, time since the step before, step.
type Steps = Vec<(u16, u64, Step)>;

fn rank(steps: &Steps) -> RankTrace {
    let mut of_rank = RankTrace::default();
    let mut now = 0;
    for (thread, pause, step) in steps {
        now += pause;
        let at = Time::from_ns(now);
        let mark = |function| Call { thread: *thread, ..Call::new(function, at, at) };
        let text = |text: &str| Details::named(text);
        match step {
            Step::Enter(name) => of_rank.push_with(mark(Function::RegionEnter), text(name)),
            Step::Leave(name) => of_rank.push_with(mark(Function::RegionLeave), text(name)),
            Step::Level(level) => of_rank.push_with(mark(Function::Pcontrol), text(&level.to_string())),
            Step::Send(bytes, ns) => of_rank.push(Call {
                exit: Time::from_ns(now + ns),
                comm: WORLD,
                peer: 0,
                sent: *bytes,
                ..mark(Function::Send)
            }),
        }
    }
    of_rank
}

fn profile(ranks: &[Steps]) -> Profile {
    let communicators = vec![Communicator::world(ranks.len() as u32)];
    Profile::new(&Trace { ranks: ranks.iter().map(rank).collect(), communicators, ..Trace::default() })
}

fn named(name: &str) -> RegionName {
    RegionName::Named(name.into())
}

#[track_caller]
fn region(profile: &Profile, name: &RegionName) -> RegionCounts {
    profile.regions.iter().find(|region| region.name == *name).unwrap().total
}

use Step::{Enter, Leave, Level, Send};

#[test]
fn a_region_has_its_time_and_that_of_what_is_nested() {
    let steps = vec![
        (0, 10, Enter("outer")),
        (0, 5, Send(100, 3)),
        (0, 10, Enter("inner")),
        (0, 0, Send(7, 4)),
        (0, 20, Leave("inner")),
        (0, 30, Leave("outer")),
        (0, 1, Send(1, 1)),
    ];
    let found = profile(&[steps.clone(), vec![], steps]);
    let once = |time: u64, mpi: u64, calls: u64, sent: u64| RegionCounts {
        entries: 2,
        time: Time::from_ns(2 * time),
        mpi: Time::from_ns(2 * mpi),
        calls: 2 * calls,
        sent: 2 * sent,
        ..RegionCounts::default()
    };
    assert_eq!(region(&found, &named("outer")), once(65, 7, 2, 107));
    assert_eq!(region(&found, &named("inner")), once(20, 4, 1, 7));
    assert_eq!(found.regions[0].name, named("outer"), "most time first");
    assert_eq!(found.regions[0].ranks.iter().map(|(rank, _)| *rank).collect::<Vec<_>>(), [0, 2]);
    assert_eq!(found.regions[0].slowest(), Some((0, Time::from_ns(65))), "the first of two");
}

#[test]
fn a_region_inside_of_itself_is_counted_once() {
    let steps = vec![
        (0, 0, Enter("walk")),
        (0, 10, Enter("walk")),
        (0, 10, Send(5, 2)),
        (0, 10, Leave("walk")),
        (0, 10, Leave("walk")),
    ];
    let walk = region(&profile(&[steps]), &named("walk"));
    assert_eq!((walk.entries, walk.time, walk.calls, walk.sent), (2, Time::from_ns(40), 1, 5));
    assert_eq!((walk.unclosed, walk.unopened), (0, 0));
}

#[test]
fn what_is_not_left_lasts_to_the_end_and_what_was_not_entered_counts_for_nothing() {
    let steps = vec![
        (0, 10, Leave("setup")),
        (0, 10, Enter("solve")),
        (0, 10, Enter("solve")),
        (1, 10, Leave("solve")),
        (0, 20, Send(1, 9)),
    ];
    let found = profile(&[steps]);
    let setup = region(&found, &named("setup"));
    assert_eq!(setup, RegionCounts { unopened: 1, ..RegionCounts::default() });
    let solve = region(&found, &named("solve"));
    // The other thread has not entered this region.
    assert_eq!((solve.unclosed, solve.unopened), (2, 1));
    assert_eq!(solve.time, Time::from_ns(49));
    assert_eq!(solve.mpi, Time::from_ns(9));
}

/// A region that is not left ends where MPI_Finalize begins, even if it was entered before MPI_Init.
#[test]
fn the_run_ends_with_finalize() {
    let mut of_rank = rank(&vec![(0, 10, Enter("all"))]);
    of_rank.push(Call::new(Function::Init, Time::from_ns(20), Time::from_ns(30)));
    of_rank.push(Call::new(Function::Finalize, Time::from_ns(100), Time::from_ns(150)));
    let found = Profile::new(&Trace { ranks: vec![of_rank], ..Trace::default() });
    let all = region(&found, &named("all"));
    assert_eq!((all.time, all.mpi, all.calls, all.unclosed), (Time::from_ns(90), Time::ZERO, 0, 1));
}

#[test]
fn levels_last_to_the_next_and_zero_and_negative_ones_are_none() {
    let steps = vec![
        (0, 0, Level(0)),
        (0, 5, Send(1, 1)),
        (0, 5, Level(1)),
        (0, 10, Send(2, 1)),
        (0, 10, Level(0)),
        (0, 100, Level(1)),
        (0, 7, Level(-1)),
        (0, 100, Level(2)),
        (0, 3, Send(4, 1)),
    ];
    let found = profile(&[steps]);
    assert_eq!(found.regions.len(), 2);
    let level = |level: &str| region(&found, &RegionName::Level(level.into()));
    assert_eq!((level("1").entries, level("1").time, level("1").sent), (2, Time::from_ns(27), 2));
    assert_eq!((level("2").entries, level("2").time, level("2").sent), (1, Time::from_ns(4), 4));
    // A level needs no end.
    assert_eq!(level("2").unclosed, 0);
    assert_eq!(found.regions[0].name.to_string(), "pcontrol 1");
}

#[test]
fn a_region_called_like_a_level_is_another() {
    let steps = vec![(0, 0, Enter("pcontrol 1")), (0, 3, Level(1)), (0, 3, Leave("pcontrol 1"))];
    assert_eq!(profile(&[steps]).regions.len(), 2);
}

#[test]
fn marks_without_text_have_a_region_too() {
    let mut of_rank = RankTrace::default();
    for (function, at) in [(Function::RegionEnter, 1), (Function::Pcontrol, 2), (Function::RegionLeave, 5)] {
        of_rank.push(Call::new(function, Time(at), Time(at)));
    }
    let found = Profile::new(&Trace { ranks: vec![of_rank], ..Trace::default() });
    let names: Vec<String> = found.regions.iter().map(|region| region.name.to_string()).collect();
    assert_eq!(names, ["(no name)", "pcontrol ?"]);
}

#[test]
fn a_call_of_all_bytes_does_not_spoil_the_next_region() {
    let steps = vec![
        (0, 0, Enter("a")),
        (0, 1, Send(u64::MAX, 1)),
        (0, 1, Send(u64::MAX, 1)),
        (0, 1, Leave("a")),
        (0, 1, Enter("b")),
        (0, 1, Send(3, 1)),
        (0, 1, Leave("b")),
    ];
    let found = profile(&[steps]);
    assert_eq!(region(&found, &named("a")).sent, u64::MAX);
    assert_eq!(region(&found, &named("b")).sent, 3);
}

/// Peers decide whether data moves; calls are counted in any case.
#[test]
fn nothing_moves_to_nobody() {
    let mut of_rank = RankTrace::default();
    let message = |function, peer| Call {
        comm: WORLD,
        peer,
        tag: 1,
        sent: 10,
        received: 20,
        ..Call::new(function, Time(0), Time(5))
    };
    let half = |peer| Details { receive: Some(crate::Matched { peer, tag: 1 }), ..Details::default() };
    of_rank.push(Call { received: 0, ..message(Function::Send, special::NOBODY) });
    of_rank.push(Call { sent: 0, ..message(Function::Recv, special::NOBODY) });
    of_rank.push_with(message(Function::Sendrecv, special::NOBODY), half(0));
    of_rank.push_with(message(Function::Sendrecv, 0), half(special::NOBODY));
    let prepared =
        Call { received: 0, request: RequestId(0), ..message(Function::Send_init, special::NOBODY) };
    of_rank.push(prepared);
    let begun = Call { request: RequestId(1), ..Call::new(Function::Start, Time(5), Time(6)) };
    of_rank.push_with(begun, Details { requests: vec![RequestId(0)].into(), ..Details::default() });
    let communicators = vec![Communicator::world(1)];
    let found = Profile::new(&Trace { ranks: vec![of_rank], communicators, ..Trace::default() });
    let of = |function| found.ranks[0].functions[&function];
    let moved = |function| (of(function).calls, of(function).sent, of(function).received);
    assert_eq!(moved(Function::Send), (1, 0, 0));
    assert_eq!(moved(Function::Recv), (1, 0, 0));
    assert_eq!(moved(Function::Sendrecv), (2, 10, 20), "of each, one half");
    assert_eq!(moved(Function::Start), (1, 0, 0));
    assert_eq!(found.matrix.iter().map(|pair| (pair.messages, pair.bytes)).collect::<Vec<_>>(), [(1, 10)]);
}

/// The depth of a region after each step: names count up and down; a level is 1 or 0, whatever was before.
fn depths(steps: &[&(u16, u64, Step)], name: &RegionName) -> Vec<i64> {
    let mut depths = Vec::new();
    for upto in 1..=steps.len() {
        let before = &steps[..upto];
        depths.push(match name {
            RegionName::Level(level) => {
                let last = before.iter().rev().find_map(|(_, _, step)| match step {
                    Level(level) => Some(level.to_string()),
                    _ => None,
                });
                i64::from(last.as_ref() == Some(level))
            }
            RegionName::Named(name) => {
                let sums = (0..=upto).map(|count| change(&before[..count], name));
                change(before, name) - sums.min().unwrap().min(0)
            }
        });
    }
    depths
}

fn change(steps: &[&(u16, u64, Step)], name: &str) -> i64 {
    let of_step = |step: &Step| match step {
        Enter(entered) => i64::from(*entered == name),
        Leave(left) => -i64::from(*left == name),
        _ => 0,
    };
    steps.iter().map(|(_, _, step)| of_step(step)).sum()
}

/// What one thread does in a region, computed from the depth after every single step.
fn brute_force(steps: &Steps, thread: u16, name: &RegionName) -> RegionCounts {
    let times: Vec<u64> =
        (1..=steps.len()).map(|upto| steps[..upto].iter().map(|(_, pause, _)| pause).sum()).collect();
    let length = |step: &Step| if let Send(_, ns) = step { *ns } else { 0 };
    let end = steps.iter().zip(&times).map(|((_, _, step), at)| at + length(step)).max().unwrap_or(0);
    let own: Vec<usize> = (0..steps.len()).filter(|&index| steps[index].0 == thread).collect();
    let of_thread: Vec<&(u16, u64, Step)> = own.iter().map(|&index| &steps[index]).collect();
    let depths = depths(&of_thread, name);
    let mut counts = RegionCounts::default();
    for (place, &index) in own.iter().enumerate() {
        let (at, depth) = (times[index], depths[place]);
        let next = own.get(place + 1).map_or(end, |&next| times[next]);
        let step = &steps[index].2;
        match (step, name) {
            (Enter(entered), RegionName::Named(name)) => counts.entries += u64::from(entered == name),
            (Level(level), RegionName::Level(name)) => {
                counts.entries += u64::from(level.to_string() == *name)
            }
            _ => {}
        }
        if depth == 0 {
            continue;
        }
        counts.time += Time::from_ns(next - at);
        if let Send(bytes, ns) = step {
            let busy =
                own[..place].iter().map(|&index| times[index] + length(&steps[index].2)).max().unwrap_or(0);
            counts.mpi += Time::from_ns((at + ns).saturating_sub(busy.max(at)));
            counts.calls += 1;
            counts.sent += bytes;
        }
    }
    if let RegionName::Named(name) = name {
        let lowest = (0..=of_thread.len()).map(|count| change(&of_thread[..count], name)).min().unwrap_or(0);
        counts.unopened = lowest.min(0).unsigned_abs();
        counts.unclosed = depths.last().copied().unwrap_or(0).unsigned_abs();
    }
    counts
}

const NAMES: [&str; 3] = ["solve", "exchange", ""];

fn step() -> impl Strategy<Value = Step> {
    let name = || prop::sample::select(&NAMES[..]);
    prop_oneof![
        name().prop_map(Enter),
        name().prop_map(Leave),
        (-1i64..3).prop_map(Level),
        (0u64..1000, 0u64..50).prop_map(|(bytes, ns)| Send(bytes, ns)),
        (0u64..1000, 0u64..50).prop_map(|(bytes, ns)| Send(bytes, ns)),
    ]
}

fn steps() -> impl Strategy<Value = Steps> {
    prop::collection::vec((0u16..3, 0u64..20, step()), 0..40)
}

proptest! {
    /// Regions may be entered and left in any order, on any thread.
    #[test]
    fn sums_agree_with_brute_force(ranks in prop::collection::vec(steps(), 0..4)) {
        let found = profile(&ranks);
        let levels = (1..3).map(|level: i64| RegionName::Level(level.to_string()));
        let mut seen = 0;
        for name in NAMES.iter().map(|name| named(name)).chain(levels) {
            let mut total = RegionCounts::default();
            for (rank, steps) in (0..).zip(&ranks) {
                let mut of_rank = RegionCounts::default();
                (0..3).for_each(|thread| of_rank.add(&brute_force(steps, thread, &name)));
                let there = found.regions.iter().find(|region| region.name == name);
                let there = there.and_then(|region| region.ranks.iter().find(|(number, _)| *number == rank));
                prop_assert_eq!(there.map(|(_, counts)| *counts).unwrap_or_default(), of_rank);
                total.add(&of_rank);
            }
            if total != RegionCounts::default() {
                seen += 1;
                prop_assert_eq!(region(&found, &name), total);
            }
        }
        prop_assert_eq!(found.regions.len(), seen);
    }
}
