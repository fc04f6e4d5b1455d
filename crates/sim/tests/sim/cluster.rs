//! Runs shared by members of a cluster give the same results as one process, rank by rank, however the ranks are
//! divided. The members are threads here; `straggler mpi` has tests with processes.

use crate::tests::runs::{AnyRun, any_run};
use proptest::prelude::*;
use std::ops::Range;
use straggler_model::philox::Stream;
use straggler_model::{Rank, Time};
use straggler_schedule::goal::binary;
use straggler_sim::cluster::{Cluster, Shares, on_threads, on_threads_sharing};
use straggler_sim::{Control, Outcome, RunError, Simulation, Workload};

fn run(
    simulation: &Simulation<'_>,
    workload: &Workload,
    (threads, cluster): (usize, Option<&dyn Cluster>),
) -> Result<Outcome, RunError> {
    let mut control = Control { cluster, ..Control::new(threads) };
    Ok(simulation.run(workload, &mut control)?.outcome)
}

/// How the members of a cluster share a run: by neighbours, or at random with only their own part of a schedule.
#[derive(Clone, Copy)]
struct Sharing<'a> {
    file: &'a [u8],
    shift: u32,
    seed: u64,
}

impl Sharing<'_> {
    /// The outcomes of all members.
    fn run(
        &self,
        size: u32,
        threads: usize,
        simulation: &Simulation<'_>,
        workload: &Workload,
    ) -> Vec<Result<Outcome, RunError>> {
        let shares = shares(size, self.shift, workload.processes(), self.seed);
        on_threads_sharing(size, Some(&shares), |member| {
            let ranks = shares.ranks(member.rank(), workload.processes());
            let part = if self.file.is_empty() { workload.clone() } else { part(self.file, &ranks, member) };
            run(simulation, &part, (threads, Some(member)))
        })
    }
}

/// Clusters of 1, 2, 3 and 5 members, some with two threads, give the same results as one process.
fn same_on_clusters(case: &AnyRun, sharing: Sharing<'_>) -> Result<(), TestCaseError> {
    let (simulation, workload) = (&case.simulation(), &case.workload);
    let alone = match run(simulation, workload, (1, None)) {
        Ok(alone) => alone,
        Err(error) => {
            for shared in on_threads(3, |member| run(simulation, workload, (1, Some(member)))) {
                prop_assert_eq!(&shared.unwrap_err(), &error);
            }
            return Ok(());
        }
    };
    for (size, threads) in [(1, 2), (2, 1), (3, 1), (3, 2), (5, 1)] {
        let neighbours = on_threads(size, |member| run(simulation, workload, (threads, Some(member))));
        if matches!(neighbours[0], Err(RunError::NoClusterWithoutLookahead)) {
            return Ok(());
        }
        same_as_alone(&alone, neighbours)?;
        same_as_alone(&alone, sharing.run(size, threads, simulation, workload))?;
    }
    Ok(())
}

/// Checks that the members' results are those of one process.
fn same_as_alone(alone: &Outcome, shared: Vec<Result<Outcome, RunError>>) -> Result<(), TestCaseError> {
    let size = shared.len();
    let mut finish = vec![None; alone.finish.len()];
    for outcome in shared {
        let outcome = outcome.unwrap();
        let figures = |outcome: &Outcome| (outcome.messages, outcome.makespan(), outcome.stuck.clone());
        prop_assert_eq!(figures(&outcome), figures(alone), "{} members", size);
        let ranks: Vec<u32> = outcome.ranks.iter().cloned().flatten().collect();
        prop_assert_eq!(ranks.len(), outcome.finish.len());
        for (rank, time) in ranks.into_iter().zip(outcome.finish) {
            prop_assert_eq!(finish[rank as usize].replace(time), None, "rank {} has two owners", rank);
        }
    }
    let finish: Option<Vec<Time>> = finish.into_iter().collect();
    prop_assert_eq!(finish.as_ref(), Some(&alone.finish), "{} members", size);
    Ok(())
}

/// Assigns blocks to members at random.
fn shares(size: u32, shift: u32, processes: u32, seed: u64) -> Shares {
    let mut stream = Stream::new(seed, 0, 0, 0);
    let members = (0..processes.div_ceil(1 << shift)).map(|_| stream.below(size.into()) as u32).collect();
    Shares { shift, members }
}

/// Reads a member's part of a schedule from a file.
fn part(file: &[u8], ranks: &[Range<Rank>], member: &dyn Cluster) -> Workload {
    let wanted = |rank| ranks.iter().any(|ranks| ranks.contains(&rank));
    let mut graph = binary::parse_ranks(file, &wanted, &mut |_| ()).unwrap();
    let facts = member.gather_values(&graph.facts()).unwrap();
    graph.share(&facts);
    graph.into()
}

proptest! {
    #[test]
    fn runs_are_the_same_on_clusters(run in any_run(), shift in 0u32..4, seed: u64) {
        let mut run = run;
        let mut file = Vec::new();
        if let Workload::Graph(graph) = &run.workload {
            // In a file, computations take whole nanoseconds.
            binary::write(graph, &mut file).unwrap();
            run.workload = binary::parse(&file).unwrap().into();
        }
        same_on_clusters(&run, Sharing { file: &file, shift, seed })?;
    }
}
