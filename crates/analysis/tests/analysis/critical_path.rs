//! The parts of the critical path add up to the makespan, on random schedules and with both engines; the derivatives
//! match the effect of changed parameters.

#[path = "../../../sim/tests/sim/schedules.rs"]
mod schedules;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use straggler_analysis::CriticalPath;
use straggler_model::network::{Distributions, Drawn, Meaning, Measured, PerByte};
use straggler_model::{Link, Network, Time};
use straggler_sim::{Acknowledgement, Control, EngineChoice, Simulation, Workload};

fn explain(
    simulation: &Simulation<'_>,
    workload: &Workload,
    engine: EngineChoice,
    threads: usize,
) -> (Time, CriticalPath) {
    let simulation = Simulation { engine, ..simulation.clone() };
    let mut control = Control::new(threads);
    control.block_shift = Some(1);
    let (run, recorders) = simulation.run_recorded(workload, &mut control).unwrap();
    (run.outcome.makespan(), CriticalPath::new(&recorders, &simulation))
}

fn makespan(network: &Network, simulation: &Simulation<'_>, workload: &Workload) -> Time {
    let simulation = Simulation { network, engine: EngineChoice::Reference, ..simulation.clone() };
    let mut control = Control::new(1);
    simulation.run(workload, &mut control).unwrap().outcome.makespan()
}

proptest! {
    #[test]
    fn parts_add_up(
        shape in schedules::shapes(),
        network in schedules::networks(),
        noise in schedules::noises(),
        overlap in any::<bool>(),
        fixed_ack in prop::option::of(1u64..10_000_000),
    ) {
        let workload = Workload::from(schedules::graph(&shape));
        let mut simulation = Simulation { noise: noise.as_ref(), receive_overlap: overlap, ..Simulation::new(&network) };
        if let Some(ack) = fixed_ack {
            simulation.acknowledgement = Acknowledgement::Fixed(Time(ack));
        }
        let (makespan, reference) = explain(&simulation, &workload, EngineChoice::Reference, 1);
        prop_assert_eq!(reference.makespan, makespan);
        prop_assert_eq!(reference.parts.total(), makespan);
        let (_, windowed) = explain(&simulation, &workload, EngineChoice::Windowed, 2);
        prop_assert_eq!(&windowed, &reference);
        if let (Some(first), Some(last)) = (reference.stretches.first(), reference.stretches.last()) {
            prop_assert_eq!(first.from, Time::ZERO);
            prop_assert_eq!(last.to, makespan);
            prop_assert!(reference.stretches.windows(2).all(|pair| pair[0].to == pair[1].from));
        }
    }
}

proptest! {
    /// Every hop uses the parameters drawn for its message.
    #[test]
    fn parts_add_up_where_latencies_are_drawn(
        shape in schedules::shapes(),
        network in schedules::networks(),
        noise in schedules::noises(),
        overlap in any::<bool>(),
        latencies in prop::collection::vec((1u64..9_000_000, 1u64..5), 1..6),
        overheads in prop::collection::vec((1u64..900_000, 1u64..5), 0..4),
    ) {
        let list = |times: Vec<(u64, u64)>| -> Vec<Measured> {
            let times: Vec<_> = times.into_iter().map(|(time, weight)| (Time(time), weight)).collect();
            if times.is_empty() { Vec::new() } else { vec![Measured { class: None, times }] }
        };
        let measured =
            Distributions { latencies: list(latencies), meaning: Meaning::Wire, overheads: list(overheads) };
        let drawn = Drawn::new(&network, &measured, 3).unwrap();
        let workload = Workload::from(schedules::graph(&shape));
        let simulation = Simulation { noise: noise.as_ref(), receive_overlap: overlap, ..Simulation::new(&network) };
        let simulation = Simulation { latency: Some(&drawn), ..simulation };
        let (makespan, reference) = explain(&simulation, &workload, EngineChoice::Reference, 1);
        prop_assert_eq!(reference.parts.total(), makespan);
        let (_, windowed) = explain(&simulation, &workload, EngineChoice::Windowed, 2);
        prop_assert_eq!(&windowed, &reference);
    }
}

/// The network with one parameter a picosecond (or a byte's worth) longer.
fn nudged(network: &Network, nudge: impl Fn(&mut Link)) -> Network {
    let mut network = network.clone();
    nudge(&mut network.base);
    network
}

proptest! {
    #![proptest_config(ProptestConfig { max_global_rejects: 4000, rng_seed: RngSeed::Fixed(10), ..ProptestConfig::default() })]

    /// If the path is unique, a parameter that grows by one unit lengthens the run by its derivative. Times are
    /// spread widely and the unit is a picosecond, so the order of events changes only by a coincidence within a few
    /// picoseconds; o_s, o_r and g keep their distance to avoid one.
    #[test]
    fn derivatives_hold(
        shape in schedules::shapes().prop_map(|shape| schedules::Shape { coarse: false, wildcards: false, cpus: 1, nics: 1, largest: shape.largest.min(50), ..shape }),
        latency in 1_000_000u64..9_000_000,
        overhead in 100_000u64..500_000,
        receive in 700_000u64..900_000,
        gap in prop_oneof![10_000u64..50_000, 550_000u64..650_000, 1_500_000u64..3_000_000],
        rate in 10u32..3_000,
    ) {
        let link = Link {
            latency: Time(latency),
            send_overhead: Time(overhead),
            recv_overhead: Time(receive),
            gap: Time(gap),
            gap_per_byte: PerByte::from_ps(rate),
            overhead_per_byte: PerByte::from_ps(1),
            eager_limit: 20,
            overlap_limit: u64::MAX,
        };
        let network = Network::uniform("unique", link);
        let workload = Workload::from(schedules::graph(&shape));
        let simulation = Simulation::new(&network);
        let (before, path) = explain(&simulation, &workload, EngineChoice::Reference, 1);
        prop_assume!(path.unique);
        let grown = |nudge: &dyn Fn(&mut Link)| makespan(&nudged(&network, nudge), &simulation, &workload).ps() as i128 - before.ps() as i128;
        let derivatives = path.derivatives;
        prop_assert_eq!(grown(&|link| link.latency.0 += 1), i128::from(derivatives.latency));
        prop_assert_eq!(grown(&|link| link.send_overhead.0 += 1), i128::from(derivatives.send_overhead));
        prop_assert_eq!(grown(&|link| link.recv_overhead.0 += 1), i128::from(derivatives.recv_overhead));
        prop_assert_eq!(grown(&|link| link.gap.0 += 1), i128::from(derivatives.gap));
        prop_assert_eq!(
            grown(&|link| link.gap_per_byte = PerByte::from_ps(rate + 1)),
            i128::from(derivatives.gap_bytes)
        );
    }
}
