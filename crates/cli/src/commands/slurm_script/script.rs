//! The text of a job script: the requests to Slurm, then the command, each with a comment that says why.

pub mod command;

use super::memory::{Memory, PROGRAM_BYTES};
use crate::invocation::command_line;
use crate::plan::slurm_script::{JobKind, Measure, Plan};
use crate::shell::quoted;
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
    let _ = write!(text, "\n{}{}\n", command::why(plan), command::lines(plan));
    text
}

#[cfg(test)]
mod tests;
