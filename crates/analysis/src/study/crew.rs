//! A study whose runs are distributed over the members of a cluster.
//!
//! ```text
//! first member                                  every other member
//!   large runs, one at a time:  join ─────────►   runs its share of the processes
//!   all others:                 batch ────────►   runs it on one of its threads
//!               keeps and counts ◄──────── done   and asks for the next by that
//! ```
//! Only the first member decides what runs next and stores results. It does so like the threads of a single machine,
//! so the numbers and their order in the results are the same. Faster members get more work.

use super::run::{Fault, Shared, StudyRunError, StudyRunner, lock};
use super::{Batch, Results, Tracks};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use straggler_model::Time;
use straggler_sim::RunError;
use straggler_sim::cluster::Cluster;

/// How long a member sleeps if there are no messages.
const NAP: Duration = Duration::from_micros(200);

/// A message from the first member.
#[derive(Debug, Serialize, Deserialize)]
enum Order {
    /// Run a replica together with all others.
    Join { task: usize, replica: u32 },
    /// There are no more shared runs.
    Apart,
    /// Run some replicas alone.
    Run { task: usize, replicas: Range<u32> },
    /// One thread of the receiver has no work left.
    End,
}

/// A message from another member.
#[derive(Debug, Serialize, Deserialize)]
enum Report {
    /// One of its threads is idle.
    Idle,
    /// A finished batch, or the finished part of one that failed.
    Done { task: u32, first: u32, micros: u64, makespans: Vec<Time>, fault: Option<Fault> },
}

impl StudyRunner<'_> {
    /// Like [`StudyRunner::run`], for the first member of a cluster; the others call [`StudyRunner::follow`].
    pub fn lead<'k, E: Send>(
        &self,
        cluster: &dyn Cluster,
        tracks: Tracks,
        keep: &'k mut super::run::Keep<'k, E>,
    ) -> (Tracks, Result<Results, StudyRunError<E>>) {
        let shared = self.share(tracks, keep);
        let members = 1..cluster.size();
        let threads = self.threads.saturating_mul(cluster.size() as usize);
        let wide = self.wide(&lock(&shared.state).tracks, &shared.order, threads);
        for task in wide {
            while let Some(replica) = self.take_one(&shared, task) {
                send_to_all(cluster, &members, || Order::Join { task, replica });
                self.run_batch(&shared, task, replica..replica + 1, (self.threads, Some(cluster)));
            }
        }
        send_to_all(cluster, &members, || Order::Apart);
        std::thread::scope(|scope| {
            (0..self.threads.max(1)).for_each(|_| {
                let _ = std::thread::Builder::new().spawn_scoped(scope, || self.work(&shared));
            });
            self.dispatch(&shared, cluster);
            // If no thread could be started, this one does the work.
            self.work(&shared);
        });
        self.concluded(shared)
    }

    /// Hands out batches until no work is left and all threads of other members have been told so.
    fn dispatch<E>(&self, shared: &Shared<'_, E>, cluster: &dyn Cluster) {
        // The members of idle threads that wait for an order, and the number of threads not yet sent `End`.
        let mut idle: Vec<u32> = Vec::new();
        let mut at_work = cluster.gather_values(&0u64).map_or(0, |all| all.into_iter().sum::<u64>());
        while at_work > 0 {
            let mut heard = false;
            while let Ok(Some((from, report))) = cluster.receive_control_value::<Report>() {
                heard = true;
                idle.push(from);
                if let Report::Done { task, first, micros, makespans, fault } = report {
                    let messages = self.plan.tasks.get(task as usize).map_or(0, |task| task.messages);
                    (self.advance)(messages.saturating_mul(makespans.len() as u64));
                    self.keep_batch(shared, &Batch { task, first, micros, makespans }, fault);
                    lock(&shared.state).busy -= 1;
                    shared.changed.notify_all();
                }
            }
            if self.stop.load(Ordering::Relaxed) {
                lock(&shared.state).error.get_or_insert(StudyRunError::Interrupted);
                shared.changed.notify_all();
            }
            while let Some(&member) = idle.last() {
                let Some(order) = self.order_for(shared) else { break };
                at_work -= u64::from(matches!(order, Order::End));
                idle.pop();
                let _ = cluster.send_control_value(member, &order);
            }
            if !heard {
                std::thread::sleep(NAP);
            }
        }
    }

    /// The order for an idle thread; none if it must wait for the results of others.
    fn order_for<E>(&self, shared: &Shared<'_, E>) -> Option<Order> {
        let mut state = lock(&shared.state);
        if state.error.is_some() {
            return Some(Order::End);
        }
        if let Some((task, replicas)) = self.next(&mut state.tracks, &shared.order) {
            state.busy += 1;
            return Some(Order::Run { task, replicas });
        }
        (state.busy == 0).then_some(Order::End)
    }

    /// Executes the orders of the first member of a cluster until no work is left.
    pub fn follow(&self, cluster: &dyn Cluster) -> Result<(), RunError> {
        self.join_in(cluster)?;
        let threads = self.threads.max(1);
        cluster.gather_values(&(threads as u64)).map_err(|_| RunError::Garbled)?;
        for _ in 0..threads {
            cluster.send_control_value(0, &Report::Idle).map_err(|_| RunError::Garbled)?;
        }
        let (give, orders) = mpsc::channel::<(usize, Range<u32>)>();
        let (tell, reports) = mpsc::channel::<Report>();
        let orders = Mutex::new(orders);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                let (orders, tell) = (&orders, tell.clone());
                scope.spawn(move || {
                    let next = || orders.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    while let Ok((task, replicas)) = next() {
                        let _ = tell.send(self.report(task, replicas));
                    }
                });
            }
            let mut at_work = threads;
            while at_work > 0 {
                let mut heard = false;
                while let Some((_, order)) =
                    cluster.receive_control_value::<Order>().map_err(|_| RunError::Garbled)?
                {
                    heard = true;
                    match order {
                        Order::Run { task, replicas } => drop(give.send((task, replicas))),
                        _ => at_work -= 1,
                    }
                }
                while let Ok(report) = reports.try_recv() {
                    heard = true;
                    cluster.send_control_value(0, &report).map_err(|_| RunError::Garbled)?;
                }
                if !heard {
                    std::thread::sleep(NAP);
                }
            }
            drop(give);
            Ok(())
        })
    }

    /// Takes part in the runs shared by all members.
    fn join_in(&self, cluster: &dyn Cluster) -> Result<(), RunError> {
        loop {
            match cluster.receive_control_value::<Order>().map_err(|_| RunError::Garbled)? {
                Some((_, Order::Join { task, replica })) => {
                    // The first member stores the result, and ends the study if the run failed.
                    let _ = self.simulate(
                        task,
                        replica..replica + 1,
                        (self.threads, Some(cluster)),
                        &mut Vec::new(),
                    );
                }
                Some(_) => return Ok(()),
                None => std::thread::sleep(NAP),
            }
        }
    }

    fn report(&self, task: usize, replicas: Range<u32>) -> Report {
        let began = Instant::now();
        let (first, mut makespans) = (replicas.start, Vec::with_capacity(replicas.len()));
        let fault = self.simulate(task, replicas, (1, None), &mut makespans).err();
        let micros = began.elapsed().as_micros() as u64;
        Report::Done { task: task as u32, first, micros, makespans, fault }
    }
}

fn send_to_all(cluster: &dyn Cluster, members: &Range<u32>, order: impl Fn() -> Order) {
    members.clone().for_each(|member| drop(cluster.send_control_value(member, &order())));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::{Plan, Study};
    use std::convert::Infallible;
    use std::path::Path;
    use std::sync::atomic::{AtomicBool, AtomicUsize};
    use straggler_sim::cluster::on_threads;

    const STUDY: &str = "
name = 'spread'
replicas = 40
until-ci = '1%'
processes = [2, 16, 70000]
collective = 'bcast:binomial'
network = 'chic'
noise = ['none', 'poisson:rate=10kHz,duration=exponential(mean=20us)']
";

    fn plan(text: &str) -> Plan {
        Plan::new(&Study::parse(text).unwrap(), Path::new("")).unwrap()
    }

    static STOP: AtomicBool = AtomicBool::new(false);

    fn runner(plan: &Plan, threads: usize) -> StudyRunner<'_> {
        StudyRunner { plan, threads, accelerator: None, memory: None, stop: &STOP, advance: &|_| () }
    }

    #[test]
    fn any_cluster_finds_the_same() {
        let plan = plan(STUDY);
        let mut keep = |_: &Batch| Ok::<(), Infallible>(());
        let alone = runner(&plan, 1).run(Tracks::new(&plan), &mut keep).1.unwrap();
        for (size, threads) in [(1, 1), (2, 1), (3, 2)] {
            let kept = AtomicUsize::new(0);
            let results = on_threads(size, |cluster| {
                let runner = runner(&plan, threads);
                if cluster.rank() > 0 {
                    runner.follow(cluster).unwrap();
                    return None;
                }
                let mut keep = |batch: &Batch| {
                    kept.fetch_add(batch.makespans.len(), Ordering::Relaxed);
                    Ok::<(), Infallible>(())
                };
                Some(runner.lead(cluster, Tracks::new(&plan), &mut keep).1.unwrap())
            });
            assert_eq!(results.into_iter().flatten().next().as_ref(), Some(&alone), "{size} members");
            let runs: usize = alone.points.iter().map(|point| point.makespans.len()).sum();
            assert!(kept.into_inner() >= runs);
        }
    }

    #[test]
    fn what_fails_anywhere_ends_the_study_everywhere() {
        let plan = plan(
            "name = 'long'\nprocesses = 4\nreplicas = 500\ncollective = 'barrier'\nnetwork = 'chic'\ncompute = '6000000s'\ncycles = 4\nnoise = 'chic'",
        );
        let ends = on_threads(3, |cluster| {
            let runner = runner(&plan, 1);
            if cluster.rank() > 0 {
                return runner.follow(cluster).is_ok();
            }
            let mut keep = |_: &Batch| Ok::<(), Infallible>(());
            runner.lead(cluster, Tracks::new(&plan), &mut keep).1.is_err()
        });
        assert_eq!(ends, [true; 3]);
    }
}
