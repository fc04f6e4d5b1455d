//! Drawn latencies: engines and threads agree on random programs, a distribution of one value equals a network with
//! that value, a chain equals an independent sum of its draws, and no message overtakes another.

use crate::tests::{one_lane, schedules, steps, traced, traced_runs};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use straggler_model::network::{BASE, Distributions, Drawn, Grouping, Level, Meaning, Measured};
use straggler_model::philox::philox4x32;
use straggler_model::{Network, Rank, Time};
use straggler_schedule::goal::text;
use straggler_schedule::graph::Graph;
use straggler_schedule::traced::{Building, Options, Playback, TracedRun};
use straggler_sim::observer::{Observer, Ran, RanKind};
use straggler_sim::programs::{Butterfly, GraphProgram, Redundancy};
use straggler_sim::release::Release;
use straggler_sim::{Control, EngineChoice, Replicas, Run, RunError, Simulation, Workload};

/// Weighted times of one parameter.
fn times(largest: u64) -> impl Strategy<Value = Vec<(Time, u64)>> {
    prop::collection::vec((0..largest, 1u64..5), 1..6)
        .prop_map(|times| times.into_iter().map(|(time, weight)| (Time(time), weight)).collect())
}

fn measured(class: Option<&str>, times: Vec<(Time, u64)>) -> Measured {
    Measured { class: class.map(Into::into), times }
}

/// Distributions of L, for all pairs or for those outside groups, and perhaps of o, with times up to `largest`.
pub fn distributions(largest: u64) -> impl Strategy<Value = (Distributions, u64)> {
    let overheads = prop::option::of(times(largest));
    (times(largest), any::<bool>(), overheads, 0u64..1000).prop_map(|(latencies, base, overheads, seed)| {
        let class = base.then_some(BASE);
        let latencies = vec![measured(class, latencies)];
        let overheads = overheads.map(|times| measured(None, times)).into_iter().collect();
        (Distributions { latencies, meaning: Meaning::Wire, overheads }, seed)
    })
}

/// Runs on `threads` threads, with small blocks if there are several.
fn run(simulation: &Simulation<'_>, workload: &Workload, threads: usize) -> Result<Run, RunError> {
    let mut control = Control::new(threads);
    control.block_shift = (threads > 1).then_some(threads as u32 % 2);
    simulation.run(workload, &mut control)
}

/// Returns the reference engine's finish times. The windowed engine must agree on one and three threads, unless there
/// is no lookahead.
fn agreed(simulation: &Simulation<'_>, workload: &Workload) -> Result<Vec<Time>, TestCaseError> {
    let with = |engine| Simulation { engine, ..simulation.clone() };
    let reference = run(&with(EngineChoice::Reference), workload, 1).unwrap().outcome;
    for threads in [1, 3] {
        let windowed = match run(&with(EngineChoice::Windowed), workload, threads) {
            Err(RunError::NoLookahead) => continue,
            windowed => windowed.unwrap().outcome,
        };
        prop_assert_eq!(&windowed.finish, &reference.finish, "{} threads", threads);
        prop_assert_eq!(windowed.messages, reference.messages);
        prop_assert_eq!(&windowed.stuck, &reference.stuck);
    }
    Ok(reference.finish)
}

/// Adds a level on which pairs of ranks have a smaller latency, if asked for.
fn with_level(mut network: Network, level: bool) -> Network {
    if level {
        let mut link = network.base;
        link.latency = Time(link.latency.ps() / 2 + 1);
        network.levels = vec![Level { name: "node".into(), grouping: Grouping::Consecutive(2), link }];
    }
    network
}

proptest! {
    /// Schedules with one CPU and one NIC and times of a few picoseconds, which have their own path in the engine.
    #[test]
    fn on_graphs_where_events_coincide(
        case in one_lane::cases(),
        network in one_lane::networks(),
        level in any::<bool>(),
        noise in one_lane::noises(),
        (distributions, seed) in distributions(9),
    ) {
        let network = with_level(network, level);
        let drawn = Drawn::new(&network, &distributions, seed).unwrap();
        let simulation = Simulation { noise: noise.as_ref(), latency: Some(&drawn), ..Simulation::new(&network) };
        agreed(&simulation, &one_lane::graph(&case).into())?;
    }

    /// Steps with times of a few picoseconds, which have their own path in the engine.
    #[test]
    fn on_steps_where_events_coincide(
        which in 0..steps::COLLECTIVES.len(),
        processes in 1u32..60,
        (bytes, root, cycles, compute) in (1u64..12, 0u32..70, 1u32..4, 0u64..9),
        network in one_lane::networks(),
        level in any::<bool>(),
        noise in one_lane::noises(),
        (distributions, seed) in distributions(9),
    ) {
        let network = with_level(network, level);
        let drawn = Drawn::new(&network, &distributions, seed).unwrap();
        let simulation = Simulation { noise: noise.as_ref(), latency: Some(&drawn), ..Simulation::new(&network) };
        let collective = steps::collective(which, processes, bytes, root, 1);
        agreed(&simulation, &Workload::Collective { collective, cycles, compute: Time(compute) })?;
    }
}

proptest! {
    /// Any CPUs and NICs, wildcards, incasts, link classes, rendezvous, overlapped receives.
    #[test]
    fn on_random_schedules(
        shape in schedules::shapes(),
        network in schedules::networks(),
        noise in schedules::noises(),
        overlap in any::<bool>(),
        largest in prop::sample::select(vec![4u64, 3_000, 20_000_000]),
        (mut distributions, seed) in distributions(1 << 30),
    ) {
        let lists = distributions.latencies.iter_mut().chain(&mut distributions.overheads);
        lists.flat_map(|list| &mut list.times).for_each(|(time, _)| *time = Time(time.ps() % largest));
        let drawn = Drawn::new(&network, &distributions, seed).unwrap();
        let simulation = Simulation { noise: noise.as_ref(), latency: Some(&drawn), ..Simulation::new(&network) };
        let simulation = Simulation { receive_overlap: overlap, ..simulation };
        agreed(&simulation, &schedules::graph(&shape).into())?;
    }

    /// The replay of a traced program makes the same draws as its materialised schedule.
    #[test]
    fn on_traces(
        shape in traced::shapes(),
        copies in 1u32..3,
        network in schedules::networks(),
        (distributions, seed) in distributions(8_000_000),
    ) {
        let trace = traced_runs::trace(shape);
        let recording = Arc::new(TracedRun::from_trace(&trace, &Options::default()).unwrap());
        let playback = Playback::new(recording, copies, &Building::default()).unwrap();
        let drawn = Drawn::new(&network, &distributions, seed).unwrap();
        let simulation = Simulation { latency: Some(&drawn), ..Simulation::new(&network) };
        let materialised = agreed(&simulation, &playback.materialise().unwrap().into())?;
        prop_assert_eq!(agreed(&simulation, &playback.into())?, materialised);
    }

    #[test]
    fn on_butterflies(
        (k, cycles) in (0u32..7, 1u32..4),
        redundant in any::<bool>(),
        (distributions, seed) in distributions(8_000_000),
    ) {
        let network = Network::parse("L=1us,o=1ns,g=0ns,G=1ns,O=0ns,S=65535").unwrap();
        let drawn = Drawn::new(&network, &distributions, seed).unwrap();
        let simulation = Simulation { latency: Some(&drawn), ..Simulation::new(&network) };
        let redundancy = if redundant { Redundancy::ALL } else { Redundancy::Never };
        let butterfly = Butterfly::new(1 << k, cycles, Time(1_000_000)).unwrap().with_redundancy(redundancy);
        agreed(&simulation, &Workload::Butterfly(butterfly))?;
    }

    /// A distribution of one value equals a network with that value.
    #[test]
    fn a_single_value_is_a_parameter(
        case in one_lane::cases(),
        shape in schedules::shapes(),
        tiny in one_lane::networks(),
        network in schedules::networks(),
        noise in schedules::noises(),
        (latency, overhead) in (1u64..8, prop::option::of(1u64..8)),
    ) {
        for (network, graph) in [(tiny, one_lane::graph(&case)), (network, schedules::graph(&shape))] {
            let value = |time| vec![measured(None, vec![(Time(time), 3)])];
            let overheads = overhead.map(value).unwrap_or_default();
            let distributions = Distributions { latencies: value(latency), meaning: Meaning::Wire, overheads };
            let drawn = Drawn::new(&network, &distributions, 1).unwrap();
            let simulation = Simulation { noise: noise.as_ref(), ..Simulation::new(&network) };
            let drawing = Simulation { latency: Some(&drawn), ..simulation.clone() };
            let mut same = network.clone();
            for link in same.levels.iter_mut().map(|level| &mut level.link).chain([&mut same.base]) {
                link.latency = Time(latency);
                if let Some(overhead) = overhead {
                    (link.send_overhead, link.recv_overhead) = (Time(overhead), Time(overhead));
                }
            }
            let workload = graph.into();
            let expected = agreed(&Simulation { network: &same, ..simulation.clone() }, &workload)?;
            prop_assert_eq!(agreed(&drawing, &workload)?, expected);
        }
    }
}

/// Rank 0 and rank 1 send a byte back and forth.
fn ping_pong(rounds: u32) -> Graph {
    let mut lines = [String::new(), String::new()];
    for round in 0..rounds {
        for (rank, lines) in lines.iter_mut().enumerate() {
            let (first, second) = if rank == 0 { ("send", "recv") } else { ("recv", "send") };
            for (half, word) in [first, second].into_iter().enumerate() {
                let (label, way) = (2 * round + half as u32, if word == "send" { "to" } else { "from" });
                *lines += &format!("l{label}: {word} 1b {way} {} tag 1\n", 1 - rank);
                if label > 0 {
                    *lines += &format!("l{label} requires l{}\n", label - 1);
                }
            }
        }
    }
    let goal = format!("num_ranks 2\nrank 0 {{\n{}}}\nrank 1 {{\n{}}}\n", lines[0], lines[1]);
    text::parse(goal.as_bytes()).unwrap()
}

/// An independent computation without tables: the chain is the sum of what the random numbers choose from sorted
/// lists.
#[test]
fn a_chain_is_the_sum_of_its_draws() {
    const ROUNDS: u32 = 50;
    let (latencies, overheads) = ([400u64, 700, 900, 1000, 5000, 9000, 70_000], [10u64, 20, 60]);
    let list = |times: &[u64]| vec![measured(None, times.iter().map(|&time| (Time(time), 1)).collect())];
    let network = Network::parse("L=1ns,o=1ns,g=0ns,G=0ns,S=100").unwrap();
    let distributions =
        Distributions { latencies: list(&latencies), meaning: Meaning::Wire, overheads: list(&overheads) };
    let (seed, replica) = (0x1234_5678_9abc_def0_u64, 5);
    let drawn = Drawn::new(&network, &distributions, seed).unwrap().of_replica(replica);
    let mut now = 0;
    for number in 0..ROUNDS {
        for source in 0..2 {
            let stream = u32::from_le_bytes(*b"late");
            let block = philox4x32([number, source, replica, stream], [seed as u32, (seed >> 32) as u32]);
            let choose = |list: &[u64], random: f64| list[(random * list.len() as f64) as usize];
            let unit = |word: u32| f64::from(word) / 2f64.powi(32);
            now += choose(&overheads, unit(block[2])) + choose(&latencies, unit(block[0]));
            now += choose(&overheads, unit(block[3]));
        }
    }
    let simulation = Simulation { latency: Some(&drawn), ..Simulation::new(&network) };
    let finish = agreed(&simulation, &ping_pong(ROUNDS).into()).unwrap();
    assert_eq!(finish[0], Time(now));
}

/// When the messages of each pair arrived, in the order of sending.
#[derive(Debug, Default)]
struct Arrivals(BTreeMap<(Rank, Rank), Vec<(u32, Time)>>);

impl Observer for Arrivals {
    type Stamp = ();

    fn ran(&mut self, event: &Ran<()>) {
        if let RanKind::Message { .. } = event.what {
            self.0.entry((event.peer, event.rank)).or_default().push((event.number, event.arrival));
        }
    }
    fn released(&mut self, _: Rank, _: &Release) {}
}

proptest! {
    /// Messages of a pair arrive in the order of sending, each at its drawn time or together with the one before.
    #[test]
    fn messages_never_overtake(shape in schedules::shapes(), (distributions, seed) in distributions(40_000_000)) {
        let network = Network::parse("L=1us,o=100ns,g=10ns,G=0ns,S=100000000").unwrap();
        let drawn = Drawn::new(&network, &distributions, seed).unwrap();
        let graph = schedules::graph(&shape);
        let program = GraphProgram::<straggler_sim::host::ManyLanes>::new(&graph, false);
        let mut seen = Vec::new();
        for (engine, threads) in [(EngineChoice::Reference, 1), (EngineChoice::Auto, 3)] {
            let simulation = Simulation { latency: Some(&drawn), engine, ..Simulation::new(&network) };
            let mut control = Control::new(threads);
            control.block_shift = Some(0);
            let (_, observers) = simulation.run_program(&program, &mut control, |_, _: Range<Rank>| Arrivals::default()).unwrap();
            let mut pairs: BTreeMap<_, _> = observers.into_iter().flat_map(|observer| observer.0).collect();
            pairs.values_mut().for_each(|messages| messages.sort_unstable());
            for messages in pairs.values() {
                prop_assert!(messages.is_sorted_by_key(|(_, arrival)| *arrival), "{:?}", messages);
            }
            seen.push(pairs);
        }
        prop_assert_eq!(&seen[0], &seen[1]);
    }
}

/// Each replica has new draws, which do not depend on the number of threads.
#[test]
fn replicas_draw_anew() {
    let network = Network::parse("chic").unwrap();
    let latencies = vec![measured(None, (1..100).map(|us| (Time(us * 1_000_000), 100 - us)).collect())];
    let distributions = Distributions { latencies, ..Distributions::default() };
    let drawn = Drawn::new(&network, &distributions, 1).unwrap();
    let simulation = Simulation { latency: Some(&drawn), ..Simulation::new(&network) };
    let workload = Workload::Collective {
        collective: steps::collective(0, 500, 1, 0, 0),
        cycles: 1,
        compute: Time::ZERO,
    };
    let replicas = |threads| Replicas::new(simulation.clone(), threads).makespans(&workload, 0..6).unwrap();
    assert_eq!(replicas(1), replicas(3));
    let different: std::collections::BTreeSet<Time> = replicas(1).into_iter().collect();
    assert!(different.len() > 3, "{different:?}");
    let first = run(&simulation, &workload, 1).unwrap().outcome.makespan();
    assert_eq!(first, replicas(2)[0]);
}
