//! Bruck's algorithm (Bruck, Ho, Kipnis, Upfal and Weathersby 1997): other ranks forward the blocks.
//!
//! The distance from the source of a block to its destination is written in base k, the radix. In the round
//! of k^i, all blocks whose distance has the digit j there move j·k^i ranks further, in one message: log P
//! rounds instead of P - 1, at the price of about (log P) / 2 times the bytes (k = 2).

use super::{bytes, range};
use crate::collectives::hops::{Hop, Hops};
use crate::collectives::{CollectiveError, Job, Meaning, Name, PLACE, Take, add_modulo, subtract_modulo};
use crate::steps::{Message, Step, Steps};
use std::ops::Range;
use straggler_model::Rank;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bruck {
    job: Job,
    hops: Hops,
    /// Size of all blocks, if it is the same.
    size: Option<u64>,
}

impl Bruck {
    pub fn new(job: &Job, radix: Option<u32>) -> Result<Bruck, CollectiveError> {
        let hops = Hops::new(Name::Bruck, job.processes, radix)?;
        let size = job.sizes.is_uniform().then(|| job.sizes.size(0));
        Ok(Bruck { job: job.clone(), hops, size })
    }

    /// The blocks that a rank sends in a hop, as (source, destination). The lower digits of their
    /// distances have already brought them to this rank.
    fn sent(&self, rank: Rank, hop: Hop) -> impl Iterator<Item = (Rank, Rank)> {
        let all = self.job.processes;
        let turns = (u64::from(hop.shift)..all.into()).step_by(self.hops.turn(hop.distance) as usize);
        turns.flat_map(move |first| {
            let last = (first + u64::from(hop.distance)).min(all.into());
            (first..last).map(move |way| {
                let from = subtract_modulo(rank, (way - first) as u32, all);
                (from, add_modulo(from, way as u32, all))
            })
        })
    }

    /// Blocks of different sizes are added up one by one, in time proportional to the number of processes.
    #[inline]
    fn bytes(&self, rank: Rank, hop: Hop) -> u64 {
        match self.size {
            Some(size) => size.saturating_mul(self.hops.with_digit(hop.distance, hop.digit).into()),
            None => {
                let sizes = self.sent(rank, hop).map(|(from, to)| bytes(&self.job, from, to));
                sizes.fold(0, u64::saturating_add)
            }
        }
    }
}

impl Steps for Bruck {
    fn processes(&self) -> u32 {
        self.job.processes
    }

    #[inline]
    fn stages(&self, _rank: Rank) -> u32 {
        self.hops.stages()
    }

    #[inline]
    fn step(&self, rank: Rank, stage: u32) -> Step {
        let hop = self.hops.at(stage);
        let from = subtract_modulo(rank, hop.shift, self.job.processes);
        let to = add_modulo(rank, hop.shift, self.job.processes);
        let step = Step::exchange(
            Message { peer: to, tag: stage, bytes: self.bytes(rank, hop) },
            Message { peer: from, tag: stage, bytes: self.bytes(from, hop) },
        );
        if hop.closes.is_some() { step } else { step.go() }
    }

    /// With blocks of different sizes, this takes as long as computing all steps.
    fn largest_message(&self) -> u64 {
        let largest = |rank| {
            let sent = (0..self.hops.stages()).map(|stage| self.bytes(rank, self.hops.at(stage)));
            sent.max().unwrap_or(0)
        };
        let ranks = if self.size.is_some() { 1 } else { self.job.processes };
        (0..ranks).map(largest).max().unwrap_or(0)
    }

    fn overlaps(&self) -> bool {
        self.hops.overlap()
    }

    fn messages(&self) -> u64 {
        u64::from(self.job.processes) * u64::from(self.hops.stages())
    }
}

impl Meaning for Bruck {
    fn carries(&self, rank: Rank, stage: u32) -> Vec<Range<u64>> {
        self.sent(rank, self.hops.at(stage)).map(|(from, to)| range(&self.job, from, to)).collect()
    }

    fn takes(&self, _: Rank, _: u32) -> &'static [Take] {
        PLACE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_travel_by_the_digits_of_their_way() {
        let steps = Bruck::new(&Job::new(5, 8), None).unwrap();
        let sent = |rank, stage| steps.sent(rank, steps.hops.at(stage)).collect::<Vec<_>>();
        assert_eq!(sent(3, 0), [(3, 4), (3, 1)]);
        assert_eq!(sent(3, 1), [(3, 0), (2, 0)]);
        assert_eq!(sent(3, 2), [(3, 2)]);
    }
}
