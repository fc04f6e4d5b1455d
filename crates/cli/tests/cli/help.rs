//! Help teaches, and its examples work as pasted.

use crate::program::{Folder, binary};
use std::collections::BTreeSet;
use std::process::Command;

const COMMANDS: &[&str] = &[
    "",
    "assess",
    "simulate",
    "predict",
    "redundancy",
    "resample",
    "study",
    "study run",
    "study show",
    "study export",
    "study check",
    "reproduce",
    "slurm-script",
    "slurm-script simulate",
    "slurm-script study",
    "slurm-script assess",
    "slurm-script latency",
    "slurm-script loggp",
    "schedule",
    "schedule convert",
    "schedule info",
    "schedule validate",
    "schedule generate",
    "schedule algorithms",
    "schedule selector",
    "schedule workloads",
    "schedule check",
    "measure",
    "measure noise",
    "measure latency",
    "measure merge",
    "trace",
    "trace info",
    "trace show",
    "trace check",
    "trace waits",
    "trace merge",
    "trace convert",
    "training",
    "training show",
    "training convert",
    "training generate",
    "compare",
    "examples",
    "diagnose",
    "network",
    "network list",
    "network show",
    "noise",
    "noise show",
    "noise fit",
    "noise compare",
    "noise convert",
    "noise list",
    "plot",
    "plot noise",
    "plot page",
    "report",
    "serve",
    "bench",
    "completions",
    "man",
];

/// The commands of an EXAMPLES section, with continued lines joined.
fn examples(help: &str) -> Vec<String> {
    let mut list: Vec<String> = Vec::new();
    let mut continued = false;
    for line in help.lines() {
        if line.starts_with("  straggler ") {
            list.push(String::new());
        } else if !continued {
            continue;
        }
        let Some(last) = list.last_mut() else { continue };
        continued = line.ends_with('\\');
        last.push_str(line.trim_end_matches('\\').trim());
        last.push(' ');
    }
    list
}

/// Replaces examples that would run too long in an unoptimised build.
fn small(example: &str) -> String {
    match example.trim() {
        // Takes an hour at the paper's size.
        "straggler reproduce sc10-fig5a" => "straggler reproduce sc10-fig2".into(),
        "straggler assess" => "straggler assess --time 100ms --processes 256".into(),
        // Runs until it is interrupted.
        other if other.starts_with("straggler serve") => {
            format!("timeout --preserve-status -s INT 2 {other}; test $? -eq 130")
        }
        other => other.into(),
    }
}

#[test]
fn every_command_has_examples_that_run() {
    let folder = Folder::installed();
    let mut all = BTreeSet::new();
    for command in COMMANDS {
        let help = folder.run(&format!("{command} --help")).good().stdout();
        let found = examples(&help);
        assert!(!found.is_empty(), "`straggler {command} --help` has no examples");
        // A terminal of 80 columns must not break an example.
        let mut typed = help.lines().filter(|line| line.starts_with("  straggler "));
        assert!(typed.all(|line| line.chars().count() < 80), "{help}");
        all.extend(found);
    }
    let path = format!("{}:{}", binary().parent().unwrap().display(), std::env::var("PATH").unwrap());
    // Studies run first, since other examples read their results.
    let (studies, others): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|example| example.starts_with("straggler study run"));
    for example in studies.into_iter().chain(others) {
        let example = small(&example);
        let run =
            Command::new("sh").args(["-c", &example]).current_dir(folder.path()).env("PATH", &path).output();
        let output = run.unwrap();
        assert!(output.status.success(), "{example}\n{}", String::from_utf8_lossy(&output.stderr));
    }
    for name in [
        "finish.csv",
        "eager.bin",
        "ring.goal",
        "barrier.bin",
        "timeline.json",
        "bench.json",
        "histogram.csv",
        "noise.svg",
        "lengths.png",
        "spectrum.svg",
        "noise.html",
        "two.html",
        "lengths.pdf",
        "first.svg",
        "halo.pftrace",
        "halo.trace",
        "pattern.svg",
        "man1",
    ] {
        assert!(folder.names().iter().any(|found| found == name), "{name}");
    }
}

#[test]
fn the_first_line_says_what_it_does_and_the_codes_are_told() {
    let help = Folder::new().run("--help").good().stdout();
    assert!(help.starts_with("straggler measures the small delays of a machine"), "{help}");
    for code in ["0 ", "2 ", "3 ", "4 ", "5 ", "130 "] {
        assert!(help.lines().any(|line| line.trim_start().starts_with(code)), "{code}");
    }
}

#[test]
fn examples_are_found_and_joined() {
    let help = "x\n  straggler a \\\n      --b\n\n  straggler c\n  not one\n";
    assert_eq!(examples(help), ["straggler a --b ", "straggler c "]);
}
