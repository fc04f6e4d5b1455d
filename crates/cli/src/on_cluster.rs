//! Commands that the members of a cluster run together, for `straggler-mpi`. Every member calls the same function with
//! the same arguments. The first one prints and writes files; all exit with the same code, but only the first
//! judges limits.

pub mod assess;
mod replay;

pub use crate::args::Common;
pub use crate::args::device::TypedDevice;
pub use crate::args::redundancy::Redundancy;
pub use crate::args::replay::{Compute, Replay};
pub use crate::args::simulate::Simulate;
pub use crate::args::study::Run as Study;
pub use crate::cluster::{Exchange, Members, Partition, Traffic};
pub use replay::{Played, Stage, replay};

use crate::cluster::agreed;
use crate::commands::{self, simulate};
use crate::console::Console;
use crate::exit::{Failure, Outcome};
use crate::threads::use_threads;
use crate::{interrupt, plan};
use std::process::ExitCode;
use straggler_sim::EngineChoice;
use straggler_sim::cluster::Cluster;

/// `straggler simulate`, with the processes divided over the members of a cluster.
pub fn simulate(typed: Simulate, common: &Common, members: Members<'_>) -> ExitCode {
    run(common, members.cluster, |console| {
        use_threads(common);
        let plan = plan::simulate::Plan::new(typed, common).and_then(|plan| match plan.engine {
            EngineChoice::Reference => Err(Failure::usage(
                "the reference engine runs in one process: remove --engine, or use straggler simulate",
            )),
            _ if plan.device == TypedDevice::Gpu => Err(no_gpu("simulate")),
            _ => Ok(plan),
        });
        let plan = agreed(members.cluster, plan, &[])?;
        simulate::run(&plan, console, Some(members))
    })
}

/// `straggler redundancy`, with the processes divided over the members of a cluster.
pub fn redundancy(typed: Redundancy, common: &Common, cluster: &dyn Cluster) -> ExitCode {
    run(common, cluster, |console| {
        use_threads(common);
        let plan = agreed(cluster, plan::redundancy::Plan::new(typed, common), &[])?;
        commands::redundancy::run(&plan, console, Some(cluster))
    })
}

/// `straggler study run` with the runs spread over the members of a cluster.
pub fn study(typed: &Study, common: &Common, cluster: &dyn Cluster) -> ExitCode {
    run(common, cluster, |console| {
        let wanted = if typed.device.device == TypedDevice::Gpu { Err(no_gpu("study run")) } else { Ok(()) };
        agreed(cluster, wanted, &[])?;
        commands::study::run_study(typed, common, console, Some(cluster))
    })
}

/// The ranks of a job use no GPUs: they divide the processes of a run, or its replicas, among CPUs.
fn no_gpu(command: &str) -> Failure {
    Failure::usage(format!("the ranks of a job run on CPUs: remove --device, or use straggler {command}"))
}

/// Runs a command with the console of this member.
fn run(common: &Common, cluster: &dyn Cluster, command: impl FnOnce(&Console) -> Outcome<()>) -> ExitCode {
    interrupt::listen();
    let console = Console::new(common);
    let console = if cluster.rank() == 0 { console } else { muted(console) };
    let done = command(&console);
    // A launcher kills the other ranks as soon as one exits; they have nothing left to do.
    interrupt::say_nothing();
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => console.fail(&failure),
    }
}

/// A console for a member that prints nothing, not even after a signal.
fn muted(console: Console) -> Console {
    interrupt::say_nothing();
    console.muted()
}
