//! Finds the bin of a time, in a few nanoseconds, and the edges of a bin.

use super::Bins;
use crate::Time;
use std::sync::Arc;

/// Precomputed data for fast look-up in a layout.
#[derive(Clone, Debug)]
pub(crate) enum Finder {
    Fixed { width: u64, reciprocal: u64, count: usize },
    Octaves { bits: u32 },
    Edges(Arc<Edges>),
}

impl Finder {
    pub fn new(bins: Bins) -> Finder {
        match bins {
            Bins::FixedWidth { width_ps, count } => {
                let width = width_ps.max(1);
                Finder::Fixed { width, reciprocal: u64::MAX / width, count: count as usize }
            }
            Bins::Logarithmic { size_ps, count } => {
                Finder::Edges(Arc::new(Edges::logarithmic(size_ps, count)))
            }
            Bins::HighDynamicRange { octave_bits } => Finder::Octaves { bits: octave_bits },
        }
    }

    /// Returns the bin of a time; `None` if the time lies beyond the last bin.
    #[inline(always)]
    pub fn position(&self, ps: u64) -> Option<usize> {
        match self {
            Finder::Octaves { bits } => Some(octave_position(*bits, ps)),
            Finder::Fixed { width, reciprocal, count } => {
                // Division by multiplication; the quotient may be one too small.
                let guess = ((u128::from(ps) * u128::from(*reciprocal)) >> 64) as u64;
                let position = (guess + u64::from(ps - guess * width >= *width)) as usize;
                (position < *count).then_some(position)
            }
            Finder::Edges(edges) => edges.position(ps),
        }
    }

    /// Where a bin begins; [`Time::NEVER`] for bins beyond the longest time.
    pub fn low(&self, position: usize) -> Time {
        let ps = match self {
            Finder::Octaves { bits } => octave_low(*bits, position),
            Finder::Fixed { width, .. } => u128::from(*width) * position as u128,
            Finder::Edges(edges) => return Time(edges.edges.get(position).copied().unwrap_or(u64::MAX)),
        };
        Time(u64::try_from(ps).unwrap_or(u64::MAX))
    }
}

/// Below 2^bits every picosecond has its own bin; above, the octave and the `bits` bits after the leading one
/// select the bin.
#[inline(always)]
pub(crate) fn octave_position(bits: u32, ps: u64) -> usize {
    // Index of the lowest bit used. The `1 <<` keeps the subtraction from underflowing.
    let shift = 63 - (ps | 1 << bits).leading_zeros() - bits;
    ((shift as usize) << bits) + (ps >> shift) as usize
}

fn octave_low(bits: u32, position: usize) -> u128 {
    let octave = position >> bits;
    if octave == 0 {
        return position as u128;
    }
    let within = (position & ((1 << bits) - 1)) + (1 << bits);
    (within as u128) << (octave - 1)
}

/// Edges one by one, and a coarse index into them.
#[derive(Debug)]
pub(crate) struct Edges {
    /// Ascending, one more than there are bins. Edges beyond the longest time all equal it.
    edges: Vec<u64>,
    /// One entry for every bin of a layout with [`INDEX_BITS`].
    index: Vec<Coarse>,
}

/// The edges that lie in one bin of the index.
#[derive(Clone, Copy, Debug)]
struct Coarse {
    /// The layout's bin that holds the start of the index bin.
    first: u32,
    /// Number of edges inside, and the first of them. With the bins of the paper's figure 1 there is at most
    /// one.
    inside: u32,
    edge: u64,
}

const INDEX_BITS: u32 = 7;

impl Edges {
    fn logarithmic(size_ps: u64, count: u32) -> Edges {
        let size_us = size_ps as f64 / 1e6;
        let mut edges = vec![0u64];
        let mut edge = 0u64;
        for i in 0..count {
            // Conversion from float saturates, and so does the sum.
            let width = (Bins::logarithmic_width_us(size_us, i) * 1e6).round() as u64;
            edge = edge.saturating_add(width.max(1));
            edges.push(edge);
        }
        let octaves = Bins::HighDynamicRange { octave_bits: INDEX_BITS };
        let finder = Finder::new(octaves);
        // Number of edges at or before the start of an index bin.
        let before = |position| edges.partition_point(|&edge| edge <= finder.low(position).ps()) as u32;
        let coarse = |position| {
            let first = before(position) - 1;
            let edge = edges.get(first as usize + 1).copied().unwrap_or(u64::MAX);
            Coarse { first, inside: before(position + 1) - before(position), edge }
        };
        let index = (0..octaves.count()).map(coarse).collect();
        Edges { edges, index }
    }

    #[inline(always)]
    fn position(&self, ps: u64) -> Option<usize> {
        let Coarse { first, inside, edge } = self.index[octave_position(INDEX_BITS, ps)];
        let first = first as usize;
        let position = match inside {
            0 | 1 => first + usize::from(edge <= ps),
            _ => first + self.edges[first + 1..=first + inside as usize].partition_point(|&edge| edge <= ps),
        };
        (position + 1 < self.edges.len()).then_some(position)
    }
}
