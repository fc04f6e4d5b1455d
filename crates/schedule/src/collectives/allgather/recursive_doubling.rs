//! Recursive doubling: partners whose numbers differ in bit k exchange all they have, so that in every round
//! a rank has the blocks of a group twice as large.

use crate::collectives::Job;
use crate::collectives::fold::{Exchanges, Fold, Folded, Turn};
use std::ops::Range;
use straggler_model::Rank;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Groups {
    job: Job,
    fold: Fold,
}

pub type RecursiveDoubling = Folded<Groups>;

impl RecursiveDoubling {
    pub fn new(job: &Job) -> RecursiveDoubling {
        Folded(Groups { job: job.clone(), fold: Fold::new(job.processes) })
    }
}

impl Groups {
    fn whole(&self) -> u64 {
        self.job.sizes.start(self.job.processes.into())
    }
}

impl Exchanges for Groups {
    fn job(&self) -> &Job {
        &self.job
    }

    fn fold(&self) -> &Fold {
        &self.fold
    }

    fn rounds(&self) -> u32 {
        self.fold.doublings
    }

    fn bit(&self, round: u32) -> u32 {
        round
    }

    fn sent(&self, place: u32, round: u32) -> Range<u64> {
        let first = place >> round << round;
        self.job.sizes.range(self.fold.blocks(first..first + (1 << round)))
    }

    fn combines(&self, _: Turn) -> bool {
        false
    }

    fn handed_over(&self, rank: Rank) -> Range<u64> {
        self.job.sizes.range(u64::from(rank)..u64::from(rank) + 1)
    }

    /// All blocks but the rank's own.
    fn given_back(&self, rank: Rank) -> [Range<u64>; 2] {
        let own = self.handed_over(rank);
        [0..own.start, own.end..self.whole()]
    }

    fn largest_message(&self) -> u64 {
        if self.fold.doublings == 0 {
            return 0;
        }
        let last = self.fold.doublings - 1;
        let halves = [0, 1 << last].map(|place| self.sent(place, last)).map(|half| half.end - half.start);
        let uniform = self.job.sizes.is_uniform();
        let pairs = if uniform { self.fold.pairs.min(1) } else { self.fold.pairs };
        let own = (0..pairs).map(|pair| self.job.sizes.size(2 * u64::from(pair)));
        let given_back = own.min().map(|own| self.whole() - own);
        halves.into_iter().chain(given_back).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Steps;
    use crate::collectives::Meaning;

    #[test]
    fn a_pair_is_one_place_with_two_blocks() {
        let steps = RecursiveDoubling::new(&Job::new(5, 10));
        let sent = |rank| -> Vec<Vec<(u64, u64)>> {
            let sends = (0..steps.stages(rank)).filter(|&stage| steps.step(rank, stage).send.is_some());
            let ends =
                |stage| steps.carries(rank, stage).iter().map(|range| (range.start, range.end)).collect();
            sends.map(ends).collect()
        };
        assert_eq!(sent(0), [[(0, 10)]]);
        assert_eq!(sent(1), [vec![(0, 20)], vec![(0, 30)], vec![(0, 0), (10, 50)]]);
        assert_eq!(sent(4), [[(40, 50)], [(30, 50)]]);
    }
}
