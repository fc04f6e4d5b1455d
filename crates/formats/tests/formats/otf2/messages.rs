//! Checks that every message and every collective of a trace is in its archive, on both sides, both
//! as we read it and as otf2-print does.

use super::printed::lines;
use super::round_trip::{plain, there_and_back};
use super::talk::{Key, Talk, talk};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use straggler_formats::otf2;
use straggler_model::{Rank, Time};
use straggler_trace::call::{CommId, special};
use straggler_trace::check::check;
use straggler_trace::format::assemble::{Finding, Severity};
use straggler_trace::messages::{Message, Messages};
use straggler_trace::{
    Call, Class, Communicator, Details, Function, Matched, RankTrace, Rare, RequestId, Trace, WORLD,
    collectives,
};

fn counted<T: Ord>(all: impl IntoIterator<Item = T>) -> BTreeMap<T, usize> {
    let mut counts = BTreeMap::new();
    all.into_iter().for_each(|one| *counts.entry(one).or_default() += 1);
    counts
}

fn key(message: &Message) -> Key {
    let sent = message.sent;
    (sent.place.rank, sent.to, sent.comm, sent.tag, sent.bytes)
}

fn matched(trace: &Trace) -> BTreeMap<Key, usize> {
    counted(Messages::of_trace(trace).matched.iter().map(key))
}

fn collectives_run(trace: &Trace) -> BTreeMap<CommId, usize> {
    let calls = trace.ranks.iter().flat_map(|rank| &rank.calls);
    counted(calls.filter(|call| collectives::runs(call)).map(|call| call.comm))
}

proptest! {
    #[test]
    fn every_message_and_collective_comes_back(
        numbers in prop::collection::vec(any::<u32>(), 1..200),
        ranks in 2u32..6,
        steps in 1usize..80,
    ) {
        let talk = talk(&numbers, ranks, steps);
        let before = Messages::of_trace(&talk.trace);
        prop_assert_eq!(counted(before.matched.iter().map(key)), talk.messages.clone());
        prop_assert_eq!((before.lost.len(), before.awaited.len()), (talk.lost, 0));
        let read = there_and_back(&talk.trace);
        prop_assert_eq!(matched(&read), talk.messages);
        let after = Messages::of_trace(&read);
        prop_assert_eq!((after.lost.len(), after.awaited.len()), (talk.lost, 0));
        prop_assert_eq!(collectives_run(&read), talk.collectives);
        read.ranks.iter().for_each(assert_plain);
    }
}

/// Checks what messages do not show: lists without repetition, no request left to MPI_Finalize, and
/// a name for MPI_PROC_NULL.
fn assert_plain(rank: &RankTrace) {
    for call in &rank.calls {
        let details = rank.details(call).cloned().unwrap_or_default();
        let once: BTreeSet<_> = details.requests.iter().collect();
        assert_eq!(once.len(), details.requests.len(), "a call lists a request twice");
        match call.function.class() {
            Class::Finalize => assert_eq!(details, Details::default()),
            Class::Sendrecv(_) => assert!(call.peer != special::NONE && details.receive.is_some()),
            _ => {}
        }
    }
}

/// The value after a name in a line of otf2-print: a number, or one in angle brackets after a text.
fn value(line: &str, name: &str) -> u64 {
    let rest = line.split_once(&format!("{name}: ")).unwrap_or_else(|| panic!("{name} in {line}")).1;
    let field = rest.split(", ").next().unwrap();
    let number = field.split_once('<').map_or(field, |(_, number)| number.trim_end_matches(['>', ')']));
    number.parse().unwrap_or_else(|_| panic!("{field} in {line}"))
}

/// The message in a line of otf2-print.
fn printed_message(line: &str, sends: bool) -> Key {
    let own: Rank = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    let other = value(line, if sends { "Receiver" } else { "Sender" }) as Rank;
    let (from, to) = if sends { (own, other) } else { (other, own) };
    let tag = value(line, "Tag") as i32;
    (from, to, CommId(value(line, "Communicator") as u32), tag, value(line, "Length"))
}

const MAKES: [&str; 3] = ["MPI_ISEND", "MPI_IRECV_REQUEST", "NON_BLOCKING_COLLECTIVE_REQUEST"];
const ENDS: [&str; 4] =
    ["MPI_ISEND_COMPLETE", "MPI_IRECV", "MPI_REQUEST_CANCELLED", "NON_BLOCKING_COLLECTIVE_COMPLETE"];

/// Each request has its own number on its location; receives and collectives end, sends may have been freed.
fn assert_requests_end_once(made: &[&String], ended: &[&String]) {
    let number = |line: &&String| {
        let location: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
        (location, value(line, "Request"))
    };
    let begun: BTreeSet<_> = made.iter().map(number).collect();
    let over: BTreeSet<_> = ended.iter().map(number).collect();
    assert_eq!((begun.len(), over.len()), (made.len(), ended.len()), "a number is used twice");
    assert!(over.is_subset(&begun));
    let sends: BTreeSet<_> = made.iter().filter(|line| line.starts_with("MPI_ISEND ")).map(number).collect();
    assert!(begun.difference(&over).all(|request| sends.contains(request)), "a receive never ends");
}

#[test]
fn otf2_print_sees_every_message_on_both_sides() {
    for seed in 0..8u32 {
        let numbers: Vec<u32> = (0..131).map(|number| (number + seed).wrapping_mul(2_654_435_761)).collect();
        let Talk { trace, messages, lost, collectives, .. } = talk(&numbers, 2 + seed % 5, 400);
        let directory = tempfile::tempdir().unwrap();
        otf2::write(&trace, directory.path(), "run").unwrap();
        let Some(lines) = lines(&directory.path().join("run.otf2")) else { return };
        let of = |kinds: &[&str]| -> Vec<&String> {
            let is_kind =
                |line: &&String| line.split_whitespace().next().is_some_and(|kind| kinds.contains(&kind));
            lines.iter().filter(is_kind).collect()
        };
        let received = of(&["MPI_RECV", "MPI_IRECV"]).into_iter().map(|line| printed_message(line, false));
        assert_eq!(counted(received), messages);
        let mut sent =
            counted(of(&["MPI_SEND", "MPI_ISEND"]).into_iter().map(|line| printed_message(line, true)));
        assert_eq!(sent.iter().filter(|(key, _)| key.3 == 9).map(|(_, count)| count).sum::<usize>(), lost);
        sent.retain(|key, _| key.3 != 9);
        assert_eq!(sent, messages);
        assert_requests_end_once(&of(&MAKES), &of(&ENDS));
        let ended = of(&["MPI_COLLECTIVE_END", "NON_BLOCKING_COLLECTIVE_COMPLETE"]);
        let ended = counted(ended.into_iter().map(|line| CommId(value(line, "Communicator") as u32)));
        assert_eq!(ended, collectives);
        assert!(messages.len() > 50 && !collectives.is_empty(), "too little to see anything");
    }
}

#[test]
fn a_receive_of_a_probed_message_says_who_sent_it() {
    let at = |function, enter| Call::new(function, Time(enter), Time(enter + 10));
    let mut trace = Trace { communicators: vec![Communicator::world(2)], ..Trace::default() };
    trace.ranks = vec![RankTrace::default(); 2];
    trace.ranks[0].push(Call { comm: CommId(0), peer: 1, tag: 7, sent: 100, ..at(Function::Send, 0) });
    let matched = Some(Matched { peer: 0, tag: 7 });
    let asked = Call { comm: CommId(0), peer: special::ANY, tag: special::ANY, ..at(Function::Improbe, 0) };
    let message = Some(3);
    trace.ranks[1].push_with(
        asked,
        Details {
            matched,
            found: true,
            rare: Rare { message, ..Rare::default() }.into(),
            ..Details::default()
        },
    );
    let receive = Call { received: 400, request: RequestId(0), ..at(Function::Imrecv, 20) };
    trace.ranks[1].push_with(receive, Details::from(Rare { message, ..Rare::default() }));
    let wait = Details { requests: vec![RequestId(0)].into(), found: true, ..Details::default() };
    trace.ranks[1].push_with(at(Function::Wait, 40), wait);
    let read = there_and_back(&trace);
    let imrecv = read.ranks[1].calls[1];
    assert_eq!((imrecv.comm, imrecv.peer, imrecv.tag, imrecv.received), (CommId(0), 0, 7, 100));
    assert_eq!(self::matched(&read), BTreeMap::from([((0, 1, WORLD, 7, 100), 1)]));
}

/// Processes that this run started or connected to are not ranks of it.
#[test]
fn processes_of_another_world_stay_in_their_communicators() {
    let mut trace = plain([]);
    let foreign = vec![Rank::MAX, Rank::MAX];
    let spawned = Communicator { members: vec![0], remote: foreign, ..Communicator::default() };
    trace.communicators.push(spawned);
    let send =
        Call { comm: CommId(1), peer: 1, tag: 4, sent: 8, ..Call::new(Function::Send, Time(0), Time(5)) };
    trace.ranks[0].push(send);
    let read = there_and_back(&trace);
    assert_eq!(read.communicators, trace.communicators);
    assert_eq!(read.ranks[0].calls[0], trace.ranks[0].calls[0]);
}

/// As in traces that older versions read: one communicator for each side.
#[test]
fn two_sides_of_a_communicator_become_one() {
    let mut trace = Trace { communicators: vec![Communicator::world(3)], ..Trace::default() };
    for (members, remote) in [(vec![0, 1], vec![2]), (vec![2], vec![0, 1])] {
        trace.communicators.push(Communicator { members, remote, ..Communicator::default() });
    }
    trace.ranks = vec![RankTrace::default(); 3];
    let call = |function, comm, peer| Call { comm, peer, tag: 0, ..Call::new(function, Time(0), Time(9)) };
    trace.ranks[1].push(Call { sent: 8, ..call(Function::Send, CommId(1), 0) });
    trace.ranks[2].push(Call { received: 8, ..call(Function::Recv, CommId(2), 1) });
    let read = there_and_back(&trace);
    assert_eq!(read.communicators.len(), 2);
    assert_eq!(matched(&read), BTreeMap::from([((1, 2, CommId(1), 0, 8), 1)]));
}

/// Cancelled, forgotten and freed requests do not become errors when read back.
#[test]
fn what_was_right_is_right_when_it_is_read_again() {
    let numbers: Vec<u32> = (0..97u32).map(|number| number.wrapping_mul(2_654_435_761)).collect();
    let trace = talk(&numbers, 4, 300).trace;
    let errors = |trace: &Trace| {
        let findings = check(trace, &BTreeSet::new()).into_iter();
        let is_error = |finding: &Finding| {
            // The archive does not show that a probe took its message before other receives did.
            finding.severity == Severity::Error && !finding.what.contains("has room for")
        };
        counted(findings.filter(is_error).map(|finding| (finding.rank, finding.what)))
    };
    let lost = errors(&trace);
    assert!(!lost.is_empty() && lost.keys().all(|(_, what)| what.contains("with tag 9")), "{lost:#?}");
    let again = errors(&there_and_back(&trace));
    assert_eq!(again.len(), lost.len(), "{again:#?}");
    assert!(again.keys().all(|(_, what)| what.contains("with tag 9")), "{again:#?}");
}
