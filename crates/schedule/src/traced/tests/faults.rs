//! Traces that cannot be turned into schedules.

use super::*;
use crate::validate::Finding;
use proptest::prelude::*;
use straggler_trace::{CommId, Repeated};

fn fault(trace: &Trace) -> String {
    record(trace).unwrap_err().to_string()
}

fn start() -> (Call, Option<Details>) {
    plain(call(Function::Init, 0, 10))
}

/// Rank 0 sends twice; rank 1 receives once and waits for a rank that does not send; one rank
/// misses the barrier.
fn lonely() -> Trace {
    let send = |enter| plain(message(Function::Send, enter, enter + 1, 1, 0, 8));
    let zero = vec![start(), send(10), send(12), plain(call(Function::Barrier, 20, 21))];
    let one = vec![
        start(),
        plain(with_request(RequestId(0), message(Function::Irecv, 10, 11, 1, 3, 8))),
        plain(message(Function::Recv, 11, 12, 0, 0, 8)),
        with(call(Function::Waitall, 15, 16), requests(&[RequestId(0)])),
        plain(call(Function::Finalize, 19, 20)),
    ];
    traced(vec![rank(zero), rank(one)])
}

#[test]
fn all_that_is_unmatched_is_listed() {
    let expected = "3 unmatched:\n  rank 0, call 2, MPI_Send: rank 1 does not receive its 8 bytes\n  rank 0, call 3, \
                    MPI_Barrier: 1 members of communicator 0 do not take part\n  rank 1, call 1, MPI_Irecv: rank 1 \
                    does not send this message";
    assert_eq!(fault(&lonely()), expected);
}

#[test]
fn what_is_unmatched_can_be_left_out() {
    let options = Options { drop_unmatched: true, ..Options::default() };
    assert_goal(
        &played(&lonely(), &options, 1),
        "num_ranks 2
        rank 0 {\nl1: send 8b to 1 tag 0\nl2: calc 1\nl3: calc 7\nl2 requires l1\nl3 requires l2\n}
        rank 1 {\nl1: recv 8b from 0 tag 0\nl2: calc 3\nl3: calc 3\nl2 requires l1\nl3 requires l2\n}",
    );
    let recording = TracedRun::from_trace(&lonely(), &options).unwrap();
    assert!(
        recording.notes().iter().any(|note| note == "1 × MPI_Send: no counterpart in the trace; ignored")
    );
}

#[test]
fn calls_that_cannot_be() {
    let one = |one: Call| traced(vec![rank(vec![start(), plain(one)]), rank(vec![start()])]);
    let send = message(Function::Send, 10, 11, 5, 0, 8);
    assert_eq!(fault(&one(send)), "rank 0, call 1, MPI_Send: 5 is not a rank of communicator 0");
    let elsewhere = Call { comm: CommId(9), ..send };
    assert_eq!(fault(&one(elsewhere)), "rank 0, call 1, MPI_Send: there is no communicator 9");
    let bcast = message(Function::Bcast, 10, 11, 2, 0, 8);
    assert_eq!(fault(&one(bcast)), "rank 0, call 1, MPI_Bcast: 2 is not a rank of communicator 0");
    assert_eq!(fault(&Trace::default()), "the trace has no ranks");

    let mut outside = one(Call { comm: CommId(1), ..call(Function::Barrier, 10, 11) });
    outside.communicators.push(Communicator { members: vec![1], ..Communicator::default() });
    assert!(fault(&outside).contains("the rank is not a member of communicator 1"));
    outside.communicators.push(Communicator { members: vec![0, 1, 0], ..Communicator::default() });
    assert!(fault(&outside).contains("communicator 2 lists rank 0"));

    let mut different = one(call(Function::Barrier, 10, 11));
    different.ranks[1].push(call(Function::Allreduce, 10, 11));
    let text = fault(&different);
    assert!(
        text.contains("rank 1, call 1, MPI_Allreduce: collective 0 on communicator 0 is MPI_Barrier"),
        "{text}"
    );
}

#[test]
fn copies_that_cannot_be() {
    let trace = traced(vec![rank(vec![start()]); 3]);
    let recording = Arc::new(record(&trace).unwrap());
    let build = |copies| Playback::new(recording.clone(), copies, &Building::default()).map(|_| ());
    assert!(build(0).unwrap_err().to_string().contains("give at least 1"));
    assert!(build(1 << 30).unwrap_err().to_string().contains("too many"));
    assert_eq!(build(1 << 20), Ok(()));
}

/// Any values that a damaged file might contain.
fn garbage() -> impl Strategy<Value = Trace> {
    let number = || prop_oneof![6 => -4i32..5, 1 => any::<i32>()];
    let id = || prop_oneof![8 => 0u32..6, 1 => any::<u32>()];
    let time = || prop_oneof![8 => 0u64..5_000, 1 => any::<u64>()];
    let list = || prop::collection::vec(prop_oneof![4 => 0u64..100, 1 => any::<u64>()], 0..4);
    let places = (0..Function::ALL.len(), 0u16..3, id(), id(), number(), number());
    let call = (places, (time(), time(), time(), time())).prop_map(|(places, times)| {
        let (function, thread, comm, request, peer, tag) = places;
        let (enter, exit, sent, received) = times;
        let call = Call::new(Function::ALL[function], Time(enter), Time(exit));
        Call { thread, comm: CommId(comm), request: RequestId(request), peer, tag, sent, received, ..call }
    });
    let told =
        (prop::collection::vec(id(), 0..3), prop::collection::vec((id(), number(), any::<bool>()), 0..3));
    let options = (any::<bool>(), prop::option::of((number(), number())), prop::option::of((time(), time())));
    let details = (told, options, (list(), list()), (prop::option::of(id()), prop::option::of(id())))
        .prop_map(
            |(
                (requests, completed),
                (found, matched, repeated),
                (sent_sizes, received_sizes),
                (message, window),
            )| {
                let matched = matched.map(|(peer, tag)| Matched { peer, tag });
                let completed = completed.into_iter().map(|(request, peer, cancelled)| Completed {
                    request: RequestId(request),
                    matched: Some(Matched { peer, tag: peer }),
                    cancelled,
                });
                let repeated = repeated.map(|(calls, inside)| Repeated { calls, inside: Time(inside) });
                let completed = completed.collect();
                let receive = matched;
                let more = Details::default();
                Details {
                    requests: requests.into_iter().map(RequestId).collect(),
                    completed,
                    found,
                    matched,
                    receive,
                    rare: Rare { repeated, sent_sizes, received_sizes, message, window, ..Rare::default() }
                        .into(),
                    ..more
                }
            },
        );
    let calls = prop::collection::vec((call, details), 0..12);
    let members = || prop::collection::vec(0u32..3, 0..3);
    let communicators = prop::collection::vec((members(), members()), 0..4);
    (prop::collection::vec(calls, 1..4), communicators).prop_map(|(ranks, communicators)| {
        let ranks = ranks
            .into_iter()
            .map(|calls| rank(calls.into_iter().map(|(call, details)| with(call, details)).collect()));
        let mut trace = traced(ranks.collect());
        let more = communicators.into_iter();
        trace.communicators.extend(more.map(|(members, remote)| Communicator {
            members,
            remote,
            ..Communicator::default()
        }));
        trace
    })
}

proptest! {
    #[test]
    fn garbage_is_refused_or_matched(trace in garbage(), copies in 1u32..3) {
        let options = Options { drop_unmatched: true, ..Options::default() };
        if let Ok(recording) = TracedRun::from_trace(&trace, &options)
            && let Ok(playback) = Playback::new(Arc::new(recording), copies, &Building::default())
        {
            let graph = playback.materialise().unwrap();
            let mut findings = crate::validate::validate(&graph);
            findings.retain(|finding| !matches!(finding, Finding::SendToSelf { .. }));
            prop_assert_eq!(findings, vec![]);
        }
    }
}
