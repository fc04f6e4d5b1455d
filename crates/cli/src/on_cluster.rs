//! Commands that the members of a cluster run together: what `straggler-mpi` takes from this crate. Every member calls the same
//! function with the same arguments; the first one speaks and writes, and all end with the same code.

mod agreement;
pub mod assess;
mod finish_times;
mod metered;
mod replay;
mod sharing;

pub use crate::args::Common;
pub use crate::args::device::TypedDevice;
pub use crate::args::redundancy::Redundancy;
pub use crate::args::replay::{Compute, Replay};
pub use crate::args::simulate::Simulate;
pub use crate::args::study::Run as Study;
pub use metered::Exchange;
pub use replay::{Played, Stage, replay};
pub use sharing::{Partition, Traffic};

pub(crate) use agreement::{agreed, fingerprint, seen_by_all};
pub(crate) use finish_times::{Share, write as write_finish_times};
pub(crate) use metered::Metered;
pub(crate) use sharing::{Sharing, read as read_shared};

use crate::commands::{self, simulate};
use crate::console::Console;
use crate::exit::{Failure, Outcome};
use crate::{interrupt, plan};
use std::process::ExitCode;
use straggler_model::Time;
use straggler_sim::EngineChoice;
use straggler_sim::cluster::Cluster;

/// A cluster, and how it divides schedules.
#[derive(Clone, Copy)]
pub struct Members<'a> {
    pub cluster: &'a dyn Cluster,
    pub partition: Partition,
}

impl std::fmt::Debug for Members<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Members").field("size", &self.cluster.size()).finish_non_exhaustive()
    }
}

/// `straggler simulate` with the processes shared by the members of a cluster.
pub fn simulate(typed: Simulate, common: &Common, members: Members<'_>) -> ExitCode {
    run(common, members.cluster, |console| {
        commands::use_threads(common);
        let plan = plan::simulate::Plan::new(typed, common).and_then(|plan| match plan.engine {
            EngineChoice::Reference => Err(Failure::usage(
                "the reference engine runs in one process: leave out --engine, or use straggler simulate",
            )),
            _ if plan.device == TypedDevice::Gpu => Err(no_gpu("simulate")),
            _ => Ok(plan),
        });
        let plan = agreed(members.cluster, plan, &[])?;
        simulate::run(&plan, console, Some(members))
    })
}

/// `straggler redundancy` with the processes shared by the members of a cluster.
pub fn redundancy(typed: Redundancy, common: &Common, cluster: &dyn Cluster) -> ExitCode {
    run(common, cluster, |console| {
        commands::use_threads(common);
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

/// The ranks of a job share the processes of a run, or its replicas.
fn no_gpu(command: &str) -> Failure {
    Failure::usage(format!("the ranks of a job run on CPUs: leave out --device, or use straggler {command}"))
}

/// Whether this process writes what is written once.
pub(crate) fn speaks(cluster: Option<&dyn Cluster>) -> bool {
    cluster.is_none_or(|cluster| cluster.rank() == 0)
}

/// Runs a command with the console of a member.
fn run(common: &Common, cluster: &dyn Cluster, command: impl FnOnce(&Console) -> Outcome<()>) -> ExitCode {
    interrupt::listen();
    let console = Console::new(common);
    let console = if cluster.rank() == 0 { console } else { console.muted() };
    let done = command(&console);
    // A launcher ends the others as soon as one has ended: they have nothing more to say.
    interrupt::say_nothing();
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => console.fail(&failure),
    }
}

/// The first and the middle finish time of all processes, of which each member has some. For an even number the middle is the
/// lower of two.
pub(crate) fn earliest_and_median(finish: &[Time], cluster: &dyn Cluster) -> Outcome<(Time, Time)> {
    let mut sorted: Vec<u64> = finish.iter().map(|time| time.ps()).collect();
    sorted.sort_unstable();
    let all = gathered(cluster, &(sorted.first().copied(), sorted.last().copied(), sorted.len() as u64))?;
    let processes: u64 = all.iter().map(|&(_, _, count)| count).sum();
    let (Some(earliest), Some(latest)) =
        (all.iter().filter_map(|one| one.0).min(), all.iter().filter_map(|one| one.1).max())
    else {
        return Ok((Time::ZERO, Time::ZERO));
    };
    // The least time by which half of the processes have finished.
    let half = processes.div_ceil(2);
    let (mut low, mut high) = (earliest, latest);
    while low < high {
        let middle = low + (high - low) / 2;
        let own = sorted.partition_point(|&time| time <= middle) as u64;
        let finished: u64 = gathered(cluster, &own)?.into_iter().sum();
        if finished >= half { high = middle } else { low = middle + 1 }
    }
    Ok((Time(earliest), Time(low)))
}

/// What each member has.
pub(crate) fn gathered<T: serde::Serialize + serde::de::DeserializeOwned>(
    cluster: &dyn Cluster,
    own: &T,
) -> Outcome<Vec<T>> {
    cluster.gather_values(own).map_err(|_| Failure::from(straggler_sim::RunError::Garbled))
}
