//! Ring: the data is cut into one block a rank. P - 1 rounds of reduce-scatter pass every block once
//! round the ring, P - 1 rounds of allgather pass the results on.

use straggler_model::Rank;

use crate::collectives::{CollectiveError, add_modulo, check_processes, subtract_modulo};
use crate::steps::{Message, Step, Steps};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ring {
    processes: u32,
    /// Bytes of a block; the first `longer` blocks have one more.
    block_bytes: u64,
    longer: u32,
}

impl Ring {
    /// Keeps the stages below the most a rank may have.
    const MOST_PROCESSES: u32 = 1 << 28;

    pub fn new(processes: u32, bytes: u64) -> Result<Ring, CollectiveError> {
        check_processes("ring", processes, Self::MOST_PROCESSES)?;
        let (block_bytes, longer) = (bytes / u64::from(processes), bytes % u64::from(processes));
        Ok(Ring { processes, block_bytes, longer: longer as u32 })
    }

    #[inline(always)]
    fn block(&self, block: u32) -> u64 {
        self.block_bytes + u64::from(block < self.longer)
    }
}

impl Steps for Ring {
    fn processes(&self) -> u32 {
        self.processes
    }

    #[inline]
    fn stages(&self, _rank: Rank) -> u32 {
        2 * (self.processes - 1)
    }

    /// In round s of the reduce-scatter rank r sends block r - s and receives block r - s - 1. It then
    /// owns block r + 1, so in round s of the allgather it sends block r + 1 - s and receives r - s.
    #[inline]
    fn step(&self, rank: Rank, stage: u32) -> Step {
        let rounds = self.processes - 1;
        let (round, own) = if stage < rounds { (stage, rank) } else { (stage - rounds, self.next(rank)) };
        let sent = subtract_modulo(own, round, self.processes);
        let received = subtract_modulo(sent, 1, self.processes);
        Step::exchange(
            Message { peer: self.next(rank), tag: stage, bytes: self.block(sent) },
            Message {
                peer: subtract_modulo(rank, 1, self.processes),
                tag: stage,
                bytes: self.block(received),
            },
        )
    }

    fn largest_message(&self) -> u64 {
        if self.processes == 1 { 0 } else { self.block(0) }
    }

    fn messages(&self) -> u64 {
        u64::from(self.processes) * u64::from(2 * (self.processes - 1))
    }
}

impl Ring {
    #[inline(always)]
    fn next(&self, rank: Rank) -> Rank {
        add_modulo(rank, 1, self.processes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_go_round_once_for_each_half() {
        // Ten bytes over four ranks: blocks of 3, 3, 2 and 2 bytes.
        let steps = Ring::new(4, 10).unwrap();
        let sent =
            |rank| -> Vec<u64> { (0..6).map(|stage| steps.step(rank, stage).send.unwrap().bytes).collect() };
        // Rank 0 sends blocks 0, 3, 2 and, owning block 1 then, 1, 0, 3.
        assert_eq!(sent(0), [3, 2, 2, 3, 3, 2]);
        // Rank 2 sends blocks 2, 1, 0 and 3, 2, 1.
        assert_eq!(sent(2), [2, 3, 3, 2, 2, 3]);
    }
}
