//! The text of a job script: the requests to Slurm, then the command, each with a comment that says why.

#[cfg(test)]
pub mod tests;

use crate::kernel::invocation::{command_line, quoted};
use crate::tools::slurm_script::args::{Launcher, Mpi};
use crate::tools::slurm_script::plan::{JobKind, Measure, Plan};
use crate::tools::slurm_script::{Memory, PROGRAM_BYTES};
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
pub fn lines(plan: &Plan) -> String {
    parts(plan).join(" \\\n    ")
}

/// The launcher, if one is needed, and the program.
fn parts(plan: &Plan) -> Vec<String> {
    launcher(plan).into_iter().chain([program(plan)]).collect()
}

/// A comment above the command.
pub fn why(plan: &Plan) -> &'static str {
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
