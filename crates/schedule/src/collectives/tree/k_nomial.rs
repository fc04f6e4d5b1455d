//! K-nomial tree that grows: before round j the first k^j places have the data, and in round j each
//! of them serves the k - 1 places i·k^j further. With k = 2 it is the binomial tree.

use super::Tree;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KNomial {
    processes: u64,
    radix: u64,
}

impl KNomial {
    /// `radix` is at least 2.
    pub fn new(processes: u32, radix: u32) -> KNomial {
        KNomial { processes: u64::from(processes), radix: u64::from(radix.max(2)) }
    }

    /// The smallest power of the radix above a place, which is the distance to its first child.
    #[inline]
    fn first_distance(&self, place: u32) -> u64 {
        let mut power = 1;
        while power <= u64::from(place) {
            power *= self.radix;
        }
        power
    }
}

impl Tree for KNomial {
    fn children(&self, place: u32) -> u32 {
        let room = self.processes - 1 - u64::from(place);
        let mut distance = self.first_distance(place);
        let mut children = 0;
        while distance <= room {
            children += (room / distance).min(self.radix - 1);
            distance *= self.radix;
        }
        children as u32
    }

    fn child(&self, place: u32, index: u32) -> u32 {
        // All rounds but the last are full.
        let (round, within) = (u64::from(index) / (self.radix - 1), u64::from(index) % (self.radix - 1));
        let mut distance = self.first_distance(place);
        for _ in 0..round {
            distance *= self.radix;
        }
        place + ((within + 1) * distance) as u32
    }

    fn parent(&self, place: u32) -> u32 {
        (u64::from(place) % (self.first_distance(place) / self.radix)) as u32
    }
}
