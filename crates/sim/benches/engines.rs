//! Speed of the engines, in messages per second. `cargo bench -p straggler-sim`; `--test` runs each once.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use std::sync::Arc;
use straggler_model::Topology;
use straggler_model::philox::Stream;
use straggler_model::{Network, Time};
use straggler_noise::{Detours, Injection, Phases, Source, Waveform, Who};
use straggler_schedule::collectives::allreduce::Dissemination;
use straggler_schedule::collectives::{Collective, Job};
use straggler_schedule::graph::{GraphBuilder, Operation, RankBuilder};
use straggler_schedule::{Cycles, Message as StepMessage, Step, Steps, script};
use straggler_sim::{Control, EngineChoice, Fabric, Placement, Simulation, Workload};

fn main() {
    divan::main();
}

fn network() -> Network {
    Network::parse("chic").expect("a preset")
}

/// A synthetic trace of 100,000 detours, one a millisecond on average, up to 10 µs long.
fn noise() -> Injection {
    let mut random = Stream::new(1, 0, 0, 0);
    let mut at = 0;
    let mut detour = || {
        at += random.below(2_000_000_000);
        let detour = (Time(at), Time(random.below(10_000_000)));
        at += 10_000_000;
        detour
    };
    let detours: Vec<_> = (0..100_000).map(|_| detour()).collect();
    let detours = Arc::new(Detours::new(&detours, None).expect("sorted"));
    Injection {
        sources: vec![Source {
            name: "synthetic".into(),
            waveform: Waveform::Trace(detours),
            who: Who::Everyone,
        }],
        phases: Phases::Drawn { seed: 1, replica: 0 },
        wallclock: false,
        computation_only: false,
    }
}

fn run_steps(
    steps: &Dissemination,
    noise: Option<&Injection>,
    threads: usize,
    cycles: u32,
    compute: Time,
) -> Time {
    let network = network();
    let simulation = Simulation { noise, ..Simulation::new(&network) };
    let mut control = Control::new(threads);
    let collective = Collective::Dissemination(*steps);
    let run = simulation.run(&Workload::Collective { collective, cycles, compute }, &mut control);
    run.expect("it finishes").outcome.makespan()
}

fn run_graph(workload: &Workload, engine: EngineChoice) -> Time {
    let network = network();
    let simulation = Simulation { engine, ..Simulation::new(&network) };
    let mut control = Control::new(1);
    simulation.run(workload, &mut control).expect("it finishes").outcome.makespan()
}

fn dissemination(processes: u32) -> Dissemination {
    Dissemination::new(&Job::new(processes, 1))
}

/// Every process exchanges a message with another in each of 20 steps, over the whole machine.
struct Scattered {
    processes: u32,
}

impl Scattered {
    /// An odd factor, which permutes the ranks, and its inverse.
    fn factors(&self, stage: u32) -> (u32, u32) {
        let factor = stage.wrapping_mul(2_654_435_761) | 1;
        let inverse = (0..5)
            .fold(factor, |inverse, _| inverse.wrapping_mul(2u32.wrapping_sub(factor.wrapping_mul(inverse))));
        (factor, inverse)
    }
}

impl Steps for Scattered {
    fn processes(&self) -> u32 {
        self.processes
    }
    fn stages(&self, _: u32) -> u32 {
        20
    }
    fn step(&self, rank: u32, stage: u32) -> Step {
        let (factor, inverse) = self.factors(stage);
        let message = |factor: u32| {
            let peer = rank.wrapping_mul(factor) & (self.processes - 1);
            StepMessage { peer, tag: stage, bytes: 1 }
        };
        Step::exchange(message(factor), message(inverse))
    }
    fn largest_message(&self) -> u64 {
        1
    }
}

/// Shared links: shifts and scattered exchanges over a fat tree, beside the same without it.
#[divan::bench(args = ["shifts", "shifts on a tree", "scattered", "scattered on a tree"], sample_count = 3, sample_size = 1)]
fn shared_links(bencher: Bencher, what: &str) {
    let (network, processes) = (network(), 1 << 16);
    let shape = format!("fat-tree:radix=256,levels=3,hosts={processes}");
    let topology = Topology::parse(&shape, &network.base).expect("a tree");
    let fabric = Fabric::new(topology, Placement::Cyclic, processes).expect("it fits");
    let workload = match what.starts_with("shifts") {
        true => Workload::Collective {
            collective: Collective::Dissemination(dissemination(processes)),
            cycles: 1,
            compute: Time::ZERO,
        },
        false => Workload::script(Cycles::once(Scattered { processes })),
    };
    let fabric = what.ends_with("tree").then_some(&fabric);
    bencher.counter(ItemsCount::new(workload.messages())).bench(|| {
        let simulation = Simulation { fabric, ..Simulation::new(&network) };
        simulation.run(&workload, &mut Control::new(1)).expect("it finishes").outcome.makespan()
    });
}

const SIZES: [u32; 4] = [1 << 10, 1 << 14, 1 << 17, 1 << 20];

#[divan::bench(args = SIZES, sample_count = 5, sample_size = 1)]
fn implicit_quiet(bencher: Bencher, processes: u32) {
    let steps = dissemination(processes);
    bencher
        .counter(ItemsCount::new(steps.messages()))
        .bench(|| run_steps(black_box(&steps), None, 1, 1, Time::ZERO));
}

#[divan::bench(args = SIZES, sample_count = 5, sample_size = 1)]
fn implicit_noisy(bencher: Bencher, processes: u32) {
    let (steps, noise) = (dissemination(processes), noise());
    bencher
        .counter(ItemsCount::new(steps.messages()))
        .bench(|| run_steps(black_box(&steps), Some(&noise), 1, 1, Time::ZERO));
}

#[divan::bench(args = [1 << 18, 1 << 20], sample_count = 5, sample_size = 1)]
fn implicit_two_threads(bencher: Bencher, processes: u32) {
    let steps = dissemination(processes);
    bencher
        .counter(ItemsCount::new(steps.messages()))
        .bench(|| run_steps(black_box(&steps), None, 2, 1, Time::ZERO));
}

/// Fifty barriers with 0, 1 or 100 ms of computation between them: thousands of windows are empty and cost
/// nothing.
#[divan::bench(args = [0, 1, 100], sample_count = 5, sample_size = 1)]
fn computation_between_collectives(bencher: Bencher, milliseconds: u64) {
    let steps = dissemination(4096);
    let compute = Time::from_ns(milliseconds * 1_000_000);
    bencher
        .counter(ItemsCount::new(steps.messages() * 50))
        .bench(|| run_steps(black_box(&steps), None, 1, 50, compute));
}

#[divan::bench(args = ["windowed", "reference"], sample_count = 3, sample_size = 1)]
fn materialised(bencher: Bencher, engine: &str) {
    let engine = if engine == "windowed" { EngineChoice::Windowed } else { EngineChoice::Reference };
    let steps = dissemination(1 << 14);
    let graph = script::materialise(&Cycles::once(steps));
    let graph = Workload::from(graph);
    bencher.counter(ItemsCount::new(graph.messages())).bench(|| run_graph(black_box(&graph), engine));
}

/// All ranks send to rank 0 at once, which receives in the opposite order: the worst case for queues.
#[divan::bench(args = [1 << 10, 1 << 14, 1 << 17], sample_count = 3, sample_size = 1)]
fn incast(bencher: Bencher, processes: u32) {
    let mut graph = GraphBuilder::default();
    let mut rank = RankBuilder::default();
    for from in (1..processes).rev() {
        rank.push(Operation::recv(1, from, 0));
    }
    graph.push_rank(&rank);
    rank.clear();
    rank.push(Operation::send(1, 0, 0));
    (1..processes).for_each(|_| graph.push_rank(&rank));
    let graph = Workload::from(graph.finish());
    bencher.counter(ItemsCount::new(graph.messages())).bench(|| run_graph(&graph, EngineChoice::Windowed));
}
