//! Where hypotheses apply: times of the traced run, whole collectives, computation between counted polls.

use super::*;
use crate::whatif::regions::presence;
use straggler_trace::call::Rare;
use straggler_trace::{CommId, Repeated};

fn during(from: u64, to: u64) -> Where {
    Where { during: Some((ms(from), ms(to))), ..Where::default() }
}

#[test]
fn ranges_of_times_are_those_of_the_traced_run() {
    let program = |first: u64, second: u64| {
        let mut author = Author::new();
        author.compute(ms(first)).collective(Function::Barrier).compute(ms(second));
        trace(vec![author.end()])
    };
    // The first difference moves the second computation to another time; the second difference still finds it.
    let halves = [during(0, 10), during(11, 31)].map(|place| Difference::Scale { place, factor: 0.5 });
    let traced = program(10, 20);
    let (changed, _) = apply_all(&traced, &halves).unwrap();
    let total = Gaps::new(&changed).total(0);
    assert!(total >= ms(15) && total < ms(16), "{total}");
    let without = Difference::Delete(Deletion { function: Function::Barrier, place: during(9, 11) });
    let (changed, _) = apply_all(&traced, &[halves[0].clone(), without]).unwrap();
    assert!(changed.ranks[0].calls.iter().all(|call| call.function != Function::Barrier));
}

#[test]
fn a_collective_is_deleted_for_all_or_for_nobody() {
    let program = |times: [u64; 3]| {
        let rank = |time: u64| {
            let mut author = Author::new();
            author.compute(ms(time)).collective(Function::Barrier).compute(ms(10));
            author.collective(Function::Barrier).end()
        };
        trace(times.map(rank).to_vec())
    };
    let barriers = |changed: &Trace| -> Vec<usize> {
        let calls = changed.ranks.iter().map(|rank| &rank.calls);
        calls.map(|calls| calls.iter().filter(|call| call.function == Function::Barrier).count()).collect()
    };
    // Two of three ranks reach the first barrier before 5 ms; in the second program, only one does.
    let early = Difference::Delete(Deletion { function: Function::Barrier, place: during(0, 5) });
    let most = with(&program([1, 2, 9]), early.clone());
    assert_eq!(barriers(&most), [1, 1, 1]);
    assert!(simulate(&most, Decisions::Redecide).end > ms(19));
    assert_eq!(apply_all(&program([1, 8, 9]), &[early]).unwrap_err().to_string().split('.').next(), {
        Some("the program never calls MPI_Barrier from 0 s to 5 ms")
    });
}

#[test]
fn what_is_computed_between_counted_polls_is_scaled() {
    // 20 tests of 0.5 ms each within 100 ms, counted in two overlapping records.
    let program = |between: u64| {
        let mut receiver = Author::new();
        receiver.irecv(0, 5, RequestId(0)).irecv(0, 5, RequestId(1)).compute(ms(10));
        let start = receiver.clock;
        for request in [0, 1] {
            let repeated = Some(Repeated { calls: 10, inside: ms(5) });
            let asked = Details {
                requests: [RequestId(request)][..].into(),
                ..Rare { repeated, ..Rare::default() }.into()
            };
            let late = Time(ms(between).ps() / 10 * u64::from(request));
            let call = Call::new(Function::Test, start + late, start + ms(10 + between));
            receiver.rank.push_with(Call { comm: CommId(0), ..call }, asked);
        }
        receiver.clock = start + ms(10 + between);
        receiver.wait(Function::Waitall, vec![RequestId(0), RequestId(1)], Vec::new());
        trace(vec![Author::new().send(1, 5).send(1, 5).end(), receiver.end()])
    };
    let (whole, half) = (program(90), program(45));
    assert_eq!(Gaps::new(&whole).total(1), ms(100));
    let place = Where { ranks: Some([1].into()), ..Where::default() };
    let scaled = with(&whole, Difference::Scale { place: place.clone(), factor: 0.5 });
    assert_eq!(Gaps::new(&scaled).total(1), ms(50));
    let tests = |trace: &Trace| -> Vec<(Time, Time)> {
        let calls = trace.ranks[1].calls.iter().filter(|call| call.function == Function::Test);
        let first = calls.clone().next().unwrap().enter;
        calls.map(|call| (call.enter - first, call.exit - first)).collect()
    };
    assert_eq!(tests(&scaled)[0], tests(&half)[0]);
    let (run, truth) = (simulate(&scaled, Decisions::AsRecorded), simulate(&half, Decisions::AsRecorded));
    assert_eq!(run.end + ms(5), truth.end);
    // With a range of times, only the part of the polls inside it is scaled.
    let first = Where { during: Some((Time::ZERO, ms(10))), ..place };
    let cut = with(&whole, Difference::Scale { place: first, factor: 0.0 });
    let left = Gaps::new(&cut).total(1);
    assert!(left > ms(90) && left < ms(92), "{left}");
}

#[test]
fn a_level_does_not_end_the_region_it_lies_in() {
    let mut author = Author::new();
    author.mark(Function::RegionEnter, "step").compute(ms(1)).mark(Function::Pcontrol, "1");
    author.compute(ms(2)).mark(Function::Pcontrol, "1").compute(ms(4)).mark(Function::RegionLeave, "step");
    let rank = author.end();
    assert_eq!(presence(&rank, "step"), [None, None, Some(0), Some(0), Some(0), None]);
    let level = crate::whatif::regions::names(&trace(vec![rank.clone()])).into_keys();
    let level: Vec<String> = level.filter(|name| name != "step").collect();
    assert_eq!(presence(&rank, &level[0]), [None, None, None, Some(0), Some(1), Some(1)]);
}

#[test]
fn calls_that_choose_among_messages_in_parts_choose_as_they_did() {
    let mut receiver = Author::new();
    receiver.irecv(0, 3, RequestId(0)).irecv(1, 3, RequestId(1));
    receiver
        .wait(Function::Waitany, vec![RequestId(0), RequestId(1)], vec![completed(RequestId(0))])
        .compute(ms(3));
    receiver.wait(Function::Waitany, vec![RequestId(1)], vec![completed(RequestId(1))]).compute(ms(5));
    let sender = |time: u64| Author::new().compute(ms(time)).send(2, 3).end();
    let traced = trace(vec![sender(1), sender(2), receiver.end()]);
    let split = Difference::Split { filter: Filter::default(), count: 3 };
    let late = Where { ranks: Some([0].into()), ..Where::default() };
    let late = Difference::Scale { place: late, factor: 10.0 };
    let (changed, notes) = apply_all(&traced, &[late, split]).unwrap();
    assert_eq!(notes, ["2 calls that choose among messages in parts choose as in the trace"]);
    let run = simulate(&changed, Decisions::Redecide);
    assert_eq!((run.decisions_changed(), run.bound), (0, crate::whatif::Bound::Nothing));
    assert!(run.end > ms(18) && run.end < ms(19), "{}", run.end);
}

#[test]
fn regions_that_compute_stay_when_their_tests_go() {
    // Each step computes, then tests in nested regions, which are empty once the test is gone.
    let program = |late: u64| {
        let mut receiver = Author::new();
        receiver.irecv(0, 5, RequestId(0));
        for _ in 0..3 {
            receiver.compute(ms(5)).mark(Function::RegionEnter, "step").compute(ms(5));
            for name in ["outer", "poll"] {
                receiver.mark(Function::RegionEnter, name);
            }
            let asked = Details { requests: [RequestId(0)][..].into(), ..Details::default() };
            receiver.call(Function::Test, |_| {}, Some(asked));
            for name in ["poll", "outer", "step"] {
                receiver.mark(Function::RegionLeave, name);
            }
        }
        receiver.wait(Function::Test, vec![RequestId(0)], Vec::new());
        trace(vec![Author::new().compute(ms(late)).send(1, 5).end(), receiver.end()])
    };
    let place = Where { ranks: Some([0].into()), ..Where::default() };
    let run = simulate(&with(&program(35), Difference::Scale { place, factor: 0.1 }), Decisions::Redecide);
    let entered = |name: &str| presence(&run.trace.ranks[1], name).into_iter().flatten().max();
    assert_eq!(run.superfluous_tests, 3);
    assert_eq!((entered("step"), entered("outer"), entered("poll")), (Some(2), Some(0), Some(0)));
}

#[test]
fn what_counts_for_nothing_is_told() {
    let traced = figure_4(FOO, [1, 2, 3]);
    let shares = Shares::Weights(vec![1.0, 1.0, 0.0, 2.0]);
    let (_, notes) = apply_all(&traced, &[Difference::Balance { place: region("work"), shares }]).unwrap();
    assert_eq!(notes, ["ranks 1, 3 never compute in work: their weights are ignored"]);
    let (_, notes) = apply_all(
        &super::differences::two_messages(),
        &[Difference::Merge { filter: Filter::default(), count: 5 }],
    )
    .unwrap();
    assert_eq!(notes, ["no rank sends 5 such messages to another with the same tag: at most 2 are merged"]);
}

#[test]
fn a_program_that_would_hang_by_wildcards_still_decides_about_requests() {
    // Rank 0 answers rank 1 before it takes the message of rank 2; rank 3 waits for whichever comes first.
    let ssend = |author: &mut Author, to: i32| {
        author.call(Function::Ssend, |call| (call.peer, call.tag, call.sent) = (to, 5, 8), None);
    };
    let mut master = Author::new();
    for from in [1, 2] {
        let matched = Some(Matched { peer: from, tag: 5 });
        let set = |call: &mut Call| (call.peer, call.tag, call.received) = (special::ANY, 5, 8);
        master.call(Function::Recv, set, Some(Details { matched, ..Details::default() }));
        if from == 1 {
            ssend(&mut master, 1);
        }
    }
    let worker = |rank: u64| {
        let mut author = Author::new();
        author.compute(ms(rank));
        ssend(&mut author, 0);
        if rank == 1 {
            author.call(Function::Recv, |call| (call.peer, call.tag, call.received) = (0, 5, 8), None);
        }
        author.send(3, 6).end()
    };
    let mut last = Author::new();
    last.irecv(1, 6, RequestId(0)).irecv(2, 6, RequestId(1));
    last.wait(Function::Waitany, vec![RequestId(0), RequestId(1)], vec![completed(RequestId(0))]);
    last.wait(Function::Waitany, vec![RequestId(1)], vec![completed(RequestId(1))]);
    let traced = trace(vec![master.end(), worker(1), worker(2), last.end()]);
    let slower =
        Difference::Scale { place: Where { ranks: Some([1].into()), ..Where::default() }, factor: 9.0 };
    let run = simulate(&with(&traced, slower), Decisions::Redecide);
    assert_eq!(run.bound, crate::whatif::Bound::Wildcards);
    assert!(run.end > ms(9) && run.end < ms(10), "{}", run.end);
}

#[test]
fn an_exchange_that_receives_from_anyone_still_sends_where_it_did() {
    let program = || {
        let mut master = Author::new();
        for from in [1, 2] {
            let details = Details {
                matched: Some(Matched { peer: from, tag: 5 }),
                receive: Some(Matched { peer: special::ANY, tag: 5 }),
                ..Details::default()
            };
            let set = |call: &mut Call| {
                (call.peer, call.tag, call.sent, call.received) = (1, 9, 8, 8);
            };
            master.call(Function::Sendrecv, set, Some(details)).compute(ms(1));
        }
        let mut first = Author::new();
        first.compute(ms(2)).send(0, 5);
        for _ in 0..2 {
            first.call(Function::Recv, |call| (call.peer, call.tag, call.received) = (0, 9, 8), None);
        }
        trace(vec![master.end(), first.end(), Author::new().compute(ms(5)).send(0, 5).end()])
    };
    let slower =
        Difference::Scale { place: Where { ranks: Some([1].into()), ..Where::default() }, factor: 4.0 };
    let traced = program();
    let run = simulate(&with(&traced, slower), Decisions::Redecide);
    let exchanges = run.trace.ranks[0].calls.iter().filter(|call| call.function == Function::Sendrecv);
    assert_eq!(exchanges.map(|call| (call.peer, call.tag)).collect::<Vec<_>>(), [(1, 9), (1, 9)]);
    assert_eq!(run.decisions_changed(), 2);
}

#[test]
fn polls_that_computed_still_compute_when_there_is_less_to_do() {
    // Tests 1.5 µs apart: at a tenth of that distance they would count as waiting.
    let calls = 1_000;
    let between = Time::from_ns(1_500 * calls);
    let mut receiver = Author::new();
    receiver.irecv(0, 5, RequestId(0));
    let start = receiver.clock;
    let repeated = Some(Repeated { calls, inside: ms(1) });
    let asked =
        Details { requests: [RequestId(0)][..].into(), ..Rare { repeated, ..Rare::default() }.into() };
    receiver.clock = start + ms(1) + between;
    let call = Call::new(Function::Test, start, receiver.clock);
    receiver.rank.push_with(Call { comm: CommId(0), ..call }, asked);
    receiver.wait(Function::Wait, vec![RequestId(0)], Vec::new());
    let traced = trace(vec![Author::new().send(1, 5).end(), receiver.end()]);
    let place = Where { ranks: Some([1].into()), ..Where::default() };
    let less = with(&traced, Difference::Scale { place, factor: 0.1 });
    assert_eq!(Gaps::new(&less).total(1), Time(between.ps() / 10));
    let end = simulate(&less, Decisions::AsRecorded).finish[1];
    assert!(end >= Time(between.ps() / 10), "{end}");
}
