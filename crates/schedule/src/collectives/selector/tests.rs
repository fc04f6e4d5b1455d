//! Rules are read correctly, wrong ones are rejected by name, and every preset covers all cases.

use super::{Selector, SelectorError};
use crate::collectives::sizes::Sizes;
use crate::collectives::{Job, Operation};

fn chosen(selector: &Selector, operation: Operation, processes: u32, bytes: u64) -> String {
    selector.choose(operation, &Job::new(processes, bytes), false).unwrap().to_string()
}

const OWN: &str = r#"
version = 1
name = "mine"
base = "paper"

[[rule]]
operation = "allreduce"
bytes = "..=2KiB"
processes = "8.."
power_of_two = false
algorithm = "ring"

[[rule]]
operation = ["allreduce", "barrier"]
processes = 3
algorithm = "dissemination"
"#;

#[test]
fn the_first_rule_that_fits_decides() {
    let mine = Selector::parse(OWN, "file").unwrap();
    assert_eq!(mine.name, "mine");
    assert_eq!(chosen(&mine, Operation::Allreduce, 9, 2048), "ring");
    // A byte too many, too few processes, a power of two: the base decides.
    assert_eq!(chosen(&mine, Operation::Allreduce, 9, 2049), "recursive-doubling");
    assert_eq!(chosen(&mine, Operation::Allreduce, 7, 2048), "recursive-doubling");
    assert_eq!(chosen(&mine, Operation::Allreduce, 8, 2048), "dissemination");
    assert_eq!(chosen(&mine, Operation::Bcast, 8, 2048), "binomial");
    let places: Vec<(usize, usize)> = mine.rules()[..3].iter().map(|rule| (rule.number, rule.line)).collect();
    assert_eq!(places, [(1, 6), (2, 13), (2, 13)]);
    assert_eq!(&*mine.rules()[3].table, "paper");
}

#[test]
fn what_counts_twice_is_for_those_who_may() {
    let mine = Selector::parse(OWN, "file").unwrap();
    let job = Job::new(5, 8);
    let paper = Selector::preset("paper").unwrap();
    for (idempotent, algorithm) in [(false, "recursive-doubling"), (true, "dissemination")] {
        assert_eq!(paper.choose(Operation::Allreduce, &job, idempotent).unwrap().to_string(), algorithm);
    }
    // With 5 processes, dissemination would count twice; a barrier sums nothing, so it may use it.
    assert_eq!(chosen(&mine, Operation::Allreduce, 5, 8), "recursive-doubling");
    assert_eq!(chosen(&mine, Operation::Barrier, 3, 1), "dissemination");
    let only = "[[rule]]\noperation = \"allreduce\"\nidempotent = true\nalgorithm = \"dissemination\"\n";
    let only = Selector::parse(only, "only").unwrap();
    assert!(only.choose(Operation::Allreduce, &Job::new(8, 8), true).is_ok());
    assert!(only.choose(Operation::Allreduce, &Job::new(8, 8), false).is_err());
}

#[test]
fn a_table_without_an_answer_says_so() {
    let text = "[[rule]]\noperation = \"allreduce\"\nalgorithm = \"dissemination\"\n";
    let selector = Selector::parse(text, "few").unwrap();
    let fault = selector.choose(Operation::Bcast, &Job::new(5, 1024), false).unwrap_err().to_string();
    assert!(fault.starts_with("few has no rule for bcast of 1 KiB over 5 processes: add one"), "{fault}");
    let fault = selector.choose(Operation::Allreduce, &Job::new(5, 8), false).unwrap_err().to_string();
    assert!(fault.contains("except algorithms that count contributions twice"), "{fault}");
    assert!(selector.choose(Operation::Allreduce, &Job::new(5, 8), true).is_ok());
}

/// The three sizes of a case: mean block, sum over the ranks, and a rank's share of the sum.
#[test]
fn three_ways_to_ask_for_a_size() {
    let case = |operation, job: &Job| {
        let case = super::Case::new(operation, job, false);
        (case.bytes, case.total, case.share)
    };
    assert_eq!(case(Operation::Allreduce, &Job::new(4, 100)), (100, 100, 25));
    assert_eq!(case(Operation::Allgather, &Job::new(4, 100)), (100, 400, 100));
    assert_eq!(case(Operation::Alltoall, &Job::new(4, 100)), (100, 400, 100));
    let uneven = Job { sizes: Sizes::repeating(&[10, 0, 2]), ..Job::new(4, 0) };
    assert_eq!(case(Operation::Gatherv, &uneven), (5, 22, 5));
    assert_eq!(case(Operation::Alltoallv, &Job { processes: 3, ..uneven }), (4, 12, 4));
    let huge = Job::new(1 << 31, u64::MAX);
    assert_eq!(case(Operation::Alltoall, &huge).1, u64::MAX / (1 << 62) * (1 << 31));
}

#[test]
fn what_is_wrong_is_named() {
    let says = |text: &str, parts: &[&str]| {
        let fault = Selector::parse(text, "file").unwrap_err().to_string();
        parts.iter().for_each(|part| assert!(fault.contains(part), "{fault}\nlacks: {part}"));
    };
    let rule = |lines: &str| format!("\n[[rule]]\n{lines}\n");
    let right = rule("operation = \"barrier\"\nalgorithm = \"dissemination\"");
    let second = |lines: &str| format!("{right}{}", rule(lines));
    says(
        &second("operation = \"allreduce\"\nalgorithm = \"tree\""),
        &[
            "line 8, rule 2: ",
            "unknown algorithm `tree` for allreduce (known: ",
            "recursive-doubling",
            "ring",
        ],
    );
    says(
        &second("operation = \"gossip\"\nalgorithm = \"ring\""),
        &["line 7, rule 2: ", "`gossip`", "allreduce"],
    );
    says(&second("operation = []\nalgorithm = \"ring\""), &["line 7, rule 2: ", "operation = \"allreduce\""]);
    says(
        &second("operation = \"allreduce\"\nbytes = \"8K..\"\nalgorithm = \"ring\""),
        &["line 8, rule 2: bytes = \"8K..\" is not a range", "KiB"],
    );
    says(
        &second("operation = \"allreduce\"\nprocesses = \"9..3\"\nalgorithm = \"ring\""),
        &["line 8, rule 2: processes", "it is empty"],
    );
    says(
        &second("operation = \"bcast\"\nidempotent = true\nalgorithm = \"binomial\""),
        &["line 7, rule 2: ", "bcast combines no data"],
    );
    says(&second("operation = \"bcast\"\nalgorithm = \"binomial\"\nbyte = 3"), &["line 9", "byte"]);
    says(&second("operation = 3\nalgorithm = \"binomial\""), &["line 7", "an operation such as"]);
    says("base = \"mpic\"", &["line 1: the base `mpic` is not a preset (known: paper, mpich, open-mpi)"]);
    says("version = 2", &["version 2"]);
    let unknown = Selector::load("papr").unwrap_err();
    assert!(matches!(&unknown, SelectorError::Unknown { name } if name == "papr"));
    assert!(unknown.to_string().contains("paper, mpich, open-mpi"), "{unknown}");
    assert!(
        Selector::load("no/such.toml").unwrap_err().to_string().starts_with("no/such.toml: cannot be read")
    );
}

/// Sizes around every threshold of the presets.
const SIZES: [u64; 18] = [
    0,
    1,
    8,
    200,
    256,
    257,
    1 << 10,
    2 << 10,
    (2 << 10) + 1,
    10_000,
    12 << 10,
    32 << 10,
    64 << 10,
    370_728,
    512 << 10,
    1 << 20,
    16 << 20,
    64 << 20,
];

#[test]
fn every_preset_has_an_answer_that_builds() {
    for name in Selector::PRESETS {
        let preset = Selector::preset(name).unwrap();
        assert_eq!(preset.name, name);
        for operation in Operation::ALL {
            for (processes, bytes) in (1..=40).flat_map(|processes| SIZES.map(|bytes| (processes, bytes))) {
                let job = Job::new(processes, bytes);
                for idempotent in [false, true] {
                    let algorithm = preset.choose(operation, &job, idempotent).unwrap();
                    let built = algorithm.build(operation, &job);
                    assert!(built.is_ok(), "{name}: {operation}:{algorithm} {job:?}: {built:?}");
                    let right = idempotent || algorithm.is_exact(operation, processes);
                    assert!(right || !operation.reduces(), "{name}: {operation}:{algorithm} {job:?}");
                }
            }
        }
    }
}

/// What the sources of the presets say, transcribed by hand, on both sides of each threshold.
#[test]
fn presets_decide_as_their_sources_do() {
    use Operation::*;
    const K: u64 = 1 << 10;
    let cases = [
        ("paper", Bcast, 16, 1 << 20, "scatter-allgather"),
        ("paper", Bcast, 4096, 1 << 20, "binomial"),
        ("paper", Alltoall, 6, 8, "dissemination"),
        ("mpich", Allreduce, 16, 2 * K, "recursive-doubling"),
        ("mpich", Allreduce, 16, 4 * K, "rabenseifner"),
        ("mpich", Allreduce, 1024, 4 * K, "recursive-doubling"),
        ("mpich", Allgather, 16, 8 * K, "recursive-doubling"),
        ("mpich", Allgather, 16, 32 * K, "ring"),
        ("mpich", Allgather, 12, K, "bruck"),
        ("mpich", Allgather, 12, 8 * K, "ring"),
        ("mpich", Alltoall, 7, 100, "linear"),
        ("mpich", Alltoall, 8, 100, "bruck"),
        ("mpich", Alltoall, 8, 64 * K, "pairwise"),
        ("open-mpi", Barrier, 8, 1, "recursive-doubling"),
        ("open-mpi", Barrier, 9, 1, "dissemination"),
        ("open-mpi", Bcast, 16, 512 * K, "chain,segment=8192"),
        ("open-mpi", Bcast, 8, 1 << 20, "binary,segment=8192"),
        ("open-mpi", Bcast, 16, 16 << 20, "chain,segment=131072"),
        ("open-mpi", Reduce, 16, 16 * K, "binary,segment=1024"),
        ("open-mpi", Reduce, 16, 64 * K, "chain,segment=1024"),
        ("open-mpi", Reduce, 16, 1 << 20, "chain,segment=32768"),
        ("open-mpi", Reduce, 16, 64 << 20, "chain,segment=65536"),
        ("open-mpi", Gather, 61, 5 * K, "binomial"),
        ("open-mpi", Gather, 60, 5 * K, "linear"),
        ("open-mpi", ReduceScatter, 8, 16 * K, "recursive-halving"),
        ("open-mpi", ReduceScatter, 9, 16 * K, "ring"),
    ];
    for (preset, operation, processes, bytes, algorithm) in cases {
        let selector = Selector::preset(preset).unwrap();
        let found = chosen(&selector, operation, processes, bytes);
        assert_eq!(found, algorithm, "{preset}: {operation} of {bytes} B over {processes}");
    }
}

#[test]
fn what_is_written_reads_back() {
    let mine = Selector::parse(OWN, "file").unwrap();
    let presets = Selector::PRESETS.map(|name| Selector::preset(name).unwrap());
    for selector in presets.into_iter().chain([mine]) {
        let text = selector.to_toml();
        let read = Selector::parse(&text, "again").unwrap();
        assert_eq!(read.name, selector.name);
        let bare = |selector: &Selector| -> Vec<_> {
            let rules = selector.rules().iter();
            rules.map(|rule| (rule.operation, rule.when, rule.algorithm.clone())).collect()
        };
        assert_eq!(bare(&read), bare(&selector), "{text}");
    }
}
