//! Compact encoding of columns of numbers.
//!
//! A column is its unit, the greatest common divisor of its values (a 2 GHz clock gives multiples of 500 ps),
//! and the values in that unit, each as a varint: seven bits per byte, lowest first, with the highest bit set
//! in all bytes but the last. Signed values map to unsigned ones: 0, -1, 1, -2, 2 → 0, 1, 2, 3, 4. A sparse
//! column of zeros is just the unit 0; a full one has at least one byte for every value, so that a count can
//! never claim more than the file has bytes.

use super::{StragglerError, TOO_LARGE};

#[derive(Default)]
pub(super) struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    pub fn count(&mut self, count: usize) {
        self.number(count as u64);
    }

    pub fn full(&mut self, values: &[u64]) {
        let unit = unit(values.iter().copied());
        self.column(unit.max(1), values.iter().map(|value| value / unit.max(1)));
    }

    pub fn sparse(&mut self, values: &[u64]) {
        match unit(values.iter().copied()) {
            0 if !values.is_empty() => self.number(0),
            unit => self.column(unit, values.iter().map(|value| value / unit.max(1))),
        }
    }

    pub fn full_signed(&mut self, values: &[i64]) {
        let unit = unit(values.iter().map(|value| value.unsigned_abs())).max(1);
        self.column(unit, values.iter().map(|&value| folded(value, unit)));
    }

    pub fn sparse_signed(&mut self, values: &[i64]) {
        match unit(values.iter().map(|value| value.unsigned_abs())) {
            0 if !values.is_empty() => self.number(0),
            unit => self.column(unit, values.iter().map(|&value| folded(value, unit.max(1)))),
        }
    }

    /// Writes a column; an empty one takes no bytes.
    fn column(&mut self, unit: u64, values: impl ExactSizeIterator<Item = u64>) {
        if values.len() > 0 {
            self.number(unit);
            values.for_each(|value| self.number(value));
        }
    }
}

/// The greatest common divisor of all values, 0 if all are 0.
fn unit(values: impl Iterator<Item = u64>) -> u64 {
    let mut unit = 0;
    for value in values {
        unit = greatest_common_divisor(unit, value);
        if unit == 1 {
            break;
        }
    }
    unit
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// A signed value in a unit that divides it, as an unsigned one.
fn folded(value: i64, unit: u64) -> u64 {
    let quotient = (i128::from(value) / i128::from(unit)) as i64;
    ((quotient << 1) ^ (quotient >> 63)) as u64
}

fn unfolded(value: u64, unit: u64) -> Option<i64> {
    let quotient = (value >> 1) as i64 ^ -((value & 1) as i64);
    i64::try_from(i128::from(quotient) * i128::from(unit)).ok()
}

pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8], offset: usize) -> Reader<'a> {
        Reader { bytes, offset }
    }

    pub fn fault(&self, field: &'static str, what: &'static str) -> StragglerError {
        StragglerError::Column { offset: self.offset, field, what }
    }

    fn left(&self) -> usize {
        self.bytes.len().saturating_sub(self.offset)
    }

    pub fn must_be_at_end(&self) -> Result<(), StragglerError> {
        if self.left() == 0 { Ok(()) } else { Err(self.fault("the last column", "does not end here")) }
    }

    fn number(&mut self, field: &'static str) -> Result<u64, StragglerError> {
        let (mut value, mut shift) = (0u64, 0);
        loop {
            let Some(&byte) = self.bytes.get(self.offset) else {
                return Err(self.fault(field, "is missing: the columns end here"));
            };
            let bits = u64::from(byte & 0x7f);
            if shift > 63 || (shift == 63 && bits > 1) {
                return Err(self.fault(field, TOO_LARGE));
            }
            value |= bits << shift;
            self.offset += 1;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
            shift += 7;
        }
    }

    /// Reads a count of values, each of which takes at least a byte.
    pub fn count(&mut self, field: &'static str) -> Result<usize, StragglerError> {
        let before = self.offset;
        let count = self.number(field)?;
        match usize::try_from(count) {
            Ok(count) if count <= self.left() => Ok(count),
            _ => {
                self.offset = before;
                Err(self.fault(field, "is larger than the file"))
            }
        }
    }

    pub fn full(&mut self, count: usize, field: &'static str) -> Result<Vec<u64>, StragglerError> {
        self.column(count, field, false, |value, unit| value.checked_mul(unit))
    }

    pub fn sparse(&mut self, count: usize, field: &'static str) -> Result<Vec<u64>, StragglerError> {
        self.column(count, field, true, |value, unit| value.checked_mul(unit))
    }

    pub fn full_signed(&mut self, count: usize, field: &'static str) -> Result<Vec<i64>, StragglerError> {
        self.column(count, field, false, unfolded)
    }

    pub fn sparse_signed(&mut self, count: usize, field: &'static str) -> Result<Vec<i64>, StragglerError> {
        self.column(count, field, true, unfolded)
    }

    /// Reads a column. `count` has been checked against the length of the file.
    fn column<T: Clone + Default>(
        &mut self,
        count: usize,
        field: &'static str,
        may_be_zeros: bool,
        value: impl Fn(u64, u64) -> Option<T>,
    ) -> Result<Vec<T>, StragglerError> {
        if count == 0 {
            return Ok(Vec::new());
        }
        let unit = self.number(field)?;
        if unit == 0 {
            let zeros = || Ok(vec![T::default(); count]);
            return if may_be_zeros { zeros() } else { Err(self.fault(field, "has no unit")) };
        }
        let mut values = Vec::with_capacity(count);
        for _ in 0..count {
            let number = self.number(field)?;
            values.push(value(number, unit).ok_or_else(|| self.fault(field, TOO_LARGE))?);
        }
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_size() {
        let values = [0, 1, 127, 128, 16_383, 16_384, u64::MAX - 1, u64::MAX];
        let mut writer = Writer::default();
        writer.full(&values);
        writer.sparse(&values);
        let bytes = writer.into_bytes();
        let mut reader = Reader::new(&bytes, 0);
        assert_eq!(reader.full(values.len(), "x").unwrap(), values);
        assert_eq!(reader.sparse(values.len(), "x").unwrap(), values);
        reader.must_be_at_end().unwrap();
    }

    #[test]
    fn signed_numbers_of_every_size() {
        for values in [vec![0, -1, 1, i64::MIN, i64::MAX], vec![i64::MIN, 0], vec![-500, 1500], vec![0, 0]] {
            let mut writer = Writer::default();
            writer.full_signed(&values);
            writer.sparse_signed(&values);
            let bytes = writer.into_bytes();
            let mut reader = Reader::new(&bytes, 0);
            assert_eq!(reader.full_signed(values.len(), "x").unwrap(), values);
            assert_eq!(reader.sparse_signed(values.len(), "x").unwrap(), values);
        }
    }

    #[test]
    fn a_unit_saves_bytes_and_zeros_take_one() {
        let mut writer = Writer::default();
        writer.sparse(&[63_500, 1_000, 0]);
        // 500 takes two bytes, 127, 2 and 0 one each.
        assert_eq!(writer.into_bytes().len(), 5);
        let mut writer = Writer::default();
        writer.sparse(&[0; 1000]);
        assert_eq!(writer.into_bytes(), [0]);
    }

    #[test]
    fn no_count_promises_more_than_there_is() {
        let mut reader = Reader::new(&[0xff, 0xff, 0xff, 0xff, 0x0f, 1, 1], 0);
        let fault = reader.count("the number of detours").unwrap_err().to_string();
        assert_eq!(fault, "offset 0: the number of detours is larger than the file");
        let fault = Reader::new(&[0xff; 12], 0).count("n").unwrap_err().to_string();
        assert!(fault.contains("too large"), "{fault}");
        assert!(Reader::new(&[0, 1], 0).full(1, "gap").unwrap_err().to_string().contains("no unit"));
        assert!(Reader::new(&[1], 0).full(1, "gap").unwrap_err().to_string().contains("missing"));
    }
}
