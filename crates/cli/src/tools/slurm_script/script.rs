//! The text of a job script: the requests to Slurm, then the command, each with a comment that says why.

use crate::kernel::{command_line, quoted};
use crate::tools::slurm_script::plan::{JobKind, Measure, Plan};
use crate::tools::slurm_script::{Launcher, Memory, Mpi, PROGRAM_BYTES};
use std::fmt::Write;
use straggler_report::numbers::{counted, memory as in_words};

/// The whole script. sbatch reads `#SBATCH` lines up to the first command, so they all come first.
pub fn script(plan: &Plan, memory: Option<&Memory>) -> String {
    [head(), resources(plan), memory_lines(plan, memory), limits(plan), body(plan)].concat()
}

fn head() -> String {
    let line = command_line();
    // A line break in the comment would turn the rest into a command.
    let written = if line.chars().any(char::is_control) { String::new() } else { format!("#   {line}\n") };
    format!(
        "#!/bin/bash\n# Written by straggler {}:\n{written}# Submit it with `sbatch`, check its state with \
         `squeue --me`, cancel it with `scancel JOB`.\n# Names of files are relative to the folder in \
         which sbatch is called; all nodes must see them.\n\n",
        env!("CARGO_PKG_VERSION")
    )
}

fn resources(plan: &Plan) -> String {
    let ranks = counted(plan.tasks(), "MPI rank", "MPI ranks");
    let mut text = format!(
        "# {}: {ranks}. {}\n\
         #SBATCH --nodes={}\n\
         #SBATCH --ntasks-per-node={}\n",
        plan.nodes_in_words(),
        what_ranks_change(plan),
        plan.nodes,
        plan.tasks_per_node
    );
    if let Some(cpus) = plan.cpus_per_task {
        add(&mut text, "CPUs of each rank, one for each of its threads.", &format!("cpus-per-task={cpus}"));
    }
    if matches!(plan.job.what, JobKind::Measure(_)) {
        add(&mut text, "Other jobs on the nodes would be measured as noise.", "exclusive");
    }
    text
}

fn what_ranks_change(plan: &Plan) -> &'static str {
    match plan.job.what {
        JobKind::Simulate(_) | JobKind::Study(_) => "The results do not depend on the number of ranks.",
        JobKind::Measure(Measure::Assess) => "Each measures its cores, all at the same time.",
        JobKind::Measure(Measure::Latency) => "Every pair of them is measured.",
        JobKind::Measure(Measure::LogGp) => {
            "Two of them measure, on two nodes if possible; the others are idle."
        }
    }
}

fn memory_lines(plan: &Plan, memory: Option<&Memory>) -> String {
    let mut text = String::new();
    let Some(memory) = memory else {
        add(&mut text, "0 means all memory of each node: the job has the nodes to itself.", "mem=0");
        return text;
    };
    let holds = match plan.job.what {
        JobKind::Study(_) => "the largest run of the study",
        _ if plan.tasks() == 1 => "the whole simulation",
        _ => "its share of the simulation",
    };
    let why = format!(
        "Memory of each node, estimated: {} for each rank = {holds} + 30 %\n# + {} for the program and MPI. \
         Slurm kills a job that uses more.",
        in_words(memory.task_bytes),
        in_words(PROGRAM_BYTES)
    );
    add(&mut text, &why, &format!("mem={}M", memory.node_mebibytes));
    text
}

fn limits(plan: &Plan) -> String {
    let mut text = String::new();
    let ends = match plan.job.what {
        JobKind::Study(_) => "Slurm kills the job after this time; submit it again to resume the study.",
        _ => "Slurm kills the job after this time. Short jobs start earlier.",
    };
    add(&mut text, ends, &format!("time={}", plan.time));
    add(
        &mut text,
        "Name of the job in squeue, and the file for its output; %j is the job number.",
        &format!("job-name={}", plan.job_name),
    );
    let _ = writeln!(text, "#SBATCH --output={}", plan.log);
    if let Some(name) = &plan.partition {
        add(&mut text, "The partition; `sinfo` lists them.", &format!("partition={name}"));
    }
    if let Some(name) = &plan.account {
        add(&mut text, "The account to charge.", &format!("account={name}"));
    }
    if !plan.sbatch.is_empty() {
        text.push_str("# Given with --sbatch; if an option occurs twice, sbatch uses the last.\n");
        plan.sbatch.iter().for_each(|option| text.extend(["#SBATCH ", option, "\n"]));
    }
    text
}

/// Adds an sbatch option under a comment.
fn add(text: &mut String, why: &str, option: &str) {
    text.extend(["# ", why, "\n#SBATCH --", option, "\n"]);
}

fn body(plan: &Plan) -> String {
    let mut text =
        "\n# The first command that fails ends the job with its exit code.\nset -eo pipefail\n".to_string();
    if !plan.modules.is_empty() {
        text.push('\n');
        plan.modules.iter().for_each(|name| text.extend(["module load ", &quoted(name), "\n"]));
    }
    let _ = write!(text, "\n{}{}\n", why(plan), lines(plan));
    text
}

/// The command on one line.
pub fn line(plan: &Plan) -> String {
    parts(plan).join(" ")
}

/// The command with the program on a separate line.
fn lines(plan: &Plan) -> String {
    parts(plan).join(" \\\n    ")
}

/// The launcher, if one is needed, and the program.
fn parts(plan: &Plan) -> Vec<String> {
    launcher(plan).into_iter().chain([program(plan)]).collect()
}

/// A comment above the command.
fn why(plan: &Plan) -> &'static str {
    match (plan.is_single(), plan.launcher, plan.mpi) {
        (true, ..) => "# One process needs no MPI.\n",
        (_, Launcher::Srun, Mpi::OpenMpi) => {
            "# srun starts a rank for each task; Open MPI's ranks find each other by PMIx (`srun \
             --mpi=list`).\n# Without this option it gives each rank one CPU.\n"
        }
        (_, Launcher::Srun, Mpi::Mpich) => {
            "# srun starts a rank for each task; MPICH's ranks find each other by PMI-2 (`srun \
             --mpi=list`).\n# Without this option it gives each rank one CPU.\n"
        }
        (_, Launcher::Mpirun, Mpi::OpenMpi) if binds(plan) => {
            "# mpirun asks Slurm for the nodes. Every rank keeps its core.\n"
        }
        (_, Launcher::Mpirun, Mpi::OpenMpi) => {
            "# mpirun asks Slurm for the nodes. Ranks are not bound to single cores, because each has \
             several threads.\n"
        }
        (_, Launcher::Mpirun, Mpi::Mpich) => "# mpirun asks Slurm for the nodes.\n",
    }
}

fn launcher(plan: &Plan) -> Option<String> {
    let (per_node, binds) = (plan.tasks_per_node, binds(plan));
    if plan.is_single() {
        return None;
    }
    let srun = |mpi: &str| {
        let bind = if binds { " --cpu-bind=cores" } else { "" };
        format!("srun --mpi={mpi} --kill-on-bad-exit=1 --cpus-per-task={}{bind}", cpus(plan))
    };
    Some(match (plan.launcher, plan.mpi) {
        (Launcher::Srun, Mpi::OpenMpi) => srun("pmix"),
        (Launcher::Srun, Mpi::Mpich) => srun("pmi2"),
        (Launcher::Mpirun, Mpi::OpenMpi) => {
            let cores = plan.cpus_per_task.filter(|&cpus| binds && cpus > 1);
            let cores = cores.map_or_else(String::new, |cpus| format!(":PE={cpus}"));
            let to = if binds { "core" } else { "none" };
            format!("mpirun -n \"$SLURM_NTASKS\" --map-by ppr:{per_node}:node{cores} --bind-to {to}")
        }
        (Launcher::Mpirun, Mpi::Mpich) => {
            let bind = if binds { " -bind-to core" } else { "" };
            format!("mpirun -n \"$SLURM_NTASKS\" -ppn {per_node}{bind}")
        }
    })
}

/// Latencies depend on the cores of the ranks. Other ranks have several threads, or measure all cores.
fn binds(plan: &Plan) -> bool {
    matches!(plan.job.what, JobKind::Measure(Measure::Latency | Measure::LogGp))
}

/// Evaluated when the script runs: the number of CPUs of a node is known only there.
fn cpus(plan: &Plan) -> String {
    match (plan.cpus_per_task, plan.tasks_per_node) {
        (Some(_), _) => "\"$SLURM_CPUS_PER_TASK\"".into(),
        (None, 1) => "\"$SLURM_CPUS_ON_NODE\"".into(),
        (None, tasks) => format!("$((SLURM_CPUS_ON_NODE / {tasks}))"),
    }
}

/// The program with its command and options, quoted for the shell.
fn program(plan: &Plan) -> String {
    let command = match (&plan.job.what, plan.is_single()) {
        (JobKind::Study(_), true) => "study run".into(),
        (what, true) => what.name().into(),
        (what, false) => format!("mpi {}", what.name()),
    };
    let path = match &plan.programs {
        Some(folder) => quoted(&format!("{}/straggler", folder.trim_end_matches('/'))),
        None => "straggler".into(),
    };
    // Before all other options: after a `--` it would be taken for a file.
    let threads = plan.job.sets_threads.then(|| "--threads \"$SLURM_CPUS_PER_TASK\"".to_string());
    let words = plan.job.words.iter().map(|word| quoted(word));
    [path, command].into_iter().chain(threads).chain(words).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use crate::kernel::memory::Demand;
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
        assert!(
            last("assess --tasks-per-node 4", &[]).contains("--cpus-per-task=$((SLURM_CPUS_ON_NODE / 4)) ")
        );
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
        let run = Program::new("bash")
            .arg(&path)
            .env("SLURM_CPUS_PER_TASK", "3")
            .current_dir(folder.path())
            .output();
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
}
