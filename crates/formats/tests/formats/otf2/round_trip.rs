//! Traces written and read back.

use super::dice;
use super::fixture::calls;
use proptest::prelude::*;
use straggler_formats::otf2::{self, Options, WriteError};
use straggler_model::Time;
use straggler_trace::{
    Call, CommId, Communicator, Details, Function, RankTrace, Rare, Repeated, RequestId, Trace,
};

pub fn there_and_back(trace: &Trace) -> Trace {
    let directory = tempfile::tempdir().unwrap();
    otf2::write(trace, directory.path(), "run").unwrap();
    let found: Vec<_> =
        std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(found.len(), 3, "only the archive is left: {found:?}");
    otf2::read(&directory.path().join("run.otf2")).unwrap()
}

pub fn assert_same(written: &Trace, read: &Trace) {
    assert_eq!(read.communicators, written.communicators);
    assert_eq!(read.ranks.len(), written.ranks.len());
    for rank in 0..written.ranks.len() {
        let (found, expected) = (calls(read, rank), calls(written, rank));
        for (number, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert_eq!(found, expected, "rank {rank}, call {number}");
        }
        assert_eq!(found.len(), expected.len());
        assert_eq!(read.ranks[rank].host, written.ranks[rank].host);
        assert_eq!(read.ranks[rank].unknown, written.ranks[rank].unknown);
    }
}

proptest! {
    #[test]
    fn what_otf2_can_hold_comes_back(
        numbers in prop::collection::vec(any::<u32>(), 1..200),
        ranks in 1u32..6,
        steps in 1usize..60,
    ) {
        let trace = dice::trace(&numbers, ranks, steps);
        assert_same(&trace, &there_and_back(&trace));
    }
}

/// Calls of one rank, one nanosecond each, one after the other.
pub fn plain(functions: impl IntoIterator<Item = Call>) -> Trace {
    let mut rank = RankTrace::default();
    for (number, call) in functions.into_iter().enumerate() {
        let enter = Time(2000 * number as u64);
        rank.push(Call { enter, exit: enter + Time(1000), ..call });
    }
    Trace { ranks: vec![rank], communicators: vec![Communicator::world(1)], ..Trace::default() }
}

pub fn send(tag: i32) -> Call {
    Call { comm: CommId(0), peer: 0, tag, sent: 8, ..Call::new(Function::Send, Time::ZERO, Time::ZERO) }
}

#[test]
fn files_of_several_chunks_come_back() {
    let trace = plain((0..60_000).map(send));
    let read = there_and_back(&trace);
    assert_same(&trace, &read);
}

#[test]
fn large_worlds_come_back() {
    let ranks = (0..3000).map(|rank| RankTrace { host: format!("node{rank:05}"), ..RankTrace::default() });
    let mut trace =
        Trace { ranks: ranks.collect(), communicators: vec![Communicator::world(3000)], ..Trace::default() };
    trace.communicators[0].name = "world".into();
    assert_same(&trace, &there_and_back(&trace));
}

#[test]
fn regions_of_the_program_come_back() {
    let mark = |function, time, text: &str| {
        let details = Details::named(text);
        (Call::new(function, Time(time), Time(time)), details)
    };
    let mut trace = plain([send(1)]);
    trace.ranks[0].calls.clear();
    for (call, details) in [
        mark(Function::RegionEnter, 0, "outer"),
        mark(Function::RegionEnter, 10, "inner"),
        mark(Function::RegionLeave, 20, "inner"),
        mark(Function::RegionLeave, 30, "outer"),
    ] {
        trace.ranks[0].push_with(call, details);
    }
    let directory = tempfile::tempdir().unwrap();
    otf2::write(&trace, directory.path(), "run").unwrap();
    let anchor = directory.path().join("run.otf2");
    let read = |options| otf2::read_with(&anchor, options).unwrap();
    assert_same(&trace, &otf2::read(&anchor).unwrap());
    assert_eq!(read(Options { user_regions: false, ..Options::default() }).calls(), 0);
    // The inner region takes 10 ps, and without it nothing is left in the outer one.
    let longer = |ps| read(Options { shortest_region: Some(Time(ps)), ..Options::default() });
    assert_eq!([10, 11, 30, 31].map(|ps| longer(ps).calls()), [4, 2, 2, 0]);
    assert!(longer(31).notes[0].starts_with("2 short regions are left out"), "{:?}", longer(31).notes);
}

/// OTF2 has no prepared requests: an operation that MPI_Start starts is read back as the
/// corresponding nonblocking call.
#[test]
fn prepared_operations_come_back_as_nonblocking_ones() {
    let mut trace = plain([]);
    let rank = &mut trace.ranks[0];
    let details =
        |requests: &[RequestId], found| Details { requests: requests.into(), found, ..Details::default() };
    let call = |function, enter| Call::new(function, Time(enter), Time(enter + 5));
    rank.push(Call {
        request: RequestId(0),
        sent: 64,
        comm: CommId(0),
        peer: 0,
        tag: 3,
        ..call(Function::Send_init, 0)
    });
    rank.push(Call {
        request: RequestId(1),
        received: 64,
        comm: CommId(0),
        peer: 0,
        tag: 3,
        ..call(Function::Recv_init, 10)
    });
    for (first, time) in [(2, 20), (4, 40)] {
        rank.push_with(
            Call { request: RequestId(first), ..call(Function::Startall, time) },
            details(&[RequestId(0), RequestId(1)], false),
        );
        rank.push_with(
            call(Function::Waitall, time + 10),
            details(&[RequestId(first), RequestId(first + 1)], true),
        );
    }
    let read = there_and_back(&trace);
    let names: Vec<_> = read.ranks[0].calls.iter().map(|call| call.function.name()).collect();
    let round = ["MPI_Isend", "MPI_Irecv", "MPI_Waitall"];
    assert_eq!(names, [&["MPI_Send_init", "MPI_Recv_init"][..], &round, &round].concat());
    let (isend, irecv) = (read.ranks[0].calls[5], read.ranks[0].calls[6]);
    assert_eq!((isend.enter, isend.exit, isend.request), (Time(40), Time(45), RequestId(2)));
    assert_eq!((isend.peer, isend.tag, isend.sent), (0, 3, 64));
    assert_eq!((irecv.enter, irecv.request, irecv.received), (Time(45), RequestId(3), 64));
    assert_eq!(calls(&read, 0)[7].1, Some(details(&[RequestId(2), RequestId(3)], true)));
}

#[test]
fn an_archive_replaces_the_one_that_was_there() {
    let directory = tempfile::tempdir().unwrap();
    let anchor = directory.path().join("deep/run.otf2");
    for length in [7, 3] {
        let trace = plain((0..length).map(send));
        otf2::write(&trace, &directory.path().join("deep"), "run").unwrap();
        assert_same(&trace, &otf2::read(&anchor).unwrap());
    }
}

#[test]
fn only_archives_of_ours_are_replaced() {
    use std::fs;
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let refused = |name: &str, what: &str| {
        let error = otf2::write(&plain([send(1)]), directory.path(), name).unwrap_err();
        assert!(matches!(&error, WriteError::Exists(path) if *path == at(what)), "{error}");
    };
    // A folder with the name of the anchor, of the archive's folder, or of the definitions.
    for name in ["x.otf2", "y", "z.def"] {
        fs::create_dir(at(name)).unwrap();
        fs::write(at(name).join("1.evt"), "mine").unwrap();
        refused(&name[..1], name);
        assert_eq!(fs::read(at(name).join("1.evt")).unwrap(), b"mine");
    }
    // An archive of another program.
    fs::create_dir(at("run")).unwrap();
    otf2::write(&plain([send(1)]), directory.path(), "run").unwrap();
    let own = fs::read(at("run.otf2")).unwrap();
    let place = own.windows(10).position(|part| part == b"straggler ").unwrap();
    let mut other = own.clone();
    other[place..place + 9].copy_from_slice(b"Score-P 8");
    fs::write(at("run.otf2"), &other).unwrap();
    refused("run", "run.otf2");
    fs::write(at("run.otf2"), &own).unwrap();
    fs::write(at("run/notes.txt"), "mine").unwrap();
    refused("run", "run");
    fs::remove_file(at("run/notes.txt")).unwrap();
    otf2::write(&plain([send(1), send(2)]), directory.path(), "run").unwrap();
    assert_same(&plain([send(1), send(2)]), &otf2::read(&at("run.otf2")).unwrap());
    assert!(fs::read_dir(directory.path()).unwrap().all(|entry| !entry.unwrap().path().ends_with(".tmp")));
}

#[test]
fn what_otf2_cannot_hold_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let error = |trace: &Trace, name: &str| otf2::write(trace, directory.path(), name).unwrap_err();
    let mut overlap = plain([send(1), send(2)]);
    overlap.ranks[0].calls[1].enter = Time(500);
    assert!(matches!(error(&overlap, "run"), WriteError::Overlap { rank: 0, call: 1, .. }));
    let foreign = plain([Call { comm: CommId(5), ..send(1) }]);
    let text = error(&foreign, "run").to_string();
    assert_eq!(text, "rank 0, call 0 (MPI_Send): names a communicator that is not in the trace");
    for name in ["", "..", "a/b"] {
        assert!(matches!(error(&plain([]), name), WriteError::Name(_)), "{name}");
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "nothing is left behind");
}

/// The tracer counts polls by kind: one MPI_Iprobe record may span an MPI_Test that was called once in between.
#[test]
fn polls_that_were_counted_side_by_side_follow_one_another() {
    let mut trace = plain([]);
    let rank = &mut trace.ranks[0];
    let call = |function, enter, exit| Call::new(function, Time(enter), Time(exit));
    let repeated = Some(Repeated { calls: 2, inside: Time(4) });
    rank.push_with(call(Function::Iprobe, 0, 50), Details::from(Rare { repeated, ..Rare::default() }));
    rank.push(call(Function::Test, 20, 30));
    rank.push(call(Function::Win_test, 25, 60));
    rank.push(Call { comm: CommId(0), peer: 0, tag: 1, sent: 8, ..call(Function::Send, 70, 80) });
    let read = there_and_back(&trace);
    let times: Vec<_> = read.ranks[0].calls.iter().map(|call| (call.enter.ps(), call.exit.ps())).collect();
    assert_eq!(times, [(0, 50), (50, 50), (50, 60), (70, 80)]);
}

#[test]
fn the_program_keeps_its_arguments() {
    let mut trace = plain([send(1)]);
    trace.meta.program = "/opt/bin/solve -n  5 /data/in".into();
    assert_eq!(there_and_back(&trace).meta.program, trace.meta.program);
}
