//! Ring: the data is cut into one block per rank. P - 1 rounds of reduce-scatter pass every block
//! once around the ring, P - 1 rounds of allgather pass the results on.

use crate::collectives::sizes::Split;
use crate::collectives::{
    COMBINE, CollectiveError, Job, Meaning, Name, PLACE, Take, add_modulo, at_most, piece, subtract_modulo,
};
use crate::steps::{Message, Step, Steps};
use std::ops::Range;
use straggler_model::Rank;

/// Allreduce around a ring.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ring {
    job: Job,
    blocks: Split,
}

impl Ring {
    /// Keeps the number of stages below the limit for a rank.
    const MOST_PROCESSES: u32 = 1 << 27;

    pub fn new(job: &Job) -> Result<Ring, CollectiveError> {
        at_most(Name::Ring, job.processes, Self::MOST_PROCESSES)?;
        Ok(Ring { job: job.clone(), blocks: Split::new(job.vector(), job.processes) })
    }

    /// The block sent in a stage. In round s of the reduce-scatter, rank r sends block r - s and
    /// receives block r - s - 1. It then owns block r + 1, so in round s of the allgather it sends
    /// block r + 1 - s and receives block r - s.
    #[inline(always)]
    fn sent(&self, rank: Rank, stage: u32) -> u32 {
        let rounds = self.job.processes - 1;
        let (round, own) = if stage < rounds { (stage, rank) } else { (stage - rounds, self.next(rank)) };
        subtract_modulo(own, round, self.job.processes)
    }
}

impl Steps for Ring {
    fn processes(&self) -> u32 {
        self.job.processes
    }

    #[inline]
    fn stages(&self, _rank: Rank) -> u32 {
        2 * (self.job.processes - 1)
    }

    #[inline]
    fn step(&self, rank: Rank, stage: u32) -> Step {
        let sent = self.sent(rank, stage);
        let received = self.blocks.size(subtract_modulo(sent, 1, self.job.processes));
        let before = subtract_modulo(rank, 1, self.job.processes);
        let step = Step::exchange(
            Message { peer: self.next(rank), tag: stage, bytes: self.blocks.size(sent) },
            Message { peer: before, tag: stage, bytes: received },
        );
        if stage < self.job.processes - 1 { step.after(self.job.cost(received)) } else { step }
    }

    fn largest_message(&self) -> u64 {
        if self.job.processes == 1 { 0 } else { self.blocks.largest() }
    }

    fn tags(&self) -> u32 {
        self.stages(0)
    }

    fn messages(&self) -> u64 {
        u64::from(self.job.processes) * u64::from(2 * (self.job.processes - 1))
    }
}

impl Meaning for Ring {
    fn carries(&self, rank: Rank, stage: u32) -> Vec<Range<u64>> {
        let sent = self.sent(rank, stage);
        piece(self.blocks.range(sent..sent + 1))
    }

    fn takes(&self, _: Rank, stage: u32) -> &'static [Take] {
        if stage < self.job.processes - 1 { COMBINE } else { PLACE }
    }
}

impl Ring {
    #[inline(always)]
    fn next(&self, rank: Rank) -> Rank {
        add_modulo(rank, 1, self.job.processes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_go_round_once_for_each_half() {
        // Ten bytes over four ranks: blocks of 3, 3, 2 and 2 bytes.
        let steps = Ring::new(&Job::new(4, 10)).unwrap();
        let sent =
            |rank| -> Vec<u64> { (0..6).map(|stage| steps.step(rank, stage).send.unwrap().bytes).collect() };
        // Rank 0 sends blocks 0, 3 and 2; it then owns block 1 and sends blocks 1, 0 and 3.
        assert_eq!(sent(0), [3, 2, 2, 3, 3, 2]);
        // Rank 2 sends blocks 2, 1, 0 and 3, 2, 1.
        assert_eq!(sent(2), [2, 3, 3, 2, 2, 3]);
    }
}
