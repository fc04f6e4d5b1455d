//! How long replicas take on a GPU: `gpu_times COLLECTIVE PROCESSES NOISE REPLICAS [processes|replicas] [ROUNDS] [PTX]`.

use std::sync::atomic::AtomicBool;
use std::time::Instant;
use straggler_gpu::cuda::Cuda;
use straggler_gpu::{Layout, Loaded, Task, Tuning};
use straggler_model::Network;
use straggler_noise::{Injection, NoiseSpec, Phases};
use straggler_schedule::collectives::{Choice, Job};
use straggler_sim::{Simulation, Workload};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let at = |index: usize, default: &str| arguments.get(index).map_or(default.to_string(), Clone::clone);
    let choice: Choice = at(0, "barrier:dissemination").parse()?;
    let processes: u32 = at(1, "1048576").parse()?;
    let noise: NoiseSpec = at(2, "poisson:rate=1kHz,duration=exponential(mean=20us)").parse()?;
    let replicas: u32 = at(3, "100").parse()?;
    let layout = if at(4, "processes") == "replicas" { Layout::Replicas } else { Layout::Processes };
    let tuning = Tuning { layout, rounds: at(5, "8").parse()? };

    let algorithm = choice.algorithm.ok_or("name an algorithm")?;
    let collective = algorithm.build(choice.operation, &Job::new(processes, 8))?;
    let workload = Workload::once(collective);
    let network = Network::parse("chic")?;
    let phases = Phases::Drawn { seed: 1, replica: 0 };
    let noise = Injection::new(noise.load(1)?.sources, phases, false)?;
    let simulation = Simulation { noise: Some(&noise), ..Simulation::new(&network) };

    let begin = Instant::now();
    let device = match arguments.get(6) {
        Some(path) => Cuda::with_ptx(0, &std::fs::read_to_string(path)?)?,
        None => Cuda::new(0)?,
    };
    let opened = begin.elapsed();
    let begin = Instant::now();
    let task = Task::new(&workload, &simulation)?;
    let planned = begin.elapsed();
    let loaded = Loaded::new(&device, &task, tuning)?;
    let begin = Instant::now();
    let (stop, mut sum, mut count) = (AtomicBool::new(false), 0u128, 0);
    loaded.run(&noise, 0..replicas, false, &stop, &mut |ran| {
        sum += u128::from(ran.makespan.unwrap_or_default().ps());
        count += 1;
    })?;
    let ran = begin.elapsed();
    println!(
        "{} {processes} x {replicas}: {:.3} ms a replica, {:.2e} messages/s, mean makespan {} us; opened in {opened:?}, \
         planned in {planned:?}, ran in {ran:?}",
        at(0, "barrier:dissemination"),
        ran.as_secs_f64() * 1e3 / f64::from(replicas),
        task.messages as f64 * f64::from(replicas) / ran.as_secs_f64(),
        sum / u128::from(count as u64) / 1_000_000,
    );
    Ok(())
}
