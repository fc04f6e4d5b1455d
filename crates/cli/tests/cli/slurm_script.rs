//! Job scripts: requested resources, refused jobs, and where the script is written.

use crate::outside::program::Folder;
use serde_json::Value;

const THOUSAND_MILLION: &str = "--collective allreduce --processes 1000000000 --size 8 --network chic";

fn estimate(folder: &Folder, line: &str) -> Value {
    folder.run(&format!("tools slurm-script {line}")).good().json()
}

/// 112 bytes for each process, 132 with noise.
#[test]
fn memory_follows_from_the_problem() {
    let folder = Folder::new();
    let program = 128 << 20;
    for (noise, bytes) in [("", 112_u64), (" --noise periodic:period=1ms,duration=1us", 132)] {
        for (nodes, tasks) in [(16, 4), (1000, 1)] {
            let line = format!(
                "simulate --nodes {nodes} --tasks-per-node {tasks} --json -- {THOUSAND_MILLION}{noise}"
            );
            let answer = estimate(&folder, &line);
            let share = 1_000_000_000 * bytes / (nodes * tasks);
            assert_eq!(answer["memory_per_task_bytes"], share * 13 / 10 + program, "{line}");
            let node = answer["memory_per_node_bytes"].as_u64().unwrap();
            assert!((0..1 << 20).contains(&(node - tasks * (share * 13 / 10 + program))), "{node}");
            let script = answer["script"].as_str().unwrap();
            assert!(script.contains(&format!("#SBATCH --mem={}M\n", node >> 20)), "{script}");
            assert_eq!(answer["tasks"], nodes * tasks);
        }
    }
    let study = estimate(&folder, "study examples/studies/allreduce.toml --nodes 4 --json");
    let checked = folder.run("study check examples/studies/allreduce.toml --json").good().json();
    let needs = checked["memory_bytes"].as_u64().unwrap();
    assert_eq!(study["memory_per_task_bytes"], needs * 13 / 10 + program);
    assert_eq!(estimate(&folder, "assess --nodes 4 --json")["memory_per_node_bytes"], Value::Null);
}

#[test]
fn what_does_not_fit_is_refused_with_what_would() {
    let folder = Folder::new();
    let line = |nodes: u64| {
        format!(
            "tools slurm-script simulate --nodes {nodes} --memory-per-node 16GiB --json -- {THOUSAND_MILLION}"
        )
    };
    folder
        .run(&line(2))
        .ends_with(3)
        .says("a node needs 67.9 GiB, but --memory-per-node says 16.0 GiB: use --nodes 9");
    folder.run(&line(8)).ends_with(3).says("use --nodes 9");
    folder.run(&line(9)).good();
    let study =
        "tools slurm-script study examples/studies/allreduce.toml --tasks-per-node 16 --memory-per-node 1GiB";
    folder.run(study).ends_with(3).says("more nodes do not help; use --tasks-per-node");
    let small = "tools slurm-script study examples/studies/allreduce.toml --memory-per-node 64MiB";
    folder.run(small).ends_with(3).says("no number of such nodes is enough");
}

#[test]
fn mistakes_of_the_job_are_told_before_it_is_submitted() {
    let folder = Folder::new();
    for (line, code, text) in [
        ("simulate -- --collective barrier --processes 4 --network chik", 2, "chic"),
        ("simulate -- --collective barrier --processes 4", 2, "--network is missing"),
        (
            "simulate -- --collective barrier --processes 5000 --network chic --timeline t.json",
            2,
            "--timeline-ranks",
        ),
        ("simulate -- absent.goal --network chic", 3, "absent.goal cannot be read"),
        (
            "simulate -- --collective barrier --processes 4 --network chic --report no/r.html",
            3,
            "there is no folder no",
        ),
        (
            "study examples/studies/allreduce.toml -- -o examples/studies/allreduce.toml",
            2,
            "give another folder",
        ),
        ("study fixtures/conformance/eager-00.goal", 3, "GOAL"),
        ("latency", 2, "--nodes 2"),
        ("assess --time 1h", 2, "hours:minutes:seconds"),
        ("assess --partition a#b", 2, "#SBATCH"),
        ("assess --sbatch qos=debug", 2, "starts with a hyphen"),
        ("assess --nodes 0", 2, "--nodes"),
        ("assess -o no/job.sh", 3, "there is no folder no"),
    ] {
        folder.run(&format!("tools slurm-script {line}")).ends_with(code).says(text);
    }
    assert_eq!(folder.names(), Vec::<String>::new());
}

#[test]
fn a_file_or_stdout() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let line = "tools slurm-script loggp --nodes 2 -o job.sh";
    let run = folder.run(line).good().says("sbatch job.sh");
    assert_eq!(run.stdout(), "");
    let path = folder.path().join("job.sh");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o100, 0o100);
    let printed = folder.run("tools slurm-script loggp --nodes 2").good().stdout();
    let written = std::fs::read_to_string(&path).unwrap();
    let first = |text: &str| text.lines().next().map(String::from);
    assert_eq!(first(&printed).as_deref(), Some("#!/bin/bash"));
    // They differ only in the command that wrote them.
    let rest = |text: &str| {
        text.lines().filter(|line| !line.starts_with("#   straggler ")).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(rest(&printed), rest(&written));
}
