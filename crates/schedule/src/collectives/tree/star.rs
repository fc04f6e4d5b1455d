//! Star: all places are children of the root.

use super::{Neighbours, Tree};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Star {
    processes: u32,
}

impl Star {
    pub fn new(processes: u32) -> Star {
        Star { processes }
    }
}

impl Tree for Star {
    #[inline]
    fn children(&self, place: u32) -> u32 {
        if place == 0 { self.processes - 1 } else { 0 }
    }

    #[inline]
    fn child(&self, _: u32, index: u32) -> u32 {
        index + 1
    }

    #[inline]
    fn parent(&self, _: u32) -> u32 {
        0
    }
}

impl Neighbours for Star {
    fn below(&self, place: u32) -> u32 {
        if place == 0 { self.processes } else { 1 }
    }
}
