//! Traces of liballprof: a run of two ranks worked out by hand, and damaged files.

use proptest::prelude::*;
use std::path::{Path, PathBuf};
use straggler_formats::import::{self, Format, ImportError, Options, Source, allprof};
use straggler_model::Time;
use straggler_trace::call::special;
use straggler_trace::{Call, Function, RequestId, Trace, WORLD};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/traces/allprof")
}

fn exchange() -> Trace {
    import::read(&fixtures(), &Options::default()).unwrap()
}

fn find(trace: &Trace, rank: usize, function: Function) -> Call {
    *trace.ranks[rank].calls.iter().find(|call| call.function == function).unwrap()
}

const fn us(thousandths: u64) -> Time {
    Time(thousandths * 1_000)
}

/// Rank 1's clock shows 900 µs when rank 0's shows 1000, and 1000 when it shows 1102: its time t is
/// 1000 + 1.02 (t − 900) on the clock of the run, and the run begins at 1000.
#[test]
fn clocks_are_aligned_exactly() {
    let trace = exchange();
    let send = find(&trace, 1, Function::Send);
    assert_eq!((send.enter, send.exit), (us(5_100), us(20_400)));
    let receive = find(&trace, 0, Function::Irecv);
    assert_eq!((receive.enter, receive.exit), (us(10_000), us(11_250)));
    assert_eq!(find(&trace, 1, Function::Finalize).exit, us(102_000));
    assert_eq!(trace.length(), us(102_000));
    assert_eq!(trace.ranks[1].clock.offset_ps, 100_000_000);
    assert_eq!(trace.ranks[1].clock.drift_ppm, -20_000.0);
}

#[test]
fn messages_requests_and_collectives_are_read() {
    let trace = exchange();
    assert_eq!(trace.ranks.iter().map(|rank| rank.host.as_str()).collect::<Vec<_>>(), ["alpha", "beta"]);
    let (isend, irecv) = (find(&trace, 0, Function::Isend), find(&trace, 0, Function::Irecv));
    assert_eq!(
        (isend.peer, isend.tag, isend.sent, isend.comm, isend.request),
        (1, 9, 40, WORLD, RequestId(1))
    );
    assert_eq!((irecv.peer, irecv.tag, irecv.received, irecv.request), (1, 7, 800, RequestId(0)));
    let wait = find(&trace, 0, Function::Waitall);
    let details = trace.ranks[0].details(&wait).unwrap();
    assert_eq!((details.requests.as_slice(), details.found), ([RequestId(0), RequestId(1)].as_slice(), true));
    assert_eq!(find(&trace, 1, Function::Recv).peer, special::ANY);
    let bcast =
        |rank| (find(&trace, rank, Function::Bcast).sent, find(&trace, rank, Function::Bcast).received);
    assert_eq!([bcast(0), bcast(1)], [(12, 0), (0, 12)]);
    let gather = find(&trace, 0, Function::Gatherv);
    assert_eq!((gather.sent, gather.received, gather.peer), (16, 40, 0));
    assert_eq!(trace.ranks[0].details(&gather).unwrap().received_sizes, [16, 24]);
    let other = find(&trace, 1, Function::Gatherv);
    assert_eq!((other.sent, other.received), (24, 0));
    assert!(trace.ranks[1].details(&other).is_none_or(|details| details.received_sizes.is_empty()));
    assert_eq!(trace.ranks[0].unknown["MPI_Comm_rank"], 1);
    assert_eq!(trace.notes.len(), 2, "{:?}", trace.notes);
}

#[test]
fn any_file_of_the_trace_stands_for_it() {
    let one = fixtures().join("exchange-rank-1.txt");
    assert_eq!(import::detect(&one), Some(Format::Allprof));
    assert_eq!(import::read(&one, &Options::default()).unwrap(), exchange());
}

fn source(lines: &str) -> Source {
    Source { name: "rank-0.txt".into(), bytes: format!("MPI_Init:-:1:2:0\n{lines}").into_bytes() }
}

fn alone(lines: &str) -> Trace {
    allprof::read(&[source(lines)]).unwrap()
}

fn requests(trace: &Trace, at: usize) -> Vec<RequestId> {
    trace.ranks[0].details(&trace.ranks[0].calls[at]).unwrap().requests.to_vec()
}

const ISEND: &str = "MPI_Isend:1:0:1:1,4,4:0:0:0,0,1:";

/// MPICH's requests take 4 bytes: the array at 400 holds those at 400, 404 and 408.
#[test]
fn arrays_of_small_requests_are_recognised() {
    let trace =
        alone(&format!("{ISEND}404:2\n{ISEND}400:3\n{ISEND}408:4\n{ISEND}412:4\nMPI_Waitall:5:3:400:0:6\n"));
    assert_eq!(requests(&trace, 5), [1, 0, 2].map(RequestId));
    let wide = alone(&format!("{ISEND}408:2\n{ISEND}400:3\nMPI_Waitall:5:2:400:0:6\n"));
    assert_eq!(requests(&wide, 3), [1, 0].map(RequestId));
}

#[test]
fn an_array_of_copies_waits_for_the_oldest() {
    let trace =
        alone(&format!("{ISEND}8:2\n{ISEND}8:3\n{ISEND}8:4\nMPI_Waitall:5:2:9000:0:6\nMPI_Wait:7:8:0:8\n"));
    assert_eq!(requests(&trace, 4), [0, 1].map(RequestId));
    assert_eq!(requests(&trace, 5), [2].map(RequestId));
    assert!(
        trace.notes.iter().any(|note| note.starts_with("1 waits name unknown requests")),
        "{:?}",
        trace.notes
    );
}

/// The first test is followed by another, the second by a new request in the same variable.
#[test]
fn the_last_test_succeeded() {
    let again = ISEND.replace("Isend:1:", "Isend:5:");
    let trace =
        alone(&format!("{ISEND}8:2\nMPI_Test:3:8:0:0:3\nMPI_Test:4:8:0:0:4\n{again}8:5\nMPI_Wait:6:8:0:7\n"));
    let found = |at: usize| trace.ranks[0].details(&trace.ranks[0].calls[at]).unwrap().found;
    assert_eq!([found(2), found(3)], [false, true]);
    assert_eq!(requests(&trace, 5), [1].map(RequestId));
}

#[test]
fn prepared_requests_are_begun_and_waited_for() {
    let trace = alone(
        "MPI_Send_init:1:0:1:1,4,4:0:0:0,0,1:16:2\nMPI_Recv_init:1:0:1:1,4,4:0:0:0,0,1:24:2\n\
         MPI_Startall:3:2:16:3\nMPI_Waitall:4:2:16:0:5\nMPI_Start:6:24:6\nMPI_Wait:7:24:0:8\n",
    );
    assert_eq!(
        (requests(&trace, 3), trace.ranks[0].calls[3].request),
        (vec![RequestId(0), RequestId(1)], RequestId(2))
    );
    assert_eq!(requests(&trace, 4), [2, 3].map(RequestId));
    assert_eq!((requests(&trace, 5), trace.ranks[0].calls[5].request), (vec![RequestId(1)], RequestId(4)));
    assert_eq!(requests(&trace, 6), [4].map(RequestId));
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    let wrong = |lines: &str| allprof::read(&[source(lines)]).unwrap_err().to_string();
    assert_eq!(wrong("MPI_Send:1:2"), "rank-0.txt, line 2: MPI_Send has 0 arguments here, expected 6");
    assert_eq!(wrong("\nMPI_Barrier:x:0,0,1:2"), "rank-0.txt, line 3: 'x' is not a time in microseconds");
    assert_eq!(
        wrong("MPI_Barrier:1:0,1,1:2"),
        "rank-0.txt, line 2: '0,1,1' is not a communicator (id,rank,size)"
    );
    assert_eq!(wrong("hello:1:2"), "rank-0.txt, line 2: 'hello' is not an MPI function");
    assert_eq!(
        wrong("MPI_Barrier:1:0,0,4:2"),
        "rank 1 of 4 has no file: add it, the trace needs the files of all ranks"
    );
    let folder = tempfile::tempdir().unwrap();
    let first = "exchange-rank-0.txt";
    std::fs::copy(fixtures().join(first), folder.path().join(first)).unwrap();
    let error = import::read(folder.path(), &Options::default()).unwrap_err().to_string();
    assert_eq!(
        error,
        format!(
            "{}: rank 1 of 2 has no file: add it, the trace needs the files of all ranks",
            folder.path().display()
        )
    );
    let missing = fixtures().join("none");
    assert!(matches!(import::read(&missing, &Options::default()), Err(ImportError::Io { .. })));
}

proptest! {
    #[test]
    fn damaged_files_never_panic(
        rank in 0..2usize,
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in any::<prop::sample::Index>(),
    ) {
        let files = ["exchange-rank-0.txt", "exchange-rank-1.txt"];
        let load = |name: &&str| Source { name: name.to_string(), bytes: std::fs::read(fixtures().join(name)).unwrap() };
        let mut sources: Vec<Source> = files.iter().map(load).collect();
        let bytes = &mut sources[rank].bytes;
        for (at, byte) in edits {
            let at = at.index(bytes.len());
            // Digits and separators get further into the parser than arbitrary bytes.
            bytes[at] = if byte < 128 { b"0123456789:,.-\n#"[usize::from(byte % 16)] } else { byte };
        }
        if cut.index(4) == 0 {
            bytes.truncate(cut.index(bytes.len()));
        }
        let _ = allprof::read(&sources);
    }

    #[test]
    fn lines_of_any_arguments_never_panic(lines in prop::collection::vec("MPI_(Wait|Waitall|Isend|Alltoallv|Testany|Startall|Gatherv):[0-9]{1,30}(:[0-9,-]{0,20}){0,12}:[0-9]{1,3}", 0..6)) {
        let _ = allprof::read(&[source(&lines.join("\n"))]);
    }
}
