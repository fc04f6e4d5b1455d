use crate::args::{Cli, Command};
use crate::kernel::memory::Demand;
use crate::tools::slurm_script::script::*;
use crate::tools::{Tools, ToolsCommand};
use clap::Parser;
use std::process::Command as Program;

const BARRIER: [&str; 6] = ["--collective", "barrier", "--processes", "64", "--network", "chic"];

fn plan<'a>(head: &'a str, words: &[&'a str]) -> Plan {
    let typed = ["straggler", "tools", "slurm-script"].into_iter().chain(head.split(' '));
    let cli = Cli::try_parse_from(typed.chain(["--"]).chain(words.iter().copied())).unwrap();
    let Command::Tools(Tools { command: ToolsCommand::SlurmScript(typed) }) = cli.command else {
        panic!("{head}")
    };
    Plan::new(typed.command, &cli.common).unwrap()
}

fn text(head: &str, words: &[&str]) -> String {
    let plan = plan(head, words);
    let demand = Demand { spread_bytes: 1 << 36, each_bytes: 0 };
    let memory = Memory::new(demand, &plan).unwrap();
    let measures = matches!(plan.job.what, JobKind::Measure(_));
    script(&plan, (!measures).then_some(&memory))
}

/// The options of sbatch, in order.
fn directives(text: &str) -> Vec<&str> {
    let before_commands = text.lines().take_while(|line| line.is_empty() || line.starts_with('#'));
    let found: Vec<&str> = before_commands.filter_map(|line| line.strip_prefix("#SBATCH ")).collect();
    assert_eq!(
        found.len(),
        text.matches("#SBATCH ").count(),
        "sbatch stops reading at the first command: {text}"
    );
    found
}

/// The commands of the script: its lines without comments, joined.
fn commands(text: &str) -> Vec<String> {
    let joined = text.replace(" \\\n    ", " ");
    let lines = joined.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(String::from).collect()
}

#[test]
fn every_option_is_in_the_script() {
    let head = "simulate --nodes 16 --tasks-per-node 4 --cpus-per-task 8 --time 1-00:30:00 --partition compute \
                --account physics --job-name big --log logs/%x.%j --sbatch=--qos=debug --sbatch --mail-type=END \
                --module openmpi/4.1 --module it's --programs /opt/my/straggler/";
    let text = text(head, &BARRIER);
    assert_eq!(
        directives(&text),
        [
            "--nodes=16",
            "--ntasks-per-node=4",
            "--cpus-per-task=8",
            // 64 GiB on 64 ranks are 1 GiB each; 1.3 times that and 128 MiB, four times: 5836.8.
            "--mem=5837M",
            "--time=1-00:30:00",
            "--job-name=big",
            "--output=logs/%x.%j",
            "--partition=compute",
            "--account=physics",
            "--qos=debug",
            "--mail-type=END",
        ]
    );
    assert_eq!(
        commands(&text),
        [
            "set -eo pipefail",
            "module load openmpi/4.1",
            "module load \"it's\"",
            "srun --mpi=pmix --kill-on-bad-exit=1 --cpus-per-task=\"$SLURM_CPUS_PER_TASK\" /opt/my/straggler/straggler mpi simulate \
             --threads \"$SLURM_CPUS_PER_TASK\" --collective barrier --processes 64 --network chic",
        ]
    );
}

#[test]
fn resources_are_explained() {
    let one = text("simulate", &BARRIER);
    assert!(one.contains("\n# 1 node with 1 task: 1 MPI rank. The results do not depend on"), "{one}");
    let memory = "\n# Memory of each node, estimated: 83.3 GiB for each rank = the whole simulation + 30 %\n# + 128 MiB for";
    assert!(one.contains(memory), "{one}");
    let several = text("simulate --nodes 16 --tasks-per-node 4", &BARRIER);
    assert!(several.contains("\n# 16 nodes with 4 tasks each: 64 MPI ranks. "), "{several}");
    assert!(several.contains("for each rank = its share of the simulation + 30 %"), "{several}");
}

#[test]
fn measurements_have_their_nodes_to_themselves() {
    let found = text("assess --nodes 64", &[]);
    let asked = directives(&found);
    assert!(asked.contains(&"--exclusive") && asked.contains(&"--mem=0"), "{asked:?}");
    assert!(!asked.iter().any(|option| option.starts_with("--cpus-per-task")), "{asked:?}");
    assert!(!directives(&text("simulate --nodes 2", &BARRIER)).contains(&"--exclusive"));
}

#[test]
fn launchers_of_each_library() {
    let last = |head: &str, words: &[&str]| commands(&text(head, words)).pop().unwrap();
    let words = ["-o", "two.lat"];
    let program = "straggler mpi latency -o two.lat";
    for (options, launcher) in [
        (
            "",
            "srun --mpi=pmix --kill-on-bad-exit=1 --cpus-per-task=\"$SLURM_CPUS_PER_TASK\" --cpu-bind=cores",
        ),
        (
            " --mpi mpich",
            "srun --mpi=pmi2 --kill-on-bad-exit=1 --cpus-per-task=\"$SLURM_CPUS_PER_TASK\" --cpu-bind=cores",
        ),
        (" --launcher mpirun", "mpirun -n \"$SLURM_NTASKS\" --map-by ppr:3:node --bind-to core"),
        (
            " --launcher mpirun --cpus-per-task 4",
            "mpirun -n \"$SLURM_NTASKS\" --map-by ppr:3:node:PE=4 --bind-to core",
        ),
        (" --launcher mpirun --mpi mpich", "mpirun -n \"$SLURM_NTASKS\" -ppn 3 -bind-to core"),
    ] {
        let found = last(&format!("latency --nodes 2 --tasks-per-node 3{options}"), &words);
        assert_eq!(found, format!("{launcher} {program}"));
    }
    assert_eq!(
        last("assess --nodes 2", &[]),
        "srun --mpi=pmix --kill-on-bad-exit=1 --cpus-per-task=\"$SLURM_CPUS_ON_NODE\" straggler mpi assess"
    );
    let simulated = text("simulate --nodes 2 --launcher mpirun", &BARRIER);
    assert!(simulated.contains("--map-by ppr:1:node --bind-to none"), "{simulated}");
    assert!(last("assess --tasks-per-node 4", &[]).contains("--cpus-per-task=$((SLURM_CPUS_ON_NODE / 4)) "));
    assert_eq!(
        last("study a.toml", &["--csv"]),
        "straggler study run --threads \"$SLURM_CPUS_PER_TASK\" a.toml --csv"
    );
    assert!(
        last("study a.toml --nodes 2", &["--threads", "2"])
            .ends_with(" straggler mpi study a.toml --threads 2")
    );
}

/// bash reads every word back unchanged, whatever it contains, and executes none of them.
#[test]
fn words_survive_bash() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("it's $(here)").join("straggler");
    std::fs::create_dir(program.parent().unwrap()).unwrap();
    straggler_report::replace_executable_file(&program, |out| {
        out.write_all(b"#!/bin/bash\nprintf '%s\\n' \"$@\"\n")
    })
    .unwrap();
    let odd = [
        "it's",
        "$(touch broken)",
        "`touch broken`",
        "a b",
        "",
        "*",
        "\"",
        "\\",
        "é",
        "-- ;&|<>",
        "!#~{a,b}",
    ];
    let mut plan = plan("simulate", &BARRIER);
    plan.programs = Some(program.parent().unwrap().display().to_string());
    plan.job.words = odd.map(String::from).to_vec();
    let memory = Memory::new(Demand { spread_bytes: 0, each_bytes: 0 }, &plan).unwrap();
    let path = folder.path().join("job.sh");
    std::fs::write(&path, script(&plan, Some(&memory))).unwrap();
    let run =
        Program::new("bash").arg(&path).env("SLURM_CPUS_PER_TASK", "3").current_dir(folder.path()).output();
    let run = run.unwrap();
    let expected = ["simulate", "--threads", "3"].into_iter().chain(odd).map(|word| format!("{word}\n"));
    assert_eq!(String::from_utf8(run.stdout).unwrap(), expected.collect::<String>());
    assert_eq!(String::from_utf8(run.stderr).unwrap(), "");
    assert!(!folder.path().join("broken").exists());
}

#[test]
fn bash_and_shellcheck_find_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for (name, head, words) in [
        ("one.sh", "simulate --module a/b", &BARRIER[..]),
        ("many.sh", "simulate --nodes 4 --cpus-per-task 2 --launcher mpirun", &BARRIER[..]),
        ("assess.sh", "assess --nodes 4 --tasks-per-node 2", &["--time", "a b"][..]),
        ("study.sh", "study a.toml --nodes 4 --mpi mpich", &[][..]),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, text(head, words)).unwrap();
        let bash = Program::new("bash").arg("-n").arg(&path).output().unwrap();
        assert!(bash.status.success() && bash.stderr.is_empty(), "{bash:?}");
        // Not installed everywhere.
        if let Ok(found) = Program::new("shellcheck").arg(&path).output() {
            assert!(found.status.success(), "{}", String::from_utf8_lossy(&found.stdout));
        }
    }
}
