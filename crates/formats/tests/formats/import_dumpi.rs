//! Traces of DUMPI: files written here byte by byte from the description of the format, and damaged ones.
//!
//! The encoder does not use the reader's tables: the tests contain the numbers of the functions and
//! the order of the fields.

use proptest::prelude::*;
use std::path::Path;
use straggler_formats::import::{self, Format, ImportError, Options, Source, dumpi};
use straggler_model::Time;
use straggler_trace::call::special;
use straggler_trace::{Call, CommId, Details, Function, Matched, RequestId, Trace, WORLD};

const MAGIC: u64 = 0xffaa_dd44_554d_5049;
const INT: u16 = 9;
const DOUBLE: u16 = 14;
const WORLD_COMM: u16 = 2;

/// Sizes of the predefined datatypes, by number.
const SIZES: [u32; 28] =
    [0, 0, 1, 1, 1, 1, 4, 2, 2, 4, 4, 8, 8, 4, 8, 16, 8, 8, 8, 1, 0, 0, 8, 12, 12, 6, 8, 20];

/// Bytes, big-endian.
#[derive(Clone, Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn b(mut self, value: u8) -> Bytes {
        self.0.push(value);
        self
    }
    fn h(mut self, value: u16) -> Bytes {
        self.0.extend(value.to_be_bytes());
        self
    }
    fn i(mut self, value: i32) -> Bytes {
        self.0.extend(value.to_be_bytes());
        self
    }
    fn l(mut self, value: u64) -> Bytes {
        self.0.extend(value.to_be_bytes());
        self
    }
    fn list(self, values: &[i32]) -> Bytes {
        values.iter().fold(self.i(values.len() as i32), |bytes, value| bytes.i(*value))
    }
    fn types(self, values: &[u16]) -> Bytes {
        values.iter().fold(self.i(values.len() as i32), |bytes, value| bytes.h(*value))
    }
    fn text(mut self, text: &str) -> Bytes {
        self = self.i(text.len() as i32);
        self.0.extend(text.bytes());
        self
    }
    /// A list of (bytes, source, cancelled, tag).
    fn statuses(self, statuses: &[(i32, i32, u8, i32)]) -> Bytes {
        let one = |bytes: Bytes, &(size, source, cancelled, tag): &(i32, i32, u8, i32)| {
            bytes.i(size).i(source).b(cancelled).b(0).i(tag)
        };
        statuses.iter().fold(self.i(statuses.len() as i32), one)
    }
}

/// The file of one rank. Calls begin every 100 µs and take 10 µs.
struct File {
    body: Bytes,
    calls: i32,
}

impl File {
    fn new() -> File {
        let body = Bytes::default().l(MAGIC).i(0).i(1_000);
        File { body, calls: 0 }.call(124, |bytes| bytes.i(1).text("program"))
    }

    fn call(mut self, code: u16, fields: impl Fn(Bytes) -> Bytes) -> File {
        let enter = 999_999_000 + self.calls * 100_000;
        let clock = |bytes: Bytes, at: i32| bytes.h((at / 1_000_000_000) as u16).i(at % 1_000_000_000);
        let times = |bytes: Bytes| clock(clock(bytes, enter), enter + 10_000);
        // Statuses, processor and wall times, thread.
        let head = self.body.h(code).b(0b100_1111).h(0);
        self.body = fields(times(head.h(0).i(0).h(0).i(0)));
        self.calls += 1;
        self
    }

    fn source(self, name: &str) -> Source {
        let body = self.call(125, |bytes| bytes).body.h(293);
        let header = body.0.len() as u64;
        let bytes = body.b(1).b(1).b(0).l(1_385_157_238).h(4);
        let bytes = Bytes([bytes.0, b"node".to_vec()].concat()).h(0).i(0).i(0);
        let sizes = bytes.0.len() as u64;
        let bytes = SIZES.iter().fold(bytes.i(28), |bytes, size| bytes.i(*size as i32));
        let index = bytes.l(MAGIC).l(sizes).l(0).l(0).l(header).l(8).l(0).l(0);
        Source { name: name.into(), bytes: index.0 }
    }
}

fn read(files: Vec<File>) -> Result<Trace, ImportError> {
    let sources: Vec<Source> =
        files.into_iter().zip(0..).map(|(file, rank)| file.source(&format!("run-{rank}.bin"))).collect();
    dumpi::read(&sources, None)
}

fn isend(file: File, count: i32, peer: i32, comm: u16, request: i32) -> File {
    file.call(8, |bytes| bytes.i(count).h(DOUBLE).i(peer).i(7).h(comm).i(request))
}

fn irecv(file: File, count: i32, peer: i32, comm: u16, request: i32) -> File {
    file.call(12, |bytes| bytes.i(count).h(DOUBLE).i(peer).i(-1).h(comm).i(request))
}

fn waitall(file: File, requests: &[i32], statuses: &[(i32, i32, u8, i32)]) -> File {
    file.call(18, |bytes| bytes.i(requests.len() as i32).list(requests).statuses(statuses))
}

fn exchange() -> Vec<File> {
    let zero = waitall(
        isend(irecv(File::new(), 10, -1, WORLD_COMM, 2), 5, 1, WORLD_COMM, 3),
        &[3, 1, 2],
        &[(0, 0, 0, 0), (0, 0, 0, 0), (80, 1, 0, 7)],
    );
    let one = waitall(isend(irecv(File::new(), 5, 0, WORLD_COMM, 2), 10, 0, WORLD_COMM, 2), &[2, 2], &[]);
    vec![zero, one]
}

fn call(trace: &Trace, rank: usize, at: usize) -> (&Call, Details) {
    let call = &trace.ranks[rank].calls[at];
    (call, trace.ranks[rank].details(call).cloned().unwrap_or_default())
}

#[test]
fn messages_times_and_requests_are_read() {
    let trace = read(exchange()).unwrap();
    assert_eq!((trace.meta.format.as_str(), trace.meta.program.as_str()), ("DUMPI 1.1.0", "program"));
    assert_eq!(trace.ranks[0].host, "node");
    let (init, _) = call(&trace, 0, 0);
    assert_eq!((init.function, init.enter, init.exit), (Function::Init, Time(0), Time::from_ns(10_000)));
    let (receive, _) = call(&trace, 0, 1);
    assert_eq!(
        (receive.peer, receive.tag, receive.received, receive.comm),
        (special::ANY, special::ANY, 80, WORLD)
    );
    // The clock's second changes between the two.
    assert_eq!((receive.enter, receive.exit), (Time::from_ns(100_000), Time::from_ns(110_000)));
    let (send, _) = call(&trace, 0, 2);
    assert_eq!((send.peer, send.tag, send.sent, send.request), (1, 7, 40, RequestId(1)));
    let (_, waited) = call(&trace, 0, 3);
    assert_eq!(waited.requests[..], [RequestId(1), RequestId(0)], "the null request is left out");
    assert_eq!(waited.completed.len(), 1);
    assert_eq!(
        (waited.completed[0].request, waited.completed[0].matched),
        (RequestId(0), Some(Matched { peer: 1, tag: 7 }))
    );
    assert_eq!(trace.length(), Time::from_ns(410_000));
}

/// The same run as files; rewritten if `UPDATE_FIXTURES` is set.
#[test]
fn any_file_of_the_trace_stands_for_it() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/traces/dumpi");
    for (rank, file) in exchange().into_iter().enumerate() {
        let path = folder.join(format!("exchange-{rank:04}.bin"));
        let written = file.source("").bytes;
        if std::env::var_os("UPDATE_FIXTURES").is_some() {
            std::fs::write(&path, &written).unwrap();
        }
        assert_eq!(std::fs::read(&path).unwrap(), written);
    }
    let mut expected = read(exchange()).unwrap();
    let more = [("fileprefix", "exchange"), ("numprocs", "2")];
    expected.meta.more = more.into_iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    for path in [folder.clone(), folder.join("exchange.meta"), folder.join("exchange-0001.bin")] {
        assert_eq!(import::detect(&path), Some(Format::Dumpi), "{}", path.display());
        assert_eq!(import::read(&path, &Options::default()).unwrap(), expected, "{}", path.display());
    }
}

/// Rank 1's two requests have the same handle; the status of its wildcard was ignored.
#[test]
fn one_handle_for_two_requests() {
    let trace = read(exchange()).unwrap();
    let (_, waited) = call(&trace, 1, 3);
    assert_eq!(waited.requests[..], [RequestId(0), RequestId(1)]);
    assert!(
        trace.notes.iter().any(|note| note.starts_with("1 receives from any source")),
        "{:?}",
        trace.notes
    );
}

/// Four ranks in a grid of two by two (code 99), its rows (code 111); and a split (code 86) in reverse.
#[test]
fn communicators_are_replayed() {
    let rank = |rank: i32| {
        let file = File::new()
            .call(99, |bytes| bytes.h(WORLD_COMM).i(2).list(&[2, 2]).list(&[0, 0]).i(0).h(4))
            .call(111, |bytes| bytes.i(2).h(4).list(&[0, 1]).h(5))
            .call(86, |bytes| bytes.h(WORLD_COMM).i(rank % 2).i(-rank).h(6));
        let file = file.call(52, |bytes| bytes.h(5)).call(52, |bytes| bytes.h(6));
        // Rank 3 frees and uses the number again, for a duplicate (code 84) of the grid.
        file.call(84, |bytes| bytes.h(4).h(if rank == 3 { 5 } else { 7 }))
            .call(52, |bytes| bytes.h(if rank == 3 { 5 } else { 7 }))
    };
    let trace = read((0..4).map(rank).collect()).unwrap();
    let used =
        |rank: usize, at: usize| trace.communicators[call(&trace, rank, at).0.comm.index()].members.clone();
    assert_eq!([used(0, 4), used(1, 4), used(2, 4), used(3, 4)], [[0, 1], [0, 1], [2, 3], [2, 3]]);
    assert_eq!([used(0, 5), used(1, 5), used(2, 5), used(3, 5)], [[2, 0], [3, 1], [2, 0], [3, 1]]);
    assert_eq!(used(3, 7), [0, 1, 2, 3]);
    assert_eq!(call(&trace, 3, 7).0.comm, call(&trace, 0, 7).0.comm);
    let (made, details) = call(&trace, 2, 1);
    assert_eq!((made.function, made.comm, details.new_comm), (Function::Cart_create, WORLD, Some(CommId(1))));
}

/// World group (72) → ranks 2 and 0 (76) → communicator (85), null on rank 1.
#[test]
fn communicators_of_groups() {
    let rank = |rank: i32| {
        let file = File::new()
            .call(72, |bytes| bytes.h(WORLD_COMM).h(3))
            .call(76, |bytes| bytes.h(3).i(2).list(&[2, 0]).h(4))
            .call(85, |bytes| bytes.h(WORLD_COMM).h(4).h(if rank == 1 { 1 } else { 4 }));
        if rank == 1 { file } else { file.call(53, |bytes| bytes.i(3).h(INT).i(1).h(4)) }
    };
    let trace = read((0..3).map(rank).collect()).unwrap();
    assert_eq!(trace.communicators[1].members, [2, 0]);
    assert_eq!(call(&trace, 1, 3).1.new_comm, None);
    let bytes = |rank| (call(&trace, rank, 4).0.sent, call(&trace, rank, 4).0.received);
    assert_eq!([bytes(0), bytes(2)], [(12, 0), (0, 12)], "rank 1 of it is rank 0 of the world");
}

/// A struct (40) of two ints and a vector (36) of three blocks of two doubles: 8 + 48 bytes.
#[test]
fn derived_datatypes_have_sizes() {
    let file = File::new()
        .call(36, |bytes| bytes.i(3).i(2).i(5).h(DOUBLE).h(28))
        .call(40, |bytes| bytes.i(2).list(&[2, 1]).list(&[0, 8]).types(&[INT, 28]).h(29))
        .call(0, |bytes| bytes.i(2).h(29).i(0).i(1).h(WORLD_COMM))
        .call(0, |bytes| bytes.i(2).h(30).i(0).i(1).h(WORLD_COMM));
    let trace = read(vec![file]).unwrap();
    assert_eq!([call(&trace, 0, 1).0.sent, call(&trace, 0, 2).0.sent], [112, 0]);
    assert!(
        trace.notes.iter().any(|note| note.starts_with("1 uses of datatypes of unknown size")),
        "{:?}",
        trace.notes
    );
    assert!(
        trace.notes.iter().any(|note| note.contains("1 MPI_Type_struct, 1 MPI_Type_vector")),
        "{:?}",
        trace.notes
    );
}

/// Gatherv (55) to rank 1, Alltoallv (61), Reduce_scatter (66), Sendrecv (33) with a wildcard.
#[test]
fn collectives_and_both_halves_of_an_exchange() {
    let rank = |own: i32| {
        File::new()
            .call(55, |bytes| {
                let bytes = bytes.i(own).i(2).i(own + 1).h(INT).i(1).h(WORLD_COMM);
                if own == 1 { bytes.list(&[1, 2]).list(&[0, 1]).h(INT) } else { bytes.h(INT) }
            })
            .call(61, |bytes| {
                let bytes = bytes.i(2).list(&[1, 2]).list(&[0, 1]).h(INT).list(&[own + 1; 2]).list(&[0, 1]);
                bytes.h(INT).h(WORLD_COMM)
            })
            .call(66, |bytes| bytes.i(2).list(&[3, 4]).h(DOUBLE).b(3).h(WORLD_COMM))
            .call(33, |bytes| {
                let bytes = bytes.i(1).h(INT).i(1 - own).i(4).i(2).h(INT).i(-1).i(4).h(WORLD_COMM);
                bytes.statuses(&[(4, 1 - own, 0, 4)])
            })
    };
    let trace = read(vec![rank(0), rank(1)]).unwrap();
    let (gather, details) = call(&trace, 1, 1);
    assert_eq!((gather.sent, gather.received, details.received_sizes.clone()), (8, 12, vec![4, 8]));
    let (exchanged, details) = call(&trace, 1, 2);
    assert_eq!(
        (exchanged.sent, &details.sent_sizes[..], &details.received_sizes[..]),
        (12, &[4, 8][..], &[8, 8][..])
    );
    assert_eq!((call(&trace, 0, 3).0.received, call(&trace, 1, 3).0.received), (24, 32));
    let (both, details) = call(&trace, 0, 4);
    assert_eq!((both.peer, both.tag, both.sent, both.received), (1, 4, 4, 8));
    assert_eq!(details.receive, Some(Matched { peer: special::ANY, tag: 4 }));
    assert_eq!(details.matched, Some(Matched { peer: 1, tag: 4 }));
}

/// Test (14) twice, Waitany (16), Waitsome (20), on persistent receives (30) started (32) together.
#[test]
fn tests_waits_and_prepared_requests() {
    let init = |file: File, request| {
        file.call(30, move |bytes| bytes.i(1).h(INT).i(0).i(1).h(WORLD_COMM).i(request))
    };
    let file = (2..5).fold(File::new(), init).call(32, |bytes| bytes.i(3).list(&[2, 3, 4]));
    let file = file
        .call(14, |bytes| bytes.i(2).i(0).statuses(&[]))
        .call(14, |bytes| bytes.i(2).i(1).statuses(&[]))
        .call(16, |bytes| bytes.i(2).list(&[3, 4]).i(1).statuses(&[]))
        .call(20, |bytes| bytes.i(2).list(&[3, 4]).i(1).list(&[0]).statuses(&[]))
        .call(31, |bytes| bytes.i(4));
    let trace = read(vec![file]).unwrap();
    let completed = |at| call(&trace, 0, at).1.completed.iter().map(|done| done.request).collect::<Vec<_>>();
    assert_eq!(
        (call(&trace, 0, 4).0.request, call(&trace, 0, 4).1.requests.to_vec()),
        (RequestId(3), vec![RequestId(0), RequestId(1), RequestId(2)])
    );
    assert_eq!((call(&trace, 0, 5).1.found, completed(5)), (false, vec![]));
    assert_eq!((call(&trace, 0, 6).1.found, completed(6)), (true, vec![RequestId(3)]));
    assert_eq!(completed(7), [RequestId(5)]);
    assert_eq!(
        (call(&trace, 0, 8).1.requests.to_vec(), completed(8)),
        (vec![RequestId(4)], vec![RequestId(4)])
    );
    assert_eq!(
        (call(&trace, 0, 9).0.request, call(&trace, 0, 9).1.requests.to_vec()),
        (RequestId(6), vec![RequestId(2)])
    );
}

#[test]
fn what_is_wrong_is_named_with_rank_and_offset() {
    let error = read(vec![File::new(), File::new().call(300, |bytes| bytes)]).unwrap_err();
    let offset = File::new().body.0.len();
    assert_eq!(error.to_string(), format!("run-1.bin (rank 1), byte {offset}: unknown function code 300"));
    let mut cut = exchange().remove(0).source("run-0.bin");
    cut.bytes.truncate(120);
    let trace = dumpi::read(&[cut], None).unwrap();
    assert_eq!(trace.ranks[0].calls.len(), 2, "up to the last full record");
    assert!(trace.notes.iter().any(|note| note.starts_with("1 files have no index")), "{:?}", trace.notes);
    let meta = Source { name: "run.meta".into(), bytes: b"numprocs=3\nfileprefix=run\n".to_vec() };
    let two: Vec<Source> = exchange().into_iter().map(|file| file.source("run")).collect();
    assert!(matches!(dumpi::read(&two, Some(&meta)), Err(ImportError::MissingRank { rank: 2, ranks: 3 })));
}

/// Rank 1 never makes the communicator that rank 0 waits for.
#[test]
fn a_communicator_not_made_by_all_is_noted() {
    let dup = File::new().call(84, |bytes| bytes.h(WORLD_COMM).h(4)).call(52, |bytes| bytes.h(4));
    let trace = read(vec![dup, File::new()]).unwrap();
    let (lost, details) = call(&trace, 0, 2);
    assert_eq!((lost.function, details.text.as_deref()), (Function::Unknown, Some("MPI_Barrier")));
    assert!(
        trace.notes.iter().any(|note| note.starts_with("1 calls on such communicators")),
        "{:?}",
        trace.notes
    );
}

proptest! {
    #[test]
    fn damaged_files_never_panic(
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut sources: Vec<Source> = exchange().into_iter().map(|file| file.source("run")).collect();
        let bytes = &mut sources[0].bytes;
        for (at, byte) in edits {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if cut.index(3) == 0 {
            bytes.truncate(cut.index(bytes.len()));
        }
        let _ = dumpi::read(&sources, None);
    }

    /// Records of any function with any fields.
    #[test]
    fn records_of_any_bytes_never_panic(codes in prop::collection::vec((0..294u16, prop::collection::vec(0..6u8, 0..60)), 1..6)) {
        let add = |file: File, (code, fields): &(u16, Vec<u8>)| {
            file.call(*code, |bytes| fields.iter().fold(bytes, |bytes, byte| bytes.b(*byte)))
        };
        let file = codes.iter().fold(File::new(), add);
        let _ = read(vec![file, File::new()]);
    }
}
