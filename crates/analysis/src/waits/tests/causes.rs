//! Delay costs: cases with known answers, and random traces against a literal implementation of the definition.

use super::{at, collective, of_calls, recv, rings, send, trace};
use crate::waits::{Activities, Activity, Cause, Regions, Wait, WaitStates, root_causes};
use proptest::prelude::*;
use std::collections::BTreeMap;
use straggler_model::{Rank, Time};
use straggler_trace::messages::CallPlace;
use straggler_trace::profile::RegionName;
use straggler_trace::sites::{Module, Unifier};
use straggler_trace::{Call, Details, Function, RankTrace, Trace};

fn causes(trace: &Trace) -> Vec<Cause> {
    let states = WaitStates::new(trace);
    root_causes(trace, &states, &Activities::new(trace, &states, &Regions::new(trace)))
}

/// Rank, activity, and microseconds of direct and indirect cost.
fn as_numbers(trace: &Trace) -> Vec<(Rank, String, u64, u64)> {
    let microseconds = |seconds: f64| (seconds * 1e6).round() as u64;
    let tell = |cause: &Cause| {
        (cause.rank, cause.activity.to_string(), microseconds(cause.direct), microseconds(cause.indirect))
    };
    causes(trace).iter().map(tell).collect()
}

/// Rank 0 is late, rank 1 waits for it, rank 2 waits for rank 1.
#[test]
fn the_first_of_a_chain_bears_the_cost_of_all() {
    let ranks = vec![
        of_calls([send(100, 101, 1)]),
        of_calls([recv(10, 100, 0), send(100, 101, 2)]),
        of_calls([recv(20, 101, 1)]),
    ];
    let expected = (0, "before the first call, MPI_Send".to_owned(), 90, 80);
    assert_eq!(as_numbers(&trace(ranks)), [expected]);
}

/// The same, but rank 1 computes for 30 µs before it sends. In all it computes for 40 µs, and rank 2 for 20: of the 110 µs
/// that rank 2 waits, rank 1 bears 20, and 90 are those that it waits itself.
#[test]
fn what_a_waiting_rank_adds_is_its_own() {
    let ranks = vec![
        of_calls([send(100, 101, 1)]),
        of_calls([recv(10, 100, 0), send(130, 131, 2)]),
        of_calls([recv(20, 131, 1)]),
    ];
    let first = (0, "before the first call, MPI_Send".to_owned(), 90, 90);
    let second = (1, "computation from MPI_Recv to MPI_Send".to_owned(), 20, 0);
    assert_eq!(as_numbers(&trace(ranks)), [first, second]);
}

/// A barrier brings all ranks in step: lateness before it is not blamed for waits after it.
#[test]
fn only_what_was_done_since_the_last_common_wait_counts() {
    let rank = |first: u64, second: u64| {
        let mut rank = RankTrace::default();
        rank.push(collective(Function::Barrier, first, 100, -1));
        let mark = |function, when: u64| Call::new(function, at(when), at(when));
        let name = || Details::named("solve");
        rank.push_with(mark(Function::RegionEnter, 100), name());
        rank.push_with(mark(Function::RegionLeave, second), name());
        rank.push(collective(Function::Barrier, second, 200, -1));
        rank
    };
    let trace = trace(vec![rank(100, 110), rank(20, 180), rank(30, 110)]);
    let told = as_numbers(&trace);
    // Ranks 0 and 2 wait 70 µs each in the second one, ranks 1 and 2 wait 80 and 70 in the first.
    let expected = [
        (0, "before the first call, MPI_Barrier".to_owned(), 150, 0),
        (1, "computation in solve".to_owned(), 140, 0),
    ];
    assert_eq!(told, expected);
    let solve = Activity::Region(RegionName::Named("solve".into()));
    assert_eq!(causes(&trace)[1].activity, solve);
}

/// Both compute equally in one region; the late one has more of another.
#[test]
fn the_excess_is_taken_by_activity() {
    let ranks = vec![
        of_calls([recv(10, 12, 1), send(60, 61, 1), recv(70, 90, 1)]),
        of_calls([send(9, 10, 0), recv(20, 61, 0), send(89, 90, 0)]),
    ];
    // Since rank 1 stopped waiting, until 60, it was in MPI_Recv for 1 µs and computed for 28; rank 0 sent for 1 and
    // computed for 9.
    let (ps, since) = (19.0 / 29.0, "computation from MPI_Recv to MPI_Send".to_owned());
    let told = as_numbers(&trace(ranks));
    assert_eq!(told[1], (1, since, (ps * 28.0_f64).round() as u64, 0), "{told:?}");
}

/// All compute for 10 µs before each barrier, but rank 0 waits for a message that rank 1 sends late, and the others wait
/// for rank 0: rank 1 is to blame, though rank 0 computes between other calls than the others.
#[test]
fn who_waits_for_a_late_message_is_not_to_blame_for_what_follows() {
    let mut ranks = [RankTrace::default(), RankTrace::default(), RankTrace::default()];
    let mut now = 0;
    for _ in 0..20 {
        ranks[0].push(recv(now + 4, now + 8, 1));
        ranks[1].push(send(now + 8, now + 8, 0));
        for (rank, arrives) in ranks.iter_mut().zip([14, 10, 10]) {
            rank.push(collective(Function::Barrier, now + arrives, now + 14, -1));
        }
        now += 14;
    }
    let found = as_numbers(&trace(ranks.into()));
    let of_rank = |rank: Rank| found.iter().filter(|of| of.0 == rank).map(|of| of.2 + of.3).sum::<u64>();
    // Of 12 µs that ranks wait in each iteration, rank 0 costs 4: those that rank 1 waits for it, after its message.
    assert_eq!((of_rank(0), of_rank(1), of_rank(2)), (80, 160, 0), "{found:?}");
}

/// Both ranks compute for 100 µs between the barriers at sites 0 and 1; back from 1 to 0, rank 1 computes for 60 µs and
/// rank 0 for 10.
#[test]
fn a_cause_lies_where_its_rank_computes_longer_than_others() {
    let mut ranks = [RankTrace::default(), RankTrace::default()];
    let mut now = [100, 100];
    for turn in 0..6 {
        let end = now[0].max(now[1]) + 1;
        for (rank, now) in ranks.iter_mut().zip(now) {
            rank.push(collective(Function::Barrier, now, end, -1));
            rank.sites.push(turn % 2);
        }
        now = if turn % 2 == 0 { [end + 100; 2] } else { [end + 10, end + 60] };
    }
    let mut trace = trace(ranks.into());
    let mut unifier = Unifier::default();
    let module = Module { path: "solve".into(), ..Module::default() };
    let sites = [0x40, 0x80].map(|offset| unifier.site(&module, offset));
    trace.call_sites = unifier.finish();
    let found = causes(&trace);
    assert_eq!((found[0].rank, &found[0].sites[..]), (1, &[sites[1], sites[0]][..]), "{found:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// All waits that have a cause are charged as the definition says, whatever the clocks.
    #[test]
    fn costs_are_those_of_the_definition(trace in rings(), shift in prop::collection::vec(0u64..30, 6)) {
        for trace in [shifted(&trace, &shift), trace] {
            let states = WaitStates::new(&trace);
            let waited: f64 =
                states.waits.iter().filter(|wait| wait.cause.is_some()).map(|wait| wait.time.seconds()).sum();
            let found = causes(&trace);
            let charged: f64 = found.iter().map(Cause::total).sum();
            prop_assert!((charged - waited).abs() <= 1e-9 * waited, "{charged} of {waited}");
            let expected = by_definition(&trace, &states);
            prop_assert_eq!(found.len(), expected.len());
            for cause in found {
                let [direct, indirect] = expected[&(cause.rank, cause.activity.clone())];
                prop_assert!((cause.direct - direct).abs() <= 1e-9 * waited, "{cause:?} {direct}");
                prop_assert!((cause.indirect - indirect).abs() <= 1e-9 * waited, "{cause:?} {indirect}");
            }
        }
    }
}

/// The same run with clocks that disagree.
pub(super) fn shifted(trace: &Trace, by: &[u64]) -> Trace {
    let mut trace = trace.clone();
    for (rank, &by) in trace.ranks.iter_mut().zip(by) {
        for call in &mut rank.calls {
            (call.enter, call.exit) = (call.enter + at(by), call.exit + at(by));
        }
    }
    trace
}

type Times = BTreeMap<Activity, f64>;

/// What a rank does from one of its calls, or the start of the run, to another, without waits.
fn done(trace: &Trace, waits: &[Wait], rank: Rank, from: Option<u32>, to: u32) -> Times {
    let mut times = Times::new();
    let calls = &trace.ranks[rank as usize].calls;
    for number in from.unwrap_or(0)..=to {
        let call = calls[number as usize];
        let last = number.checked_sub(1).map(|last| calls[last as usize]);
        if from != Some(number) {
            let activity = Activity::Between(last.map(|last| last.function), Some(call.function));
            let gap = call.enter.since(last.map_or(Time::ZERO, |last| last.exit));
            *times.entry(activity).or_default() += gap.seconds();
        }
        if number < to {
            let waited = waits.iter().find(|wait| wait.place == CallPlace { rank, call: number });
            let waited = waited.map_or(Time::ZERO, |wait| wait.time);
            let inside = call.exit.since(call.enter).since(waited);
            *times.entry(Activity::Call(call.function, None)).or_default() += inside.seconds();
        }
    }
    times
}

fn by_definition(trace: &Trace, states: &WaitStates) -> BTreeMap<(Rank, Activity), [f64; 2]> {
    let mut waits: Vec<Wait> = states.waits.iter().filter(|wait| wait.cause.is_some()).copied().collect();
    let end = |wait: &Wait| trace.call(wait.place).unwrap().enter + wait.time;
    waits.sort_by_key(|wait| (end(wait), wait.place));
    let mut passed = vec![0.0; waits.len()];
    let mut costs: BTreeMap<(Rank, Activity), [f64; 2]> = BTreeMap::new();
    for number in (0..waits.len()).rev() {
        let (wait, cause) = (waits[number], waits[number].cause.unwrap());
        let step = in_step(trace, &waits, number);
        let late = done(trace, &waits, cause.rank, step.map(|step| step.1), cause.call);
        let waiting = done(trace, &waits, wait.place.rank, step.map(|step| step.0), wait.place.call);
        let more = |(activity, &time): (&Activity, &f64)| {
            let excess = time - waiting.get(activity).unwrap_or(&0.0);
            (excess > 1e-15).then(|| (activity.clone(), excess))
        };
        let mut excess: Vec<(Activity, f64)> = late.iter().filter_map(more).collect();
        let since = step.map_or(0, |step| step.1 + u32::from(step.2));
        let earlier: Vec<usize> = (0..number)
            .filter(|&other| waits[other].place.rank == cause.rank)
            .filter(|&other| (since..cause.call).contains(&waits[other].place.call))
            .collect();
        let waited: f64 = earlier.iter().map(|&other| waits[other].time.seconds()).sum();
        let more = excess.iter().map(|(_, time)| time).sum::<f64>();
        let in_all = late.values().sum::<f64>() - waiting.values().sum::<f64>();
        if waited > 0.0 && in_all < more - 1e-15 {
            let part = if in_all > 1e-15 { in_all / more } else { 0.0 };
            excess.iter_mut().for_each(|(_, time)| *time *= part);
            excess.retain(|(_, time)| *time > 0.0);
        }
        let mut sum = excess.iter().map(|(_, time)| time).sum::<f64>() + waited;
        if sum <= 0.0 {
            let calls = &trace.ranks[cause.rank as usize].calls;
            let last = cause.call.checked_sub(1).map(|last| calls[last as usize].function);
            excess = vec![(Activity::Between(last, Some(calls[cause.call as usize].function)), 1.0)];
            sum = 1.0;
        }
        let (direct, indirect) = (wait.time.seconds(), passed[number]);
        for other in earlier {
            passed[other] += (direct + indirect) * waits[other].time.seconds() / sum;
        }
        for (activity, time) in excess {
            let cost = costs.entry((cause.rank, activity)).or_default();
            *cost = [cost[0] + direct * time / sum, cost[1] + indirect * time / sum];
        }
    }
    costs
}

/// The calls of the waiting and the late rank in which they were last in step, and whether the late one waited there.
fn in_step(trace: &Trace, waits: &[Wait], number: usize) -> Option<(u32, u32, bool)> {
    let (place, cause) = (waits[number].place, waits[number].cause.unwrap());
    let mut best: Option<(Time, (u32, u32, bool))> = None;
    for one in waits {
        let late = one.cause.unwrap();
        // The ranks involved, and whether each waited there.
        let mut there = vec![(one.place, true), (late, false)];
        if matches!(trace.call(one.place).unwrap().function, Function::Barrier | Function::Allreduce) {
            let others = waits.iter().filter(|other| other.cause == Some(late));
            there.extend(others.map(|other| (other.place, true)));
        }
        let of = |rank: Rank, before: u32| there.iter().find(|(at, _)| at.rank == rank && at.call < before);
        let (Some(one_of), Some(other)) = (of(place.rank, place.call), of(cause.rank, cause.call)) else {
            continue;
        };
        let end = trace.call(one.place).unwrap().enter + one.time;
        let when = if there.len() > 2 { trace.call(late).unwrap().enter } else { end };
        if best.is_none_or(|(at, _)| when >= at) {
            best = Some((when, (one_of.0.call, other.0.call, other.1)));
        }
    }
    best.map(|(_, step)| step)
}
