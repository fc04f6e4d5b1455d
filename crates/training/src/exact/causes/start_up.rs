//! Steps at the beginning that take longer: compilation, caches, tuning.

use super::super::At;
use super::{Candidate, CauseKind, Looking, time};
use crate::median::median;

/// A step is one of them if it takes so many times as long as usual.
const LONG: f64 = 1.2;
/// And if it takes so many times as long as any step later on.
const LONGER: f64 = 1.1;
/// More than this share of the steps is no beginning.
const BEGINNING: f64 = 0.2;

impl Looking<'_> {
    /// From the times of all steps.
    pub fn start_up(&self, steps: &[i64]) -> Option<Candidate<'_>> {
        let usual = median(&mut steps.to_vec()) as f64;
        let is_long = |step: &&i64| **step as f64 >= LONG * usual;
        let long = steps.iter().take_while(is_long).count();
        // Steps that are as long later on are no matter of the beginning.
        let later = steps[long..].iter().copied().max().unwrap_or(0) as f64;
        let long = steps[..long].iter().take_while(|&&step| step as f64 >= LONGER * later).count();
        if long == 0 || long as f64 > BEGINNING * steps.len() as f64 {
            return None;
        }
        let lost: f64 = steps[..long].iter().map(|&step| step as f64 - usual).sum();
        let number = |place: usize| self.replays.job.steps[place].number;
        let says = match long {
            1 => format!("The first step ({}) is slower than the others", number(0)),
            _ => format!(
                "The first {long} steps ({} to {}) are slower than the others",
                number(0),
                number(long - 1)
            ),
        };
        let takes = steps[..long].to_vec();
        let mend = move |step: usize, at: &At<'_>| match takes.get(step) {
            Some(&takes) => {
                let usually = |time: i64| (time as f64 * usual / takes as f64).round() as i64;
                (usually(at.takes), usually(at.delay))
            }
            None => at.real(),
        };
        let mut candidate = self.winning(CauseKind::StartUp, lost / steps.len() as f64, says, mend);
        let cause = &mut candidate.cause;
        cause.evidence = vec![format!(
            "{} {}; half of all steps take {} or less.",
            if long == 1 { "It takes" } else { "They take up to" },
            time(steps[..long].iter().copied().max().unwrap_or(0) as f64),
            time(usual)
        )];
        let them = if long == 1 { ["it", "it does"] } else { ["them", "they do"] };
        cause.fix =
            format!("Leave {} out of the measurement; in a long job {} not matter.", them[0], them[1]);
        Some(candidate)
    }
}
