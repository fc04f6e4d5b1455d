//! Shared links, by other means: closed forms, and a solver that knows no events.
//!
//! The solver begins with segments that never wait. It serves every port once more with the segments sorted by when they
//! reach it, and repeats that until no time changes: then all times are those of the rules, since a segment's time depends
//! only on earlier ones.

use crate::tests::steps;
use crate::tests::topologies::topologies;
use proptest::prelude::*;
use std::collections::BTreeMap;
use straggler_model::philox::Stream;
use straggler_model::topology::{
    Costs, Dragonfly, Edge, Graph, Routers, Routing, SegmentRule, Size, Topology, Torus, Tree, Wiring,
};
use straggler_model::{Network, PerByte, Time};
use straggler_schedule::graph::{GraphBuilder, Operation, RankBuilder};
use straggler_sim::{Control, EngineChoice, Fabric, Outcome, Placement, Simulation, Workload};

/// A message of `bytes` bytes that `from` sends to `to`.
#[derive(Clone, Copy, Debug)]
struct Sent {
    from: u32,
    to: u32,
    bytes: u64,
    number: u32,
    /// When it reaches its first port.
    enters: u64,
}

/// One segment and its way: when its head and its tail reach each port, and the receiver in the end.
struct Journey {
    sent: Sent,
    segment: u32,
    bytes: u64,
    of: u32,
    ports: Vec<u32>,
    heads: Vec<u64>,
    tails: Vec<u64>,
}

/// When a port with this G has passed some bytes, in whole picoseconds.
fn work(gap: PerByte, bytes: u64, of: u32) -> u64 {
    let exact = u128::from(bytes.max(1) - 1) * u128::from(gap.bits());
    let rounded = if of == 1 { exact + (1 << 31) } else { exact };
    (rounded >> 32) as u64
}

fn cut(rule: SegmentRule, bytes: u64) -> Vec<u64> {
    let length = match rule {
        SegmentRule::Auto => (64 << 10).max(bytes.div_ceil(16)),
        SegmentRule::Whole => bytes.max(1),
        SegmentRule::Bytes(length) => length,
    };
    let mut rest = bytes;
    let mut segments = Vec::new();
    while rest > length {
        segments.push(length);
        rest -= length;
    }
    segments.push(rest);
    segments
}

/// Finds when all segments arrive.
fn solve(fabric: &Fabric, messages: &[Sent]) -> Vec<Journey> {
    let topology = &fabric.topology;
    let mut journeys = Vec::new();
    for &sent in messages {
        let ports = topology.route(fabric.host(sent.from), fabric.host(sent.to));
        let segments = cut(topology.segment, sent.bytes);
        for (segment, &bytes) in (0..).zip(&segments) {
            let (heads, tails) = (vec![sent.enters; ports.len() + 1], vec![0; ports.len() + 1]);
            let of = segments.len() as u32;
            journeys.push(Journey { sent, segment, bytes, of, ports: ports.clone(), heads, tails });
        }
    }
    let mut visits: BTreeMap<u32, Vec<(usize, usize)>> = BTreeMap::new();
    for (number, journey) in journeys.iter().enumerate() {
        journey
            .ports
            .iter()
            .enumerate()
            .for_each(|(hop, &port)| visits.entry(port).or_default().push((number, hop)));
    }
    loop {
        let mut changed = false;
        for (&port, visitors) in &mut visits {
            let costs = topology.costs(port);
            visitors.sort_by_key(|&(number, hop)| {
                let Journey { sent, segment, heads, .. } = &journeys[number];
                let tie = fabric.tie(port, sent.from, Time(heads[hop]));
                (heads[hop], tie, sent.from, sent.number, *segment)
            });
            let mut free = 0;
            for &(number, hop) in visitors.iter() {
                let journey = &mut journeys[number];
                let start = free.max(journey.heads[hop]);
                free = start + work(costs.gap_per_byte, journey.bytes, journey.of);
                let head = start + costs.latency.ps();
                let tail = free.max(journey.tails[hop]) + costs.latency.ps();
                changed |= (head, tail) != (journey.heads[hop + 1], journey.tails[hop + 1]);
                (journey.heads[hop + 1], journey.tails[hop + 1]) = (head, tail);
            }
        }
        if !changed {
            return journeys;
        }
    }
}

/// When each receiver has received everything, if it only receives: messages run in the order of their first segments.
fn receive(fabric: &Fabric, network: &Network, journeys: &[Journey], ranks: u32) -> Vec<u64> {
    let (mut finish, mut free, mut nic) =
        (vec![0; ranks as usize], vec![0; ranks as usize], vec![0; ranks as usize]);
    let last = |journey: &Journey| (*journey.heads.last().unwrap(), *journey.tails.last().unwrap());
    let mut heads: Vec<&Journey> = journeys.iter().filter(|journey| journey.segment == 0).collect();
    heads.sort_by_key(|journey| (last(journey).0, journey.sent.from, journey.sent.number));
    let (o, g) = (network.base.recv_overhead.ps(), network.base.gap.ps());
    for journey in heads {
        let to = journey.sent.to as usize;
        let gap = fabric.topology.costs(*journey.ports.last().unwrap()).gap_per_byte;
        let whole = work(gap, journey.sent.bytes, 1);
        let t = last(journey).0.max(free[to]).max(nic[to]);
        (free[to], nic[to]) = (t + o + whole, t + g + whole);
        finish[to] = free[to].max(finish[to]);
    }
    for journey in journeys {
        let to = journey.sent.to as usize;
        finish[to] = finish[to].max(last(journey).1 + o);
    }
    finish
}

/// Ranks in the first half send to those in the second half, after computations of random length.
fn senders(
    seed: u64,
    pairs: u32,
    each: u32,
    network: &Network,
    fabric: &Fabric,
    sizes: &[u64],
) -> (Workload, Vec<Sent>) {
    let mut random = Stream::new(seed, 0, 0, 7);
    let mut ranks = vec![RankBuilder::default(); 2 * pairs as usize];
    let mut sent = Vec::new();
    let link = &network.base;
    for from in 0..pairs {
        let (mut cpu, mut nic) = (0, 0);
        let mut before = None;
        for number in 0..each {
            let length = random.below(4) * 1_000;
            let to = pairs + random.below(pairs.into()) as u32;
            let bytes = sizes[random.below(sizes.len() as u64) as usize];
            let builder = &mut ranks[from as usize];
            let calc = builder.push(Operation::calc(Time(length)));
            before.into_iter().for_each(|before| builder.requires(calc, before));
            let send = builder.push(Operation::send(bytes, to, number));
            builder.requires(send, calc);
            before = Some(send);
            ranks[to as usize].push(Operation::recv(bytes, from, number));
            let route = fabric.topology.route(fabric.host(from), fabric.host(to));
            let gap = fabric.topology.costs(route[0]).gap_per_byte;
            let t = (cpu + length).max(nic);
            let enters = t + link.send_overhead.ps();
            cpu = enters + work(link.overhead_per_byte, bytes, 1);
            nic = t + link.gap.ps() + work(gap, bytes, 1);
            sent.push(Sent { from, to, bytes, number, enters });
        }
    }
    let mut graph = GraphBuilder::default();
    ranks.iter().for_each(|rank| graph.push_rank(rank));
    (graph.finish().into(), sent)
}

fn run(network: &Network, fabric: &Fabric, workload: &Workload, engine: EngineChoice) -> Outcome {
    let simulation = Simulation { engine, fabric: Some(fabric), ..Simulation::new(network) };
    simulation.run(workload, &mut Control::new(1)).unwrap().outcome
}

proptest! {
    #[test]
    fn the_solver_finds_the_same_times(
        topology in topologies(),
        (seed, pairs, each) in (any::<u64>(), 1u32..7, 1u32..5),
        (o, g) in (0u64..3, 0u64..3),
        sizes in prop::collection::vec(prop::sample::select(vec![0u64, 1, 2, 900, 5_000, 200_000]), 1..4),
    ) {
        prop_assume!(topology.hosts() >= 2 * pairs);
        let network = Network::parse(&format!("L=1us,o={o}ns,g={g}ns,G=1ps,S=unlimited")).unwrap();
        let fabric = Fabric::new(topology, Placement::Cyclic, 2 * pairs).unwrap();
        let (workload, sent) = senders(seed, pairs, each, &network, &fabric, &sizes);
        let journeys = solve(&fabric, &sent);
        let expected = receive(&fabric, &network, &journeys, 2 * pairs);
        for engine in [EngineChoice::Reference, EngineChoice::Windowed] {
            let outcome = run(&network, &fabric, &workload, engine);
            let received: Vec<u64> = outcome.finish[pairs as usize..].iter().map(|time| time.ps()).collect();
            prop_assert_eq!(&received, &expected[pairs as usize..]);
        }
    }
}

/// Prints how many messages per second a dissemination and random exchanges take, without and with a topology.
/// SHARED_LINKS=20,1 runs 2^20 hosts, with a topology only if the second number is 1.
#[test]
#[ignore = "a measurement"]
fn speed_of_shared_links() {
    let wanted = std::env::var("SHARED_LINKS").unwrap_or_else(|_| "16".into());
    let (exponent, only) =
        wanted.split_once(',').map_or((wanted.as_str(), None), |(one, two)| (one, Some(two)));
    let processes = 1u32 << exponent.parse::<u32>().unwrap();
    let network = Network::parse("L=4770ns,o=2870ns,g=2040ns,G=2.67ns,O=0ns,S=65000").unwrap();
    let shape = format!("fat-tree:radix=256,levels=3,hosts={processes}");
    let topology = Topology::parse(&shape, &network.base).unwrap();
    let fabric = Fabric::new(topology, Placement::Cyclic, processes).unwrap();
    let collective = steps::collective(0, processes, 1, 0, 0);
    let workload = Workload::Collective { collective, cycles: 1, compute: Time::ZERO };
    for fabric in [None, Some(&fabric)]
        .into_iter()
        .filter(|fabric| only.is_none_or(|only| (only == "1") == fabric.is_some()))
    {
        let simulation = Simulation { fabric, ..Simulation::new(&network) };
        let clock = std::time::Instant::now();
        let outcome = simulation.run(&workload, &mut Control::new(1)).unwrap().outcome;
        let (seconds, messages) = (clock.elapsed().as_secs_f64(), outcome.messages);
        let rate = messages as f64 / seconds / 1e6;
        println!(
            "topology {}: {messages} messages, {seconds:.3} s, {rate:.2} M/s, {} windows",
            fabric.is_some(),
            outcome.windows
        );
    }
}

const H: u64 = 1_000_000;
const K: u64 = 1 << 20;

fn network(g: &str) -> Network {
    Network::parse(&format!("L=2us,o=0,g=0,G={g},S=unlimited")).unwrap()
}

fn tree(size: Size, routing: Routing, segment: SegmentRule) -> Fabric {
    let kinds = [Costs::new(PerByte::from_ps(1), Time(H)); 3];
    let mut topology = Topology::from_tree("tree", Tree::new(size, routing, kinds).unwrap());
    topology.segment = segment;
    Fabric::new(topology, Placement::Cyclic, size.hosts).unwrap()
}

/// Sends of `K` bytes from each rank to a rank, and the receives.
fn sends(ranks: u32, to: impl Fn(u32) -> Option<u32>) -> Workload {
    let mut builders = vec![RankBuilder::default(); ranks as usize];
    for from in 0..ranks {
        if let Some(to) = to(from) {
            builders[from as usize].push(Operation::send(K, to, 0));
            builders[to as usize].push(Operation::recv(K, from, 0));
        }
    }
    let mut graph = GraphBuilder::default();
    builders.iter().for_each(|rank| graph.push_rank(rank));
    graph.finish().into()
}

fn makespan(fabric: &Fabric, workload: &Workload) -> u64 {
    let times = [EngineChoice::Reference, EngineChoice::Windowed]
        .map(|engine| run(&network("1ps"), fabric, workload, engine).makespan().ps());
    assert_eq!(times[0], times[1]);
    times[0]
}

/// The port to the receiver passes n messages of (k-1)·G one after the other: n·(k-1)·G and two latencies.
#[test]
fn incast() {
    for (n, segment, golden) in [
        (1, SegmentRule::Whole, 2 * H + (K - 1)),
        (8, SegmentRule::Whole, 2 * H + 8 * (K - 1)),
        (32, SegmentRule::Whole, 2 * H + 32 * (K - 1)),
        // The receiver's CPU takes (k-1)·G for each message, as in LogGOPS, so 15 bytes less at the port do not show.
        (8, SegmentRule::Auto, 2 * H + 8 * (K - 1)),
    ] {
        let size = Size { hosts: n + 1, levels: 1, hosts_per_leaf: n + 1, leaves_per_pod: 1, up: [1, 1] };
        let fabric = tree(size, Routing::Hash, segment);
        assert_eq!(
            makespan(&fabric, &sends(n + 1, |from| (from > 0).then_some(0))),
            golden,
            "{n} {segment:?}"
        );
    }
}

/// Four hosts of one leaf send to four of another over two links up, which act as one with G/2: of a segment of w its work
/// is w/2. Whole messages: the last starts when three have passed, 3·(k-1)/2 after the first, and its last byte leaves the
/// port to its host (k-1) later. In 16 segments of 65,535 and a half of that, rounded down: 63 others pass before the last.
#[test]
fn permutation_over_half_the_bandwidth() {
    let size = Size { hosts: 8, levels: 2, hosts_per_leaf: 4, leaves_per_pod: 1, up: [2, 1] };
    let to = |from: u32| (from < 4).then_some(from + 4);
    let whole = makespan(&tree(size, Routing::Pooled, SegmentRule::Whole), &sends(8, to));
    // (k-1)/2 is rounded up to 524,288.
    assert_eq!(whole, 4 * H + 3 * 524_288 + (K - 1));
    let segments = makespan(&tree(size, Routing::Pooled, SegmentRule::Auto), &sends(8, to));
    assert_eq!(segments, 4 * H + 63 * 32_767 + 65_535);
    // Twice the wire time, but for a segment.
    let ratio = (segments - 4 * H) as f64 / (K - 1) as f64;
    assert!((ratio - 2.0).abs() < 0.05, "{ratio}");
    // With a link for each host nothing waits: the wire time.
    let full = Size { up: [4, 1], ..size };
    let alone =
        makespan(&tree(full, Routing::Pooled, SegmentRule::Auto), &sends(8, |from| (from == 0).then_some(4)));
    assert_eq!(alone, 4 * H + (K - 1));
}

/// Every step of a ring over hosts in a circle uses a link of its own: LogGOPS with the latency of a link.
#[test]
fn ring_steps_between_neighbours() {
    let hosts = 12;
    let network = network("40ps");
    let costs = Costs::new(PerByte::from_ps(40), network.base.latency);
    let edges: Vec<Edge> = (0..hosts).map(|host| Edge { ends: [host, (host + 1) % hosts], costs }).collect();
    let names = (0..hosts).map(|host| format!("h{host}")).collect();
    let topology = Topology::from_graph("circle", Graph::new(names, hosts, &edges, false).unwrap());
    let fabric = Fabric::new(topology, Placement::Cyclic, hosts).unwrap();
    for bytes in [1, 4_000, 40_000_000] {
        let which = steps::COLLECTIVES.iter().position(|&(_, name)| name == "ring").unwrap();
        let collective = steps::collective(which, hosts, bytes, 0, 0);
        let workload = Workload::Collective { collective, cycles: 1, compute: Time::ZERO };
        let shared = run(&network, &fabric, &workload, EngineChoice::Auto);
        let alone = Simulation::new(&network).run(&workload, &mut Control::new(1)).unwrap().outcome;
        assert_eq!(shared.finish, alone.finish, "{bytes} bytes");
    }
}

/// A torus or mesh whose links all take `H` and a picosecond per byte.
fn torus(sizes: &[u32], wraps: bool, segment: SegmentRule) -> Fabric {
    let kinds = [Costs::new(PerByte::from_ps(1), Time(H)); 3];
    let wiring = Wiring::Torus(Torus::new(sizes, wraps).unwrap());
    let mut topology = Topology::from_routers("torus", Routers::new(wiring, 1, kinds).unwrap());
    topology.segment = segment;
    let hosts = topology.hosts();
    Fabric::new(topology, Placement::Cyclic, hosts).unwrap()
}

/// All hosts of a torus send d hops ahead in one dimension. Every link has a message of its own first, of w = k-1, and then
/// those from 1, 2, … d-1 hops behind, which come a latency later and find it busy (w > H): the d-th starts (d-1)·w after
/// the first. Beside that there are the latencies of the host's links and of the last link between routers.
#[test]
fn shifts_on_a_torus() {
    let sizes = [7, 8, 9];
    let fabric = torus(&sizes, true, SegmentRule::Whole);
    let hosts = sizes.iter().product();
    for (dimension, ahead) in [(0, 1), (0, 3), (1, 2), (1, 3), (2, 4)] {
        let stride: u32 = sizes[..dimension].iter().product();
        let to = |from: u32| {
            let at = from / stride % sizes[dimension];
            Some(from - at * stride + (at + ahead) % sizes[dimension] * stride)
        };
        let expected = 3 * H + u64::from(ahead) * (K - 1);
        assert_eq!(makespan(&fabric, &sends(hosts, to)), expected, "{ahead} ahead in dimension {dimension}");
    }
}

/// In a mesh of 2·m in a line, each of the m on the left sends to the one m to the right: all pass the link in the middle,
/// the nearest first, one after the other without a gap. It begins after the latency of a host's link; the last message
/// comes from the farthest host and goes to the nearest one beyond the middle, over two more links.
#[test]
fn the_middle_of_a_mesh() {
    for m in [1, 2, 5] {
        let fabric = torus(&[2 * m], false, SegmentRule::Whole);
        let to = |from: u32| (from < m).then_some(from + m);
        assert_eq!(makespan(&fabric, &sends(2 * m, to)), 3 * H + u64::from(m) * (K - 1), "{m}");
    }
}

/// An all-to-all on 8×8×8: a line of 8 has 8·7 pairs, of which 8·6 go the shorter way, 1 to 3 hops, and 8 go 4 hops either
/// way. A link carries those of one direction (1 + 2 + 3 pairs), each with any of 64 routers across the other dimensions,
/// and some of the 8·4 hops of the pairs that go either way, on 16 links.
#[test]
fn loads_of_an_all_to_all_on_a_torus() {
    let mut fabric = torus(&[8, 8, 8], true, SegmentRule::Whole);
    fabric.measured = true;
    let hosts = fabric.topology.hosts();
    let which = steps::COLLECTIVES.iter().position(|&(_, name)| name == "pairwise").unwrap();
    let collective = steps::collective(which, hosts, 2_000, 0, 0);
    let workload = Workload::Collective { collective, cycles: 1, compute: Time::ZERO };
    let outcome = run(&network("1ps"), &fabric, &workload, EngineChoice::Windowed);
    let loads: Vec<_> = outcome.loads.iter().flat_map(|(first, loads)| (*first..).zip(loads)).collect();
    let between: Vec<_> = loads.iter().filter(|(port, _)| fabric.topology.kind_of(*port) == 1).collect();
    assert_eq!(between.len(), 3 * 2 * 512);
    // Two hops in each dimension on average.
    let hops: u64 = between.iter().map(|(_, load)| load.messages).sum();
    assert_eq!(hops, 512 * 512 * 3 * 2);
    for (port, load) in &between {
        assert!((6 * 64..=(6 + 4) * 64).contains(&load.messages), "port {port}: {}", load.messages);
    }
    let least = between.iter().map(|(_, load)| load.busy).max().unwrap();
    assert!(outcome.makespan() > least, "{} {least}", outcome.makespan());
    for (port, load) in loads.iter().filter(|(port, _)| fabric.topology.kind_of(*port) != 1) {
        assert_eq!(load.messages, 511, "port {port}");
    }
}

/// The a hosts of one group of a dragonfly send to those of the next, over the only link between the two groups. The host
/// at that link is first there, and the others follow without a gap: a·w after the latency of a host's link. The last one
/// goes on over a link of its group and that of its host. By a third group, some messages avoid that link.
#[test]
fn from_group_to_group() {
    for a in [2, 4] {
        let sends = sends(a * (a * a / 2 + 1), |from| (from < a).then_some(from + a));
        let times = [false, true].map(|valiant| {
            let wiring = Wiring::Dragonfly(Dragonfly::new(a * a / 2 + 1, a, a / 2, valiant).unwrap());
            let kinds = [Costs::new(PerByte::from_ps(1), Time(H)); 3];
            let mut topology = Topology::from_routers("dragonfly", Routers::new(wiring, 1, kinds).unwrap());
            (topology.seed, topology.segment) = (1, SegmentRule::Whole);
            let hosts = topology.hosts();
            makespan(&Fabric::new(topology, Placement::Cyclic, hosts).unwrap(), &sends)
        });
        assert_eq!(times[0], 4 * H + u64::from(a) * (K - 1), "{a}");
        assert!(a == 2 || times[1] < times[0], "{a}: {times:?}");
    }
}
