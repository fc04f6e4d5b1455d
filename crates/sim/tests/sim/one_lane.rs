//! Schedules with one CPU and one NIC on networks with times of a few picoseconds, where events often coincide. The
//! windowed engine's own path for them must agree with the reference engine.

use proptest::prelude::*;
use std::sync::Arc;
use straggler_model::philox::Stream;
use straggler_model::{Link, Network, PerByte, Time};
use straggler_noise::{Detours, Injection, Phases, Source, Waveform, Who};
use straggler_schedule::graph::{ANY, Graph, GraphBuilder, Operation, RankBuilder};
use straggler_sim::{Control, EngineChoice, Outcome, Simulation, Workload};

/// How operations depend on each other.
#[derive(Clone, Copy, Debug)]
pub enum Order {
    /// Each step has a few operations, which wait for all of the step before.
    Steps,
    /// Receives wait for nothing, other operations for one or two before them.
    Posted,
    /// All operations wait for a few before them, some only for their start.
    Any,
}

#[derive(Clone, Debug)]
pub struct Case {
    seed: u64,
    ranks: u32,
    messages: u32,
    order: Order,
    wildcards: bool,
    /// Messages of 9 bytes are a rendezvous.
    rendezvous: bool,
}

pub fn cases() -> impl Strategy<Value = Case> {
    let order = prop::sample::select(vec![Order::Steps, Order::Posted, Order::Any]);
    (any::<u64>(), 2u32..6, 1u32..60, order, any::<bool>(), any::<bool>()).prop_map(
        |(seed, ranks, messages, order, wildcards, rendezvous)| Case {
            seed,
            ranks,
            messages,
            order,
            wildcards,
            rendezvous,
        },
    )
}

/// Messages are added to both ends in one global order.
pub fn graph(case: &Case) -> Graph {
    let mut random = Stream::new(case.seed, 0, 0, 1);
    let mut ranks = vec![Rank::default(); case.ranks as usize];
    for _ in 0..case.messages {
        let from = random.below(u64::from(case.ranks)) as u32;
        let to = (from + 1 + random.below(u64::from(case.ranks) - 1) as u32) % case.ranks;
        let tag = random.below(2) as u32;
        let bytes = if case.rendezvous && random.below(4) == 0 { 9 } else { random.below(3) };
        let wild = |value: u32, random: &mut Stream| {
            if case.wildcards && random.below(4) == 0 { ANY } else { value }
        };
        ranks[from as usize].add(Operation::send(bytes, to, tag), case.order, &mut random);
        let (source, tag) = (wild(from, &mut random), wild(tag, &mut random));
        ranks[to as usize].add(Operation::recv(bytes, source, tag), case.order, &mut random);
        if random.below(4) == 0 {
            let calc = Operation::calc(Time(random.below(4)));
            ranks[from as usize].add(calc, case.order, &mut random);
        }
    }
    let mut graph = GraphBuilder::default();
    ranks.iter().for_each(|rank| graph.push_rank(&rank.builder));
    graph.finish()
}

/// A rank under construction.
#[derive(Clone, Default)]
struct Rank {
    builder: RankBuilder,
    /// The operations of the step before and of this one.
    before: Vec<u32>,
    step: Vec<u32>,
}

impl Rank {
    fn add(&mut self, operation: Operation, order: Order, random: &mut Stream) {
        let receives = operation.kind == straggler_schedule::OperationKind::Recv;
        let id = self.builder.push(operation);
        match order {
            Order::Steps => {
                if self.step.len() > random.below(4) as usize {
                    self.before = std::mem::take(&mut self.step);
                }
                self.before.iter().for_each(|&before| self.builder.requires(id, before));
                self.step.push(id);
            }
            Order::Posted if receives => {}
            Order::Posted | Order::Any => {
                for _ in 0..random.below(3).min(u64::from(id)) {
                    let before = id - 1 - random.below(u64::from(id.min(5))) as u32;
                    if matches!(order, Order::Any) && random.below(4) == 0 {
                        self.builder.irequires(id, before);
                    } else {
                        self.builder.requires(id, before);
                    }
                }
            }
        }
    }
}

pub fn networks() -> impl Strategy<Value = Network> {
    let rate = || prop::sample::select(vec![0u64, 1 << 31]);
    (1u64..5, prop_oneof![1 => Just(0u64), 4 => 1u64..4], 0u64..4, 0u64..4, rate(), rate()).prop_map(
        |(latency, send, recv, gap, gap_rate, overhead_rate)| {
            Network::uniform(
                "tiny",
                Link {
                    latency: Time(latency),
                    send_overhead: Time(send),
                    recv_overhead: Time(recv),
                    gap: Time(gap),
                    gap_per_byte: PerByte::from_bits(gap_rate),
                    overhead_per_byte: PerByte::from_bits(overhead_rate),
                    eager_limit: 8,
                    overlap_limit: u64::MAX,
                },
            )
        },
    )
}

/// Frequent detours of a few picoseconds.
pub fn noises() -> impl Strategy<Value = Option<Injection>> {
    prop::option::of(any::<u64>()).prop_map(|seed| {
        let mut random = Stream::new(seed?, 0, 0, 2);
        let mut at = 0;
        let mut detour = || {
            at += 1 + random.below(9);
            (Time(at), Time(random.below(4)))
        };
        let detours: Vec<(Time, Time)> = (0..20).map(|_| detour()).collect();
        let detours = Detours::new(&detours, Some(Time(at + 9))).ok()?;
        let waveform = Waveform::Trace(Arc::new(detours));
        Some(Injection {
            sources: vec![Source { name: String::new(), waveform, who: Who::Everyone }],
            phases: Phases::Drawn { seed: 1, replica: 0 },
            wallclock: false,
            computation_only: false,
        })
    })
}

fn run(simulation: &Simulation<'_>, graph: &Workload, engine: EngineChoice, threads: usize) -> Outcome {
    let simulation = Simulation { engine, ..simulation.clone() };
    let mut control = Control::new(threads);
    control.block_shift = (threads > 1).then_some(0);
    simulation.run(graph, &mut control).unwrap().outcome
}

proptest! {
    #[test]
    fn where_events_coincide(case in cases(), network in networks(), noise in noises()) {
        let graph = graph(&case).into();
        let simulation = Simulation { noise: noise.as_ref(), ..Simulation::new(&network) };
        let reference = run(&simulation, &graph, EngineChoice::Reference, 1);
        for threads in [1, 3] {
            let windowed = run(&simulation, &graph, EngineChoice::Windowed, threads);
            prop_assert_eq!(&windowed.finish, &reference.finish, "{} threads", threads);
            prop_assert_eq!(windowed.messages, reference.messages);
            prop_assert_eq!(&windowed.stuck, &reference.stuck);
        }
    }
}
