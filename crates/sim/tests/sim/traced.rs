//! A traced program that is replayed runs as its materialised schedule does, on all engines, to the picosecond; and
//! copies of it cost no memory.

use crate::schedules;
use crate::traced_runs::{Shape, trace};
use proptest::prelude::*;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use straggler_model::Network;
use straggler_schedule::Graph;
use straggler_schedule::traced::{Building, Options, Playback, Recording};
use straggler_schedule::validate::{self, Finding};
use straggler_sim::{Control, EngineChoice, Nothing, Outcome, Simulation};

fn shapes() -> impl Strategy<Value = Shape> {
    let sizes = (1u32..6, prop_oneof![4 => Just(1u64), 1 => Just(3u64)], 1u32..60);
    let largest = prop::sample::select(vec![1u64, 300, 200_000]);
    (any::<u64>(), sizes, any::<bool>(), largest).prop_map(
        |(seed, (ranks, threads, events), coarse, largest)| Shape {
            seed,
            ranks,
            threads,
            events,
            coarse,
            largest,
        },
    )
}

fn control<T>(threads: usize, run: impl FnOnce(&mut Control<'_>) -> T) -> T {
    let stop = AtomicBool::new(false);
    let mut progress = |_| {};
    let mut control = Control::new(threads, &stop, &mut progress);
    if threads > 1 {
        control.block_shift = Some(threads as u32 % 2);
    }
    run(&mut control)
}

fn explicit(simulation: &Simulation<'_>, graph: &Graph, engine: EngineChoice) -> Outcome {
    let simulation = Simulation { engine, ..simulation.clone() };
    control(1, |control| simulation.run_graph(graph, control, |_, _| Nothing).unwrap().outcome)
}

fn replay(simulation: &Simulation<'_>, playback: &Playback, engine: EngineChoice, threads: usize) -> Outcome {
    let simulation = Simulation { engine, ..simulation.clone() };
    control(threads, |control| simulation.run_playback(playback, control, |_, _| Nothing).unwrap().outcome)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn replaying_is_running_the_materialised_schedule(
        shape in shapes(),
        copies in 1u32..4,
        network in schedules::networks(),
        noise in schedules::noises(),
        receive_overlap in any::<bool>(),
    ) {
        let recording = Arc::new(Recording::from_trace(&trace(shape), &Options::default()).unwrap());
        let playback = Playback::new(recording, copies, &Building::default()).unwrap();
        let graph = playback.materialise().unwrap();
        let mut findings = validate::validate(&graph);
        // A ring of one rank.
        findings.retain(|finding| !matches!(finding, Finding::SendToSelf { .. }));
        prop_assert_eq!(findings, vec![]);
        prop_assert_eq!(graph.messages(), playback.messages());
        prop_assert_eq!(graph.operations(), playback.operations());
        prop_assert_eq!(graph.largest_message(), playback.largest_message());
        let simulation = Simulation { noise: noise.as_ref(), receive_overlap, ..Simulation::new(&network) };
        let expected = explicit(&simulation, &graph, EngineChoice::Reference);
        prop_assert_eq!(&expected.stuck, &None);
        for (engine, threads) in
            [(EngineChoice::Reference, 1), (EngineChoice::Windowed, 1), (EngineChoice::Windowed, 3)]
        {
            let outcome = replay(&simulation, &playback, engine, threads);
            prop_assert_eq!(&outcome.finish, &expected.finish, "{:?} {}", engine, threads);
            prop_assert_eq!(outcome.messages, expected.messages);
            prop_assert_eq!(&outcome.stuck, &None);
        }
    }
}

#[test]
fn copies_take_no_memory() {
    let shape = Shape { seed: 5, ranks: 8, threads: 1, events: 500, coarse: false, largest: 3 };
    let recording = Arc::new(Recording::from_trace(&trace(shape), &Options::default()).unwrap());
    let before = recording.memory_bytes();
    for copies in [1, 16, 256] {
        let playback = Playback::new(recording.clone(), copies, &Building::default()).unwrap();
        assert_eq!(playback.processes(), 8 * copies);
        assert_eq!(playback.recording().memory_bytes(), before);
        assert_eq!(Arc::strong_count(&recording), 2);
    }
    // A whole trace, 24 bytes an instruction and a little for waits and collectives.
    assert!(before < 40 * recording.instructions(), "{before} {}", recording.instructions());
}

/// Prints what replaying costs. Run by hand: `cargo test -p straggler-sim --test sim -- --ignored --nocapture speed`.
#[test]
#[ignore = "a measurement"]
fn speed_of_replaying() {
    let shape = Shape { seed: 1, ranks: 1_000, threads: 1, events: 300_000, coarse: false, largest: 1_000 };
    let network = Network::parse("L=2.5us,o=1.5us,g=1us,G=6ns,S=65535").unwrap();
    let mut recorded = trace(shape);
    recorded.communicators.truncate(1);
    let recording = Recording::from_trace(&recorded, &Options { drop_unmatched: true, ..Options::default() });
    let playback = Playback::new(Arc::new(recording.unwrap()), 1, &Building::default()).unwrap();
    let graph = playback.materialise().unwrap();
    let simulation = Simulation::new(&network);
    for round in 0..3 {
        let clock = std::time::Instant::now();
        let one = explicit(&simulation, &graph, EngineChoice::Windowed);
        let middle = clock.elapsed();
        let two = replay(&simulation, &playback, EngineChoice::Windowed, 1);
        let last = clock.elapsed() - middle;
        assert_eq!(one.finish, two.finish);
        let rate = |time: std::time::Duration| one.messages as f64 / time.as_secs_f64() / 1e6;
        println!(
            "{round}: {} messages: graph {:.2} M/s, replay {:.2} M/s",
            one.messages,
            rate(middle),
            rate(last)
        );
    }
    println!(
        "graph {} MB, recording {} MB",
        graph.memory_bytes() / 1_000_000,
        playback.recording().memory_bytes() / 1_000_000
    );
}
