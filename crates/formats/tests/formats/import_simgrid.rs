//! Time-independent traces: two ranks worked out by hand, both grammars, and damaged files.

use proptest::prelude::*;
use std::path::{Path, PathBuf};
use straggler_formats::import::{self, Format, ImportError, Options, Source, simgrid};
use straggler_model::Time;
use straggler_trace::call::special;
use straggler_trace::{Call, Details, Function, Matched, RequestId, Trace};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/traces/simgrid")
}

fn ring() -> Trace {
    import::read(&fixtures().join("ring.txt"), &Options::default()).unwrap()
}

fn details<'a>(trace: &'a Trace, rank: usize, call: &Call) -> &'a Details {
    trace.ranks[rank].details(call).unwrap()
}

fn merged(text: &str) -> Result<Trace, ImportError> {
    simgrid::read(&[Source { name: "all.txt".into(), bytes: text.as_bytes().to_vec() }], 1e9)
}

/// At 1 flop/ns: 2 ms until the messages, half a millisecond between them and the waits, a microsecond for the
/// reduction, a millisecond of sleep.
#[test]
fn computations_advance_the_clock_and_calls_do_not() {
    let trace = ring();
    let moments: Vec<u64> = trace.ranks[0].calls.iter().map(|call| call.enter.ps() / 1_000_000).collect();
    assert_eq!(moments, [0, 2_000, 2_000, 2_500, 2_500, 2_500, 2_500, 2_501, 3_501]);
    assert!(trace.ranks.iter().flat_map(|rank| &rank.calls).all(|call| call.enter == call.exit));
    assert_eq!(trace.length(), Time(3_501_000_000));
    let fast = Options { flops_per_second: 2e9, ..Options::default() };
    let twice = import::read(&fixtures().join("ring.txt"), &fast).unwrap();
    assert_eq!(twice.length(), Time(1_000_000_000 + 250_000_000 + 500_000 + 1_000_000_000));
    let none = Options { flops_per_second: 0.0, ..Options::default() };
    assert!(matches!(import::read(&fixtures(), &none), Err(ImportError::FlopRate(_))));
}

#[test]
fn actions_become_calls() {
    let trace = ring();
    let calls = &trace.ranks[0].calls;
    let names: Vec<Function> = calls.iter().map(|call| call.function).collect();
    use Function::*;
    assert_eq!(names, [Init, Isend, Irecv, Wait, Wait, Bcast, Allreduce, Alltoallv, Finalize]);
    assert_eq!((calls[1].peer, calls[1].tag, calls[1].sent, calls[1].request), (1, 5, 100, RequestId(0)));
    assert_eq!(
        (calls[2].peer, calls[2].tag, calls[2].received, calls[2].request),
        (special::ANY, 7, 80, RequestId(1))
    );
    assert_eq!(details(&trace, 0, &calls[3]).requests[..], [RequestId(0)]);
    let waited = details(&trace, 0, &calls[4]);
    assert_eq!(waited.completed[0].matched, Some(Matched { peer: 1, tag: 7 }));
    assert_eq!((calls[5].sent, calls[5].received, calls[5].peer), (0, 16, 1));
    assert_eq!((calls[6].sent, calls[6].received), (24, 24));
    assert_eq!(details(&trace, 0, &calls[7]).sent_sizes, [4, 8]);
    assert_eq!(details(&trace, 0, &calls[7]).received_sizes, [3, 4]);
    let other = &trace.ranks[1].calls;
    assert_eq!(
        (other[3].function, details(&trace, 1, &other[3]).requests.as_slice()),
        (Waitall, [RequestId(0)].as_slice())
    );
    assert_eq!((other[4].sent, other[4].received), (16, 0));
    assert_eq!(trace.notes.len(), 2, "{:?}", trace.notes);
}

#[test]
fn index_folder_and_merged_file_are_the_same_trace() {
    assert_eq!(import::detect(&fixtures().join("ring.txt")), Some(Format::SimGrid));
    assert_eq!(import::read(&fixtures(), &Options::default()).unwrap(), ring());
    let text = ["rank-1.actions", "rank-0.actions"]
        .map(|name| std::fs::read_to_string(fixtures().join(name)).unwrap());
    assert_eq!(merged(&text.concat()).unwrap(), ring());
}

#[test]
fn collectives_with_counts_for_each_rank() {
    let trace = merged(
        "0 init\n1 init\n2 init\n0 gatherv 5 5 10 15 1 1 4\n1 gatherv 10 5 10 15 1 1 4\n2 gatherv 15 5 10 15 1 1 4\n\
         0 scatterv 1 2 3 1 0\n1 scatterv 1 2 3 2 0\n2 scatterv 1 2 3 3 0\n\
         0 allgatherv 5 5 6 7 1\n1 allgatherv 6 5 6 7 1\n2 allgatherv 7 5 6 7 1\n\
         0 reducescatter 5 6 7 2e3 5\n1 reducescatter 5 6 7 2e3 5\n2 reducescatter 5 6 7 2e3 5\n\
         0 finalize\n1 finalize\n2 finalize\n",
    )
    .unwrap();
    let amounts = |rank: usize| -> Vec<(u64, u64)> {
        trace.ranks[rank].calls[1..5].iter().map(|call| (call.sent, call.received)).collect()
    };
    assert_eq!(amounts(0), [(20, 0), (6, 1), (20, 72), (72, 20)]);
    assert_eq!(amounts(1), [(40, 240), (0, 2), (24, 72), (72, 24)]);
    assert_eq!(details(&trace, 1, &trace.ranks[1].calls[1]).received_sizes, [40, 80, 120]);
    assert_eq!(trace.length(), Time(2_000_000));
}

/// From before tags: a wait is for the last request.
#[test]
fn the_old_grammar_is_recognised() {
    let trace = merged(
        "0 init\n1 init\n0 Isend 1 1e3\n0 Isend 1 2e3\n0 wait\n0 waitAll\n1 recv 0 1e3\n1 recv 0 2e3\n",
    )
    .unwrap();
    let calls = &trace.ranks[0].calls;
    assert_eq!((calls[2].sent, calls[2].tag), (2_000, 0));
    assert_eq!(details(&trace, 0, &calls[3]).requests[..], [RequestId(1)]);
    assert_eq!(details(&trace, 0, &calls[4]).requests[..], [RequestId(0)]);
    assert!(trace.notes.iter().any(|note| note.contains("no tags")));
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    let wrong = |text: &str| merged(text).unwrap_err().to_string();
    assert_eq!(wrong("0 init\n0 fly 3"), "all.txt, line 2: unknown action 'fly'");
    assert_eq!(wrong("0 init\n\n0 send 4 0 10"), "all.txt, line 3: 4 is not a rank of 1");
    assert_eq!(wrong("0 compute -1"), "all.txt, line 1: '-1' is not an amount");
    assert_eq!(wrong("0 bcast"), "all.txt, line 1: bcast needs more than its 0 parameters");
    assert_eq!(wrong("0 bcast 1 0 99"), "all.txt, line 1: '99' is not an SMPI datatype");
    assert_eq!(wrong("x init"), "all.txt, line 1: 'x' is not a rank");
    assert!(wrong("0 init\n7 init").starts_with("rank 1 of 8 has no file"));
    assert_eq!(wrong(""), "all.txt: no rank does anything");
}

proptest! {
    #[test]
    fn damaged_files_never_panic(edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        let text = ["rank-0.actions", "rank-1.actions"].map(|name| std::fs::read(fixtures().join(name)).unwrap());
        let mut bytes = text.concat();
        for (at, byte) in edits {
            let at = at.index(bytes.len());
            bytes[at] = if byte < 128 { b"0123456789 e.-\nwv"[usize::from(byte % 17)] } else { byte };
        }
        let _ = simgrid::read(&[Source { name: "all".into(), bytes }], 1e9);
    }
}
