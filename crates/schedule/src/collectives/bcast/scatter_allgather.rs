//! Scatter, then allgather (van de Geijn): the vector is cut into one part per place. A binomial
//! tree distributes the parts, and P - 1 rounds of a ring pass them on until every rank has all.

use crate::collectives::sizes::Split;
use crate::collectives::tree::{Contiguous, Parts, Walk};
use crate::collectives::{
    CollectiveError, Job, Meaning, Name, PLACE, Take, add_modulo, at_most, piece, subtract_modulo,
};
use crate::steps::{Message, Step, Steps};
use std::ops::Range;
use straggler_model::Rank;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScatterAllgather {
    processes: u32,
    root: Rank,
    parts: Split,
    scatter: Walk<Contiguous, Parts<Contiguous>>,
}

/// Tag of the ring's messages; the scatter's messages have tag 0.
const RING: u32 = 1;

impl ScatterAllgather {
    /// Keeps the number of stages below the limit for a rank.
    const MOST_PROCESSES: u32 = 1 << 27;

    pub fn new(job: &Job) -> Result<ScatterAllgather, CollectiveError> {
        let (name, processes) = (Name::ScatterAllgather, job.processes);
        at_most(name, processes, Self::MOST_PROCESSES)?;
        let parts = Split::new(job.vector(), processes);
        let tree = Contiguous::new(processes, 2);
        let scatter = Walk::new(name, job, tree, Parts { tree, parts })?;
        Ok(ScatterAllgather { processes, root: job.root, parts, scatter })
    }

    /// The part that a rank sends in a round of the ring: first its own, then the one just received.
    #[inline]
    fn sent(&self, rank: Rank, round: u32) -> u32 {
        let place = subtract_modulo(rank, self.root, self.processes);
        subtract_modulo(place, round, self.processes)
    }

    fn pass_on(&self, rank: Rank, round: u32) -> Step {
        let sent = self.sent(rank, round);
        let received = subtract_modulo(sent, 1, self.processes);
        let message = |peer, part| Message { peer, tag: RING, bytes: self.parts.size(part) };
        Step::exchange(
            message(add_modulo(rank, 1, self.processes), sent),
            message(subtract_modulo(rank, 1, self.processes), received),
        )
    }
}

impl Steps for ScatterAllgather {
    fn processes(&self) -> u32 {
        self.processes
    }

    fn stages(&self, rank: Rank) -> u32 {
        self.scatter.stages(rank) + self.processes - 1
    }

    fn step(&self, rank: Rank, stage: u32) -> Step {
        match stage.checked_sub(self.scatter.stages(rank)) {
            None => self.scatter.step(rank, stage),
            Some(round) => self.pass_on(rank, round),
        }
    }

    fn largest_message(&self) -> u64 {
        // The first part may be larger than any message of the scatter.
        if self.processes == 1 { 0 } else { self.scatter.largest_message().max(self.parts.largest()) }
    }

    fn tags(&self) -> u32 {
        self.scatter.tags().max(RING + 1)
    }

    fn messages(&self) -> u64 {
        self.scatter.messages() + u64::from(self.processes) * u64::from(self.processes - 1)
    }
}

impl Meaning for ScatterAllgather {
    fn carries(&self, rank: Rank, stage: u32) -> Vec<Range<u64>> {
        match stage.checked_sub(self.scatter.stages(rank)) {
            None => self.scatter.carries(rank, stage),
            Some(round) => {
                let sent = self.sent(rank, round);
                piece(self.parts.range(sent..sent + 1))
            }
        }
    }

    fn takes(&self, _: Rank, _: u32) -> &'static [Take] {
        PLACE
    }
}
