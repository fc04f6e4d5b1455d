//! Devices share replicas; replicas that they leave run on the CPU.

use super::{STOP, emulator::Emulator, noise, workload};
use std::convert::Infallible;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use straggler_analysis::study::{Batch, Plan, Results, Study, StudyRunner, Tracks};
use straggler_gpu::layout;
use straggler_gpu::{Device, DeviceError, Gpus, Kernel, Memory, Tuning, Unfit};
use straggler_model::{Network, Time};
use straggler_noise::Phases;
use straggler_sim::{Accelerator, Engine, Replicas, Simulation};

/// A device that fails after some launches.
struct Doomed {
    inner: Emulator,
    left: AtomicU32,
}

impl Device for Doomed {
    fn name(&self) -> &str {
        "doomed"
    }

    fn free_bytes(&self) -> Result<u64, DeviceError> {
        self.inner.free_bytes()
    }

    fn reserve(&self, bytes: u64) -> Result<Box<dyn Memory>, DeviceError> {
        self.inner.reserve(bytes)
    }

    fn write(&self, memory: &dyn Memory, bytes: &[u8]) -> Result<(), DeviceError> {
        self.inner.write(memory, bytes)
    }

    fn launch(&self, kernel: Kernel, plan: &layout::Plan) -> Result<(), DeviceError> {
        let left = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        left.map_err(|_| DeviceError::Other("the device fell off the bus".into()))?;
        self.inner.launch(kernel, plan)
    }

    fn read(&self, memory: &dyn Memory, from: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        self.inner.read(memory, from, bytes)
    }
}

/// An emulator with memory for only a few replicas of 40 processes at a time.
fn small() -> Emulator {
    Emulator::new(60_000)
}

fn emulators(count: usize) -> Gpus {
    let devices = (0..count).map(|_| Box::new(small()) as Box<dyn Device>).collect();
    Gpus::new(devices, Tuning::default())
}

fn doomed(launches: u32) -> Gpus {
    let device = Doomed { inner: small(), left: AtomicU32::new(launches) };
    Gpus::new(vec![Box::new(device)], Tuning::default())
}

/// Runs replicas; returns their makespans, finish times and engines.
fn run(gpus: Option<&Gpus>) -> Vec<(Time, Vec<Time>, Engine)> {
    let network = Network::parse("chic").unwrap();
    let noise = noise(
        "poisson:rate=10kHz,duration=exponential(mean=20us)",
        Phases::Drawn { seed: 3, replica: 0 },
        false,
    );
    let replicas = Replicas {
        simulation: Simulation { noise: noise.as_ref(), ..Simulation::new(&network) },
        threads: 2,
        accelerator: gpus.map(|gpus| gpus as &dyn Accelerator),
        cluster: None,
        checkpoints: None,
        stop: &STOP,
        advance: &|_| (),
    };
    let workload = workload("allreduce:recursive-doubling", 40, 8, 2, 5_000).unwrap();
    let all = replicas.each(&workload, 2..32, |_, run| {
        let makespan = run.outcome.makespan();
        (makespan, run.outcome.finish, run.engine)
    });
    all.unwrap()
}

#[test]
fn one_device_or_several_or_none() {
    let numbers = |all: Vec<(Time, Vec<Time>, Engine)>| -> Vec<(Time, Vec<Time>)> {
        all.into_iter().map(|(makespan, finish, _)| (makespan, finish)).collect()
    };
    let expected = numbers(run(None));
    for count in 1..4 {
        let gpus = emulators(count);
        let all = run(Some(&gpus));
        assert!(all.iter().all(|(.., engine)| *engine == Engine::Gpu));
        assert_eq!(numbers(all), expected, "{count} devices");
        assert_eq!(gpus.ran().iter().map(|(_, count)| count).sum::<u64>(), 30);
        assert_eq!((gpus.faults(), gpus.unfit()), (vec![], vec![]));
    }
}

#[test]
fn a_lost_device_loses_nothing() {
    let expected = run(None);
    let mut partly = 0;
    for launches in [0, 1, 20, 100, 200, 300, 10_000] {
        let gpus = doomed(launches);
        let all = run(Some(&gpus));
        for (one, other) in all.iter().zip(&expected) {
            assert_eq!((one.0, &one.1), (other.0, &other.1));
        }
        let here = all.iter().filter(|(.., engine)| *engine == Engine::Gpu).count();
        assert_eq!(gpus.ran(), [("doomed", here as u64)]);
        assert_eq!(gpus.faults().len(), usize::from(here < 30), "{:?}", gpus.faults());
        partly += usize::from((1..30).contains(&here));
    }
    assert!(partly >= 2, "{partly}");
}

#[test]
fn what_a_lost_device_had_runs_on_another() {
    let (expected, mut faults) = (run(None), 0);
    for launches in [0, 0, 0, 1, 20, 100] {
        let lost = Doomed { inner: small(), left: AtomicU32::new(launches) };
        let gpus = Gpus::new(vec![Box::new(lost), Box::new(small())], Tuning::default());
        let all = run(Some(&gpus));
        assert!(all.iter().all(|(.., engine)| *engine == Engine::Gpu));
        for (one, other) in all.iter().zip(&expected) {
            assert_eq!((one.0, &one.1), (other.0, &other.1));
        }
        // No fault if the other device ran all replicas first.
        faults += gpus.faults().len();
        assert_eq!(gpus.ran().iter().map(|(_, count)| count).sum::<u64>(), 30);
    }
    assert!((1..=6).contains(&faults), "{faults}");
}

#[test]
fn the_run_without_noise_runs_there_and_is_no_replica() {
    let network = Network::parse("chic").unwrap();
    let noise = noise("periodic:period=1ms,duration=100us", Phases::Drawn { seed: 3, replica: 0 }, false);
    let workload = workload("barrier:dissemination", 64, 1, 1, 0).unwrap();
    let gpus = emulators(1);
    let quiet = |gpus: Option<&Gpus>| {
        let replicas = Replicas {
            simulation: Simulation { noise: noise.as_ref(), ..Simulation::new(&network) },
            threads: 1,
            accelerator: gpus.map(|gpus| gpus as &dyn Accelerator),
            cluster: None,
            checkpoints: None,
            stop: &STOP,
            advance: &|_| (),
        };
        replicas.quiet(&workload).unwrap()
    };
    let (here, there) = (quiet(None), quiet(Some(&gpus)));
    assert_eq!(here.outcome.makespan(), there.outcome.makespan());
    assert_eq!(there.engine, Engine::Gpu);
    assert_eq!(gpus.ran(), [(small().name(), 0)]);
}

#[test]
fn an_interruption_ends_it() {
    let network = Network::parse("chic").unwrap();
    let (stop, gpus) = (AtomicBool::new(true), emulators(2));
    let replicas = Replicas {
        simulation: Simulation::new(&network),
        threads: 1,
        accelerator: Some(&gpus),
        cluster: None,
        checkpoints: None,
        stop: &stop,
        advance: &|_| (),
    };
    let workload = workload("barrier:dissemination", 64, 1, 1, 0).unwrap();
    assert_eq!(replicas.makespans(&workload, 0..9), Err(straggler_sim::RunError::Interrupted));
}

const STUDY: &str = "
name = 'small'
replicas = 70
until-ci = '1%'
processes = [2, 16, 100]
collective = ['barrier', 'bcast:binomial', 'allreduce:ring']
size = 1000
network = 'L=2us,o=1us,g=1us,G=1ns,O=0ns,S=500'
noise = ['none', 'poisson:rate=10kHz,duration=exponential(mean=20us)', 'altix']
cosched = [false, true]
";

fn study(gpus: Option<&Gpus>) -> Results {
    let plan = Plan::new(&Study::parse(STUDY).unwrap(), Path::new("")).unwrap();
    let accelerator = gpus.map(|gpus| gpus as &dyn Accelerator);
    let runner =
        StudyRunner { plan: &plan, threads: 2, accelerator, memory: None, stop: &STOP, advance: &|_| () };
    let mut keep = |_: &Batch| Ok::<(), Infallible>(());
    runner.run(Tracks::new(&plan), &mut keep).1.unwrap()
}

#[test]
fn a_study_is_the_same() {
    let expected = study(None);
    let large = || Box::new(Emulator::new(1 << 20)) as Box<dyn Device>;
    let gpus = Gpus::new(vec![large(), large()], Tuning::default());
    assert_eq!(study(Some(&gpus)), expected);
    assert!(gpus.ran().iter().map(|(_, count)| count).sum::<u64>() > 100);
    // The broadcast uses rendezvous, which the kernel does not support.
    assert_eq!((gpus.unfit(), gpus.faults()), (vec![(Unfit::Rendezvous, (2, 100))], vec![]));
    // A ring over 100 processes does not fit into the small emulator.
    let small = emulators(1);
    assert_eq!(study(Some(&small)), expected);
    assert!(
        small.faults().iter().any(|fault| fault.contains("not one replica fits")),
        "{:?}",
        small.faults()
    );
    assert_eq!(study(Some(&doomed(500))), expected);
}
