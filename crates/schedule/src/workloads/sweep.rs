//! One block of a wavefront over a process grid: a rank waits for the faces from upstream, computes
//! the block, and sends its faces downstream.
//!
//! All calls block. This cannot deadlock, even with rendezvous: a call of a block waits only for
//! calls of earlier blocks, of ranks further upstream, or, at the same distance, for one across the
//! first dimension, which every rank handles before the second.

use super::computation::Computation;
use super::grid::Grid;
use crate::steps::{Message, Step};
use straggler_model::Rank;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sweep {
    pub grid: Grid,
    /// Whether the wave runs from the end of a dimension to its beginning.
    pub backward: [bool; 2],
    /// Bytes of the faces across the two dimensions.
    pub bytes: [u64; 2],
    pub inside: Computation,
}

/// The messages from upstream and to downstream of a rank, across both dimensions.
struct Stream {
    from: [Option<Message>; 2],
    to: [Option<Message>; 2],
}

impl Sweep {
    #[inline(always)]
    fn stream(&self, rank: Rank) -> Stream {
        let at = self.grid.coordinates(rank);
        let [(from_x, to_x), (from_y, to_y)] = [0, 1].map(|dimension| self.across(rank, at, dimension));
        Stream { from: [from_x, from_y], to: [to_x, to_y] }
    }

    /// The message received and the message sent across a dimension.
    #[inline(always)]
    fn across(&self, rank: Rank, at: [u32; 3], dimension: usize) -> (Option<Message>, Option<Message>) {
        let corner = u32::from(self.backward[0]) + 2 * u32::from(self.backward[1]);
        let tag = 2 * corner + dimension as u32;
        let message = |peer| Message { peer, tag, bytes: self.bytes[dimension] };
        let (step, place) = (self.grid.distance(dimension), at[dimension]);
        let before = (place > 0).then(|| message(rank - step));
        let after = (place + 1 < self.grid.extent(dimension)).then(|| message(rank + step));
        if self.backward[dimension] { (after, before) } else { (before, after) }
    }

    /// A corner waits for nothing, but may have something to compute.
    #[inline]
    pub fn stages(&self, rank: Rank) -> u32 {
        let Stream { from, to } = self.stream(rank);
        let messages = from.iter().chain(&to).flatten().count() as u32;
        messages + u32::from(from == [None; 2] && self.inside.is_any())
    }

    #[inline]
    pub fn step(&self, rank: Rank, phase: u32, stage: u32) -> Step {
        let Stream { from, to } = self.stream(rank);
        let inside = || self.inside.time(rank, phase);
        let mut left = stage;
        if from == [None; 2] && self.inside.is_any() {
            if left == 0 {
                return Step::calc(inside());
            }
            left -= 1;
        }
        let last = from[1].or(from[0]);
        for message in from.into_iter().flatten() {
            if left == 0 {
                let step = Step::recv(message);
                return if Some(message) == last { step.after(inside()) } else { step };
            }
            left -= 1;
        }
        let send = if left == 0 { to[0].or(to[1]) } else { to[1] };
        Step { send, ..Step::default() }
    }

    /// Every face between two ranks is sent once.
    pub fn messages(&self) -> u64 {
        let [x, y] = [0, 1].map(|dimension| u64::from(self.grid.extent(dimension)));
        (x - 1) * y + x * (y - 1)
    }

    pub fn largest_message(&self) -> u64 {
        let used = (0..2).filter(|&dimension| self.grid.extent(dimension) > 1);
        used.map(|dimension| self.bytes[dimension]).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use straggler_model::Time;

    #[test]
    fn the_wave_runs_from_corner_to_corner() {
        let grid = Grid::new([3, 2, 1]).unwrap();
        let inside = Computation { time: Time(5), ..Computation::default() };
        let sweep = Sweep { grid, backward: [true, false], bytes: [10, 20], inside };
        let steps =
            |rank| -> Vec<Step> { (0..sweep.stages(rank)).map(|stage| sweep.step(rank, 0, stage)).collect() };
        let message = |peer, tag, bytes| Message { peer, tag, bytes };
        // 0 1 2
        // 3 4 5: from the upper right to the lower left.
        let corner = [Step::calc(Time(5)), Step::send(message(1, 2, 10)), Step::send(message(5, 3, 20))];
        assert_eq!(steps(2), corner);
        let middle = [
            Step::recv(message(5, 2, 10)),
            Step::recv(message(1, 3, 20)).after(Time(5)),
            Step::send(message(3, 2, 10)),
        ];
        assert_eq!(steps(4), middle);
        assert_eq!(sweep.messages(), 7);
    }
}
