//! The archive of fixtures/traces/otf2/make.c, call by call. Times are its ticks (thirds of nanoseconds from 1000), those
//! of rank 1 corrected by hand: its clock is 100000 ticks ahead at 101000 and 100100 at 102700, so 101399 is
//! 1399 − 100·399/1700 = 1375.5 → the offset −23.47 is rounded to −23 → 1376.

use super::small;
use straggler_formats::otf2::{self, Options};
use straggler_model::Time;
use straggler_trace::call::{NO_COMM, special};
use straggler_trace::{
    Call, CommId, Completed, Details, Function, Matched, Moment, Rare, RequestId, Trace, WORLD,
};

const NONE: i32 = special::NONE;

fn time(tick: u64) -> Time {
    Time((tick - 1000) * 1000 / 3)
}

/// A call with its times in ticks.
fn call(function: Function, enter: u64, exit: u64) -> Call {
    Call::new(function, time(enter), time(exit))
}

fn with(call: Call, comm: u32, peer: i32, tag: i32, sent: u64, received: u64) -> Call {
    Call { comm: CommId(comm), peer, tag, sent, received, ..call }
}

fn requests(requests: &[u32], found: bool) -> Option<Details> {
    Some(Details { requests: requests.iter().copied().map(RequestId).collect(), found, ..Details::default() })
}

fn read() -> Trace {
    otf2::read_with(&small(), Options { user_regions: false, ..Options::default() }).unwrap()
}

/// The calls of a rank with their details, without the details' index and the moments of messages.
pub fn calls(trace: &Trace, rank: usize) -> Vec<(Call, Option<Details>)> {
    let rank = &trace.ranks[rank];
    let plain = |call: &Call| {
        let details = rank.details(call).map(|details| Details { moment: None, ..details.clone() });
        (Call { details: 0, ..*call }, details.filter(|details| *details != Details::default()))
    };
    rank.calls.iter().map(plain).collect()
}

#[test]
fn when_messages_were_sent_and_collectives_over_is_kept() {
    let trace = read();
    let moment = |rank: usize, call: usize| {
        let rank = &trace.ranks[rank];
        rank.details(&rank.calls[call]).and_then(|details| details.moment).map(Moment::time)
    };
    // A send is entered at 66.666 ns; an allreduce is left at 313.666 ns.
    assert_eq!(moment(0, 1), Some(Time(70_000)));
    assert_eq!(moment(1, 3), Some(Time(313_333)));
    assert_eq!(moment(0, 0), None);
}

fn assert_calls(trace: &Trace, rank: usize, expected: Vec<(Call, Option<Details>)>) {
    let found = calls(trace, rank);
    for (number, (found, expected)) in found.iter().zip(&expected).enumerate() {
        let expected = (Call { details: 0, ..expected.0 }, expected.1.clone());
        assert_eq!(*found, expected, "rank {rank}, call {number}");
    }
    assert_eq!(found.len(), expected.len());
}

#[test]
fn rank_0_sends_waits_and_takes_part() {
    let new_comm = Some(Details::from(Rare { new_comm: Some(CommId(1)), ..Rare::default() }));
    let expected = vec![
        (call(Function::Init, 1001, 1100), None),
        (with(call(Function::Send, 1200, 1300), 0, 1, 7, 1000, 0), None),
        (Call { request: RequestId(0), ..with(call(Function::Isend, 1400, 1500), 1, 0, 8, 70000, 0) }, None),
        (
            Call {
                request: RequestId(1),
                ..with(call(Function::Irecv, 1500, 1520), 0, 2, 9, 0, 5_000_000_000)
            },
            None,
        ),
        (call(Function::Waitall, 1600, 1700), requests(&[0, 1], true)),
        // 24 bytes among three: 8 each. 64 bytes among two: 32 from the root.
        (with(call(Function::Allreduce, 1800, 1900), 0, NONE, NONE, 8, 8), None),
        (with(call(Function::Bcast, 2000, 2100), 1, 1, NONE, 32, 32), None),
        // It has no record of its own; the definition names its parent.
        (Call { comm: CommId(0), ..call(Function::Comm_split, 2200, 2300) }, new_comm),
        (with(call(Function::Barrier, 2400, 2450), 3, NONE, NONE, 0, 0), None),
        (with(call(Function::Send, 2460, 2470), 2, 1, 3, 16, 0), None),
        (call(Function::Finalize, 2500, 2600), None),
    ];
    assert_calls(&read(), 0, expected);
}

#[test]
fn rank_1_has_numbers_and_a_clock_of_its_own() {
    let unknown = Details::named("MPI_Attr_get");
    let first_of_two = Details {
        completed: vec![Completed { request: RequestId(0), matched: None, cancelled: false }].into(),
        ..requests(&[0, 1], true).unwrap()
    };
    let expected = vec![
        (call(Function::Init, 1000, 1094), None),
        (with(call(Function::Recv, 1188, 1376), 0, 0, 7, 0, 1000), None),
        (call(Function::Unknown, 1471, 1472), Some(unknown)),
        (with(call(Function::Allreduce, 1565, 1941), 0, NONE, NONE, 8, 8), None),
        // MPI_Startall of a send and a receive.
        (Call { request: RequestId(0), ..with(call(Function::Isend, 2035, 2054), 0, 2, 4, 8, 0) }, None),
        (Call { request: RequestId(1), ..with(call(Function::Irecv, 2054, 2054), 0, 0, 4, 0, 9) }, None),
        (call(Function::Waitsome, 2129, 2139), Some(first_of_two)),
        (call(Function::Waitall, 2224, 2318), requests(&[1], true)),
        (call(Function::Finalize, 2506, 2600), None),
    ];
    let trace = read();
    assert_calls(&trace, 1, expected);
    assert_eq!(trace.ranks[1].unknown.get("MPI_Attr_get"), Some(&1));
    let clock = trace.ranks[1].clock;
    assert_eq!((clock.offset_ps, clock.error), (-33_333_333, Some(Time(166))));
    assert!((clock.drift_ppm - 1e8 / 1700.0).abs() < 1e-6, "{clock:?}");
}

#[test]
fn rank_2_has_two_threads_and_a_request_that_is_cancelled() {
    let second = |call: Call| Call { thread: 1, ..call };
    let cancelled = Details {
        completed: vec![Completed { request: RequestId(3), matched: None, cancelled: true }].into(),
        ..requests(&[3], true).unwrap()
    };
    let receive = Details { receive: Some(Matched { peer: 0, tag: 6 }), ..Details::default() };
    let isend =
        Call { request: RequestId(2), ..with(call(Function::Isend, 1145, 1147), 0, 0, 9, 5_000_000_000, 0) };
    let expected = vec![
        (call(Function::Init, 1000, 1101), None),
        (
            Call { request: RequestId(0), ..with(call(Function::Ibarrier, 1110, 1120), 1, NONE, NONE, 0, 0) },
            None,
        ),
        (Call { request: RequestId(1), ..with(call(Function::Irecv, 1130, 1140), 1, 1, 8, 0, 70000) }, None),
        (second(isend), None),
        (call(Function::Test, 1150, 1160), requests(&[1], false)),
        (second(call(Function::Wait, 1152, 1158)), requests(&[2], true)),
        (second(with(call(Function::Barrier, 1160, 1170), 4, NONE, NONE, 0, 0)), None),
        (call(Function::Test, 1170, 1180), requests(&[1], true)),
        (Call { request: RequestId(3), ..call(Function::Irecv, 1190, 1200) }, None),
        (call(Function::Cancel, 1210, 1220), None),
        (call(Function::Wait, 1230, 1240), Some(cancelled)),
        (call(Function::Wait, 1250, 1260), requests(&[0], true)),
        (with(call(Function::Sendrecv, 1270, 1280), 0, 1, 5, 20, 30), Some(receive)),
        (with(call(Function::Alltoall, 1300, 1350), 1, NONE, NONE, 128, 128), None),
        (with(call(Function::Gather, 1400, 1450), 0, 2, NONE, 40, 40), None),
        (Call { comm: CommId(1), ..call(Function::Comm_free, 1500, 1510) }, None),
        (call(Function::Finalize, 2500, 2600), None),
    ];
    assert_calls(&read(), 2, expected);
}

#[test]
fn communicators_hosts_and_what_is_known_of_the_run() {
    let trace = read();
    let shape = |comm: &straggler_trace::Communicator| {
        (comm.name.clone(), comm.members.clone(), comm.remote.clone(), comm.parent)
    };
    let expected = [
        ("MPI_COMM_WORLD", vec![0, 1, 2], vec![], None),
        ("pair", vec![2, 0], vec![], Some(WORLD)),
        ("between", vec![0], vec![1, 2], Some(WORLD)),
        // Every rank has its own "self"; rank 1 has none, since it did not use it.
        ("self", vec![0], vec![], None),
        ("self", vec![2], vec![], None),
    ];
    let expected: Vec<_> = expected.map(|(name, a, b, parent)| (name.to_owned(), a, b, parent)).into();
    assert_eq!(trace.communicators.iter().map(shape).collect::<Vec<_>>(), expected);
    let hosts: Vec<_> = trace.ranks.iter().map(|rank| rank.host.as_str()).collect();
    assert_eq!(hosts, ["alpha", "alpha", "beta"]);
    assert_eq!((trace.meta.format.as_str(), trace.meta.program.as_str()), ("OTF2 3.0", "iteration"));
    assert_eq!(trace.meta.more.get("creator").map(String::as_str), Some("Score-P by hand"));
    assert_eq!(trace.notes.len(), 1, "{:?}", trace.notes);
    assert!(trace.notes[0].starts_with("2 persistent operations"), "{:?}", trace.notes);
}

#[test]
fn regions_of_the_program_are_marks() {
    let trace = otf2::read(&small()).unwrap();
    let marks: Vec<_> = calls(&trace, 0)
        .into_iter()
        .filter(|(call, _)| matches!(call.function, Function::RegionEnter | Function::RegionLeave))
        .map(|(call, details)| {
            (call.function, call.enter, call.exit, details.unwrap().text.clone().unwrap(), call.comm)
        })
        .collect();
    let mark = |function, tick, name: &str| (function, time(tick), time(tick), name.to_owned(), NO_COMM);
    assert_eq!(
        marks,
        [
            mark(Function::RegionEnter, 1150, "solve"),
            mark(Function::RegionEnter, 1150, "solve:iteration:-5"),
            mark(Function::RegionLeave, 2480, "solve:iteration:-5"),
            mark(Function::RegionLeave, 2480, "solve"),
        ]
    );
}

/// TAU writes no requests: receives end in the order in which they began, and the wait also completes the send.
#[test]
fn requests_of_tau_are_matched_by_their_order() {
    let anchor = small().with_file_name("../tau/tau.otf2");
    let trace = otf2::read_with(&anchor, Options { user_regions: false, ..Options::default() }).unwrap();
    let call = |function, enter: u64, exit: u64| {
        Call::new(function, Time((enter - 10) * 1_000_000), Time((exit - 10) * 1_000_000))
    };
    let made = |request, call: Call| Call { request, ..call };
    let expected = vec![
        (made(RequestId(0), with(call(Function::Irecv, 20, 21), 0, 1, 6, 0, 200)), None),
        (made(RequestId(1), with(call(Function::Irecv, 22, 23), 0, 1, 7, 0, 300)), None),
        (made(RequestId(2), with(call(Function::Isend, 24, 26), 0, 1, 5, 100, 0)), None),
        (call(Function::Waitall, 30, 40), requests(&[0, 1, 2], true)),
        (call(Function::Allreduce, 50, 60), None),
    ];
    assert_calls(&trace, 0, expected);
    let expected = vec![
        (made(RequestId(0), with(call(Function::Isend, 20, 21), 0, 0, 6, 200, 0)), None),
        (made(RequestId(1), with(call(Function::Isend, 22, 23), 0, 0, 7, 300, 0)), None),
        (call(Function::Wait, 30, 31), requests(&[0], true)),
        (with(call(Function::Recv, 45, 45), 0, 0, 5, 0, 100), None),
        (call(Function::Allreduce, 50, 50), None),
    ];
    assert_calls(&trace, 1, expected);
    let numbers: Vec<&str> = trace.notes.iter().filter_map(|note| note.split_whitespace().next()).collect();
    assert_eq!(numbers, ["1", "1", "2", "4"], "{:?}", trace.notes);
}
