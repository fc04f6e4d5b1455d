//! `straggler tools slurm-script` as typed.

use crate::kernel::typed::count;
use clap::{Args, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;
use straggler_model::units::Bytes;

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
pub fn directive(value: &str) -> Result<String, String> {
    let is_special = |c: char| c.is_whitespace() || c.is_control() || "\"'\\#".contains(c);
    match value.chars().find(|&c| is_special(c)) {
        _ if value.is_empty() => Err("it is empty".into()),
        Some(c) => Err(format!("an #SBATCH line cannot contain {c:?}: remove it")),
        None => Ok(value.into()),
    }
}

/// A word of a command of the script, where it is quoted.
pub fn text(value: &str) -> Result<String, String> {
    match value.chars().find(|c| c.is_control()) {
        _ if value.is_empty() => Err("it is empty".into()),
        Some(c) => Err(format!("a script cannot contain {c:?}: remove it")),
        None => Ok(value.into()),
    }
}

/// A time as sbatch reads it: minutes, minutes:seconds, hours:minutes:seconds, days-hours, days-hours:minutes or
/// days-hours:minutes:seconds.
pub fn time_limit(value: &str) -> Result<String, String> {
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
}
