//! What libotf2's otf2-print says about our archives and about its own. If it is not installed,
//! these tests say so and check nothing.

use super::round_trip::{plain, send};
use super::{dice, small};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use straggler_formats::otf2;
use straggler_model::Time;
use straggler_trace::{Call, Class, CommId, Communicator, Details, Function, HowMany, Rare, Start, Trace};

/// The lines of all events; `None` without otf2-print.
pub fn lines(anchor: &Path) -> Option<Vec<String>> {
    let output = match Command::new("otf2-print").arg("--show-all").arg(anchor).output() {
        Ok(output) => output,
        Err(error) => {
            // Not with `eprintln!`, whose output is captured for tests that pass.
            let name = std::thread::current().name().unwrap_or("a test").to_string();
            let _ = writeln!(std::io::stderr(), "skipped: {name}, as otf2-print cannot be run ({error})");
            return None;
        }
    };
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && errors.is_empty(), "otf2-print: {errors}");
    let events = text.split("=== Events ===").nth(1).expect("a list of events");
    Some(events.lines().map(str::to_owned).collect())
}

/// Events as (kind, location, ticks); `None` without otf2-print.
fn printed(anchor: &Path) -> Option<Vec<(String, u64, u64)>> {
    let event = |line: &str| {
        let mut words = line.split_whitespace();
        let kind = words.next()?.to_owned();
        Some((kind, words.next()?.parse().ok()?, words.next()?.parse().ok()?))
    };
    Some(lines(anchor)?.iter().filter_map(|line| event(line)).collect())
}

fn write(trace: &Trace) -> Option<Vec<(String, u64, u64)>> {
    let directory = tempfile::tempdir().unwrap();
    otf2::write(trace, directory.path(), "run").unwrap();
    printed(&directory.path().join("run.otf2"))
}

/// How many records of each kind a trace must have, counted independently of the writer.
fn expected(trace: &Trace) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    let mut count = |kind, number| *counts.entry(kind).or_default() += number;
    for rank in &trace.ranks {
        for call in &rank.calls {
            let details = rank.details(call);
            count("ENTER", 1);
            count("LEAVE", 1);
            match call.function.class() {
                Class::Send(_, Start::Blocking) => count("MPI_SEND", 1),
                Class::Send(_, Start::Nonblocking) => count("MPI_ISEND", 1),
                Class::Recv(Start::Blocking) | Class::MatchedRecv(Start::Blocking) => count("MPI_RECV", 1),
                Class::Recv(_) | Class::MatchedRecv(_) => count("MPI_IRECV_REQUEST", 1),
                Class::Sendrecv(_) => ["MPI_SEND", "MPI_RECV"].into_iter().for_each(|kind| count(kind, 1)),
                Class::Collective(_, Start::Blocking) | Class::Neighbor(_, Start::Blocking) => {
                    ["MPI_COLLECTIVE_BEGIN", "MPI_COLLECTIVE_END"]
                        .into_iter()
                        .for_each(|kind| count(kind, 1));
                }
                Class::Collective(..) | Class::Neighbor(..) => count("NON_BLOCKING_COLLECTIVE_REQUEST", 1),
                Class::NewComm { collective } => {
                    let passes = matches!(call.function, Function::Comm_idup | Function::Comm_idup_with_info);
                    let all = usize::from(collective && !passes);
                    count("COMM_CREATE", 1);
                    ["MPI_COLLECTIVE_BEGIN", "MPI_COLLECTIVE_END"]
                        .into_iter()
                        .for_each(|kind| count(kind, all));
                }
                Class::FreeComm => count("COMM_DESTROY", 1),
                Class::Test(HowMany::One | HowMany::All) if details.is_some_and(|details| !details.found) => {
                    count("MPI_REQUEST_TEST", details.map_or(0, |details| details.requests.len()));
                }
                _ => {}
            }
        }
    }
    counts
}

#[test]
fn our_archives_are_printed_without_a_word_of_complaint() {
    for seed in 0..6u32 {
        let numbers: Vec<u32> = (0..97).map(|number| (number + seed).wrapping_mul(2_654_435_761)).collect();
        let trace = dice::trace(&numbers, 1 + seed, 150);
        let Some(events) = write(&trace) else { return };
        let mut found: BTreeMap<&str, usize> = BTreeMap::new();
        events.iter().for_each(|(kind, ..)| *found.entry(kind).or_default() += 1);
        for (kind, expected) in expected(&trace) {
            // Waits for some requests also record a test of the others.
            let at_least = kind == "MPI_REQUEST_TEST";
            let found = found.get(kind).copied().unwrap_or_default();
            assert!(found == expected || at_least && found > expected, "{kind}: {found}, not {expected}");
        }
        let begun = |kinds: [&str; 3]| kinds.map(|kind| found.get(kind).copied().unwrap_or_default());
        let ended = begun(["MPI_ISEND_COMPLETE", "MPI_IRECV", "NON_BLOCKING_COLLECTIVE_COMPLETE"]);
        let made = begun(["MPI_ISEND", "MPI_IRECV_REQUEST", "NON_BLOCKING_COLLECTIVE_REQUEST"]);
        let cancelled = found.get("MPI_REQUEST_CANCELLED").copied().unwrap_or_default();
        assert_eq!(
            ended.iter().sum::<usize>() + cancelled,
            made.iter().sum::<usize>(),
            "every request ends once"
        );
    }
}

#[test]
fn files_of_several_chunks_are_printed() {
    let trace = plain((0..60_000).map(send));
    let Some(events) = write(&trace) else { return };
    let enters: Vec<u64> =
        events.iter().filter(|(kind, ..)| kind == "ENTER").map(|&(.., ticks)| ticks).collect();
    let expected: Vec<u64> = trace.ranks[0].calls.iter().map(|call| call.enter.ps()).collect();
    assert_eq!(enters, expected);
}

/// libotf2 corrects clocks and maps numbers itself.
#[test]
fn times_are_those_that_libotf2_sees() {
    let Some(events) = printed(&small()) else { return };
    let options = otf2::Options { user_regions: false, ..otf2::Options::default() };
    let trace = otf2::read_with(&small(), options).unwrap();
    for (rank, location, thread) in [(0, 0, 0), (1, 1, 0), (2, 2, 0), (2, 3, 1)] {
        let is_edge = |kind: &str| kind.ends_with("ENTER") || kind.ends_with("LEAVE");
        // Rank 0 enters "solve" at 1150 and leaves it at 2480, which is not a call.
        let is_user = |ticks: u64| rank == 0 && matches!(ticks, 1150 | 2480);
        let seen: Vec<u64> = events
            .iter()
            .filter(|(kind, of, ticks)| is_edge(kind) && *of == location && !is_user(*ticks))
            .map(|&(.., ticks)| (ticks - 1000) * 1000 / 3)
            .collect();
        let calls = trace.ranks[rank].calls.iter().filter(|call| call.thread == thread);
        // The second half of MPI_Startall takes no time of its own.
        let calls = calls.filter(|call| !(rank == 1 && call.function == Function::Irecv));
        let ours: Vec<u64> = calls.flat_map(|call| [call.enter.ps(), call.exit.ps()]).collect();
        assert_eq!(ours, seen, "location {location}");
    }
}

/// Only if all members call: readers would wait for the others.
#[test]
fn the_creation_of_a_communicator_is_an_operation_of_its_own() {
    let mut trace = plain([]);
    trace.communicators.push(Communicator { parent: Some(CommId(0)), ..Communicator::world(1) });
    let made = Details::from(Rare { new_comm: Some(CommId(1)), ..Rare::default() });
    for (function, time) in
        [(Function::Comm_split, 0), (Function::Comm_create_group, 20), (Function::Comm_idup, 40)]
    {
        let call = Call { comm: CommId(0), ..Call::new(function, Time(time), Time(time + 10)) };
        trace.ranks[0].push_with(call, made.clone());
    }
    let directory = tempfile::tempdir().unwrap();
    otf2::write(&trace, directory.path(), "run").unwrap();
    let Some(lines) = lines(&directory.path().join("run.otf2")) else { return };
    let ends: Vec<&String> = lines.iter().filter(|line| line.starts_with("MPI_COLLECTIVE_END")).collect();
    assert_eq!(ends.len(), 1, "{lines:?}");
    assert!(
        ends[0].contains("Operation: CREATE_HANDLE") && ends[0].ends_with("Sent: 0, Received: 0"),
        "{ends:?}"
    );
    assert_eq!(lines.iter().filter(|line| line.starts_with("COMM_CREATE")).count(), 3);
}

/// Two ranks put, get and accumulate between fences, and under a lock; the first flushes only what goes to one of them.
#[test]
fn windows_have_their_transfers() {
    let at = |us: u64| Time::from_ns(us * 1_000);
    let mut trace = Trace { communicators: vec![Communicator::world(2)], ..Trace::default() };
    for rank in 0..2 {
        let mut calls = straggler_trace::RankTrace::default();
        let mut push = |function, peer: i32, sent, received| {
            let now = at(10 * (1 + calls.calls.len() as u64));
            let call =
                Call { comm: CommId(0), peer, sent, received, ..Call::new(function, now, now + at(5)) };
            // Ranks number their windows differently.
            let rare = Rare { window: Some(4 + rank), ..Rare::default() };
            calls.push_with(call, Details::from(rare));
        };
        push(Function::Win_create, 0, 0, 0);
        push(Function::Win_fence, 0, 0, 0);
        push(Function::Put, 1, 800, 0);
        push(Function::Get, 0, 0, 90);
        push(Function::Win_fence, 0, 0, 0);
        push(Function::Win_lock, 1, 0, 0);
        push(Function::Accumulate, 1, 16, 0);
        push(Function::Fetch_and_op, 0, 8, 8);
        push(Function::Win_flush, 0, 0, 0);
        push(Function::Win_unlock, 1, 0, 0);
        push(Function::Win_free, 0, 0, 0);
        trace.ranks.push(calls);
    }
    let directory = tempfile::tempdir().unwrap();
    otf2::write(&trace, directory.path(), "run").unwrap();
    let Some(lines) = lines(&directory.path().join("run.otf2")) else { return };
    let of_first = |line: &&String| line.contains("RMA_") && line.split_whitespace().nth(1) == Some("0");
    let shown: Vec<String> = lines
        .iter()
        .filter(of_first)
        .map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let text = words[3..].join(" ").replace("Window: \"\" <0>", "window");
            let text =
                text.replace("Level of Synchronicity: {PROCESS}, Root: NONE, Sent: 0, Received: 0", "all");
            format!("{} {} {text}", words[0], words[2].parse::<u64>().unwrap() / 1_000_000)
        })
        .collect();
    let expected = [
        "RMA_COLLECTIVE_BEGIN 10 ",
        "RMA_WIN_CREATE 15 window",
        "RMA_COLLECTIVE_END 15 Operation: CREATE_HANDLE, window, all",
        "RMA_COLLECTIVE_BEGIN 20 ",
        "RMA_COLLECTIVE_END 25 Operation: BARRIER, window, all",
        "RMA_PUT 30 window, Remote: 1 (\"Master thread\" <1>), Bytes: 800, Matching: 0",
        "RMA_GET 40 window, Remote: 0 (\"Master thread\" <0>), Bytes: 90, Matching: 1",
        "RMA_COLLECTIVE_BEGIN 50 ",
        "RMA_OP_COMPLETE_BLOCKING 55 window, Matching: 0",
        "RMA_OP_COMPLETE_BLOCKING 55 window, Matching: 1",
        "RMA_COLLECTIVE_END 55 Operation: BARRIER, window, all",
        "RMA_ATOMIC 70 window, Remote: 1 (\"Master thread\" <1>), Type: ACCUMULATE, Sent: 16, Received: 0, Matching: 2",
        "RMA_ATOMIC 80 window, Remote: 0 (\"Master thread\" <0>), Type: FETCH_AND_ACCUMULATE, Sent: 8, Received: 8, \
         Matching: 3",
        "RMA_OP_COMPLETE_BLOCKING 95 window, Matching: 3",
        "RMA_OP_COMPLETE_BLOCKING 105 window, Matching: 2",
        "RMA_COLLECTIVE_BEGIN 110 ",
        "RMA_COLLECTIVE_END 115 Operation: DESTROY_HANDLE, window, all",
        "RMA_WIN_DESTROY 115 window",
    ];
    assert_eq!(shown, expected, "{lines:#?}");
    // Nothing of it disturbs what is read back.
    assert_eq!(otf2::read(&directory.path().join("run.otf2")).unwrap().ranks[0].calls.len(), 11);
}
