//! Each implicit collective equals its materialised schedule, rank by rank.

use std::sync::Arc;
use straggler_model::network::PerByte;
use straggler_model::{Network, Time};
use straggler_noise::{Detours, Injection, Phases, Source, Waveform, Who};
use straggler_schedule::collectives::{Algorithm, Choice, Collective, Job, Name, Operation};
use straggler_schedule::{Cycles, Graph, Steps, script};
use straggler_sim::{Control, EngineChoice, Outcome, Simulation, Workload};

fn network() -> Network {
    Network::parse("L=5.33us,o=0.77us,g=1.56us,G=1.25ns,O=0.1ns,S=300").unwrap()
}

fn noise() -> Injection {
    let detours: Vec<(Time, Time)> =
        (0..40u64).map(|i| (Time(i * i * 1_700_000), Time(i % 7 * 900_000))).collect();
    let detours = Detours::new(&detours, Some(Time(3_000_000_000))).unwrap();
    Injection {
        sources: vec![Source {
            name: "test".into(),
            waveform: Waveform::Trace(Arc::new(detours)),
            who: Who::Everyone,
        }],
        phases: Phases::Drawn { seed: 7, replica: 0 },
        wallclock: false,
        computation_only: false,
    }
}

/// Pipelines of several segments, each above the eager limit.
fn pipelines() -> impl Iterator<Item = (Operation, Algorithm)> {
    [Operation::Bcast, Operation::Reduce].into_iter().flat_map(|operation| {
        let texts = ["binary,segment=310", "chain,segment=310", "double-tree,segment=310"];
        texts.map(|text| (operation, Algorithm::parse(operation, text).unwrap()))
    })
}

/// Every algorithm with its default parameters. The two-level one needs the ranks per node.
fn all() -> impl Iterator<Item = (Operation, Algorithm)> {
    Operation::ALL.into_iter().flat_map(|operation| {
        operation.algorithms().iter().map(move |&name| {
            let mut algorithm = Algorithm::from(name);
            algorithm.levels.per_node = (name == Name::TwoLevel).then_some(6);
            (operation, algorithm)
        })
    })
}

struct Setting<'a> {
    simulation: Simulation<'a>,
    cycles: u32,
    compute: Time,
}

impl Setting<'_> {
    fn explicit(&self, graph: Graph, engine: EngineChoice) -> Outcome {
        let simulation = Simulation { engine, ..self.simulation.clone() };
        simulation.run(&graph.into(), &mut Control::new(1)).unwrap().outcome
    }

    fn repeat(&self, collective: &Collective) -> Cycles<Collective> {
        Cycles::new(collective.clone(), self.cycles, self.compute)
    }

    fn implicit(&self, collective: &Collective, threads: usize) -> Outcome {
        let mut control = Control::new(threads);
        // The engine compiled for the algorithm, which is what the command line runs …
        let (collective, cycles, compute) = (collective.clone(), self.cycles, self.compute);
        let general = Workload::script(self.repeat(&collective));
        let workload = Workload::Collective { collective, cycles, compute };
        let fast = self.simulation.run(&workload, &mut control).unwrap();
        if workload.processes() <= 16 {
            // … and the one that dispatches the algorithm at every step.
            let general = self.simulation.run(&general, &mut control);
            assert_eq!(general.unwrap().outcome.finish, fast.outcome.finish);
        }
        fast.outcome
    }

    fn check(&self, operation: Operation, algorithm: &Algorithm, job: &Job, threads: usize) {
        let processes = job.processes;
        let collective = algorithm.build(operation, job).unwrap();
        let graph = script::materialise(&self.repeat(&collective));
        let engine = if processes > 1000 { EngineChoice::Windowed } else { EngineChoice::Reference };
        let explicit = self.explicit(graph, engine);
        let implicit = self.implicit(&collective, threads);
        assert_eq!(explicit.stuck, None, "{operation}:{algorithm} {job:?}");
        assert_eq!(implicit.finish, explicit.finish, "{operation}:{algorithm} {job:?}");
        assert_eq!(implicit.messages, collective.messages() * u64::from(self.cycles));
        assert_eq!(implicit.stuck, None);
    }
}

#[test]
fn equals_materialised_for_every_small_number_of_processes() {
    let (network, noise) = (network(), noise());
    let reduction = PerByte::from_ps(900);
    for (noise, cycles, compute) in [(None, 1, Time::ZERO), (Some(&noise), 3, Time(2_500_000))] {
        let setting =
            Setting { simulation: Simulation { noise, ..Simulation::new(&network) }, cycles, compute };
        for (operation, algorithm) in all().chain(pipelines()) {
            for processes in (1..=18).chain([31, 32, 33, 48, 64, 65, 70]) {
                // Eager and, beyond 300 bytes, rendezvous.
                for bytes in [1, 1240] {
                    let job = Job { root: processes / 2, reduction, ..Job::new(processes, bytes) };
                    setting.check(operation, &algorithm, &job, 1);
                }
            }
        }
    }
}

/// With a radix above two a round has several partners at once.
#[test]
fn rounds_of_several_partners_equal_materialised_ones() {
    let (network, noise) = (network(), noise());
    let simulation = Simulation { noise: Some(&noise), ..Simulation::new(&network) };
    let setting = Setting { simulation, cycles: 3, compute: Time(2_500_000) };
    let choices = ["allreduce:dissemination", "barrier:dissemination", "allgather:bruck", "alltoall:bruck"];
    for choice in choices {
        for radix in [3, 4, 40] {
            let choice: Choice = format!("{choice},radix={radix}").parse().unwrap();
            for processes in [1, 2, 3, 5, 9, 16, 17, 27, 64, 70] {
                for bytes in [1, 1000] {
                    let reduction = PerByte::from_ps(900);
                    let job = Job { reduction, ..Job::new(processes, bytes) };
                    setting.check(choice.operation, choice.algorithm.as_ref().unwrap(), &job, 2);
                }
            }
        }
    }
}

#[test]
fn equals_materialised_for_some_large_numbers() {
    let (network, noise) = (network(), noise());
    let simulation = Simulation { noise: Some(&noise), ..Simulation::new(&network) };
    let setting = Setting { simulation, cycles: 2, compute: Time(1_000_000) };
    for (operation, algorithm) in all() {
        // Some take time that grows with the square of the number of processes.
        let long = algorithm.build(operation, &Job::new(1000, 8)).unwrap().messages() > 100_000;
        let sizes: &[u32] = if long { &[129] } else { &[1000, 2048] };
        for &processes in sizes {
            setting.check(operation, &algorithm, &Job::new(processes, 8), 2);
        }
    }
}

#[test]
fn a_collective_without_noise_takes_what_its_formula_says() {
    let network = network();
    let setting = Setting { simulation: Simulation::new(&network), cycles: 1, compute: Time::ZERO };
    let (latency, overhead) = (5_330_000, 770_000);
    for processes in [2u32, 3, 8, 64, 1000] {
        let rounds = u64::from(processes.next_power_of_two().trailing_zeros());
        let algorithm = Algorithm::parse(Operation::Barrier, "dissemination").unwrap();
        let barrier = algorithm.build(Operation::Barrier, &Job::new(processes, 1)).unwrap();
        let outcome = setting.implicit(&barrier, 1);
        // Every round is o + L + o, and all processes are in step.
        assert!(outcome.finish.iter().all(|&time| time == Time(rounds * (2 * overhead + latency))));
    }
}
