//! Small numbers as runs: one number repeated, or eight at a time in a few bits each. Levels, ids of dictionaries and
//! flags are stored so.

use super::bits::unpack;
use super::{ENDS_EARLY, varint};
use crate::error::{Fault, fault};
use crate::thrift::write_varint;

#[derive(Debug)]
pub struct Hybrid {
    /// Bits of each number.
    width: u32,
    /// The next run.
    at: usize,
    end: usize,
    run: Run,
}

#[derive(Clone, Copy, Debug)]
enum Run {
    Repeated {
        number: u32,
        left: usize,
    },
    /// From this bit on.
    Packed {
        bit: usize,
        left: usize,
    },
}

impl Hybrid {
    /// Numbers of `width` bits in the bytes from `at` to `end`.
    pub fn new(width: u8, at: usize, end: usize) -> Result<Hybrid, Fault> {
        if width > 32 {
            return Err(fault!("its numbers have {width} bits"));
        }
        Ok(Hybrid { width: width.into(), at, end, run: Run::Repeated { number: 0, left: 0 } })
    }

    /// Numbers that are preceded by the length of their bytes; also where these end.
    pub fn with_length(width: u8, bytes: &[u8], at: usize) -> Result<(Hybrid, usize), Fault> {
        let length = bytes.get(at..).and_then(|rest| rest.first_chunk::<4>()).ok_or(ENDS_EARLY)?;
        let end = (at + 4).checked_add(u32::from_le_bytes(*length) as usize);
        let end = end.filter(|&end| end <= bytes.len()).ok_or(ENDS_EARLY)?;
        Ok((Hybrid::new(width, at + 4, end)?, end))
    }

    /// Fills `out` with the next numbers.
    pub fn read(&mut self, bytes: &[u8], mut out: &mut [u32]) -> Result<(), Fault> {
        while !out.is_empty() {
            let left = match self.run {
                Run::Repeated { left, .. } | Run::Packed { left, .. } => left,
            };
            if left == 0 {
                self.next_run(bytes)?;
                continue;
            }
            let (now, later) = out.split_at_mut(left.min(out.len()));
            match &mut self.run {
                Run::Repeated { number, left } => {
                    now.fill(*number);
                    *left -= now.len();
                }
                Run::Packed { bit, left } => {
                    unpack(bytes, *bit, self.width, now, |number| number as u32);
                    *bit += now.len() * self.width as usize;
                    *left -= now.len();
                }
            }
            out = later;
        }
        Ok(())
    }

    fn next_run(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let bytes = bytes.get(..self.end).ok_or(ENDS_EARLY)?;
        let (header, at) = varint(bytes, self.at)?;
        let count = usize::try_from(header >> 1).unwrap_or(usize::MAX);
        let width = self.width as usize;
        if header & 1 == 0 {
            let number = bytes.get(at..at + width.div_ceil(8)).ok_or(ENDS_EARLY)?;
            let number = number.iter().rev().fold(0, |number, &byte| number << 8 | u32::from(byte));
            self.run = Run::Repeated { number, left: count };
            self.at = at + width.div_ceil(8);
        } else {
            // The last run may lack the bytes that would only fill it up.
            let most = ((bytes.len() - at) * 8).checked_div(width).unwrap_or(usize::MAX);
            let stated = count.saturating_mul(8);
            self.run = Run::Packed { bit: at * 8, left: stated.min(most) };
            self.at = at.saturating_add(count.saturating_mul(width)).min(bytes.len());
        }
        Ok(())
    }
}

/// Numbers that repeat a lot become repeated runs, others are packed.
pub fn write_packed(out: &mut Vec<u8>, numbers: &[u32], width: u32) {
    let mut rest = numbers;
    while !rest.is_empty() {
        let same = rest.iter().take_while(|&&number| number == rest[0]).count();
        if same >= 8 || same == rest.len() {
            write_varint(out, (same as u64) << 1);
            out.extend(&rest[0].to_le_bytes()[..width.div_ceil(8) as usize]);
            rest = &rest[same..];
            continue;
        }
        let groups = packed_groups(rest);
        let (now, later) = rest.split_at(rest.len().min(8 * groups));
        write_varint(out, (groups as u64) << 1 | 1);
        pack(out, now, groups, width);
        rest = later;
    }
}

/// The number of groups of eight until one begins with a long repetition.
fn packed_groups(numbers: &[u32]) -> usize {
    let repeats = |group: &&[u32]| group.iter().all(|number| *number == group[0]);
    1 + numbers.chunks(8).skip(1).take_while(|group| !repeats(group)).count()
}

fn pack(out: &mut Vec<u8>, numbers: &[u32], groups: usize, width: u32) {
    let end = out.len() + groups * width as usize;
    let (mut word, mut bits) = (0u64, 0);
    for &number in numbers {
        word |= u64::from(number) << bits;
        bits += width;
        while bits >= 8 {
            out.push(word as u8);
            word >>= 8;
            bits -= 8;
        }
    }
    if bits > 0 {
        out.push(word as u8);
    }
    out.resize(end, 0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The example of the format's specification: 0 to 7 in three bits each.
    #[test]
    fn bits_are_those_of_the_specification() {
        let mut bytes = Vec::new();
        write_packed(&mut bytes, &[0, 1, 2, 3, 4, 5, 6, 7], 3);
        assert_eq!(bytes, [0b11, 0b10001000, 0b11000110, 0b11111010]);
    }

    proptest! {
        #[test]
        fn numbers_come_back(
            runs in prop::collection::vec((any::<u32>(), 1..40usize), 0..40), width in 0..=32u32, step in 1..50usize,
        ) {
            let mask = if width == 0 { 0 } else { u32::MAX >> (32 - width) };
            let numbers: Vec<u32> =
                runs.iter().flat_map(|&(number, count)| vec![number & mask; if count > 20 { 1 } else { count }]).collect();
            let mut bytes = Vec::new();
            write_packed(&mut bytes, &numbers, width);
            let mut hybrid = Hybrid::new(width as u8, 0, bytes.len()).unwrap();
            let mut read = vec![0; numbers.len()];
            for part in read.chunks_mut(step) {
                hybrid.read(&bytes, part).unwrap();
            }
            prop_assert_eq!(read, numbers);
            prop_assert!(hybrid.read(&bytes, &mut [0; 9]).is_err() || width == 0);
        }

        #[test]
        fn any_bytes_are_numbers_or_an_error(
            bytes in prop::collection::vec(any::<u8>(), 0..60), width in any::<u8>(), count in 0..3000usize,
        ) {
            if let Ok(mut hybrid) = Hybrid::new(width, 0, bytes.len()) {
                let _ = hybrid.read(&bytes, &mut vec![0; count]);
            }
        }
    }
}
