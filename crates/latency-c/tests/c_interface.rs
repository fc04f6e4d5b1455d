//! Compiles and runs a benchmark in C, and reads its file back.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use straggler_model::latency::{Bins, read};

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Finds the static library that cargo has built for this test, beside it or in the folder above.
fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folders = test.ancestors().skip(1).take(2).map(|folder| folder.join("libstraggler_latency.a"));
    let found = folders.filter(|path| path.exists());
    found
        .max_by_key(|path| path.metadata().and_then(|about| about.modified()).ok())
        .expect("libstraggler_latency.a")
}

fn succeed(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
}

/// Only a library that unwinds returns an error code for a fault of its own.
#[test]
fn the_documented_profile_unwinds() {
    let read = |path: &str| std::fs::read_to_string(here(path)).unwrap();
    let profile = "[profile.c-library]\ninherits = \"release\"\npanic = \"unwind\"\n";
    assert!(read("../../Cargo.toml").contains(profile));
    assert!(
        read("../../docs/guide/latency.md").contains("cargo build --profile c-library -p straggler-latency")
    );
}

#[test]
fn a_benchmark_in_c_writes_a_file() {
    if Command::new("cc").arg("--version").output().is_err() {
        // Not with `eprintln!`, whose output is captured for tests that pass.
        let _ = writeln!(std::io::stderr(), "skipped: the C interface of latencies, as there is no cc");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (program, file) = (folder.path().join("benchmark"), folder.path().join("c.lat"));
    let mut compile = Command::new("cc");
    compile.args(["-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-pedantic", "-o"]).arg(&program);
    compile.arg(here("tests/benchmark.c")).arg("-I").arg(here("../../mpi/include"));
    succeed(compile.arg(library()).args(["-lpthread", "-ldl", "-lm"]));
    succeed(Command::new(&program).arg(&file).current_dir(folder.path()));

    let found = read(&file).unwrap();
    assert_eq!((found.kernel.as_str(), found.series.len()), ("benchmark", 2));
    assert!(found.notes.iter().any(|note| note == "Written by a benchmark in C."), "{:?}", found.notes);
    let [small, large] = &found.series[..] else { panic!("{:?}", found.series) };
    assert_eq!((small.labels.size, large.labels.size), (Some(8), Some(64)));
    assert_eq!(large.trials.bins(), Bins::Logarithmic { size_ps: 50_000, count: 1000 });
    for series in [small, large] {
        assert_eq!((series.trials.count(), series.minima.len(), series.cycles.len()), (3000, 3, 3));
    }
    // A hundred times the work takes much longer, on any machine.
    assert!(large.trials.min().unwrap().ps() > 20 * small.trials.min().unwrap().ps().max(1));
}
