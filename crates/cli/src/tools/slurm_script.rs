//! `straggler tools slurm-script`: writes an sbatch script from a plan and the resources of its job.

pub mod plan;
pub mod script;

use crate::kernel::prelude::*;
use crate::{kernel::memory::Demand, kernel::typed::count, tools::slurm_script::plan::Plan};
use std::ffi::OsString;
use straggler_report::replace_executable_file;

const EXAMPLES: &str = "\
EXAMPLES
  straggler tools slurm-script simulate --nodes 16 --tasks-per-node 4 \\
      --cpus-per-task 8 --time 00:30:00 --partition compute -o simulate.sh \\
      -- --collective allreduce --processes 1000000000 --size 8 --network chic
  straggler tools slurm-script assess --nodes 64 -o assess.sh
  straggler tools slurm-script study examples/studies/allreduce.toml --nodes 4
  straggler tools slurm-script latency --nodes 2 -- --sizes 1,64KiB -o two.lat
  straggler tools slurm-script loggp --nodes 2 --mpi mpich --json

Then: sbatch simulate.sh

Options after -- go to the program that the job starts. File names are relative
to the folder in which sbatch is called.";

/// Write a job script that runs straggler on the nodes of a Slurm cluster
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct SlurmScript {
    #[command(subcommand)]
    pub command: SlurmCommand,
}

#[derive(Debug, Subcommand)]
pub enum SlurmCommand {
    /// Distribute the processes of a simulation over the nodes
    #[command(after_help = SIMULATE_EXAMPLES)]
    Simulate(OptionsJob),
    /// Distribute the runs of a study over the nodes
    #[command(after_help = STUDY_EXAMPLES)]
    #[command(
        override_usage = "straggler tools slurm-script study [OPTIONS] <FILE.toml>\n           [-- <OPTIONS>...]"
    )]
    Study(StudyJob),
    /// Assess every core of every node
    #[command(after_help = ASSESS_EXAMPLES)]
    Assess(OptionsJob),
    /// Measure latencies between all pairs of MPI ranks
    #[command(after_help = LATENCY_EXAMPLES)]
    Latency(OptionsJob),
    /// Measure the LogGP parameters between two nodes
    #[command(after_help = LOGGP_EXAMPLES)]
    Loggp(OptionsJob),
}

const SIMULATE_EXAMPLES: &str = "\
EXAMPLES
  straggler tools slurm-script simulate --nodes 16 --tasks-per-node 4 \\
      --cpus-per-task 8 --memory-per-node 64GiB -o simulate.sh \\
      -- --collective allreduce --processes 1000000000 --size 8 --network chic
  straggler tools slurm-script simulate -- fixtures/traces/halo --copies 64 \\
      --fit

Options after -- are those of `straggler simulate` and are checked now. The
memory is estimated from them. A job of one task runs `straggler simulate`
itself, which needs no MPI.";

const STUDY_EXAMPLES: &str = "\
EXAMPLES
  straggler tools slurm-script study examples/studies/allreduce.toml \\
      --nodes 4 --tasks-per-node 16 --time 12:00:00 -- -o allreduce \\
      --until-ci 5%

The file is checked as by `straggler study check`. Options after -- are those
of `study run`. If the time limit ends a study, submit the script again: the
study resumes.";

const ASSESS_EXAMPLES: &str = "\
EXAMPLES
  straggler tools slurm-script assess --nodes 64 --partition compute \\
      -o assess.sh

The job gets exclusive nodes. Options after -- are those of
`straggler mpi assess`, which checks them when the job starts.";

const LATENCY_EXAMPLES: &str = "\
EXAMPLES
  straggler tools slurm-script latency --nodes 2 --tasks-per-node 2 \\
      -o latency.sh -- --kernel allreduce --sizes 8,64KiB -o four.lat

The job gets exclusive nodes. Options after -- are those of
`straggler mpi latency`, which checks them when the job starts.";

const LOGGP_EXAMPLES: &str = "\
EXAMPLES
  straggler tools slurm-script loggp --nodes 2 --launcher mpirun -o loggp.sh \\
      -- --largest 1MiB -o net.toml

The job gets exclusive nodes. Options after -- are those of
`straggler mpi loggp`, which checks them when the job starts.";

#[derive(Debug, Args)]
pub struct OptionsJob {
    #[command(flatten)]
    pub resources: Resources,
    #[command(flatten)]
    pub settings: Settings,
    /// Options of the program that the job starts
    #[arg(last = true, value_name = "OPTIONS")]
    pub words: Vec<OsString>,
}

#[derive(Debug, Args)]
pub struct StudyJob {
    /// The study
    #[arg(value_name = "FILE.toml")]
    pub file: PathBuf,
    #[command(flatten)]
    pub job: OptionsJob,
}

/// What the job asks Slurm for.
#[derive(Debug, Args)]
#[command(next_help_heading = "Resources")]
pub struct Resources {
    /// Number of nodes
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = count::<u32>(1..=1_000_000))]
    pub nodes: u32,
    /// MPI ranks per node
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = count::<u32>(1..=4096))]
    pub tasks_per_node: u32,
    /// CPUs per rank, with one thread each [default: 1, or --threads after --; for `assess` all CPUs of the node]
    #[arg(long, value_name = "N", value_parser = count::<u32>(1..=1024))]
    pub cpus_per_task: Option<u32>,
    /// Memory of a node; a job that does not fit is rejected, with the number of nodes it needs
    #[arg(long, value_name = "BYTES")]
    pub memory_per_node: Option<Bytes>,
    /// Time limit: MINUTES, HH:MM:SS or DAYS-HH:MM:SS
    #[arg(long, value_name = "TIME", default_value = "01:00:00", value_parser = time_limit)]
    pub time: String,
    /// Partition [default: that of the cluster]
    #[arg(long, value_name = "NAME", value_parser = directive)]
    pub partition: Option<String>,
    /// Account to charge
    #[arg(long, value_name = "NAME", value_parser = directive)]
    pub account: Option<String>,
    /// Another sbatch option, for example --sbatch=--qos=debug; repeatable, overrides the others
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true, value_parser = sbatch_option)]
    pub sbatch: Vec<String>,
}

/// How the job starts its program.
#[derive(Debug, Args)]
#[command(next_help_heading = "Script")]
pub struct Settings {
    /// Name of the job [default: straggler-simulate, straggler-study, …]
    #[arg(long, value_name = "NAME", value_parser = directive)]
    pub job_name: Option<String>,
    /// File for the output of the job; %j is the job number [default: the name of the job and -%j.out]
    #[arg(long, value_name = "FILE", value_parser = directive)]
    pub log: Option<String>,
    /// Module to load; repeatable
    #[arg(long, value_name = "NAME", value_parser = text)]
    pub module: Vec<String>,
    /// Folder that holds straggler [default: search PATH]
    #[arg(long, value_name = "DIR", value_parser = text)]
    pub programs: Option<String>,
    /// The MPI of the cluster
    #[arg(long, value_enum, default_value_t)]
    pub mpi: Mpi,
    /// Launcher of the MPI ranks
    #[arg(long, value_enum, default_value_t)]
    pub launcher: Launcher,
    /// Write the script to an executable file [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Mpi {
    #[default]
    #[value(name = "openmpi")]
    OpenMpi,
    Mpich,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Launcher {
    /// Slurm itself
    #[default]
    Srun,
    /// The launcher of the MPI library
    Mpirun,
}

fn sbatch_option(option: &str) -> Result<String, String> {
    if !option.starts_with('-') {
        return Err("an option starts with a hyphen: write --sbatch=--qos=debug".into());
    }
    directive(option)
}

/// A value of an `#SBATCH` line. Blanks, quotes, backslashes and `#` have a special meaning to sbatch, and a newline would
/// start a command of the script.
fn directive(value: &str) -> Result<String, String> {
    let is_special = |c: char| c.is_whitespace() || c.is_control() || "\"'\\#".contains(c);
    match value.chars().find(|&c| is_special(c)) {
        _ if value.is_empty() => Err("it is empty".into()),
        Some(c) => Err(format!("an #SBATCH line cannot contain {c:?}: remove it")),
        None => Ok(value.into()),
    }
}

/// A word of a command of the script, where it is quoted.
fn text(value: &str) -> Result<String, String> {
    match value.chars().find(|c| c.is_control()) {
        _ if value.is_empty() => Err("it is empty".into()),
        Some(c) => Err(format!("a script cannot contain {c:?}: remove it")),
        None => Ok(value.into()),
    }
}

/// A time as sbatch reads it: minutes, minutes:seconds, hours:minutes:seconds, days-hours, days-hours:minutes or
/// days-hours:minutes:seconds.
fn time_limit(value: &str) -> Result<String, String> {
    let rest = match value.split_once('-') {
        Some((days, rest)) if is_number(days) => rest,
        Some(_) => "",
        None => value,
    };
    let fields: Vec<&str> = rest.split(':').collect();
    if fields.len() <= 3 && fields.iter().all(|field| is_number(field)) {
        return Ok(value.into());
    }
    Err("write minutes (90), hours:minutes:seconds (01:30:00) or days-hours:minutes:seconds (1-12:00:00)"
        .into())
}

/// At most 6 digits: sbatch reads them into 32 bits.
fn is_number(text: &str) -> bool {
    (1..=6).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

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

    #[test]
    fn times_are_those_that_sbatch_reads() {
        for good in ["90", "0", "90:00", "01:30:00", "1-12", "1-12:30", "1-12:30:00"] {
            assert_eq!(time_limit(good).as_deref(), Ok(good));
        }
        for bad in ["", "1h", "1:2:3:4", "-1", "1-", "1-2-3", "01:30:", " 90", "90\n", "1234567", "٣"] {
            assert!(time_limit(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_directive_stays_on_its_line() {
        for good in ["compute", "gpu,cpu", "a&b|[c*2]", "logs/%x-%j.out", "$HOME"] {
            assert_eq!(directive(good).as_deref(), Ok(good));
        }
        for bad in ["", "a b", "a\nrm -rf x", "a\tb", "it's", "\"", "a#b", "a\\", "\u{2028}", "\u{1b}[2J"] {
            assert!(directive(bad).is_err(), "{bad:?}");
        }
        assert!(text("a b'c").is_ok());
        assert!(text("").is_err() && text("a\nb").is_err());
    }

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
