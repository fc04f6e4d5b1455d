//! The data of an operation, cut wherever a message begins or ends.

use std::collections::BTreeSet;
use std::ops::Range;

/// Boundaries in ascending order; atom i lies between boundary i and i + 1.
#[derive(Debug)]
pub struct Atoms {
    cuts: Vec<u64>,
}

impl Atoms {
    /// Atoms of the bytes from 0 to `end`.
    pub fn new(end: u64, ranges: impl Iterator<Item = Range<u64>>) -> Atoms {
        let mut cuts = BTreeSet::from([0, end]);
        cuts.extend(ranges.flat_map(|range| [range.start, range.end]));
        Atoms { cuts: cuts.into_iter().collect() }
    }

    pub fn len(&self) -> usize {
        self.cuts.len() - 1
    }

    /// The atoms in a range. Both ends of the range must be boundaries.
    pub fn covering(&self, range: &Range<u64>) -> Range<usize> {
        let place = |byte| self.cuts.partition_point(|&cut| cut < byte);
        place(range.start)..place(range.end)
    }

    /// The first byte of an atom.
    pub fn byte(&self, atom: usize) -> u64 {
        self.cuts[atom]
    }

    pub fn bytes(&self, atom: usize) -> u64 {
        self.cuts[atom + 1] - self.cuts[atom]
    }
}
