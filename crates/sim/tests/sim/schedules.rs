//! Random schedules, networks and noise for the property tests.
#![allow(dead_code)]

use proptest::prelude::*;
use std::sync::Arc;
use straggler_model::network::{Grouping, Level};
use straggler_model::philox::Stream;
use straggler_model::{Link, Network, PerByte, Time};
use straggler_noise::{Detours, Injection, Phases, Source, Waveform, Who};
use straggler_schedule::graph::{ANY, Graph, GraphBuilder, Operation, RankBuilder};

/// The parameters of a random schedule. Everything else follows from `seed`.
#[derive(Clone, Debug)]
pub struct Shape {
    pub seed: u64,
    pub ranks: u32,
    pub operations: u32,
    pub cpus: u8,
    pub nics: u8,
    pub wildcards: bool,
    pub largest: u64,
    /// Draw times and sizes from few values, so that ties are common.
    pub coarse: bool,
    /// Most messages go to rank 0, which cannot keep up.
    pub incast: bool,
}

pub fn shapes() -> impl Strategy<Value = Shape> {
    let size = (1u32..9, prop_oneof![3 => 1u32..120, 1 => 200u32..600]);
    let largest = prop::sample::select(vec![1u64, 5000, 200_000]);
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    (any::<u64>(), size, 1u8..3, 1u8..3, largest, flags).prop_map(
        |(seed, (ranks, operations), cpus, nics, largest, (wildcards, coarse, incast))| Shape {
            seed,
            ranks,
            operations,
            cpus,
            nics,
            wildcards,
            largest,
            coarse,
            incast,
        },
    )
}

/// Makes a schedule that finishes unless rendezvous or wildcards make it get stuck: messages are added
/// to both ends in one global order, with dependencies on a few earlier operations of the rank.
pub fn graph(shape: &Shape) -> Graph {
    let mut random = Stream::new(shape.seed, 0, 0, 1);
    let mut ranks = vec![RankBuilder::default(); shape.ranks as usize];
    for _ in 0..shape.operations {
        let lane = |operation: Operation, random: &mut Stream| Operation {
            cpu: random.below(u64::from(shape.cpus)) as u8,
            nic: random.below(u64::from(shape.nics)) as u8,
            ..operation
        };
        if random.below(3) == 0 || shape.ranks == 1 {
            let rank = random.below(u64::from(shape.ranks)) as usize;
            let length = if shape.coarse { 1000 * random.below(3) } else { random.below(20_000_000) };
            let calc = lane(Operation::calc(Time(length)), &mut random);
            add(&mut ranks[rank], calc, &mut random);
            continue;
        }
        let from = random.below(u64::from(shape.ranks)) as u32;
        let mut to = (from + 1 + random.below(u64::from(shape.ranks - 1)) as u32) % shape.ranks;
        if shape.incast && from != 0 && random.below(8) > 0 {
            to = 0;
        }
        let tag = random.below(3) as u32;
        let bytes = if shape.coarse {
            [0, 1, shape.largest][random.below(3) as usize]
        } else {
            random.below(shape.largest + 1)
        };
        let send = lane(Operation::send(bytes, to, tag), &mut random);
        add(&mut ranks[from as usize], send, &mut random);
        let wild = |value: u32, random: &mut Stream| {
            if shape.wildcards && random.below(3) == 0 { ANY } else { value }
        };
        let (source, tag) = (wild(from, &mut random), wild(tag, &mut random));
        let recv = lane(Operation::recv(bytes, source, tag), &mut random);
        add(&mut ranks[to as usize], recv, &mut random);
    }
    let mut graph = GraphBuilder::default();
    ranks.iter().for_each(|rank| graph.push_rank(rank));
    graph.finish()
}

fn add(rank: &mut RankBuilder, operation: Operation, random: &mut Stream) {
    let id = rank.push(operation);
    for _ in 0..random.below(3) {
        let reach = u64::from(id.min(4));
        if reach == 0 {
            break;
        }
        let before = id - 1 - random.below(reach) as u32;
        if random.below(4) == 0 { rank.irequires(id, before) } else { rank.requires(id, before) }
    }
}

pub fn link() -> impl Strategy<Value = Link> {
    let time = || prop::sample::select(vec![0u64, 1, 7, 1000, 1_500_000, 5_330_000]);
    (
        1u64..6_000_000,
        time(),
        time(),
        time(),
        0u64..3_000,
        0u64..3_000,
        prop::sample::select(vec![0u64, 100, 65_535]),
        prop::sample::select(vec![u64::MAX, u64::MAX, 0, 100]),
    )
        .prop_map(|(latency, send, recv, gap, rate, overhead, eager_limit, overlap_limit)| Link {
            latency: Time(latency),
            send_overhead: Time(send),
            recv_overhead: Time(recv),
            gap: Time(gap),
            gap_per_byte: PerByte::from_bits(rate << 29),
            overhead_per_byte: PerByte::from_bits(overhead << 28),
            eager_limit,
            overlap_limit,
        })
}

pub fn networks() -> impl Strategy<Value = Network> {
    (link(), prop::option::of((link(), 1u32..4))).prop_map(|(base, inner)| {
        let mut network = Network::uniform("random", base);
        network.levels = inner
            .map(|(link, size)| Level { name: "node".into(), grouping: Grouping::Consecutive(size), link })
            .into_iter()
            .collect();
        network
    })
}

pub fn noises() -> impl Strategy<Value = Option<Injection>> {
    let trace = (any::<u64>(), 1u64..40, prop::sample::select(vec![10_000u64, 3_000_000, 80_000_000]));
    prop::option::of((prop::collection::vec(trace, 1..3), any::<u64>(), any::<bool>(), any::<bool>()))
        .prop_map(|noise| {
            noise.map(|(traces, seed, together, wallclock)| {
                let source = |(seed, count, spacing): (u64, u64, u64)| {
                    let mut random = Stream::new(seed, 0, 0, 2);
                    let mut at = 0;
                    let detours: Vec<(Time, Time)> = (0..count)
                        .map(|_| {
                            at += 1 + random.below(spacing);
                            let duration = random.below(spacing / 4);
                            (Time(at), Time(duration))
                        })
                        .collect();
                    let detours = Detours::new(&detours, Some(Time(at + spacing))).unwrap();
                    Source {
                        name: String::new(),
                        waveform: Waveform::Trace(Arc::new(detours)),
                        who: Who::Everyone,
                    }
                };
                let mut sources: Vec<Source> = traces.into_iter().map(source).collect();
                let once = Waveform::Once { at: Time(2_000_000), duration: Time(9_000_000) };
                sources.push(Source { name: String::new(), waveform: once, who: Who::Ranks(0, 0) });
                let phases = if together {
                    Phases::Together { seed, replica: 0 }
                } else {
                    Phases::Drawn { seed, replica: 0 }
                };
                Injection { sources, phases, wallclock, computation_only: false }
            })
        })
}
