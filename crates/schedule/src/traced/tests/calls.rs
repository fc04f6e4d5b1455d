//! What each kind of call becomes.

use super::*;
use crate::traced::{Begin, Decisions, Instruction};
use crate::workloads::Only;
use straggler_trace::call::{NO_COMM, special};
use straggler_trace::{Neighbors, Repeated};

/// Init leaves at 10, as the first of all ranks.
fn init() -> (Call, Option<Details>) {
    plain(call(Function::Init, 0, 10))
}

fn finalize(enter: u64) -> (Call, Option<Details>) {
    plain(call(Function::Finalize, enter, enter + 1_000))
}

#[test]
fn computation_is_the_time_between_calls() {
    let sender = vec![init(), plain(message(Function::Send, 30, 45, 1, 7, 100)), finalize(70)];
    let receiver = vec![
        plain(call(Function::Init, 5, 20)),
        plain(message(Function::Recv, 25, 60, 0, 7, 4_096)),
        plain(call(Function::Abort, 62, 65)),
        finalize(100),
    ];
    let trace = traced(vec![rank(sender), rank(receiver)]);
    // Rank 1 leaves MPI_Init 10 after rank 0. The call without a model takes 3 between gaps of 2 and 35.
    let expected = "num_ranks 2
        rank 0 {\nl1: calc 20\nl2: send 100b to 1 tag 0\nl3: calc 25\nl2 requires l1\nl3 requires l2\n}
        rank 1 {\nl1: calc 15\nl2: recv 100b from 0 tag 0\nl3: calc 40\nl2 requires l1\nl3 requires l2\n}";
    assert_goal(&played(&trace, &Options::default(), 1), expected);
    let together = Options { begin: Begin::Together, ..Options::default() };
    assert_goal(&played(&trace, &together, 1), &expected.replace("calc 15", "calc 5"));
    let recording = record(&trace).unwrap();
    let ends = [0, 1].map(|rank| recording.rank(rank).traced_end());
    assert_eq!(ends, [Time::from_ns(60), Time::from_ns(90)]);
    assert_eq!(recording.notes(), ["1 × MPI_Abort: no model; the time the calls took counts as computation"]);
}

#[test]
fn nonblocking_calls_begin_and_are_waited_for() {
    let zero = vec![
        init(),
        plain(with_request(0, message(Function::Isend, 10, 12, 1, 0, 8))),
        plain(with_request(1, message(Function::Irecv, 15, 16, 1, 1, 8))),
        with(call(Function::Waitall, 20, 30), requests(&[0, 1])),
        finalize(37),
    ];
    let one = vec![
        init(),
        plain(with_request(0, message(Function::Irecv, 10, 11, 0, 0, 8))),
        plain(with_request(1, message(Function::Isend, 11, 12, 0, 1, 8))),
        with(
            call(Function::Waitany, 12, 14),
            Details { completed: vec![completed(1, None)].into(), ..requests(&[0, 1]) },
        ),
        with(call(Function::Wait, 17, 18), requests(&[0])),
        finalize(18),
    ];
    assert_goal(
        &played(&traced(vec![rank(zero), rank(one)]), &Options::default(), 1),
        "num_ranks 2
        rank 0 {
        l1: send 8b to 1 tag 0
        l2: calc 3
        l3: recv 8b from 1 tag 1
        l4: calc 4
        l5: calc 7
        l2 irequires l1
        l3 requires l2
        l4 irequires l3
        l5 requires l4
        l5 requires l1
        l5 requires l3
        }
        rank 1 {
        l1: recv 8b from 0 tag 0
        l2: send 8b to 0 tag 1
        l3: calc 3
        l2 irequires l1
        l3 requires l2
        }",
    );
}

#[test]
fn wildcards_are_whom_they_matched() {
    let any = |function, enter| message(function, enter, enter + 1, special::ANY, special::ANY, 8);
    let matched = Some(Matched { peer: 2, tag: 3 });
    let zero = vec![
        init(),
        plain(with_request(0, any(Function::Irecv, 10))),
        with(any(Function::Recv, 11), Details { matched, ..Details::default() }),
        with(
            call(Function::Wait, 12, 13),
            Details { completed: vec![completed(0, Some((1, 4)))].into(), ..requests(&[0]) },
        ),
        // Never completed, and nobody knows whom it was from.
        plain(with_request(1, any(Function::Irecv, 13))),
        plain(message(Function::Send, 14, 14, special::NOBODY, 0, 5)),
    ];
    let one = vec![init(), plain(message(Function::Send, 10, 11, 0, 4, 8))];
    let two = vec![init(), plain(message(Function::Send, 10, 11, 0, 3, 8))];
    let trace = traced(vec![rank(zero), rank(one), rank(two)]);
    assert_goal(
        &played(&trace, &Options::default(), 1),
        "num_ranks 3
        rank 0 {\nl1: recv 8b from 1 tag 0\nl2: recv 8b from 2 tag 1\nl2 irequires l1\n}
        rank 1 {\nl1: send 8b to 0 tag 0\n}
        rank 2 {\nl1: send 8b to 0 tag 1\n}",
    );
    assert!(record(&trace).unwrap().notes()[0].contains("does not say from whom"));
}

#[test]
fn copies_keep_their_partners_and_collectives_grow() {
    let with_allreduce = |peer, function| {
        rank(vec![
            init(),
            plain(message(function, 10, 11, peer, 0, 8)),
            plain(Call { sent: 8, ..call(Function::Allreduce, 11, 15) }),
        ])
    };
    let trace = traced(vec![with_allreduce(1, Function::Send), with_allreduce(0, Function::Recv)]);
    let graph = played(&trace, &Options::default(), 2);
    // Message tags 0 and, for answers, 1; the dissemination of four ranks has the two after them.
    let of_rank = |rank: u32, first: &str| {
        let peers = [1, 2].map(|distance| ((rank + distance) % 4, (rank + 4 - distance) % 4));
        format!(
            "rank {rank} {{\nl1: {first}\nl2: send 8b to {} tag 2\nl3: recv 8b from {} tag 2\n\
             l4: send 8b to {} tag 3\nl5: recv 8b from {} tag 3\nl2 requires l1\nl3 requires l1\n\
             l4 requires l2\nl4 requires l3\nl5 requires l2\nl5 requires l3\n}}\n",
            peers[0].0, peers[0].1, peers[1].0, peers[1].1
        )
    };
    let firsts = ["send 8b to 1 tag 0", "recv 8b from 0 tag 0", "send 8b to 3 tag 0", "recv 8b from 2 tag 0"];
    let ranks: String = (0..).zip(firsts).map(|(rank, first)| of_rank(rank, first)).collect();
    assert_goal(&graph, &format!("num_ranks 4\n{ranks}"));
}

#[test]
fn smaller_communicators_are_in_every_copy() {
    let barrier = |comm, enter| plain(Call { comm, ..call(Function::Barrier, enter, enter + 1) });
    let mut trace = traced(vec![
        rank(vec![init(), barrier(1, 10)]),
        rank(vec![init()]),
        rank(vec![init(), barrier(1, 10)]),
    ]);
    trace.communicators.push(Communicator { members: vec![2, 0], ..Communicator::default() });
    let exchange = |rank: u32, peer: u32| {
        format!("rank {rank} {{\nl1: send 0b to {peer} tag 0\nl2: recv 0b from {peer} tag 0\n}}\n")
    };
    let ranks: String = [(0, 2), (2, 0), (3, 5), (5, 3)].map(|(rank, peer)| exchange(rank, peer)).concat();
    let graph = played(&trace, &Options::default(), 2);
    // A barrier's messages have a byte in some algorithms; only who sends matters here.
    let sends: Vec<(u32, u32)> = (0..6)
        .flat_map(|rank| graph.rank(rank).operations().map(move |operation| (rank, operation)))
        .filter(|(_, operation)| operation.kind == crate::OperationKind::Send)
        .map(|(rank, operation)| (rank, operation.peer))
        .collect();
    assert_eq!(sends, [(0, 2), (2, 0), (3, 5), (5, 3)], "{ranks}");
}

#[test]
fn synchronous_sends_are_answered() {
    let zero = vec![
        init(),
        plain(message(Function::Ssend, 10, 11, 1, 0, 8)),
        plain(with_request(0, message(Function::Issend, 11, 12, 1, 0, 9))),
        with(call(Function::Wait, 12, 13), requests(&[0])),
        finalize(14),
    ];
    let receive = |enter| plain(message(Function::Recv, enter, enter + 1, 0, 0, 9));
    let one = vec![init(), receive(10), receive(11), finalize(13)];
    assert_goal(
        &played(&traced(vec![rank(zero), rank(one)]), &Options::default(), 1),
        "num_ranks 2
        rank 0 {
        l1: send 8b to 1 tag 0
        l2: recv 0b from 1 tag 1
        l3: send 9b to 1 tag 0
        l4: recv 0b from 1 tag 1
        l5: calc 1
        l3 requires l1
        l3 requires l2
        l4 requires l1
        l4 requires l2
        l5 requires l3
        l5 requires l4
        }
        rank 1 {
        l1: recv 8b from 0 tag 0
        l2: send 0b to 0 tag 1
        l3: recv 9b from 0 tag 0
        l4: send 0b to 0 tag 1
        l5: calc 1
        l2 requires l1
        l3 requires l2
        l4 requires l3
        l5 requires l4
        }",
    );
}

#[test]
fn polling_is_waiting() {
    let failed = |enter, exit, calls, inside| {
        let repeated = Some(Repeated { calls, inside: Time::from_ns(inside) });
        with(call(Function::Iprobe, enter, exit), Details::from(Rare { repeated, ..Rare::default() }))
    };
    let calls = vec![
        init(),
        // Ten calls and 900 between them: 100 at a time.
        failed(1_010, 3_010, 10, 1_100),
        // Close to the last: still the same loop.
        failed(3_210, 3_310, 1, 100),
        // 5,000 between two of them are work, as is what came before.
        failed(7_310, 13_310, 2, 1_000),
        finalize(13_910),
    ];
    let graph = played(&traced(vec![rank(calls)]), &Options::default(), 1);
    // 1,000 + 4,000 + 5,000 + 600.
    assert_goal(&graph, "num_ranks 1\nrank 0 {\nl1: calc 10600\n}");
}

#[test]
fn what_is_computed_between_tests_comes_before_their_success() {
    let repeated = Some(Repeated { calls: 2, inside: Time::from_ns(1_000) });
    let one = vec![
        init(),
        plain(with_request(0, message(Function::Irecv, 10, 10, 0, 0, 8))),
        with(
            call(Function::Test, 10, 6_010),
            Details { found: false, rare: Rare { repeated, ..Rare::default() }.into(), ..requests(&[0]) },
        ),
        with(call(Function::Test, 6_010, 6_020), requests(&[0])),
        finalize(6_027),
    ];
    let zero = rank(vec![init(), plain(message(Function::Send, 10, 12, 1, 0, 8)), finalize(12)]);
    assert_goal(
        &played(&traced(vec![zero, rank(one)]), &Options::default(), 1),
        "num_ranks 2
        rank 0 {\nl1: send 8b to 1 tag 0\n}
        rank 1 {
        l1: recv 8b from 0 tag 0
        l2: calc 5000
        l3: calc 7
        l2 irequires l1
        l3 requires l1
        l3 requires l2
        }",
    );
}

#[test]
fn a_message_that_was_probed_for_is_awaited_at_the_probe() {
    let found = || Details { found: true, matched: Some(Matched { peer: 0, tag: 3 }), ..Details::default() };
    let probe =
        |enter, exit| with(message(Function::Probe, enter, exit, special::ANY, special::ANY, 0), found());
    let receiver = rank(vec![
        init(),
        probe(12, 40),
        plain(message(Function::Recv, 47, 50, 0, 3, 8)),
        // Something else comes between: the receive stays where it is.
        probe(50, 60),
        plain(message(Function::Send, 62, 63, 0, 4, 8)),
        plain(message(Function::Recv, 68, 70, 0, 3, 8)),
        finalize(80),
    ]);
    let sender = rank(vec![
        init(),
        plain(message(Function::Send, 10, 11, 1, 3, 8)),
        plain(message(Function::Send, 11, 12, 1, 3, 8)),
        plain(message(Function::Recv, 12, 70, 1, 4, 8)),
        finalize(70),
    ]);
    assert_goal(
        &played(&traced(vec![sender, receiver]), &Options::default(), 1),
        "num_ranks 2
        rank 0 {
        l1: send 8b to 1 tag 0\nl2: send 8b to 1 tag 0\nl3: recv 8b from 1 tag 1
        l2 requires l1\nl3 requires l2
        }
        rank 1 {
        l1: calc 2\nl2: recv 8b from 0 tag 0\nl3: calc 9\nl4: send 8b to 0 tag 1
        l5: calc 5\nl6: recv 8b from 0 tag 0\nl7: calc 10
        l2 requires l1\nl3 requires l2\nl4 requires l3\nl5 requires l4\nl6 requires l5\nl7 requires l6
        }",
    );
}

#[test]
fn waits_for_what_is_not_described_take_their_time() {
    let unknown = |request, enter, exit| {
        plain(with_request(request, Call { comm: NO_COMM, ..call(Function::Ialltoall, enter, exit) }))
    };
    let one = vec![
        init(),
        unknown(0, 10, 12),
        with(call(Function::Wait, 20, 3_020), requests(&[0])),
        // Beside a message, only that is waited for.
        unknown(1, 3_020, 3_021),
        plain(with_request(2, message(Function::Irecv, 3_021, 3_022, 0, 0, 8))),
        with(call(Function::Waitall, 3_022, 9_000), requests(&[1, 2])),
        // The format knows no requests.
        with(call(Function::Wait, 9_000, 9_040), requests(&[])),
        finalize(9_041),
    ];
    let zero = rank(vec![init(), plain(message(Function::Send, 10, 12, 1, 0, 8)), finalize(12)]);
    let trace = traced(vec![zero, rank(one)]);
    assert_goal(
        &played(&trace, &Options::default(), 1),
        "num_ranks 2
        rank 0 {\nl1: send 8b to 1 tag 0\n}
        rank 1 {
        l1: calc 3011\nl2: recv 8b from 0 tag 0\nl3: calc 41
        l2 requires l1\nl3 requires l2
        }",
    );
    let notes = record(&trace).unwrap().notes().join("\n");
    assert!(
        notes.contains("1 × MPI_Wait: for what has no model") && notes.contains(", 3 µs in all"),
        "{notes}"
    );
    assert!(!notes.contains("MPI_Waitall"), "{notes}");
}

#[test]
fn tests_for_what_is_not_described_take_their_time() {
    let repeated = Some(Repeated { calls: 9, inside: Time::from_ns(2_000) });
    let calls = vec![
        init(),
        plain(with_request(0, Call { comm: NO_COMM, ..call(Function::Ibarrier, 12, 13) })),
        with(
            call(Function::Test, 15, 4_015),
            Details { found: false, rare: Rare { repeated, ..Rare::default() }.into(), ..requests(&[0]) },
        ),
        with(call(Function::Test, 4_020, 4_030), requests(&[0])),
        finalize(4_031),
    ];
    let trace = traced(vec![rank(calls)]);
    // All of it: from 10, when the rank begins, to 4,031.
    assert_goal(&played(&trace, &Options::default(), 1), "num_ranks 1\nrank 0 {\nl1: calc 4021\n}");
    let notes = record(&trace).unwrap().notes().join("\n");
    assert!(
        notes.contains("1 × MPI_Test: for what has no model") && notes.contains("4.015 µs in all"),
        "{notes}"
    );
}

#[test]
fn making_a_communicator_takes_what_it_took_when_all_had_come() {
    let one = |enter, exit| rank(vec![init(), plain(call(Function::Comm_dup, enter, exit)), finalize(100)]);
    let trace = traced(vec![one(10, 50), one(30, 45)]);
    let end = |rank: usize| record(&trace).unwrap().rank(rank as u32).instructions().last().copied();
    // From 30 to 50, and what follows.
    assert_eq!(end(0), Some(Instruction::Calc(Time::from_ns(20 + 50))));
    assert_eq!(end(1), Some(Instruction::Calc(Time::from_ns(15 + 55))));
}

#[test]
fn only_one_kind_of_communication() {
    let one = |peer, function| {
        rank(vec![
            init(),
            plain(message(function, 10, 11, peer, 0, 8)),
            plain(Call { sent: 8, ..call(Function::Allreduce, 13, 15) }),
            finalize(16),
        ])
    };
    let trace = traced(vec![one(1, Function::Send), one(0, Function::Recv)]);
    let only = |only| played(&trace, &Options { only, ..Options::default() }, 1);
    assert_eq!(only(Only::All).messages(), 3);
    assert_goal(
        &only(Only::P2p),
        "num_ranks 2
        rank 0 {\nl1: send 8b to 1 tag 0\nl2: calc 3\nl2 requires l1\n}
        rank 1 {\nl1: recv 8b from 0 tag 0\nl2: calc 3\nl2 requires l1\n}",
    );
    assert_eq!(only(Only::Collectives).messages(), 2);
}

#[test]
fn persistent_cancelled_and_kept() {
    let zero = vec![
        init(),
        plain(with_request(0, message(Function::Send_init, 10, 10, 1, 0, 8))),
        with(with_request(1, call(Function::Start, 10, 11)), requests(&[0])),
        with(call(Function::Wait, 11, 12), requests(&[1])),
        with(with_request(2, call(Function::Start, 12, 13)), requests(&[0])),
        // Traces may name the persistent request itself.
        with(call(Function::Wait, 13, 14), requests(&[0])),
        plain(with_request(3, message(Function::Irecv, 14, 15, 1, 77, 8))),
        with(call(Function::Cancel, 15, 16), requests(&[3])),
        with(
            call(Function::Wait, 16, 17),
            Details {
                completed: vec![Completed { request: 3, matched: None, cancelled: true }].into(),
                ..requests(&[3])
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

/// Both send before they receive, more than any library sends without being asked for: only a buffer lets them go on.
#[test]
fn buffered_sends_are_waited_for_by_nobody() {
    let bytes = 1 << 30;
    let side = |peer| {
        rank(vec![
            init(),
            plain(message(Function::Bsend, 10, 12, peer, 0, bytes)),
            plain(with_request(0, message(Function::Ibsend, 12, 13, peer, 1, bytes))),
            with(call(Function::Wait, 13, 14), requests(&[0])),
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
    assert!(notes[0].starts_with("1 × MPI_Mrecv: a receive from anybody"), "{notes:?}");
}

/// Threads of two ranks use one tag, in another order on either side: a message belongs to the call that received it, whoever
/// comes first in a replay.
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

/// A program may start threads without end, as long as few of them run at a time.
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

/// Tests of null requests list none; in a loop they are part of the waiting.
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

/// Persistent collectives are prepared in one order, and started as each rank likes.
#[test]
fn persistent_collectives_start_in_any_order() {
    let side = |first: RequestId, second: RequestId| {
        let prepared = |request, function| plain(with_request(request, message(function, 10, 10, 0, 0, 8)));
        let mut calls = vec![init(), prepared(0, Function::Bcast_init), prepared(1, Function::Barrier_init)];
        for turn in 0..2 {
            let (made, at) = (2 + 2 * turn, 10 + u64::from(turn));
            calls.push(with(with_request(made, call(Function::Start, at, at)), requests(&[first])));
            calls.push(with(with_request(made + 1, call(Function::Start, at, at)), requests(&[second])));
            calls.push(with(call(Function::Waitall, at, at + 1), requests(&[made, made + 1])));
        }
        rank(calls)
    };
    let same = played(&traced(vec![side(0, 1), side(0, 1)]), &Options::default(), 1);
    let crossed = played(&traced(vec![side(0, 1), side(1, 0)]), &Options::default(), 1);
    assert_eq!(crossed.messages(), same.messages());
    assert_eq!(lines(&crossed)[1], lines(&same)[1]);
}

#[test]
fn other_communicators() {
    // Two groups of two; each side has its own number for what lies between them.
    let send = |peer| plain(Call { comm: 1, ..message(Function::Send, 10, 11, peer, 5, 8) });
    let receive = |peer| plain(Call { comm: 2, ..message(Function::Recv, 10, 11, peer, 5, 8) });
    let window = |function, enter, comm| {
        let details = Details::from(Rare { window: Some(0), ..Rare::default() });
        with(Call { comm, ..call(function, enter, enter + 1) }, details)
    };
    let ring =
        |enter| plain(Call { comm: 3, sent: 4, ..call(Function::Neighbor_alltoall, enter, enter + 1) });
    let all = |first| {
        rank(vec![
            init(),
            first,
            window(Function::Win_create, 11, 0),
            window(Function::Win_fence, 12, NO_COMM),
            ring(13),
            plain(call(Function::Comm_dup, 14, 15)),
            plain(Call { comm: 1, ..call(Function::Barrier, 15, 25) }),
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
    assert_eq!(operations, ["barrier", "barrier", "allreduce"]);
    let graph = played(&trace, &Options::default(), 1);
    let ends = [0, 1, 2, 3].map(|rank| graph.rank(rank).operation(0)).map(|first| (first.peer, first.tag));
    assert_eq!(ends, [(3, 0), (2, 0), (1, 0), (0, 0)]);
    assert_eq!(crate::validate::validate(&graph), vec![]);
    let notes = recording.notes().join("\n");
    for part in ["4 × MPI_Win_fence", "4 × MPI_Comm_dup", "4 × MPI_Barrier: a collective between"] {
        assert!(notes.contains(part), "{notes}");
    }
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
    let wild = |options| Recording::from_trace(&trace, &options).unwrap().rank(0).wild().len();
    assert_eq!(wild(options), 1);
    assert_eq!(wild(Options { decisions: Decisions::RedecideRequests, ..options }), 0);
}
