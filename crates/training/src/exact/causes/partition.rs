//! Stages of unequal work, and which split of the layers would be best.

use super::super::TimedOp;
use super::{Candidate, CauseSearch, Evidence, Finding};
use crate::{Role, mean};
use serde::Serialize;
use std::collections::BTreeSet;
use straggler_model::parallel;
use straggler_model::stats::lower_median;

impl CauseSearch<'_> {
    /// By stage: the typical computing time of a microbatch, all kinds together. The typical worker is chosen in each step, the
    /// faster of two: workers that are slow one after another do not have more work.
    fn stage_work(&self) -> Vec<f64> {
        let job = self.replays.job;
        let kinds: Vec<usize> =
            (0..job.kinds.len()).filter(|&kind| is_microbatch(&job.kinds[kind])).collect();
        let of_step = |step: usize| -> Vec<Option<f64>> {
            let mut workers = vec![Vec::new(); job.stages()];
            let chunks = self.chunks(step);
            let typical = job.workers.iter().enumerate().filter(|(place, _)| self.facts.is_typical(*place));
            for (place, worker) in typical {
                let means = kinds.iter().filter_map(|&kind| self.facts.mean_in(step, place, kind));
                let stage = worker.stage as usize;
                // Workers that became slow do not have more work.
                let work = means.sum::<f64>() * chunks[stage] / self.risen(step, stage);
                workers[worker.stage as usize].extend((work > 0.0).then_some(work));
            }
            workers.iter_mut().map(|work| (!work.is_empty()).then(|| lower_median(work))).collect()
        };
        let steps: Vec<Vec<Option<f64>>> = parallel::map(job.steps.len(), of_step);
        let over_steps = |stage: usize| {
            let known: Vec<f64> = steps.iter().filter_map(|of_step| of_step[stage]).collect();
            mean(&known)
        };
        (0..job.stages()).map(over_steps).collect()
    }

    /// How many chunks of the model each stage computes for a microbatch.
    fn chunks(&self, step: usize) -> Vec<f64> {
        let job = self.replays.job;
        let mut chunks = vec![BTreeSet::new(); job.stages()];
        let computes = job.shape(step).ops.iter().enumerate();
        for (place, op) in computes.filter(|(_, op)| is_microbatch(&job.kinds[op.kind as usize])) {
            chunks[job.workers[job.worker(step, 0, place)].stage as usize].insert(op.stage_chunk);
        }
        chunks.iter().map(|chunks| chunks.len().max(1) as f64).collect()
    }

    pub fn partition(&self, split: Option<&Split>) -> Option<Candidate<'_>> {
        let job = self.replays.job;
        let work = self.stage_work();
        let even = mean(&work);
        if work.len() < 2 || even <= 0.0 || work.iter().any(|work| *work <= 0.0) {
            return None;
        }
        let (longest, takes) =
            work.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0, even));
        let wanted = |to: Vec<f64>| {
            let work = work.clone();
            move |_: usize, at: &TimedOp<'_>| {
                if !is_microbatch(&job.kinds[at.op.kind as usize]) {
                    return at.real();
                }
                let stage = job.workers[at.worker].stage as usize;
                ((at.takes as f64 * to[stage] / work[stage]).round() as i64, at.delay)
            }
        };
        let factor = takes / even;
        let step = |split: &Split| self.real - self.gain_ps(wanted(split.work.clone()));
        let finding = Finding::Partition {
            stage: longest,
            factor,
            layers: split.map_or_else(Vec::new, |split| split.layers.clone()),
            step_seconds: split.map(|split| step(split) / 1e12),
        };
        let mut candidate = self.repaired(finding, wanted(vec![even; work.len()]));
        candidate.cause.evidence = vec![
            Evidence::WorkOfStages { seconds: work.iter().map(|work| work / 1e12).collect() },
            Evidence::WorkOfStage { stage: longest, factor },
        ];
        if job.workers.len() / work.len() < 2 {
            candidate.cause.evidence.push(Evidence::OneWorkerPerStage);
        }
        Some(candidate)
    }

    /// The best split of the layers. `layers` has the present number of each stage.
    pub fn split(&self, layers: &[u32]) -> Option<Split> {
        let work = self.stage_work();
        (work.len() == layers.len()).then(|| best_split(&work, layers)).flatten()
    }
}

/// Whether an operation runs once for every microbatch.
fn is_microbatch(kind: &crate::KindInfo) -> bool {
    kind.role == Role::Compute && kind.name != "optimizer"
}

/// A better split of the layers over the stages.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Split {
    pub layers: Vec<u32>,
    /// The time of a microbatch on the slowest stage: now, and with this split.
    pub now_seconds: f64,
    pub then_seconds: f64,
    /// By stage: the computing time of a microbatch with this split, in picoseconds.
    #[serde(skip)]
    pub work: Vec<f64>,
}

/// The split that minimises the time of the slowest stage. All layers cost the same; other work of a stage (embedding, loss)
/// stays where it is. Layers are assigned one by one to the stage that is fastest with one more.
pub fn best_split(work: &[f64], layers: &[u32]) -> Option<Split> {
    if layers.contains(&0) || layers.len() < 2 {
        return None;
    }
    // The stage with the least time per layer is taken to have no other work.
    let per_layer =
        work.iter().zip(layers).map(|(work, &layers)| work / f64::from(layers)).fold(f64::MAX, f64::min);
    let beyond: Vec<f64> =
        work.iter().zip(layers).map(|(work, &layers)| work - per_layer * f64::from(layers)).collect();
    let mut best = vec![0u32; layers.len()];
    let with_one_more = |best: &[u32], stage: usize| beyond[stage] + per_layer * f64::from(best[stage] + 1);
    for _ in 0..layers.iter().sum::<u32>() {
        let shortest =
            (0..layers.len()).min_by(|&a, &b| with_one_more(&best, a).total_cmp(&with_one_more(&best, b)))?;
        best[shortest] += 1;
    }
    let with = |layers: &[u32]| -> Vec<f64> {
        layers.iter().zip(&beyond).map(|(&layers, beyond)| beyond + per_layer * f64::from(layers)).collect()
    };
    let longest = |work: &[f64]| work.iter().copied().fold(0.0, f64::max);
    let then = with(&best);
    let (now_seconds, then_seconds) = (longest(&with(layers)) / 1e12, longest(&then) / 1e12);
    Some(Split { layers: best, now_seconds, then_seconds, work: then })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_stage_gives_layers_away() {
        // 10 a layer, and 25 for the loss.
        let split = best_split(&[80.0, 80.0, 80.0, 105.0], &[8, 8, 8, 8]).unwrap();
        assert_eq!(split.layers, [9, 9, 8, 6]);
        assert_eq!((split.now_seconds * 1e12, split.then_seconds * 1e12), (105.0, 90.0));
        assert_eq!(best_split(&[1.0, 2.0], &[0, 2]), None);
        // No other split is faster: all are tried.
        let mut least = f64::MAX;
        for a in 0..=32u32 {
            for b in 0..=32 - a {
                for c in 0..=32 - a - b {
                    let of = [a, b, c, 32 - a - b - c].map(|layers| 10.0 * f64::from(layers));
                    least = least.min([of[0], of[1], of[2], of[3] + 25.0].into_iter().fold(0.0, f64::max));
                }
            }
        }
        assert_eq!(split.then_seconds * 1e12, least);
    }
}
