//! Integers as differences: blocks of miniblocks, each with its own number of bits.

use super::bits::unpack;
use super::{ENDS_EARLY, varint};
use crate::error::{Fault, fault};

/// Values of a block. Writers use 128.
const LONGEST_BLOCK: u64 = 1 << 16;
/// Differences that are unpacked at a time.
const AT_ONCE: usize = 128;

#[derive(Clone, Debug)]
pub struct Delta {
    /// The next block.
    at: usize,
    /// Values of a miniblock, and miniblocks of a block.
    mini_values: usize,
    minis: usize,
    /// Values that are still to come, the next one included.
    left: usize,
    next: i64,
    /// The smallest difference of the block; the others are stored relative to it.
    smallest: i64,
    /// The widths of the block's miniblocks that are still to come.
    widths: std::ops::Range<usize>,
    /// The current miniblock: its next bit, its bits per value, and the values left in it.
    bit: usize,
    width: u32,
    mini_left: usize,
}

impl Delta {
    /// Integers from `at` on, at most `most` of them.
    pub fn new(bytes: &[u8], at: usize, most: usize) -> Result<Delta, Fault> {
        // A page in which all values are missing may be empty.
        if at == bytes.len() {
            return Ok(Delta::from_parts(at, 8, 1, 0, 0));
        }
        let (block, at) = varint(bytes, at)?;
        let (minis, at) = varint(bytes, at)?;
        let (count, at) = varint(bytes, at)?;
        let (first, at) = zigzag(bytes, at)?;
        if block > LONGEST_BLOCK || minis == 0 || block % minis != 0 || block / minis % 8 != 0 || block == 0 {
            return Err(fault!("its blocks have {block} values in {minis} parts"));
        }
        let count = usize::try_from(count).ok().filter(|&count| count <= most);
        let count = count.ok_or("it has more values than its header states")?;
        Ok(Delta::from_parts(at, (block / minis) as usize, minis as usize, count, first))
    }

    fn from_parts(at: usize, mini_values: usize, minis: usize, left: usize, next: i64) -> Delta {
        Delta {
            at,
            mini_values,
            minis,
            left,
            next,
            smallest: 0,
            widths: 0..0,
            bit: 0,
            width: 0,
            mini_left: 0,
        }
    }

    /// Values that are still to come.
    pub fn left(&self) -> usize {
        self.left
    }

    pub fn read(&mut self, bytes: &[u8], count: usize, mut value: impl FnMut(i64)) -> Result<(), Fault> {
        if count > self.left {
            return Err(ENDS_EARLY);
        }
        let mut wanted = count;
        let mut differences = [0u64; AT_ONCE];
        while wanted > 0 {
            // The last value needs no difference after it.
            if self.left == 1 {
                value(self.next);
                self.left = 0;
                return Ok(());
            }
            if self.mini_left == 0 {
                self.next_mini(bytes)?;
                continue;
            }
            let now = wanted.min(self.mini_left).min(self.left - 1).min(AT_ONCE);
            let differences = &mut differences[..now];
            unpack(bytes, self.bit, self.width, differences, |difference| difference);
            for &mut difference in differences {
                value(self.next);
                // Differences wrap around, so that any two integers have one.
                self.next = self.next.wrapping_add(self.smallest).wrapping_add(difference as i64);
            }
            self.bit += now * self.width as usize;
            self.mini_left -= now;
            self.left -= now;
            wanted -= now;
        }
        Ok(())
    }

    fn next_mini(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        if self.widths.is_empty() {
            let (smallest, at) = zigzag(bytes, self.at)?;
            self.smallest = smallest;
            self.widths = at..at + self.minis;
            self.at = at + self.minis;
        }
        let width = self.widths.next().and_then(|at| bytes.get(at)).ok_or(ENDS_EARLY)?;
        self.width = u32::from(*width);
        if self.width > 64 {
            return Err(fault!("its differences have {width} bits"));
        }
        let length = self.mini_values * self.width as usize / 8;
        if length > bytes.len().saturating_sub(self.at) {
            // Some writers leave out the end of the last miniblock, where no values are.
            let needed = (self.left - 1).min(self.mini_values);
            if (needed * self.width as usize).div_ceil(8) > bytes.len().saturating_sub(self.at) {
                return Err(ENDS_EARLY);
            }
        }
        self.bit = self.at * 8;
        self.at = (self.at + length).min(bytes.len());
        self.mini_left = self.mini_values;
        Ok(())
    }

    /// Where the integers end. Only lengths are looked at, so this takes no longer than there are bytes.
    pub fn end(&self, bytes: &[u8]) -> Result<usize, Fault> {
        let mut rest = self.clone();
        while rest.left > 1 {
            rest.next_mini(bytes)?;
            rest.left -= rest.mini_left.min(rest.left - 1);
        }
        Ok(rest.at)
    }
}

fn zigzag(bytes: &[u8], at: usize) -> Result<(i64, usize), Fault> {
    let (value, at) = varint(bytes, at)?;
    Ok(((value >> 1) as i64 ^ -((value & 1) as i64), at))
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::encodings::bits::packed_flags;
    use crate::thrift::write_varint;
    use proptest::prelude::*;

    /// Integers as other programs write them: blocks of 128 in four parts.
    pub fn encode(values: &[i64]) -> Vec<u8> {
        let mut out = Vec::new();
        let signed = |out: &mut Vec<u8>, value: i64| write_varint(out, (value << 1 ^ value >> 63) as u64);
        [128, 4, values.len() as u64].into_iter().for_each(|number| write_varint(&mut out, number));
        signed(&mut out, values.first().copied().unwrap_or(0));
        let differences: Vec<i64> = values.windows(2).map(|two| two[1].wrapping_sub(two[0])).collect();
        for block in differences.chunks(128) {
            let smallest = block.iter().copied().min().unwrap();
            signed(&mut out, smallest);
            let minis: Vec<Vec<u64>> = block
                .chunks(32)
                .map(|mini| mini.iter().map(|&value| value.wrapping_sub(smallest) as u64).collect())
                .collect();
            let width = |mini: &Vec<u64>| 64 - mini.iter().fold(0, |all, value| all | value).leading_zeros();
            out.extend((0..4).map(|place| minis.get(place).map_or(0, width) as u8));
            for mini in &minis {
                let padded = (0..32).map(|place| mini.get(place).copied().unwrap_or(0));
                let bits = width(mini);
                out.extend(packed_flags(
                    padded.flat_map(|value| (0..bits).map(move |bit| value >> bit & 1 == 1)),
                ));
            }
        }
        out
    }

    proptest! {
        #[test]
        fn integers_come_back(
            values in prop::collection::vec(prop_oneof![any::<i64>(), -5..5i64, 1000..100_000i64], 0..400),
            step in 1..300usize, before in 0..3usize,
        ) {
            let mut bytes = vec![7; before];
            bytes.extend(encode(&values));
            let mut delta = Delta::new(&bytes, before, values.len()).unwrap();
            prop_assert_eq!(delta.end(&bytes), Ok(bytes.len()));
            let mut read = Vec::new();
            while read.len() < values.len() {
                let count = step.min(values.len() - read.len());
                delta.read(&bytes, count, |value| read.push(value)).unwrap();
            }
            prop_assert_eq!(read, values);
            prop_assert!(delta.read(&bytes, 1, drop).is_err());
        }

        #[test]
        fn any_bytes_are_integers_or_an_error(mut bytes in prop::collection::vec(any::<u8>(), 0..80), valid in any::<bool>()) {
            if valid {
                bytes.splice(0..0, [0x80, 0x01, 4]);
            }
            if let Ok(mut delta) = Delta::new(&bytes, 0, 1000) {
                let _ = delta.end(&bytes);
                let _ = delta.read(&bytes, delta.left(), drop);
            }
        }
    }
}
