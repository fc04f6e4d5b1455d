//! GPUs that are idle in every step because their hosts launch kernels later than the GPU could run them.

use super::super::TimedOp;
use super::{Candidate, CauseSearch, Evidence, Finding, HostActivity};
use crate::{Host, Job};
use std::collections::BTreeMap;
use straggler_model::stats::median;

/// Idle time below this share of a step is normal.
const NORMAL_IDLE: f64 = 0.05;
/// The number of things that the host does that are named, and the least share of each.
const NAMED: usize = 4;
const LEAST: f64 = 0.03;

impl CauseSearch<'_> {
    /// Removes the idle time that is usual before each operation. What exceeds it is a launch delay.
    pub fn host_bound(&self) -> Option<Candidate<'_>> {
        let job = self.replays.job;
        let idle = move |step: usize, place: usize, worker: usize| {
            let of = job.steps[step];
            let column = worker / (job.workers.len() / of.columns as usize);
            job.idle_ps.get(job.instance(step, column, place)).copied().unwrap_or(0)
        };
        if job.idle_ps.iter().all(|&idle| idle == 0) {
            return None;
        }
        let repair = move |step: usize, at: &TimedOp<'_>| {
            let usual = idle(step, at.place, at.worker).min(at.ideal_delay).min(at.delay);
            (at.takes, at.delay - usual)
        };
        let mut by_worker = vec![0i64; job.workers.len()];
        for step in 0..job.steps.len() {
            let ops = job.shape(step).ops.len();
            for (at, instance) in job.instances(step).enumerate() {
                let sum = &mut by_worker[job.worker(step, at / ops, at % ops)];
                *sum = sum.saturating_add(job.idle_ps.get(instance).copied().unwrap_or(0));
            }
        }
        let steps = job.steps.len() as f64;
        let mut each: Vec<f64> = by_worker.iter().map(|&sum| sum as f64 / steps).collect();
        let worst = (0..each.len()).max_by(|&a, &b| each[a].total_cmp(&each[b])).unwrap_or(0);
        let most = each[worst];
        let typical = median(&mut each);
        let activities = activities(job);
        let waits = activities.iter().filter(|activity| waits_for_gpu(&activity.name));
        let finding = Finding::HostBound {
            gpus: job.workers.len(),
            idle_share: self.share(typical).min(1.0),
            host_waits_share: waits.map(|activity| activity.share).sum(),
        };
        let mut candidate = self.repaired(finding, repair);
        if self.worth(1e12 * candidate.cause.seconds) < NORMAL_IDLE {
            return None;
        }
        let idle = Evidence::Idle {
            typical_seconds: typical / 1e12,
            rank: (job.workers.len() > 1).then(|| job.workers[worst].rank),
            seconds: most / 1e12,
        };
        let named = activities.into_iter().take(NAMED).filter(|activity| activity.share >= LEAST);
        let named: Vec<HostActivity> = named.collect();
        let host = (!named.is_empty()).then_some(Evidence::HostActivities { activities: named });
        candidate.cause.evidence =
            [Some(idle), kernels(job, self.real), host].into_iter().flatten().collect();
        Some(candidate)
    }
}

/// The number of kernels, and the time that the host has for each.
fn kernels(job: &Job, real: f64) -> Option<Evidence> {
    let sum = |of: &dyn Fn(&Host) -> f64| job.hosts.iter().map(of).sum::<f64>();
    let (steps, kernels) = (sum(&|host| host.steps as f64), sum(&|host| host.kernels as f64));
    (steps > 0.0 && kernels > 0.0).then(|| Evidence::Kernels {
        per_step: kernels / steps,
        mean_seconds: sum(&|host| host.busy_ps as f64) / kernels / 1e12,
        host_seconds: real * steps / kernels / 1e12,
    })
}

/// What the hosts do while their GPUs wait, as shares of that time, the largest first.
fn activities(job: &Job) -> Vec<HostActivity> {
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    let each = job.hosts.iter().flat_map(|host| &host.does);
    each.for_each(|(name, ps)| *sums.entry(name).or_default() += *ps as f64);
    let all: f64 = sums.values().sum();
    let share = |(name, sum): (&str, f64)| HostActivity { name: name.into(), share: sum / all.max(1.0) };
    let mut activities: Vec<HostActivity> = sums.into_iter().map(share).collect();
    activities.sort_by(|a, b| b.share.total_cmp(&a.share));
    activities
}

/// Calls and operations that return when the GPU has done its work.
fn waits_for_gpu(name: &str) -> bool {
    let calls = ["Synchronize", "aten::item", "_local_scalar_dense", "aten::nonzero"];
    calls.iter().any(|call| name.contains(call)) || matches!(name, "cudaMemcpy" | "hipMemcpy")
}
