//! K-nomial tree with contiguous subtrees, as scatter and gather need it: in base k, the parent of
//! a place has its last nonzero digit set to 0. The largest subtrees are served first.

use super::{Neighbours, Tree};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Contiguous {
    processes: u64,
    radix: u64,
    /// The largest power of the radix below the number of processes.
    top: u64,
}

impl Contiguous {
    /// `radix` is at least 2.
    pub fn new(processes: u32, radix: u32) -> Contiguous {
        let (processes, radix) = (u64::from(processes), u64::from(radix.max(2)));
        let mut top = 1;
        while top * radix < processes {
            top *= radix;
        }
        Contiguous { processes, radix, top }
    }

    /// The weight of the last nonzero digit; for the root, the power of the radix above `top`.
    #[inline]
    fn weight(&self, place: u32) -> u64 {
        let mut weight = 1;
        while weight <= self.top && u64::from(place).is_multiple_of(weight * self.radix) {
            weight *= self.radix;
        }
        weight
    }

    /// Groups of children, as (distance between them, number of children), largest subtrees first.
    #[inline]
    fn groups(&self, place: u32) -> impl Iterator<Item = (u64, u64)> {
        let room = self.processes - 1 - u64::from(place);
        let radix = self.radix;
        let first = Some(self.weight(place) / radix).filter(|&distance| distance > 0);
        std::iter::successors(first, move |&distance| (distance > 1).then_some(distance / radix))
            .map(move |distance| (distance, (room / distance).min(radix - 1)))
    }
}

impl Tree for Contiguous {
    fn children(&self, place: u32) -> u32 {
        self.groups(place).map(|(_, count)| count as u32).sum()
    }

    fn child(&self, place: u32, index: u32) -> u32 {
        let mut left = u64::from(index);
        for (distance, count) in self.groups(place) {
            if left < count {
                return place + ((left + 1) * distance) as u32;
            }
            left -= count;
        }
        debug_assert!(false, "a place has no more children than it says");
        place
    }

    fn parent(&self, place: u32) -> u32 {
        place - (u64::from(place) % (self.weight(place) * self.radix)) as u32
    }
}

impl Neighbours for Contiguous {
    fn below(&self, place: u32) -> u32 {
        self.weight(place).min(self.processes - u64::from(place)) as u32
    }
}
