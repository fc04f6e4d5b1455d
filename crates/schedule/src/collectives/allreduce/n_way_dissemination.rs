//! n-way dissemination (Hoefler, Mehlan, Mietke and Rehm 2006): dissemination with n = radix - 1
//! partners per round, for networks that can start several messages before the first one arrives.
//!
//! All sends and receives of a round are in flight together; the data is combined when all has arrived.

use crate::collectives::hops::Hops;
use crate::collectives::{
    COMBINE, CollectiveError, Job, Meaning, Name, Take, add_modulo, piece, subtract_modulo,
};
use crate::steps::{Message, Step, Steps, Symmetry};
use std::ops::Range;
use straggler_model::{Rank, Time};

/// Allreduce by n-way dissemination.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NWayDissemination {
    processes: u32,
    hops: Hops,
    bytes: u64,
    reduction: Time,
}

impl NWayDissemination {
    pub fn new(job: &Job, radix: u32) -> Result<NWayDissemination, CollectiveError> {
        let hops = Hops::new(Name::Dissemination, job.processes, Some(radix))?;
        let bytes = job.vector();
        Ok(NWayDissemination { processes: job.processes, hops, bytes, reduction: job.cost(bytes) })
    }
}

impl Steps for NWayDissemination {
    fn processes(&self) -> u32 {
        self.processes
    }

    #[inline]
    fn stages(&self, _rank: Rank) -> u32 {
        self.hops.stages()
    }

    #[inline]
    fn step(&self, rank: Rank, stage: u32) -> Step {
        let hop = self.hops.at(stage);
        let message = |peer| Message { peer, tag: stage, bytes: self.bytes };
        let step = Step::exchange(
            message(add_modulo(rank, hop.shift, self.processes)),
            message(subtract_modulo(rank, hop.shift, self.processes)),
        );
        match hop.closes {
            Some(partners) => {
                step.after(Time::from_ps(self.reduction.ps().saturating_mul(u64::from(partners))))
            }
            None => step.go(),
        }
    }

    fn largest_message(&self) -> u64 {
        if self.processes == 1 { 0 } else { self.bytes }
    }

    fn overlaps(&self) -> bool {
        self.hops.overlap()
    }

    fn symmetry(&self) -> Symmetry {
        Symmetry::Shifted
    }

    fn messages(&self) -> u64 {
        u64::from(self.processes) * u64::from(self.hops.stages())
    }
}

impl Meaning for NWayDissemination {
    fn carries(&self, _: Rank, _: u32) -> Vec<Range<u64>> {
        piece(0..self.bytes)
    }

    fn takes(&self, _: Rank, _: u32) -> &'static [Take] {
        COMBINE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collectives::allreduce::Dissemination;
    use crate::steps::Then;

    #[test]
    fn one_way_is_the_common_dissemination() {
        for processes in 1..40 {
            let job = Job::new(processes, 8);
            let (one, many) = (Dissemination::new(&job), NWayDissemination::new(&job, 2).unwrap());
            assert_eq!(one.stages(0), many.stages(0));
            for stage in 0..one.stages(0) {
                assert_eq!(one.step(processes - 1, stage), many.step(processes - 1, stage));
            }
        }
    }

    #[test]
    fn a_round_is_waited_for_once() {
        let steps = NWayDissemination::new(&Job::new(9, 8), 3).unwrap();
        let of_2: Vec<(Rank, Rank, Then)> = (0..4)
            .map(|stage| steps.step(2, stage))
            .map(|step| (step.send.unwrap().peer, step.recv.unwrap().peer, step.then))
            .collect();
        assert_eq!(of_2, [(3, 1, Then::Go), (4, 0, Then::Wait), (5, 8, Then::Go), (8, 5, Then::Wait)]);
    }
}
