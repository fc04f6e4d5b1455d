//! Noise measurements. The results depend on the machine; the tests check that they are consistent.

use crate::outside::program::Folder;
use serde_json::Value;

/// The command line of a short measurement on the first allowed core.
fn short() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    let first = allowed.trim().split([',', '-']).next().unwrap();
    format!("noise measure --time 50ms --cores {first}")
}

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("{key}: {value}"))
}

#[test]
fn every_method_measures_and_adds_up() {
    let folder = Folder::new();
    for method in ["detour", "fwq", "ftq"] {
        let line = format!("{} --method {method} -o {method}.noise --json", short());
        let answer = folder.run(&line).good().json();
        let core = &answer["cores"][0];
        assert!(number(core, "length_ps") >= 49e9, "{core}");
        assert!(number(core, "iterations") > 10.0 && number(core, "t_min_ps") > 0.0, "{core}");
        let overhead = number(core, "noise_ps") / number(core, "length_ps");
        assert!((overhead - number(core, "overhead")).abs() < 1e-12, "{core}");
        assert!(number(&answer["timer"], "rate_error_ppm") < 20.0, "{answer}");
        assert!(folder.names().contains(&format!("{method}.noise")));
    }
}

#[test]
fn people_get_a_sentence_a_table_and_the_timer() {
    let text = Folder::new().run(&short()).good().stdout();
    assert!(text.starts_with("Noise took "), "{text}");
    for word in ["t_min", "threshold", "slow phases", "Timer: "] {
        assert!(text.contains(word), "{word}\n{text}");
    }
    // The threshold of the table, not the length of an iteration.
    let detected = text.lines().find(|line| line.starts_with("Interruptions longer than ")).unwrap();
    let threshold = detected.split(' ').skip(3).take(2).collect::<Vec<_>>().join(" ");
    assert!(text.lines().any(|line| line.starts_with("  0 ") && line.contains(&threshold)), "{text}");
}

#[test]
fn the_quietest_of_several_runs() {
    let answer = Folder::new().run(&format!("{} --runs 3 --json", short())).good().json();
    let runs = answer["runs"].as_array().unwrap();
    let overheads: Vec<f64> = runs.iter().map(|run| number(run, "overhead")).collect();
    let least = overheads.iter().copied().fold(f64::INFINITY, f64::min);
    let chosen = answer["chosen_run"].as_u64().unwrap() as usize;
    assert_eq!((overheads.len(), overheads[chosen - 1]), (3, least));
    assert_eq!(number(&answer, "overhead"), least);
}

#[test]
fn one_core_and_all() {
    let answer = Folder::new().run("noise measure --time 50ms --one-and-all --json").good().json();
    assert_eq!(answer["one_core_alone"]["cores"].as_array().unwrap().len(), 1);
    assert!(!answer["cores"].as_array().unwrap().is_empty());
}

#[test]
fn a_full_buffer_is_told() {
    // A threshold of twice the undisturbed iteration is low enough to see detours within 50 ms.
    let line = format!("{} --threshold 2 --buffer 1 --json", short());
    let core = &Folder::new().run(&line).good().json()["cores"][0];
    assert!(core["detours"].as_u64().unwrap() <= 1, "{core}");
    if core["lost_detours"].as_u64().unwrap() > 0 {
        // The recording then ends with the last detour that was kept.
        assert!(core["length_ps"].as_u64().unwrap() < 50_000_000_000, "{core}");
    }
}

#[test]
fn bad_input_says_what_helps() {
    let folder = Folder::new();
    let cases = [
        ("--threshold 1ps", "is below the resolution"),
        ("--threshold 0.5", "9 is usual"),
        ("--cores 1000", "this process may not use core"),
        ("--cores 3-1", "write cores like 0-3,8"),
        ("--method spin", "possible values"),
        ("--method ftq --quantum 10ns", "too short"),
        ("--method fwq --work 1ns", "too short"),
        ("--time 1us", "is out of range"),
        ("--time 10s --method ftq --quantum 1min", "longer than the measurement"),
        ("--events 0", "0 is out of range"),
        ("--self-test --method fwq", "remove --method"),
    ];
    for (options, text) in cases {
        folder.run(&format!("noise measure {options}")).ends_with(2).says(text);
    }
}

#[test]
fn the_self_test_reports_whatever_the_machine_does() {
    let ended = Folder::new().run("noise measure --self-test --time 300ms --json");
    let answer = ended.json();
    let passed = answer["passed"].as_bool().unwrap();
    assert_eq!(ended.code(), Some(if passed { 0 } else { 5 }), "{answer}");
    assert!(answer["injected"].as_u64().unwrap() > 0, "{answer}");
}
