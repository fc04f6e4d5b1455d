//! The JSON output that other programs rely on: its keys and their values.

use crate::outside::program::{Folder, NETWORK};
use serde_json::Value;

const COLLECTIVE: &str = "simulate --collective allreduce --processes 1000 --size 8 --network chic";

#[test]
fn all_keys_are_there() {
    let folder = Folder::new();
    let run =
        folder.run(&format!("simulate fixtures/conformance/eager-00.goal --network {NETWORK} --json")).good();
    assert_eq!(run.stderr(), "");
    let answer = run.json();
    assert_eq!(answer["processes"], 4);
    assert_eq!(answer["messages"], 75);
    assert_eq!(answer["makespan_ps"], answer["finish_ps"]["max"]);
    for part in ["min", "median", "max"] {
        assert!(answer["finish_ps"][part].is_u64(), "{part}");
    }
    assert_eq!(answer["engine"], "windowed");
    assert_eq!(answer["no_lookahead"], false);
    for number in ["threads", "seed", "peak_rss_bytes"] {
        assert!(answer[number].as_u64().unwrap() > 0, "{number}");
    }
    for seconds in ["wall_seconds", "load_seconds", "messages_per_second"] {
        assert!(answer[seconds].as_f64().unwrap() > 0.0, "{seconds}");
    }
    assert_eq!(answer["network"]["L"], "2.5us");
    assert_eq!(answer["noise"], "no noise");
    assert_eq!(answer["warnings"], Value::Array(Vec::new()));
    assert!(answer.get("replicas").is_none() && answer.get("stuck").is_none());
}

/// One byte in ten rounds of dissemination, by hand: each round costs o + L + o, where the send's o and
/// L pass before the message arrives and g never holds anything up (g < o + L).
#[test]
fn a_makespan_that_can_be_computed_by_hand() {
    let folder = Folder::new();
    let line = "simulate --collective barrier --processes 1024 --network L=5us,o=1us,g=2us,G=0 --json";
    let answer = folder.run(line).good().json();
    assert_eq!(answer["makespan_ps"], 10 * (1 + 5 + 1) * 1_000_000u64);
    assert_eq!(answer["messages"], 10 * 1024);
}

#[test]
fn noise_slows_down_and_the_slowdown_is_told() {
    let folder = Folder::new();
    let noise = "--noise periodic:period=100us,duration=10us";
    let answer = folder.run(&format!("{COLLECTIVE} {noise} --compare-quiet --json")).good().json();
    let (with, without) =
        (answer["makespan_ps"].as_u64().unwrap(), answer["quiet_makespan_ps"].as_u64().unwrap());
    assert!(with > without);
    let slowdown = answer["slowdown"].as_f64().unwrap();
    assert!((slowdown - (with as f64 / without as f64 - 1.0)).abs() < 1e-12);
    assert_eq!(answer["noise"], "10 µs every 100 µs (10 %) on every rank");
}

#[test]
fn sources_given_twice_or_joined_are_the_same() {
    let folder = Folder::new();
    let (one, two) = ("periodic:period=100us,duration=10us", "periodic:period=70us,duration=3us");
    let twice = folder.run(&format!("{COLLECTIVE} --noise {one} --noise {two} --json")).good().json();
    let joined = folder.run(&format!("{COLLECTIVE} --noise {one}+{two} --json")).good().json();
    assert_eq!(twice["makespan_ps"], joined["makespan_ps"]);
    assert_eq!(twice["noise"], joined["noise"]);
}

fn replicas(answer: &Value) -> Vec<(u64, u64, u64)> {
    let list = answer["replicas"].as_array().unwrap().iter();
    let number = |value: &Value| value.as_u64().unwrap();
    list.map(|run| (number(&run["seed"]), number(&run["replica"]), number(&run["makespan_ps"]))).collect()
}

#[test]
fn replicas_do_not_depend_on_threads() {
    let folder = Folder::new();
    let line = format!(
        "{COLLECTIVE} --cycles 3 --compute 100us --noise periodic:period=1ms,duration=50us --replicas 7 --seed 5 --json"
    );
    let first = folder.run(&format!("{line} --threads 1")).good().json();
    let runs = replicas(&first);
    assert_eq!(runs.len(), 7);
    assert!(runs.iter().enumerate().all(|(index, run)| run.0 == 5 && run.1 == index as u64));
    for threads in [2, 7] {
        let other = folder.run(&format!("{line} --threads {threads}")).good().json();
        assert_eq!(replicas(&other), runs, "{threads} threads");
        assert_eq!(other["finish_ps"], first["finish_ps"]);
    }
    let mut makespans: Vec<u64> = runs.iter().map(|run| run.2).collect();
    makespans.sort();
    assert_eq!(first["replica_makespan_ps"]["min"], makespans[0]);
    assert_eq!(first["replica_makespan_ps"]["median"], makespans[3]);
    assert_eq!(first["replica_makespan_ps"]["max"], makespans[6]);
    assert_eq!(first["makespan_ps"], makespans[3]);
}

#[test]
fn one_replica_alone_is_the_same() {
    let folder = Folder::new();
    let line = format!("{COLLECTIVE} --noise periodic:period=1ms,duration=50us --json");
    let all = replicas(&folder.run(&format!("{line} --replicas 4")).good().json());
    let third = folder.run(&format!("{line} --replica 3")).good().json();
    assert_eq!(third["makespan_ps"], all[3].2);
    assert_eq!(third["replicas"][0]["replica"], 3);
}

#[test]
fn seeds_decide() {
    let folder = Folder::new();
    let makespan = |seed: u32| {
        let line = format!("{COLLECTIVE} --noise periodic:period=1ms,duration=50us --json --seed {seed}");
        folder.run(&line).good().json()["makespan_ps"].as_u64().unwrap()
    };
    let drawn: Vec<u64> = (1..6).map(makespan).collect();
    assert_eq!(drawn, (1..6).map(makespan).collect::<Vec<_>>());
    assert!(drawn.iter().any(|other| *other != drawn[0]));
}

#[test]
fn engines_agree_and_say_why() {
    let folder = Folder::new();
    let line = "simulate fixtures/conformance/rendezvous-00.goal --network L=0ns,o=0ns,g=1us,G=1ns --json";
    let answer = folder.run(line).good().json();
    assert_eq!(answer["engine"], "reference");
    assert_eq!(answer["no_lookahead"], true);
    assert!(answer["engine_reason"].as_str().unwrap().contains("lookahead"));
    let line = format!("{COLLECTIVE} --noise periodic:period=1ms,duration=50us --json --engine");
    let windowed = folder.run(&format!("{line} windowed")).good().json();
    let reference = folder.run(&format!("{line} reference")).good().json();
    assert_eq!(windowed["finish_ps"], reference["finish_ps"]);
    assert_eq!(reference["engine"], "reference");
    assert_eq!(reference["threads"], 1);
}

#[test]
fn people_get_a_sentence() {
    let folder = Folder::new();
    let noise = "--noise periodic:period=1ms,duration=50us";
    let text = folder.run(&format!("{COLLECTIVE} {noise} --compare-quiet")).good().stdout();
    let first = text.lines().next().unwrap();
    assert!(
        first.starts_with("One allreduce of 8 B by recursive doubling that starts at a random moment takes "),
        "{first}"
    );
    assert!(
        first.contains(" with this noise on 1,000 processes, ") && first.contains(" without ("),
        "{first}"
    );
    assert!(
        text.lines().nth(1).unwrap().starts_with("A program that repeats it every 1 ms pays +"),
        "{text}"
    );
    // 9 rounds of 512 ranks, and 488 ranks that fold before and after them.
    assert!(text.contains("messages       5,584"), "{text}");
}

#[test]
fn the_critical_path_adds_up() {
    let folder = Folder::new();
    let line = format!("{COLLECTIVE} --noise periodic:period=100us,duration=10us --explain");
    let answer = folder.run(&format!("{line} --json")).good().json();
    let path = &answer["critical_path"];
    assert_eq!(path["makespan_ps"], answer["makespan_ps"]);
    let parts: u64 = path["parts"].as_object().unwrap().values().map(|part| part.as_u64().unwrap()).sum();
    assert_eq!(answer["makespan_ps"], parts);
    assert!(
        folder
            .run(&line)
            .good()
            .stdout()
            .contains("The critical path, the chain of events that determines the makespan")
    );
}

/// What a program pays is found in two ways: beside a single collective, and by simulating the loop.
#[test]
fn a_single_collective_says_what_a_program_pays() {
    let folder = Folder::new();
    let line = "simulate --collective allreduce --processes 64 --network chic --noise";
    let noise = "poisson:rate=100Hz,duration=100us";
    let single = folder.run(&format!("{line} {noise} --json")).good().json();
    let repeated = &single["repeated"];
    assert_eq!((&repeated["processes"], &repeated["interval_seconds"]), (&64.into(), &0.001.into()));
    let many = "--cycles 2000 --compute 1ms --compare-quiet --json";
    let many = folder.run(&format!("{line} {noise} {many}")).good().json();
    let [pays, costs] = [&repeated["slowdown"], &many["slowdown"]].map(|it| it.as_f64().unwrap());
    assert!(costs > 0.02 && (pays / costs - 1.0).abs() < 0.15, "{pays} {costs}");
    assert_eq!(many.get("repeated"), None);
    // Nothing that has no meaning for a program, or takes long, is simulated: the line says how to find out.
    for (processes, more) in
        [("100000", noise), ("64", "delay:rank=0,at=1us,duration=5us"), ("64", "chic --cosched")]
    {
        let line = line.replace("64", processes);
        let text = folder.run(&format!("{line} {more}")).good().stdout();
        let is_single = !more.starts_with("delay");
        assert_eq!(text.contains("that starts at a random moment"), is_single, "{text}");
        assert_eq!(text.contains("add --cycles 100 --compute 1ms --compare-quiet"), is_single, "{text}");
    }
}
