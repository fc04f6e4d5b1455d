//! Random runs of every kind, for properties that hold for all of them.

use crate::tests::{drawn, one_lane, schedules, steps, topologies, traced, traced_runs};
use proptest::prelude::*;
use std::sync::Arc;
use straggler_model::network::Drawn;
use straggler_model::{Network, Time};
use straggler_noise::Injection;
use straggler_schedule::traced::{Building, Options, Playback, TracedRun};
use straggler_sim::programs::{Butterfly, Redundancy};
use straggler_sim::{Fabric, Simulation, Workload};

#[derive(Clone, Debug)]
pub struct AnyRun {
    pub workload: Workload,
    network: Network,
    noise: Option<Injection>,
    latency: Option<Drawn>,
    receive_overlap: bool,
    fabric: Option<Fabric>,
}

impl AnyRun {
    fn new(workload: impl Into<Workload>, network: Network, noise: Option<Injection>) -> AnyRun {
        let workload = workload.into();
        AnyRun { workload, network, noise, latency: None, receive_overlap: false, fabric: None }
    }

    pub fn simulation(&self) -> Simulation<'_> {
        Simulation {
            noise: self.noise.as_ref(),
            latency: self.latency.as_ref(),
            receive_overlap: self.receive_overlap,
            fabric: self.fabric.as_ref(),
            ..Simulation::new(&self.network)
        }
    }
}

pub fn any_run() -> impl Strategy<Value = AnyRun> {
    let runs = prop_oneof![graphs(), lanes(), collectives(), butterflies(), traces()];
    (runs, prop::option::weighted(0.25, (topologies::topologies(), any::<bool>()))).prop_map(
        |(run, topology)| {
            let processes = run.workload.processes();
            let fabric =
                topology.map(|(topology, anywhere)| topologies::fabric(topology, processes, anywhere));
            AnyRun { fabric, ..run }
        },
    )
}

/// Adds drawn latencies to some runs.
fn drawn(runs: impl Strategy<Value = AnyRun>) -> impl Strategy<Value = AnyRun> {
    (runs, drawn::distributions(9), any::<bool>()).prop_map(|(run, (distributions, seed), draws)| {
        let latency = draws.then(|| Drawn::new(&run.network, &distributions, seed).unwrap());
        AnyRun { latency, ..run }
    })
}

/// Schedules with one lane, in which many events coincide.
fn graphs() -> impl Strategy<Value = AnyRun> {
    let runs = (one_lane::cases(), one_lane::networks(), one_lane::noises());
    drawn(runs.prop_map(|(case, network, noise)| AnyRun::new(one_lane::graph(&case), network, noise)))
}

/// Any CPUs and NICs, wildcards, incasts, link classes, rendezvous, overlapped receives, and programs that get stuck.
fn lanes() -> impl Strategy<Value = AnyRun> {
    let runs = (schedules::shapes(), schedules::networks(), schedules::noises(), any::<bool>());
    runs.prop_map(|(shape, network, noise, receive_overlap)| AnyRun {
        receive_overlap,
        ..AnyRun::new(schedules::graph(&shape), network, noise)
    })
}

fn collectives() -> impl Strategy<Value = AnyRun> {
    let figures = (1u64..12, 0u32..70, 1u32..4, 0u64..9);
    let which = (0..steps::COLLECTIVES.len(), 1u32..60, figures);
    let runs = (which, one_lane::networks(), one_lane::noises());
    drawn(runs.prop_map(|((which, processes, (bytes, root, cycles, compute)), network, noise)| {
        let collective = steps::collective(which, processes, bytes, root, 1);
        AnyRun::new(Workload::Collective { collective, cycles, compute: Time(compute) }, network, noise)
    }))
}

fn butterflies() -> impl Strategy<Value = AnyRun> {
    let runs = (0u32..6, 1u32..4, 0u64..20_000_000, schedules::noises());
    runs.prop_map(|(exponent, cycles, compute, noise)| {
        let butterfly = Butterfly::new(1 << exponent, cycles, Time(compute)).unwrap();
        AnyRun::new(butterfly.with_redundancy(Redundancy::ALL), Network::parse("chic").unwrap(), noise)
    })
}

fn traces() -> impl Strategy<Value = AnyRun> {
    (traced::shapes(), 1u32..4, schedules::noises()).prop_map(|(shape, copies, noise)| {
        let trace = traced_runs::trace(shape);
        let recording = Arc::new(TracedRun::from_trace(&trace, &Options::default()).unwrap());
        let playback = Playback::new(recording, copies, &Building::default()).unwrap();
        AnyRun::new(playback, Network::parse("chic").unwrap(), noise)
    })
}
