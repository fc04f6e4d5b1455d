//! Numbers whose first bytes are stored together, then their second bytes, and so on.

use super::plain::add;
use super::{ENDS_EARLY, OTHER_TYPE};
use crate::error::Fault;
use crate::schema::Physical;
use crate::values::Values;

#[derive(Debug)]
pub struct StreamSplit {
    /// Where the first bytes of all values are, and how many values there are.
    at: usize,
    values: usize,
    /// Bytes of a value.
    width: usize,
    read: usize,
}

impl StreamSplit {
    pub fn new(bytes: &[u8], at: usize, physical: Physical) -> Result<StreamSplit, Fault> {
        let width = match physical {
            Physical::I32 | Physical::F32 => 4,
            Physical::I64 | Physical::F64 => 8,
            Physical::Fixed(width) => width,
            _ => return Err(OTHER_TYPE),
        };
        let length = bytes.len().checked_sub(at).ok_or(ENDS_EARLY)?;
        if length % width != 0 {
            return Err("its bytes are not those of whole numbers".into());
        }
        Ok(StreamSplit { at, values: length / width, width, read: 0 })
    }

    pub fn read(&mut self, bytes: &[u8], count: usize, out: &mut Values) -> Result<(), Fault> {
        if count > self.values - self.read {
            return Err(ENDS_EARLY);
        }
        let rows = self.read..self.read + count;
        let streams = bytes.get(self.at..).ok_or(ENDS_EARLY)?;
        match out {
            Values::I32(out) => out.extend(rows.map(|row| i32::from_le_bytes(self.value(streams, row)))),
            Values::I64(out) => out.extend(rows.map(|row| i64::from_le_bytes(self.value(streams, row)))),
            Values::F32(out) => out.extend(rows.map(|row| f32::from_le_bytes(self.value(streams, row)))),
            Values::F64(out) => out.extend(rows.map(|row| f64::from_le_bytes(self.value(streams, row)))),
            Values::Bytes(out) => {
                let mut value = Vec::new();
                for row in rows {
                    value.clear();
                    value.extend((0..self.width).map(|byte| streams[byte * self.values + row]));
                    add(&value, out);
                }
            }
            Values::Bool(_) => return Err(OTHER_TYPE),
        }
        self.read += count;
        Ok(())
    }

    /// All indices are below `width * values`, the length of the streams.
    #[inline(always)]
    fn value<const N: usize>(&self, streams: &[u8], row: usize) -> [u8; N] {
        std::array::from_fn(|byte| streams[byte * self.values + row])
    }
}
