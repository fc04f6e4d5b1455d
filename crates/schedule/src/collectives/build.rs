//! Builds a runnable collective from an operation, an algorithm and a job.

use super::*;

impl Operation {
    /// The algorithms of an operation.
    pub fn algorithms(self) -> &'static [Name] {
        match self.uniform() {
            Operation::Allgather => allgather::ALGORITHMS,
            Operation::Allreduce => allreduce::ALGORITHMS,
            Operation::Alltoall => alltoall::ALGORITHMS,
            Operation::Barrier => barrier::ALGORITHMS,
            Operation::Bcast => bcast::ALGORITHMS,
            Operation::Exscan => scan::EXCLUSIVE_ALGORITHMS,
            Operation::Gather => gather::ALGORITHMS,
            Operation::Reduce => reduce::ALGORITHMS,
            Operation::ReduceScatterBlock => reduce_scatter::ALGORITHMS,
            Operation::Scan => scan::ALGORITHMS,
            Operation::Scatter => scatter::ALGORITHMS,
            _ => &[],
        }
    }
}

pub(super) fn build(
    operation: Operation,
    algorithm: &Algorithm,
    job: &Job,
) -> Result<Collective, CollectiveError> {
    check_processes(job.processes)?;
    if operation.has_root() {
        check_root(job)?;
    }
    if algorithm.name == Name::TwoLevel {
        return two_level::build(operation, algorithm, job);
    }
    let built = match operation.uniform() {
        Operation::Allgather => allgather::build(algorithm, job)?,
        Operation::Allreduce => allreduce::build(algorithm, job)?,
        Operation::Alltoall => alltoall::build(algorithm, job)?,
        Operation::Barrier => barrier::build(algorithm, job)?,
        Operation::Bcast => bcast::build(algorithm, job)?,
        Operation::Exscan => scan::build(scan::Own::LeftOut, algorithm, job)?,
        Operation::Gather => gather::build(algorithm, job)?,
        Operation::Reduce => reduce::build(algorithm, job)?,
        Operation::ReduceScatterBlock => reduce_scatter::build(algorithm, job)?,
        Operation::Scan => scan::build(scan::Own::Included, algorithm, job)?,
        Operation::Scatter => scatter::build(algorithm, job)?,
        _ => None,
    };
    built.ok_or(CollectiveError::NotAnAlgorithm {
        operation: operation.name(),
        algorithm: algorithm.name.text(),
    })
}

fn check_processes(processes: u32) -> Result<(), CollectiveError> {
    match processes {
        0 => Err(CollectiveError::NoProcesses),
        _ if processes > MOST_PROCESSES => Err(CollectiveError::TooManyProcesses {
            algorithm: "collectives",
            processes,
            limit: MOST_PROCESSES,
        }),
        _ => Ok(()),
    }
}

fn check_root(job: &Job) -> Result<(), CollectiveError> {
    let (root, processes) = (job.root, job.processes);
    if root < processes { Ok(()) } else { Err(CollectiveError::RootOutOfRange { root, processes }) }
}
