//! GPUs that are idle in every step because their hosts launch kernels later than the GPU could run them.

use super::super::TimedOp;
use super::{Candidate, CauseKind, CauseSearch, percent, time};
use crate::{Host, Job, words};
use straggler_model::stats::median;

/// Idle time below this share of a step is normal.
const NORMAL_IDLE: f64 = 0.05;
/// A host that spends this share of the idle time in calls that wait for the GPU is slowed by them.
const MAINLY: f64 = 0.3;
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
        let mut candidate = self.repaired(CauseKind::HostBound, String::new(), repair);
        let cause = &mut candidate.cause;
        if self.worth(1e12 * cause.seconds) < NORMAL_IDLE {
            return None;
        }
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
        let whose = words::plural(job.workers.len(), "The GPU waits", "GPUs wait");
        cause.says =
            format!("{whose} for the host during {} of a step", percent(self.share(typical).min(1.0)));
        cause.evidence.push(match job.workers.len() {
            1 => format!("No kernel runs for {} a step, because the next one is not launched yet.", time(typical)),
            _ => format!(
                "No kernel runs for {} a step on a typical rank, and for {} on rank {}, because the next one is not \
                 launched yet.",
                time(typical),
                time(most),
                job.workers[worst].rank
            ),
        });
        cause.evidence.extend(launches(job, self.real));
        let does = does(job);
        cause.evidence.extend(does_words(&does));
        let waits: f64 = does.iter().filter(|(name, _)| waits_for_gpu(name)).map(|(_, share)| share).sum();
        cause.fix = match waits >= MAINLY {
            true => "Do not wait for the GPU within a step: avoid .item(), .cpu(), printing tensors, and copies from memory that \
                     is not pinned."
                .into(),
            false => "Launch fewer and larger kernels (torch.compile, CUDA graphs, fused optimizers, larger batches), and do \
                      less in Python between them."
                .into(),
        };
        Some(candidate)
    }
}

/// A sentence about the number of kernels and the time that the host has for each.
fn launches(job: &Job, real: f64) -> Option<String> {
    let sum = |of: &dyn Fn(&Host) -> f64| job.hosts.iter().map(of).sum::<f64>();
    let (steps, kernels) = (sum(&|host| host.steps as f64), sum(&|host| host.kernels as f64));
    (steps > 0.0 && kernels > 0.0).then(|| {
        format!(
            "A step has {:.0} kernels of {} on average; the host takes {} for each.",
            kernels / steps,
            time(sum(&|host| host.busy_ps as f64) / kernels),
            time(real * steps / kernels)
        )
    })
}

/// What the hosts do while their GPUs wait, as shares of that time, the largest first.
fn does(job: &Job) -> Vec<(String, f64)> {
    let mut sums: std::collections::BTreeMap<&str, f64> = std::collections::BTreeMap::new();
    let each = job.hosts.iter().flat_map(|host| &host.does);
    each.for_each(|(name, ps)| *sums.entry(name).or_default() += *ps as f64);
    let all: f64 = sums.values().sum();
    let mut does: Vec<(String, f64)> =
        sums.into_iter().map(|(name, sum)| (name.to_string(), sum / all.max(1.0))).collect();
    does.sort_by(|a, b| b.1.total_cmp(&a.1));
    does
}

fn does_words(does: &[(String, f64)]) -> Option<String> {
    let named =
        does.iter().take(NAMED).filter(|(_, share)| *share >= LEAST).map(|(name, share)| match &name[..] {
            "" => format!("code outside of recorded operations, such as Python ({})", percent(*share)),
            name => format!("{name} ({})", percent(*share)),
        });
    let named: Vec<String> = named.collect();
    (!named.is_empty()).then(|| format!("Meanwhile the host is in {}.", words::list(&named)))
}

/// Calls and operations that return when the GPU has done its work.
fn waits_for_gpu(name: &str) -> bool {
    let calls = ["Synchronize", "aten::item", "_local_scalar_dense", "aten::nonzero"];
    calls.iter().any(|call| name.contains(call)) || matches!(name, "cudaMemcpy" | "hipMemcpy")
}
