//! The replay of a traced program equals its materialised schedule on all engines, to the picosecond, and copies take
//! no memory.

use crate::tests::schedules;
use crate::tests::traced_runs::{Shape, trace};
use proptest::prelude::*;
use std::sync::Arc;
use straggler_model::{Network, Time};
use straggler_schedule::traced::{Building, Options, Playback, Progress, TracedRun};
use straggler_schedule::validate::{self, Finding};
use straggler_sim::{Control, EngineChoice, Outcome, Simulation, Workload};
use straggler_trace::call::NO_COMM;
use straggler_trace::{Call, CommId, Communicator, Details, Function, RankTrace, RequestId, Trace};

pub fn shapes() -> impl Strategy<Value = Shape> {
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
    let mut control = Control::new(threads);
    if threads > 1 {
        control.block_shift = Some(threads as u32 % 2);
    }
    run(&mut control)
}

fn run(simulation: &Simulation<'_>, workload: &Workload, engine: EngineChoice, threads: usize) -> Outcome {
    let simulation = Simulation { engine, ..simulation.clone() };
    control(threads, |control| simulation.run(workload, control).unwrap().outcome)
}

proptest! {
    #[test]
    fn replaying_is_running_the_materialised_schedule(
        shape in shapes(),
        copies in 1u32..4,
        network in schedules::networks(),
        noise in schedules::noises(),
        receive_overlap in any::<bool>(),
        progress in prop::sample::select(vec![Progress::Calls, Progress::Thread]),
    ) {
        let options = Options { progress, ..Options::default() };
        let recording = Arc::new(TracedRun::from_trace(&trace(shape), &options).unwrap());
        let playback = Playback::new(recording, copies, &Building::default()).unwrap();
        let graph = playback.materialise().unwrap();
        let mut findings = validate::validate(&graph);
        // Happens in a ring of one rank.
        findings.retain(|finding| !matches!(finding, Finding::SendToSelf { .. }));
        prop_assert_eq!(findings, vec![]);
        prop_assert_eq!(graph.messages(), playback.messages());
        prop_assert_eq!(graph.operations(), playback.operations());
        prop_assert_eq!(graph.largest_message(), playback.largest_message());
        let simulation = Simulation { noise: noise.as_ref(), receive_overlap, ..Simulation::new(&network) };
        let expected = run(&simulation, &graph.into(), EngineChoice::Reference, 1);
        let playback = playback.into();
        prop_assert_eq!(&expected.stuck, &None);
        for (engine, threads) in
            [(EngineChoice::Reference, 1), (EngineChoice::Windowed, 1), (EngineChoice::Windowed, 3)]
        {
            let outcome = run(&simulation, &playback, engine, threads);
            prop_assert_eq!(&outcome.finish, &expected.finish, "{:?} {}", engine, threads);
            prop_assert_eq!(outcome.messages, expected.messages);
            prop_assert_eq!(&outcome.stuck, &None);
        }
    }
}

/// All ranks start a barrier, compute for 2 ms, and complete the barrier.
fn overlapped_barrier(ranks: u32) -> Trace {
    let rank = || {
        let mut trace = RankTrace::default();
        let at = |us: u64| Time::from_ns(us * 1_000);
        let begin = Call::new(Function::Ibarrier, at(0), at(0));
        trace.push(Call { comm: CommId(0), request: RequestId(0), ..begin });
        let details = Details { requests: vec![RequestId(0)].into(), found: true, ..Details::default() };
        trace.push_with(Call::new(Function::Wait, at(2_000), at(2_000)), details);
        trace
    };
    let ranks: Vec<RankTrace> = (0..ranks).map(|_| rank()).collect();
    let communicators = vec![Communicator::world(ranks.len() as u32)];
    Trace { ranks, communicators, ..Trace::default() }
}

/// The dissemination barrier of eight ranks has three rounds of L + 2o. Only the first send precedes the computation,
/// unless a thread of the library handles the messages meanwhile.
#[test]
fn nonblocking_collectives_progress_when_ranks_wait_or_in_a_thread() {
    let network = Network::parse("L=3us,o=1us,g=0ns,G=0ns,O=0ns,S=65535").unwrap();
    let finish = |progress| {
        let options = Options { progress, ..Options::default() };
        let recording = Arc::new(TracedRun::from_trace(&overlapped_barrier(8), &options).unwrap());
        let playback = Playback::new(recording, 1, &Building::default()).unwrap();
        let outcome = run(&Simulation::new(&network), &playback.into(), EngineChoice::Reference, 1);
        outcome.finish.iter().max().unwrap().ps() / 1_000_000
    };
    assert_eq!(finish(Progress::Thread), 2_000);
    // The first send, the computation, the first receive, and two rounds.
    assert_eq!(finish(Progress::Calls), 1 + 2_000 + 1 + 2 * (1 + 3 + 1));
}

#[test]
fn copies_take_no_memory() {
    let shape = Shape { seed: 5, ranks: 8, threads: 1, events: 500, coarse: false, largest: 3 };
    let recording = Arc::new(TracedRun::from_trace(&trace(shape), &Options::default()).unwrap());
    let before = recording.memory_bytes();
    for copies in [1, 16, 256] {
        let playback = Playback::new(recording.clone(), copies, &Building::default()).unwrap();
        assert_eq!(playback.processes(), 8 * copies);
        assert_eq!(playback.recording().memory_bytes(), before);
        assert_eq!(Arc::strong_count(&recording), 2);
    }
    // The whole recording takes 24 bytes per instruction, and a little for waits and collectives.
    assert!(before < 40 * recording.instructions(), "{before} {}", recording.instructions());
}

/// Neighbours on a ring exchange messages in every step, and all ranks compute a sum in every tenth.
fn ring(ranks: u32, steps: u32) -> Trace {
    let rank = |rank: u32| {
        let mut trace = RankTrace::default();
        let (mut clock, mut requests) = (0u64, 0);
        let mut call = |function, comm, peer, tag, gap: u64| {
            clock += gap;
            let call = Call::new(function, Time(clock), Time(clock + 500_000));
            clock += 500_000;
            Call { comm, peer, tag, sent: 800, received: 800, ..call }
        };
        for step in 0..steps {
            let first = requests;
            let neighbors = [(rank + ranks - 1) % ranks, (rank + 1) % ranks];
            for (function, swapped) in [(Function::Irecv, 0), (Function::Isend, 1)] {
                for (tag, peer) in (0..2).zip(neighbors) {
                    let call = call(function, CommId(0), peer as i32, tag ^ swapped, 300_000);
                    trace.push(Call { request: RequestId(requests), ..call });
                    requests += 1;
                }
            }
            let details =
                Details { requests: (first..requests).map(RequestId).collect(), ..Details::default() };
            let gap = 20_000_000 + u64::from((rank * 7 + step) % 13) * 1_000_000;
            trace.push_with(call(Function::Waitall, NO_COMM, 0, 0, gap), details);
            if step % 10 == 9 {
                trace.push(call(Function::Allreduce, CommId(0), 0, 0, 1_000_000));
            }
        }
        trace
    };
    let communicators = vec![Communicator::world(ranks)];
    Trace { ranks: (0..ranks).map(rank).collect(), communicators, ..Trace::default() }
}

/// Prints the cost of replaying. Run by hand:
/// `cargo test -p straggler-sim --test sim -- --ignored --nocapture speed`.
#[test]
#[ignore = "a measurement"]
fn speed_of_replaying() {
    let network = Network::parse("L=2.5us,o=1.5us,g=1us,G=6ns,S=65535").unwrap();
    let recording = Arc::new(TracedRun::from_trace(&ring(1_000, 100), &Options::default()).unwrap());
    println!("recording: {} bytes", recording.memory_bytes());
    for copies in [1, 16] {
        let playback = Playback::new(recording.clone(), copies, &Building::default()).unwrap();
        let graph = playback.materialise().unwrap();
        let graph_bytes = graph.memory_bytes();
        let (graph, playback) = (graph.into(), playback.into());
        let simulation = Simulation::new(&network);
        for _ in 0..3 {
            let clock = std::time::Instant::now();
            let one = run(&simulation, &graph, EngineChoice::Windowed, 1);
            let middle = clock.elapsed();
            let two = run(&simulation, &playback, EngineChoice::Windowed, 1);
            let last = clock.elapsed() - middle;
            assert_eq!(one.finish, two.finish);
            let rate = |time: std::time::Duration| one.messages as f64 / time.as_secs_f64() / 1e6;
            let (graph_rate, replay_rate) = (rate(middle), rate(last));
            println!(
                "{copies} copies, {} messages: graph {graph_rate:.2} M/s, replay {replay_rate:.2} M/s",
                one.messages
            );
        }
        println!("graph: {graph_bytes} bytes");
    }
}
