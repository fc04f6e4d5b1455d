//! How the members of a cluster run a command together: they compare their files, agree on failures, share a schedule,
//! and write one file of finish times.

pub mod agreement;
pub mod finish_times;
pub mod metered;
pub mod sharing;

use crate::kernel::exit::{Failure, Outcome};
pub use crate::mpi::cluster::agreement::{agreed, fingerprint, seen_by_all};
pub use crate::mpi::cluster::finish_times::{Share, write as write_finish_times};
pub use crate::mpi::cluster::metered::{Exchange, Metered};
pub use crate::mpi::cluster::sharing::{Sharing, read as read_shared};
use straggler_model::Time;
use straggler_sim::cluster::Cluster;

/// Whether this process writes the output.
pub fn speaks(cluster: Option<&dyn Cluster>) -> bool {
    cluster.is_none_or(|cluster| cluster.rank() == 0)
}

/// The minimum and the median finish time of all processes, which are distributed over the members. For an even number
/// the median is the lower of the two middle values.
pub fn earliest_and_median(finish: &[Time], cluster: &dyn Cluster) -> Outcome<(Time, Time)> {
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

/// The values of all members.
pub fn gathered<T: serde::Serialize + serde::de::DeserializeOwned>(
    cluster: &dyn Cluster,
    own: &T,
) -> Outcome<Vec<T>> {
    cluster.gather_values(own).map_err(|_| Failure::from(straggler_sim::RunError::Garbled))
}
