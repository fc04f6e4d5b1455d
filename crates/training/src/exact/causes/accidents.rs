//! Operations that took absurdly long once.

use super::super::accidents::Once;
use super::{Candidate, CauseSearch, Evidence, Finding, OperationName, steady};

/// The number of operations listed as evidence.
const LISTED: usize = 5;

impl CauseSearch<'_> {
    pub fn accidents(&self) -> Option<Candidate<'_>> {
        let (job, once) = (self.replays.job, &self.replays.once);
        let worst = once.iter().max_by_key(|once| once.takes)?;
        let rank =
            |step: usize, column: usize, place: usize| job.workers[job.worker(step, column, place)].rank;
        let kind = |step: usize, place: usize| &job.kinds[job.shape(step).ops[place].kind as usize].name;
        let number = |step: usize| job.steps[step].number;
        let finding = Finding::OneOff {
            operations: once.len(),
            operation: kind(worst.step, worst.place).clone(),
            rank: rank(worst.step, worst.column, worst.place),
            step: number(worst.step),
            takes_seconds: worst.takes as f64 / 1e12,
        };
        let mut sorted: Vec<&Once> = once.iter().collect();
        sorted.sort_by_key(|once| (std::cmp::Reverse(once.takes), once.step, once.place, once.column));
        let long = |once: &&Once| Evidence::LongOperation {
            of: OperationName {
                operation: kind(once.step, once.place).clone(),
                number: job.is_table().then(|| job.shape(once.step).ops[once.place].seq),
            },
            rank: rank(once.step, once.column, once.place),
            step: number(once.step),
            seconds: once.takes as f64 / 1e12,
            usual_seconds: once.usual as f64 / 1e12,
        };
        let mut candidate = self.repaired(finding, steady(self.replays));
        let cause = &mut candidate.cause;
        cause.evidence = sorted.iter().map(long).take(LISTED).collect();
        if sorted.len() > LISTED {
            cause.evidence.push(Evidence::MoreOperations { count: sorted.len() - LISTED });
        }
        cause.ranks =
            self.ranks(once.iter().map(|once| job.worker(once.step, once.column, once.place) as u32));
        Some(candidate)
    }
}
