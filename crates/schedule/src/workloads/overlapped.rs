//! A collective that advances step by step between chunks of computation.

use super::computation::Computation;
use crate::collectives::Collective;
use crate::{Step, Steps};
use straggler_model::{Rank, Time};

/// A collective and the computation that it overlaps.
#[derive(Clone, Debug)]
pub struct Overlapped {
    pub(super) collective: Collective,
    pub(super) inside: Computation,
    /// At least one.
    pub(super) chunks: u32,
}

impl Overlapped {
    /// Number of steps that overlap a chunk.
    #[inline(always)]
    fn beside(&self, steps: u32) -> u32 {
        if self.inside.is_any() { steps.min(self.chunks) } else { 0 }
    }

    /// Whether computation is left after all steps of the collective.
    #[inline(always)]
    fn has_rest(&self, steps: u32) -> bool {
        self.inside.is_any() && steps < self.chunks
    }

    #[inline]
    pub fn stages(&self, rank: Rank) -> u32 {
        let steps = self.collective.stages(rank);
        steps + u32::from(self.has_rest(steps))
    }

    #[inline]
    pub fn step(&self, rank: Rank, phase: u32, stage: u32) -> Step {
        let steps = self.collective.stages(rank);
        let beside = self.beside(steps);
        if stage >= beside && stage < steps {
            return self.collective.step(rank, stage);
        }
        let whole = self.inside.time(rank, phase).ps();
        let chunk = whole / u64::from(self.chunks);
        let rest = whole - chunk * u64::from(beside);
        if stage >= steps {
            return Step::calc(Time(rest));
        }
        // The last chunk takes the remainder of the division.
        let last = stage + 1 == self.chunks;
        let calc = if last { whole - chunk * u64::from(self.chunks - 1) } else { chunk };
        Step { calc: Some(Time(calc)), ..self.collective.step(rank, stage) }
    }

    pub fn messages(&self) -> u64 {
        self.collective.messages()
    }

    pub fn largest_message(&self) -> u64 {
        self.collective.largest_message()
    }

    pub fn overlaps(&self) -> bool {
        self.collective.overlaps()
    }
}
