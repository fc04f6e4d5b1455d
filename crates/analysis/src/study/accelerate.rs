//! The part of a study that runs on an accelerator. The rest runs on the CPU; results are the same.

use super::Batch;
use super::run::{Shared, State, StudyRunner, lock};
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;
use straggler_model::Time;
use straggler_sim::replicas::is_small;
use straggler_sim::{Accelerated, Accelerator, Simulation, Wanted};

/// Work of one accelerator launch, in messages: about a second.
const ACCELERATED_WORK: u64 = 1 << 32;

impl StudyRunner<'_> {
    /// Runs on the accelerator what it supports, one task at a time, in rounds. Results are kept after each round,
    /// which may also request further replicas.
    pub(super) fn accelerate<E: Send>(&self, shared: &Shared<'_, E>) {
        let Some(accelerator) = self.accelerator else { return };
        for &index in &shared.order {
            let wanted = |state: &State<E>| state.error.is_none() && state.tracks.left(index) > 0;
            if !wanted(&lock(&shared.state)) {
                continue;
            }
            let Some(task) = self.plan.tasks.get(index) else { continue };
            let Some((simulation, workload)) = self.of_task(task) else { continue };
            let noise = task.noise.and_then(|noise| self.plan.noises.get(noise));
            let noise = noise.map(|noise| task.injection(&noise.sources));
            let latency = task.latency.and_then(|latency| self.plan.latencies.get(latency));
            let latency = latency.map(|latency| &latency.drawn);
            let simulation = Simulation { noise: noise.as_ref(), latency, ..simulation };
            if !accelerator.fits(workload, &simulation) {
                continue;
            }
            let affordable = (ACCELERATED_WORK / task.work()).max(1).min(u32::MAX.into()) as u32;
            let take = || {
                let mut state = lock(&shared.state);
                let left = state.tracks.left(index).min(affordable);
                if state.error.is_some() || left == 0 { None } else { state.tracks.take(index, left) }
            };
            while let Some(replicas) = take() {
                let (simulation, wanted, stop) = (&simulation, Wanted::Makespans, self.stop);
                let asked = Accelerated { workload, simulation, replicas, wanted, stop };
                self.accelerate_task(shared, index, &asked, accelerator);
            }
        }
    }

    /// Runs replicas of a task on an accelerator, and those it leaves on the CPU.
    fn accelerate_task<E: Send>(
        &self,
        shared: &Shared<'_, E>,
        index: usize,
        asked: &Accelerated<'_>,
        accelerator: &dyn Accelerator,
    ) {
        let (messages, replicas) = (asked.workload.messages(), asked.replicas.clone());
        let began = Instant::now();
        let mut ended: Vec<Option<Time>> = vec![None; replicas.len()];
        let run = accelerator.run(asked, &mut |one| {
            (self.advance)(messages);
            if let Some(place) = ended.get_mut((one.replica - replicas.start) as usize) {
                *place = Some(one.makespan);
            }
        });
        let micros = began.elapsed().as_micros() as u64 / (ended.iter().flatten().count() as u64).max(1);
        // Consecutive finished replicas are kept as batches; the gaps between them go to the CPU.
        let mut first = replicas.start;
        for same in ended.chunk_by(|a, b| a.is_some() == b.is_some()) {
            let count = same.len() as u32;
            let makespans: Vec<Time> = same.iter().copied().flatten().collect();
            if makespans.is_empty() && run.is_ok() {
                self.on_all_threads(shared, index, first..first + count);
            } else {
                let micros = micros * makespans.len() as u64;
                self.keep_batch(shared, &Batch { task: index as u32, first, micros, makespans }, None);
            }
            first += count;
        }
        if let Err(error) = run {
            let nothing = Batch { task: index as u32, first, micros: 0, makespans: Vec::new() };
            self.keep_batch(shared, &nothing, Some(error.into()));
        }
    }

    /// Runs replicas that are already taken: large ones one after another, small ones in parallel.
    fn on_all_threads<E: Send>(&self, shared: &Shared<'_, E>, index: usize, replicas: Range<u32>) {
        let small = self.plan.tasks.get(index).is_some_and(|task| is_small(task.processes));
        let (beside, threads) = if small { (self.threads, 1) } else { (1, self.threads) };
        let next = AtomicU32::new(replicas.start);
        let work = || {
            loop {
                let replica = next.fetch_add(1, Ordering::Relaxed);
                if replica >= replicas.end || lock(&shared.state).error.is_some() {
                    return;
                }
                self.run_batch(shared, index, replica..replica + 1, (threads, None));
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..beside.min(replicas.len()) {
                // With fewer threads than requested, only the run time changes.
                let _ = std::thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
    }
}
