//! Stages, or the whole job, that compute longer since some step, while no worker of a stage stands out.

use super::since::last_end;
use super::{Candidate, CauseSearch, Evidence, Finding};
use crate::Role;
use std::collections::BTreeMap;
use straggler_model::stats::median;

/// Stages are alike if they differ from the mean by at most this share of it.
const ALIKE: f64 = 0.05;

impl CauseSearch<'_> {
    /// How many times as long a stage computes in a step as before it became slower. 1 if it did not.
    pub fn risen(&self, step: usize, stage: usize) -> f64 {
        let rise = self.rises[stage].as_ref().filter(|rise| rise.before > 0.0);
        rise.map_or(1.0, |rise| rise.factor_at(step))
    }

    /// Stages that became slower in the same step are one cause.
    pub fn became_slower(&self, steps: &[i64]) -> Vec<Candidate<'_>> {
        let mut by_step: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (stage, rise) in
            self.rises.iter().enumerate().filter_map(|(stage, rise)| Some((stage, rise.as_ref()?)))
        {
            by_step.entry(rise.at).or_default().push(stage);
        }
        by_step.into_values().filter_map(|stages| self.slower_since(stages, steps)).collect()
    }

    fn slower_since(&self, stages: Vec<usize>, steps: &[i64]) -> Option<Candidate<'_>> {
        let job = self.replays.job;
        let rise = self.rises[*stages.first()?].as_ref()?;
        let until =
            last_end(stages.iter().filter_map(|&stage| self.rises[stage].as_ref()).map(|rise| rise.until));
        let rise = &rise.clone().until(until);
        let all = stages.len() == job.stages();
        let finding = if all {
            // Compares medians: a long first step would hide the rise.
            let (higher, others): (Vec<usize>, Vec<usize>) =
                (0..steps.len()).partition(|&step| rise.factor_at(step) > 1.0);
            let typical =
                |of: &[usize]| median(&mut of.iter().map(|&step| steps[step]).collect::<Vec<i64>>()) as f64;
            let (high, low) = (typical(&higher), typical(&others));
            Finding::WholeJob {
                typical_step_seconds: (high > low).then_some([high / 1e12, low / 1e12]),
                waits_in_computing: job.waits_in_computing,
            }
        } else {
            Finding::Stages { stages: stages.clone(), otherwise_alike: self.was_alike(&stages) }
        };
        let of_stage = |&stage: &usize| {
            Some(Evidence::SlowStage { stage, change: self.rises[stage].as_ref()?.change(job) })
        };
        let evidence = stages.iter().filter_map(of_stage).take(5);
        let evidence = evidence.chain((!all).then_some(Evidence::NotThePartition)).collect();
        let ranks = job.workers.iter().filter(|worker| worker.recorded && !all);
        let ranks =
            ranks.filter(|worker| stages.contains(&(worker.stage as usize))).map(|worker| worker.rank);
        let ranks = ranks.collect();
        let mut candidate = self.repaired(finding, move |step, at| {
            let stage = job.workers[at.worker].stage as usize;
            let is_compute = job.kinds[at.op.kind as usize].role == Role::Compute;
            match is_compute && stages.contains(&stage) {
                true => ((at.takes as f64 / self.risen(step, stage)).round() as i64, at.delay),
                false => at.real(),
            }
        });
        candidate.cause.evidence = evidence;
        candidate.cause.ranks = ranks;
        (candidate.cause.since_step, candidate.cause.until_step) = rise.steps(job);
        Some(candidate)
    }

    /// Whether stages computed as fast as the others before they became slow.
    fn was_alike(&self, stages: &[usize]) -> bool {
        let usual: Vec<f64> = (0..self.rises.len())
            .map(|stage| {
                let rise = self.rises[stage].as_ref();
                rise.map_or_else(|| median(&mut self.facts.levels(stage)), |rise| rise.before)
            })
            .collect();
        let others = || (0..usual.len()).filter(|stage| !stages.contains(stage));
        let mean = others().map(|stage| usual[stage]).sum::<f64>() / others().count().max(1) as f64;
        let job = self.replays.job;
        let has_slow = |stage: usize| {
            (0..job.workers.len())
                .any(|worker| job.workers[worker].stage as usize == stage && self.slow_in[worker].is_some())
        };
        stages.iter().all(|&stage| (usual[stage] - mean).abs() <= ALIKE * mean && !has_slow(stage))
    }
}
