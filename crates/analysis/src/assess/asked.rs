//! What is asked about: a collective, or a whole program, at several scales.

use straggler_model::Time;
use straggler_schedule::collectives::{Collective, CollectiveError, Job, Operation, barrier};
use straggler_schedule::workloads::choose_default;
use straggler_sim::Workload;

/// One thing at several scales.
#[derive(Clone, Debug)]
pub struct Asked {
    /// As tables and charts call it.
    pub name: String,
    /// By ascending number of processes.
    pub scales: Vec<Workload>,
}

impl Asked {
    /// A collective of so many bytes, on each of these numbers of processes; a barrier has a size of its own.
    pub fn collective(operation: Operation, bytes: u64, processes: &[u32]) -> Result<Asked, CollectiveError> {
        let bytes = if operation == Operation::Barrier { barrier::BYTES } else { bytes };
        let build = |&processes: &u32| {
            let job = Job::new(processes, bytes);
            choose_default(operation, &job).build(operation, &job).map(Workload::once)
        };
        let scales = processes.iter().map(build).collect::<Result<_, _>>()?;
        Ok(Asked { name: operation.name().into(), scales })
    }

    /// Whether two are the same schedule at every scale: a barrier and an allreduce of one byte by
    /// dissemination are.
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

fn once(workload: &Workload) -> Option<&Collective> {
    match workload {
        Workload::Collective { collective, cycles: 1, compute: Time::ZERO } => Some(collective),
        _ => None,
    }
}
