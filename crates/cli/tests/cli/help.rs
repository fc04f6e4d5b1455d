//! Help teaches, and its examples work as pasted.

use crate::outside::program::{Folder, binary, smaller};
use std::collections::BTreeSet;
use std::process::Command;

/// Every command that the help lists, the program itself (an empty name) first.
fn commands(folder: &Folder) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut next = 0;
    while let Some(command) = all.get(next).cloned() {
        let help = folder.run(&format!("{command} --help")).good().stdout();
        let names = subcommands(&help);
        all.extend(names.iter().map(|name| format!("{command} {name}").trim().to_string()));
        next += 1;
    }
    all
}

/// The names under `Commands:`, which the program itself lists in groups; continued descriptions are indented more.
fn subcommands(help: &str) -> Vec<&str> {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = listed.take_while(|line| line.is_empty() || line.starts_with("  "));
    let is_grouped = listed.clone().any(|line| line.starts_with("  For "));
    let indent = if is_grouped { "    " } else { "  " };
    let names = listed.filter_map(|line| line.strip_prefix(indent)).filter(|line| !line.starts_with(' '));
    names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").collect()
}

/// The commands of an EXAMPLES section that begin with a program, with continued lines joined.
fn examples(help: &str, program: &str) -> Vec<String> {
    let mut list: Vec<String> = Vec::new();
    let mut continued = false;
    for line in help.lines() {
        if line.starts_with(&format!("  {program} ")) {
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

#[test]
fn every_command_has_examples_that_run() {
    let folder = Folder::installed();
    let mut all = BTreeSet::new();
    for command in commands(&folder) {
        let help = folder.run(&format!("{command} --help")).good().stdout();
        // Examples of MPI jobs build on each other, so they are not run.
        let is_job = command.split(' ').next() == Some("mpi");
        let program = if is_job { "mpirun" } else { "straggler" };
        let found = examples(&help, program);
        assert!(!found.is_empty(), "`straggler {command} --help` has no examples");
        // A terminal of 80 columns must not break an example.
        let mut typed = help.lines().filter(|line| line.starts_with(&format!("  {program} ")));
        assert!(typed.all(|line| line.chars().count() < 80), "{help}");
        if is_job {
            found.iter().for_each(|example| is_understood(&folder, example));
        } else {
            all.extend(found);
        }
    }
    let path = format!("{}:{}", binary().parent().unwrap().display(), std::env::var("PATH").unwrap());
    // Other examples read what these write.
    let writes = |example: &String| {
        ["straggler study run", "straggler tools examples"].iter().any(|name| example.starts_with(name))
    };
    let (first, others): (Vec<_>, Vec<_>) = all.into_iter().partition(writes);
    for example in first.into_iter().chain(others) {
        let example = smaller(&example);
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

/// An example of an MPI job gets as far as looking for the library.
fn is_understood(folder: &Folder, example: &str) {
    let (_, arguments) = example.split_once(" straggler ").unwrap();
    let mut run = Command::new(binary());
    run.args(shlex::split(arguments).unwrap()).current_dir(folder.path());
    let output = run.env("STRAGGLER_MPI", "/nonexistent/libmpi.so").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(3) && said.contains("it cannot be loaded"), "{example}\n{said}");
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
fn every_listed_command_is_found() {
    let found = commands(&Folder::new());
    for name in ["", "whatif", "training show", "tools slurm-script loggp", "mpi latency", "tools man"] {
        assert!(found.iter().any(|command| command == name), "{name}: {found:?}");
    }
}

#[test]
fn examples_are_found_and_joined() {
    let help = "x\n  straggler a \\\n      --b\n\n  straggler c\n  not one\n";
    assert_eq!(examples(help, "straggler"), ["straggler a --b ", "straggler c "]);
}
