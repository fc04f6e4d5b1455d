//! Microbatches that take now longer and now shorter: sequences of unequal length, if forward and backward go together.

use super::{Cause, CauseKind, Looking, percent};
use crate::Role;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Forward and backward go together from this correlation on.
const TOGETHER: f64 = 0.7;

/// Sums for a correlation, and for the spread of what takes how long.
#[derive(Clone, Copy, Default)]
struct Sums {
    count: f64,
    xx: f64,
    yy: f64,
    xy: f64,
}

impl Looking<'_> {
    pub fn lengths(&self) -> Option<Cause> {
        let job = self.replays.job;
        let is_compute: Vec<bool> = job.kinds.iter().map(|kind| kind.role == Role::Compute).collect();
        let won = self.won(|_, at| {
            let kind = at.op.kind as usize;
            match self.facts.mean(at.worker, kind).filter(|_| is_compute[kind]) {
                Some(mean) => (mean.round() as i64, at.delay),
                None => at.real(),
            }
        });
        let sums = self.correlation();
        let correlation = sums.filter(|sums| sums.xx > 0.0 && sums.yy > 0.0);
        let correlation = correlation.map(|sums| sums.xy / (sums.xx * sums.yy).sqrt());
        let (kind, says) = match correlation {
            Some(r) if r >= TOGETHER => {
                (CauseKind::SequenceLengths, "Microbatches are of unequal length".to_string())
            }
            _ => (CauseKind::Variation, "Computing takes now longer and now shorter".to_string()),
        };
        let mut cause = self.cause(kind, won, says)?;
        if let (Some(r), Some(sums)) = (correlation, sums) {
            let goes = if r >= TOGETHER { "go together" } else { "do not go together" };
            cause.evidence.push(format!(
                "Forward and backward of a microbatch {goes}: their correlation is {r:.2} over {} microbatches.",
                sums.count
            ));
            let spread = (sums.xx / sums.count).sqrt();
            cause.evidence.push(format!(
                "The forwards of a worker differ by {} of their mean (standard deviation).",
                percent(spread)
            ));
        }
        cause.fix = match kind {
            CauseKind::SequenceLengths => {
                "Give microbatches the same amount of attention work: pack or sort sequences by length across ranks."
            }
            _ => "Look for other programs on the nodes, and for clocks that change.",
        }
        .into();
        Some(cause)
    }

    /// Of forwards and backwards of the same microbatch, each relative to the mean of its worker.
    fn correlation(&self) -> Option<Sums> {
        let job = self.replays.job;
        let named = |name: &str| job.kinds.iter().position(|kind| kind.name == name);
        let (forward, backward) = (named("forward-compute")?, named("backward-compute")?);
        let of_step = |step: usize| {
            let (shape, columns) = (job.shape(step), job.steps[step].columns as usize);
            let mut of_microbatch: BTreeMap<(u32, i32, i32), [Option<usize>; 2]> = BTreeMap::new();
            for (place, op) in shape.ops.iter().enumerate() {
                let is = [op.kind as usize == forward, op.kind as usize == backward];
                if let Some(which) = is.iter().position(|is| *is).filter(|_| op.microbatch >= 0) {
                    of_microbatch.entry((op.worker, op.microbatch, op.chunk)).or_default()[which] =
                        Some(place);
                }
            }
            let mut sums = Sums::default();
            for pair in of_microbatch.values() {
                let [Some(one), Some(other)] = *pair else { continue };
                for column in 0..columns {
                    let worker = job.worker(step, column, one);
                    let relative = |place: usize, kind: usize| {
                        let takes = self.replays.times[step].takes[place * columns + column] as f64;
                        self.facts
                            .mean(worker, kind)
                            .filter(|mean| *mean > 0.0)
                            .map(|mean| takes / mean - 1.0)
                    };
                    if let (Some(x), Some(y)) = (relative(one, forward), relative(other, backward)) {
                        sums.count += 1.0;
                        sums.xx += x * x;
                        sums.yy += y * y;
                        sums.xy += x * y;
                    }
                }
            }
            sums
        };
        let all: Vec<Sums> = (0..job.steps.len()).into_par_iter().map(of_step).collect();
        let sum = all.iter().fold(Sums::default(), |all, one| Sums {
            count: all.count + one.count,
            xx: all.xx + one.xx,
            yy: all.yy + one.yy,
            xy: all.xy + one.xy,
        });
        (sum.count > 1.0).then_some(sum)
    }
}
