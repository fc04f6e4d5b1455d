//! The devices of a machine, which share the replicas that are asked for.

use crate::batch::{Failure, Loaded, Ran, Tuning};
use crate::device::Device;
use crate::task::{Task, Unfit, fits_noise};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use straggler_model::noise::Injection;
use straggler_sim::{Accelerated, Accelerator, Ended, RunError, Simulation, Wanted, Workload};

/// A task, or why there is none.
type Planned = Result<Arc<Task>, Unfit>;

/// Devices, and what they did.
pub struct Gpus {
    devices: Vec<Box<dyn Device>>,
    tuning: Tuning,
    ran: Vec<AtomicU64>,
    /// The last task, which is often asked for again, by its description.
    last: Mutex<Option<(String, Planned)>>,
    notes: Mutex<BTreeSet<String>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Gpus {
    pub fn new(devices: Vec<Box<dyn Device>>, tuning: Tuning) -> Gpus {
        let ran = devices.iter().map(|_| AtomicU64::new(0)).collect();
        Gpus { devices, tuning, ran, last: Mutex::new(None), notes: Mutex::new(BTreeSet::new()) }
    }

    /// What each device is called, and how many replicas it ran.
    pub fn ran(&self) -> Vec<(&str, u64)> {
        let counts = self.ran.iter().map(|count| count.load(Ordering::Relaxed));
        self.devices.iter().map(|device| device.name()).zip(counts).collect()
    }

    /// Why some replicas ran on the CPU.
    pub fn notes(&self) -> Vec<String> {
        lock(&self.notes).iter().cloned().collect()
    }

    fn note(&self, text: String) {
        lock(&self.notes).insert(text);
    }

    fn task(&self, workload: &Workload, simulation: &Simulation<'_>) -> Planned {
        if let Some(noise) = simulation.noise {
            fits_noise(noise)?;
        }
        let Workload::Collective { collective, cycles, compute } = workload else {
            return Err(Unfit::NoCollective);
        };
        let (network, engine) = (simulation.network, simulation.engine);
        let rules = (engine, simulation.latency.is_some(), simulation.receive_overlap);
        let name = format!("{collective:?} {cycles} {compute:?} {network:?} {rules:?}");
        let mut last = lock(&self.last);
        if let Some((of_last, task)) = &*last
            && *of_last == name
        {
            return task.clone();
        }
        let task = Task::new(workload, simulation).map(Arc::new);
        *last = Some((name, task.clone()));
        task
    }

    /// The task of a workload, if there is one; it is noted why not.
    fn fitting(&self, workload: &Workload, simulation: &Simulation<'_>) -> Option<Arc<Task>> {
        let task = self.task(workload, simulation);
        task.map_err(|unfit| self.note(format!("runs on the CPU because {unfit}"))).ok()
    }

    /// Takes replicas for one device until none is left, or it fails.
    fn serve(
        &self,
        index: usize,
        task: &Task,
        asked: &Asked<'_>,
        ended: &mpsc::Sender<Ran>,
    ) -> Result<(), Failure> {
        let device = &*self.devices[index];
        let loaded = Loaded::new(device, task, self.tuning)?;
        while let Some(replicas) = asked.take(loaded.side_by_side(asked.share)?) {
            let finish = asked.wanted != Wanted::Makespans;
            loaded.run(asked.noise, replicas, finish, asked.stop, &mut |ran| {
                let counts = asked.wanted != Wanted::FinishTimesToo;
                self.ran[index].fetch_add(counts.into(), Ordering::Relaxed);
                // Whoever asked is there until all devices have ended.
                let _ = ended.send(ran);
            })?;
        }
        Ok(())
    }
}

/// The replicas that are left, and how to run them.
struct Asked<'a> {
    noise: &'a Injection,
    wanted: Wanted,
    stop: &'a std::sync::atomic::AtomicBool,
    /// What one device takes at most at a time, so that all get some.
    share: u32,
    next: AtomicU32,
    end: u32,
}

impl Asked<'_> {
    fn take(&self, count: u32) -> Option<Range<u32>> {
        let end = |first: u32| first.saturating_add(count).min(self.end);
        let taken = self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |first| {
            (first < self.end).then(|| end(first))
        });
        taken.ok().map(|first| first..end(first))
    }
}

impl Accelerator for Gpus {
    fn fits(&self, workload: &Workload, simulation: &Simulation<'_>) -> bool {
        self.fitting(workload, simulation).is_some()
    }

    fn run(&self, asked: &Accelerated<'_>, done: &mut dyn FnMut(Ended)) -> Result<(), RunError> {
        let Some(task) = self.fitting(asked.workload, asked.simulation) else { return Ok(()) };
        let Range { start, end } = asked.replicas;
        let devices = self.devices.len().max(1) as u32;
        let left = Asked {
            noise: asked.simulation.noise.unwrap_or(Injection::QUIET),
            wanted: asked.wanted,
            stop: asked.stop,
            share: (end - start).div_ceil(devices).max(1),
            next: AtomicU32::new(start),
            end,
        };
        let interrupted = std::thread::scope(|scope| {
            let (ended, all) = mpsc::channel();
            let workers: Vec<_> = (0..self.devices.len())
                .map(|index| {
                    let (ended, task, left) = (ended.clone(), &*task, &left);
                    scope.spawn(move || self.serve(index, task, left, &ended))
                })
                .collect();
            drop(ended);
            for Ran { replica, makespan, finish } in all {
                done(Ended { replica, makespan, finish });
            }
            let mut interrupted = false;
            for (worker, device) in workers.into_iter().zip(&self.devices) {
                match worker.join() {
                    Ok(Ok(())) => {}
                    Ok(Err(Failure::Interrupted)) => interrupted = true,
                    Ok(Err(failure)) => {
                        self.note(format!("{}: {failure}; what it left ran elsewhere", device.name()))
                    }
                    Err(_) => self.note(format!("{}: failed; what it left ran elsewhere", device.name())),
                }
            }
            interrupted
        });
        if interrupted { Err(RunError::Interrupted) } else { Ok(()) }
    }
}

impl std::fmt::Debug for Gpus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gpus").field("ran", &self.ran()).finish_non_exhaustive()
    }
}
