//! Requests that are persistent, cancelled or unused; threads; and communicators.

use super::calls::init;
use super::*;
use crate::traced::{Decisions, Instruction};
use crate::workloads::Only;
use straggler_trace::call::{NO_COMM, special};
use straggler_trace::{CommId, Neighbors};

#[test]
fn persistent_cancelled_and_kept() {
    let zero = vec![
        init(),
        plain(with_request(RequestId(0), message(Function::Send_init, 10, 10, 1, 0, 8))),
        with(with_request(RequestId(1), call(Function::Start, 10, 11)), requests(&[RequestId(0)])),
        with(call(Function::Wait, 11, 12), requests(&[RequestId(1)])),
        with(with_request(RequestId(2), call(Function::Start, 12, 13)), requests(&[RequestId(0)])),
        // Traces may name the persistent request itself.
        with(call(Function::Wait, 13, 14), requests(&[RequestId(0)])),
        plain(with_request(RequestId(3), message(Function::Irecv, 14, 15, 1, 77, 8))),
        with(call(Function::Cancel, 15, 16), requests(&[RequestId(3)])),
        with(
            call(Function::Wait, 16, 17),
            Details {
                completed: vec![Completed { request: RequestId(3), matched: None, cancelled: true }].into(),
                ..requests(&[RequestId(3)])
            },
        ),
    ];
    let kept = Details {
        matched: Some(Matched { peer: 0, tag: 0 }),
        found: true,
        rare: Rare { message: Some(4), ..Rare::default() }.into(),
        ..Details::default()
    };
    let any = |function, enter| message(function, enter, enter + 1, special::ANY, 0, 8);
    let one = vec![
        init(),
        with(any(Function::Mprobe, 10), kept),
        with(
            Call { comm: NO_COMM, ..message(Function::Mrecv, 11, 12, special::NONE, special::NONE, 8) },
            Details::from(Rare { message: Some(4), ..Rare::default() }),
        ),
        plain(message(Function::Recv, 12, 13, 0, 0, 8)),
    ];
    let trace = traced(vec![rank(zero), rank(one)]);
    assert_goal(
        &played(&trace, &Options::default(), 1),
        "num_ranks 2
        rank 0 {\nl1: send 8b to 1 tag 0\nl2: send 8b to 1 tag 0\nl2 requires l1\n}
        rank 1 {\nl1: recv 8b from 0 tag 0\nl2: recv 8b from 0 tag 0\nl2 requires l1\n}",
    );
}

/// Both ranks send more than any eager limit before they receive: only buffering lets them proceed.
#[test]
fn buffered_sends_are_waited_for_by_nobody() {
    let bytes = 1 << 30;
    let side = |peer| {
        rank(vec![
            init(),
            plain(message(Function::Bsend, 10, 12, peer, 0, bytes)),
            plain(with_request(RequestId(0), message(Function::Ibsend, 12, 13, peer, 1, bytes))),
            with(call(Function::Wait, 13, 14), requests(&[RequestId(0)])),
            plain(message(Function::Recv, 15, 20, peer, 0, bytes)),
            plain(message(Function::Recv, 20, 21, peer, 1, bytes)),
        ])
    };
    let trace = traced(vec![side(1), side(0)]);
    let side = |peer| {
        format!(
            "l1: send {bytes}b to {peer} tag 0\nl2: send {bytes}b to {peer} tag 1\nl3: calc 1
            l4: recv {bytes}b from {peer} tag 0\nl5: recv {bytes}b from {peer} tag 1
            l2 irequires l1\nl3 irequires l2\nl4 requires l3\nl5 requires l4"
        )
    };
    let expected = format!("num_ranks 2\nrank 0 {{\n{}\n}}\nrank 1 {{\n{}\n}}", side(1), side(0));
    assert_goal(&played(&trace, &Options::default(), 1), &expected);
}

/// MPI_MESSAGE_NO_PROC has no communicator.
#[test]
fn messages_of_nobody_are_received_from_nobody() {
    let nobody =
        Call { comm: NO_COMM, ..message(Function::Mrecv, 11, 12, special::NOBODY, special::NONE, 8) };
    let unknown = Call { peer: special::NONE, ..nobody };
    let trace = traced(vec![rank(vec![init(), plain(nobody), plain(unknown)])]);
    assert_goal(&played(&trace, &Options::default(), 1), "num_ranks 1\nrank 0 {\nl1: calc 1\n}");
    let recording = record(&trace).unwrap();
    let notes = recording.notes();
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].starts_with("1 × MPI_Mrecv: a receive from any source"), "{notes:?}");
}

/// Threads of two ranks use the same tag, in a different order on each side: a message belongs to
/// the call that received it, whichever comes first in a replay.
#[test]
fn messages_of_threads_are_told_apart() {
    let on = |thread: u16, (call, details): (Call, Option<Details>)| (Call { thread, ..call }, details);
    let zero = vec![
        init(),
        on(1, plain(message(Function::Send, 10, 13, 1, 0, 8))),
        on(2, plain(message(Function::Send, 12, 14, 1, 0, 16))),
    ];
    let one = vec![
        init(),
        on(2, plain(message(Function::Recv, 10, 13, 0, 0, 64))),
        on(1, plain(message(Function::Recv, 12, 14, 0, 0, 64))),
    ];
    let trace = traced(vec![rank(zero), rank(one)]);
    let graph = played(&trace, &Options::default(), 1);
    let text = lines(&graph).concat().join("\n");
    for line in ["send 8b to 1 tag 1", "send 16b to 1 tag 2", "recv 8b from 0 tag 1", "recv 16b from 0 tag 2"]
    {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
}

/// Probes take two messages, which are received in the opposite order: each receive gets the
/// message of its probe.
#[test]
fn messages_taken_by_probes_may_be_received_in_another_order() {
    let zero = vec![
        init(),
        plain(message(Function::Send, 10, 11, 1, 0, 8)),
        plain(message(Function::Send, 11, 12, 1, 0, 16)),
        plain(message(Function::Send, 12, 13, 1, 1, 32)),
    ];
    let probe = |enter, number| {
        let kept = Details {
            matched: Some(Matched { peer: 0, tag: 0 }),
            found: true,
            rare: Rare { message: Some(number), ..Rare::default() }.into(),
            ..Details::default()
        };
        with(message(Function::Mprobe, enter, enter + 1, special::ANY, 0, 8), kept)
    };
    let receive = |enter, number| {
        let call = message(Function::Mrecv, enter, enter + 1, special::NONE, special::NONE, 16);
        let kept = Details::from(Rare { message: Some(number), ..Rare::default() });
        with(Call { comm: NO_COMM, ..call }, kept)
    };
    let came = Details { matched: Some(Matched { peer: 0, tag: 1 }), ..Details::default() };
    let of_another_tag = with(message(Function::Recv, 24, 25, special::ANY, 1, 32), came);
    let one = vec![init(), probe(20, 4), probe(21, 5), receive(22, 5), receive(23, 4), of_another_tag];
    let trace = traced(vec![rank(zero), rank(one)]);
    let text = lines(&played(&trace, &Options::default(), 1)).concat().join("\n");
    for line in [
        "l1: send 8b to 1 tag 2",
        "l2: send 16b to 1 tag 3",
        "l3: send 32b to 1 tag 1",
        "l2: recv 16b from 0 tag 3",
        "l3: recv 8b from 0 tag 2",
        "l4: recv 32b from 0 tag 1",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    // Their messages are fixed; other receives may still take any matching message.
    let options = Options { decisions: Decisions::Redecide, ..Options::default() };
    let wild = TracedRun::from_trace(&trace, &options).unwrap().rank(1).wild().len();
    assert_eq!(wild, 1);
}

/// A program may start any number of threads, as long as few of them run at a time.
#[test]
fn threads_that_ended_make_room() {
    let threads = (1..=1000u16).map(|thread| {
        let at = 10 + 2 * u64::from(thread);
        plain(Call { thread, ..message(Function::Send, at, at + 1, 0, 0, 8) })
    });
    let receives = (0..1000).map(|nth| {
        let at = 5_000 + nth;
        plain(message(Function::Recv, at, at, 0, 0, 8))
    });
    let calls = [init()].into_iter().chain(threads).chain(receives).collect();
    let recording = record(&traced(vec![rank(calls)])).unwrap();
    assert_eq!(recording.rank(0).threads(), 2);
}

/// Tests of null requests list no requests; in a loop they count as waiting.
#[test]
fn tests_of_nothing_are_looks_at_something_else() {
    let nothing = Details { found: true, ..Details::default() };
    let mut calls = vec![init()];
    for at in (10..1_000).step_by(10) {
        calls.push(plain(message(Function::Iprobe, at, at + 5, 0, 0, 0)));
        calls.push(with(call(Function::Testall, at + 5, at + 10), nothing.clone()));
    }
    calls.push(plain(message(Function::Send, 1_000, 1_001, special::NOBODY, 0, 0)));
    assert_goal(&played(&traced(vec![rank(calls)]), &Options::default(), 1), "num_ranks 1\nrank 0 {\n}");
}

/// Persistent collectives are initialised in the same order, but each rank may start them in any order.
#[test]
fn persistent_collectives_start_in_any_order() {
    let side = |first: RequestId, second: RequestId| {
        let prepared = |request, function| plain(with_request(request, message(function, 10, 10, 0, 0, 8)));
        let mut calls = vec![
            init(),
            prepared(RequestId(0), Function::Bcast_init),
            prepared(RequestId(1), Function::Barrier_init),
        ];
        for turn in 0..2 {
            let (made, at) = (2 + 2 * turn, 10 + u64::from(turn));
            calls
                .push(with(with_request(RequestId(made), call(Function::Start, at, at)), requests(&[first])));
            calls.push(with(
                with_request(RequestId(made + 1), call(Function::Start, at, at)),
                requests(&[second]),
            ));
            calls.push(with(
                call(Function::Waitall, at, at + 1),
                requests(&[RequestId(made), RequestId(made + 1)]),
            ));
        }
        rank(calls)
    };
    let same = played(
        &traced(vec![side(RequestId(0), RequestId(1)), side(RequestId(0), RequestId(1))]),
        &Options::default(),
        1,
    );
    let crossed = played(
        &traced(vec![side(RequestId(0), RequestId(1)), side(RequestId(1), RequestId(0))]),
        &Options::default(),
        1,
    );
    assert_eq!(crossed.messages(), same.messages());
    assert_eq!(lines(&crossed)[1], lines(&same)[1]);
}

#[test]
fn other_communicators() {
    // Two groups of two; each side has its own id for the intercommunicator.
    let send = |peer| plain(Call { comm: CommId(1), ..message(Function::Send, 10, 11, peer, 5, 8) });
    let receive = |peer| plain(Call { comm: CommId(2), ..message(Function::Recv, 10, 11, peer, 5, 8) });
    let window = |function, enter, comm| {
        let details = Details::from(Rare { window: Some(0), ..Rare::default() });
        with(Call { comm, ..call(function, enter, enter + 1) }, details)
    };
    let ring = |enter| {
        plain(Call { comm: CommId(3), sent: 4, ..call(Function::Neighbor_alltoall, enter, enter + 1) })
    };
    let all = |first| {
        rank(vec![
            init(),
            first,
            window(Function::Win_create, 11, CommId(0)),
            window(Function::Win_fence, 12, NO_COMM),
            ring(13),
            plain(call(Function::Comm_dup, 14, 15)),
            plain(Call { comm: CommId(1), ..call(Function::Barrier, 15, 25) }),
        ])
    };
    let mut trace = traced(vec![all(send(1)), all(send(0)), all(receive(1)), all(receive(0))]);
    let groups = [vec![0, 1], vec![2, 3]];
    for (members, remote) in [(0, 1), (1, 0)] {
        let (members, remote) = (groups[members].clone(), groups[remote].clone());
        trace.communicators.push(Communicator { members, remote, ..Communicator::default() });
    }
    let neighbors = (0..4).map(|rank: i32| Neighbors {
        sources: vec![(rank + 3) % 4, special::NOBODY],
        destinations: vec![(rank + 1) % 4, special::NOBODY],
    });
    trace.communicators.push(Communicator {
        members: (0..4).collect(),
        neighbors: neighbors.collect(),
        ..Communicator::default()
    });
    let recording = record(&trace).unwrap();
    let operations: Vec<_> = recording.calls().iter().map(|call| call.operation.name()).collect();
    assert_eq!(operations, ["barrier", "barrier", "allreduce", "barrier"]);
    let graph = played(&trace, &Options::default(), 1);
    let ends = [0, 1, 2, 3].map(|rank| graph.rank(rank).operation(0)).map(|first| (first.peer, first.tag));
    assert_eq!(ends, [(3, 0), (2, 0), (1, 0), (0, 0)]);
    assert_eq!(crate::validate::validate(&graph), vec![]);
    let notes = recording.notes().join("\n");
    for part in ["4 × MPI_Win_fence", "4 × MPI_Comm_dup", "4 × MPI_Barrier: between two groups"] {
        assert!(notes.contains(part), "{notes}");
    }
}

/// Two groups of two, and a broadcast from rank 3 to the first group: the rest of its own group takes no part.
#[test]
fn collectives_between_groups() {
    let roots = [1, 1, special::NOBODY, special::ROOT];
    let ranks = roots.map(|peer| {
        let bytes = if peer == special::NOBODY { 0 } else { 8 };
        let bcast =
            |enter| Call { comm: CommId(1), ..message(Function::Bcast, enter, enter + 1, peer, 0, bytes) };
        rank(vec![
            init(),
            plain(bcast(10)),
            with_peers(Call { comm: CommId(1), ..call(Function::Allgather, 12, 13) }),
            plain(bcast(14)),
        ])
    });
    let mut trace = traced(ranks.to_vec());
    let (members, remote) = (vec![0, 1], vec![2, 3]);
    trace.communicators.push(Communicator { members, remote, ..Communicator::default() });
    let recording = record(&trace).unwrap();
    let calls: Vec<_> = recording.calls().iter().map(|call| (call.operation.name(), call.root)).collect();
    assert_eq!(calls, [("bcast", 0), ("allgather", 0), ("bcast", 0)]);
    let groups: Vec<_> = recording.groups().iter().map(|group| &group.members[..]).collect();
    assert_eq!(groups, [&[3, 0, 1][..], &[0, 1, 2, 3]]);
    assert_eq!(recording.unmodelled().most(), None);
    assert_eq!(crate::validate::validate(&played(&trace, &Options::default(), 2)), vec![]);
}

fn with_peers(call: Call) -> (Call, Option<Details>) {
    plain(Call { sent: 4, received: 8, ..call })
}

/// The message is sent where its last partition becomes ready, and does not match another one with its tag.
#[test]
fn messages_in_partitions() {
    let prepared = |function, peer| {
        vec![
            init(),
            plain(with_request(RequestId(0), message(function, 10, 11, peer, 5, 64))),
            with(with_request(RequestId(1), call(Function::Start, 12, 13)), requests(&[RequestId(0)])),
        ]
    };
    let ready = |enter| with(call(Function::Pready, enter, enter + 1), requests(&[RequestId(1)]));
    let wait = || with(call(Function::Wait, 80, 81), requests(&[RequestId(1)]));
    let mut sender = prepared(Function::Psend_init, 1);
    sender.extend([ready(20), plain(message(Function::Send, 30, 31, 1, 5, 8)), ready(40), wait()]);
    let mut receiver = prepared(Function::Precv_init, 0);
    receiver.extend([plain(message(Function::Recv, 30, 31, 0, 5, 8)), wait()]);
    let trace = traced(vec![rank(sender), rank(receiver)]);
    let recording = record(&trace).unwrap();
    let sends = recording.rank(0).instructions().iter().zip(0..).filter_map(|(instruction, number)| {
        let Instruction::Send { bytes, .. } = *instruction else { return None };
        Some((bytes, recording.rank(0).origin(number)))
    });
    assert_eq!(sends.collect::<Vec<_>>(), [(8, 4), (64, 5)]);
    assert_eq!(crate::validate::validate(&played(&trace, &Options::default(), 1)), vec![]);
    assert_eq!(recording.notes(), [] as [&str; 0]);
}

/// The target's post releases the origin, and the origin's complete releases the target.
#[test]
fn epochs_of_some_processes() {
    let epoch = |function, enter: u64, group: &[u32]| {
        let rare = Rare { window: Some(0), group: group.to_vec(), ..Rare::default() };
        with(Call { comm: NO_COMM, ..call(function, enter, enter + 1) }, Details::from(rare))
    };
    let create = || {
        let rare = Rare { window: Some(0), ..Rare::default() };
        with(call(Function::Win_create, 10, 11), Details::from(rare))
    };
    let put = || {
        let rare = Rare { window: Some(0), ..Rare::default() };
        with(Call { received: 0, ..message(Function::Put, 31, 31, 0, 0, 64) }, Details::from(rare))
    };
    let side = |groups: bool| {
        let group = |rank: u32| if groups { vec![rank] } else { vec![] };
        let target = [epoch(Function::Win_post, 20, &group(1)), epoch(Function::Win_wait, 50, &[])];
        let origin =
            [epoch(Function::Win_start, 30, &group(0)), put(), epoch(Function::Win_complete, 40, &[])];
        let ranks = [target.to_vec(), origin.to_vec()];
        traced(ranks.map(|calls| rank([vec![init(), create()], calls].concat())).to_vec())
    };
    let recording = record(&side(true)).unwrap();
    let sends = |rank: u32| -> Vec<(u32, u64)> {
        let instructions = recording.rank(rank).instructions().iter();
        let send = |instruction: &Instruction| match *instruction {
            Instruction::Send { to, bytes, .. } => Some((to, bytes)),
            _ => None,
        };
        instructions.filter_map(send).collect()
    };
    assert_eq!([sends(0), sends(1)], [[(1, 0)], [(0, 64)]]);
    assert_eq!(crate::validate::validate(&played(&side(true), &Options::default(), 2)), vec![]);
    assert_eq!(recording.unmodelled().most(), None);
    // Traces of earlier versions do not tell the groups.
    let names = record(&side(false))
        .unwrap()
        .unmodelled()
        .functions
        .iter()
        .map(|one| one.0.clone())
        .collect::<Vec<_>>();
    assert_eq!(names, ["MPI_Win_complete", "MPI_Win_post", "MPI_Win_start", "MPI_Win_wait"]);
}

/// Two processes between two fences: rank 0 puts 64 and 36 bytes and fetches 8, and rank 1 accumulates 5. Before the
/// first fence, and under a lock, transfers have no model.
#[test]
fn fences_send_what_was_moved() {
    let on = |function, enter: u64| {
        let rare = Rare { window: Some(0), ..Rare::default() };
        with(call(function, enter, enter + 1), Details::from(rare))
    };
    let moves = |function, enter, peer, sent, received| {
        let rare = Rare { window: Some(0), ..Rare::default() };
        with(Call { sent, received, ..message(function, enter, enter + 3, peer, 0, 0) }, Details::from(rare))
    };
    let fences = |first: Vec<_>, last: Vec<_>| {
        let head = vec![init(), on(Function::Win_create, 10), on(Function::Win_fence, 20)];
        rank(
            [head, first, vec![on(Function::Win_fence, 50)], last, vec![on(Function::Win_fence, 90)]]
                .concat(),
        )
    };
    let origin = vec![
        moves(Function::Put, 31, 1, 64, 0),
        moves(Function::Get, 35, 1, 0, 8),
        moves(Function::Rput, 39, 1, 36, 0),
        moves(Function::Put, 43, 0, 1000, 0),
    ];
    let locked =
        vec![on(Function::Win_lock, 60), moves(Function::Put, 61, 1, 7, 0), on(Function::Win_unlock, 65)];
    let other = vec![moves(Function::Accumulate, 33, 0, 5, 0)];
    let trace = traced(vec![fences(origin, locked), fences(other, vec![])]);
    let recording = record(&trace).unwrap();
    let sent = |rank: u32| -> Vec<(u32, u64, u32)> {
        let instructions = recording.rank(rank).instructions().iter().zip(0..);
        let send = |(instruction, number): (&Instruction, u32)| match *instruction {
            Instruction::Send { to, bytes, .. } => Some((to, bytes, recording.rank(rank).origin(number))),
            _ => None,
        };
        instructions.filter_map(send).collect()
    };
    // The second fence is call 7 of rank 0 and call 4 of rank 1.
    assert_eq!((sent(0), sent(1)), (vec![(1, 100, 7)], vec![(0, 13, 4)]));
    assert_eq!(crate::validate::validate(&played(&trace, &Options::default(), 3)), vec![]);
    // A transfer to itself and all under the lock count with their times.
    let names: Vec<(&str, u64)> =
        recording.unmodelled().functions.iter().map(|one| (one.0.as_str(), one.1)).collect();
    assert_eq!(names, [("MPI_Put", 2), ("MPI_Win_lock", 1), ("MPI_Win_unlock", 1)]);
    let notes = recording.notes().join("\n");
    assert!(notes.contains("1 × MPI_Get: its bytes are sent by the fence"), "{notes}");
    let only = Options { only: Only::P2p, ..Options::default() };
    assert_eq!(crate::validate::validate(&played(&trace, &only, 1)), vec![]);
}

/// A loop that polls and marks a region: short gaps are waiting, also around the marks.
#[test]
fn polling_loops_may_mark_regions() {
    let mark = |function, enter| with(call(function, enter, enter), Details::named("poll"));
    let mut receiver =
        vec![init(), plain(with_request(RequestId(0), message(Function::Irecv, 10, 11, 0, 5, 8)))];
    for enter in [100, 700, 1_300] {
        receiver.extend([mark(Function::RegionEnter, enter), mark(Function::RegionLeave, enter + 500)]);
        let test = call(Function::Test, enter + 510, enter + 511);
        receiver.push(with(test, Details { found: enter > 1_000, ..requests(&[RequestId(0)]) }));
    }
    let sender = vec![init(), plain(message(Function::Send, 10, 11, 1, 5, 8))];
    let trace = traced(vec![rank(sender), rank(receiver)]);
    let computed = |spin| {
        let options = Options { spin: Time::from_ns(spin), ..Options::default() };
        let recording = TracedRun::from_trace(&trace, &options).unwrap();
        let times = recording.rank(1).instructions().iter().filter_map(|instruction| match instruction {
            Instruction::Calc(time) => Some(*time),
            _ => None,
        });
        times.fold(Time::ZERO, |sum, time| sum + time)
    };
    let notes = |spin| {
        let options = Options { spin: Time::from_ns(spin), ..Options::default() };
        TracedRun::from_trace(&trace, &options).unwrap().notes().join("\n")
    };
    assert!(notes(500).contains("rank 1 spends 1.198 µs between unsuccessful tests"), "{}", notes(500));
    assert!(notes(500).contains("--spin"), "{}", notes(500));
    assert!(!notes(1_000).contains("--spin"), "{}", notes(1_000));
    // 600 ns lie between two tests.
    assert!(computed(1_000) + Time::from_ns(1_100) < computed(500), "{} {}", computed(1_000), computed(500));
}

/// A thread that is outside of calls while another one is in a call may be waiting for it.
#[test]
fn threads_may_wait_for_each_other() {
    let on = |thread, call: Call| plain(Call { thread, ..call });
    let barrier = || plain(call(Function::Barrier, 60, 70));
    let calls = vec![
        init(),
        on(1, message(Function::Recv, 20, 50, 1, 5, 8)),
        on(0, call(Function::Barrier, 60, 70)),
        on(1, call(Function::Comm_group, 65, 66)),
    ];
    let other = vec![init(), plain(message(Function::Send, 48, 49, 0, 5, 8)), barrier()];
    let trace = traced(vec![rank(calls), rank(other)]);
    let unmodelled = record(&trace).unwrap().unmodelled().clone();
    // Thread 1 is outside of calls from 60 to 65, and MPI_Comm_group has no model.
    assert_eq!(unmodelled.most(), Some((0, Time::from_ns(6))));
    let names: Vec<&str> = unmodelled.functions.iter().map(|(name, ..)| name.as_str()).collect();
    assert_eq!(names, ["several threads", "MPI_Comm_group"]);
}

#[test]
fn messages_of_collectives_meet_no_receive_from_anyone() {
    let matched = Some(Matched { peer: 1, tag: 4 });
    let any = message(Function::Recv, 12, 13, special::ANY, special::ANY, 8);
    let ring = || plain(Call { sent: 4, ..call(Function::Neighbor_alltoall, 10, 11) });
    let zero = vec![init(), ring(), with(any, Details { matched, ..Details::default() })];
    let one = vec![init(), ring(), plain(message(Function::Send, 12, 13, 0, 4, 8))];
    let mut trace = traced(vec![rank(zero), rank(one)]);
    let other = |rank: i32| Neighbors { sources: vec![1 - rank], destinations: vec![1 - rank] };
    trace.communicators[0].neighbors = vec![other(0), other(1)];
    let options = Options { decisions: Decisions::Redecide, ..Options::default() };
    let wild = |options| TracedRun::from_trace(&trace, &options).unwrap().rank(0).wild().len();
    assert_eq!(wild(options), 1);
    assert_eq!(wild(Options { decisions: Decisions::RedecideRequests, ..options }), 0);
}
