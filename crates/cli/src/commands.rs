//! The commands: each takes a reads the inputs it names and calls the libraries.

use crate::args::{Cli, Command, Common};
use crate::kernel::console::Console;
use crate::kernel::devices::use_threads;
use crate::kernel::exit::Outcome;
use crate::kernel::memory::Demand;
use crate::kernel::valid::Valid;
use crate::kernel::{devices, interrupt};
use crate::latency::{compare, diagnose};
use crate::noise::measure;
use crate::noise::measure::plan::MeasureCommand;
use crate::papers::{redundancy, reproduce, resample};
use crate::tools::slurm_script::plan::JobKind;
use crate::tools::{bench, examples, generated, plot, slurm_script};
use crate::{
    assess, latency, network, noise, predict, report, schedule, serve, simulate, study, trace, training,
    whatif,
};

/// Work that is ready to be done: its options are valid.
type Ready = Box<dyn FnOnce(&Console) -> Outcome<()>>;

fn ready(work: impl FnOnce(&Console) -> Outcome<()> + 'static) -> Outcome<Ready> {
    Ok(Box::new(work))
}

/// Work that rayon's threads share.
fn ready_with_threads(
    common: &Common,
    work: impl FnOnce(&Console) -> Outcome<()> + 'static,
) -> Outcome<Ready> {
    let common = common.clone();
    ready(move |console| {
        use_threads(&common);
        work(console)
    })
}

pub fn run(cli: Cli, console: &Console) -> Outcome<()> {
    // While recording, signals go to the recorded command.
    if !matches!(&cli.command, Command::Trace(typed) if typed.command.is_none()) {
        interrupt::listen();
    }
    validate(cli)?(console)
}

/// Turns typed options into work, or says what is wrong with them. Reads no inputs.
pub fn validate(cli: Cli) -> Outcome<Ready> {
    let Cli { common, command } = cli;
    let seed = common.seed;
    match command {
        Command::Assess(typed) => {
            let plan = assess::plan::Plan::new(*typed, &common)?;
            ready_with_threads(&common, move |console| assess::run(&plan, console))
        }
        Command::Simulate(typed) => {
            let plan = simulate::plan::Plan::new(*typed, &common)?;
            ready_with_threads(&common, move |console| simulate::run(&plan, console, None))
        }
        Command::Predict(typed) => {
            let valid = Valid::new(*typed)?;
            ready_with_threads(&common.clone(), move |console| predict::run(&valid, &common, console))
        }
        Command::Whatif(typed) => {
            let valid = Valid::new(*typed)?;
            ready_with_threads(&common.clone(), move |console| whatif::run(&valid, &common, console))
        }
        Command::Redundancy(typed) => {
            let plan = redundancy::plan::Plan::new(*typed, &common)?;
            ready_with_threads(&common, move |console| redundancy::run(&plan, console, None))
        }
        Command::Resample(typed) => {
            let plan = resample::plan::Plan::new(*typed, &common)?;
            ready_with_threads(&common, move |console| resample::run(&plan, console))
        }
        Command::Study(typed) => {
            let valid = Valid::new(typed.command)?;
            ready(move |console| study::run(&valid, &common, console))
        }
        Command::Reproduce(typed) => {
            let valid = Valid::new(typed)?;
            ready_with_threads(&common.clone(), move |console| reproduce::run(&valid, &common, console))
        }
        Command::SlurmScript(typed) => {
            let plan = slurm_script::plan::Plan::new(typed.command, &common)?;
            ready(move |console| slurm_script::run(&plan, demand(&plan, console)?, console))
        }
        Command::Schedule(typed) => {
            let valid = Valid::new(typed.command)?;
            ready_with_threads(&common, move |console| schedule::run(&valid, console))
        }
        Command::Measure(typed) => match typed.command {
            MeasureCommand::Noise(typed) => {
                let plan = measure::plan::Plan::new(*typed)?;
                ready(move |console| measure::run(&plan, console))
            }
            MeasureCommand::Latency(typed) => {
                let plan = latency::plan::Plan::new(*typed)?;
                ready(move |console| latency::measure::run(&plan, console))
            }
            MeasureCommand::Merge(typed) => {
                let valid = Valid::new(typed)?;
                ready(move |console| latency::merge::run(&valid, console))
            }
        },
        // Ran before this: see `main`.
        Command::Mpi(_) => ready(|_| Ok(())),
        Command::Trace(typed) => {
            let valid = Valid::new(*typed)?;
            ready(move |console| trace::run(&valid, console))
        }
        Command::Training(typed) => {
            let valid = Valid::new(typed.command)?;
            ready_with_threads(&common, move |console| training::run(&valid, seed, console))
        }
        Command::Compare(typed) => {
            let valid = Valid::new(*typed)?;
            ready(move |console| compare::run(&valid, seed, console))
        }
        Command::Diagnose(typed) => {
            let valid = Valid::new(*typed)?;
            ready(move |console| diagnose::run(&valid, console))
        }
        Command::Network(typed) => {
            let valid = Valid::new(typed.command)?;
            ready(move |console| network::run(&valid, console))
        }
        Command::Noise(typed) => {
            let valid = Valid::new(typed.command)?;
            ready(move |console| noise::run(&valid, seed, console))
        }
        Command::Plot(typed) => {
            let valid = Valid::new(typed.command)?;
            ready(move |console| plot::run(&valid, seed, console))
        }
        Command::Report(typed) => {
            let valid = Valid::new(typed)?;
            ready(move |console| report::run(&valid, seed, console))
        }
        Command::Serve(typed) => {
            let valid = Valid::new(typed)?;
            ready(move |console| serve::run(&valid, seed, console))
        }
        Command::Bench(typed) => ready(move |console| {
            let gpu = devices::is_there(typed.device.device)?;
            bench::run(&bench::plan::Plan::new(&typed, &common, gpu), console)
        }),
        Command::BenchCase(typed) => ready(move |console| bench::run_case(&typed.case, console)),
        Command::Examples(typed) => {
            let valid = Valid::new(typed)?;
            ready(move |console| examples::run(&valid, console))
        }
        Command::Completions(typed) => ready(move |console| generated::completions(typed.shell, console)),
        Command::Man(typed) => ready(move |console| generated::man(&typed.directory, console)),
    }
}

/// Resources that a scripted job needs. The command itself computes them, and checks every named file.
fn demand(plan: &slurm_script::plan::Plan, console: &Console) -> Outcome<Option<Demand>> {
    match &plan.job.what {
        JobKind::Simulate(of_simulate) => {
            let threads = plan.cpus_per_task.unwrap_or(1);
            simulate::demand(of_simulate, threads, console).map(Some)
        }
        JobKind::Study(typed) => study::demand(typed, console).map(Some),
        JobKind::Measure(_) => Ok(None),
    }
}
