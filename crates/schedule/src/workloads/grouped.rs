//! A collective that runs in all groups of ranks at once.

use crate::collectives::Collective;
use crate::steps::{Message, Step, Steps};
use crate::workloads::grid::Divisor;
use straggler_model::Rank;

/// The members of a group are `stride` ranks apart, and the groups cover all ranks: rank r is
/// member r / stride mod size of its group. This covers tensor, data and pipeline parallel groups.
#[derive(Clone, Debug)]
pub struct Grouped {
    collective: Collective,
    processes: u32,
    stride: u32,
    by_stride: Divisor,
    by_size: Divisor,
}

impl Grouped {
    /// Returns `None` unless `processes` is a multiple of `stride` times the processes of the collective.
    pub fn new(collective: Collective, stride: u32, processes: u32) -> Option<Grouped> {
        let size = collective.processes();
        let block = stride.checked_mul(size).filter(|block| *block > 0)?;
        let (by_stride, by_size) = (Divisor::new(stride)?, Divisor::new(size)?);
        let fills = processes.is_multiple_of(block);
        fills.then_some(Grouped { collective, processes, stride, by_stride, by_size })
    }

    #[inline(always)]
    fn member(&self, rank: Rank) -> u32 {
        self.by_size.divide(self.by_stride.divide(rank).0).1
    }
}

impl Steps for Grouped {
    fn processes(&self) -> u32 {
        self.processes
    }

    #[inline]
    fn stages(&self, rank: Rank) -> u32 {
        self.collective.stages(self.member(rank))
    }

    #[inline]
    fn step(&self, rank: Rank, stage: u32) -> Step {
        let member = self.member(rank);
        let first = rank - member * self.stride;
        let global = |message: Message| Message { peer: first + message.peer * self.stride, ..message };
        let step = self.collective.step(member, stage);
        Step { send: step.send.map(global), recv: step.recv.map(global), ..step }
    }

    fn largest_message(&self) -> u64 {
        self.collective.largest_message()
    }

    fn overlaps(&self) -> bool {
        self.collective.overlaps()
    }

    fn messages(&self) -> u64 {
        let groups = self.processes / self.collective.processes().max(1);
        self.collective.messages().saturating_mul(u64::from(groups))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collectives::{Algorithm, Job, Operation};

    #[test]
    fn groups_with_a_stride() {
        let algorithm = Algorithm::parse(Operation::Allreduce, "dissemination").unwrap();
        let collective = algorithm.build(Operation::Allreduce, &Job::new(3, 8)).unwrap();
        assert!(Grouped::new(collective.clone(), 2, 16).is_none());
        let grouped = Grouped::new(collective, 2, 12).unwrap();
        // Groups 0 2 4, 1 3 5, 6 8 10 and 7 9 11.
        let peers = |rank| {
            let step = grouped.step(rank, 0);
            (step.send.unwrap().peer, step.recv.unwrap().peer)
        };
        assert_eq!([peers(0), peers(5), peers(9)], [(2, 4), (1, 3), (11, 7)]);
        assert_eq!(grouped.messages(), 4 * 3 * 2);
    }
}
