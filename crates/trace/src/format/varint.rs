//! Integers in as few bytes as they need: seven bits per byte, the lowest first.

/// Appends `value`.
#[inline]
pub fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a value that may be negative.
#[inline]
pub fn put_signed(out: &mut Vec<u8>, value: i64) {
    put(out, zigzag(value));
}

/// Maps small numbers of either sign to small numbers.
#[inline]
pub const fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

/// The inverse of `zigzag`.
#[inline]
pub const fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Appends a list of numbers, in which a run of equal ones costs one pair.
pub fn put_list(out: &mut Vec<u8>, values: impl ExactSizeIterator<Item = u64>) {
    put(out, values.len() as u64);
    let mut run: Option<(u64, u64)> = None;
    for value in values {
        match &mut run {
            Some((same, count)) if *same == value => *count += 1,
            _ => {
                put_run(out, run);
                run = Some((value, 1));
            }
        }
    }
    put_run(out, run);
}

fn put_run(out: &mut Vec<u8>, run: Option<(u64, u64)>) {
    if let Some((value, count)) = run {
        put(out, value);
        put(out, count);
    }
}

/// Reads what the functions above wrote.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// The bytes ended too early, or a number was too long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cut;

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { bytes, at: 0 }
    }

    /// The number of bytes read.
    pub fn position(&self) -> usize {
        self.at
    }

    pub fn is_empty(&self) -> bool {
        self.at >= self.bytes.len()
    }

    pub fn byte(&mut self) -> Result<u8, Cut> {
        let byte = *self.bytes.get(self.at).ok_or(Cut)?;
        self.at += 1;
        Ok(byte)
    }

    #[inline]
    pub fn number(&mut self) -> Result<u64, Cut> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return Err(Cut);
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Cut)
    }

    pub fn signed(&mut self) -> Result<i64, Cut> {
        self.number().map(unzigzag)
    }

    /// Reads a number and checks that it fits.
    pub fn fitting<T: TryFrom<u64>>(&mut self) -> Result<T, Cut> {
        T::try_from(self.number()?).map_err(|_| Cut)
    }

    /// Reads a number of either sign and checks that it fits.
    pub fn fitting_signed<T: TryFrom<i64>>(&mut self) -> Result<T, Cut> {
        T::try_from(self.signed()?).map_err(|_| Cut)
    }

    pub fn slice(&mut self, length: u64) -> Result<&'a [u8], Cut> {
        let length = usize::try_from(length).map_err(|_| Cut)?;
        let end = self.at.checked_add(length).ok_or(Cut)?;
        let slice = self.bytes.get(self.at..end).ok_or(Cut)?;
        self.at = end;
        Ok(slice)
    }

    /// Reads a list written by [`put_list`], of at most `most` numbers.
    pub fn list(&mut self, most: u64) -> Result<Vec<u64>, Cut> {
        let count = self.number()?;
        if count > most {
            return Err(Cut);
        }
        let mut values = Vec::new();
        while (values.len() as u64) < count {
            let (value, run) = (self.number()?, self.number()?);
            if run == 0 || run > count - values.len() as u64 {
                return Err(Cut);
            }
            values.resize(values.len() + run as usize, value);
        }
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_come_back(values: Vec<u64>, signed: Vec<i64>, list in prop::collection::vec(0u64..4, 0..50)) {
            let mut bytes = Vec::new();
            values.iter().for_each(|&value| put(&mut bytes, value));
            signed.iter().for_each(|&value| put_signed(&mut bytes, value));
            put_list(&mut bytes, list.iter().copied());
            let mut cursor = Cursor::new(&bytes);
            for &value in &values {
                prop_assert_eq!(cursor.number(), Ok(value));
            }
            for &value in &signed {
                prop_assert_eq!(cursor.signed(), Ok(value));
            }
            prop_assert_eq!(cursor.list(50), Ok(list));
            prop_assert!(cursor.is_empty());
        }

        #[test]
        fn any_bytes_are_a_number_or_an_error(bytes: Vec<u8>) {
            let mut cursor = Cursor::new(&bytes);
            while cursor.number().is_ok() {}
            let mut cursor = Cursor::new(&bytes);
            let _ = cursor.list(1 << 20);
        }
    }

    #[test]
    fn a_number_beyond_64_bits_is_refused() {
        assert_eq!(Cursor::new(&[0xff; 9]).number(), Err(Cut));
        assert_eq!(
            Cursor::new(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]).number(),
            Err(Cut)
        );
        let most = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
        assert_eq!(Cursor::new(&most).number(), Ok(u64::MAX));
    }
}
