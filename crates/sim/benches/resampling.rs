//! Speed of resampling all-to-alls, in exchanges per second. `cargo bench -p straggler-sim --bench resampling`;
//! `-- --test` runs each once.

use divan::Bencher;
use divan::counter::ItemsCount;
use rayon::ThreadPoolBuilder;
use std::sync::atomic::AtomicBool;
use straggler_model::Time;
use straggler_model::philox::Stream;
use straggler_noise::{Injection, NoiseSpec, Phases};
use straggler_sim::resampling::{Model, Watch, exchanges};

fn main() {
    divan::main();
}

/// 2,000 times from 120 µs on, skewed to the right.
fn times() -> Vec<Time> {
    let mut random = Stream::new(1, 0, 0, 0);
    let mut time = || Time(120_000_000 + (-random.unit().ln() * 53e6) as u64);
    (0..2_000).map(|_| time()).collect()
}

fn noise() -> Injection {
    let spec = "periodic:period=10ms,duration=60us + periodic:period=6025us,duration=40us \
                + poisson:rate=10Hz,duration=lognormal(median=400us,sigma=0.5)";
    let spec: NoiseSpec = spec.parse().expect("noise as it is written");
    let sources = spec.load(1).expect("no files").sources;
    Injection::new(sources, Phases::Drawn { seed: 1, replica: 0 }, false).expect("little noise")
}

const PROCESSORS: [u32; 5] = [2, 4, 32, 256, 4096];

/// Resamples about the same number of exchanges for every number of processors.
fn resample(bencher: Bencher, processors: u32, threads: usize, noise: Option<&Injection>) {
    let times = times();
    let model = Model { times: &times, noise, seed: 1 };
    let samples = (8_500_000 / exchanges(processors)).clamp(1, 2_000_000) as u32;
    let pool = ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    let stop = AtomicBool::new(false);
    let watch = Watch { stop: &stop, progress: &|_| {} };
    bencher
        .counter(ItemsCount::new(exchanges(processors) * u64::from(samples)))
        .bench(|| pool.install(|| model.all_to_all(processors, samples, watch).expect("it finishes")));
}

#[divan::bench(args = PROCESSORS, sample_count = 5, sample_size = 1)]
fn independent(bencher: Bencher, processors: u32) {
    resample(bencher, processors, 1, None);
}

#[divan::bench(args = PROCESSORS, sample_count = 5, sample_size = 1)]
fn independent_two_threads(bencher: Bencher, processors: u32) {
    resample(bencher, processors, 2, None);
}

#[divan::bench(args = PROCESSORS, sample_count = 5, sample_size = 1)]
fn interrupts(bencher: Bencher, processors: u32) {
    resample(bencher, processors, 1, Some(&noise()));
}

#[divan::bench(args = PROCESSORS, sample_count = 5, sample_size = 1)]
fn interrupts_two_threads(bencher: Bencher, processors: u32) {
    resample(bencher, processors, 2, Some(&noise()));
}
