//! The devices of a machine, which share the work on replicas.

use crate::batch::{Failure, Loaded, Ran, Tuning};
use crate::device::{Device, DeviceError};
use crate::task::{Task, Unfit, fits_noise};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use straggler_noise::Injection;
use straggler_sim::{Accelerated, Accelerator, Ended, RunError, Simulation, Wanted, Workload};

/// A task, or why the kernel cannot run it.
type Planned = Result<Arc<Task>, Unfit>;

/// The devices, with counts of their work and their faults.
pub struct Gpus {
    devices: Vec<Box<dyn Device>>,
    tuning: Tuning,
    ran: Vec<AtomicU64>,
    /// Whether a device has failed, other than for lack of memory. It is not used again.
    lost: Vec<AtomicBool>,
    /// The last task with its description as the key, since it is often asked for again.
    last: Mutex<Option<(String, Planned)>>,
    /// Why there are runs that do not fit, with their least and their largest number of processes.
    unfit: Mutex<BTreeMap<Unfit, (u32, u32)>>,
    faults: Mutex<BTreeSet<String>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Gpus {
    pub fn new(devices: Vec<Box<dyn Device>>, tuning: Tuning) -> Gpus {
        let ran = devices.iter().map(|_| AtomicU64::new(0)).collect();
        let lost = devices.iter().map(|_| AtomicBool::new(false)).collect();
        Gpus {
            devices,
            tuning,
            ran,
            lost,
            last: Mutex::new(None),
            unfit: Mutex::default(),
            faults: Mutex::default(),
        }
    }

    /// The name of each device, and how many replicas it ran.
    pub fn ran(&self) -> Vec<(&str, u64)> {
        let counts = self.ran.iter().map(|count| count.load(Ordering::Relaxed));
        self.devices.iter().map(|device| device.name()).zip(counts).collect()
    }

    /// Why there are runs that do not fit, with their least and their largest number of processes.
    pub fn unfit(&self) -> Vec<(Unfit, (u32, u32))> {
        lock(&self.unfit).iter().map(|(&unfit, &processes)| (unfit, processes)).collect()
    }

    /// Faults that made replicas run elsewhere.
    pub fn faults(&self) -> Vec<String> {
        lock(&self.faults).iter().cloned().collect()
    }

    fn fault(&self, text: String) {
        lock(&self.faults).insert(text);
    }

    fn task(&self, workload: &Workload, simulation: &Simulation<'_>) -> Planned {
        if let Some(noise) = simulation.noise {
            fits_noise(noise)?;
        }
        let Workload::Collective { collective, cycles, compute } = workload else {
            return Err(Unfit::NoCollective);
        };
        let (network, engine) = (simulation.network, simulation.engine);
        let rules = (engine, simulation.latency.is_some(), simulation.overlaps());
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

    /// Returns the task of a workload, or notes why the kernel cannot run it.
    fn fitting(&self, workload: &Workload, simulation: &Simulation<'_>) -> Option<Arc<Task>> {
        let task = self.task(workload, simulation);
        let processes = workload.processes();
        task.map_err(|unfit| {
            let mut unfits = lock(&self.unfit);
            let range = unfits.entry(unfit).or_insert((processes, processes));
            *range = (range.0.min(processes), range.1.max(processes));
        })
        .ok()
    }

    /// Runs replicas on one device until none is left or it fails. Replicas of a failed device are put back for
    /// others.
    fn serve(
        &self,
        index: usize,
        task: &Task,
        asked: &Asked<'_>,
        ended: &mpsc::Sender<Ran>,
    ) -> Result<(), Failure> {
        let loaded = Loaded::new(&*self.devices[index], task, self.tuning)?;
        while let Some(replicas) = asked.take(loaded.side_by_side(asked.share)?) {
            let (mut next, end) = (replicas.start, replicas.end);
            let finish = asked.wanted.keeps_finish_times();
            let ran = loaded.run(asked.noise, replicas, finish, asked.stop, &mut |ran| {
                next = ran.replica + 1;
                let counts = asked.wanted.counts() && ran.makespan.is_some();
                self.ran[index].fetch_add(counts.into(), Ordering::Relaxed);
                // The receiver lives until all devices have ended.
                let _ = ended.send(ran);
            });
            if ran.is_err() {
                asked.put_back(next..end);
            }
            ran?;
        }
        Ok(())
    }

    /// Runs replicas on some devices until none is left or all have failed. Returns the devices that did not fail, or
    /// None if interrupted.
    fn share(
        &self,
        devices: &[usize],
        task: &Task,
        asked: &Asked<'_>,
        done: &mut dyn FnMut(Ran),
    ) -> Option<Vec<usize>> {
        std::thread::scope(|scope| {
            let (ended, all) = mpsc::channel();
            let workers: Vec<_> = devices
                .iter()
                .map(|&index| {
                    let ended = ended.clone();
                    (index, scope.spawn(move || self.serve(index, task, asked, &ended)))
                })
                .collect();
            drop(ended);
            all.into_iter().for_each(done);
            // Joins all workers before any result is looked at, so that no device still holds replicas.
            let results: Vec<_> = workers.into_iter().map(|(index, worker)| (index, worker.join())).collect();
            let mut well = Vec::new();
            for (index, result) in results {
                let fault = match result {
                    Ok(Ok(())) => {
                        well.push(index);
                        continue;
                    }
                    Ok(Err(Failure::Interrupted)) => return None,
                    Ok(Err(failure)) => {
                        let lost = matches!(failure, Failure::Device(DeviceError::Other(_)));
                        self.lost[index].fetch_or(lost, Ordering::Relaxed);
                        failure.to_string()
                    }
                    Err(_) => {
                        self.lost[index].store(true, Ordering::Relaxed);
                        "failed".into()
                    }
                };
                self.fault(format!("{}: {fault}; what it left ran elsewhere", self.devices[index].name()));
            }
            Some(well)
        })
    }
}

/// The replicas that are left, and how to run them.
struct Asked<'a> {
    noise: &'a Injection,
    wanted: Wanted,
    stop: &'a AtomicBool,
    /// The most replicas that a device takes at once, so that all get some.
    share: u32,
    /// Contains no empty ranges.
    left: Mutex<Vec<Range<u32>>>,
}

impl Asked<'_> {
    /// Takes a range of at most `most` replicas.
    fn take(&self, most: u32) -> Option<Range<u32>> {
        let mut left = lock(&self.left);
        let Range { start, end } = left.pop()?;
        let middle = start.saturating_add(most).min(end);
        if middle < end {
            left.push(middle..end);
        }
        Some(start..middle)
    }

    fn put_back(&self, replicas: Range<u32>) {
        if !replicas.is_empty() {
            lock(&self.left).push(replicas);
        }
    }

    fn is_done(&self) -> bool {
        lock(&self.left).is_empty()
    }
}

impl Accelerator for Gpus {
    fn fits(&self, workload: &Workload, simulation: &Simulation<'_>) -> bool {
        self.fitting(workload, simulation).is_some()
    }

    fn run(&self, asked: &Accelerated<'_>, done: &mut dyn FnMut(Ended)) -> Result<(), RunError> {
        let Some(task) = self.fitting(asked.workload, asked.simulation) else { return Ok(()) };
        let replicas = asked.replicas.clone();
        let works = |index: &usize| !self.lost[*index].load(Ordering::Relaxed);
        let mut devices: Vec<usize> = (0..self.devices.len()).filter(works).collect();
        let left = Asked {
            noise: asked.simulation.noise.unwrap_or(Injection::QUIET),
            wanted: asked.wanted,
            stop: asked.stop,
            share: (replicas.len() as u32).div_ceil(devices.len().max(1) as u32).max(1),
            left: Mutex::new(Vec::new()),
        };
        left.put_back(replicas);
        let mut tell = |Ran { replica, makespan, finish }: Ran| {
            match makespan {
            Some(makespan) => done(Ended { replica, makespan, finish }),
            None => self.fault(
                "some replicas ran on the CPU: their simulated time went beyond what a GPU can hold (53 days)".into(),
            ),
        }
        };
        // When a device fails, others take its replicas.
        while !left.is_done() && !devices.is_empty() {
            match self.share(&devices, &task, &left, &mut tell) {
                Some(well) => devices = well,
                None => return Err(RunError::Interrupted),
            }
        }
        Ok(())
    }
}

impl std::fmt::Debug for Gpus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gpus").field("ran", &self.ran()).finish_non_exhaustive()
    }
}
