//! Collectives through the command line: the catalogue, the choice of algorithms, the checker.

use crate::outside::program::Folder;
use serde_json::Value;

/// Returns every collective of the catalogue, as `--collective` takes it.
fn catalogue(folder: &Folder) -> Vec<(String, String)> {
    let answer = folder.run("schedule algorithms --json").good().json();
    let operations = answer["operations"].as_array().unwrap();
    assert_eq!(operations.len(), 16);
    let of_operation = |operation: &Value| {
        let name = operation["operation"].as_str().unwrap().to_string();
        let algorithms = operation["algorithms"].as_array().unwrap().clone();
        assert!(!algorithms.is_empty(), "{name}");
        algorithms.into_iter().map(move |algorithm| {
            assert!(!algorithm["text"].as_str().unwrap().is_empty() && algorithm["source"].is_string());
            (name.clone(), algorithm["name"].as_str().unwrap().to_string())
        })
    };
    operations.iter().flat_map(of_operation).collect()
}

fn parameters(algorithm: &str) -> &str {
    match algorithm {
        "two-level" => ",per-node=4",
        "chain" | "binary" | "double-tree" => ",segment=100",
        "k-nomial" => ",radix=3",
        _ => "",
    }
}

#[test]
fn everything_in_the_catalogue_is_proven_and_runs() {
    let folder = Folder::new();
    for (operation, algorithm) in catalogue(&folder) {
        let collective = format!("{operation}:{algorithm}{}", parameters(&algorithm));
        let reduces = operation.contains("reduce") || operation.contains("scan");
        let idempotent = if reduces { "--idempotent" } else { "" };
        let size = if operation == "barrier" { "" } else { "--size 1000" };
        let line = format!("--collective {collective} --processes 13 {size} {idempotent} --json");
        let proof = folder.run(&format!("schedule prove {line}")).good().json();
        assert_eq!(proof["proven"], true, "{collective}");
        let run = folder.run(&format!("simulate {line} --network chic")).good();
        let answer = run.json();
        assert_eq!(answer["messages"], proof["messages"], "{collective}");
        assert_eq!(answer["collective"], proof["collective"]);
        assert!(answer["makespan_ps"].as_u64().unwrap() > 0, "{collective}");
    }
}

#[test]
fn the_catalogue_is_also_for_people() {
    let folder = Folder::new();
    let all = folder.run("schedule algorithms").good().stdout();
    assert!(all.contains("allgather, allgatherv: --size is that of the block of each rank\n"), "{all}");
    assert!(all.contains("barrier: no --size\n"), "{all}");
    let one = folder.run("schedule algorithms bcast").good().stdout();
    assert!(one.starts_with("bcast: --size is that of the vector; --root R\n"), "{one}");
    assert!(one.contains("Sanders, Speck and Träff 2009") && !one.contains("allreduce"), "{one}");
    folder.run("schedule algorithms gossip").ends_with(2).says("(known: allgather, ");
}

/// Returns the algorithm that the selection table chooses.
fn found(folder: &Folder, options: &str) -> String {
    let answer = folder.run(&format!("simulate --network chic --json {options}")).good().json();
    answer["collective"].as_str().unwrap().to_string()
}

#[test]
fn tables_find_algorithms() {
    let folder = Folder::new();
    let found = |options: &str| found(&folder, options);
    assert_eq!(found("--collective allreduce --processes 16"), "allreduce:dissemination");
    assert_eq!(found("--collective allreduce --processes 11"), "allreduce:recursive-doubling");
    assert_eq!(found("--collective allreduce --processes 11 --idempotent"), "allreduce:dissemination");
    assert_eq!(found("--collective allreduce --processes 16 --size 1MiB"), "allreduce:rabenseifner");
    let large = "--collective allreduce --processes 16 --size 1MiB --algorithms";
    assert_eq!(found(&format!("{large} open-mpi")), "allreduce:ring");
    let bcast = "--collective bcast --processes 16 --size 100kB --algorithms";
    assert_eq!(found(&format!("{bcast} open-mpi")), "bcast:binary,segment=1024");
    assert_eq!(found(&format!("{bcast} mpich")), "bcast:scatter-allgather");
    // Blocks of 100 and 300 bytes have a mean of 200.
    let sizes = "--collective alltoallv --sizes 100,300 --processes 16 --algorithms mpich";
    assert_eq!(found(sizes), "alltoallv:linear");
}

#[test]
fn a_table_of_ones_own() {
    let folder = Folder::new();
    let rules = "base = \"mpich\"\n\n[[rule]]\noperation = \"allreduce\"\nbytes = \"..=64\"\n\
                 algorithm = \"two-level,per-node=4\"\n";
    folder.write("mine.toml", rules);
    let line = "--collective allreduce --processes 16 --algorithms mine.toml --size";
    assert_eq!(found(&folder, &format!("{line} 64")), "allreduce:two-level,per-node=4");
    assert_eq!(found(&folder, &format!("{line} 65")), "allreduce:recursive-doubling");
    let shown = folder.run("schedule selector mine.toml --operation allreduce --json").good().json();
    assert_eq!(shown["rules"][0]["line"], 3);
    assert_eq!(shown["rules"][0]["when"]["bytes"], "..65B");
    assert_eq!(shown["rules"][1]["table"], "mpich");
    // The table that --toml prints makes the same decisions.
    let text = folder.run("schedule selector mine.toml --toml").good().stdout();
    folder.write("flat.toml", &text);
    let rules = |file: &str| {
        let shown = folder.run(&format!("schedule selector {file} --json")).good().json();
        let rules = shown["rules"].as_array().unwrap().clone();
        let bare = |rule: Value| [rule["operation"].clone(), rule["when"].clone(), rule["algorithm"].clone()];
        rules.into_iter().map(bare).collect::<Vec<_>>()
    };
    assert_eq!(rules("flat.toml"), rules("mine.toml"));
    let text = folder.run("schedule selector paper --toml").good().stdout();
    assert!(text.starts_with("# The algorithms of Hoefler"), "{text}");
    folder.write("bad.toml", "[[rule]]\noperation = \"bcast\"\nalgorithm = \"tree\"\n");
    folder
        .run(&format!("simulate {} --network chic", line.replace("mine", "bad").replace("--size", "")))
        .ends_with(3)
        .says("bad.toml: line 3, rule 1: unknown algorithm `tree` for bcast (known: binomial, ");
    folder.write("none.toml", "[[rule]]\noperation = \"bcast\"\nalgorithm = \"binomial\"\n");
    folder
        .run("simulate --collective scan --processes 4 --network chic --algorithms none.toml")
        .ends_with(3)
        .says("has no rule for scan of 8 B over 4 processes: add one");
    folder
        .run("simulate --collective scan --processes 4 --network chic --algorithms mpi")
        .ends_with(2)
        .says("give one of paper, mpich, open-mpi or a .toml file");
}

/// Two ranks exchange 1,000 bytes, which costs o + L + o, and then combine them.
#[test]
fn combining_costs_what_was_said() {
    let folder = Folder::new();
    let line = "simulate --collective allreduce:recursive-doubling --processes 2 --size 1000 \
                --network L=5us,o=1us,g=2us,G=0 --json";
    let makespan = |options: &str| {
        folder.run(&format!("{line} {options}")).good().json()["makespan_ps"].as_u64().unwrap()
    };
    assert_eq!(makespan(""), 7_000_000);
    assert_eq!(makespan("--reduction-cost 1ns"), 8_000_000);
    assert_eq!(makespan("--reduction-cost 2GB/s"), 7_500_000);
}

#[test]
fn sums_that_would_be_wrong() {
    let folder = Folder::new();
    let line = "--collective allreduce:dissemination --processes 11";
    let run = folder.run(&format!("simulate {line} --network chic --json")).good();
    assert!(run.json()["warnings"][0].as_str().unwrap().contains("a sum would be wrong"));
    run.says("dissemination on 11 processes counts some contributions twice");
    let quiet = folder.run(&format!("simulate {line} --network chic --idempotent")).good();
    assert_eq!(quiet.stderr(), "");
    folder.run(&format!("schedule generate {line} -o a.goal")).good().says("a sum would be wrong");
    let failed =
        folder.run(&format!("schedule prove {line} --json")).ends_with(5).says("a sum would be wrong");
    assert_eq!((&failed.json()["proven"], &failed.json()["exact"]), (&false.into(), &false.into()));
    let text = folder.run(&format!("schedule prove {line} --idempotent")).good().stdout();
    assert!(text.contains("counted at least once, some twice"), "{text}");
    let text = folder.run("schedule prove --collective scatter --processes 5 --root 2").good().stdout();
    let start = "Proven for a scatter of 8 B per rank by a binomial tree over 5 processes: \
                 every rank has its block from rank 2; ";
    assert!(text.starts_with(start), "{text}");
}

#[test]
fn repetitions_are_told_in_one_sentence() {
    let folder = Folder::new();
    let line = "simulate --collective barrier --processes 4 --cycles 3 --compute 1ms --network chic";
    let text = folder.run(line).good().stdout();
    let told =
        "4 processes finish 3 barriers by dissemination, each after 1 ms of computation, in 3.041 ms.\n";
    assert!(text.starts_with(told), "{text}");
}

#[test]
fn what_makes_no_sense_is_refused_with_a_reason() {
    let folder = Folder::new();
    let refused = |options: &str, reason: &str| {
        folder.run(&format!("simulate --network chic --processes 4 {options}")).ends_with(2).says(reason);
    };
    refused("--collective allgather --sizes 1,2", "they may differ in allgatherv, alltoallv");
    refused("--collective allgatherv --sizes 1,2 --size 3", "cannot be used with");
    refused("--collective allgatherv --sizes 1,x", "`x` is not a size");
    refused("--collective gather --root 4", "root 4 is out of range");
    refused("--collective alltoall --root 0", "alltoall has no root");
    refused("--collective bcast:chain,segment=0", "a segment has at least one byte");
    refused("--collective bcast:binomial,segment=8", "`segment=8` is not a parameter of binomial");
    refused("--collective allreduce:two-level", "per-node");
    refused("--collective bcast --reduction-cost 1ns", "bcast combines no data");
    refused("--collective gather --idempotent", "gather combines no data");
    refused("--collective reduce --reduction-cost 1", "`1` has no unit");
    refused("--collective alltoall --size 9EiB", "unknown unit");
    refused("--collective alltoall --size 4000000TiB", "smaller sizes");
    refused("--sizes 1,2", "--collective");
    let named = "simulate --collective bcast:linear --processes 4 --network chic --algorithms mpich";
    folder.run(named).good().says("--algorithms has no effect");
    folder
        .run("schedule prove --collective allreduce:ring --processes 100000")
        .ends_with(2)
        .says("check fewer processes");
    folder
        .run("schedule prove --collective alltoall:linear --processes 1000")
        .ends_with(2)
        .says("check fewer processes");
}
