//! How data is divided into blocks, as a function of the block number.

use std::ops::Range;
use std::sync::Arc;

/// Block sizes in bytes, given by a list that repeats: block i has the size at i modulo the length
/// of the list. Blocks are contiguous, so a run of blocks is a range of bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sizes {
    /// Where each block of a period begins, and where the period ends.
    starts: Arc<[u64]>,
    /// Number of blocks of the list before block 0.
    skipped: u64,
    /// Set if the list is a square that repeats in both directions.
    tile: Option<Tile>,
}

/// A square of sizes that is repeated to cover a larger square.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Tile {
    side: u64,
    copies: u64,
}

impl Tile {
    /// Row and column of a block.
    #[inline]
    fn place(self, block: u64) -> (u64, u64) {
        (block / (self.side * self.copies), block % (self.side * self.copies))
    }

    fn start(self, starts: &[u64], block: u64) -> u64 {
        let (row, column) = self.place(block);
        let at = |row: u64, column: u64| starts[(row * self.side + column) as usize];
        let (squares, row) = (row / self.side, row % self.side);
        let above = squares.saturating_mul(at(self.side, 0)).saturating_add(at(row, 0));
        let left = (column / self.side).saturating_mul(at(row + 1, 0) - at(row, 0));
        let inside = at(row, column % self.side) - at(row, 0);
        above.saturating_mul(self.copies).saturating_add(left).saturating_add(inside)
    }

    /// Index in the list of a block's size.
    #[inline]
    fn index(self, block: u64) -> usize {
        let (row, column) = self.place(block);
        ((row % self.side) * self.side + column % self.side) as usize
    }
}

impl Sizes {
    /// Sizes with which all blocks are equal.
    pub fn uniform(bytes: u64) -> Sizes {
        Sizes { starts: [0, bytes].into(), skipped: 0, tile: None }
    }

    /// Sizes that repeat. An empty list means blocks of 0 bytes.
    pub fn repeating(sizes: &[u64]) -> Sizes {
        if sizes.is_empty() {
            return Sizes::uniform(0);
        }
        let mut end = 0u64;
        let ends = sizes.iter().map(|&bytes| {
            end = end.saturating_add(bytes);
            end
        });
        Sizes { starts: [0].into_iter().chain(ends).collect(), skipped: 0, tile: None }
    }

    /// Blocks for each pair of `side`·`copies` ranks, from those for each pair of `side` ranks:
    /// ranks that differ by a multiple of `side` send and receive the same. Expects `side`² sizes;
    /// otherwise all blocks have 0 bytes.
    pub fn tiled(sizes: &[u64], side: u32, copies: u32) -> Sizes {
        let (side, copies) = (u64::from(side), u64::from(copies));
        let fits = side > 0 && copies > 0 && side.checked_mul(side) == Some(sizes.len() as u64);
        if !fits {
            return Sizes::uniform(0);
        }
        let tile = (copies > 1).then_some(Tile { side, copies });
        Sizes { tile, ..Sizes::repeating(sizes) }
    }

    /// Number of blocks after which the sizes repeat.
    pub fn period(&self) -> u64 {
        (self.starts.len() as u64 - 1).saturating_mul(self.tile.map_or(1, |tile| tile.copies))
    }

    fn period_bytes(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Whether all blocks have the same size.
    pub fn is_uniform(&self) -> bool {
        self.starts.windows(2).all(|pair| pair[1] - pair[0] == self.starts[1])
    }

    /// The sizes from block `first` on.
    pub fn from(&self, first: u64) -> Sizes {
        let skipped = (self.skipped + first % self.period()) % self.period();
        Sizes { starts: self.starts.clone(), skipped, tile: self.tile }
    }

    /// Number of runs of `blocks` blocks after which the sizes repeat, at least one.
    pub fn period_of_runs(&self, blocks: u64) -> u64 {
        let (mut divisor, mut rest) = (self.period(), blocks);
        while rest != 0 {
            (divisor, rest) = (rest, divisor % rest);
        }
        self.period() / divisor
    }

    /// Offset of block `block`.
    #[inline]
    pub fn start(&self, block: u64) -> u64 {
        if self.starts.len() == 2 {
            return block.saturating_mul(self.starts[1]);
        }
        if let Some(tile) = self.tile {
            let block = self.skipped.saturating_add(block);
            return tile.start(&self.starts, block) - tile.start(&self.starts, self.skipped);
        }
        self.start_in_list(self.skipped.saturating_add(block)) - self.starts[self.skipped as usize]
    }

    fn start_in_list(&self, block: u64) -> u64 {
        let (periods, place) = (block / self.period(), block % self.period());
        periods.saturating_mul(self.period_bytes()).saturating_add(self.starts[place as usize])
    }

    /// The size of block `block`.
    #[inline]
    pub fn size(&self, block: u64) -> u64 {
        if self.starts.len() == 2 {
            return self.starts[1];
        }
        let block = (self.skipped + block % self.period()) % self.period();
        let place = self.tile.map_or(block as usize, |tile| tile.index(block));
        self.starts[place + 1] - self.starts[place]
    }

    /// Byte range of a run of blocks.
    pub fn range(&self, blocks: Range<u64>) -> Range<u64> {
        self.start(blocks.start)..self.start(blocks.end)
    }

    /// The largest size.
    pub fn largest(&self) -> u64 {
        self.starts.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0)
    }

    /// The largest size among the first `blocks` blocks.
    pub fn largest_before(&self, blocks: u64) -> u64 {
        (0..blocks.min(self.period())).map(|block| self.size(block)).max().unwrap_or(0)
    }

    /// Size in bytes of `count` blocks from `first` on, where block `all` is block 0 again.
    /// Requires `first < all` and `count <= all`.
    #[inline]
    pub fn cyclic(&self, first: u64, count: u64, all: u64) -> u64 {
        let end = first + count;
        if end <= all {
            self.start(end) - self.start(first)
        } else {
            self.start(all) - self.start(first) + self.start(end - all)
        }
    }
}

/// A vector cut into parts of nearly equal size: the first ones may be a byte longer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Split {
    part_bytes: u64,
    longer: u64,
    parts: u32,
}

impl Split {
    /// `parts` is at least 1.
    pub fn new(bytes: u64, parts: u32) -> Split {
        let parts = parts.max(1);
        Split { part_bytes: bytes / u64::from(parts), longer: bytes % u64::from(parts), parts }
    }

    pub fn parts(&self) -> u32 {
        self.parts
    }

    /// The size of part `part`.
    #[inline(always)]
    pub fn size(&self, part: u32) -> u64 {
        self.part_bytes + u64::from(u64::from(part) < self.longer)
    }

    /// Offset of part `part`.
    #[inline(always)]
    pub fn start(&self, part: u32) -> u64 {
        self.part_bytes * u64::from(part) + u64::from(part).min(self.longer)
    }

    /// Byte range of a run of parts.
    pub fn range(&self, parts: Range<u32>) -> Range<u64> {
        self.start(parts.start)..self.start(parts.end)
    }

    pub fn largest(&self) -> u64 {
        self.size(0)
    }
}

/// A vector cut into segments of a given size; the last may be shorter. An empty vector has one segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segments {
    bytes: u64,
    segment: u64,
    count: u32,
}

impl Segments {
    /// Limit on the number of segments.
    pub const MOST: u32 = 1 << 24;

    /// Returns `None` if the segment size is 0 or there would be too many segments.
    pub fn new(bytes: u64, segment: u64) -> Option<Segments> {
        if segment == 0 {
            return None;
        }
        let count = bytes.div_ceil(segment).max(1);
        let count = u32::try_from(count).ok().filter(|&count| count <= Segments::MOST)?;
        Some(Segments { bytes, segment, count })
    }

    /// The whole vector as one segment.
    pub fn whole(bytes: u64) -> Segments {
        Segments { bytes, segment: bytes.max(1), count: 1 }
    }

    pub fn count(&self) -> u32 {
        self.count
    }

    #[inline(always)]
    pub fn size(&self, segment: u32) -> u64 {
        if segment + 1 < self.count {
            self.segment
        } else {
            self.bytes - self.segment * u64::from(self.count - 1)
        }
    }

    pub fn range(&self, segment: u32) -> Range<u64> {
        let start = self.segment * u64::from(segment);
        start..start + self.size(segment)
    }

    pub fn largest(&self) -> u64 {
        self.size(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_repeating_list() {
        let sizes = Sizes::repeating(&[3, 0, 5]);
        assert_eq!((0..7).map(|block| sizes.size(block)).collect::<Vec<_>>(), [3, 0, 5, 3, 0, 5, 3]);
        assert_eq!((0..5).map(|block| sizes.start(block)).collect::<Vec<_>>(), [0, 3, 3, 8, 11]);
        assert!(!sizes.is_uniform());
        assert!(Sizes::repeating(&[4, 4]).is_uniform());
        assert_eq!(Sizes::repeating(&[]).size(9), 0);
        let later = sizes.from(4).from(1);
        assert_eq!((0..4).map(|block| later.size(block)).collect::<Vec<_>>(), [5, 3, 0, 5]);
        assert_eq!((0..4).map(|block| later.start(block)).collect::<Vec<_>>(), [0, 5, 8, 8]);
        assert_eq!([1, 2, 3, 6].map(|blocks| sizes.period_of_runs(blocks)), [3, 3, 1, 1]);
        assert_eq!([0, 2, 3, 9].map(|blocks| sizes.largest_before(blocks)), [0, 3, 5, 5]);
        // Blocks 4 and 0, of five, are neighbours on the ring.
        assert_eq!([sizes.cyclic(1, 3, 5), sizes.cyclic(4, 2, 5), sizes.cyclic(2, 5, 5)], [8, 3, 11]);
    }

    #[test]
    fn a_tiled_square() {
        let square = [3, 0, 5, 1, 2, 9, 4, 4, 7];
        let (side, copies) = (3, 4u32);
        let sizes = Sizes::tiled(&square, side as u32, copies);
        let all = side * copies as usize;
        let plain: Vec<u64> =
            (0..all * all).map(|at| square[(at / all) % side * side + (at % all) % side]).collect();
        let expected = Sizes::repeating(&plain);
        for block in 0..=(all * all) as u64 + 5 {
            assert_eq!(
                (sizes.size(block), sizes.start(block)),
                (expected.size(block), expected.start(block))
            );
        }
        assert_eq!((sizes.largest(), sizes.largest_before(2)), (9, 3));
        let (later, expected) = (sizes.from(17), expected.from(17));
        assert!((0..200).all(|block| later.start(block) == expected.start(block)));
        assert_eq!(Sizes::tiled(&square, 3, 1), Sizes::repeating(&square));
        assert_eq!(Sizes::tiled(&square, 2, 5), Sizes::uniform(0));
        assert_eq!(Sizes::tiled(&[6], 1, 5).size(24), 6);
    }

    proptest! {
        #[test]
        fn parts_make_up_the_whole(bytes in 0u64..1000, parts in 1u32..50, segment in 1u64..60) {
            let split = Split::new(bytes, parts);
            prop_assert_eq!((0..parts).map(|part| split.size(part)).sum::<u64>(), bytes);
            prop_assert!((0..parts).all(|part| split.range(part..part + 1).count() as u64 == split.size(part)));
            prop_assert_eq!(split.start(parts), bytes);
            let segments = Segments::new(bytes, segment).unwrap();
            prop_assert_eq!((0..segments.count()).map(|part| segments.size(part)).sum::<u64>(), bytes);
            prop_assert!((0..segments.count()).all(|part| segments.size(part) <= segments.largest()));
        }
    }
}
