//! Output files.

use crate::outside::program::{Folder, NETWORK};
use serde_json::Value;
use std::io::Read;
use straggler_model::Time;
use straggler_report::finish_times;

const NOISY: &str = "simulate --collective allreduce --processes 512 --network chic --noise periodic:period=1ms,duration=50us";

#[test]
fn finish_times_as_csv_and_parquet() {
    let folder = Folder::new();
    let line =
        format!("simulate fixtures/conformance/eager-00.goal --network {NETWORK} --json --finish-times");
    let answer = folder.run(&format!("{line} out.csv")).good().json();
    folder.run(&format!("{line} out.parquet")).good();
    let text = std::fs::read_to_string(folder.path().join("out.csv")).unwrap();
    assert!(text.starts_with("rank,finish_ps\n0,"), "{text}");
    assert_eq!(text.lines().count(), 5);
    let csv = finish_times::read(&folder.path().join("out.csv")).unwrap();
    let parquet = finish_times::read(&folder.path().join("out.parquet")).unwrap();
    assert_eq!(csv, parquet);
    assert_eq!(csv.iter().max().map(|time| time.ps()), answer["makespan_ps"].as_u64());
    assert_eq!(folder.names(), ["out.csv", "out.parquet"]);
    folder
        .run(&format!("{line} out.txt"))
        .ends_with(2)
        .says("out.txt: unknown extension; use .csv or .parquet");
}

#[test]
fn with_replicas_they_are_those_of_the_median() {
    let folder = Folder::new();
    let answer = folder.run(&format!("{NOISY} --replicas 5 --finish-times out.csv --json")).good().json();
    let finish = finish_times::read(&folder.path().join("out.csv")).unwrap();
    assert_eq!(finish.iter().max().map(|time| time.ps()), answer["makespan_ps"].as_u64());
    assert_eq!(finish.iter().min().map(|time| time.ps()), answer["finish_ps"]["min"].as_u64());
    assert_eq!(answer["makespan_ps"], answer["replica_makespan_ps"]["median"]);
}

#[test]
fn the_object_goes_to_a_file() {
    let folder = Folder::new();
    folder.run(&format!("{NOISY} -o answer.json")).good();
    let text = std::fs::read_to_string(folder.path().join("answer.json")).unwrap();
    let answer: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(answer["processes"], 512);
}

#[test]
fn a_timeline_holds_what_was_asked_for() {
    let folder = Folder::new();
    let line = format!("{NOISY} --timeline t.json --timeline-ranks 0-3,9 --timeline-range 10us-40us");
    folder.run(&line).good();
    let text = std::fs::read_to_string(folder.path().join("t.json")).unwrap();
    let timeline: Value = serde_json::from_str(&text).unwrap();
    let events = timeline["traceEvents"].as_array().unwrap();
    let ranks: std::collections::BTreeSet<u64> =
        events.iter().filter_map(|event| event["pid"].as_u64()).collect();
    assert_eq!(ranks.into_iter().collect::<Vec<_>>(), [0, 1, 2, 3, 9]);
    assert!(events.iter().filter_map(|event| event["ts"].as_f64()).all(|start| start < 40.0));
    assert_eq!(timeline["otherData"]["seed"], 1);
    folder
        .run("simulate --collective barrier --processes 5000 --network chic --timeline t.json")
        .ends_with(2)
        .says("--timeline-ranks");
    folder.run(&line.replace("t.json", "t.json.gz")).good();
    let mut unpacked = String::new();
    let packed = std::fs::File::open(folder.path().join("t.json.gz")).unwrap();
    flate2::read::GzDecoder::new(packed).read_to_string(&mut unpacked).unwrap();
    let unpacked: Value = serde_json::from_str(&unpacked).unwrap();
    assert_eq!(unpacked["traceEvents"], timeline["traceEvents"]);
    folder
        .run(&format!("{NOISY} --timeline t.pftrace"))
        .ends_with(2)
        .says("use a name that ends in .json or .json.gz");
    folder
        .run(&format!("{NOISY} --timeline t.json --timeline-ranks 512"))
        .ends_with(2)
        .says("there is no rank 512");
}

#[test]
fn schedules_survive_conversion() {
    let folder = Folder::new();
    folder.run("schedule convert fixtures/conformance/eager-00.goal -o a.bin").good();
    folder.run("schedule convert a.bin -o b.goal").good();
    let makespan = |file: &str| {
        let answer = folder.run(&format!("simulate {file} --network {NETWORK} --json")).good().json();
        Time(answer["makespan_ps"].as_u64().unwrap())
    };
    let expected = makespan("fixtures/conformance/eager-00.goal");
    assert_eq!(makespan("a.bin"), expected);
    assert_eq!(makespan("b.goal"), expected);
}

#[test]
fn a_generated_schedule_runs_like_the_collective() {
    let folder = Folder::new();
    let collective = "--collective allreduce:ring --processes 13 --size 1KiB --cycles 3 --compute 5us";
    let direct = folder.run(&format!("simulate {collective} --network chic --json")).good().json();
    for file in ["ring.goal", "ring.bin"] {
        let written = folder.run(&format!("schedule generate {collective} -o {file} --json")).good().json();
        // Each of 13 processes sends and receives 2 · 12 times after a computation, three times over.
        assert_eq!(written["operations"], 13 * 3 * (2 * 24 + 1));
        let answer = folder.run(&format!("simulate {file} --network chic --json")).good().json();
        assert_eq!(answer["finish_ps"], direct["finish_ps"], "{file}");
        assert_eq!(answer["messages"], direct["messages"]);
    }
}
