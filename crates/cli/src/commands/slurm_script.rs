//! `straggler slurm-script`: writes an sbatch script from a plan and the resources of its job.

mod memory;
mod script;

use crate::console::Console;
use crate::exit::Outcome;
use crate::memory::Demand;
use crate::plan::slurm_script::Plan;
use crate::shell::quoted;
use memory::Memory;
use script::command;
use serde::Serialize;
use straggler_report::replace_executable_file;

/// The JSON answer.
#[derive(Serialize)]
struct ScriptAnswer<'a> {
    version: &'static str,
    job: &'static str,
    nodes: u32,
    tasks: u64,
    tasks_per_node: u32,
    /// Null if the tasks of a node share all of its CPUs.
    cpus_per_task: Option<u32>,
    /// Null if the job has all memory of its nodes.
    memory_per_task_bytes: Option<u64>,
    memory_per_node_bytes: Option<u64>,
    time: &'a str,
    command: String,
    script: &'a str,
}

/// `demand` is the total of the job; none for a measurement, which uses whole nodes.
pub fn run(plan: &Plan, demand: Option<Demand>, console: &Console) -> Outcome<()> {
    let memory = demand.map(|demand| Memory::new(demand, plan)).transpose()?;
    let text = script::script(plan, memory.as_ref());
    if let Some(path) = &plan.output {
        replace_executable_file(path, |out| out.write_all(text.as_bytes()))?;
        let name = quoted(&path.to_string_lossy());
        console.note(&format!("The script is in {name}; submit it: sbatch {name}"));
    }
    if console.json {
        return console.print_json(&ScriptAnswer {
            version: env!("CARGO_PKG_VERSION"),
            job: plan.job.what.name(),
            nodes: plan.nodes,
            tasks: plan.tasks(),
            tasks_per_node: plan.tasks_per_node,
            cpus_per_task: plan.cpus_per_task,
            memory_per_task_bytes: memory.as_ref().map(|memory| memory.task_bytes),
            memory_per_node_bytes: memory.as_ref().map(Memory::node_bytes),
            time: &plan.time,
            command: command::line(plan),
            script: &text,
        });
    }
    match plan.output {
        Some(_) => Ok(()),
        None => console.print_verbatim(&text),
    }
}
