//! The workload in question: a collective or a whole program, at several scales.

use straggler_model::Time;
use straggler_schedule::collectives::{Collective, CollectiveError, Job, Operation};
use straggler_schedule::workloads::choose_default;
use straggler_sim::Workload;

/// One workload at several scales.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The name in tables and charts.
    pub name: String,
    /// By ascending number of processes.
    pub scales: Vec<Workload>,
}

impl Asked {
    /// A collective of this many bytes on each of these numbers of processes; a barrier ignores `bytes`.
    pub fn collective(operation: Operation, bytes: u64, processes: &[u32]) -> Result<Asked, CollectiveError> {
        let bytes = operation.bytes(Some(bytes));
        let build = |&processes: &u32| {
            let job = Job::new(processes, bytes);
            choose_default(operation, &job).build(operation, &job).map(Workload::once)
        };
        let scales = processes.iter().map(build).collect::<Result<_, _>>()?;
        Ok(Asked { name: operation.name().into(), scales })
    }

    /// Whether two have the same schedule at every scale, as a barrier and an allreduce of one byte by dissemination do.
    pub(super) fn is_same_as(&self, other: &Asked) -> bool {
        self.scales.len() == other.scales.len()
            && self.scales.iter().zip(&other.scales).all(|(one, other)| is_same(one, other))
    }
}

fn is_same(one: &Workload, other: &Workload) -> bool {
    match (once(one), once(other)) {
        (Some(Collective::Dissemination(one)), Some(Collective::Dissemination(other))) => one == other,
        _ => false,
    }
}

/// The collective of a workload that runs it once, without computation.
pub(super) fn once(workload: &Workload) -> Option<&Collective> {
    match workload {
        Workload::Collective { collective, cycles: 1, compute: Time::ZERO } => Some(collective),
        _ => None,
    }
}
