//! Steps at the beginning that take longer: compilation, caches, tuning.

use super::super::TimedOp;
use super::{Candidate, CauseSearch, Evidence, Finding};
use straggler_model::stats::median;

/// A start-up step takes at least this many times as long as usual.
const LONG: f64 = 1.2;
/// It takes at least this many times as long as any later step.
const LONGER: f64 = 1.1;
/// If more than this share of the steps is slow, it is not start-up.
const BEGINNING: f64 = 0.2;

impl CauseSearch<'_> {
    /// `steps` has the times of all steps.
    pub fn start_up(&self, steps: &[i64]) -> Option<Candidate<'_>> {
        let usual = median(&mut steps.to_vec()) as f64;
        let is_long = |step: &&i64| **step as f64 >= LONG * usual;
        let long = steps.iter().take_while(is_long).count();
        // If later steps are as slow, it is not start-up.
        let later = steps[long..].iter().copied().max().unwrap_or(0) as f64;
        let long = steps[..long].iter().take_while(|&&step| step as f64 >= LONGER * later).count();
        if long == 0 || long as f64 > BEGINNING * steps.len() as f64 {
            return None;
        }
        let lost: f64 = steps[..long].iter().map(|&step| step as f64 - usual).sum();
        let number = |place: usize| self.replays.job.steps[place].number;
        let finding = Finding::StartUp { steps: long, first_step: number(0), last_step: number(long - 1) };
        let takes = steps[..long].to_vec();
        let repair = move |step: usize, at: &TimedOp<'_>| match takes.get(step) {
            Some(&takes) => {
                let usually = |time: i64| (time as f64 * usual / takes as f64).round() as i64;
                (usually(at.takes), usually(at.delay))
            }
            None => at.real(),
        };
        let mut candidate = self.winning(lost / steps.len() as f64, finding, repair);
        candidate.cause.evidence = vec![Evidence::StartUp {
            steps: long,
            longest_seconds: steps[..long].iter().copied().max().unwrap_or(0) as f64 / 1e12,
            median_seconds: usual / 1e12,
        }];
        Some(candidate)
    }
}
