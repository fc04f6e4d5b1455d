//! Each hypothesis on a small run with a known outcome.

use super::*;

#[test]
fn computation_is_scaled_where_it_is_said() {
    let trace = figure_4(FOO, [1, 2, 3]);
    let half = with(&trace, Difference::Scale { place: region("foo"), factor: 0.5 });
    let expected = figure_4(FOO.map(|time| time / 2), [1, 2, 3]);
    assert_eq!(Gaps::new(&half), Gaps::new(&expected));
    let one = Where { ranks: Some([3].into()), ..region("foo") };
    let half = with(&trace, Difference::Scale { place: one, factor: 0.5 });
    assert_eq!(Gaps::new(&half), Gaps::new(&figure_4([156, 300, 400, 250], [1, 2, 3])));
    // The first 100 of 300 ms that begin at about 0.
    let during = Some((Time::ZERO, ms(100)));
    let one = Where { ranks: Some([1].into()), during, ..region("foo") };
    let cut = with(&trace, Difference::Scale { place: one, factor: 0.0 });
    let less = Gaps::new(&trace).total(1) - Gaps::new(&cut).total(1);
    assert!(less > ms(99) && less <= ms(100), "{less}");
    let same = with(&trace, Difference::Scale { place: Where::default(), factor: 1.0 });
    assert_eq!(same, trace);
    let error = apply_all(&trace, &[Difference::Scale { place: region("fo"), factor: 0.5 }]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "there is no region `fo`. The program marks: bar, foo, work; did you mean `foo`?"
    );
}

#[test]
fn weights_share_the_computation() {
    let trace = figure_4(FOO, [1, 2, 3]);
    let mut gaps = Gaps::new(&trace);
    assert_eq!(
        gaps.balance(&trace, &region("foo"), &Shares::Weights(vec![0.0, 1.0, 1.0, 2.0])),
        Ok(Balanced::Each)
    );
    assert_eq!(gaps, Gaps::new(&figure_4([0, 339, 339, 678], [1, 2, 3])));
    let error = gaps.balance(&trace, &region("foo"), &Shares::Weights(vec![1.0, 1.0])).unwrap_err();
    assert_eq!(error, WhatIfError::Weights { given: 2, ranks: 4 });
    // Only rank 0 enters this region.
    assert_eq!(gaps.balance(&trace, &region("work"), &Shares::Equal), Ok(Balanced::Each));
}

#[test]
fn the_fastest_tenth_is_what_a_region_costs() {
    let program = |times: &[u64]| {
        let mut author = Author::new();
        times.iter().for_each(|&time| {
            author.region("step", ms(time));
        });
        trace(vec![author.end()])
    };
    let noisy = program(&[10, 10, 13, 10, 50, 10, 10, 11, 10, 10, 12]);
    let quiet = with(&noisy, Difference::Quieten { place: region("step") });
    assert_eq!(Gaps::new(&quiet), Gaps::new(&program(&[10; 11])));
    let few = apply_all(&program(&[1, 2]), &[Difference::Quieten { place: region("step") }]).unwrap_err();
    let text = few.to_string();
    assert!(text.contains("repeats 10 times") && text.contains("a longer run"), "{text}");
}

#[test]
fn messages_that_are_not_sent_are_not_waited_for() {
    let trace = figure_4(FOO, [1, 2, 3]);
    let filter = Filter { from: Some([3].into()), ..Filter::default() };
    let fewer = with(&trace, Difference::Remove(filter));
    assert_eq!(Messages::of_trace(&fewer).matched.len(), 2);
    let any = |function| fewer.ranks[0].calls.iter().filter(|call| call.function == function).count();
    assert_eq!((any(Function::Irecv), any(Function::Waitany)), (2, 2));
    let run = simulate(&fewer, Decisions::Redecide);
    assert!(run.end < simulate(&trace, Decisions::Redecide).end);
    let nothing = Filter { tag: Some(9), ..Filter::default() };
    let error = apply_all(&trace, &[Difference::Remove(nothing)]).unwrap_err().to_string();
    assert_eq!(
        error,
        "no message matches tag=9. There are messages of 8 to 8 bytes, with tags 0, on communicators 0"
    );
}

#[test]
fn a_collective_that_begins_earlier_overlaps_with_computation() {
    let program = |ranks: u64| {
        let rank =
            |rank: u64| Author::new().compute(ms(10 + 10 * rank)).collective(Function::Allreduce).end();
        trace((0..ranks).map(rank).collect())
    };
    let blocking = program(2);
    let function = Function::Allreduce;
    let early = with(&blocking, Difference::Overlap(Overlap { function, when: When::Earlier(Some(ms(5))) }));
    let functions: Vec<Function> = early.ranks[1].calls.iter().map(|call| call.function).collect();
    assert_eq!(functions, [Function::Init, Function::Iallreduce, Function::Wait, Function::Finalize]);
    let gaps: Vec<Time> = early.ranks[1].calls.windows(2).map(|pair| pair[1].enter - pair[0].exit).collect();
    assert_eq!(gaps[..2], [ms(15), ms(5)]);
    let (before, after) = (simulate(&blocking, Decisions::Redecide), simulate(&early, Decisions::Redecide));
    assert!(after.end < before.end);
    // The first rank still waits for the other one, which begins 5 ms before the end of its
    // computation.
    assert!(after.finish[0] > ms(15) && after.finish[0] < ms(16), "{}", after.finish[0]);
    let error = apply_all(
        &blocking,
        &[Difference::Overlap(Overlap { function: Function::Bcast, when: When::Earlier(None) })],
    );
    assert_eq!(error.unwrap_err().to_string(), "the program never calls MPI_Bcast. It calls MPI_Allreduce");
}

/// Rank 1 computes 20 ms after the receive, for which rank 0 lets it wait 10 ms.
#[test]
fn a_receive_may_complete_after_the_computation_that_follows() {
    let sender = Author::new().compute(ms(10)).send(1, 0).collective(Function::Barrier).end();
    let mut author = Author::new();
    author.call(Function::Recv, |call| (call.peer, call.tag, call.received) = (0, 0, 8), None);
    let receiver = author.region("after", ms(20)).collective(Function::Barrier).end();
    let blocking = trace(vec![sender, receiver]);
    let later = Overlap { function: Function::Recv, when: When::CompletedLater };
    let later = with(&blocking, Difference::Overlap(later));
    let functions: Vec<Function> = later.ranks[1].calls.iter().map(|call| call.function).collect();
    let marks = [Function::RegionEnter, Function::RegionLeave];
    let expected = [Function::Irecv, marks[0], marks[1], Function::Waitall, Function::Barrier];
    assert_eq!(functions[1..6], expected);
    let [before, after] = [&blocking, &later].map(|trace| simulate(trace, Decisions::Redecide).end);
    assert!(before > ms(30) && after > ms(20) && after < ms(21), "{before} {after}");
}

/// Two messages in a row from rank 0 to rank 1, with computation between them.
pub fn two_messages() -> Trace {
    let first = Author::new().send(1, 3).compute(ms(2)).send(1, 3).end();
    let mut second = Author::new();
    second
        .irecv(0, 3, RequestId(0))
        .irecv(0, 3, RequestId(1))
        .wait(Function::Waitall, vec![RequestId(0), RequestId(1)], Vec::new())
        .compute(ms(1));
    trace(vec![first, second.end()])
}

#[test]
fn messages_are_sent_together_or_in_parts() {
    let two = two_messages();
    let count = |trace: &Trace| {
        let matched = Messages::of_trace(trace).matched;
        (matched.len(), matched.iter().map(|message| message.sent.bytes).sum::<u64>())
    };
    let merged = with(&two, Difference::Merge { filter: Filter::default(), count: 2 });
    assert_eq!(count(&merged), (1, 16));
    let split = with(&two, Difference::Split { filter: Filter::default(), count: 4 });
    assert_eq!(count(&split), (8, 16));
    // Both runs finish, and the 3 ms of computation are unchanged.
    for changed in [merged, split] {
        let run = simulate(&changed, Decisions::Redecide);
        assert_eq!(run.finish.len(), 2);
        assert!(run.end > ms(3) && run.end < ms(4), "{}", run.end);
    }
}

#[test]
fn a_message_that_answers_cannot_be_sent_together_with_the_question() {
    let recv = |author: &mut Author, from: i32| {
        author.call(Function::Recv, |call| (call.peer, call.tag, call.received) = (from, 3, 8), None);
    };
    let (mut first, mut second) = (Author::new(), Author::new());
    for _ in 0..2 {
        first.send(1, 3);
        recv(&mut first, 1);
        recv(&mut second, 0);
        second.send(0, 3);
    }
    let changed = with(
        &trace(vec![first.end(), second.end()]),
        Difference::Merge { filter: Filter { from: Some([0].into()), ..Filter::default() }, count: 2 },
    );
    let network = network();
    let mut control = Control::new(1);
    let run = Scenario::simulate(
        Cow::Borrowed(&changed),
        &Options::default(),
        &Building::default(),
        &Simulation::new(&network),
        &mut control,
    );
    let Err(crate::whatif::ScenarioError::Hangs(hang)) = run else { panic!("{run:?}") };
    let waiting: Vec<_> = hang.waiting.iter().map(|call| (call.rank, call.function)).collect();
    assert_eq!(waiting, [(0, Function::Recv), (1, Function::Recv)]);
    assert_eq!(hang.stuck.cycle, [0, 1]);
}

#[test]
fn collectives_are_deleted_and_barriers_put_in() {
    let trace = figure_4(FOO, [1, 2, 3]);
    let barrier = |place| Difference::Delete(Deletion { function: Function::Barrier, place });
    let without = with(&trace, barrier(Where::default()));
    let barriers = |trace: &Trace| {
        let calls = trace.ranks.iter().flat_map(|rank| &rank.calls);
        calls.filter(|call| call.function == Function::Barrier).count()
    };
    assert_eq!((barriers(&trace), barriers(&without)), (8, 0));
    assert_eq!(simulate(&without, Decisions::Redecide).waits.total().get(Pattern::WaitAtBarrier).count, 0);
    let bar = "bar".to_owned();
    let put = Insertion { what: Inserted::Barrier, region: bar.clone(), ranks: None };
    let more = with(&trace, Difference::Insert(put));
    assert_eq!(barriers(&more), 12);
    // All ranks enter bar together with the one that is slowest in foo.
    let run = simulate(&more, Decisions::Redecide);
    assert!(run.end > ms(500 + 250) && run.end < ms(500 + 250 + 80), "{}", run.end);
    let put = Insertion { what: Inserted::Computation(ms(7)), region: bar, ranks: Some([2].into()) };
    let more = with(&trace, Difference::Insert(put));
    assert_eq!(Gaps::new(&more).total(2) - Gaps::new(&trace).total(2), ms(7));
    let error = apply_all(&trace, &[barrier(region("work"))]).unwrap_err().to_string();
    assert_eq!(error, "the program never calls MPI_Barrier in work. It calls MPI_Barrier");
}
