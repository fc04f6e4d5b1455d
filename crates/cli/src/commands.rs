//! The commands: each takes a plan, reads the inputs it names and calls the libraries.

mod assess;
mod bench;
mod compare;
mod diagnose;
mod examples;
mod generated;
mod measure;
pub mod mpi;
mod network;
mod nodes;
mod noise;
mod plot;
mod predict;
mod redundancy;
mod report;
mod reproduce;
mod resample;
mod schedule;
mod serve;
mod simulate;
mod slurm_script;
mod study;
mod trace;
mod training;
mod whatif;

use crate::args::measure::MeasureCommand;
use crate::args::{Cli, Command};
use crate::console::Console;
use crate::exit::Outcome;
use crate::memory::Demand;
use crate::plan::valid::Valid;
use crate::threads::use_threads;
use crate::{devices, interrupt, plan};

pub fn run(cli: Cli, console: &Console) -> Outcome<()> {
    let Cli { common, command } = cli;
    // While recording, signals go to the recorded command.
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
            predict::run(&Valid::new(*typed)?, &common, console)
        }
        Command::Whatif(typed) => {
            use_threads(&common);
            whatif::run(&Valid::new(*typed)?, &common, console)
        }
        Command::Redundancy(typed) => {
            use_threads(&common);
            redundancy::run(&plan::redundancy::Plan::new(*typed, &common)?, console, None)
        }
        Command::Resample(typed) => {
            use_threads(&common);
            resample::run(&plan::resample::Plan::new(*typed, &common)?, console)
        }
        Command::Study(typed) => study::run(&Valid::new(typed.command)?, &common, console),
        Command::Reproduce(typed) => {
            use_threads(&common);
            reproduce::run(&Valid::new(typed)?, &common, console)
        }
        Command::SlurmScript(typed) => {
            let plan = plan::slurm_script::Plan::new(typed.command, &common)?;
            let demand = demand(&plan, console)?;
            slurm_script::run(&plan, demand, console)
        }
        Command::Schedule(typed) => {
            use_threads(&common);
            schedule::run(&Valid::new(typed.command)?, console)
        }
        Command::Measure(typed) => match typed.command {
            MeasureCommand::Noise(typed) => measure::run(&plan::measure::Plan::new(*typed)?, console),
            MeasureCommand::Latency(typed) => {
                measure::latency::run(&plan::latency::Plan::new(*typed)?, console)
            }
            MeasureCommand::Merge(typed) => measure::merge::run(&Valid::new(typed)?, console),
        },
        // Ran before this: see `main`.
        Command::Mpi(_) => Ok(()),
        Command::Trace(typed) => trace::run(&Valid::new(*typed)?, console),
        Command::Training(typed) => {
            use_threads(&common);
            training::run(&Valid::new(typed.command)?, common.seed, console)
        }
        Command::Compare(typed) => compare::run(&Valid::new(*typed)?, common.seed, console),
        Command::Diagnose(typed) => diagnose::run(&Valid::new(*typed)?, console),
        Command::Network(typed) => network::run(&Valid::new(typed.command)?, console),
        Command::Noise(typed) => noise::run(&Valid::new(typed.command)?, common.seed, console),
        Command::Plot(typed) => plot::run(&Valid::new(typed.command)?, common.seed, console),
        Command::Report(typed) => report::run(&Valid::new(typed)?, common.seed, console),
        Command::Serve(typed) => serve::run(&Valid::new(typed)?, common.seed, console),
        Command::Bench(typed) => {
            let gpu = devices::is_there(typed.device.device)?;
            bench::run(&plan::bench::Plan::new(&typed, &common, gpu), console)
        }
        Command::BenchCase(typed) => bench::run_case(&typed.case, console),
        Command::Examples(typed) => examples::run(&Valid::new(typed)?, console),
        Command::Completions(typed) => generated::completions(typed.shell, console),
        Command::Man(typed) => generated::man(&typed.directory, console),
    }
}

/// Resources that a scripted job needs. The command itself computes them, and checks every named file.
fn demand(plan: &plan::slurm_script::Plan, console: &Console) -> Outcome<Option<Demand>> {
    use plan::slurm_script::JobKind;
    match &plan.job.what {
        JobKind::Simulate(of_simulate) => {
            let threads = plan.cpus_per_task.unwrap_or(1);
            simulate::demand(of_simulate, threads, console).map(Some)
        }
        JobKind::Study(typed) => study::demand(typed, console).map(Some),
        JobKind::Measure(_) => Ok(None),
    }
}
