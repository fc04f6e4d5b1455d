//! What each kind of call is translated to.

use super::*;
use crate::traced::{Begin, Instruction};
use crate::workloads::Only;
use straggler_trace::call::{NO_COMM, special};
use straggler_trace::{CommId, Repeated};

/// MPI_Init, left at 10 ns, before all other ranks.
pub fn init() -> (Call, Option<Details>) {
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
    assert_eq!(recording.notes(), ["1 × MPI_Abort: no model; the time of the calls counts as computation"]);
}

#[test]
fn nonblocking_calls_begin_and_are_waited_for() {
    let zero = vec![
        init(),
        plain(with_request(RequestId(0), message(Function::Isend, 10, 12, 1, 0, 8))),
        plain(with_request(RequestId(1), message(Function::Irecv, 15, 16, 1, 1, 8))),
        with(call(Function::Waitall, 20, 30), requests(&[RequestId(0), RequestId(1)])),
        finalize(37),
    ];
    let one = vec![
        init(),
        plain(with_request(RequestId(0), message(Function::Irecv, 10, 11, 0, 0, 8))),
        plain(with_request(RequestId(1), message(Function::Isend, 11, 12, 0, 1, 8))),
        with(
            call(Function::Waitany, 12, 14),
            Details {
                completed: vec![completed(RequestId(1), None)].into(),
                ..requests(&[RequestId(0), RequestId(1)])
            },
        ),
        with(call(Function::Wait, 17, 18), requests(&[RequestId(0)])),
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
        plain(with_request(RequestId(0), any(Function::Irecv, 10))),
        with(any(Function::Recv, 11), Details { matched, ..Details::default() }),
        with(
            call(Function::Wait, 12, 13),
            Details {
                completed: vec![completed(RequestId(0), Some((1, 4)))].into(),
                ..requests(&[RequestId(0)])
            },
        ),
        // Never completed, so its source is unknown.
        plain(with_request(RequestId(1), any(Function::Irecv, 13))),
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
    assert!(record(&trace).unwrap().notes()[0].contains("whose sender is not recorded"));
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
    // Messages have tag 0 and replies tag 1; the dissemination over four ranks uses the next two.
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
        rank(vec![init(), barrier(CommId(1), 10)]),
        rank(vec![init()]),
        rank(vec![init(), barrier(CommId(1), 10)]),
    ]);
    trace.communicators.push(Communicator { members: vec![2, 0], ..Communicator::default() });
    let exchange = |rank: u32, peer: u32| {
        format!("rank {rank} {{\nl1: send 0b to {peer} tag 0\nl2: recv 0b from {peer} tag 0\n}}\n")
    };
    let ranks: String = [(0, 2), (2, 0), (3, 5), (5, 3)].map(|(rank, peer)| exchange(rank, peer)).concat();
    let graph = played(&trace, &Options::default(), 2);
    // Some algorithms give barrier messages a byte; only the senders and receivers matter here.
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
        plain(with_request(RequestId(0), message(Function::Issend, 11, 12, 1, 0, 9))),
        with(call(Function::Wait, 12, 13), requests(&[RequestId(0)])),
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
        // Ten calls with 900 between them: 100 per gap.
        failed(1_010, 3_010, 10, 1_100),
        // Close to the last poll: still the same loop.
        failed(3_210, 3_310, 1, 100),
        // The 5,000 between two polls are work, as is the time before.
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
        plain(with_request(RequestId(0), message(Function::Irecv, 10, 10, 0, 0, 8))),
        with(
            call(Function::Test, 10, 6_010),
            Details {
                found: false,
                rare: Rare { repeated, ..Rare::default() }.into(),
                ..requests(&[RequestId(0)])
            },
        ),
        with(call(Function::Test, 6_010, 6_020), requests(&[RequestId(0)])),
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
        // A call in between: the receive stays where it is.
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
        unknown(RequestId(0), 10, 12),
        with(call(Function::Wait, 20, 3_020), requests(&[RequestId(0)])),
        // Together with a message: only the message is waited for.
        unknown(RequestId(1), 3_020, 3_021),
        plain(with_request(RequestId(2), message(Function::Irecv, 3_021, 3_022, 0, 0, 8))),
        with(call(Function::Waitall, 3_022, 9_000), requests(&[RequestId(1), RequestId(2)])),
        // The trace format records no requests.
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
        notes.contains("1 × MPI_Wait: for operations without a model") && notes.contains(", 3 µs in all"),
        "{notes}"
    );
    assert!(!notes.contains("MPI_Waitall"), "{notes}");
}

#[test]
fn tests_for_what_is_not_described_take_their_time() {
    let repeated = Some(Repeated { calls: 9, inside: Time::from_ns(2_000) });
    let calls = vec![
        init(),
        plain(with_request(RequestId(0), Call { comm: NO_COMM, ..call(Function::Ibarrier, 12, 13) })),
        with(
            call(Function::Test, 15, 4_015),
            Details {
                found: false,
                rare: Rare { repeated, ..Rare::default() }.into(),
                ..requests(&[RequestId(0)])
            },
        ),
        with(call(Function::Test, 4_020, 4_030), requests(&[RequestId(0)])),
        finalize(4_031),
    ];
    let trace = traced(vec![rank(calls)]);
    // The whole time: from 10, when the rank begins, to 4,031.
    assert_goal(&played(&trace, &Options::default(), 1), "num_ranks 1\nrank 0 {\nl1: calc 4021\n}");
    let notes = record(&trace).unwrap().notes().join("\n");
    assert!(
        notes.contains("1 × MPI_Test: for operations without a model") && notes.contains("4.015 µs in all"),
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
