//! Runs missing replicas, on all threads.
//!
//! Replicas run in parallel, each on one thread, in batches of about a tenth of a second: the largest first, so that
//! the last ones are short and no thread waits long. Runs that are too large to fit in memory side by side, or so
//! large and few that threads would wait for the last one, go first, one at a time on all threads. Batches and their
//! order do not affect results.

use super::{Batch, Plan, Results, Task, Tracks};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use straggler_model::Time;
use straggler_model::network::Drawn;
use straggler_model::units::counted;
use straggler_noise::{Injection, Phases, Source};
use straggler_sim::cluster::Cluster;
use straggler_sim::outcome::RunError;
use straggler_sim::replicas::is_small;
use straggler_sim::{Accelerator, Control, Progress, Simulation, Stuck, Workload};

/// The approximate cost of a batch, in messages, and the fixed cost of a run.
const BATCH_WORK: u64 = 1 << 20;
const RUN_WORK: u64 = 300;

/// Runs are large and few if there is less work than this many rounds on all threads.
const ROUNDS: u64 = 4;

/// Runs with more messages than this report their progress.
const LONG_RUN: u64 = 1 << 20;

/// Everything needed to run a study, except for existing results.
pub struct StudyRunner<'a> {
    pub plan: &'a Plan,
    pub threads: usize,
    /// Runs replicas instead of the CPU, if it can.
    pub accelerator: Option<&'a dyn Accelerator>,
    /// The memory limit, in bytes.
    pub memory: Option<u64>,
    pub stop: &'a AtomicBool,
    /// Called with the number of messages delivered since the last call.
    pub advance: &'a (dyn Fn(u64) + Sync),
}

impl std::fmt::Debug for StudyRunner<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StudyRunner")
            .field("threads", &self.threads)
            .field("memory", &self.memory)
            .finish_non_exhaustive()
    }
}

/// Why a study ended early.
#[derive(Debug, thiserror::Error)]
pub enum StudyRunError<E> {
    #[error("interrupted")]
    Interrupted,
    #[error("{point}: {fault}")]
    Run { point: String, fault: Fault },
    /// Results could not be stored.
    #[error(transparent)]
    Keep(E),
}

/// Why a run gave no result.
#[derive(Debug, PartialEq, Eq, thiserror::Error, serde::Serialize, serde::Deserialize)]
pub enum Fault {
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(
        "{}; `straggler simulate` shows who waits for whom",
        counted(*.unfinished, "rank never finishes", "ranks never finish")
    )]
    Stuck { unfinished: u64 },
    #[error(
        "{} never received; `straggler simulate` names them",
        counted(*.messages, "message is", "messages are")
    )]
    Leftover { messages: u64 },
}

/// Stores batches; called from one thread at a time.
pub(super) type Keep<'a, E> = dyn FnMut(&Batch) -> Result<(), E> + Send + 'a;

/// Data shared by all threads.
pub(super) struct Shared<'a, E> {
    pub state: Mutex<State<E>>,
    pub changed: Condvar,
    keep: Mutex<&'a mut Keep<'a, E>>,
    /// Tasks by descending work per replica.
    pub order: Vec<usize>,
}

pub(super) struct State<E> {
    pub tracks: Tracks,
    /// Threads with a batch, on any machine.
    pub busy: usize,
    pub error: Option<StudyRunError<E>>,
}

/// Takes the lock, even if another thread panicked while it held it: the panic will end the program anyway.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Task {
    /// The cost of a replica, in messages.
    pub(super) fn work(&self) -> u64 {
        self.messages.saturating_add(self.processes.into()).saturating_add(RUN_WORK)
    }

    /// The noise of the first replica.
    pub(super) fn injection(&self, sources: &[Source]) -> Injection {
        let seed = self.seed;
        let phases = match self.cosched {
            true => Phases::Together { seed, replica: 0 },
            false => Phases::Drawn { seed, replica: 0 },
        };
        Injection { sources: sources.to_vec(), phases, wallclock: self.wallclock, computation_only: false }
    }
}

impl StudyRunner<'_> {
    /// Runs everything that is missing and passes it to `keep` in batches. Returns the tracks even after an error.
    pub fn run<'k, E: Send>(
        &self,
        tracks: Tracks,
        keep: &'k mut Keep<'k, E>,
    ) -> (Tracks, Result<Results, StudyRunError<E>>) {
        let shared = self.share(tracks, keep);
        self.accelerate(&shared);
        let wide = self.wide(&lock(&shared.state).tracks, &shared.order, self.threads);
        for task in wide {
            while let Some(replica) = self.take_one(&shared, task) {
                self.run_batch(&shared, task, replica..replica + 1, (self.threads, None));
            }
        }
        let helpers = self.threads.max(1) - 1;
        std::thread::scope(|scope| {
            (0..helpers).for_each(|_| {
                // With fewer threads than requested, only the run time changes.
                let _ = std::thread::Builder::new().spawn_scoped(scope, || self.work(&shared));
            });
            self.work(&shared);
        });
        self.concluded(shared)
    }

    /// The simulation of a task, without noise and latencies, and its workload.
    pub(super) fn of_task<'t>(&'t self, task: &Task) -> Option<(Simulation<'t>, &'t Workload)> {
        let schedule = self.plan.schedules.get(task.schedule)?;
        let network = self.plan.networks.get(task.network)?;
        let receive_overlap = task.receive_overlap;
        let simulation = Simulation { receive_overlap, ..Simulation::new(&network.network) };
        Some((simulation, &schedule.runnable))
    }

    pub(super) fn share<'k, E>(&self, tracks: Tracks, keep: &'k mut Keep<'k, E>) -> Shared<'k, E> {
        let state = Mutex::new(State { tracks, busy: 0, error: None });
        Shared { state, changed: Condvar::new(), keep: Mutex::new(keep), order: self.order() }
    }

    pub(super) fn concluded<E>(&self, shared: Shared<'_, E>) -> (Tracks, Result<Results, StudyRunError<E>>) {
        let state = shared.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        let result = match (state.error, state.tracks.results(self.plan)) {
            (Some(error), _) => Err(error),
            (None, Some(results)) => Ok(results),
            (None, None) => Err(StudyRunError::Interrupted),
        };
        (state.tracks, result)
    }

    fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.plan.tasks.len()).collect();
        order.sort_by_key(|&task| std::cmp::Reverse(self.plan.tasks.get(task).map_or(0, Task::work)));
        order
    }

    /// The tasks whose replicas run one at a time on all threads.
    pub(super) fn wide(&self, tracks: &Tracks, order: &[usize], threads: usize) -> Vec<usize> {
        let threads = threads as u64;
        let mut wide = Vec::new();
        // The work left in this task and all smaller ones, which could run beside it.
        let mut rest = 0u64;
        for &index in order.iter().rev() {
            let Some(task) = self.plan.tasks.get(index) else { continue };
            rest = rest.saturating_add(task.work().saturating_mul(tracks.missing(index).into()));
            let side_by_side = self.plan.memory_bytes(task).saturating_mul(self.threads as u64);
            let too_large = self.memory.is_some_and(|memory| side_by_side > memory);
            let few = task.work().saturating_mul(threads * ROUNDS) > rest;
            if threads > 1 && !is_small(task.processes) && (too_large || few) {
                wide.push(index);
            }
        }
        wide.reverse();
        wide
    }

    /// The next replica of a task; none after an error.
    pub(super) fn take_one<E>(&self, shared: &Shared<'_, E>, task: usize) -> Option<u32> {
        let mut state = lock(&shared.state);
        if state.error.is_some() {
            return None;
        }
        state.tracks.take(task, 1).map(|replicas| replicas.start)
    }

    /// The loop of every thread until no work is left.
    pub(super) fn work<E>(&self, shared: &Shared<'_, E>) {
        loop {
            let mut state = lock(&shared.state);
            let (task, replicas) = loop {
                if state.error.is_some() {
                    return;
                }
                if let Some(next) = self.next(&mut state.tracks, &shared.order) {
                    break next;
                }
                if state.busy == 0 {
                    return;
                }
                // Results of other threads may require more replicas.
                state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            };
            state.busy += 1;
            drop(state);
            self.run_batch(shared, task, replicas, (1, None));
            lock(&shared.state).busy -= 1;
            shared.changed.notify_all();
        }
    }

    /// The next batch, from the largest task with work left.
    pub(super) fn next(&self, tracks: &mut Tracks, order: &[usize]) -> Option<(usize, Range<u32>)> {
        order.iter().find_map(|&index| {
            let left = tracks.left(index);
            let task = self.plan.tasks.get(index).filter(|_| left > 0)?;
            let affordable = (BATCH_WORK / task.work()).max(1);
            let fair = u64::from(left).div_ceil(2 * self.threads.max(1) as u64);
            Some((index, tracks.take(index, affordable.min(fair) as u32)?))
        })
    }

    /// Runs a batch and keeps it. If the batch fails, its finished part is kept too.
    pub(super) fn run_batch<E>(
        &self,
        shared: &Shared<'_, E>,
        index: usize,
        replicas: Range<u32>,
        on: (usize, Option<&dyn Cluster>),
    ) {
        let began = Instant::now();
        let mut makespans = Vec::with_capacity(replicas.len());
        let first = replicas.start;
        let fault = self.simulate(index, replicas, on, &mut makespans).err();
        let micros = began.elapsed().as_micros() as u64;
        self.keep_batch(shared, &Batch { task: index as u32, first, micros, makespans }, fault);
    }

    /// Keeps a batch, or the finished part of one that failed.
    pub(super) fn keep_batch<E>(&self, shared: &Shared<'_, E>, batch: &Batch, fault: Option<Fault>) {
        let kept = if batch.makespans.is_empty() { Ok(()) } else { (lock(&shared.keep))(batch) };
        let mut state = lock(&shared.state);
        let error = match (kept, fault) {
            (Err(fault), _) => Some(StudyRunError::Keep(fault)),
            (Ok(()), Some(Fault::Run(RunError::Interrupted))) => Some(StudyRunError::Interrupted),
            (Ok(()), Some(fault)) => {
                Some(StudyRunError::Run { point: self.name(batch.task as usize), fault })
            }
            (Ok(()), None) => None,
        };
        if let Some(error) = error {
            state.error.get_or_insert(error);
        }
        state.tracks.give(batch);
    }

    /// Runs replicas on this many threads, or on a cluster.
    pub(super) fn simulate(
        &self,
        index: usize,
        replicas: Range<u32>,
        on: (usize, Option<&dyn Cluster>),
        makespans: &mut Vec<Time>,
    ) -> Result<(), Fault> {
        let Some(task) = self.plan.tasks.get(index) else { return Ok(()) };
        let noise = task.noise.and_then(|noise| self.plan.noises.get(noise));
        let mut noise = noise.map(|noise| task.injection(&noise.sources));
        let latency = task.latency.and_then(|latency| self.plan.latencies.get(latency));
        for replica in replicas {
            // Members of a cluster must stop together, which the engine ensures.
            if on.1.is_none() && self.stop.load(Ordering::Relaxed) {
                return Err(RunError::Interrupted.into());
            }
            noise.iter_mut().for_each(|noise| noise.set_replica(replica));
            let latency = latency.map(|latency| latency.drawn.of_replica(replica));
            let drawn = (noise.as_ref(), latency.as_ref());
            let makespan = match self.one(task, drawn, on) {
                // Then every member runs the whole replica itself.
                Err(Fault::Run(RunError::NoClusterWithoutLookahead)) => self.one(task, drawn, (1, None)),
                makespan => makespan,
            };
            makespans.push(makespan?);
        }
        Ok(())
    }

    fn one(
        &self,
        task: &Task,
        (noise, latency): (Option<&Injection>, Option<&Drawn>),
        (threads, cluster): (usize, Option<&dyn Cluster>),
    ) -> Result<Time, Fault> {
        let Some((simulation, workload)) = self.of_task(task) else { return Ok(Time::ZERO) };
        let mut seen = 0;
        let long = task.messages > LONG_RUN;
        let mut progress = |progress: Progress| {
            if long {
                (self.advance)(progress.messages.saturating_sub(seen));
                seen = progress.messages;
            }
        };
        let mut control =
            Control { cluster, ..Control::new(threads).stop_if(self.stop).progress(&mut progress) };
        let outcome = Simulation { noise, latency, ..simulation }.run(workload, &mut control)?.outcome;
        (self.advance)(task.messages.saturating_sub(seen));
        match outcome.stuck {
            Some(Stuck { unfinished: unfinished @ 1.., .. }) => Err(Fault::Stuck { unfinished }),
            Some(Stuck { leftover_count: messages, .. }) => Err(Fault::Leftover { messages }),
            None => Ok(outcome.makespan()),
        }
    }

    /// The name of a task for error messages.
    fn name(&self, index: usize) -> String {
        let point = self.plan.points.iter().find(|point| point.task == index || point.quiet == index);
        point.map_or_else(String::new, |point| {
            let at = &point.coordinates;
            format!(
                "{} on {} processes, network {}, noise {}",
                at.workload, at.processes, at.network, at.noise
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::Study;
    use std::convert::Infallible;
    use std::path::Path;
    use straggler_schedule::collectives::{Job, Name, Operation};

    const STUDY: &str = "
name = 'small'
replicas = 70
until-ci = '1%'
processes = [2, 16, 100]
collective = ['barrier', 'bcast:binomial']
network = 'chic'
noise = ['none', 'poisson:rate=10kHz,duration=exponential(mean=20us)', 'altix']
cosched = [false, true]
";

    fn plan(text: &str) -> Plan {
        Plan::new(&Study::parse(text).unwrap(), Path::new("")).unwrap()
    }

    fn runner<'a>(plan: &'a Plan, threads: usize, stop: &'a AtomicBool) -> StudyRunner<'a> {
        StudyRunner { plan, threads, accelerator: None, memory: None, stop, advance: &|_| () }
    }

    /// Returns the results, and the batches in which they came.
    fn run(plan: &Plan, threads: usize, there: &[Batch]) -> (Results, Vec<Batch>) {
        let stop = AtomicBool::new(false);
        let runner = runner(plan, threads, &stop);
        let mut tracks = Tracks::new(plan);
        tracks.restore(there);
        let mut batches = Vec::new();
        let mut keep = |batch: &Batch| {
            batches.push(batch.clone());
            Ok::<(), Infallible>(())
        };
        let (tracks, results) = runner.run(tracks, &mut keep);
        assert!(tracks.is_finished());
        (results.unwrap(), batches)
    }

    #[test]
    fn threads_and_resumption_change_nothing() {
        let plan = plan(STUDY);
        let (expected, batches) = run(&plan, 1, &[]);
        assert_eq!(expected.points.len(), 2 * 3 * 2 * 3);
        for threads in [2, 3, 7] {
            assert_eq!(run(&plan, threads, &[]).0, expected, "{threads} threads");
        }
        for step in [2, 3, 5] {
            let some: Vec<Batch> = batches.iter().step_by(step).cloned().collect();
            let (again, rest) = run(&plan, 2, &some);
            assert_eq!(again, expected);
            let count = |batches: &[Batch]| batches.iter().map(|batch| batch.makespans.len()).sum::<usize>();
            assert_eq!(count(&rest) + count(&some), count(&batches), "nothing is run twice");
        }
        assert_eq!(run(&plan, 2, &batches).1, []);
        let counts: std::collections::BTreeSet<usize> =
            expected.points.iter().map(|point| point.makespans.len()).collect();
        assert!(counts.len() > 2, "points end at different numbers of replicas: {counts:?}");
        assert!(counts.iter().all(|count| [1, 16, 32, 64, 70].contains(count)), "{counts:?}");
    }

    /// Compares results with direct calls of the engine.
    #[test]
    fn the_numbers_are_the_engine_s() {
        let plan = plan(
            "name='a'\nseed=5\nreplicas=4\nprocesses=33\ncollective='allreduce:ring'\nsize=100\ncycles=2\ncompute='3us'\n\
             network='altix'\nnetwork-scale=2\nnoise='periodic:period=1ms,duration=100us'\nwallclock=true\ncosched=true",
        );
        let (results, _) = run(&plan, 2, &[]);
        let network = straggler_model::Network::parse("altix").unwrap().scaled("2".parse().unwrap()).unwrap();
        let job = Job::new(33, 100);
        let algorithm: straggler_schedule::collectives::Algorithm = Name::Ring.into();
        let collective = algorithm.build(Operation::Allreduce, &job).unwrap();
        let spec: straggler_noise::NoiseSpec = "periodic:period=1ms,duration=100us".parse().unwrap();
        let sources = spec.load(5).unwrap().sources;
        let alone = |noise: Option<&Injection>| {
            let mut control = Control::new(1);
            let simulation = Simulation { noise, ..Simulation::new(&network) };
            let (cycles, compute) = (2, Time(3_000_000));
            let workload =
                straggler_sim::Workload::Collective { collective: collective.clone(), cycles, compute };
            simulation.run(&workload, &mut control).unwrap().outcome.makespan()
        };
        let point = &results.points[0];
        assert_eq!(point.quiet, alone(None));
        for (replica, &makespan) in point.makespans.iter().enumerate() {
            let phases = straggler_noise::Phases::Together { seed: 5, replica: replica as u32 };
            let injection = Injection::new(sources.clone(), phases, true).unwrap();
            assert_eq!(makespan, alone(Some(&injection)), "{replica}");
        }
        assert_eq!(point.makespans.len(), 4);
    }

    /// A GOAL file and a trace in copies, with the network fitted to the trace, compared with direct calls of the
    /// engine.
    #[test]
    fn programs_are_run_as_they_are() {
        let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures"));
        let text = "name='a'\nseed=5\nreplicas=3\nnoise='periodic:period=1ms,duration=100us'\n\
                    [[sweep]]\ngoal='conformance/dissemination-00.goal'\nnetwork='chic'\n\
                    [[sweep]]\ntrace='traces/halo'\ncopies=[4, 1]";
        let plan = Plan::new(&Study::parse(text).unwrap(), folder).unwrap();
        let (results, _) = run(&plan, 2, &[]);
        let path = folder.join("conformance/dissemination-00.goal");
        let graph = straggler_schedule::goal::read_path(path).unwrap().graph;
        let (trace, _) = straggler_trace::format::directory::open(&folder.join("traces/halo")).unwrap();
        let recording = straggler_schedule::traced::TracedRun::from_trace(&trace, &Default::default());
        let recording = std::sync::Arc::new(recording.unwrap());
        let copies = |copies| {
            let how = straggler_schedule::traced::Building::default();
            straggler_schedule::traced::Playback::new(recording.clone(), copies, &how).unwrap()
        };
        let chic = straggler_model::Network::parse("chic").unwrap();
        let fitted = crate::predict::fit(&trace).unwrap().network;
        let expected: [(straggler_sim::Workload, _); 3] =
            [(graph.into(), &chic), (copies(1).into(), &fitted), (copies(4).into(), &fitted)];
        let spec: straggler_noise::NoiseSpec = "periodic:period=1ms,duration=100us".parse().unwrap();
        let noise = spec.load(5).unwrap().sources;
        let noise = Injection::new(noise, Phases::Drawn { seed: 5, replica: 0 }, false).unwrap();
        assert_eq!(results.points.len(), expected.len());
        for (point, (workload, network)) in results.points.iter().zip(&expected) {
            let simulation = Simulation { noise: Some(&noise), ..Simulation::new(network) };
            let alone = straggler_sim::Replicas::new(simulation, 1);
            assert_eq!(point.point.processes, workload.processes());
            assert_eq!(point.quiet, alone.quiet(workload).unwrap().outcome.makespan());
            assert_eq!(point.makespans, alone.makespans(workload, 0..3).unwrap());
            assert!(point.makespans[0] > point.quiet);
        }
    }

    #[test]
    fn a_program_that_cannot_finish_has_no_time() {
        let folder = tempfile::tempdir().unwrap();
        let stuck = "num_ranks 2\nrank 0 {\nrecv 1b from 1\n}\nrank 1 {\nrecv 1b from 0\n}";
        std::fs::write(folder.path().join("stuck.goal"), stuck).unwrap();
        let study = Study::parse("name='a'\ngoal='stuck.goal'\nnetwork='chic'").unwrap();
        let plan = Plan::new(&study, folder.path()).unwrap();
        let stop = AtomicBool::new(false);
        let runner = runner(&plan, 2, &stop);
        let mut keep = |_: &Batch| Ok::<(), Infallible>(());
        let (_, result) = runner.run(Tracks::new(&plan), &mut keep);
        let fault = result.unwrap_err().to_string();
        assert!(fault.contains("stuck.goal on 2 processes") && fault.contains("2 ranks never"), "{fault}");
    }

    #[test]
    fn large_and_few_go_one_at_a_time() {
        let plan = plan(
            "name='a'\nreplicas=5\nprocesses=[1024, 131072, 262144]\ncollective='bcast:binomial'\nnetwork='chic'\nnoise='altix'",
        );
        let stop = AtomicBool::new(false);
        let wide = |threads, memory| {
            let runner = StudyRunner { memory, ..runner(&plan, threads, &stop) };
            let tasks = runner.wide(&Tracks::new(&plan), &runner.order(), runner.threads);
            tasks.iter().map(|&task| plan.tasks[task].processes).collect::<std::collections::BTreeSet<_>>()
        };
        assert!(wide(1, Some(0)).is_empty(), "one thread has no choice");
        assert_eq!(wide(64, None).into_iter().collect::<Vec<_>>(), [131072, 262144]);
        assert!(wide(2, None).len() <= 1);
        assert!(wide(2, Some(300 * 200_000)).contains(&262144));
        assert_eq!(run(&plan, 16, &[]).0, run(&plan, 1, &[]).0);
    }

    #[test]
    fn an_end_from_outside() {
        let plan = plan(STUDY);
        let stop = AtomicBool::new(true);
        let runner = runner(&plan, 2, &stop);
        let mut keep = |_: &Batch| Ok::<(), Infallible>(());
        let (_, result) = runner.run(Tracks::new(&plan), &mut keep);
        assert!(matches!(result, Err(StudyRunError::Interrupted)));
        stop.store(false, Ordering::Relaxed);
        let mut keep = |_: &Batch| Err("the disk is full");
        let (_, result) = runner.run(Tracks::new(&plan), &mut keep);
        assert!(matches!(result, Err(StudyRunError::Keep("the disk is full"))));
    }
}
