//! GOAL files end to end: conformance data, round trips, and arbitrary input.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use straggler_model::Time;
use straggler_schedule::goal::{self, Format, binary, read_path, text, text_write, write_path};
use straggler_schedule::graph::{ANY, Edge};
use straggler_schedule::{Graph, GraphBuilder, Operation, OperationKind, RankBuilder};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/conformance");

fn fixtures(extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(FIXTURES).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|e| e == extension)).collect();
    paths.sort();
    paths
}

fn to_text(graph: &Graph) -> Vec<u8> {
    let mut bytes = Vec::new();
    assert_eq!(text_write::write(graph, &mut bytes).unwrap().rounded, 0);
    bytes
}

fn to_binary(graph: &Graph) -> Vec<u8> {
    let mut bytes = Vec::new();
    assert_eq!(binary::write(graph, &mut bytes).unwrap().rounded, 0);
    bytes
}

/// The graph with the edges of every operation sorted, as formats may list them in a different order.
fn canonical(graph: &Graph) -> Vec<(Vec<Operation>, Vec<Vec<Edge>>)> {
    let of_rank = |rank| {
        let view = graph.rank(rank);
        let sorted = |operation| {
            let mut edges = view.dependents(operation).collect::<Vec<_>>();
            edges.sort();
            edges
        };
        (view.operations().collect(), (0..view.len()).map(sorted).collect())
    };
    (0..graph.processes()).map(of_rank).collect()
}

#[test]
fn all_text_fixtures_survive_both_forms() {
    let paths = fixtures("goal");
    assert_eq!(paths.len(), 80);
    for path in paths {
        let graph = read_path(&path).unwrap().graph;
        assert_eq!(text::parse(&to_text(&graph)).unwrap(), graph, "{}", path.display());
        let from_binary = binary::parse(&to_binary(&graph)).unwrap();
        assert_eq!(canonical(&from_binary), canonical(&graph), "{}", path.display());
    }
}

#[test]
fn binary_fixtures_are_the_text_of_the_same_name() {
    let paths = fixtures("bin");
    assert_eq!(paths.len(), 4);
    for path in paths {
        let of_binary = read_path(&path).unwrap();
        let of_text = read_path(path.with_extension("goal")).unwrap();
        assert_eq!((of_binary.format, of_text.format), (Format::Binary, Format::Text));
        assert_eq!(canonical(&of_binary.graph), canonical(&of_text.graph), "{}", path.display());
    }
}

#[test]
fn the_writer_makes_the_reference_s_bytes() {
    for path in fixtures("bin") {
        let of_text = read_path(path.with_extension("goal")).unwrap().graph;
        assert!(to_binary(&of_text) == std::fs::read(&path).unwrap(), "{}", path.display());
    }
}

#[test]
fn rounding_is_counted() {
    let mut rank = RankBuilder::default();
    rank.push(Operation::calc(Time::from_ps(1_499)));
    rank.push(Operation::calc(Time::from_ps(1_500)));
    rank.push(Operation::calc(Time::from_ps(2_000)));
    let mut graph = GraphBuilder::default();
    graph.push_rank(&rank);
    let graph = graph.finish();
    let mut text = Vec::new();
    assert_eq!(text_write::write(&graph, &mut text).unwrap().rounded, 2);
    assert_eq!(text, b"num_ranks 1\n\nrank 0 {\nl1: calc 1\nl2: calc 2\nl3: calc 2\n}\n");
    assert_eq!(binary::write(&graph, std::io::sink()).unwrap().rounded, 2);
}

#[test]
fn files_are_replaced_whole() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("schedule.goal");
    let graph = text::parse(b"num_ranks 2 rank 0 { send 8b to 1 } rank 1 { recv 8b from 0 }").unwrap();
    write_path(&path, &graph, Format::for_path(&path)).unwrap();
    assert_eq!(read_path(&path).unwrap().graph, graph);
    write_path(&path, &graph, Format::Binary).unwrap();
    let loaded = read_path(&path).unwrap();
    assert_eq!((loaded.format, &loaded.graph), (Format::Binary, &graph));
    assert_eq!(loaded.bytes, std::fs::metadata(&path).unwrap().len());
    assert_eq!(directory.path().read_dir().unwrap().count(), 1, "no temporary file stays behind");
}

#[test]
fn a_link_is_followed_and_a_device_written_directly() {
    let directory = tempfile::tempdir().unwrap();
    let (target, link) = (directory.path().join("target.goal"), directory.path().join("link.goal"));
    let graph = text::parse(b"num_ranks 1 rank 0 { calc 8 }").unwrap();
    write_path(&target, &text::parse(b"num_ranks 3").unwrap(), Format::Text).unwrap();
    std::os::unix::fs::symlink(&target, &link).unwrap();
    write_path(&link, &graph, Format::Text).unwrap();
    assert_eq!(read_path(&target).unwrap().graph, graph);
    assert!(link.symlink_metadata().unwrap().is_symlink());
    write_path("/dev/null", &graph, Format::Text).unwrap();
}

#[test]
fn errors_name_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let in_directory = |name: &str| directory.path().join(name);
    let error = |path: &Path| {
        read_path(path).unwrap_err().to_string().replace(directory.path().to_str().unwrap(), "D")
    };
    assert_eq!(
        error(&in_directory("none")),
        "D/none: cannot be read: No such file or directory (os error 2)"
    );
    std::fs::write(in_directory("empty"), "").unwrap();
    let missing = "D/empty: line 1, column 1: `num_ranks N` is missing: put it before the first rank";
    assert_eq!(error(&in_directory("empty")), missing);
    std::fs::write(in_directory("other"), [0u8; 100]).unwrap();
    assert_eq!(
        error(&in_directory("other")),
        "D/other: neither GOAL text nor GOAL binary: text starts with `num_ranks N`, binary with the number 4223"
    );
    let graph = text::parse(b"num_ranks 1").unwrap();
    let unwritable = write_path(in_directory("no/where"), &graph, Format::Text).unwrap_err();
    assert!(unwritable.to_string().contains("no/where: cannot be written: "));
}

/// Reads a file of several batches on different numbers of threads.
#[test]
fn threads_do_not_show() {
    let mut graph = GraphBuilder::default();
    let mut rank = RankBuilder::default();
    for number in 0..3_000u32 {
        rank.clear();
        for index in 0..200 {
            let cpu = u8::from(number > 1_500 && index == 7);
            let operation = rank.push(Operation { cpu, ..Operation::send(u64::from(number), index, index) });
            if index > 0 {
                rank.requires(operation, index - 1);
            }
        }
        graph.push_rank(&rank);
    }
    let graph = graph.finish();
    let (text, binary) = (to_text(&graph), to_binary(&graph));
    for threads in [1, 2, 7] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        assert!(pool.install(|| text::parse(&text).unwrap()) == graph);
        assert!(pool.install(|| binary::parse(&binary).unwrap()) == graph);
    }
}

fn any_operation(processes: u32) -> impl Strategy<Value = Operation> {
    let kind = prop_oneof![Just(OperationKind::Send), Just(OperationKind::Recv), Just(OperationKind::Calc)];
    let amount = prop_oneof![0..100u64, any::<u64>()];
    let tag = prop_oneof![0..4u32, any::<u32>()];
    let lane = || prop_oneof![4 => Just(0u8), 1 => any::<u8>()];
    let fields = (kind, amount, 0..processes, tag, lane(), lane(), any::<[bool; 2]>());
    fields.prop_map(|(kind, amount, peer, tag, cpu, nic, [any_source, any_tag])| match kind {
        OperationKind::Calc => {
            Operation { cpu, nic, ..Operation::calc(Time::from_ns(amount % (u64::MAX / 1_000))) }
        }
        OperationKind::Send => Operation { cpu, nic, ..Operation::send(amount, peer, tag.min(ANY - 1)) },
        OperationKind::Recv => {
            let (peer, tag) = (if any_source { ANY } else { peer }, if any_tag { ANY } else { tag });
            Operation { cpu, nic, ..Operation::recv(amount, peer, tag) }
        }
    })
}

type AnyRank = (Vec<Operation>, Vec<(prop::sample::Index, prop::sample::Index, bool)>);

fn any_rank(processes: u32) -> impl Strategy<Value = AnyRank> {
    let operations = prop::collection::vec(any_operation(processes), 0..12);
    (operations, prop::collection::vec(any::<(prop::sample::Index, prop::sample::Index, bool)>(), 0..20))
}

/// Dependencies go from earlier to later operations, or the other way if `backward`.
fn build(ranks: Vec<AnyRank>, backward: bool) -> Graph {
    let mut graph = GraphBuilder::default();
    for (operations, dependencies) in ranks {
        let mut rank = RankBuilder::default();
        let count = operations.len();
        for operation in operations {
            rank.push(operation);
        }
        for (a, b, on_start) in dependencies.into_iter().filter(|_| count > 1) {
            let (a, b) = (a.index(count) as u32, b.index(count) as u32);
            let (before, dependent) = if (a < b) != backward { (a, b) } else { (b, a) };
            match (a == b, on_start) {
                (true, _) => {}
                (false, true) => rank.irequires(dependent, before),
                (false, false) => rank.requires(dependent, before),
            }
        }
        graph.push_rank(&rank);
    }
    graph.finish()
}

fn any_graph() -> impl Strategy<Value = Graph> {
    (1..6u32).prop_flat_map(|processes| {
        let ranks = prop::collection::vec(any_rank(processes), processes as usize);
        (ranks, any::<bool>()).prop_map(|(ranks, backward)| build(ranks, backward))
    })
}

/// Changes to a file: (where, bytes to insert, number of bytes to remove).
fn mutations() -> impl Strategy<Value = Vec<(prop::sample::Index, Vec<u8>, usize)>> {
    let token = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..5),
        prop::sample::select(vec![
            "{",
            "}",
            "/*",
            "*/",
            "//",
            ":",
            "l1",
            " requires ",
            "-1",
            "99999999999",
            "\n"
        ])
        .prop_map(|token| token.as_bytes().to_vec()),
    ];
    prop::collection::vec((any::<prop::sample::Index>(), token, 0..6usize), 1..6)
}

fn mutate(mut bytes: Vec<u8>, mutations: Vec<(prop::sample::Index, Vec<u8>, usize)>) -> Vec<u8> {
    for (at, inserted, removed) in mutations {
        let start = at.index(bytes.len() + 1);
        let end = (start + removed).min(bytes.len());
        bytes.splice(start..end, inserted);
    }
    bytes
}

/// Overwrites bytes in place, which keeps the offsets of a binary file meaningful.
fn overwrite(mut bytes: Vec<u8>, mutations: Vec<(prop::sample::Index, Vec<u8>, usize)>) -> Vec<u8> {
    for (at, value, _) in mutations {
        let start = 8 + at.index(bytes.len() - 8);
        let length = value.len().min(bytes.len() - start);
        bytes[start..start + length].copy_from_slice(&value[..length]);
    }
    bytes
}

proptest! {
    #[test]
    fn text_round_trip(graph in any_graph()) {
        let bytes = to_text(&graph);
        let read = text::parse(&bytes).unwrap();
        prop_assert_eq!(&read, &graph);
        prop_assert_eq!(to_text(&read), bytes);
    }

    #[test]
    fn binary_round_trip(graph in any_graph()) {
        let bytes = to_binary(&graph);
        let read = binary::parse(&bytes).unwrap();
        prop_assert_eq!(canonical(&read), canonical(&graph));
        prop_assert_eq!(to_binary(&read), bytes);
    }

    #[test]
    fn random_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = goal::parse(&bytes);
        let _ = text::parse(&bytes);
        let _ = text::parse(&[b"num_ranks 3 rank 0 {".as_slice(), &bytes, b"}"].concat());
        let _ = binary::parse(&[4223u64.to_le_bytes().as_slice(), bytes.as_slice()].concat());
        let _ = binary::parse(&[4223u64.to_le_bytes().as_slice(), &2u32.to_le_bytes(), bytes.as_slice()].concat());
    }

    #[test]
    fn mutated_text_does_not_panic(graph in any_graph(), changes in mutations()) {
        // What still parses must be a valid schedule like any other.
        if let Ok(read) = text::parse(&mutate(to_text(&graph), changes)) {
            prop_assert_eq!(text::parse(&to_text(&read)).unwrap(), read);
        }
    }

    #[test]
    fn mutated_binary_does_not_panic(graph in any_graph(), changes in mutations(), in_place in any::<bool>()) {
        let change = if in_place { overwrite } else { mutate };
        if let Ok(read) = binary::parse(&change(to_binary(&graph), changes)) {
            prop_assert_eq!(binary::parse(&to_binary(&read)).unwrap(), read);
        }
    }
}
