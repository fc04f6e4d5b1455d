//! Runs that several members of a cluster share give the numbers of one, rank by rank, whoever has which processes. The members
//! are threads here; `straggler-mpi` has tests with processes.

use crate::{drawn, one_lane, schedules, steps, traced, traced_runs};
use proptest::prelude::*;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use straggler_model::network::Drawn;
use straggler_model::{Network, Time};
use straggler_schedule::traced::{Building, Options, Playback, Recording};
use straggler_sim::cluster::{Cluster, on_threads};
use straggler_sim::programs::{Butterfly, Redundancy};
use straggler_sim::{Control, Outcome, RunError, Simulation, Workload};

static STOP: AtomicBool = AtomicBool::new(false);

fn run(
    simulation: &Simulation<'_>,
    workload: &Workload,
    (threads, cluster): (usize, Option<&dyn Cluster>),
) -> Result<Outcome, RunError> {
    let mut progress = |_| {};
    let mut control = Control { cluster, ..Control::new(threads, &STOP, &mut progress) };
    Ok(simulation.run(workload, &mut control)?.outcome)
}

/// Clusters of 1, 2, 3 and 5 members, some with two threads, give what one process gives.
fn same_on_clusters(simulation: &Simulation<'_>, workload: &Workload) -> Result<(), TestCaseError> {
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
        let shared = on_threads(size, |member| run(simulation, workload, (threads, Some(member))));
        let mut finish = vec![None; alone.finish.len()];
        for outcome in shared {
            // Without a lookahead there is no cluster.
            let outcome = match outcome {
                Err(RunError::NoClusterWithoutLookahead) => return Ok(()),
                outcome => outcome.unwrap(),
            };
            let figures = |outcome: &Outcome| (outcome.messages, outcome.makespan(), outcome.stuck.clone());
            prop_assert_eq!(figures(&outcome), figures(&alone), "{} members", size);
            let ranks: Vec<u32> = outcome.ranks.iter().cloned().flatten().collect();
            prop_assert_eq!(ranks.len(), outcome.finish.len());
            for (rank, time) in ranks.into_iter().zip(outcome.finish) {
                prop_assert_eq!(finish[rank as usize].replace(time), None, "rank {} has two owners", rank);
            }
        }
        let finish: Option<Vec<Time>> = finish.into_iter().collect();
        prop_assert_eq!(finish.as_ref(), Some(&alone.finish), "{} members", size);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    /// Schedules of one lane, where many events coincide; with and without latencies that are drawn.
    #[test]
    fn graphs(
        case in one_lane::cases(),
        network in one_lane::networks(),
        noise in one_lane::noises(),
        (distributions, seed) in drawn::distributions(9),
        draws in any::<bool>(),
    ) {
        let drawn = Drawn::new(&network, &distributions, seed).unwrap();
        let latency = draws.then_some(&drawn);
        let simulation = Simulation { noise: noise.as_ref(), latency, ..Simulation::new(&network) };
        same_on_clusters(&simulation, &one_lane::graph(&case).into())?;
    }

    /// Any CPUs and NICs, wildcards, incasts, link classes, rendezvous, overlapped receives, and programs that get stuck.
    #[test]
    fn schedules(
        shape in schedules::shapes(),
        network in schedules::networks(),
        noise in schedules::noises(),
        overlap in any::<bool>(),
    ) {
        let simulation = Simulation { noise: noise.as_ref(), ..Simulation::new(&network) };
        let simulation = Simulation { receive_overlap: overlap, ..simulation };
        same_on_clusters(&simulation, &schedules::graph(&shape).into())?;
    }

    #[test]
    fn collectives(
        which in 0..steps::COLLECTIVES.len(),
        processes in 1u32..60,
        (bytes, root, cycles, compute) in (1u64..12, 0u32..70, 1u32..4, 0u64..9),
        network in one_lane::networks(),
        noise in one_lane::noises(),
        (distributions, seed) in drawn::distributions(9),
        draws in any::<bool>(),
    ) {
        let drawn = Drawn::new(&network, &distributions, seed).unwrap();
        let latency = draws.then_some(&drawn);
        let simulation = Simulation { noise: noise.as_ref(), latency, ..Simulation::new(&network) };
        let collective = steps::collective(which, processes, bytes, root, 1);
        same_on_clusters(&simulation, &Workload::Collective { collective, cycles, compute: Time(compute) })?;
    }

    #[test]
    fn butterflies(exponent in 0u32..6, cycles in 1u32..4, compute in 0u64..20_000_000, noise in schedules::noises()) {
        let network = Network::parse("chic").unwrap();
        let butterfly = Butterfly::new(1 << exponent, cycles, Time(compute)).unwrap().with_redundancy(Redundancy::ALL);
        let simulation = Simulation { noise: noise.as_ref(), ..Simulation::new(&network) };
        same_on_clusters(&simulation, &butterfly.into())?;
    }

    #[test]
    fn traces(shape in traced::shapes(), copies in 1u32..4, noise in schedules::noises()) {
        let trace = traced_runs::trace(shape);
        let recording = Arc::new(Recording::from_trace(&trace, &Options::default()).unwrap());
        let playback = Playback::new(recording, copies, &Building::default()).unwrap();
        let network = Network::parse("chic").unwrap();
        let simulation = Simulation { noise: noise.as_ref(), ..Simulation::new(&network) };
        same_on_clusters(&simulation, &playback.into())?;
    }
}
