//! What noise does to a barrier: `cargo run --release -p straggler-sim --example noisy_barrier -- 4096`.

use straggler_model::Network;
use straggler_noise::{Injection, NoiseSpec, Phases};
use straggler_schedule::collectives::{Job, Operation};
use straggler_schedule::workloads::choose_default;
use straggler_sim::{Control, Simulation, Workload};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let processes = std::env::args().nth(1).map_or(Ok(1024), |count| count.parse())?;
    let network = Network::load("chic")?;
    let job = Job::new(processes, 1);
    let barrier = choose_default(Operation::Barrier, &job).build(Operation::Barrier, &job)?;
    let workload = Workload::once(barrier);
    let noise: NoiseSpec = "periodic:period=1ms,duration=100us".parse()?;
    let noise = Injection::new(noise.load(1)?.sources, Phases::Drawn { seed: 1, replica: 0 }, false)?;
    let quiet = Simulation::new(&network);
    let noisy = Simulation { noise: Some(&noise), ..Simulation::new(&network) };
    for (name, simulation) in [("quiet", quiet), ("noisy", noisy)] {
        let run = simulation.run(&workload, &mut Control::new(2))?;
        println!("{name}: {}", run.outcome.makespan());
    }
    Ok(())
}
