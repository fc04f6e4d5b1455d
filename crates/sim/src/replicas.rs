//! Runs of one workload with newly drawn noise for each. Small runs go in parallel, one thread each; large ones go
//! one after another on all threads. The results are the same either way.

use crate::accelerator::{Accelerated, Accelerator, Ended, Wanted};
use crate::checkpoint::Checkpoints;
use crate::cluster::Cluster;
use crate::control::{Control, Progress};
use crate::outcome::{Outcome, RunError};
use crate::simulation::{Engine, Run, Simulation};
use crate::workload::Workload;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use straggler_model::Time;
use straggler_noise::Injection;

/// Up to this many processes a run is too small to keep several threads busy.
const SMALL: u32 = 1 << 16;

/// Whether a run on this many processes leaves threads idle that other runs could use.
pub fn is_small(processes: u32) -> bool {
    processes <= SMALL
}

/// What the replicas of any workload have in common.
#[derive(Clone)]
pub struct Replicas<'a> {
    /// Its noise and its latencies are drawn again for each replica.
    pub simulation: Simulation<'a>,
    pub threads: usize,
    /// Runs replicas instead of the CPU, if it supports them.
    pub accelerator: Option<&'a dyn Accelerator>,
    /// The cluster whose members share each run; replicas then go one after another.
    pub cluster: Option<&'a dyn Cluster>,
    /// Where to save the state of a run; for one replica at a time.
    pub checkpoints: Option<&'a dyn Checkpoints>,
    /// Set from outside to stop all runs.
    pub stop: &'a AtomicBool,
    /// Called now and then with the number of messages delivered since the last call.
    pub advance: &'a (dyn Fn(u64) + Sync),
}

impl std::fmt::Debug for Replicas<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replicas").field("threads", &self.threads).finish_non_exhaustive()
    }
}

/// For replicas that nothing stops.
static NEVER: AtomicBool = AtomicBool::new(false);

impl<'a> Replicas<'a> {
    /// On the CPUs of this process, without checkpoints; nothing stops them, and nothing follows their progress.
    pub fn new(simulation: Simulation<'a>, threads: usize) -> Replicas<'a> {
        Replicas {
            simulation,
            threads,
            accelerator: None,
            cluster: None,
            checkpoints: None,
            stop: &NEVER,
            advance: &|_| (),
        }
    }

    /// The same with other noise.
    pub fn with_noise<'b>(&self, noise: &'b Injection) -> Replicas<'b>
    where
        'a: 'b,
    {
        Replicas { simulation: Simulation { noise: Some(noise), ..self.simulation.clone() }, ..self.clone() }
    }

    /// One run without noise, on all threads, with the simulation's drawn latencies. It writes no checkpoints.
    pub fn quiet(&self, workload: &Workload) -> Result<Run, RunError> {
        let simulation = Simulation { noise: None, ..self.simulation.clone() };
        let alone = Replicas { checkpoints: None, simulation, ..self.clone() };
        match alone.accelerated(workload, 0..1, Wanted::Quiet)?.pop().flatten() {
            Some(ended) => Ok(accelerated_run(ended, workload)),
            None => alone.run(workload, None, self.threads),
        }
    }

    /// One replica, on all threads.
    pub fn one(&self, workload: &Workload, replica: u32) -> Result<Run, RunError> {
        self.replica(workload, replica, self.threads)
    }

    /// Runs replicas and returns what `keep` makes of each, in order.
    pub fn each<T: Send>(
        &self,
        workload: &Workload,
        replicas: Range<u32>,
        keep: impl Fn(u32, Run) -> T + Sync,
    ) -> Result<Vec<T>, RunError> {
        self.each_with(workload, replicas, Wanted::FinishTimes, keep)
    }

    /// Like [`Replicas::each`], but an accelerator leaves the finish times of processes empty.
    pub fn each_makespan<T: Send>(
        &self,
        workload: &Workload,
        replicas: Range<u32>,
        keep: impl Fn(u32, Run) -> T + Sync,
    ) -> Result<Vec<T>, RunError> {
        self.each_with(workload, replicas, Wanted::Makespans, keep)
    }

    /// The complete run of a replica that ran before in [`Replicas::each_makespan`].
    pub fn whole(&self, workload: &Workload, replica: u32) -> Result<Option<Run>, RunError> {
        let runs = self.each_with(workload, replica..replica + 1, Wanted::FinishTimesToo, |_, run| run)?;
        Ok(runs.into_iter().next())
    }

    fn each_with<T: Send>(
        &self,
        workload: &Workload,
        replicas: Range<u32>,
        wanted: Wanted,
        keep: impl Fn(u32, Run) -> T + Sync,
    ) -> Result<Vec<T>, RunError> {
        let ended = self.accelerated(workload, replicas.clone(), wanted)?;
        let elsewhere = |replica: u32| {
            let ended = ended.get((replica - replicas.start) as usize)?.clone()?;
            Some(accelerated_run(ended, workload))
        };
        if ended.iter().all(Option::is_some) && !ended.is_empty() {
            return Ok(replicas
                .clone()
                .filter_map(|replica| Some(keep(replica, elsewhere(replica)?)))
                .collect());
        }
        self.spread(workload.processes(), replicas.clone(), |replica, threads| {
            let run = match elsewhere(replica) {
                Some(run) => run,
                None => self.replica(workload, replica, threads)?,
            };
            Ok(keep(replica, run))
        })
    }

    /// Runs replicas on the accelerator. Returns the results by replica; empty if there is no accelerator.
    fn accelerated(
        &self,
        workload: &Workload,
        replicas: Range<u32>,
        wanted: Wanted,
    ) -> Result<Vec<Option<Ended>>, RunError> {
        let Some(accelerator) =
            self.accelerator.filter(|_| self.cluster.is_none() && self.checkpoints.is_none())
        else {
            return Ok(Vec::new());
        };
        let mut ended: Vec<Option<Ended>> = vec![None; replicas.len()];
        let messages = workload.messages();
        let asked = Accelerated {
            workload,
            simulation: &self.simulation,
            replicas: replicas.clone(),
            wanted,
            stop: self.stop,
        };
        accelerator.run(&asked, &mut |one| {
            if wanted != Wanted::FinishTimesToo {
                (self.advance)(messages);
            }
            let place =
                one.replica.checked_sub(replicas.start).and_then(|place| ended.get_mut(place as usize));
            if let Some(place) = place {
                *place = Some(one);
            }
        })?;
        Ok(ended)
    }

    /// The makespan of each replica.
    pub fn makespans(&self, workload: &Workload, replicas: Range<u32>) -> Result<Vec<Time>, RunError> {
        self.each_makespan(workload, replicas, |_, run| run.outcome.makespan())
    }

    /// Calls `one` for every replica, with the number of threads it may use. For replicas of several runs: each calls
    /// [`Replicas::run`] with noise from [`Injection::of_replica`].
    pub fn spread<T: Send>(
        &self,
        processes: u32,
        replicas: Range<u32>,
        one: impl Fn(u32, usize) -> Result<T, RunError> + Sync,
    ) -> Result<Vec<T>, RunError> {
        let beside = self.side_by_side(processes, replicas.len());
        if beside == 1 {
            return replicas.map(|replica| one(replica, self.threads)).collect();
        }
        let done = Mutex::new(Vec::with_capacity(replicas.len()));
        run_side_by_side(replicas, beside, &|replica| {
            let result = one(replica, 1);
            let went_well = result.is_ok();
            done.lock().unwrap_or_else(PoisonError::into_inner).push((replica, result));
            went_well
        });
        let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_unstable_by_key(|&(replica, _)| replica);
        done.into_iter().map(|(_, result)| result).collect()
    }

    /// One run with this noise.
    pub fn run(
        &self,
        workload: &Workload,
        noise: Option<&Injection>,
        threads: usize,
    ) -> Result<Run, RunError> {
        let mut seen = 0;
        let mut progress = |progress: Progress| {
            (self.advance)(progress.messages.saturating_sub(seen));
            seen = progress.messages;
        };
        let (cluster, checkpoints) = (self.cluster, self.checkpoints);
        let mut control = Control {
            cluster,
            checkpoints,
            ..Control::new(threads).stop_if(self.stop).progress(&mut progress)
        };
        Simulation { noise, ..self.simulation.clone() }.run(workload, &mut control)
    }

    fn replica(&self, workload: &Workload, replica: u32, threads: usize) -> Result<Run, RunError> {
        let noise = self.simulation.noise.map(|noise| noise.of_replica(replica));
        let latency = self.simulation.latency.map(|drawn| drawn.of_replica(replica));
        let simulation = Simulation { latency: latency.as_ref(), ..self.simulation.clone() };
        Replicas { simulation, ..self.clone() }.run(workload, noise.as_ref(), threads)
    }

    /// How many replicas run at the same time.
    pub fn side_by_side(&self, processes: u32, replicas: usize) -> usize {
        if is_small(processes) && self.cluster.is_none() { self.threads.min(replicas).max(1) } else { 1 }
    }
}

fn accelerated_run(ended: Ended, workload: &Workload) -> Run {
    let Ended { makespan, finish, .. } = ended;
    let outcome = Outcome::of_elsewhere(makespan, finish, workload.processes(), workload.messages());
    Run { outcome, engine: Engine::Gpu, threads: 1, no_lookahead: false }
}

/// Hands replicas to threads as they become free, until `one` returns false.
fn run_side_by_side(replicas: Range<u32>, threads: usize, one: &(dyn Fn(u32) -> bool + Sync)) {
    let (next, failed) = (AtomicU32::new(replicas.start), AtomicBool::new(false));
    let take = || {
        let taken = next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |replica| {
            (replica < replicas.end && !failed.load(Ordering::Relaxed)).then_some(replica + 1)
        });
        taken.ok()
    };
    let work = || {
        while let Some(replica) = take() {
            if !one(replica) {
                failed.store(true, Ordering::Relaxed);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            // With fewer threads than asked for, only the run time changes.
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use straggler_model::Network;
    use straggler_noise::{NoiseSpec, Phases};
    use straggler_schedule::collectives::{Choice, Job};

    fn barrier(processes: u32) -> Workload {
        let choice: Choice = "barrier:dissemination".parse().unwrap();
        let collective = choice.algorithm.unwrap().build(choice.operation, &Job::new(processes, 1)).unwrap();
        Workload::Collective { collective, cycles: 2, compute: Time(50_000_000) }
    }

    fn noise() -> Injection {
        let spec: NoiseSpec = "poisson:rate=1kHz,duration=exponential(mean=20us)".parse().unwrap();
        Injection::new(spec.load(1).unwrap().sources, Phases::Drawn { seed: 1, replica: 0 }, false).unwrap()
    }

    fn replicas<'a>(network: &'a Network, noise: &'a Injection, threads: usize) -> Replicas<'a> {
        let simulation = Simulation { noise: Some(noise), ..Simulation::new(network) };
        Replicas::new(simulation, threads)
    }

    #[test]
    fn side_by_side_or_one_after_another() {
        let (network, noise, workload) = (Network::parse("chic").unwrap(), noise(), barrier(5000));
        let beside = replicas(&network, &noise, 3).makespans(&workload, 2..9).unwrap();
        let after = replicas(&network, &noise, 1).makespans(&workload, 2..9).unwrap();
        assert_eq!(beside, after);
        let wide =
            |replica| replicas(&network, &noise, 2).one(&workload, replica).unwrap().outcome.makespan();
        assert_eq!(beside, (2..9).map(wide).collect::<Vec<_>>());
        assert!(beside.iter().collect::<BTreeSet<_>>().len() > 3, "{beside:?}");
    }

    #[test]
    fn the_spread_follows_the_size() {
        let (network, noise) = (Network::parse("chic").unwrap(), noise());
        let beside =
            |threads, processes, count| replicas(&network, &noise, threads).side_by_side(processes, count);
        assert_eq!(beside(2, 1000, 10), 2);
        assert_eq!(beside(16, 1000, 10), 10);
        assert_eq!(beside(2, 1_000_000, 10), 1);
        assert_eq!(beside(2, 1000, 1), 1);
        let (small, large) = (barrier(1000), barrier(1_000_000));
        let bytes = |workload| replicas(&network, &noise, 4).memory_bytes(workload, 10);
        assert_eq!(bytes(&large), 1000 * bytes(&small) / 4);
    }

    #[test]
    fn the_first_that_fails_ends_the_rest() {
        let (network, noise) = (Network::parse("chic").unwrap(), noise());
        let ran = AtomicU32::new(0);
        let fail = |replica, _| {
            ran.fetch_add(1, Ordering::Relaxed);
            if replica >= 5 { Err(RunError::Interrupted) } else { Ok(replica) }
        };
        let all = replicas(&network, &noise, 2);
        assert_eq!(all.spread(16, 0..5, fail), Ok((0..5).collect()));
        ran.store(0, Ordering::Relaxed);
        assert_eq!(all.spread(16, 0..1_000_000, fail), Err(RunError::Interrupted));
        assert!(ran.load(Ordering::Relaxed) < 10);
    }

    #[test]
    fn progress_counts_every_message_once() {
        let (network, noise, workload) = (Network::parse("chic").unwrap(), noise(), barrier(64));
        let seen = std::sync::atomic::AtomicU64::new(0);
        let advance = |more| {
            seen.fetch_add(more, Ordering::Relaxed);
        };
        Replicas { advance: &advance, ..replicas(&network, &noise, 2) }.makespans(&workload, 0..8).unwrap();
        assert_eq!(seen.into_inner(), 8 * workload.messages());
    }
}
