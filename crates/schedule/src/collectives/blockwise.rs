//! Exchanges block by block: in each of P - 1 rounds, every rank sends one block and receives one.
//! An algorithm defines the partners and the blocks; everything else is shared.

use super::{
    COMBINE, CollectiveError, Job, Meaning, Name, PLACE, Take, add_modulo, at_most, piece, subtract_modulo,
};
use crate::steps::{MOST_STAGES, Message, Step, Steps};
use std::fmt::Debug;
use std::marker::PhantomData;
use std::ops::Range;
use straggler_model::Rank;

/// Who sends which block to whom. All functions are pure.
pub trait Rounds: Copy + Debug + Send + Sync {
    const NAME: Name;
    /// Whether a rank combines received blocks with its own.
    const COMBINES: bool = false;
    /// Whether all rounds are in flight at once, as nonblocking calls.
    const AT_ONCE: bool = false;

    /// The round of a step. It differs from the step's number only if ranks skip rounds.
    #[inline(always)]
    fn round(_job: &Job, _rank: Rank, stage: u32) -> u32 {
        stage
    }
    /// The rank that `rank` sends to; by default the one s + 1 after it in round s.
    #[inline(always)]
    fn target(job: &Job, rank: Rank, round: u32) -> Rank {
        add_modulo(rank, round + 1, job.processes)
    }
    /// The rank that `rank` receives from.
    #[inline(always)]
    fn source(job: &Job, rank: Rank, round: u32) -> Rank {
        subtract_modulo(rank, round + 1, job.processes)
    }
    /// Number of the block that goes from one rank to the other.
    fn block(job: &Job, from: Rank, to: Rank, round: u32) -> u64;
    /// Size of the largest block that any rank sends, with two or more ranks.
    fn largest(job: &Job) -> u64 {
        job.sizes.largest_before(job.processes.into())
    }
}

/// The steps of these rounds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Blockwise<R> {
    job: Job,
    rounds: PhantomData<R>,
}

impl<R: Rounds> Blockwise<R> {
    pub fn new(job: &Job) -> Result<Blockwise<R>, CollectiveError> {
        at_most(R::NAME, job.processes, MOST_STAGES)?;
        Ok(Blockwise { job: job.clone(), rounds: PhantomData })
    }

    #[inline(always)]
    fn message(&self, peer: Rank, from: Rank, to: Rank, round: u32) -> Message {
        Message { peer, tag: round, bytes: self.job.sizes.size(R::block(&self.job, from, to, round)) }
    }
}

impl<R: Rounds> Steps for Blockwise<R> {
    fn processes(&self) -> u32 {
        self.job.processes
    }

    #[inline]
    fn stages(&self, _rank: Rank) -> u32 {
        self.job.processes - 1
    }

    #[inline]
    fn step(&self, rank: Rank, stage: u32) -> Step {
        let round = R::round(&self.job, rank, stage);
        let (to, from) = (R::target(&self.job, rank, round), R::source(&self.job, rank, round));
        let received = self.message(from, from, rank, round);
        let step = Step::exchange(self.message(to, rank, to, round), received);
        if R::COMBINES {
            step.after(self.job.cost(received.bytes))
        } else if R::AT_ONCE && stage + 2 < self.job.processes {
            step.go()
        } else {
            step
        }
    }

    fn largest_message(&self) -> u64 {
        if self.job.processes == 1 { 0 } else { R::largest(&self.job) }
    }

    fn tags(&self) -> u32 {
        self.job.processes
    }

    fn overlaps(&self) -> bool {
        R::AT_ONCE && self.job.processes > 2
    }

    fn messages(&self) -> u64 {
        u64::from(self.job.processes) * u64::from(self.job.processes - 1)
    }
}

impl<R: Rounds> Meaning for Blockwise<R> {
    fn carries(&self, rank: Rank, stage: u32) -> Vec<Range<u64>> {
        let round = R::round(&self.job, rank, stage);
        let block = R::block(&self.job, rank, R::target(&self.job, rank, round), round);
        piece(self.job.sizes.range(block..block + 1))
    }

    fn takes(&self, _: Rank, _: u32) -> &'static [Take] {
        if R::COMBINES { COMBINE } else { PLACE }
    }
}
