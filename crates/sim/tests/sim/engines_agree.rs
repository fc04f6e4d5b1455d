//! On random schedules the windowed engine gives the same results as the reference engine, on every
//! rank and any number of threads.

use crate::tests::schedules;
use proptest::prelude::*;
use straggler_model::{Network, Time};
use straggler_noise::Injection;
use straggler_schedule::{Cycles, Message, Step, Steps, script};
use straggler_sim::{Acknowledgement, Control, EngineChoice, Outcome, Simulation, Workload};

fn run(simulation: &Simulation<'_>, workload: &Workload, engine: EngineChoice, threads: usize) -> Outcome {
    let simulation = Simulation { engine, ..simulation.clone() };
    let mut control = Control::new(threads);
    if threads > 1 {
        // Blocks of one or two ranks, so that messages pass between threads.
        control.block_shift = Some(threads as u32 % 2);
    }
    simulation.run(workload, &mut control).unwrap().outcome
}

fn simulation<'a>(network: &'a Network, noise: &'a Option<Injection>, overlap: bool) -> Simulation<'a> {
    Simulation { noise: noise.as_ref(), receive_overlap: overlap, ..Simulation::new(network) }
}

proptest! {
    #[test]
    fn on_random_schedules(
        shape in schedules::shapes(),
        network in schedules::networks(),
        noise in schedules::noises(),
        overlap in any::<bool>(),
        fixed_ack in prop::option::of(1u64..10_000_000),
    ) {
        let graph = schedules::graph(&shape).into();
        let mut simulation = simulation(&network, &noise, overlap);
        if let Some(ack) = fixed_ack {
            simulation.acknowledgement = Acknowledgement::Fixed(Time(ack));
        }
        let reference = run(&simulation, &graph, EngineChoice::Reference, 1);
        for threads in [1, 2, 3, 7] {
            let windowed = run(&simulation, &graph, EngineChoice::Windowed, threads);
            prop_assert_eq!(&windowed.finish, &reference.finish, "{} threads", threads);
            prop_assert_eq!(windowed.messages, reference.messages);
            prop_assert_eq!(&windowed.stuck, &reference.stuck);
        }
    }
}

/// Steps of every kind in a fixed random mix, over enough ranks for several blocks and domains.
struct Mixed {
    processes: u32,
    stages: u32,
    bytes: u64,
    /// Whether some steps do not wait.
    overlaps: bool,
}

impl Steps for Mixed {
    fn processes(&self) -> u32 {
        self.processes
    }
    fn stages(&self, _: u32) -> u32 {
        self.stages
    }
    fn step(&self, rank: u32, stage: u32) -> Step {
        let distance = (stage * 977 + 1) % self.processes;
        if distance == 0 || stage % 3 == 2 {
            return self.perhaps_go(
                rank,
                stage,
                Step::calc(Time(u64::from((rank * 7 + stage) % 5) * 800_000)),
            );
        }
        let message = |peer| Message { peer, tag: stage, bytes: self.bytes };
        let (to, from) =
            ((rank + distance) % self.processes, (rank + self.processes - distance) % self.processes);
        self.perhaps_go(rank, stage, Step::exchange(message(to), message(from)))
    }
    fn largest_message(&self) -> u64 {
        self.bytes
    }
    fn overlaps(&self) -> bool {
        self.overlaps
    }
}

impl Mixed {
    /// Some steps are followed by a computation, some by the next step at once.
    fn perhaps_go(&self, rank: u32, stage: u32, step: Step) -> Step {
        match (rank ^ (stage * 5)) % 4 {
            0 => step.after(Time(300_000)),
            1 | 2 if self.overlaps && stage + 1 < self.stages => step.go(),
            _ => step,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2, ..ProptestConfig::default() })]

    /// Enough ranks for several blocks: messages pass from domain to domain.
    #[test]
    fn on_many_blocks(
        processes in 4_000u32..12_000,
        stages in 1u32..9,
        bytes in prop::sample::select(vec![1u64, 4096, 100_000]),
        network in schedules::networks(),
        noise in schedules::noises(),
        overlap in any::<bool>(),
        overlaps in any::<bool>(),
    ) {
        let steps = Mixed { processes, stages, bytes, overlaps };
        let script = Cycles::new(steps, 2, Time(1_000_000));
        let simulation = simulation(&network, &noise, overlap);
        let graph = script::materialise(&script).into();
        let script = Workload::script(script);
        let reference = run(&simulation, &graph, EngineChoice::Reference, 1);
        for threads in [1, 2, 3, 7] {
            let mut control = Control::new(threads);
            let windowed = Simulation { engine: EngineChoice::Windowed, ..simulation.clone() };
            let implicit = windowed.run(&script, &mut control).unwrap();
            prop_assert_eq!(&implicit.outcome.finish, &reference.finish);
            prop_assert_eq!(&implicit.outcome.stuck, &reference.stuck);
        }
    }
}
