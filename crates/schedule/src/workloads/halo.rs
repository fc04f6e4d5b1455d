//! Halo exchange on a process grid: every rank exchanges a face with each of its neighbours.
//!
//! With nonblocking calls, all messages are in flight together and, if requested, the inner points
//! are computed meanwhile. With blocking calls, one direction follows the other: every rank sends
//! ahead and receives from behind, which terminates for every message size and any boundary.

use super::computation::Computation;
use super::grid::Grid;
use crate::steps::{Message, Step};
use straggler_model::Rank;

/// One exchange. Directions are numbered: forward and back in the first dimension, then the second, …
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Halo {
    pub grid: Grid,
    /// Whether each dimension is a ring. Only allowed with stride 1.
    pub periodic: [bool; 3],
    /// Only ranks whose coordinates are multiples of the stride take part, and neighbours are a
    /// stride apart, as on a coarser grid.
    pub stride: u32,
    /// Bytes of a face across each dimension.
    pub bytes: [u64; 3],
    pub calls: Calls,
    /// Computation while messages are in flight, or after them if calls block.
    pub inside: Computation,
    /// Leaves out the messages.
    pub silent: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Calls {
    Blocking,
    Nonblocking,
}

const DIRECTIONS: u32 = 6;

impl Halo {
    /// Number of ranks of the coarser grid along a dimension.
    fn places(&self, dimension: usize) -> u32 {
        self.grid.extent(dimension).div_ceil(self.stride)
    }

    #[inline(always)]
    fn takes_part(&self, at: [u32; 3]) -> bool {
        self.stride == 1 || at.iter().all(|place| place.is_multiple_of(self.stride))
    }

    /// The neighbour in a direction, if there is one.
    #[inline(always)]
    fn neighbour(&self, rank: Rank, at: [u32; 3], direction: u32) -> Option<Rank> {
        let dimension = (direction / 2) as usize;
        let (extent, place) = (self.grid.extent(dimension), at[dimension]);
        let (step, stride) = (self.grid.distance(dimension), self.stride);
        let up = direction.is_multiple_of(2);
        if up && place + stride < extent {
            Some(rank + step * stride)
        } else if !up && place >= stride {
            Some(rank - step * stride)
        } else if self.periodic[dimension] && extent > 1 {
            let round = step * (extent - 1);
            Some(if up { rank - round } else { rank + round })
        } else {
            None
        }
    }

    /// A bit for each direction that needs a step of its own.
    #[inline(always)]
    fn directions(&self, rank: Rank, at: [u32; 3]) -> u32 {
        if self.silent {
            return 0;
        }
        let there = |direction| u32::from(self.neighbour(rank, at, direction).is_some()) << direction;
        let neighbours = (0..DIRECTIONS).map(there).fold(0, |all, bit| all | bit);
        match self.calls {
            Calls::Nonblocking => neighbours,
            // Sending ahead and receiving from behind form one step.
            Calls::Blocking => neighbours | (neighbours & 0b01_0101) << 1 | (neighbours & 0b10_1010) >> 1,
        }
    }

    #[inline]
    pub fn stages(&self, rank: Rank) -> u32 {
        let at = self.grid.coordinates(rank);
        if !self.takes_part(at) {
            return 0;
        }
        self.directions(rank, at).count_ones() + u32::from(self.inside.is_any())
    }

    #[inline]
    pub fn step(&self, rank: Rank, phase: u32, stage: u32) -> Step {
        let at = self.grid.coordinates(rank);
        let mut rest = self.directions(rank, at);
        for _ in 0..stage {
            rest &= rest.wrapping_sub(1);
        }
        if rest == 0 {
            return Step::calc(self.inside.time(rank, phase));
        }
        let direction = rest.trailing_zeros();
        let message = |to: u32, tag| {
            let bytes = self.bytes[(direction / 2) as usize];
            self.neighbour(rank, at, to).map(|peer| Message { peer, tag, bytes })
        };
        // A message's tag is the direction in which it was sent.
        let send = message(direction, direction);
        match self.calls {
            Calls::Blocking => Step { send, recv: message(direction ^ 1, direction), ..Step::default() },
            Calls::Nonblocking => {
                let step = Step { send, recv: message(direction, direction ^ 1), ..Step::default() };
                let last = rest.is_power_of_two() && !self.inside.is_any();
                if last { step } else { step.go() }
            }
        }
    }

    pub fn silent(&self) -> Halo {
        Halo { silent: true, ..*self }
    }

    pub fn overlaps(&self) -> bool {
        self.calls == Calls::Nonblocking && self.messages() > 0
    }

    fn messages_along(&self, dimension: usize) -> u64 {
        let places = |dimension| u64::from(self.places(dimension));
        let across: u64 = (0..3).filter(|&other| other != dimension).map(places).product();
        let along = match places(dimension) {
            _ if self.silent => 0,
            1 => 0,
            all if self.periodic[dimension] => all,
            all => all - 1,
        };
        2 * along * across
    }

    pub fn messages(&self) -> u64 {
        (0..3).map(|dimension| self.messages_along(dimension)).sum()
    }

    pub fn largest_message(&self) -> u64 {
        let used = (0..3).filter(|&dimension| self.messages_along(dimension) > 0);
        used.map(|dimension| self.bytes[dimension]).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn halo(extents: [u32; 3], periodic: bool, stride: u32, calls: Calls) -> Halo {
        let grid = Grid::new(extents).unwrap();
        let inside = Computation::default();
        Halo { grid, periodic: [periodic; 3], stride, bytes: [1, 2, 3], calls, inside, silent: false }
    }

    fn sent(halo: &Halo, rank: Rank) -> Vec<Option<Rank>> {
        (0..halo.stages(rank)).map(|stage| halo.step(rank, 0, stage).send.map(|m| m.peer)).collect()
    }

    #[test]
    fn neighbours_in_the_plane() {
        // 0 1 2
        // 3 4 5
        let open = halo([3, 2, 1], false, 1, Calls::Nonblocking);
        assert_eq!(sent(&open, 0), [Some(1), Some(3)]);
        assert_eq!(sent(&open, 4), [Some(5), Some(3), Some(1)]);
        let ring = halo([3, 2, 1], true, 1, Calls::Nonblocking);
        assert_eq!(sent(&ring, 0), [Some(1), Some(2), Some(3), Some(3)]);
        let blocking = halo([3, 2, 1], false, 1, Calls::Blocking);
        // To the right; from the right; down; from below.
        assert_eq!(sent(&blocking, 0), [Some(1), None, Some(3), None]);
    }

    #[test]
    fn coarser_grids_have_fewer_neighbours_further_away() {
        let coarse = halo([5, 5, 5], false, 2, Calls::Nonblocking);
        assert_eq!(sent(&coarse, 0), [Some(2), Some(10), Some(50)]);
        assert!(sent(&coarse, 1).is_empty());
        assert_eq!(coarse.messages(), 6 * 2 * 9);
    }
}
