//! Values one after the other.

use super::bits::unpack;
use super::{ENDS_EARLY, OTHER_TYPE};
use crate::error::Fault;
use crate::schema::Physical;
use crate::values::{Strings, Values};

#[derive(Debug)]
pub struct Plain {
    at: usize,
    /// Flags read so far. They are bits, so their place is not a byte.
    flags: usize,
}

impl Plain {
    pub fn new(at: usize) -> Plain {
        Plain { at, flags: 0 }
    }

    pub fn read(
        &mut self,
        bytes: &[u8],
        count: usize,
        physical: Physical,
        out: &mut Values,
    ) -> Result<(), Fault> {
        match (physical, out) {
            (Physical::Bool, Values::Bool(out)) => self.flags(bytes, count, out),
            (Physical::I32, Values::I32(out)) => self.fixed(bytes, count, out, i32::from_le_bytes),
            (Physical::I64, Values::I64(out)) => self.fixed(bytes, count, out, i64::from_le_bytes),
            (Physical::F32, Values::F32(out)) => self.fixed(bytes, count, out, f32::from_le_bytes),
            (Physical::F64, Values::F64(out)) => self.fixed(bytes, count, out, f64::from_le_bytes),
            (Physical::I96, Values::I64(out)) => {
                let first = out.len();
                let moments = self.take::<12>(bytes, count)?.iter().map(nanoseconds);
                out.extend(moments.map_while(|moment| moment));
                match out.len() - first == count {
                    true => Ok(()),
                    false => Err("a timestamp is not between 1678 and 2262".into()),
                }
            }
            (Physical::Bytes, Values::Bytes(out)) => self.strings(bytes, count, out),
            (Physical::Fixed(length), Values::Bytes(out)) => {
                let total = count.checked_mul(length).and_then(|total| total.checked_add(self.at));
                let strings = total.and_then(|end| bytes.get(self.at..end)).ok_or(ENDS_EARLY)?;
                strings.chunks_exact(length).for_each(|string| add(string, out));
                self.at += strings.len();
                Ok(())
            }
            _ => Err(OTHER_TYPE),
        }
    }

    fn take<'a, const N: usize>(&mut self, bytes: &'a [u8], count: usize) -> Result<&'a [[u8; N]], Fault> {
        let (items, _) = bytes.get(self.at..).ok_or(ENDS_EARLY)?.as_chunks::<N>();
        let items = items.get(..count).ok_or(ENDS_EARLY)?;
        self.at += count * N;
        Ok(items)
    }

    fn fixed<T, const N: usize>(
        &mut self,
        bytes: &[u8],
        count: usize,
        out: &mut Vec<T>,
        value: fn([u8; N]) -> T,
    ) -> Result<(), Fault> {
        out.extend(self.take(bytes, count)?.iter().map(|&item| value(item)));
        Ok(())
    }

    fn flags(&mut self, bytes: &[u8], count: usize, out: &mut Vec<bool>) -> Result<(), Fault> {
        let bytes = bytes.get(self.at..).ok_or(ENDS_EARLY)?;
        if count > bytes.len() * 8 - self.flags {
            return Err(ENDS_EARLY);
        }
        let first = out.len();
        out.resize(first + count, false);
        unpack(bytes, self.flags, 1, &mut out[first..], |bit| bit == 1);
        self.flags += count;
        Ok(())
    }

    /// Strings, each after its length.
    fn strings(&mut self, bytes: &[u8], count: usize, out: &mut Strings) -> Result<(), Fault> {
        let mut rest = bytes.get(self.at..).ok_or(ENDS_EARLY)?;
        for _ in 0..count {
            let (length, after) = rest.split_first_chunk::<4>().ok_or(ENDS_EARLY)?;
            let (string, after) =
                after.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or(ENDS_EARLY)?;
            add(string, out);
            rest = after;
        }
        self.at = bytes.len() - rest.len();
        Ok(())
    }
}

/// Appends a string that is in no dictionary.
#[inline]
pub fn add(string: &[u8], out: &mut Strings) {
    out.ids.push(out.pool.ends.len() as u32);
    out.pool.push(string);
}

/// Nanoseconds since 1970 of a timestamp of 96 bits: nanoseconds of the day, then the Julian day.
fn nanoseconds(moment: &[u8; 12]) -> Option<i64> {
    const DAY_OF_1970: i64 = 2_440_588;
    const DAY: i64 = 86_400_000_000_000;
    let (of_day, day) = moment.split_first_chunk::<8>()?;
    let day = i64::from(u32::from_le_bytes(*day.first_chunk()?)) - DAY_OF_1970;
    day.checked_mul(DAY)?.checked_add(i64::from_le_bytes(*of_day))
}

#[cfg(test)]
mod tests {
    #[test]
    fn timestamps_of_96_bits() {
        let moment = |nanoseconds: i64, day: u32| {
            let mut bytes = [0; 12];
            bytes[..8].copy_from_slice(&nanoseconds.to_le_bytes());
            bytes[8..].copy_from_slice(&day.to_le_bytes());
            super::nanoseconds(&bytes)
        };
        assert_eq!(moment(5, 2_440_588), Some(5));
        assert_eq!(moment(7, 2_440_587), Some(7 - 86_400_000_000_000));
        assert_eq!(moment(0, u32::MAX), None);
        assert_eq!(moment(i64::MAX, 2_440_589), None);
    }
}
