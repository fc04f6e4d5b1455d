//! Binary tree, numbered level by level like a heap: place p has the children 2p + 1 and 2p + 2.

use super::Tree;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Binary {
    processes: u32,
}

impl Binary {
    pub fn new(processes: u32) -> Binary {
        Binary { processes }
    }
}

impl Tree for Binary {
    #[inline]
    fn children(&self, place: u32) -> u32 {
        // Places are below 2^31, so doubling does not overflow.
        self.processes.saturating_sub(2 * place + 1).min(2)
    }

    #[inline]
    fn child(&self, place: u32, index: u32) -> u32 {
        2 * place + 1 + index
    }

    #[inline]
    fn parent(&self, place: u32) -> u32 {
        (place - 1) / 2
    }
}
