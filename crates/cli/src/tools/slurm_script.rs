//! `straggler tools slurm-script`: writes an sbatch script from a plan and the resources of its job.

pub mod args;
pub mod plan;
pub mod script;

use crate::kernel::console::Console;
use crate::kernel::exit::{Failure, Outcome};
use crate::kernel::invocation::quoted;
use crate::kernel::memory::Demand;
use crate::tools::slurm_script::plan::Plan;
use serde::Serialize;
use straggler_report::numbers::memory;
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
            command: script::line(plan),
            script: &text,
        });
    }
    match plan.output {
        Some(_) => Ok(()),
        None => console.print_verbatim(&text),
    }
}

/// Memory of the program, the MPI library and its buffers on each rank. `straggler mpi latency` and `loggp` took 15 to
/// 26 MiB with Open MPI and MPICH in shared memory, with 2 and 4 ranks. Network drivers and more peers take more, so
/// this is generous.
pub const PROGRAM_BYTES: u64 = 128 << 20;
const MEBIBYTE: u64 = 1 << 20;

/// Memory needed by each rank and each node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    pub task_bytes: u64,
    /// Slurm counts in MiB.
    pub node_mebibytes: u64,
}

impl Memory {
    pub fn new(demand: Demand, plan: &Plan) -> Outcome<Memory> {
        let memory = Memory::on(demand, plan.nodes, plan.tasks_per_node);
        match plan.memory_per_node.filter(|&has| memory.node_bytes() > has) {
            Some(has) => Err(memory.refusal(demand, plan, has)),
            None => Ok(memory),
        }
    }

    fn on(demand: Demand, nodes: u32, tasks_per_node: u32) -> Memory {
        let tasks = u64::from(nodes) * u64::from(tasks_per_node);
        let share = demand.spread_bytes.div_ceil(tasks.max(1));
        let held = with_spare(share.saturating_add(demand.each_bytes));
        let task_bytes = held.saturating_add(PROGRAM_BYTES);
        let node_bytes = task_bytes.saturating_mul(tasks_per_node.into());
        Memory { task_bytes, node_mebibytes: node_bytes.div_ceil(MEBIBYTE) }
    }

    pub fn node_bytes(&self) -> u64 {
        self.node_mebibytes.saturating_mul(MEBIBYTE)
    }

    /// The error with a suggestion that would fit: more nodes, else fewer tasks per node.
    fn refusal(self, demand: Demand, plan: &Plan, has: u64) -> Failure {
        let fits = |nodes, tasks| Memory::on(demand, nodes, tasks).node_bytes() <= has;
        let tasks_fit = (1..plan.tasks_per_node).rev().find(|&tasks| fits(plan.nodes, tasks));
        let mend = match (nodes_needed(demand, plan.tasks_per_node, has), tasks_fit) {
            (Some(nodes), _) => format!("use --nodes {nodes}"),
            (None, Some(tasks)) => format!("more nodes do not help; use --tasks-per-node {tasks}"),
            (None, None) => "no number of such nodes is enough; use fewer processes or larger nodes".into(),
        };
        Failure::bad_input(format!(
            "on {}, a node needs {}, but --memory-per-node says {}: {mend}",
            plan.nodes_in_words(),
            memory(self.node_bytes()),
            memory(has),
        ))
    }
}

/// Adds a safety margin: parts differ in size, and messages in flight are extra.
fn with_spare(bytes: u64) -> u64 {
    u64::try_from(u128::from(bytes) * 13 / 10).unwrap_or(u64::MAX)
}

/// The least number of nodes of this size, if any: with more nodes, shares only get smaller.
fn nodes_needed(demand: Demand, tasks_per_node: u32, has: u64) -> Option<u32> {
    let fits = |nodes| Memory::on(demand, nodes, tasks_per_node).node_bytes() <= has;
    let (mut low, mut high) = (1, u32::MAX);
    if !fits(high) {
        return None;
    }
    while low < high {
        let middle = low + (high - low) / 2;
        if fits(middle) { high = middle } else { low = middle + 1 }
    }
    Some(high)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIBIBYTE: u64 = 1 << 30;

    fn spread(bytes: u64) -> Demand {
        Demand { spread_bytes: bytes, each_bytes: 0 }
    }

    /// 10^9 processes at 112 bytes on 64 ranks: 1.75 GB each, a third more, and the program.
    #[test]
    fn a_rank_takes_its_share_and_a_third_more() {
        let on = Memory::on(spread(112_000_000_000), 16, 4);
        assert_eq!(on.task_bytes, 1_750_000_000 / 10 * 13 + PROGRAM_BYTES);
        assert_eq!(on.node_mebibytes, (4 * on.task_bytes).div_ceil(MEBIBYTE));
        let each = Memory::on(Demand { spread_bytes: 0, each_bytes: GIBIBYTE }, 16, 4);
        assert_eq!(each.task_bytes, GIBIBYTE / 10 * 13 + 5 + PROGRAM_BYTES);
    }

    #[test]
    fn nodes_are_the_fewest_that_fit() {
        for (bytes, tasks, has) in
            [(112_000_000_000, 4, 16 * GIBIBYTE), (GIBIBYTE, 1, GIBIBYTE), (0, 8, 2 * GIBIBYTE)]
        {
            let nodes = nodes_needed(spread(bytes), tasks, has).unwrap();
            assert!(Memory::on(spread(bytes), nodes, tasks).node_bytes() <= has);
            assert!(nodes == 1 || Memory::on(spread(bytes), nodes - 1, tasks).node_bytes() > has, "{nodes}");
        }
        assert_eq!(nodes_needed(spread(0), 8, GIBIBYTE - 1), None);
        assert_eq!(
            nodes_needed(Demand { spread_bytes: 0, each_bytes: u64::MAX }, 1, u64::MAX - MEBIBYTE),
            None
        );
    }
}
