//! From the leaves to the root: a walk with time reversed. Sends become receives, receives become sends, and
//! the last step comes first. A walk that cannot deadlock has a mirror that cannot either.

use crate::collectives::{COMBINE, Job, Meaning, PLACE, Take};
use crate::steps::{Step, Steps, Then};
use std::ops::Range;
use straggler_model::Rank;
use straggler_model::network::PerByte;

/// A collective that also knows what its receives bring, so that time can be reversed.
pub trait Mirrored: Meaning {
    /// The bytes that this step receives.
    fn brings(&self, rank: Rank, stage: u32) -> Vec<Range<u64>>;
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mirror<W> {
    walk: W,
    /// Cost of combining a byte, if received data is combined.
    combines: Option<PerByte>,
}

impl<W: Mirrored> Mirror<W> {
    /// Mirrors a walk into a reduction: received data is combined with the rank's own.
    pub fn combining(walk: W, job: &Job) -> Mirror<W> {
        Mirror { walk, combines: Some(job.reduction) }
    }

    /// Mirrors a walk into a gather: received data is only stored.
    pub fn placing(walk: W) -> Mirror<W> {
        Mirror { walk, combines: None }
    }

    #[inline]
    fn reversed(&self, rank: Rank, stage: u32) -> u32 {
        self.walk.stages(rank) - 1 - stage
    }
}

impl<W: Mirrored> Steps for Mirror<W> {
    fn processes(&self) -> u32 {
        self.walk.processes()
    }

    #[inline]
    fn stages(&self, rank: Rank) -> u32 {
        self.walk.stages(rank)
    }

    #[inline]
    fn step(&self, rank: Rank, stage: u32) -> Step {
        let reversed = self.reversed(rank, stage);
        let step = self.walk.step(rank, reversed);
        // Steps that run together still do: this one runs with the step before it in the walk.
        let then = match reversed.checked_sub(1) {
            Some(before) if self.walk.overlaps() => self.walk.step(rank, before).then,
            _ => Then::Wait,
        };
        let mirrored = Step { send: step.recv, recv: step.send, then, ..step };
        match (self.combines, mirrored.recv) {
            (Some(reduction), Some(message)) => mirrored.after(reduction.total(message.bytes)),
            _ => mirrored,
        }
    }

    fn largest_message(&self) -> u64 {
        self.walk.largest_message()
    }

    fn overlaps(&self) -> bool {
        self.walk.overlaps()
    }

    fn messages(&self) -> u64 {
        self.walk.messages()
    }
}

impl<W: Mirrored> Meaning for Mirror<W> {
    fn carries(&self, rank: Rank, stage: u32) -> Vec<Range<u64>> {
        self.walk.brings(rank, self.reversed(rank, stage))
    }

    fn takes(&self, _: Rank, _: u32) -> &'static [Take] {
        if self.combines.is_some() { COMBINE } else { PLACE }
    }
}
