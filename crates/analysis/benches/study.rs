//! How much a study adds to the cost of a replica's simulation. `cargo bench -p straggler-analysis`; `--test` runs
//! each once. `bare` and `study` do the same hundred runs of an allreduce under noise.

use divan::Bencher;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use straggler_analysis::study::{Batch, Journal, JournalError, Plan, Study, StudyRunner, Tracks};
use straggler_model::Network;
use straggler_noise::{Injection, Phases};
use straggler_schedule::collectives::allreduce::Dissemination;
use straggler_schedule::collectives::{Collective, Job};
use straggler_sim::{Control, Simulation, Workload};

fn main() {
    divan::main();
}

const REPLICAS: u32 = 100;
const NOISE: &str = "periodic:period=1ms,duration=100us";
const SIZES: [u32; 3] = [64, 1024, 4096];

/// The engine in a bare loop: the least that any caller must do.
#[divan::bench(args = SIZES, sample_count = 10, sample_size = 1)]
fn bare(bencher: Bencher, processes: u32) {
    let network = Network::parse("cnl").expect("a preset");
    let spec: straggler_noise::NoiseSpec = NOISE.parse().expect("noise");
    let sources = spec.load(1).expect("noise").sources;
    let steps = Dissemination::new(&Job::new(processes, 1));
    let workload = Workload::once(Collective::Dissemination(steps));
    bencher.bench_local(|| {
        let phases = Phases::Drawn { seed: 1, replica: 0 };
        let mut injection = Injection::new(sources.clone(), phases, false).expect("noise");
        let mut sum = 0;
        for replica in 0..REPLICAS {
            injection.phases = Phases::Drawn { seed: 1, replica };
            let mut control = Control::new(1);
            let simulation = Simulation { noise: Some(&injection), ..Simulation::new(&network) };
            let run = simulation.run(&workload, &mut control).expect("it ends");
            sum += run.outcome.makespan().ps();
        }
        sum
    });
}

/// A whole study with its journal on disk, from the plan to the results.
#[divan::bench(args = SIZES, sample_count = 10, sample_size = 1)]
fn study(bencher: Bencher, processes: u32) {
    let text = format!(
        "name='a'\nreplicas={REPLICAS}\nprocesses={processes}\ncollective='allreduce:dissemination'\nsize=1\n\
         network='cnl'\nnoise='{NOISE}'"
    );
    let plan = Plan::new(&Study::parse(&text).expect("a study"), Path::new("")).expect("a plan");
    let folder = tempfile::tempdir().expect("a folder");
    let stop = AtomicBool::new(false);
    bencher.bench_local(|| {
        let opened = Journal::open(&folder.path().join("journal"), &plan.fingerprint(), true);
        let mut journal = opened.expect("a journal").journal;
        let runner = StudyRunner {
            plan: &plan,
            threads: 1,
            accelerator: None,
            memory: None,
            stop: &stop,
            advance: &|_| (),
        };
        let mut keep = |batch: &Batch| -> Result<(), JournalError> { journal.append(batch) };
        let (_, results) = runner.run(Tracks::new(&plan), &mut keep);
        results.expect("it ends").points.len()
    });
}
