//! Chain: every place passes data on to the next.

use super::Tree;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Chain {
    processes: u32,
}

impl Chain {
    pub fn new(processes: u32) -> Chain {
        Chain { processes }
    }
}

impl Tree for Chain {
    #[inline]
    fn children(&self, place: u32) -> u32 {
        u32::from(place + 1 < self.processes)
    }

    #[inline]
    fn child(&self, place: u32, _: u32) -> u32 {
        place + 1
    }

    #[inline]
    fn parent(&self, place: u32) -> u32 {
        place - 1
    }
}
