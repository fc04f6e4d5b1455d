//! Microbatches on their way forward through the stages of a pipeline, and back.

use super::computation::Computation;
use super::grid::Divisor;
use crate::steps::{Message, Step};
use straggler_model::Rank;

/// Direction of a pipeline stage's work in one slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Direction {
    Forward,
    Backward,
}

/// The position of ranks in the pipeline, and the order of each stage's work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Order {
    pub(super) stages: u32,
    /// Number of ranks per stage.
    pub(super) ranks: u32,
    pub(super) by_ranks: Divisor,
    pub(super) microbatches: u32,
    /// Whether all microbatches go forward before any goes back.
    pub(super) all_forward: bool,
}

impl Order {
    pub(super) fn slots(&self) -> u32 {
        2 * self.microbatches
    }

    #[inline(always)]
    fn stage(&self, rank: Rank) -> u32 {
        self.by_ranks.divide(rank).0
    }

    #[inline(always)]
    fn direction(&self, stage: u32, slot: u32) -> Direction {
        let warm_up = if self.all_forward {
            self.microbatches
        } else {
            (self.stages - 1 - stage).min(self.microbatches)
        };
        let turns = 2 * (self.microbatches - warm_up);
        let forward = slot < warm_up || (slot < warm_up + turns && (slot - warm_up).is_multiple_of(2));
        if forward { Direction::Forward } else { Direction::Backward }
    }
}

/// The work of every stage in its slots. Both orders bring the microbatches of a direction to all
/// stages in the same order, so messages between two stages need no numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pipeline {
    pub(super) order: Order,
    /// Phases per slot; the first slot begins with the first phase.
    pub(super) by_slot: Divisor,
    pub(super) what: PipelineTask,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PipelineTask {
    /// Half a layer; backward takes twice as long.
    Compute(Computation),
    /// Sends the result of the previous slot and receives the input of this one.
    HandOver { bytes: u64 },
}

impl Pipeline {
    #[inline]
    pub fn stages(&self, rank: Rank, phase: u32) -> u32 {
        match self.what {
            PipelineTask::Compute(computation) => u32::from(computation.is_any()),
            PipelineTask::HandOver { bytes } => {
                let (send, recv) = self.messages_of(rank, phase, bytes);
                u32::from(send.is_some() || recv.is_some())
            }
        }
    }

    #[inline]
    pub fn step(&self, rank: Rank, phase: u32, _: u32) -> Step {
        match self.what {
            PipelineTask::Compute(computation) => {
                let forward = computation.time(rank, phase);
                match self.order.direction(self.order.stage(rank), self.by_slot.divide(phase).0) {
                    Direction::Forward => Step::calc(forward),
                    Direction::Backward => Step::calc(forward + forward),
                }
            }
            PipelineTask::HandOver { bytes } => {
                let (send, recv) = self.messages_of(rank, phase, bytes);
                Step { send, recv, ..Step::default() }
            }
        }
    }

    #[inline(always)]
    fn messages_of(&self, rank: Rank, phase: u32, bytes: u64) -> (Option<Message>, Option<Message>) {
        let Order { stages, ranks, .. } = self.order;
        let slot = self.by_slot.divide(phase).0;
        let stage = self.order.stage(rank);
        let message = |up: bool, direction: Direction| {
            let there = if up { stage + 1 < stages } else { stage > 0 };
            let peer = if up { rank.wrapping_add(ranks) } else { rank.wrapping_sub(ranks) };
            there.then_some(Message { peer, tag: direction as u32, bytes })
        };
        let direction = |slot| self.order.direction(stage, slot);
        // Forward goes up the stages, backward down.
        let send = (slot > 0).then(|| direction(slot - 1));
        let send = send.and_then(|direction| message(direction == Direction::Forward, direction));
        let recv = (slot < self.order.slots()).then(|| direction(slot));
        let recv = recv.and_then(|direction| message(direction == Direction::Backward, direction));
        (send, recv)
    }

    /// Every microbatch crosses from each stage to the next, and back, on all ranks of the stage.
    pub fn messages(&self) -> u64 {
        let Order { stages, ranks, .. } = self.order;
        match self.what {
            PipelineTask::HandOver { .. } => {
                let crossings = u64::from(stages - 1) * u64::from(ranks);
                u64::from(self.order.slots()).saturating_mul(crossings)
            }
            PipelineTask::Compute(_) => 0,
        }
    }

    pub fn largest_message(&self) -> u64 {
        match self.what {
            PipelineTask::HandOver { bytes } if self.order.stages > 1 => bytes,
            _ => 0,
        }
    }

    pub(super) fn silent(&self) -> Pipeline {
        let what = match self.what {
            // A computation of zero length becomes no step.
            PipelineTask::HandOver { .. } => PipelineTask::Compute(Computation::default()),
            what => what,
        };
        Pipeline { what, ..*self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The directions of a stage, as "F" and "B".
    fn directions(stages: u32, microbatches: u32, stage: u32, all_forward: bool) -> String {
        let by_ranks = Divisor::new(1).unwrap();
        let order = Order { stages, ranks: 1, by_ranks, microbatches, all_forward };
        let letter = |slot| match order.direction(stage, slot) {
            Direction::Forward => 'F',
            Direction::Backward => 'B',
        };
        (0..order.slots()).map(letter).collect()
    }

    #[test]
    fn one_forward_one_backward() {
        assert_eq!(directions(4, 4, 3, false), "FBFBFBFB");
        assert_eq!(directions(4, 4, 2, false), "FFBFBFBB");
        assert_eq!(directions(4, 4, 0, false), "FFFFBBBB");
        assert_eq!(directions(8, 3, 1, false), "FFFBBB");
        assert_eq!(directions(2, 3, 1, true), "FFFBBB");
    }
}
