//! One trace for each pattern, and properties of all traces.

mod activities;
mod causes;
mod critical_path;
mod missing;
mod regions;

use super::{Missing, Pattern, WaitStates, unanalysed};
use proptest::prelude::*;
use straggler_model::Time;
use straggler_trace::call::{self, special};
use straggler_trace::messages::CallPlace;
use straggler_trace::profile::Profile;
use straggler_trace::{
    Call, CommId, Communicator, Details, Function, Matched, Moment, RankTrace, RequestId, Trace,
};

const fn at(microseconds: u64) -> Time {
    Time::from_ns(1_000 * microseconds)
}

/// A call on the world communicator with a peer or root, from one microsecond to another.
fn call(function: Function, enter: u64, exit: u64, peer: i32) -> Call {
    Call { comm: CommId(0), peer, tag: 1, ..Call::new(function, at(enter), at(exit)) }
}

fn send(enter: u64, exit: u64, to: i32) -> Call {
    Call { sent: 8, ..call(Function::Send, enter, exit, to) }
}

fn recv(enter: u64, exit: u64, from: i32) -> Call {
    Call { received: 8, ..call(Function::Recv, enter, exit, from) }
}

fn collective(function: Function, enter: u64, exit: u64, root: i32) -> Call {
    Call { sent: 8, received: 8, ..call(function, enter, exit, root) }
}

fn wait(rank: &mut RankTrace, enter: u64, exit: u64, requests: Vec<RequestId>) {
    let details = Details { found: true, requests: requests.into(), ..Details::default() };
    rank.push_with(Call::new(Function::Waitall, at(enter), at(exit)), details);
}

fn trace(ranks: Vec<RankTrace>) -> Trace {
    let world = Communicator::world(ranks.len() as u32);
    Trace { ranks, communicators: vec![world], ..Trace::default() }
}

fn of_calls(calls: impl IntoIterator<Item = Call>) -> RankTrace {
    RankTrace { calls: calls.into_iter().collect(), ..RankTrace::default() }
}

/// Pattern, rank, call, microseconds, rank that was late.
fn found(trace: &Trace) -> Vec<(Pattern, u32, u32, u64, Option<u32>)> {
    let waits = WaitStates::new(trace).waits.into_iter();
    let microseconds = |time: Time| time.ps() / 1_000_000;
    waits
        .map(|wait| {
            let late = wait.cause.map(|cause| cause.rank);
            (wait.pattern, wait.place.rank, wait.place.call, microseconds(wait.time), late)
        })
        .collect()
}

#[test]
fn a_receive_waits_for_a_late_sender() {
    let ranks = vec![of_calls([send(50, 60, 1)]), of_calls([recv(10, 70, 0)])];
    assert_eq!(found(&trace(ranks)), [(Pattern::LateSender, 1, 0, 40, Some(0))]);
    // The send began earlier.
    let ranks = vec![of_calls([send(5, 8, 1)]), of_calls([recv(10, 70, 0)])];
    assert_eq!(found(&trace(ranks)), []);
}

#[test]
fn a_send_waits_for_a_late_receiver() {
    let ranks = vec![of_calls([send(10, 60, 1)]), of_calls([recv(40, 61, 0)])];
    assert_eq!(found(&trace(ranks)), [(Pattern::LateReceiver, 0, 0, 30, Some(1))]);
    // It returned before the receive was posted.
    let ranks = vec![of_calls([send(10, 30, 1)]), of_calls([recv(40, 61, 0)])];
    assert_eq!(found(&trace(ranks)), []);
}

#[test]
fn a_wait_for_many_counts_its_longest_wait_once() {
    let mut receiver = RankTrace::default();
    for (request, from) in [(0, 1), (1, 2)] {
        receiver.push(Call { received: 8, request: RequestId(request), ..call(Function::Irecv, 0, 1, from) });
    }
    wait(&mut receiver, 10, 100, vec![RequestId(0), RequestId(1)]);
    let ranks = vec![receiver, of_calls([send(30, 31, 0)]), of_calls([send(70, 71, 0)])];
    assert_eq!(found(&trace(ranks)), [(Pattern::LateSender, 0, 2, 60, Some(2))]);
}

/// A sender 1 µs late, and a receiver 50 µs. An MPI_Sendrecv waits for senders only.
#[test]
fn of_two_waits_in_one_call_one_counts() {
    let other = || of_calls([send(11, 12, 0), recv(60, 90, 0)]);
    let both = Call { sent: 8, received: 8, ..call(Function::Sendrecv, 10, 95, 1) };
    let details = Details { receive: Some(Matched { peer: 1, tag: 1 }), ..Details::default() };
    let mut rank = RankTrace::default();
    rank.push_with(both, details);
    assert_eq!(found(&trace(vec![rank, other()])), [(Pattern::LateSender, 0, 0, 1, Some(1))]);
    // In a wait for requests, the sender counts.
    let mut rank = RankTrace::default();
    rank.push(Call { received: 8, request: RequestId(0), ..call(Function::Irecv, 0, 1, 1) });
    rank.push(Call { sent: 8, request: RequestId(1), ..call(Function::Isend, 1, 2, 1) });
    wait(&mut rank, 10, 95, vec![RequestId(0), RequestId(1)]);
    assert_eq!(found(&trace(vec![rank, other()])), [(Pattern::LateSender, 0, 2, 1, Some(1))]);
}

/// A buffered send returns when its message is in the buffer, whatever its length; a persistent one as well.
#[test]
fn buffered_sends_do_not_wait() {
    let receiver = || of_calls([recv(40, 61, 0)]);
    let sent = |function| of_calls([Call { sent: 1 << 28, ..call(function, 10, 60, 1) }]);
    assert_eq!(found(&trace(vec![sent(Function::Bsend), receiver()])), []);
    assert_eq!(found(&trace(vec![sent(Function::Ssend), receiver()])).len(), 1);
    let persistent = |function| {
        let mut rank = RankTrace::default();
        rank.push(Call { sent: 8, request: RequestId(0), ..call(function, 0, 1, 1) });
        let details = Details { requests: vec![RequestId(0)].into(), ..Details::default() };
        rank.push_with(Call { request: RequestId(1), ..call(Function::Start, 2, 3, 1) }, details);
        wait(&mut rank, 10, 60, vec![RequestId(1)]);
        trace(vec![rank, receiver()])
    };
    assert_eq!(found(&persistent(Function::Bsend_init)), []);
    let late = [(Pattern::LateReceiver, 0, 2, 30, Some(1))];
    assert_eq!(found(&persistent(Function::Send_init)), late);
}

/// Sends of 8 bytes take 2 µs without a receiver. One that takes 7 µs was interrupted; one that takes 50 was blocked.
#[test]
fn an_eager_message_waits_only_if_its_send_is_blocked() {
    let eager = |last: Call| {
        let mut calls: Vec<Call> = (0..5).map(|nth| send(10 * nth, 10 * nth + 2, 1)).collect();
        let mut receives: Vec<Call> = (0..5).map(|nth| recv(60 + 2 * nth, 61 + 2 * nth, 0)).collect();
        receives.push(Call { received: last.sent, ..recv(105, 200, 0) });
        calls.push(last);
        let waits = found(&trace(vec![of_calls(calls), of_calls(receives)]));
        waits.into_iter().filter(|wait| wait.0 == Pattern::LateReceiver).collect::<Vec<_>>()
    };
    assert_eq!(eager(send(100, 107, 1)), []);
    let late = [(Pattern::LateReceiver, 0, 5, 5, Some(1))];
    assert_eq!(eager(send(100, 150, 1)), late);
    // Nothing shows that longer messages are eager, and synchronous sends never are.
    assert_eq!(eager(Call { sent: 9, ..send(100, 107, 1) }), late);
    assert_eq!(eager(Call { function: Function::Ssend, ..send(100, 107, 1) }), late);
}

/// Some formats record when, inside their calls, messages were sent and collectives completed.
#[test]
fn told_moments_count() {
    let at_moment = |time: Time| Details { moment: Moment::new(time), ..Details::default() };
    let mut sender = RankTrace::default();
    sender.push_with(send(50, 60, 0), at_moment(at(55)));
    let mut earlier = RankTrace::default();
    earlier.push_with(send(20, 53, 0), at_moment(at(52)));
    let receiver = of_calls([recv(10, 60, 1), recv(61, 90, 2)]);
    let states = WaitStates::new(&trace(vec![receiver.clone(), sender, earlier]));
    assert_eq!(states.total().wrong_order.count, 1);
    let mut later = RankTrace::default();
    later.push_with(send(20, 60, 0), at_moment(at(58)));
    let sender = of_calls([send(50, 60, 0)]);
    assert_eq!(WaitStates::new(&trace(vec![receiver, sender, later])).total().wrong_order.count, 0);
    // The second member was done at 52, though its call took until 70.
    let first = of_calls([collective(Function::Allreduce, 10, 50, -1)]);
    let mut second = RankTrace::default();
    second.push_with(collective(Function::Allreduce, 10, 70, -1), at_moment(at(52)));
    assert_eq!(found(&trace(vec![first, second])), [(Pattern::NxnCompletion, 1, 0, 2, None)]);
}

#[test]
fn messages_received_in_the_wrong_order_are_told() {
    let waits = |first: u64, second: u64| {
        let senders = [of_calls([send(first, first + 1, 0)]), of_calls([send(second, second + 1, 0)])];
        let receiver = of_calls([recv(10, 60, 1), recv(61, 90, 2)]);
        WaitStates::new(&trace([vec![receiver], senders.to_vec()].concat()))
    };
    // The second message was sent before the first, for which the rank waited.
    let wrong = waits(50, 20);
    assert_eq!((wrong.waits.len(), wrong.total().wrong_order.count), (1, 1));
    assert_eq!(wrong.total().wrong_order.time, at(40));
    let of_ranks: Vec<u64> = wrong.totals().iter().map(|rank| rank.wrong_order.count).collect();
    assert_eq!(of_ranks, [1, 0, 0]);
    assert_eq!(waits(50, 55).total().wrong_order.count, 0);
}

#[test]
fn collectives_wait_for_the_last_and_complete_after_the_first() {
    for (function, wait, completion) in [
        (Function::Barrier, Pattern::WaitAtBarrier, Pattern::BarrierCompletion),
        (Function::Allreduce, Pattern::WaitAtNxn, Pattern::NxnCompletion),
    ] {
        let ranks = [(10, 50), (30, 52), (20, 57)];
        let ranks = ranks.map(|(enter, exit)| of_calls([collective(function, enter, exit, -1)]));
        let expected = [
            (wait, 0, 0, 20, Some(1)),
            (completion, 1, 0, 2, None),
            (wait, 2, 0, 10, Some(1)),
            (completion, 2, 0, 7, None),
        ];
        assert_eq!(found(&trace(ranks.to_vec())), expected);
    }
}

#[test]
fn collectives_with_a_root_wait_in_one_direction() {
    let times = [(30, 50), (10, 52), (40, 57)];
    let ranks =
        |function| times.map(|(enter, exit)| of_calls([collective(function, enter, exit, 0)])).to_vec();
    let late = (Pattern::LateBroadcast, 1, 0, 20, Some(0));
    assert_eq!(found(&trace(ranks(Function::Bcast))), [late]);
    assert_eq!(found(&trace(ranks(Function::Scatter))), [late]);
    let early = (Pattern::EarlyReduce, 0, 0, 10, Some(2));
    assert_eq!(found(&trace(ranks(Function::Reduce))), [early]);
    assert_eq!(found(&trace(ranks(Function::Gather))), [early]);
    assert_eq!(found(&trace(ranks(Function::Scan))), [(Pattern::EarlyScan, 1, 0, 20, Some(0))]);
}

/// The wait belongs to the call that completes the operation; the cause is the call that started it last.
#[test]
fn nonblocking_collectives_wait_where_they_are_completed() {
    let member = |function, begin: u64, enter: u64, exit: u64| {
        let mut rank = RankTrace::default();
        rank.push(Call { request: RequestId(0), ..collective(function, begin, begin + 1, 0) });
        wait(&mut rank, enter, exit, vec![RequestId(0)]);
        rank
    };
    let times = [(0, 10, 60), (40, 50, 61), (2, 45, 62)];
    let ranks =
        |function| trace(times.map(|(begin, enter, exit)| member(function, begin, enter, exit)).to_vec());
    assert_eq!(found(&ranks(Function::Ibarrier)), [(Pattern::WaitAtBarrier, 0, 1, 30, Some(1))]);
    assert_eq!(found(&ranks(Function::Iallreduce)), [(Pattern::WaitAtNxn, 0, 1, 30, Some(1))]);
    assert_eq!(found(&ranks(Function::Ireduce)), [(Pattern::EarlyReduce, 0, 1, 30, Some(1))]);
    assert_eq!(found(&ranks(Function::Ibcast)), []);
    // A late sender in the same call is longer.
    let mut both = RankTrace::default();
    both.push(Call { request: RequestId(0), ..collective(Function::Ibarrier, 0, 1, -1) });
    both.push(Call { received: 8, request: RequestId(1), ..call(Function::Irecv, 1, 2, 1) });
    wait(&mut both, 10, 90, vec![RequestId(0), RequestId(1)]);
    let mut late = RankTrace::default();
    late.push(Call { request: RequestId(0), ..collective(Function::Ibarrier, 40, 41, -1) });
    late.push(send(70, 71, 0));
    wait(&mut late, 80, 90, vec![RequestId(0)]);
    assert_eq!(found(&trace(vec![both, late])), [(Pattern::LateSender, 0, 2, 60, Some(1))]);
}

/// Persistent collectives are the same, start by start: the second was started first on rank 1.
#[test]
fn persistent_collectives_wait_where_they_are_completed() {
    let member = |starts: [u32; 2], times: [(u64, u64, u64); 2]| {
        let mut rank = RankTrace::default();
        rank.push(Call { request: RequestId(0), ..collective(Function::Allreduce_init, 0, 1, -1) });
        rank.push(Call { request: RequestId(1), ..collective(Function::Barrier_init, 1, 2, -1) });
        for ((number, start), (begin, enter, exit)) in (2..).zip(starts).zip(times) {
            let details = Details { requests: vec![RequestId(start)].into(), ..Details::default() };
            let start = Call { request: RequestId(number), ..call(Function::Start, begin, begin + 1, -1) };
            rank.push_with(start, details);
            wait(&mut rank, enter, exit, vec![RequestId(number)]);
        }
        rank
    };
    let early = member([0, 1], [(5, 10, 50), (70, 71, 90)]);
    let late = member([1, 0], [(20, 80, 81), (82, 83, 90)]);
    // Rank 0 waits for the second start of rank 1 in the call that ends at 50.
    let expected = [(Pattern::WaitAtNxn, 0, 3, 40, Some(1))];
    assert_eq!(found(&trace(vec![early, late])), expected);
}

/// Two groups: ranks 0 and 1, and ranks 2 and 3. Each sees the intercommunicator from its side.
#[test]
fn collectives_between_groups_wait_for_the_other_group() {
    let groups = |ranks: Vec<RankTrace>, sides: bool| {
        let mut trace = trace(ranks);
        let between = |members: [u32; 2], remote: [u32; 2]| Communicator {
            members: members.to_vec(),
            remote: remote.to_vec(),
            ..Communicator::default()
        };
        trace.communicators.push(between([0, 1], [2, 3]));
        if sides {
            trace.communicators.push(between([2, 3], [0, 1]));
        }
        trace
    };
    for sides in [false, true] {
        let side = |rank: u32| CommId(if sides && rank > 1 { 2 } else { 1 });
        let ranks = |function, times: [(u64, u64); 4], roots: [i32; 4]| {
            let one = |(rank, ((enter, exit), root)): (u32, ((u64, u64), i32))| {
                let moves = if root == special::NOBODY { 0 } else { 8 };
                let call = Call { sent: moves, ..collective(function, enter, exit, root) };
                of_calls([Call { comm: side(rank), received: moves, ..call }])
            };
            groups((0..).zip(times.into_iter().zip(roots)).map(one).collect(), sides)
        };
        let times = [(10, 60), (20, 60), (15, 60), (50, 60)];
        let none = [special::NONE; 4];
        let wait = |pattern, rank, time| (pattern, rank, 0, time, Some(3));
        let expected = |pattern| [wait(pattern, 0, 40), wait(pattern, 1, 30), wait(pattern, 2, 35)];
        assert_eq!(found(&ranks(Function::Barrier, times, none)), expected(Pattern::WaitAtBarrier));
        assert_eq!(found(&ranks(Function::Allreduce, times, none)), expected(Pattern::WaitAtNxn));
        // Rank 2 leaves before the last of its own group has come.
        let times = [(10, 60), (20, 60), (15, 22), (50, 60)];
        let second = found(&ranks(Function::Barrier, times, none))[2];
        assert_eq!(second, (Pattern::WaitAtBarrier, 2, 0, 5, Some(1)));
        // Rank 3 is the root, as the first group says: rank 1 of the other group.
        let times = [(10, 60), (20, 60), (15, 16), (50, 60)];
        let roots = [1, 1, special::NOBODY, special::ROOT];
        let late = [wait(Pattern::LateBroadcast, 0, 40), wait(Pattern::LateBroadcast, 1, 30)];
        assert_eq!(found(&ranks(Function::Bcast, times, roots)), late);
        let times = [(10, 11), (50, 60), (15, 16), (20, 60)];
        let early = [(Pattern::EarlyReduce, 3, 0, 30, Some(1))];
        assert_eq!(found(&ranks(Function::Reduce, times, roots)), early);
    }
}

/// A message in partitions is sent when the last one is ready.
#[test]
fn messages_in_partitions_wait_for_the_last_partition() {
    let started = |function, peer: i32| {
        let mut rank = RankTrace::default();
        rank.push(Call { sent: 8, received: 8, request: RequestId(0), ..call(function, 0, 1, peer) });
        let details = Details { requests: vec![RequestId(0)].into(), ..Details::default() };
        rank.push_with(Call { request: RequestId(1), ..call(Function::Start, 2, 3, -1) }, details);
        rank
    };
    let mut sender = started(Function::Psend_init, 1);
    for enter in [20, 60] {
        let details = Details { requests: vec![RequestId(1)].into(), ..Details::default() };
        sender.push_with(call(Function::Pready, enter, enter + 1, -1), details);
    }
    wait(&mut sender, 62, 63, vec![RequestId(1)]);
    let mut receiver = started(Function::Precv_init, 0);
    wait(&mut receiver, 10, 65, vec![RequestId(1)]);
    let mut both = trace(vec![sender, receiver]);
    assert_eq!(found(&both), [(Pattern::LateSender, 1, 2, 50, Some(0))]);
    assert_eq!(unanalysed(&both, &Missing::default()), []);
    // Without its arguments, nothing is known about the message.
    both.ranks.iter_mut().for_each(|rank| rank.calls[0].comm = call::NO_COMM);
    assert_eq!(found(&both), []);
    assert_eq!(
        unanalysed(&both, &Missing::default())[0],
        (Function::Precv_init, super::Total { count: 2, time: at(56) })
    );
}

/// A wait for requests of unknown operations counts for the function that made them.
#[test]
fn what_is_not_analysed_is_listed_with_its_time() {
    let mut rank = RankTrace::default();
    rank.push(Call { request: RequestId(0), ..call(Function::Ineighbor_alltoall, 0, 1, -1) });
    wait(&mut rank, 10, 60, vec![RequestId(0)]);
    rank.push(Call { request: RequestId(1), ..call(Function::Ibarrier, 60, 61, -1) });
    wait(&mut rank, 61, 70, vec![RequestId(1)]);
    rank.push(call(Function::Alltoallv, 70, 75, -1));
    let listed: Vec<_> = unanalysed(&trace(vec![rank]), &Missing::default())
        .into_iter()
        .map(|(function, total)| (function, total.count, total.time))
        .collect();
    assert_eq!(listed, [(Function::Ineighbor_alltoall, 2, at(51)), (Function::Alltoallv, 1, at(5))]);
}

#[test]
fn nobody_waits_for_no_data_or_alone() {
    let empty = |enter, exit| of_calls([call(Function::Bcast, enter, exit, 0)]);
    assert_eq!(found(&trace(vec![empty(30, 50), empty(10, 52)])), []);
    assert_eq!(found(&trace(vec![of_calls([collective(Function::Barrier, 0, 9, -1)])])), []);
}

/// Of 100 µs, rank 0 computes 80 and rank 1 computes 40; without a network the run would take 90.
#[test]
fn efficiencies_are_factors_of_each_other() {
    let rank = |enter: u64| {
        let init = call(Function::Init, 0, 10, -1);
        let barrier = call(Function::Barrier, 10 + enter, 110, -1);
        of_calls([init, barrier, call(Function::Finalize, 110, 120, -1)])
    };
    let states = WaitStates::new(&trace(vec![rank(80), rank(40)]));
    let near = |one: f64, other: f64| assert!((one - other).abs() < 1e-12, "{one} {other}");
    let without = states.efficiency(None).unwrap();
    assert_eq!((without.serialisation, without.transfer), (None, None));
    let of = states.efficiency(Some(at(90))).unwrap();
    let (serialisation, transfer) = (of.serialisation.unwrap(), of.transfer.unwrap());
    near(of.load_balance, 60.0 / 80.0);
    near(of.communication, 0.8);
    near(of.parallel, of.load_balance * of.communication);
    near(serialisation, 80.0 / 90.0);
    near(transfer, 0.9);
    near(of.communication, serialisation * transfer);
    assert_eq!(WaitStates::new(&Trace::default()).efficiency(None), None);
}

/// A ring in which all ranks send to the right, receive from the left, and sometimes enter a collective.
fn rings() -> impl Strategy<Value = Trace> {
    let step = (0u64..50, 1u64..50, 1u64..50, prop::option::of(0usize..5));
    (2usize..6).prop_flat_map(move |ranks| {
        let steps = prop::collection::vec(prop::collection::vec(step.clone(), ranks), 1..20);
        steps.prop_map(|steps| ring(&steps))
    })
}

/// Computing before the send, sending, receiving, and which collective follows.
type Step = (u64, u64, u64, Option<usize>);

fn ring(steps: &[Vec<Step>]) -> Trace {
    const KINDS: [Function; 5] =
        [Function::Barrier, Function::Allreduce, Function::Bcast, Function::Reduce, Function::Scan];
    let count = steps[0].len();
    let mut ranks = vec![RankTrace::default(); count];
    let mut now = vec![0; count];
    for step in steps {
        let sent: Vec<u64> = (0..count).map(|rank| now[rank] + step[rank].0).collect();
        for (rank, &(_, sending, receiving, _)) in step.iter().enumerate() {
            let (left, right) = ((rank + count - 1) % count, (rank + 1) % count);
            let over = sent[rank] + sending;
            let end = (over + receiving).max(sent[left] + 1);
            ranks[rank].push(send(sent[rank], over, right as i32));
            ranks[rank].push(recv(over, end, left as i32));
            now[rank] = end;
        }
        let Some(function) = step[0].3.map(|kind| KINDS[kind]) else { continue };
        let last = now.iter().copied().max().unwrap_or(0);
        for (rank, &(before, .., after, _)) in step.iter().enumerate() {
            let exit = last + before + after;
            ranks[rank].push(collective(function, now[rank], exit, 0));
            now[rank] = exit;
        }
    }
    trace(ranks)
}

proptest! {
    /// No wait exceeds its call, a call has at most one wait of each pattern, and the parts of a run add up.
    #[test]
    fn parts_add_up(trace in rings()) {
        let states = WaitStates::new(&trace);
        let length = |place: CallPlace| {
            let call = trace.ranks[place.rank as usize].calls[place.call as usize];
            call.exit.since(call.enter)
        };
        for together in states.waits.chunk_by(|one, next| one.place == next.place) {
            let sum = together.iter().fold(Time::ZERO, |sum, wait| sum + wait.time);
            prop_assert!(sum <= length(together[0].place), "{together:?}");
        }
        for (rank, profile) in states.ranks.iter().zip(Profile::new(&trace).ranks) {
            prop_assert_eq!(rank.run, profile.application());
            prop_assert_eq!(rank.waiting + rank.communication, profile.mpi);
            prop_assert_eq!(rank.run, rank.computation + rank.waiting + rank.communication);
        }
        let totals = Pattern::ALL.map(|pattern| states.total().get(pattern));
        prop_assert_eq!(totals.iter().map(|total| total.count).sum::<u64>(), states.waits.len() as u64);
    }
}
