//! What a check finds when one thing at a time is wrong with a trace.

use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;
use straggler_model::Time;
use straggler_trace::call::special;
use straggler_trace::check::check;
use straggler_trace::format::assemble::Severity;
use straggler_trace::format::directory;
use straggler_trace::messages::Messages;
use straggler_trace::profile::Profile;
use straggler_trace::trace::{Communicator, RankTrace, Trace, WORLD};
use straggler_trace::{Call, CommId, Completed, Details, Function, Matched, Rare, RequestId};

fn halo() -> Trace {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/traces/halo"));
    directory::open(&folder).unwrap().0
}

/// Severity, rank and text of everything that is found.
fn found(trace: &Trace) -> Vec<(Severity, Option<u32>, String)> {
    let findings = check(trace, &BTreeSet::new());
    findings.into_iter().map(|finding| (finding.severity, finding.rank, finding.what)).collect()
}

#[track_caller]
fn assert_found(trace: &Trace, severity: Severity, rank: u32, text: &str) {
    let found = found(trace);
    let fits = |(of, at, what): &(Severity, Option<u32>, String)| {
        *of == severity && *at == Some(rank) && what.contains(text)
    };
    assert!(found.iter().any(fits), "{severity:?} {rank} {text}: {found:#?}");
}

/// The number of a rank's n-th call of a function.
fn number(trace: &Trace, rank: usize, function: Function, n: usize) -> usize {
    let calls = trace.ranks[rank].calls.iter().enumerate();
    calls.filter(|(_, call)| call.function == function).nth(n).unwrap().0
}

fn call(trace: &mut Trace, rank: usize, function: Function, n: usize) -> &mut Call {
    let number = number(trace, rank, function, n);
    &mut trace.ranks[rank].calls[number]
}

fn details(trace: &mut Trace, rank: usize, function: Function, n: usize) -> &mut Details {
    let place = call(trace, rank, function, n).details;
    &mut trace.ranks[rank].details[place as usize]
}

#[test]
fn the_fixture_is_right() {
    assert_eq!(found(&halo()), []);
}

#[test]
fn a_message_that_nobody_receives_and_one_that_nobody_sends() {
    let mut trace = halo();
    call(&mut trace, 2, Function::Isend, 3).tag = 42;
    let lost = number(&trace, 2, Function::Isend, 3);
    let text = format!("call {lost}, MPI_Isend sends 2048 bytes with tag 42 to rank 1");
    assert_found(&trace, Severity::Error, 2, &text);
    // Later messages with the old tag move up, so the last receive has no partner.
    assert_found(&trace, Severity::Error, 1, "MPI_Irecv receives a message with tag 2 from rank 2");
    // Three of them are longer than their receives, and all arrive before they are sent.
    assert_eq!(found(&trace).len(), 1 + 1 + 3 + 1, "{:#?}", found(&trace));
}

#[test]
fn too_little_room() {
    let mut trace = halo();
    call(&mut trace, 3, Function::Irecv, 0).received = 1000;
    assert_found(
        &trace,
        Severity::Error,
        3,
        "has room for 1000 bytes, but call 4, MPI_Isend of rank 2 sends 1024",
    );
}

/// As in a library whose receive has too small a buffer: the call fails, and the message is gone.
#[test]
fn a_message_that_was_cut_is_received() {
    let message = |function, sent, received, peer| Call {
        comm: WORLD,
        peer,
        tag: 1,
        sent,
        received,
        ..Call::new(function, Time(0), Time(10))
    };
    let mut ranks = vec![RankTrace::default(), RankTrace::default()];
    ranks[0].push(message(Function::Send, 16, 0, 1));
    let failed = Details {
        found: true,
        rare: Rare { error: Some(15), ..Rare::default() }.into(),
        ..Details::default()
    };
    ranks[1].push_with(message(Function::Recv, 0, 8, 0), failed);
    let mut trace = Trace { ranks, communicators: vec![Communicator::world(2)], ..Trace::default() };
    let messages = Messages::of_trace(&trace);
    assert_eq!((messages.matched.len(), messages.lost.len()), (1, 0));
    assert_found(
        &trace,
        Severity::Warning,
        1,
        "has room for 8 bytes, but call 0, MPI_Send of rank 0 sends 16",
    );
    assert_eq!(found(&trace).len(), 1);
    // Any other error means that nothing was received.
    trace.ranks[1].details[0].found = false;
    assert_found(&trace, Severity::Error, 0, "which never receives them");
}

#[test]
fn a_peer_that_is_not_there() {
    let mut trace = halo();
    call(&mut trace, 1, Function::Send, 0).peer = 17;
    assert_found(&trace, Severity::Error, 1, "names rank 17");
}

#[test]
fn collectives_that_differ() {
    let mut trace = halo();
    call(&mut trace, 2, Function::Barrier, 0).function = Function::Allreduce;
    let text = "MPI_Allreduce is collective 4 on communicator 0, but rank";
    assert_found(&trace, Severity::Error, 2, text);
    let mut trace = halo();
    trace.ranks[1].calls.retain(|call| call.function != Function::Barrier);
    assert_found(&trace, Severity::Error, 1, "takes part in 4 of 5 collectives on communicator 0");
    let mut trace = halo();
    for (rank, root) in [(0, 0), (1, 0), (2, 3), (3, 0)] {
        let barrier = call(&mut trace, rank, Function::Barrier, 0);
        (barrier.function, barrier.peer) = (Function::Bcast, root);
    }
    assert_found(&trace, Severity::Error, 2, "with root 3");
    assert_eq!(found(&trace).len(), 1);
}

#[test]
fn requests_that_nobody_made_or_completed() {
    let mut trace = halo();
    details(&mut trace, 0, Function::Waitall, 0).requests.push(RequestId(999));
    assert_found(&trace, Severity::Error, 0, "MPI_Waitall names request 999");
    let mut trace = halo();
    details(&mut trace, 0, Function::Waitall, 0).requests.pop();
    assert_found(&trace, Severity::Warning, 0, "1 request was never completed, first that of call");
    assert_eq!(found(&trace).len(), 1);
}

#[test]
fn wildcards_that_are_not_resolved() {
    let mut trace = halo();
    details(&mut trace, 0, Function::Recv, 1).matched = None;
    assert_found(&trace, Severity::Warning, 0, "the sender is not recorded for 1 wildcard receive");
    assert!(
        found(&trace).iter().all(|(severity, ..)| *severity == Severity::Warning),
        "{:#?}",
        found(&trace)
    );
}

#[test]
fn times_that_cannot_be() {
    let mut trace = halo();
    let waits = number(&trace, 1, Function::Waitall, 2);
    trace.ranks[1].calls[waits].exit = Time(1);
    assert_found(
        &trace,
        Severity::Error,
        1,
        &format!("1 call goes back in time, first call {waits}, MPI_Waitall"),
    );
    // A rank whose clock is a millisecond early gets its messages before they are sent.
    let mut trace = halo();
    for call in &mut trace.ranks[0].calls {
        (call.enter, call.exit) =
            (call.enter + Time::from_ns(1_000_000), call.exit + Time::from_ns(1_000_000));
    }
    assert_found(&trace, Severity::Error, 1, "before they are sent, by up to");
    // With threads, the messages may only have been confused.
    let mut threaded = trace.clone();
    threaded.ranks[0].calls.last_mut().unwrap().thread = 1;
    assert_found(
        &threaded,
        Severity::Warning,
        1,
        "the order in which MPI matched their messages is not recorded",
    );
    // A stated clock error is allowed for.
    trace.ranks[0].clock.error = Some(Time::from_ns(1_000_000));
    assert_eq!(found(&trace), []);
}

#[test]
fn what_misses_a_partner_for_a_known_reason_is_summed_up() {
    let mut trace = halo();
    trace.ranks[2] = RankTrace::default();
    let findings = check(&trace, &BTreeSet::from([2]));
    assert_eq!(findings.len(), 1, "{findings:#?}");
    assert_eq!((findings[0].severity, findings[0].rank), (Severity::Warning, Some(2)));
    // Six rounds with two neighbours each way, one message to rank 0, and two persistent ones.
    assert!(findings[0].what.starts_with("27 messages have no partner"), "{findings:#?}");
}

/// A kept message goes to the receive of its probe, whatever comes in between.
#[test]
fn matching_probes_keep_their_message() {
    let at = |ns: u64| Time::from_ns(ns);
    let message = |function, peer, bytes, ns| Call {
        comm: WORLD,
        peer,
        tag: 1,
        sent: bytes,
        ..Call::new(function, at(ns), at(ns + 10))
    };
    let mut trace = Trace { communicators: vec![Communicator::world(2)], ..Trace::default() };
    trace.ranks = vec![RankTrace::default(), RankTrace::default()];
    for (bytes, ns) in [(100, 0), (200, 20)] {
        trace.ranks[0].push(message(Function::Send, 1, bytes, ns));
    }
    let matched = Some(Matched { peer: 0, tag: 1 });
    let probe = Call { peer: special::ANY, ..message(Function::Mprobe, 0, 0, 40) };
    trace.ranks[1].push_with(
        probe,
        Details { matched, rare: Rare { message: Some(5), ..Rare::default() }.into(), ..Details::default() },
    );
    trace.ranks[1].push(Call { received: 200, ..message(Function::Recv, 0, 0, 60) });
    let receive = Call { received: 100, ..message(Function::Imrecv, special::NONE, 0, 80) };
    trace.ranks[1].push_with(
        Call { request: RequestId(0), ..receive },
        Details::from(Rare { message: Some(5), ..Rare::default() }),
    );
    let wait = Call::new(Function::Wait, at(100), at(110));
    trace.ranks[1].push_with(wait, Details { requests: vec![RequestId(0)].into(), ..Details::default() });
    assert_eq!(found(&trace), []);
    let messages = Messages::of_trace(&trace).matched;
    let done = |index: usize| (messages[index].sent.bytes, messages[index].received().done());
    assert_eq!((messages.len(), done(0), done(1)), (2, (100, Some(3)), (200, Some(1))));
    trace.ranks[1].calls.truncate(2);
    assert_found(&trace, Severity::Warning, 1, "call 0, MPI_Mprobe matches a message that is never received");
}

/// Peers on an intercommunicator are ranks of the other group.
#[test]
fn messages_between_groups() {
    let between = Communicator { members: vec![0, 1], remote: vec![2], ..Communicator::default() };
    let mut trace = Trace { communicators: vec![Communicator::world(3), between], ..Trace::default() };
    trace.ranks = vec![RankTrace::default(); 3];
    let call = |function, peer, sent, received| Call {
        comm: CommId(1),
        peer,
        tag: 0,
        sent,
        received,
        ..Call::new(function, Time(0), Time(10))
    };
    trace.ranks[1].push(call(Function::Send, 0, 8, 0));
    trace.ranks[2].push(call(Function::Recv, 1, 0, 8));
    assert_eq!(found(&trace), []);
    assert_eq!(Messages::of_trace(&trace).matched.len(), 1);
}

#[derive(Clone, Debug)]
struct Exchange {
    from: u32,
    to: u32,
    tag: i32,
    nonblocking: bool,
    any_source: bool,
    any_tag: bool,
    /// Which of the next possible messages the receiver takes.
    choice: usize,
}

fn exchanges() -> impl Strategy<Value = Vec<Exchange>> {
    let one = (0..3u32, 0..3u32, 0..2i32, any::<[bool; 3]>(), 0..8usize).prop_map(
        |(from, to, tag, [nonblocking, any_source, any_tag], choice)| Exchange {
            from,
            to,
            tag,
            nonblocking,
            any_source,
            any_tag,
            choice,
        },
    );
    proptest::collection::vec(one, 0..60)
}

/// A trace whose n-th message has n bytes, and whose receivers take messages in any order that MPI allows.
fn program(exchanges: &[Exchange]) -> Trace {
    let mut trace = Trace { communicators: vec![Communicator::world(3)], ..Trace::default() };
    trace.ranks = vec![RankTrace::default(); 3];
    let mut queues: Vec<BTreeMap<(u32, i32), VecDeque<usize>>> = vec![BTreeMap::new(); 3];
    for (number, one) in exchanges.iter().enumerate() {
        let call = Call::new(Function::Send, Time(0), Time(1));
        let call = Call { comm: WORLD, peer: one.to as i32, tag: one.tag, sent: number as u64, ..call };
        trace.ranks[one.from as usize].push(call);
        queues[one.to as usize].entry((one.from, one.tag)).or_default().push_back(number);
    }
    for (rank, queues) in queues.iter_mut().enumerate() {
        let mut pending = Vec::new();
        let mut request = 0;
        while !queues.is_empty() {
            let how = &exchanges[queues.values().next().unwrap()[0]];
            let key = *queues.keys().nth(how.choice % queues.len()).unwrap();
            let number = queues.get_mut(&key).unwrap().pop_front().unwrap();
            queues.retain(|_, queue| !queue.is_empty());
            let matched = Matched { peer: key.0 as i32, tag: key.1 };
            let function = if how.nonblocking { Function::Irecv } else { Function::Recv };
            let call = Call {
                comm: WORLD,
                peer: if how.any_source { special::ANY } else { matched.peer },
                tag: if how.any_tag { special::ANY } else { matched.tag },
                received: number as u64,
                ..Call::new(function, Time(2), Time(3))
            };
            if how.nonblocking {
                trace.ranks[rank].push(Call { request: RequestId(request), ..call });
                pending.push(Completed {
                    request: RequestId(request),
                    matched: Some(matched),
                    cancelled: false,
                });
                request += 1;
            } else {
                trace.ranks[rank].push_with(call, Details { matched: Some(matched), ..Details::default() });
            }
        }
        let requests = pending.iter().map(|one| one.request).collect();
        let wait = Call::new(Function::Waitall, Time(4), Time(5));
        trace.ranks[rank]
            .push_with(wait, Details { requests, completed: pending.into(), ..Details::default() });
    }
    trace
}

proptest! {
    #[test]
    fn every_receive_gets_its_own_message(exchanges in exchanges()) {
        let trace = program(&exchanges);
        prop_assert_eq!(found(&trace), vec![]);
        let messages = Messages::of_trace(&trace);
        prop_assert_eq!(messages.matched.len(), exchanges.len());
        for message in &messages.matched {
            prop_assert_eq!(Some(message.sent.bytes), message.received().room());
            prop_assert!(message.received().done().is_some());
        }
        // The matrix counts the sends, and so does a loop over the program.
        let bytes: u64 = Profile::new(&trace).matrix.iter().map(|pair| pair.bytes).sum();
        prop_assert_eq!(bytes, (0..exchanges.len() as u64).sum::<u64>());
    }
}
