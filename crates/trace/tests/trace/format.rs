//! The format of traces: what is written is read back, and damage is reported.

use proptest::prelude::*;
use straggler_model::Time;
use straggler_trace::call::{NO_COMM, special};
use straggler_trace::format::assemble::{Severity, assemble};
use straggler_trace::format::block::HEADER;
use straggler_trace::format::read::{Ending, Fault, read};
use straggler_trace::format::save::stream;
use straggler_trace::sites::{Module, NO_SITE, Unifier};
use straggler_trace::trace::Usage;
use straggler_trace::{
    Call, Class, CommId, Communicator, Completed, Details, Function, Matched, Meta, RankTrace, Rare,
    Repeated, RequestId, Trace,
};

fn peer() -> impl Strategy<Value = i32> + Clone {
    prop_oneof![0..40i32, Just(special::ANY), Just(special::NOBODY), Just(special::NONE), Just(i32::MAX)]
}

fn details() -> impl Strategy<Value = Details> {
    let matched = (peer(), peer()).prop_map(|(peer, tag)| Matched { peer, tag });
    let lists = (
        prop::collection::vec((0u32..200).prop_map(RequestId), 0..12),
        prop::collection::vec((0usize..12, prop::option::of(matched.clone()), any::<bool>()), 0..4),
        prop::collection::vec(prop_oneof![Just(8u64), any::<u64>()], 0..6),
        prop::collection::vec(0u64..3, 0..300),
        prop::collection::vec((0usize..12, any::<u64>()), 0..4),
    );
    let singles = (
        any::<bool>(),
        prop::option::of(matched.clone()),
        prop::option::of(matched),
        prop::option::of((1u64..1000, any::<u32>())),
        prop::option::of((0u32..3).prop_map(CommId)),
        prop::option::of(any::<u32>()),
        prop::option::of("[a-z ü]{0,300}"),
        prop::option::of(prop_oneof![1i32..99, -5i32..0]),
        prop::option::of(any::<bool>()),
    );
    (lists, singles).prop_map(|((requests, completed, sent_sizes, received_sizes, lengths), singles)| {
        let (found, matched, receive, repeated, new_comm, window, text, error, recording) = singles;
        let lengths = lengths.into_iter().filter_map(|(place, bytes)| Some((*requests.get(place)?, bytes)));
        let completed = completed.into_iter().filter_map(|(place, matched, cancelled)| {
            // The first of equal requests, since a list has each once.
            let request = *requests.get(place)?;
            Some(Completed { request, matched, cancelled })
        });
        Details {
            completed: completed.collect(),
            requests: requests.clone().into(),
            found,
            matched,
            receive,
            // This format does not record moments.
            moment: None,
            rare: Rare {
                repeated: repeated.map(|(calls, inside)| Repeated { calls, inside: Time(u64::from(inside)) }),
                sent_sizes,
                received_sizes,
                lengths: lengths.collect(),
                recording,
                new_comm,
                message: window.map(|window| window / 2),
                window,
                text,
                error,
                ..Rare::default()
            }
            .into(),
        }
    })
}

type Parts = ((usize, u64, u64, u16), (CommId, i32, i32, u64, u64), u32, Option<Details>);

fn parts() -> impl Strategy<Value = Parts> {
    (
        (0..Function::ALL.len(), 0u64..1 << 34, 0u64..1 << 30, 0u16..3),
        (prop_oneof![(0u32..3).prop_map(CommId), Just(NO_COMM)], peer(), peer(), any::<u64>(), 0u64..5000),
        0u32..5,
        prop::option::of(details()),
    )
}

fn rank_trace(parts: Vec<Parts>) -> RankTrace {
    let mut rank = RankTrace { host: "node 7".into(), cores: vec![3, 5], ..RankTrace::default() };
    rank.clock.error = Some(Time::ZERO);
    rank.unknown.insert("MPI_Later".into(), 3);
    let mut time = 0;
    let mut request = 0;
    for ((function, gap, length, thread), (comm, peer, tag, sent, received), skip, details) in parts {
        let function = Function::ALL[function];
        time += gap;
        let mut call = Call::new(function, Time(time), Time(time + length));
        (call.thread, call.comm, call.peer, call.tag) = (thread, comm, peer, tag);
        (call.sent, call.received) = (sent, received);
        let begun = details.as_ref().map_or(0, |details| details.requests.len() as u32);
        let made = if function.class() == Class::Begin { begun } else { u32::from(function.makes_request()) };
        if made > 0 {
            call.request = RequestId(request + skip);
            request += skip + made;
        }
        let unknown = function == Function::Unknown;
        match details {
            Some(mut details) => {
                if unknown && details.text.is_none() {
                    details.rare.text = Some("?".into());
                }
                if details == Details::default() { rank.push(call) } else { rank.push_with(call, details) }
            }
            None if unknown => rank.push_with(call, Details::named("?")),
            None => rank.push(call),
        }
    }
    rank
}

fn trace() -> impl Strategy<Value = Trace> {
    prop::collection::vec(prop::collection::vec(parts(), 0..60), 1..4).prop_map(|ranks| {
        let mut ranks: Vec<RankTrace> = ranks.into_iter().map(rank_trace).collect();
        // The clock of a trace begins with its first call.
        let starts = ranks.iter().filter_map(|rank| rank.calls.first()).map(|call| call.enter);
        let zero = starts.min().unwrap_or_default();
        for call in ranks.iter_mut().flat_map(|rank| &mut rank.calls) {
            (call.enter, call.exit) = (call.enter.since(zero), call.exit.since(zero));
        }
        let size = ranks.len() as u32;
        let part = Communicator {
            members: vec![2, 1],
            parent: Some(CommId(0)),
            name: "split".into(),
            ..Communicator::default()
        };
        let meta = Meta { format: "made up".into(), program: "a program".into(), ..Meta::default() };
        Trace {
            meta,
            ranks,
            communicators: vec![Communicator::world(size), part],
            notes: vec!["a note".into()],
            ..Trace::default()
        }
    })
}

/// The calls with their details. Details lie in the order of the stream, which goes by thread, so
/// they are compared by content.
fn calls(trace: &Trace) -> Vec<Vec<(Call, Option<Details>)>> {
    let of_rank = |rank: &RankTrace| {
        let calls = rank.calls.iter().map(|call| (Call { details: 0, ..*call }, rank.details(call).cloned()));
        let mut calls: Vec<_> = calls.collect();
        calls.sort_by_key(|(call, _)| (call.enter, call.thread));
        calls
    };
    trace.ranks.iter().map(of_rank).collect()
}

/// Gives each call of a trace a place, or none; some ranks get none at all.
fn place_calls(trace: &mut Trace, places: &[(usize, u64)], without: usize) {
    let module =
        |name: &str, build_id: &[u8]| Module { path: name.into(), build_id: build_id.into(), function: None };
    let modules =
        [module("/bin/solve", &[1, 200, 3]), module("/lib/ü.so", &[]), module("/lib/x.so", &[9; 20])];
    let mut unifier = Unifier::default();
    for (number, rank) in trace.ranks.iter_mut().enumerate().filter(|&(number, _)| number != without) {
        let of_call = |call: usize| match places.get((call + number) % (places.len() + 1)) {
            Some(&(module, offset)) => unifier.site(&modules[module], offset),
            None => NO_SITE,
        };
        rank.sites = (0..rank.calls.len()).map(of_call).collect();
    }
    trace.call_sites = unifier.finish();
}

/// Where each call was made, independent of how places are numbered; calls by thread, as in `told`.
fn places(trace: &Trace) -> Vec<Vec<Option<(String, u64)>>> {
    let of_rank = |rank: &RankTrace| {
        let of_call = |(number, call): (usize, &Call)| {
            let place = rank.site(number).and_then(|site| trace.call_sites.get(site));
            ((call.enter, call.thread), place.map(|(module, offset)| (module.path.clone(), offset)))
        };
        let mut calls: Vec<_> = rank.calls.iter().enumerate().map(of_call).collect();
        calls.sort_by_key(|&(order, _)| order);
        calls.into_iter().map(|(_, place)| place).collect()
    };
    trace.ranks.iter().map(of_rank).collect()
}

proptest! {

    #[test]
    fn places_of_calls_come_back(
        mut trace in trace(),
        sites in prop::collection::vec((0usize..3, any::<u64>()), 0..9),
        without in 0usize..4,
    ) {
        place_calls(&mut trace, &sites, without);
        let streams = (0..trace.processes()).map(|rank| read(&stream(&trace, rank), 0).0);
        let (back, findings) = assemble(streams.collect());
        prop_assert_eq!(&findings, &[]);
        prop_assert_eq!(calls(&back), calls(&trace));
        prop_assert_eq!(places(&back), places(&trace));
        for (back, rank) in back.ranks.iter().zip(&trace.ranks) {
            prop_assert_eq!(back.sites.len(), rank.sites.len());
        }
    }

    #[test]
    fn a_trace_comes_back(trace in trace()) {
        let streams = (0..trace.processes()).map(|rank| {
            let bytes = stream(&trace, rank);
            let (stream, length) = read(&bytes, 0);
            assert_eq!(length, bytes.len());
            stream
        });
        let (back, findings) = assemble(streams.collect());
        prop_assert_eq!(&findings, &[]);
        prop_assert_eq!(calls(&back), calls(&trace));
        prop_assert_eq!(&back.communicators, &trace.communicators);
        prop_assert_eq!(&back.meta, &trace.meta);
        prop_assert_eq!(&back.notes, &trace.notes);
        for (back, rank) in back.ranks.iter().zip(&trace.ranks) {
            prop_assert_eq!((&back.host, &back.cores, &back.unknown), (&rank.host, &rank.cores, &rank.unknown));
        }
    }

    #[test]
    fn a_damaged_stream_is_noticed(trace in trace(), place: prop::sample::Index, value: u8, cut: bool) {
        let mut bytes = stream(&trace, 0);
        let at = place.index(bytes.len());
        if cut {
            bytes.truncate(at);
        } else if bytes[at] == value {
            return Ok(());
        } else {
            bytes[at] = value;
        }
        let mut streams = Vec::new();
        let mut start = 0;
        while start < bytes.len() {
            let (stream, length) = read(&bytes[start..], start as u64);
            start += length.max(1);
            streams.push(stream);
        }
        let whole = streams.iter().all(|stream| stream.problems.is_empty() && stream.ending.is_some());
        prop_assert!(!whole || streams.is_empty(), "nothing was said about byte {at}");
        assemble(streams);
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes: Vec<u8>) {
        let (stream, _) = read(&bytes, 0);
        prop_assert!(!stream.problems.is_empty());
    }
}

fn small(ranks: u32) -> Trace {
    let mut rank = RankTrace::default();
    for at in 0..4 {
        rank.push(Call::new(Function::Barrier, Time(at * 10), Time(at * 10 + 5)));
    }
    let meta = Meta { program: "small".into(), ..Meta::default() };
    Trace {
        meta,
        ranks: vec![rank; ranks as usize],
        communicators: vec![Communicator::world(ranks)],
        ..Trace::default()
    }
}

fn findings(streams: &[Vec<u8>]) -> Vec<(Option<u32>, Option<u64>, Severity, String)> {
    let streams = streams.iter().map(|bytes| read(bytes, 0).0).collect();
    let (_, findings) = assemble(streams);
    findings.into_iter().map(|found| (found.rank, found.offset, found.severity, found.what)).collect()
}

#[test]
fn a_missing_rank_two_of_one_and_one_of_another_run() {
    let three = small(3);
    let found = findings(&[stream(&three, 0), stream(&three, 2)]);
    assert_eq!(found, [(Some(1), None, Severity::Error, "there is no stream of this rank".into())]);
    let found = findings(&[stream(&three, 0), stream(&three, 1), stream(&three, 2), stream(&three, 1)]);
    assert_eq!(found, [(Some(1), None, Severity::Error, "there are two streams of this rank".into())]);
    let mut other = small(3);
    other.meta.more.insert("run".into(), "0badcafe".into());
    let found = findings(&[stream(&three, 0), stream(&other, 1), stream(&three, 2)]);
    assert_eq!(found[0].0, Some(1));
    assert!(found[0].3.starts_with("belongs to another run"), "{found:?}");
    assert_eq!(found[1].3, "there is no stream of this rank");
}

#[test]
fn a_cut_stream_keeps_its_whole_blocks() {
    let mut trace = small(1);
    let many = (0..40_000).map(|at| Call::new(Function::Barrier, Time(at * 100_000), Time(at * 100_000 + 9)));
    trace.ranks[0].calls = many.collect();
    let whole = stream(&trace, 0);
    let (stream, _) = read(&whole[..whole.len() * 2 / 3], 0);
    assert!(stream.calls.len() > 10_000 && stream.calls.len() < 30_000, "{}", stream.calls.len());
    let told = stream.problems.iter().map(|problem| &problem.what).collect::<Vec<_>>();
    assert!(matches!(told[..], [Fault::Cut { .. }]), "{told:?}");
    assert_eq!(stream.calls[..], trace.ranks[0].calls[..stream.calls.len()]);
}

#[test]
fn a_version_from_the_future_is_named() {
    let mut bytes = stream(&small(1), 0);
    bytes[4] = 9;
    let found = findings(&[bytes]);
    assert!(found[0].3.contains("version 9") && found[0].3.contains("newer straggler"), "{found:?}");
    assert_eq!(found[0].1, Some(0));
}

#[test]
fn a_missing_block_is_named_with_its_place() {
    let bytes = stream(&small(1), 0);
    let length =
        |at: usize| HEADER + u32::from_le_bytes(bytes[at + 16..at + 20].try_into().unwrap()) as usize;
    let (first, second) = (length(0), length(length(0)));
    let without = [&bytes[..first], &bytes[first + second..]].concat();
    let found = findings(&[without]);
    assert_eq!(found, [(Some(0), Some(first as u64), Severity::Error, "blocks 1 to 1 are missing".into())]);
}

#[test]
fn halo_exchanges_take_few_bytes() {
    let mut rank = RankTrace::default();
    let mut time = 0;
    let mut request = 0;
    for _ in 0..2000 {
        for neighbor in 0..8 {
            let function = if neighbor < 4 { Function::Irecv } else { Function::Isend };
            time += 1_500_000;
            let mut call = Call::new(function, Time(time), Time(time + 700_000));
            (call.comm, call.peer, call.tag, call.sent, call.request) =
                (CommId(0), neighbor % 4, 7, 8192, RequestId(request));
            request += 1;
            rank.push(call);
        }
        time += 2_000_000;
        let requests = (request - 8..request).map(RequestId).collect();
        let call = Call::new(Function::Waitall, Time(time), Time(time + 30_000_000));
        rank.push_with(call, Details { requests, ..Details::default() });
        time += 1_000_000_000;
    }
    let trace = Trace { ranks: vec![rank], communicators: vec![Communicator::world(1)], ..Trace::default() };
    // Picoseconds take ten bits more than a recorder's ticks.
    let bytes = stream(&trace, 0).len() as f64 / trace.calls() as f64;
    assert!(bytes < 11.0, "{bytes} bytes a call");
}

/// A damaged head must not cost memory or time for ranks that do not exist.
#[test]
fn ranks_that_are_claimed_and_not_there_are_bounded() {
    let (mut stream, _) = read(&stream(&small(1), 0), 0);
    for claimed in [1_000_000, 4_000_000_000] {
        stream.head.size = claimed;
        stream.head.communicators = None;
        let (trace, findings) = assemble(vec![stream.clone()]);
        assert_eq!(trace.ranks.len(), 4096);
        assert_eq!(trace.ranks[0].calls.len(), small(1).ranks[0].calls.len());
        let told = format!(
            "of a run of {claimed} processes, but only 1 are present: ranks from 4096 on are ignored"
        );
        assert!(findings.iter().any(|finding| finding.what.contains(&told)), "{findings:?}");
        assert!(findings.len() < 100);
    }
}

#[test]
fn what_a_process_got_of_the_processor_comes_back() {
    let mut trace = small(2);
    let usage = Usage { wall: Time(5_000_000), cpu: Time(3_000_000), preemptions: 7, waiting: None };
    trace.ranks[0].usage = Some(usage);
    trace.ranks[1].usage = Some(Usage { waiting: Some(Time(2_000_000)), ..usage });
    let streams = (0..2).map(|rank| read(&stream(&trace, rank), 0).0).collect();
    let found: Vec<_> = assemble(streams).0.ranks.iter().map(|rank| rank.usage).collect();
    assert_eq!(found, [trace.ranks[0].usage, trace.ranks[1].usage]);
}

#[test]
fn a_full_disk_is_no_killed_process() {
    let (mut stream, _) = read(&stream(&small(1), 0), 0);
    stream.ending = Some(Ending::Unwritable(28));
    let (_, findings) = assemble(vec![stream]);
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!(findings[0].severity, Severity::Error);
    assert!(findings[0].what.contains("No space left on device"), "{findings:?}");
    assert!(!findings[0].is_about_the_end());
}

/// Programs that know only version 1 can read streams without call sites.
#[test]
fn only_places_of_calls_need_version_2() {
    let versions = |trace: &Trace| {
        let (bytes, mut at, mut found) = (stream(trace, 0), 0, Vec::new());
        while at < bytes.len() {
            found.push(bytes[at + 4]);
            at += HEADER + u32::from_le_bytes(bytes[at + 16..at + 20].try_into().unwrap()) as usize;
        }
        (found, read(&bytes, 0).0.head.version)
    };
    let mut trace = small(1);
    assert_eq!(versions(&trace), (vec![1, 1, 1], 1));
    place_calls(&mut trace, &[(0, 5)], 9);
    assert_eq!(versions(&trace), (vec![1, 2, 2, 1], 2));
}
