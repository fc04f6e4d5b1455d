//! The parts that applications are built from.
//!
//! An [`Application`] is a table of parts and a list of the part of each phase. Engines ask parts
//! for every step of every rank, so steps are computed from a few numbers, without lookups by name,
//! data per rank or allocation.

use super::computation::Computation;
use super::grouped::Grouped;
use super::halo::Halo;
use super::overlapped::Overlapped;
use super::pipeline::Pipeline;
use super::sweep::Sweep;
use super::tasks::MasterWorker;
use crate::collectives::Collective;
use crate::{Script, Step, Steps};
use straggler_model::Rank;

/// What all ranks do in a phase.
#[derive(Clone, Debug)]
pub enum Part {
    Nothing,
    Compute(Computation),
    Collective(Collective),
    Halo(Halo),
    Sweep(Sweep),
    Grouped(Grouped),
    Overlapped(Overlapped),
    MasterWorker(MasterWorker),
    Pipeline(Pipeline),
}

/// Which communication is simulated; computation always is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Only {
    #[default]
    All,
    /// Point-to-point messages.
    P2p,
    Collectives,
}

impl Part {
    #[inline]
    fn stages(&self, rank: Rank, phase: u32) -> u32 {
        match self {
            Part::Nothing => 0,
            Part::Compute(_) => 1,
            Part::Collective(collective) => collective.stages(rank),
            Part::Halo(halo) => halo.stages(rank),
            Part::Sweep(sweep) => sweep.stages(rank),
            Part::Grouped(grouped) => grouped.stages(rank),
            Part::Overlapped(overlapped) => overlapped.stages(rank),
            Part::MasterWorker(tasks) => tasks.stages(rank),
            Part::Pipeline(pipeline) => pipeline.stages(rank, phase),
        }
    }

    #[inline]
    fn step(&self, rank: Rank, phase: u32, stage: u32) -> Step {
        match self {
            Part::Nothing => Step::default(),
            Part::Compute(computation) => Step::calc(computation.time(rank, phase)),
            Part::Collective(collective) => collective.step(rank, stage),
            Part::Halo(halo) => halo.step(rank, phase, stage),
            Part::Sweep(sweep) => sweep.step(rank, phase, stage),
            Part::Grouped(grouped) => grouped.step(rank, stage),
            Part::Overlapped(overlapped) => overlapped.step(rank, phase, stage),
            Part::MasterWorker(tasks) => tasks.step(rank, stage),
            Part::Pipeline(pipeline) => pipeline.step(rank, phase, stage),
        }
    }

    /// Number of messages in `phases` phases of this part.
    fn messages(&self, phases: u64) -> u64 {
        let once = match self {
            Part::Nothing | Part::Compute(_) => 0,
            Part::Collective(collective) => collective.messages(),
            Part::Halo(halo) => halo.messages(),
            Part::Sweep(sweep) => sweep.messages(),
            Part::Grouped(grouped) => grouped.messages(),
            Part::Overlapped(overlapped) => overlapped.messages(),
            Part::MasterWorker(tasks) => tasks.messages(),
            // The phases of a pipeline differ, so it counts them itself.
            Part::Pipeline(pipeline) => return pipeline.messages(),
        };
        once.saturating_mul(phases)
    }

    fn largest_message(&self) -> u64 {
        match self {
            Part::Nothing | Part::Compute(_) => 0,
            Part::Collective(collective) => collective.largest_message(),
            Part::Halo(halo) => halo.largest_message(),
            Part::Sweep(sweep) => sweep.largest_message(),
            Part::Grouped(grouped) => grouped.largest_message(),
            Part::Overlapped(overlapped) => overlapped.largest_message(),
            Part::MasterWorker(tasks) => tasks.largest_message(),
            Part::Pipeline(pipeline) => pipeline.largest_message(),
        }
    }

    fn overlaps(&self) -> bool {
        match self {
            Part::Collective(collective) => collective.overlaps(),
            Part::Halo(halo) => halo.overlaps(),
            Part::Grouped(grouped) => grouped.overlaps(),
            Part::Overlapped(overlapped) => overlapped.overlaps(),
            _ => false,
        }
    }

    /// Approximate number of computations of a rank, for progress meters and memory.
    fn computations(&self) -> u64 {
        match self {
            Part::Compute(_) | Part::Overlapped(_) | Part::Pipeline(_) => 1,
            Part::Halo(halo) => u64::from(halo.inside.is_any()),
            Part::Sweep(sweep) => u64::from(sweep.inside.is_any()),
            _ => 0,
        }
    }

    fn is_collective(&self) -> bool {
        matches!(self, Part::Collective(_) | Part::Grouped(_) | Part::Overlapped(_))
    }

    fn is_p2p(&self) -> bool {
        matches!(self, Part::Halo(_) | Part::Sweep(_) | Part::MasterWorker(_) | Part::Pipeline(_))
    }

    /// The computation of a part without its messages.
    fn silent(&self) -> Part {
        let inside = match self {
            Part::Halo(halo) => return Part::Halo(halo.silent()),
            Part::Sweep(sweep) => sweep.inside,
            Part::Overlapped(overlapped) => overlapped.inside,
            Part::Pipeline(pipeline) => return Part::Pipeline(pipeline.silent()),
            Part::MasterWorker(tasks) => return Part::MasterWorker(tasks.silent()),
            _ => return Part::Nothing,
        };
        if inside.is_any() { Part::Compute(inside) } else { Part::Nothing }
    }
}

/// A workload for a number of processes, ready to run.
#[derive(Clone, Debug)]
pub struct Application {
    processes: u32,
    parts: Vec<Part>,
    /// The part of each phase, as an index below the number of parts.
    order: Vec<u32>,
    largest_message: u64,
    description: String,
}

impl Application {
    /// One-sentence description.
    pub fn describe(&self) -> &str {
        &self.description
    }

    /// The parts, with the number of phases of each.
    pub fn parts(&self) -> impl Iterator<Item = (&Part, u64)> {
        self.parts.iter().zip(self.counts())
    }

    fn counts(&self) -> Vec<u64> {
        let mut counts = vec![0; self.parts.len()];
        self.order.iter().for_each(|&part| counts[part as usize] += 1);
        counts
    }

    fn find_largest(&self) -> u64 {
        let used = self.parts().filter(|(_, count)| *count > 0);
        used.map(|(part, _)| part.largest_message()).max().unwrap_or(0)
    }

    fn sum(&self, of: impl Fn(&Part, u64) -> u64) -> u64 {
        self.parts().map(|(part, count)| of(part, count)).fold(0, u64::saturating_add)
    }

    /// Removes communication of the other kind. Phases keep their numbers, and so the lengths of
    /// their computations.
    pub fn only(mut self, only: Only) -> Application {
        for part in &mut self.parts {
            let dropped = match only {
                Only::All => false,
                Only::P2p => part.is_collective(),
                Only::Collectives => part.is_p2p(),
            };
            if dropped {
                *part = part.silent();
            }
        }
        self.largest_message = self.find_largest();
        self.description += match only {
            Only::All => "",
            Only::P2p => " (point-to-point messages only)",
            Only::Collectives => " (collectives only)",
        };
        self
    }
}

impl Script for Application {
    #[inline]
    fn processes(&self) -> u32 {
        self.processes
    }

    #[inline]
    fn phases(&self) -> u32 {
        self.order.len() as u32
    }

    #[inline]
    fn stages(&self, rank: Rank, phase: u32) -> u32 {
        self.parts[self.order[phase as usize] as usize].stages(rank, phase)
    }

    #[inline]
    fn step(&self, rank: Rank, phase: u32, stage: u32) -> Step {
        self.parts[self.order[phase as usize] as usize].step(rank, phase, stage)
    }

    fn largest_message(&self) -> u64 {
        self.largest_message
    }

    fn overlaps(&self) -> bool {
        self.parts().any(|(part, count)| count > 0 && part.overlaps())
    }

    fn messages(&self) -> u64 {
        self.sum(Part::messages)
    }

    fn operations(&self) -> u64 {
        let computations = self
            .sum(|part, phases| part.computations().saturating_mul(phases))
            .saturating_mul(u64::from(self.processes));
        self.messages().saturating_mul(2).saturating_add(computations)
    }
}

/// Builds an application.
#[derive(Debug, Default)]
pub(super) struct Builder {
    parts: Vec<Part>,
    order: Vec<u32>,
    /// Set if phases were dropped because there were too many.
    full: bool,
}

impl Builder {
    /// Keeps the list of phases within 64 MiB.
    pub const MOST_PHASES: usize = 1 << 24;

    /// Adds a part and returns its number.
    pub fn part(&mut self, part: Part) -> u32 {
        self.parts.push(part);
        (self.parts.len() - 1) as u32
    }

    /// Adds a computation, or nothing if it has no length.
    pub fn compute(&mut self, computation: Computation) -> u32 {
        self.part(if computation.is_any() { Part::Compute(computation) } else { Part::Nothing })
    }

    /// Appends a phase, unless its part does nothing.
    pub fn then(&mut self, part: u32) {
        let nothing = matches!(self.parts.get(part as usize), None | Some(Part::Nothing));
        if self.order.len() >= Self::MOST_PHASES {
            self.full = true;
        } else if !nothing {
            self.order.push(part);
        }
    }

    pub fn times(&mut self, count: u32, part: u32) {
        for _ in 0..count {
            if self.full {
                break;
            }
            self.then(part);
        }
    }

    /// Whether phases were dropped; adding more is pointless.
    pub fn is_full(&self) -> bool {
        self.full
    }

    pub fn finish(self, processes: u32, description: String) -> Application {
        let (parts, order) = (self.parts, self.order);
        let application = Application { processes, parts, order, largest_message: 0, description };
        // Removes nothing, but determines the largest message.
        application.only(Only::All)
    }
}

/// Interleaves several kinds of calls, each spread evenly: call k of n is at (k + ½) / n of the
/// whole. Returns `None` if there are more than an application may have phases.
pub(super) fn spread(counts: &[u32]) -> Option<Vec<u32>> {
    let mut done = vec![0u64; counts.len()];
    let total: u64 = counts.iter().map(|&count| u64::from(count)).sum();
    if total > Builder::MOST_PHASES as u64 {
        return None;
    }
    let mut order = Vec::new();
    for _ in 0..total {
        // The smallest (2k + 1) / n, compared without division.
        let mut first: Option<usize> = None;
        for kind in (0..counts.len()).filter(|&kind| done[kind] < u64::from(counts[kind])) {
            let place = |kind: usize| (2 * done[kind] + 1, u64::from(counts[kind]));
            let earlier = first.is_none_or(|other| {
                let ((a, n), (b, m)) = (place(kind), place(other));
                u128::from(a) * u128::from(m) < u128::from(b) * u128::from(n)
            });
            if earlier {
                first = Some(kind);
            }
        }
        let Some(kind) = first else { break };
        done[kind] += 1;
        order.push(kind as u32);
    }
    Some(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_spread_evenly() {
        assert_eq!(spread(&[1, 3]).unwrap(), [1, 0, 1, 1]);
        assert_eq!(spread(&[2, 0, 2]).unwrap(), [0, 2, 0, 2]);
        let many = spread(&[608, 575, 703]).unwrap();
        assert_eq!(many.len(), 608 + 575 + 703);
        assert_eq!(many[..943].iter().filter(|&&kind| kind == 0).count(), 304);
        assert_eq!(spread(&[]), Some(Vec::new()));
        assert_eq!(spread(&[u32::MAX]), None);
    }
}
