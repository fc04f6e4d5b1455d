//! From typed options to the work that each command does.

use crate::args::{Cli, Command, Common};
use crate::kernel::devices::{self, use_threads};
use crate::kernel::{Check, Console, Outcome, Valid, interrupt, memory::Demand};
use crate::latency::{self, LatencyCommand};
use crate::noise::{self, NoiseCommand};
use crate::papers::{PapersCommand, redundancy, reproduce, resample};
use crate::tools::{self, ToolsCommand, bench, plot, slurm_script, slurm_script::plan::JobKind};
use crate::trace::{self, TraceCommand};
use crate::{assess, network, report, schedule, serve, show, simulate, study, training, whatif};

/// Work that is ready to be done: its options are valid.
pub type Ready = Box<dyn FnOnce(&Console) -> Outcome<()>>;

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
    if !matches!(&cli.command, Command::Trace(typed) if matches!(typed.command, TraceCommand::Record(_))) {
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
        Command::Whatif(typed) => {
            typed.check()?;
            ready_with_threads(&common.clone(), move |console| whatif::run(*typed, &common, console))
        }
        Command::Study(typed) => {
            let valid = Valid::new(typed.command)?;
            ready(move |console| study::run(&valid, &common, console))
        }
        Command::Schedule(typed) => {
            let valid = Valid::new(typed.command)?;
            ready_with_threads(&common, move |console| schedule::run(&valid, console))
        }
        // Ran before this: see `main`.
        Command::Mpi(_) => ready(|_| Ok(())),
        Command::Trace(typed) => {
            let valid = Valid::new(typed.command)?;
            ready(move |console| trace::run(&valid, console))
        }
        Command::Training(typed) => {
            let valid = Valid::new(typed.command)?;
            ready_with_threads(&common, move |console| training::run(&valid, seed, console))
        }
        Command::Network(typed) => ready(move |console| network::run(&typed.command, console)),
        Command::Noise(typed) => match typed.command {
            NoiseCommand::Measure(typed) => {
                let plan = noise::measure::Plan::new(*typed)?;
                ready(move |console| noise::measure::run(&plan, console))
            }
            other => {
                let valid = Valid::new(other)?;
                ready(move |console| noise::run(&valid, seed, console))
            }
        },
        Command::Latency(typed) => match typed.command {
            LatencyCommand::Measure(typed) => {
                let plan = latency::measure::Plan::new(*typed)?;
                ready(move |console| latency::measure::run(&plan, console))
            }
            LatencyCommand::Resample(typed) => {
                let plan = resample::Plan::new(*typed, &common)?;
                ready_with_threads(&common, move |console| resample::run(&plan, console))
            }
            other => {
                let valid = Valid::new(other)?;
                ready(move |console| latency::run(&valid, seed, console))
            }
        },
        Command::Papers(typed) => match typed.command {
            PapersCommand::List => ready(reproduce::catalogue::list),
            PapersCommand::Run(typed) => {
                let valid = Valid::new(typed)?;
                ready_with_threads(&common.clone(), move |console| reproduce::run(&valid, &common, console))
            }
            PapersCommand::Redundancy(typed) => {
                let plan = redundancy::Plan::new(*typed, &common)?;
                ready_with_threads(&common, move |console| redundancy::run(&plan, console, None))
            }
        },
        Command::Show(typed) => show::ready(typed, common),
        Command::Report(typed) => {
            let valid = Valid::new(typed)?;
            ready(move |console| report::run(&valid, seed, console))
        }
        Command::Serve(typed) => ready(move |console| serve::run(&typed, seed, console)),
        Command::Tools(typed) => tools(typed.command, &common),
    }
}

fn tools(command: ToolsCommand, common: &Common) -> Outcome<Ready> {
    match command {
        ToolsCommand::Bench(typed) => {
            let common = common.clone();
            ready(move |console| {
                let gpu = devices::is_there(typed.device.device)?;
                bench::run(&bench::Plan::new(&typed, &common, gpu), console)
            })
        }
        ToolsCommand::BenchCase(typed) => ready(move |console| bench::run_case(&typed.case, console)),
        ToolsCommand::Plot(typed) => {
            let (valid, seed) = (Valid::new(typed.command)?, common.seed);
            ready(move |console| plot::run(&valid, seed, console))
        }
        ToolsCommand::SlurmScript(typed) => {
            let plan = slurm_script::plan::Plan::new(typed.command, common)?;
            ready(move |console| slurm_script::run(&plan, demand(&plan, console)?, console))
        }
        ToolsCommand::Examples(typed) => {
            let valid = Valid::new(typed)?;
            ready(move |console| tools::write_examples(&valid, console))
        }
        ToolsCommand::Completions(typed) => ready(move |console| tools::completions(typed.shell, console)),
        ToolsCommand::Man(typed) => ready(move |console| tools::man(&typed.directory, console)),
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
