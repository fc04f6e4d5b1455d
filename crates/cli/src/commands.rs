//! The stages that do the work: each takes a plan, fetches what it names and calls the libraries.

mod application;
mod assess;
mod bench;
mod collective;
mod compare;
mod diagnose;
mod drawn_latency;
mod generated;
mod gpu;
mod latency_charts;
mod latency_file;
mod measure;
mod network;
pub mod nodes;
mod noise;
mod noise_file;
mod plot;
mod predict;
pub mod redundancy;
mod report;
mod reproduce;
mod resample;
mod schedule;
mod serve;
pub mod simulate;
mod slurm_script;
pub mod study;
mod trace;
mod traced;
mod training;
pub mod whatif;

use crate::args::measure::MeasureCommand;
use crate::args::{Cli, Command, Common};
use crate::console::Console;
use crate::exit::{Failure, Outcome};
use crate::memory::Demand;
use crate::shell::quoted;
use crate::{allocator, interrupt, plan};
use std::path::Path;

pub fn run(cli: Cli, console: &Console) -> Outcome<()> {
    let Cli { common, command } = cli;
    // What is recorded gets the signals.
    if !matches!(&command, Command::Trace(typed) if typed.command.is_none()) {
        interrupt::listen();
    }
    match command {
        Command::Assess(typed) => {
            use_threads(&common);
            assess::run(&plan::assess::Plan::new(*typed, &common)?, console)
        }
        Command::Simulate(typed) => {
            use_threads(&common);
            simulate::run(&plan::simulate::Plan::new(*typed, &common)?, console, None)
        }
        Command::Predict(typed) => {
            use_threads(&common);
            predict::run(&typed, &common, console)
        }
        Command::Whatif(typed) => {
            use_threads(&common);
            whatif::run(&typed, &common, console)
        }
        Command::Redundancy(typed) => {
            use_threads(&common);
            redundancy::run(&plan::redundancy::Plan::new(*typed, &common)?, console, None)
        }
        Command::Resample(typed) => {
            use_threads(&common);
            resample::run(&plan::resample::Plan::new(*typed, &common)?, console)
        }
        Command::Study(typed) => study::run(&typed.command, &common, console),
        Command::Reproduce(typed) => {
            use_threads(&common);
            reproduce::run(&typed, &common, console)
        }
        Command::SlurmScript(typed) => {
            let plan = plan::slurm_script::Plan::new(typed.command, &common)?;
            let demand = demand(&plan, console)?;
            slurm_script::run(&plan, demand, console)
        }
        Command::Schedule(typed) => {
            use_threads(&common);
            schedule::run(typed.command, console)
        }
        Command::Measure(typed) => match typed.command {
            MeasureCommand::Noise(typed) => measure::run(&plan::measure::Plan::new(*typed)?, console),
            MeasureCommand::Latency(typed) => {
                measure::latency::run(&plan::latency::Plan::new(*typed)?, console)
            }
            MeasureCommand::Merge(typed) => measure::merge::run(&typed, console),
        },
        Command::Trace(typed) => trace::run(*typed, console),
        Command::Training(typed) => {
            use_threads(&common);
            training::run(&typed.command, common.seed, console)
        }
        Command::Compare(typed) => compare::run(&typed, common.seed, console),
        Command::Diagnose(typed) => diagnose::run(&typed, console),
        Command::Network(typed) => network::run(typed.command, console),
        Command::Noise(typed) => noise::run(&typed.command, common.seed, console),
        Command::Plot(typed) => plot::run(&typed.command, common.seed, console),
        Command::Report(typed) => report::run(&typed, common.seed, console),
        Command::Serve(typed) => serve::run(&typed, common.seed, console),
        Command::Bench(typed) => {
            let gpu = gpu::is_there(typed.device.device)?;
            bench::run(&plan::bench::Plan::new(&typed, &common, gpu), console)
        }
        Command::BenchCase(typed) => bench::run_case(&typed.case, console),
        Command::Completions(typed) => generated::completions(typed.shell, console),
        Command::Man(typed) => generated::man(&typed.directory, console),
    }
}

/// What the job of a script takes. The command that would run it here knows, and reads and checks all that it names.
fn demand(plan: &plan::slurm_script::Plan, console: &Console) -> Outcome<Option<Demand>> {
    use plan::slurm_script::What;
    match &plan.job.what {
        What::Simulate(of_simulate) => {
            let threads = plan.cpus_per_task.unwrap_or(1);
            simulate::demand(of_simulate, threads, console).map(Some)
        }
        What::Study(typed) => study::demand(typed, console).map(Some),
        What::Measure(_) => Ok(None),
    }
}

/// Found out before the work, not after it: whether the place where something is to be written exists, or can
/// be made below a folder that does.
fn refuse_unwritable(path: &Path) -> Outcome<()> {
    let existing = path.ancestors().skip(1).find(|place| place.as_os_str().is_empty() || place.exists());
    match existing {
        Some(place) if !place.as_os_str().is_empty() && !place.is_dir() => Err(Failure::bad_input(format!(
            "{} cannot be written: {} is no folder; give another -o",
            path.display(),
            place.display()
        ))),
        _ => Ok(()),
    }
}

/// Found out before the work, not after it: whether the folder of a file is there.
pub(crate) fn refuse_missing_folder(path: &Path) -> Outcome<()> {
    Ok(straggler_report::refuse_missing_folder(path)?)
}

/// Makes a folder for results, and those above it.
pub fn make_folder(path: &Path) -> Outcome<()> {
    std::fs::create_dir_all(path).map_err(|fault| {
        let why = if path.exists() { "it is a file".to_string() } else { fault.to_string() };
        Failure::bad_input(format!("{} cannot be made a folder: {why}; give another folder", path.display()))
    })
}

/// As it can be pasted into a shell; bytes that are no text read as `\u{fffd}`.
pub fn command_line() -> String {
    let words = std::env::args_os().skip(1).map(|word| quoted(&word.to_string_lossy()));
    std::iter::once(program().to_string()).chain(words).collect::<Vec<_>>().join(" ")
}

/// The program that runs: this crate is part of two.
fn program() -> &'static str {
    const ON_MPI: &str = "straggler-mpi";
    let name = std::env::args_os().next().map(std::path::PathBuf::from);
    let name = name.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    if name.is_some_and(|name| name.starts_with(ON_MPI)) { ON_MPI } else { "straggler" }
}

/// Threads to use: those asked for, else those the machine offers.
/// More threads than a few a core only get into each other's way.
fn threads(asked: Option<usize>) -> usize {
    let available = std::thread::available_parallelism().map_or(1, usize::from);
    asked.map_or(available, |asked| asked.min(4 * available.max(2)))
}

/// So many threads get into each other's way when they ask for memory in small steps.
const MANY_THREADS: usize = 4;

/// Readers of schedules and parallel replicas take their threads from this pool.
pub fn use_threads(common: &Common) {
    let count = threads(common.threads.map(Into::into));
    if count >= MANY_THREADS {
        allocator::grow_in_large_steps();
    }
    // It fails only if the pool is there already, which it is not this early.
    let _ = rayon::ThreadPoolBuilder::new().num_threads(count).build_global();
}
