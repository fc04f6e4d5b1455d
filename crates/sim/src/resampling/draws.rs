//! Which time of the sample an exchange takes.
//!
//! A block of the generator has four words and serves four exchanges. Its counter is (block, processors,
//! sample, [`PURPOSE`]), its key the seed; every step begins a new block, so that the exchange k of step i has
//! word k mod 4 of block i · ceil(⌊P/2⌋ / 4) + ⌊k / 4⌋. A word w chooses the time number ⌊w · n / 2^32⌋ of n.

use straggler_model::Time;
use straggler_model::philox::philox4x32;

/// Keeps these draws apart from the phases of noise, whose last counter word is the number of a source.
const PURPOSE: u32 = u32::MAX;

/// Words in a block.
const BLOCK: usize = 4;

/// The draws of all samples of one number of processors.
#[derive(Clone, Copy, Debug)]
pub struct Draws<'a> {
    times: &'a [Time],
    key: [u32; 2],
    processors: u32,
    blocks_per_step: u32,
}

impl<'a> Draws<'a> {
    /// `times` must not be empty.
    pub fn new(times: &'a [Time], seed: u64, processors: u32) -> Draws<'a> {
        let key = [seed as u32, (seed >> 32) as u32];
        Draws { times, key, processors, blocks_per_step: (processors / 2).div_ceil(BLOCK as u32) }
    }

    /// The length of a buffer for the times of a step.
    pub fn room(&self) -> usize {
        self.blocks_per_step as usize * BLOCK
    }

    /// Draws the times of a step's exchanges, in the order of its pairs; there may be more times than pairs.
    #[inline]
    pub fn step(&self, sample: u32, step: u32, out: &mut [Time]) {
        self.fill(sample, step * self.blocks_per_step, out);
    }

    /// Draws times, beginning with block `first_block`.
    #[inline]
    pub fn fill(&self, sample: u32, first_block: u32, out: &mut [Time]) {
        let count = self.times.len() as u64;
        for (block, times) in (first_block..).zip(out.chunks_mut(BLOCK)) {
            let words = philox4x32([block, self.processors, sample, PURPOSE], self.key);
            for (time, word) in times.iter_mut().zip(words) {
                *time = self.times[((u64::from(word) * count) >> 32) as usize];
            }
        }
    }
}
