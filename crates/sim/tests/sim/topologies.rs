//! Shared links: engines and threads agree on random programs and topologies, and without waiting the results are those
//! of LogGOPS.

use crate::tests::{one_lane, schedules, steps};
use proptest::prelude::*;
use straggler_model::network::Drawn;
use straggler_model::topology::{
    Costs, Dragonfly, Edge, Graph, Routers, Routing, SegmentRule, Size, Topology, Torus, Tree, Wiring,
};
use straggler_model::{Network, PerByte, Time};
use straggler_noise::Injection;
use straggler_sim::{Control, EngineChoice, Fabric, Placement, RunError, Simulation, Workload};

fn costs() -> impl Strategy<Value = Costs> {
    let latency = prop::sample::select(vec![1u64, 3, 1000, 40_000, 1_500_000]);
    (latency, prop::sample::select(vec![0u64, 1 << 31, 1 << 35, 1 << 38]))
        .prop_map(|(latency, gap)| Costs::new(PerByte::from_bits(gap), Time(latency)))
}

fn trees() -> impl Strategy<Value = Topology> {
    let routing = prop::sample::select(vec![Routing::Hash, Routing::Pooled]);
    let kinds = [costs(), costs(), costs()];
    (1u32..12, 1u8..4, 1u32..5, 1u32..4, [1u32..4, 1u32..4], routing, kinds).prop_map(
        |(hosts, levels, hosts_per_leaf, leaves_per_pod, up, routing, kinds)| {
            let size = Size { hosts, levels, hosts_per_leaf, leaves_per_pod, up };
            Topology::from_tree("tree", Tree::new(size, routing, kinds).unwrap())
        },
    )
}

fn graphs() -> impl Strategy<Value = Topology> {
    (1u32..8, 1u32..5).prop_flat_map(|(hosts, switches)| {
        let vertices = hosts + switches;
        let more = prop::collection::vec((0..vertices, 0..vertices, costs()), 0..10);
        let anchors = prop::collection::vec((any::<prop::sample::Index>(), costs()), vertices as usize);
        (more, anchors, any::<bool>()).prop_map(move |(more, anchors, pooled)| {
            let mut edges = Vec::new();
            for (vertex, (anchor, costs)) in (0..vertices).zip(anchors).filter(|(vertex, _)| *vertex != hosts)
            {
                let switches = if vertex > hosts { vertex - hosts } else { switches };
                edges.push(Edge { ends: [vertex, hosts + anchor.index(switches as usize) as u32], costs });
            }
            let more = more.into_iter().filter(|(one, other, _)| one != other);
            edges.extend(more.map(|(one, other, costs)| Edge { ends: [one, other], costs }));
            let names = (0..vertices).map(|vertex| format!("v{vertex}")).collect();
            Topology::from_graph("graph", Graph::new(names, hosts, &edges, pooled).unwrap())
        })
    })
}

fn routers() -> impl Strategy<Value = Topology> {
    let torus = (prop::collection::vec(1u32..4, 1..6), any::<bool>()).prop_filter_map(
        "too large",
        |(sizes, wraps)| {
            let small = sizes.iter().product::<u32>() <= 12;
            small.then(|| Torus::new(&sizes, wraps).map(Wiring::Torus))?
        },
    );
    let dragonfly = (1u32..5, 1u32..4, 1u32..4, any::<bool>()).prop_filter_map(
        "too few links",
        |(groups, routers, far, valiant)| {
            Dragonfly::new(groups, routers, far, valiant).map(Wiring::Dragonfly)
        },
    );
    let wiring = prop_oneof![torus, dragonfly];
    (wiring, 1u32..3, [costs(), costs(), costs()]).prop_map(|(wiring, per_router, kinds)| {
        Topology::from_routers("routers", Routers::new(wiring, per_router, kinds).unwrap())
    })
}

pub fn topologies() -> impl Strategy<Value = Topology> {
    let segment = prop::sample::select(vec![
        SegmentRule::Auto,
        SegmentRule::Whole,
        SegmentRule::Bytes(1_000),
        SegmentRule::Bytes(60_000),
    ]);
    (prop_oneof![trees(), routers(), graphs()], segment, any::<u64>()).prop_map(
        |(mut topology, segment, seed)| {
            (topology.segment, topology.seed) = (segment, seed);
            topology
        },
    )
}

/// A topology with processes on its hosts, by number or anywhere.
pub fn fabric(topology: Topology, processes: u32, anywhere: bool) -> Fabric {
    let hosts = topology.hosts();
    let place = |rank: u32| (rank.wrapping_mul(2_654_435_761) >> 7) % hosts;
    let placement = match anywhere {
        true => Placement::Hosts((0..processes).map(place).collect()),
        false => Placement::Cyclic,
    };
    // Loads may be asked for or not: without them, ports that cannot delay anything are skipped.
    let measured = topology.seed.is_multiple_of(2);
    let mut fabric = Fabric::new(topology, placement, processes).unwrap();
    fabric.measured = measured;
    fabric.waits = !fabric.topology.seed.is_multiple_of(7);
    fabric
}

/// Checks that the windowed engine gives the reference engine's results on 1, 2, 3 and 7 threads.
fn agrees(simulation: &Simulation<'_>, workload: &Workload) -> Result<(), TestCaseError> {
    let run = |engine, threads: usize| {
        let mut control = Control::new(threads);
        control.block_shift = (threads > 1).then_some(threads as u32 % 2);
        Ok(Simulation { engine, ..simulation.clone() }.run(workload, &mut control)?.outcome)
    };
    let reference = run(EngineChoice::Reference, 1).unwrap();
    for threads in [1, 2, 3, 7] {
        let windowed = match run(EngineChoice::Windowed, threads) {
            Err(RunError::NoLookahead) => continue,
            windowed => windowed.unwrap(),
        };
        prop_assert_eq!(&windowed.finish, &reference.finish, "{} threads", threads);
        prop_assert_eq!(windowed.messages, reference.messages);
        prop_assert_eq!(&windowed.stuck, &reference.stuck);
        let mut loads = windowed.loads;
        loads.sort_by_key(|&(first, _)| first);
        let loads: Vec<_> = loads.into_iter().flat_map(|(_, loads)| loads).collect();
        let expected = reference.loads.first().map_or(&[][..], |(_, loads)| loads);
        prop_assert_eq!(&loads[..], expected);
    }
    Ok(())
}

fn simulation<'a>(network: &'a Network, fabric: &'a Fabric, noise: &'a Option<Injection>) -> Simulation<'a> {
    Simulation { noise: noise.as_ref(), fabric: Some(fabric), ..Simulation::new(network) }
}

proptest! {
    /// Any CPUs and NICs, wildcards, incasts, link classes, rendezvous, overlapped receives, noise, drawn latencies.
    #[test]
    fn on_random_schedules(
        shape in schedules::shapes(),
        network in schedules::networks(),
        noise in schedules::noises(),
        topology in topologies(),
        (overlap, anywhere, drawn) in (any::<bool>(), any::<bool>(), any::<bool>()),
        (distributions, seed) in crate::tests::drawn::distributions(8_000_000),
    ) {
        let fabric = fabric(topology, shape.ranks, anywhere);
        let drawn = drawn.then(|| Drawn::new(&network, &distributions, seed).unwrap());
        let simulation = simulation(&network, &fabric, &noise);
        let simulation = Simulation { receive_overlap: overlap, latency: drawn.as_ref(), ..simulation };
        agrees(&simulation, &schedules::graph(&shape).into())?;
    }
}

proptest! {
    /// Steps with times of a few picoseconds, which have their own path in the engine.
    #[test]
    fn on_steps_where_events_coincide(
        which in 0..steps::COLLECTIVES.len(),
        processes in 1u32..24,
        // Messages of a byte pass all ports at once.
        bytes in prop_oneof![Just(1), 1u64..12],
        (root, cycles, compute) in (0u32..70, 1u32..4, 0u64..9),
        large in any::<bool>(),
        network in one_lane::networks(),
        noise in one_lane::noises(),
        (topology, anywhere) in (topologies(), any::<bool>()),
        drawn in prop::option::of(crate::tests::drawn::distributions(9)),
    ) {
        let fabric = fabric(topology, processes, anywhere);
        let drawn = drawn.map(|(distributions, seed)| Drawn::new(&network, &distributions, seed).unwrap());
        let simulation = Simulation { latency: drawn.as_ref(), ..simulation(&network, &fabric, &noise) };
        let bytes = if large { bytes * 6_000 } else { bytes };
        let collective = steps::collective(which, processes, bytes, root, 1);
        agrees(&simulation, &Workload::Collective { collective, cycles, compute: Time(compute) })?;
    }

    /// Graphs with one CPU and one NIC and times of a few picoseconds.
    #[test]
    fn on_graphs_where_events_coincide(
        case in one_lane::cases(),
        network in one_lane::networks(),
        noise in one_lane::noises(),
        (topology, anywhere) in (topologies(), any::<bool>()),
    ) {
        let graph = one_lane::graph(&case);
        let fabric = fabric(topology, graph.processes(), anywhere);
        agrees(&simulation(&network, &fabric, &noise), &graph.into())?;
    }
}

/// A star in which each direction has half of a network's latency, and its G.
fn star(network: &Network, hosts: u32, segment: SegmentRule) -> Topology {
    let half = Time(network.base.latency.ps() / 2);
    let kinds = [Costs::new(network.base.gap_per_byte, half); 3];
    let size = Size { hosts, levels: 1, hosts_per_leaf: hosts, leaves_per_pod: 1, up: [1, 1] };
    let mut star = Topology::from_tree("star", Tree::new(size, Routing::Hash, kinds).unwrap());
    star.segment = segment;
    star
}

proptest! {
    /// If nothing waits and the latencies of the route add up to L, the result is that of LogGOPS.
    #[test]
    fn without_waiting_nothing_changes(
        shape in schedules::shapes(),
        mut network in schedules::networks(),
        noise in schedules::noises(),
        segment in prop::sample::select(vec![SegmentRule::Auto, SegmentRule::Whole, SegmentRule::Bytes(3_000)]),
        coarse in any::<bool>(),
    ) {
        network.levels.clear();
        network.base.latency = Time(network.base.latency.ps() / 2 * 2 + 2);
        // Below a picosecond per byte, every rounding shows.
        network.base.gap_per_byte = PerByte::from_bits(network.base.gap_per_byte.bits() >> if coarse { 0 } else { 10 });
        let shape = schedules::Shape { cpus: 1, nics: 1, ..shape };
        let workload: Workload = schedules::graph(&shape).into();
        let fabric = fabric(star(&network, shape.ranks, segment), shape.ranks, false);
        let alone = Simulation { noise: noise.as_ref(), ..Simulation::new(&network) };
        let alone = alone.run(&workload, &mut Control::new(1)).unwrap().outcome;
        // By decree, or because nothing happens to wait.
        let mut fabric = fabric;
        fabric.waits = false;
        let free = simulation(&network, &fabric, &noise).run(&workload, &mut Control::new(1)).unwrap().outcome;
        prop_assert_eq!(&free.finish, &alone.finish);
        fabric.waits = true;
        let shared = simulation(&network, &fabric, &noise);
        let shared = shared.run(&workload, &mut Control::new(1)).unwrap().outcome;
        let waited: u64 = shared.loads.iter().flat_map(|(_, loads)| loads).map(|load| load.waited.ps()).sum();
        prop_assume!(waited == 0);
        prop_assert_eq!(shared.finish, alone.finish);
        prop_assert_eq!(shared.stuck, alone.stuck);
    }
}
