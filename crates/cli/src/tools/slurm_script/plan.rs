//! `straggler tools slurm-script`, validated.

use crate::args::{Cli, Command, Common};
use crate::kernel::prelude::*;
use crate::simulate::plan;
use crate::study::{Run, StudyCommand};
use crate::tools::slurm_script::{Launcher, Mpi, OptionsJob, Resources, Settings, SlurmCommand};
use clap::{Parser, error::ErrorKind};
use std::ffi::OsString;
use straggler_model::units::counted;

/// The contents of the script, before any file is opened.
#[derive(Debug)]
pub struct Plan {
    pub job: Job,
    pub nodes: u32,
    pub tasks_per_node: u32,
    /// None: the tasks of a node share all its CPUs.
    pub cpus_per_task: Option<u32>,
    /// Memory of a node.
    pub memory_per_node: Option<u64>,
    pub time: String,
    pub partition: Option<String>,
    pub account: Option<String>,
    /// Further options of sbatch.
    pub sbatch: Vec<String>,
    pub job_name: String,
    pub log: String,
    pub modules: Vec<String>,
    pub programs: Option<String>,
    pub mpi: Mpi,
    pub launcher: Launcher,
    /// The file for the script; None: stdout.
    pub output: Option<PathBuf>,
}

/// What the job runs.
#[derive(Debug)]
pub struct Job {
    pub what: JobKind,
    /// Its arguments, after the name of the command.
    pub words: Vec<String>,
    /// Whether the script passes the number of threads; otherwise the arguments hold it.
    pub sets_threads: bool,
}

#[derive(Debug)]
pub enum JobKind {
    Simulate(Box<plan::Plan>),
    Study(Box<Run>),
    Measure(Measure),
}

/// Measurements on exclusive nodes. `straggler mpi` checks their options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    Assess,
    Latency,
    LogGp,
}

impl JobKind {
    pub fn name(&self) -> &'static str {
        match self {
            JobKind::Simulate(_) => "simulate",
            JobKind::Study(_) => "study",
            JobKind::Measure(Measure::Assess) => "assess",
            JobKind::Measure(Measure::Latency) => "latency",
            JobKind::Measure(Measure::LogGp) => "loggp",
        }
    }
}

impl Plan {
    pub fn new(typed: SlurmCommand, common: &Common) -> Outcome<Plan> {
        refuse_misplaced(common)?;
        let measured = |job: OptionsJob, what| -> Outcome<_> {
            let words = in_text(job.words)?;
            let job_of = Job { what: JobKind::Measure(what), words, sets_threads: false };
            Ok((job_of, None, job.resources, job.settings))
        };
        let (job, threads, resources, settings) = match typed {
            SlurmCommand::Simulate(job) => {
                let (of_simulate, threads) = simulation(job.words)?;
                (of_simulate, threads, job.resources, job.settings)
            }
            SlurmCommand::Study(typed) => {
                let (of_study, threads) = study(typed.file.into(), typed.job.words)?;
                (of_study, threads, typed.job.resources, typed.job.settings)
            }
            SlurmCommand::Assess(job) => measured(job, Measure::Assess)?,
            SlurmCommand::Latency(job) => measured(job, Measure::Latency)?,
            SlurmCommand::Loggp(job) => measured(job, Measure::LogGp)?,
        };
        Plan::of_parts(job, threads, resources, settings)
    }

    fn of_parts(job: Job, threads: Option<u32>, typed: Resources, settings: Settings) -> Outcome<Plan> {
        let job_name = settings.job_name.unwrap_or_else(|| format!("straggler-{}", job.what.name()));
        let plan = Plan {
            nodes: typed.nodes,
            tasks_per_node: typed.tasks_per_node,
            cpus_per_task: cpus_per_task(&job.what, typed.cpus_per_task, threads)?,
            memory_per_node: typed.memory_per_node.map(|Bytes(bytes)| bytes),
            time: typed.time,
            partition: typed.partition,
            account: typed.account,
            sbatch: typed.sbatch,
            log: settings.log.unwrap_or_else(|| format!("{job_name}-%j.out")),
            job_name,
            modules: settings.module,
            programs: settings.programs,
            mpi: settings.mpi,
            launcher: settings.launcher,
            output: settings.output,
            job,
        };
        plan.refuse_too_few()?;
        Ok(plan)
    }

    /// MPI ranks.
    pub fn tasks(&self) -> u64 {
        u64::from(self.nodes) * u64::from(self.tasks_per_node)
    }

    /// "16 nodes with 4 tasks each", "1 node with 4 tasks".
    pub fn nodes_in_words(&self) -> String {
        let nodes = counted(self.nodes.into(), "node", "nodes");
        let tasks = counted(self.tasks_per_node.into(), "task", "tasks");
        format!("{nodes} with {tasks}{}", if self.nodes == 1 { "" } else { " each" })
    }

    /// Whether the job runs `straggler` itself: one process needs no MPI.
    pub fn is_single(&self) -> bool {
        self.tasks() == 1 && !matches!(self.job.what, JobKind::Measure(_))
    }

    /// Rejects a single rank for measurements between ranks.
    fn refuse_too_few(&self) -> Outcome<()> {
        let needs_two = matches!(self.job.what, JobKind::Measure(Measure::Latency | Measure::LogGp));
        if needs_two && self.tasks() < 2 {
            return Err(Failure::usage(format!(
                "{} measures between MPI ranks and needs at least two: give --nodes 2, or --tasks-per-node 2 for two on \
                 one node",
                self.job.what.name()
            )));
        }
        Ok(())
    }
}

/// Rejects `--seed` and `--threads`: every command accepts them, but here they must be given for the job.
fn refuse_misplaced(common: &Common) -> Outcome<()> {
    if common.threads.is_some() {
        return Err(Failure::usage(
            "--threads has no effect on a script: give --cpus-per-task for the threads of each rank",
        ));
    }
    if common.seed != 1 {
        return Err(Failure::usage(
            "--seed has no effect on a script: write it after -- for the program that the job starts",
        ));
    }
    Ok(())
}

fn in_text(words: Vec<OsString>) -> Outcome<Vec<String>> {
    let checked = |word: OsString| match word.into_string() {
        Ok(word) if !word.chars().any(char::is_control) => Ok(word),
        Ok(word) => Err(format!("{word:?} has control characters")),
        Err(word) => Err(format!("{} is not UTF-8", word.display())),
    };
    let all: Result<Vec<String>, String> = words.into_iter().map(checked).collect();
    all.map_err(|fault| Failure::usage(format!("{fault}, which a script cannot contain: use another name")))
}

/// The options of a simulation, checked as `straggler simulate` checks them, and its threads.
fn simulation(words: Vec<OsString>) -> Outcome<(Job, Option<u32>)> {
    let cli = parse(&["simulate"], words.clone())?;
    let threads = threads(&cli.common);
    let Command::Simulate(typed) = cli.command else {
        return Err(Failure::usage("the options after -- are not those of `straggler simulate`"));
    };
    let what = JobKind::Simulate(Box::new(plan::Plan::new(*typed, &cli.common)?));
    Ok((Job { what, words: in_text(words)?, sets_threads: threads.is_none() }, threads))
}

/// The same for a study, whose file is its first word.
fn study(file: OsString, options: Vec<OsString>) -> Outcome<(Job, Option<u32>)> {
    let words: Vec<OsString> = std::iter::once(file).chain(options).collect();
    let cli = parse(&["study", "run"], words.clone())?;
    let threads = threads(&cli.common);
    let Command::Study(crate::study::Study { command: StudyCommand::Run(run) }) = cli.command else {
        return Err(Failure::usage("the options after -- are not those of `straggler study run`"));
    };
    let job =
        Job { what: JobKind::Study(Box::new(run)), words: in_text(words)?, sets_threads: threads.is_none() };
    Ok((job, threads))
}

fn threads(common: &Common) -> Option<u32> {
    common.threads.and_then(|threads| u32::try_from(threads.get()).ok())
}

/// Parses `straggler COMMAND WORDS`.
fn parse(command: &[&str], words: Vec<OsString>) -> Outcome<Cli> {
    let head = std::iter::once("straggler").chain(command.iter().copied()).map(OsString::from);
    Cli::try_parse_from(head.chain(words)).map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Failure::usage(format!(
            "after --: the job would only print help; see `straggler {} --help`",
            command.join(" ")
        )),
        _ => {
            let text = error.to_string();
            Failure::usage(format!("after --: {}", text.strip_prefix("error: ").unwrap_or(&text).trim_end()))
        }
    })
}

/// One CPU per thread of the program. An assessment measures every core of its nodes, so it gets all CPUs.
fn cpus_per_task(what: &JobKind, given: Option<u32>, threads: Option<u32>) -> Outcome<Option<u32>> {
    match (given, threads) {
        (Some(cpus), Some(threads)) if threads > cpus => Err(Failure::usage(format!(
            "--threads {threads} on --cpus-per-task {cpus}: give each thread a CPU, or remove --threads"
        ))),
        (None, None) if matches!(what, JobKind::Measure(Measure::Assess)) => Ok(None),
        (given, threads) => Ok(given.or(threads).or(Some(1))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::{Tools, ToolsCommand};
    use std::os::unix::ffi::OsStringExt;

    fn plan(line: &str) -> Outcome<Plan> {
        let words = ["straggler", "tools", "slurm-script"].into_iter().chain(line.split(' '));
        let cli = Cli::try_parse_from(words).unwrap_or_else(|error| panic!("{line}: {error}"));
        match cli.command {
            Command::Tools(Tools { command: ToolsCommand::SlurmScript(typed) }) => {
                Plan::new(typed.command, &cli.common)
            }
            other => panic!("{other:?}"),
        }
    }

    fn refused(line: &str) -> String {
        let failure = plan(line).expect_err(line);
        assert_eq!(failure.exit as u8, 2, "{line}");
        failure.error.to_string()
    }

    const BARRIER: &str = "--collective barrier --processes 64 --network chic";

    #[test]
    fn defaults_are_one_task_of_one_cpu() {
        let one = plan(&format!("simulate -- {BARRIER}")).unwrap();
        assert_eq!((one.nodes, one.tasks_per_node, one.cpus_per_task), (1, 1, Some(1)));
        assert!(one.is_single() && one.job.sets_threads);
        assert_eq!(
            (one.job_name.as_str(), one.log.as_str()),
            ("straggler-simulate", "straggler-simulate-%j.out")
        );
        assert_eq!(one.job.words.join(" "), BARRIER);
    }

    #[test]
    fn threads_of_the_job_are_cpus_of_a_task() {
        let given = plan(&format!("simulate --nodes 2 -- {BARRIER} --threads 8")).unwrap();
        assert_eq!((given.cpus_per_task, given.job.sets_threads), (Some(8), false));
        let fewer = plan(&format!("simulate --cpus-per-task 16 -- {BARRIER} --threads 8")).unwrap();
        assert_eq!(fewer.cpus_per_task, Some(16));
        let text = refused(&format!("simulate --cpus-per-task 4 -- {BARRIER} --threads 8"));
        assert!(text.contains("--threads 8 on --cpus-per-task 4"), "{text}");
        assert_eq!(plan("assess --nodes 4").unwrap().cpus_per_task, None);
        assert_eq!(plan("assess --cpus-per-task 2").unwrap().cpus_per_task, Some(2));
        assert_eq!(plan("latency --nodes 4").unwrap().cpus_per_task, Some(1));
    }

    #[test]
    fn options_of_the_job_are_checked_as_the_command_checks_them() {
        assert!(refused("simulate -- --collective barrier --processes 4").contains("--network"));
        assert!(refused("simulate -- --colective barrier").contains("--collective"));
        assert!(refused("simulate -- --network chic").contains("nothing to simulate"));
        assert!(refused(&format!("simulate -- {BARRIER} --compare-quiet")).contains("add --noise"));
        assert!(refused("simulate -- --help").contains("straggler simulate --help"));
        assert!(refused("study a.toml -- --until-ci many").contains("--until-ci"));
        assert!(refused("study a.toml -- b.toml").contains("b.toml"));
    }

    #[test]
    fn options_that_could_only_be_meant_for_the_job_are_refused() {
        assert!(refused("assess --threads 2").contains("--cpus-per-task"));
        assert!(refused(&format!("simulate --seed 7 -- {BARRIER}")).contains("after --"));
        assert!(plan(&format!("simulate -- {BARRIER} --seed 7")).is_ok());
    }

    #[test]
    fn latencies_need_two_ranks() {
        for kind in ["latency", "loggp"] {
            assert!(refused(kind).contains("--nodes 2"));
            assert!(plan(&format!("{kind} --tasks-per-node 2")).is_ok());
        }
        assert!(plan("assess").is_ok());
        assert!(!plan("assess").unwrap().is_single());
    }

    #[test]
    fn words_that_no_script_can_show_are_refused() {
        let told =
            |word: &[u8]| in_text(vec![OsString::from_vec(word.to_vec())]).unwrap_err().error.to_string();
        assert!(told(b"a\nb").contains(r#""a\nb" has control characters"#));
        assert!(told(b"\xff.goal").contains("is not UTF-8"));
    }
}
