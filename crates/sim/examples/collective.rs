//! Runs one collective and prints its makespan: the engine alone, for profilers.
//!
//!     collective allreduce:dissemination 4096 [NOISE.. as interval and duration in ns]

use std::sync::atomic::AtomicBool;
use straggler_model::noise::{Detours, Injection, Phases, Source, Waveform, Who};
use straggler_model::{Network, Time};
use straggler_schedule::collectives::{Algorithm, Job, Operation};
use straggler_sim::{Control, Simulation, Workload};

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let processes: u32 = args[2].parse().unwrap();
    let (operation, algorithm) = args[1].split_once(':').unwrap();
    let operation: Operation = operation.parse().unwrap();
    let network = Network::parse("L=4770ns,o=2870ns,g=2040ns,G=2.67ns,O=0ns,S=65000").unwrap();
    let algorithm = Algorithm::parse(operation, algorithm).unwrap();
    let collective = algorithm.build(operation, &Job::new(processes, 1)).unwrap();
    let noise = args.get(3).map(|spacing| {
        let spacing: u64 = spacing.parse().unwrap();
        let mut random = 12345u64;
        let mut at = 0;
        let detours: Vec<(Time, Time)> = (0..100_000)
            .map(|_| {
                random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                at += (random >> 33) % (2_000 * spacing) + 1;
                (Time(at), Time(1_000 * ((random >> 40) % 20_000)))
            })
            .collect();
        let detours = Detours::new(&detours, None).unwrap();
        let source =
            Source { name: "x".into(), waveform: Waveform::Trace(detours.into()), who: Who::Everyone };
        let phases = Phases::Drawn { seed: 1, replica: 0 };
        Injection { sources: vec![source], phases, wallclock: false, computation_only: false }
    });
    let simulation = Simulation { noise: noise.as_ref(), ..Simulation::new(&network) };
    let stop = AtomicBool::new(false);
    let mut progress = |_| {};
    let threads = args.get(4).map_or(1, |threads| threads.parse().unwrap());
    let mut control = Control::new(threads, &stop, &mut progress);
    let started = std::time::Instant::now();
    let run = simulation.run(&Workload::once(collective), &mut control).unwrap();
    let outcome = run.outcome;
    println!(
        "{} {} messages {} windows {:.3} s",
        outcome.makespan().ps(),
        outcome.messages,
        outcome.windows,
        started.elapsed().as_secs_f64()
    );
}
