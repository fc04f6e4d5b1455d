//! Philox4x32-10, the counter-based generator of Salmon et al. (SC11, "Parallel random
//! numbers: as easy as 1, 2, 3"). A draw is a pure function of its key and counter, so
//! rank r gets the same numbers whatever the number of processes, threads or nodes.

const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];

/// One block of 128 random bits.
#[inline]
pub fn philox4x32(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let low = u64::from(MULTIPLIERS[0]) * u64::from(counter[0]);
        let high = u64::from(MULTIPLIERS[1]) * u64::from(counter[2]);
        counter = [
            (high >> 32) as u32 ^ counter[1] ^ key[0],
            high as u32,
            (low >> 32) as u32 ^ counter[3] ^ key[1],
            low as u32,
        ];
        key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
    }
    counter
}

/// A stream of 64-bit draws that depends only on (seed, replica, rank, source).
#[derive(Clone, Debug)]
pub struct Stream {
    key: [u32; 2],
    counter: [u32; 4],
    spare: Option<u64>,
}

impl Stream {
    /// `source` is below 2^24: the upper 8 bits of its counter word extend the number of blocks drawn.
    pub fn new(seed: u64, replica: u32, rank: u32, source: u32) -> Stream {
        debug_assert!(source < 1 << 24);
        Stream { key: [seed as u32, (seed >> 32) as u32], counter: [0, rank, replica, source], spare: None }
    }

    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        if let Some(word) = self.spare.take() {
            return word;
        }
        let block = philox4x32(self.counter, self.key);
        self.counter[0] = self.counter[0].wrapping_add(1);
        if self.counter[0] == 0 {
            self.counter[3] = self.counter[3].wrapping_add(1 << 24);
        }
        self.spare = Some(u64::from(block[2]) | u64::from(block[3]) << 32);
        u64::from(block[0]) | u64::from(block[1]) << 32
    }

    /// Uniform over `0..bound` (0 for an empty range), by multiplication; the bias is below 2^-64 · bound.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// Uniform over the open interval (0, 1), with 53 random bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        ((self.next_u64() >> 11) as f64 + 0.5) * (1.0 / (1u64 << 53) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The known answers of the Random123 distribution (kat_vectors, philox4x32 10).
    #[test]
    fn known_answers() {
        assert_eq!(philox4x32([0; 4], [0; 2]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(
            philox4x32([u32::MAX; 4], [u32::MAX; 2]),
            [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]
        );
        assert_eq!(
            philox4x32([0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344], [0xa409_3822, 0x299f_31d0]),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }

    #[test]
    fn streams_differ_by_every_part_of_their_key() {
        let first = |seed, replica, rank, source| Stream::new(seed, replica, rank, source).next_u64();
        let base = first(1, 2, 3, 4);
        assert_ne!(base, first(2, 2, 3, 4));
        assert_ne!(base, first(1, 3, 3, 4));
        assert_ne!(base, first(1, 2, 4, 4));
        assert_ne!(base, first(1, 2, 3, 5));
        assert_eq!(base, first(1, 2, 3, 4));
    }
}
