//! Operations that took absurdly long once.

use super::{Candidate, CauseKind, CauseSearch, steady, time};
use crate::words;

/// The number of operations listed as evidence.
const TOLD: usize = 5;

impl CauseSearch<'_> {
    pub fn accidents(&self) -> Option<Candidate<'_>> {
        let (job, once) = (self.replays.job, &self.replays.once);
        let worst = once.iter().max_by_key(|once| once.takes)?;
        let rank =
            |step: usize, column: usize, place: usize| job.workers[job.worker(step, column, place)].rank;
        let kind = |step: usize, place: usize| &job.kinds[job.shape(step).ops[place].kind as usize].name;
        let says = format!(
            "{} of rank {} took {} once, in step {}",
            kind(worst.step, worst.place),
            rank(worst.step, worst.column, worst.place),
            time(worst.takes as f64),
            job.steps[worst.step].number
        );
        let says = match once.len() {
            1 => says,
            count => format!("{count} operations took far longer than usual: {says}"),
        };
        let mut sorted: Vec<_> = once.iter().collect();
        sorted.sort_by_key(|once| (std::cmp::Reverse(once.takes), once.step, once.place, once.column));
        let line = |once: &&super::super::accidents::Once| {
            format!(
                "{}{} of rank {} takes {} in step {}; usually it takes {}.",
                kind(once.step, once.place),
                // Kernel names contain their own numbers.
                if job.is_table() {
                    format!(" {}", job.shape(once.step).ops[once.place].seq)
                } else {
                    String::new()
                },
                rank(once.step, once.column, once.place),
                time(once.takes as f64),
                job.steps[once.step].number,
                time(once.usual as f64)
            )
        };
        let mut candidate = self.repaired(CauseKind::OneOff, says, steady(self.replays));
        let cause = &mut candidate.cause;
        cause.evidence = sorted.iter().map(line).take(TOLD).collect();
        if sorted.len() > TOLD {
            let more = sorted.len() - TOLD;
            let are = words::plural(more, "operation is", "operations are");
            cause.evidence.push(format!("{more} more {are} as slow."));
        }
        cause.ranks =
            self.ranks(once.iter().map(|once| job.worker(once.step, once.column, once.place) as u32));
        cause.fix = "Check what happened on that node at that time, or whether the recording is wrong. A single such value \
                     dominates S: leave that step out to see the usual S."
            .into();
        Some(candidate)
    }
}
