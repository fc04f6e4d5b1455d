//! Hypotheses whose true outcome is known.

mod differences;
mod places;

use super::calls::{Deletion, Inserted, Insertion};
use super::computation::{Balanced, Gaps};
use super::messages::Filter;
use super::nonblocking::{Overlap, When};
use super::place::Where;
use super::search::SlowRanks;
use super::{DecisionKind, Difference, Scenario, Search, Shares, Variation, WhatIfError, apply_all};
use crate::waits::{Explanation, Pattern};
use proptest::prelude::*;
use std::borrow::Cow;
use straggler_model::philox::Stream;
use straggler_model::{Link, Network, PerByte, Time};
use straggler_schedule::traced::{Building, Decisions, Options};
use straggler_sim::{Control, Simulation};
use straggler_trace::messages::Messages;
use straggler_trace::{
    Call, CommId, Communicator, Completed, Details, Function, Matched, RankTrace, RequestId, Trace, call,
    call::special,
};

const fn ms(milliseconds: u64) -> Time {
    Time::from_ns(1_000_000 * milliseconds)
}

fn network() -> Network {
    let link = Link {
        latency: Time::from_ns(2_000),
        send_overhead: Time::from_ns(500),
        recv_overhead: Time::from_ns(700),
        gap: Time::from_ns(900),
        gap_per_byte: PerByte::from_ps(100),
        overhead_per_byte: PerByte::ZERO,
        eager_limit: 10_000,
        overlap_limit: u64::MAX,
    };
    Network::uniform("tried", link)
}

fn simulate(trace: &Trace, decisions: Decisions) -> Scenario {
    let network = network();
    let mut control = Control::new(1);
    let options = Options { decisions, ..Options::default() };
    Scenario::simulate(
        Cow::Borrowed(trace),
        &options,
        &Building::default(),
        &Simulation::new(&network),
        &mut control,
    )
    .unwrap()
}

/// Writes a rank call by call. MPI calls take a microsecond.
#[derive(Default)]
struct Author {
    rank: RankTrace,
    clock: Time,
}

impl Author {
    fn new() -> Author {
        let mut author = Author::default();
        author.call(Function::Init, |_| {}, None);
        author
    }

    fn call(
        &mut self,
        function: Function,
        set: impl FnOnce(&mut Call),
        details: Option<Details>,
    ) -> &mut Author {
        let exit = self.clock + Time::from_ns(1_000);
        let mut call = Call { comm: CommId(0), ..Call::new(function, self.clock, exit) };
        set(&mut call);
        self.clock = exit;
        match details {
            Some(details) => self.rank.push_with(call, details),
            None => self.rank.push(call),
        }
        self
    }

    fn compute(&mut self, time: Time) -> &mut Author {
        self.clock += time;
        self
    }

    fn mark(&mut self, function: Function, name: &str) -> &mut Author {
        self.call(function, |_| {}, Some(Details::named(name)))
    }

    fn region(&mut self, name: &str, time: Time) -> &mut Author {
        self.mark(Function::RegionEnter, name).compute(time).mark(Function::RegionLeave, name)
    }

    fn send(&mut self, to: i32, tag: i32) -> &mut Author {
        let set = |call: &mut Call| (call.peer, call.tag, call.sent) = (to, tag, 8);
        self.call(Function::Send, set, None)
    }

    fn irecv(&mut self, from: i32, tag: i32, request: RequestId) -> &mut Author {
        let set = |call: &mut Call| {
            (call.peer, call.tag, call.received, call.request) = (from, tag, 8, request);
        };
        self.call(Function::Irecv, set, None)
    }

    fn wait(
        &mut self,
        function: Function,
        requests: Vec<RequestId>,
        completed: Vec<Completed>,
    ) -> &mut Author {
        let details = Details {
            requests: requests.into(),
            completed: completed.into(),
            found: true,
            ..Details::default()
        };
        self.call(function, |_| {}, Some(details))
    }

    fn collective(&mut self, function: Function) -> &mut Author {
        self.call(function, |call| (call.sent, call.received) = (8, 8), None)
    }

    fn end(&mut self) -> RankTrace {
        self.call(Function::Finalize, |_| {}, None);
        std::mem::take(&mut self.rank)
    }
}

fn trace(ranks: Vec<RankTrace>) -> Trace {
    let communicators = vec![Communicator::world(ranks.len() as u32)];
    Trace { ranks, communicators, ..Trace::default() }
}

fn completed(request: RequestId) -> Completed {
    Completed { request, matched: None, cancelled: false }
}

/// Figure 4 of Böhme et al. 2010: rank 0 processes messages of the others in the order of arrival, `order`.
fn figure_4(foo: [u64; 4], order: [u32; 3]) -> Trace {
    let bar = [50, 250, 200, 150];
    let mut ranks = Vec::new();
    for rank in 0..4 {
        let mut author = Author::new();
        author.collective(Function::Barrier).region("foo", ms(foo[rank])).region("bar", ms(bar[rank]));
        if rank == 0 {
            (1..4).for_each(|from| {
                author.irecv(from, 0, RequestId(from as u32 - 1));
            });
            let mut open = [0, 1, 2].map(RequestId).to_vec();
            for from in order {
                author
                    .wait(Function::Waitany, open.clone(), vec![completed(RequestId(from - 1))])
                    .region("work", ms(25));
                open.retain(|&request| request.0 != from - 1);
            }
        } else {
            author.send(0, 0);
        }
        ranks.push(author.collective(Function::Barrier).end());
    }
    trace(ranks)
}

const FOO: [u64; 4] = [156, 300, 400, 500];
const BALANCED: [u64; 4] = [339, 339, 339, 339];

fn region(name: &str) -> Where {
    Where { region: Some(name.into()), ..Where::default() }
}

fn with(trace: &Trace, difference: Difference) -> Trace {
    apply_all(trace, &[difference]).unwrap().0.into_owned()
}

/// Number and time of waits, by pattern.
fn waits(scenario: &Scenario) -> Vec<(u64, Time)> {
    let total = scenario.waits.total();
    Pattern::ALL.iter().map(|&pattern| (total.get(pattern).count, total.get(pattern).time)).collect()
}

#[test]
fn a_balanced_run_is_predicted_to_the_picosecond_if_it_decides_again() {
    let hypothesis =
        with(&figure_4(FOO, [1, 2, 3]), Difference::Balance { place: region("foo"), shares: Shares::Equal });
    // The true outcome of the changed program.
    let truth = simulate(&figure_4(BALANCED, [3, 2, 1]), Decisions::AsRecorded);
    let predicted = simulate(&hypothesis, Decisions::Redecide);
    assert_eq!(predicted.finish, truth.finish);
    assert_eq!(waits(&predicted), waits(&truth));
    assert_eq!(predicted.decisions_changed(), 1);
    // In the recorded order, the master starts to work only when the last message has arrived.
    let recorded = simulate(&hypothesis, Decisions::AsRecorded);
    assert_eq!(recorded.decisions_changed(), 0);
    let longer = recorded.end - truth.end;
    assert!(longer > ms(49) && longer < ms(51), "{longer}");
}

#[test]
fn nothing_changes_where_nothing_is_decided() {
    let trace = figure_4(FOO, [1, 2, 3]);
    let recorded = simulate(&trace, Decisions::AsRecorded);
    let decided = simulate(&trace, Decisions::Redecide);
    assert_eq!(decided.finish, recorded.finish);
    assert_eq!(decided.trace, recorded.trace);
    assert_eq!(decided.decisions, []);
}

/// The requests that the Waitany calls of rank 0 completed.
fn order(trace: &Trace) -> Vec<RequestId> {
    let rank = &trace.ranks[0];
    let any = rank.calls.iter().filter(|call| call.function == Function::Waitany);
    any.filter_map(|call| rank.details(call)).map(|details| details.completed[0].request).collect()
}

#[test]
fn the_simulated_trace_says_what_was_decided() {
    let balanced = Difference::Balance { place: region("foo"), shares: Shares::Equal };
    let run = simulate(&with(&figure_4(FOO, [1, 2, 3]), balanced), Decisions::Redecide);
    assert_eq!(order(&run.trace), [2, 1, 0].map(RequestId));
    let again = simulate(&run.trace, Decisions::AsRecorded);
    assert_eq!(again.finish, run.finish);
}

#[test]
fn a_receive_from_anyone_takes_what_comes() {
    // Rank 1 was first in the trace; now it computes longer.
    let program = |first: u64, second: u64, order: [i32; 2]| {
        let mut master = Author::new();
        for from in order {
            let matched = Some(Matched { peer: from, tag: 5 });
            let set =
                |call: &mut Call| (call.peer, call.tag, call.received) = (special::ANY, special::ANY, 8);
            master.call(Function::Recv, set, Some(Details { matched, ..Details::default() })).compute(ms(3));
        }
        let mut ranks = vec![master.end()];
        ranks.extend([first, second].map(|time| Author::new().compute(ms(time)).send(0, 5).end()));
        trace(ranks)
    };
    let slower =
        Difference::Scale { place: Where { ranks: Some([1].into()), ..Where::default() }, factor: 4.0 };
    let predicted = simulate(&with(&program(2, 5, [1, 2]), slower), Decisions::Redecide);
    let truth = simulate(&program(8, 5, [2, 1]), Decisions::AsRecorded);
    assert_eq!(predicted.finish, truth.finish);
    assert_eq!(predicted.decisions_changed(), 2);
    let peers = |trace: &Trace| -> Vec<i32> {
        trace.ranks[0]
            .details
            .iter()
            .filter_map(|details| details.matched)
            .map(|matched| matched.peer)
            .collect()
    };
    assert_eq!(peers(&predicted.trace), [2, 1]);
    assert_eq!(waits(&predicted), waits(&truth));
}

#[test]
fn a_persistent_receive_from_anyone_takes_what_comes() {
    // Rank 1 was first in the trace; now it computes longer. MPI_Start does not name the communicator.
    let mut master = Author::new();
    let set = |call: &mut Call| {
        (call.peer, call.tag, call.received, call.request) = (special::ANY, 5, 8, RequestId(0));
    };
    master.call(Function::Recv_init, set, None);
    for (request, peer) in [(1, 1), (2, 2)] {
        let begins = Details { requests: vec![RequestId(0)].into(), ..Details::default() };
        let set = |call: &mut Call| (call.request, call.comm) = (RequestId(request), call::NO_COMM);
        master.call(Function::Start, set, Some(begins));
        let matched = Some(Matched { peer, tag: 5 });
        master.wait(
            Function::Wait,
            vec![RequestId(request)],
            vec![Completed { matched, ..completed(RequestId(request)) }],
        );
    }
    let mut ranks = vec![master.end()];
    ranks.extend([2, 5].map(|time| Author::new().region("work", ms(time)).send(0, 5).end()));
    let slower =
        Difference::Scale { place: Where { ranks: Some([1].into()), ..Where::default() }, factor: 4.0 };
    let predicted = simulate(&with(&trace(ranks), slower), Decisions::Redecide);
    assert_eq!(predicted.decisions_changed(), 2);
    let told = predicted.trace.ranks[0].details.iter().flat_map(|details| details.completed.iter());
    let peers: Vec<i32> =
        told.filter_map(|completed| completed.matched).map(|matched| matched.peer).collect();
    assert_eq!(peers, [2, 1]);
}

#[test]
fn a_test_that_succeeds_earlier_makes_later_ones_superfluous() {
    // Rank 1 tests three times while it computes, and a last time afterwards; the message arrives before the last
    // test.
    let program = || {
        let mut receiver = Author::new();
        receiver.irecv(0, 5, RequestId(0));
        for _ in 0..3 {
            receiver.compute(ms(10)).mark(Function::RegionEnter, "poll");
            let asked = Details { requests: vec![RequestId(0)].into(), ..Details::default() };
            receiver.call(Function::Test, |_| {}, Some(asked)).mark(Function::RegionLeave, "poll");
        }
        receiver.compute(ms(10)).wait(Function::Test, vec![RequestId(0)], Vec::new()).compute(ms(1));
        trace(vec![Author::new().compute(ms(35)).send(1, 5).end(), receiver.end()])
    };
    let tests = |trace: &Trace| {
        let count = |function| trace.ranks[1].calls.iter().filter(|call| call.function == function).count();
        (count(Function::Test), count(Function::RegionEnter))
    };
    let identity = simulate(&program(), Decisions::Redecide);
    assert_eq!((identity.decisions_changed(), identity.superfluous_tests), (0, 0));
    assert_eq!(tests(&identity.trace), (4, 3));
    // With a faster sender, the second test succeeds, and the third and the last are not called.
    let place = Where { ranks: Some([0].into()), ..Where::default() };
    let run = simulate(&with(&program(), Difference::Scale { place, factor: 0.5 }), Decisions::Redecide);
    assert_eq!((run.decisions_changed(), run.superfluous_tests), (1, 2));
    assert_eq!(tests(&run.trace), (2, 2));
    let found: Vec<bool> = run.trace.ranks[1]
        .calls
        .iter()
        .filter(|call| call.function == Function::Test)
        .map(|call| run.trace.ranks[1].details(call).unwrap().found)
        .collect();
    assert_eq!(found, [false, true]);
    assert_eq!(Messages::of_trace(&run.trace).matched.len(), 1);
    // With a slower one, the test that succeeded waits.
    let place = Where { ranks: Some([0].into()), ..Where::default() };
    let run = simulate(&with(&program(), Difference::Scale { place, factor: 2.0 }), Decisions::Redecide);
    let kinds: Vec<DecisionKind> = run.decisions.iter().map(|decided| decided.kind).collect();
    assert_eq!(kinds, [DecisionKind::Later]);
    assert!(run.end > ms(71));
}

#[test]
fn a_synchronous_message_from_anyone_is_answered_to_its_sender() {
    let program = |first: u64, second: u64, order: [i32; 2]| {
        let mut master = Author::new();
        for from in order {
            let matched = Some(Matched { peer: from, tag: 5 });
            let set = |call: &mut Call| (call.peer, call.tag, call.received) = (special::ANY, 5, 8);
            master.call(Function::Recv, set, Some(Details { matched, ..Details::default() })).compute(ms(3));
        }
        let worker = |time: u64| {
            let set = |call: &mut Call| (call.peer, call.tag, call.sent) = (0, 5, 8);
            Author::new().compute(ms(time)).call(Function::Ssend, set, None).compute(ms(9)).end()
        };
        trace(vec![master.end(), worker(first), worker(second)])
    };
    let slower =
        Difference::Scale { place: Where { ranks: Some([1].into()), ..Where::default() }, factor: 1.0 };
    let changed = with(&program(8, 5, [1, 2]), slower);
    let predicted = simulate(&changed, Decisions::Redecide);
    let truth = simulate(&program(8, 5, [2, 1]), Decisions::AsRecorded);
    assert_eq!(predicted.finish, truth.finish);
    assert_eq!(predicted.decisions_changed(), 2);
}

#[test]
fn a_mark_does_not_end_the_computation_before_a_call() {
    let rank = |rank: u64| Author::new().region("solve", ms(10 + rank)).collective(Function::Allreduce).end();
    let overlap = Overlap { function: Function::Allreduce, when: When::Earlier(Some(ms(4))) };
    let early = with(&trace((0..2).map(rank).collect()), Difference::Overlap(overlap));
    let functions: Vec<Function> = early.ranks[1].calls.iter().map(|call| call.function).collect();
    assert_eq!(
        functions,
        [
            Function::Init,
            Function::RegionEnter,
            Function::Iallreduce,
            Function::RegionLeave,
            Function::Wait,
            Function::Finalize
        ]
    );
    assert_eq!(Gaps::new(&early).total(1), ms(11));
}

#[test]
fn a_search_tries_what_is_on_the_critical_path() {
    let trace = figure_4(FOO, [1, 2, 3]);
    let identity = simulate(&trace, Decisions::Redecide);
    let path = Explanation::new(&identity.trace, &identity.waits).critical_path;
    let search = Search::new(&trace, &identity.trace, identity.end, &path);
    let texts =
        |differences: &[Difference]| differences.iter().map(Difference::text).collect::<Vec<_>>().join(", ");
    let tried: Vec<String> = search.candidates.iter().map(|one| texts(&one.differences)).collect();
    for text in ["computation in foo balanced", "computation in bar × 0.5", "no MPI_Barrier"] {
        assert!(tried.iter().any(|one| one == text), "{text}: {tried:?}");
    }
    assert!(search.candidates.iter().any(|one| one.ideal_network));
    // Skipped hypotheses gain no more than their bound.
    for skipped in &search.skipped {
        let run = simulate(&with(&trace, skipped.difference.clone()), Decisions::AsRecorded);
        let gain = (identity.end.ps() as f64 - run.end.ps() as f64) / identity.end.ps() as f64;
        assert!(gain <= skipped.bound + 1e-6, "{}: {gain}", skipped.difference.text());
    }
    // A region of a rank that hardly anyone waits for is not worth a simulation.
    let mut idle = figure_4(FOO, [1, 2, 3]);
    idle.ranks[1] = {
        let mut author = Author::new();
        author.collective(Function::Barrier).region("aside", ms(10)).region("foo", ms(290));
        author.region("bar", ms(250)).send(0, 0).collective(Function::Barrier).end()
    };
    let identity = simulate(&idle, Decisions::Redecide);
    let path = Explanation::new(&identity.trace, &identity.waits).critical_path;
    let skipped = Search::new(&idle, &identity.trace, identity.end, &path).skipped;
    assert!(skipped.iter().any(|one| one.difference.text() == "computation in aside × 0.5"), "{skipped:?}");
}

/// Ten rounds of computation and a barrier.
fn uneven(milliseconds: &[u64]) -> Trace {
    let rank = |&time: &u64| {
        let mut author = Author::new();
        for _ in 0..10 {
            author.compute(ms(time)).collective(Function::Barrier);
        }
        author.end()
    };
    trace(milliseconds.iter().map(rank).collect())
}

/// Forty rounds of 10 ms and a barrier, in which a rank `slow(round)` computes for 30 ms.
fn in_turn(ranks: u32, slow: impl Fn(u32) -> u32) -> Trace {
    let rank = |rank: u32| {
        let mut author = Author::new();
        for round in 0..40 {
            author.compute(ms(if slow(round) == rank { 30 } else { 10 })).collective(Function::Barrier);
        }
        author.end()
    };
    trace((0..ranks).map(rank).collect())
}

/// All ranks compute equally long, but not in the same steps.
#[test]
fn ranks_that_are_slow_in_turn_are_balanced_step_by_step() {
    let turns = in_turn(4, |round| round % 4);
    let identity = simulate(&turns, Decisions::AsRecorded);
    let run = |shares| {
        let changed = with(&turns, Difference::Balance { place: Where::default(), shares });
        simulate(&changed, Decisions::AsRecorded).end
    };
    assert_eq!(run(Shares::Equal), identity.end);
    // (30 + 3 · 10) / 4 = 15 ms a round instead of 30.
    let gain = 1.0 - run(Shares::EqualInEachStep).seconds() / identity.end.seconds();
    assert!((gain - 0.5).abs() < 1e-3, "{gain}");
    let path = Explanation::new(&identity.trace, &identity.waits).critical_path;
    let search = Search::new(&turns, &identity.trace, identity.end, &path);
    let each = |shares| Difference::Balance { place: Where::default(), shares };
    assert!(search.candidates.iter().any(|one| one.differences == [each(Shares::EqualInEachStep)]));
    assert_eq!(search.slow.ranks, []);
    // Of two ranks, each is balanced with the other only.
    let some = Where { ranks: Some([0, 1].into()), ..Where::default() };
    let changed = with(&turns, Difference::Balance { place: some, shares: Shares::EqualInEachStep });
    assert_eq!(Gaps::new(&changed).total(0), Gaps::new(&turns).total(0));
    let too_few = Difference::Balance { place: Where::default(), shares: Shares::EqualInEachStep };
    assert_eq!(apply_all(&figure_4(FOO, [1, 2, 3]), &[too_few]).map(|_| ()), Err(WhatIfError::NoSteps));
}

#[test]
fn a_slow_rank_is_told_from_ranks_that_are_slow_in_turn() {
    let varies =
        |slow: &dyn Fn(u32) -> u32| Variation::new(&in_turn(4, slow)).unwrap().is_from_step_to_step();
    assert!(varies(&|round| round % 4));
    assert!(varies(&|round| round * 7919 % 13 % 4));
    // Two of the four take turns.
    assert!(varies(&|round| round % 2));
    assert!(!varies(&|_| 2));
    // One rank, and another from the middle of the run on.
    assert!(!varies(&|round| round / 20));
    // Balanced.
    assert!(!varies(&|_| 9));
    // Every other step is even.
    assert!(varies(&|round| if round % 2 == 0 { round / 2 % 4 } else { 9 }));
    // Without collectives, steps end where all ranks wait for messages equally often.
    assert!(Variation::new(&rounds(1, 4, 20)).is_some());
    assert_eq!(Variation::new(&figure_4(FOO, [1, 2, 3])), None);
}

/// What fixing slow ranks together gains, one more each time.
fn fixed_together(trace: &Trace) -> Vec<(Vec<u32>, f64)> {
    let identity = simulate(trace, Decisions::AsRecorded);
    let path = |run: &Scenario| Explanation::new(&run.trace, &run.waits).critical_path;
    let slow = Search::new(trace, &identity.trace, identity.end, &path(&identity)).slow;
    let (mut fixed, mut found) = (Vec::new(), Vec::new());
    let mut next = slow.next(&fixed, &identity.trace, identity.end, &path(&identity));
    while let Some(slowest) = next {
        fixed.push(slowest);
        let (changed, _) = apply_all(trace, &SlowRanks::together(&fixed).differences).unwrap();
        let run = simulate(&changed, Decisions::AsRecorded);
        let gain = 1.0 - run.end.seconds() / identity.end.seconds();
        found.push((fixed.iter().map(|slow| slow.rank).collect(), gain));
        next = slow.next(&fixed, &run.trace, run.end, &path(&run));
    }
    found
}

/// The fastest rank is the reference, so that ranks are slow even if half of them or more are.
#[test]
fn most_ranks_may_be_slow() {
    let near = |found: f64, expected: f64| assert!((found - expected).abs() < 2e-3, "{found} {expected}");
    let two = fixed_together(&uneven(&[20, 40]));
    assert_eq!(two.len(), 1);
    assert_eq!(two[0].0, [1]);
    near(two[0].1, 0.5);
    // Of four ranks three are slow, and fixing one of them gains next to nothing.
    let four = fixed_together(&uneven(&[20, 38, 40, 39]));
    let ranks: Vec<&[u32]> = four.iter().map(|(ranks, _)| &ranks[..]).collect();
    assert_eq!(ranks, [&[2][..], &[2, 3], &[2, 3, 1]]);
    for ((_, gain), expected) in four.iter().zip([1.0 / 40.0, 2.0 / 40.0, 20.0 / 40.0]) {
        near(*gain, expected);
    }
    // A rank that hardly computes has another task.
    assert_eq!(fixed_together(&uneven(&[1, 20, 20, 20])), []);
}

/// A program that exchanges nonblocking messages in rounds and completes them in various ways.
fn rounds(seed: u64, ranks: u32, rounds: u32) -> Trace {
    let mut random = Stream::new(seed, 0, 0, 4);
    let mut authors: Vec<Author> = (0..ranks).map(|_| Author::new()).collect();
    for round in 0..rounds {
        let shift = 1 + random.below(u64::from(ranks) - 1) as u32;
        let any = random.below(2) == 0;
        for (rank, author) in (0..ranks).zip(&mut authors) {
            let (to, from) = ((rank + shift) % ranks, (rank + ranks - shift) % ranks);
            let (receive, send) = (2 * round, 2 * round + 1);
            author.compute(Time(random.below(50_000_000))).irecv(from as i32, 1, RequestId(receive));
            let bytes = random.below(20_000);
            let set = |call: &mut Call| {
                (call.peer, call.tag, call.sent, call.request) = (to as i32, 1, bytes, RequestId(send));
            };
            author.call(Function::Isend, set, None).compute(Time(random.below(9_000_000)));
            if any {
                author.wait(
                    Function::Waitany,
                    vec![RequestId(receive), RequestId(send)],
                    vec![completed(RequestId(receive))],
                );
                author.compute(Time(random.below(5_000_000))).wait(
                    Function::Wait,
                    vec![RequestId(send)],
                    Vec::new(),
                );
            } else {
                author.wait(Function::Waitall, vec![RequestId(receive), RequestId(send)], Vec::new());
            }
        }
        if random.below(3) == 0 {
            authors.iter_mut().for_each(|author| {
                author.compute(Time(random.below(3_000_000))).collective(Function::Allreduce);
            });
        }
    }
    trace(authors.iter_mut().map(Author::end).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Simulating a simulated run as recorded reproduces it.
    #[test]
    fn a_simulated_run_simulated_again_is_the_same(seed in any::<u64>(), ranks in 2u32..6, count in 1u32..8) {
        let trace = rounds(seed, ranks, count);
        let once = simulate(&trace, Decisions::AsRecorded);
        let twice = simulate(&once.trace, Decisions::AsRecorded);
        prop_assert_eq!(&twice.finish, &once.finish);
        prop_assert_eq!(&twice.trace, &once.trace);
        for rank in &once.waits.ranks {
            prop_assert_eq!(rank.computation + rank.waiting + rank.communication, rank.run);
        }
    }

    /// The simulated run has the same computation.
    #[test]
    fn computation_is_kept(seed in any::<u64>(), ranks in 2u32..6, count in 1u32..8) {
        let trace = rounds(seed, ranks, count);
        let run = simulate(&trace, Decisions::Redecide);
        prop_assert_eq!(Gaps::new(&run.trace), Gaps::new(&trace));
    }
}
