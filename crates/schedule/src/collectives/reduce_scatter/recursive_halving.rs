//! Recursive halving: starting with the most distant partners, each rank sends the blocks on its
//! partner's side and combines those on its own side, until only its own block is left (Thakur,
//! Rabenseifner and Gropp 2005, for commutative operations).

use crate::collectives::Job;
use crate::collectives::fold::{Exchanges, Fold, Folded, Turn};
use std::ops::Range;
use straggler_model::Rank;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sides {
    job: Job,
    fold: Fold,
}

pub type RecursiveHalving = Folded<Sides>;

impl RecursiveHalving {
    pub fn new(job: &Job) -> RecursiveHalving {
        Folded(Sides { job: job.clone(), fold: Fold::new(job.processes) })
    }
}

impl Exchanges for Sides {
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
        self.fold.doublings - 1 - round
    }

    fn sent(&self, place: u32, round: u32) -> Range<u64> {
        let bit = self.bit(round);
        let first = (place >> bit ^ 1) << bit;
        self.job.sizes.range(self.fold.blocks(first..first + (1 << bit)))
    }

    fn combines(&self, turn: Turn) -> bool {
        turn != Turn::GiveBack
    }

    fn handed_over(&self, _: Rank) -> Range<u64> {
        0..self.job.sizes.start(self.job.processes.into())
    }

    fn given_back(&self, rank: Rank) -> [Range<u64>; 2] {
        [self.job.sizes.range(u64::from(rank)..u64::from(rank) + 1), 0..0]
    }

    fn largest_message(&self) -> u64 {
        let whole = self.handed_over(0).end;
        match (self.fold.pairs, self.fold.doublings) {
            (0, 0) => 0,
            (0, _) => {
                let upper = self.sent(0, 0);
                upper.start.max(upper.end - upper.start)
            }
            _ => whole,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Steps;

    #[test]
    fn six_ranks_are_four_places() {
        let steps = RecursiveHalving::new(&Job::new(6, 10));
        let sent = |rank| -> Vec<(Rank, u64)> {
            let sends = (0..steps.stages(rank)).filter_map(|stage| steps.step(rank, stage).send);
            sends.map(|message| (message.peer, message.bytes)).collect()
        };
        assert_eq!(sent(0), [(1, 60)]);
        // Places 2 and 3 have blocks 4 and 5, place 1 has blocks 2 and 3.
        assert_eq!(sent(1), [(4, 20), (3, 20), (0, 10)]);
        assert_eq!(sent(5), [(3, 40), (4, 10)]);
    }
}
