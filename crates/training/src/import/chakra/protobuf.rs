//! The fields of a protocol buffer, as they stand in its bytes.
//! Format: <https://protobuf.dev/programming-guides/encoding>.

/// The bytes are no message of the expected kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Broken;

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value<'a> {
    Number(u64),
    /// A text, a message or packed numbers.
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    pub fn number(self) -> Result<u64, Broken> {
        match self {
            Value::Number(number) => Ok(number),
            Value::Bytes(_) => Err(Broken),
        }
    }

    pub fn bytes(self) -> Result<&'a [u8], Broken> {
        match self {
            Value::Bytes(bytes) => Ok(bytes),
            Value::Number(_) => Err(Broken),
        }
    }

    pub fn string(self) -> Result<String, Broken> {
        String::from_utf8(self.bytes()?.to_vec()).map_err(|_| Broken)
    }

    /// Adds the numbers of a repeated field, which may be packed.
    pub fn append_numbers(self, to: &mut Vec<u64>) -> Result<(), Broken> {
        match self {
            Value::Number(number) => to.push(number),
            Value::Bytes(mut packed) => {
                while !packed.is_empty() {
                    to.push(varint(&mut packed)?);
                }
            }
        }
        Ok(())
    }
}

/// Iterates over the fields: number and value. Ends after the first fault.
#[derive(Clone, Debug)]
pub struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    pub fn new(bytes: &'a [u8]) -> Fields<'a> {
        Fields(bytes)
    }

    fn field(&mut self) -> Result<(u64, Value<'a>), Broken> {
        let key = varint(&mut self.0)?;
        let value = match key & 7 {
            0 => Value::Number(varint(&mut self.0)?),
            1 => Value::Number(u64::from_le_bytes(self.take(8)?.try_into().map_err(|_| Broken)?)),
            2 => {
                let length = usize::try_from(varint(&mut self.0)?).map_err(|_| Broken)?;
                Value::Bytes(self.take(length)?)
            }
            5 => Value::Number(u32::from_le_bytes(self.take(4)?.try_into().map_err(|_| Broken)?).into()),
            _ => return Err(Broken),
        };
        if key >> 3 == 0 { Err(Broken) } else { Ok((key >> 3, value)) }
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Broken> {
        self.0.split_off(..length).ok_or(Broken)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Value<'a>), Broken>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.0 = &[];
        }
        Some(field)
    }
}

/// A number in base 128, lowest digits first.
fn varint(bytes: &mut &[u8]) -> Result<u64, Broken> {
    let mut value = 0;
    for digit in 0..10 {
        let byte = *bytes.split_off_first().ok_or(Broken)?;
        value |= u64::from(byte & 0x7f) << (7 * digit);
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(Broken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_every_kind() {
        // From the encoding guide: 150 in field 1, "testing" in field 2; then fixed numbers, packed and single ones.
        let bytes = [
            &[0x08, 0x96, 0x01, 0x12, 7][..],
            b"testing",
            &[0x1d, 1, 2, 0, 0, 0x21, 1, 0, 0, 0, 0, 0, 0, 0x80, 0x2a, 3, 5, 0x96, 1, 0x28, 9],
        ]
        .concat();
        let fields: Vec<_> = Fields::new(&bytes).map(Result::unwrap).collect();
        assert_eq!(fields[..2], [(1, Value::Number(150)), (2, Value::Bytes(b"testing"))]);
        assert_eq!(fields[2..4], [(3, Value::Number(513)), (4, Value::Number(1 << 63 | 1))]);
        let mut numbers = Vec::new();
        fields[4..].iter().for_each(|(_, value)| value.append_numbers(&mut numbers).unwrap());
        assert_eq!(numbers, [5, 150, 9]);
        assert_eq!(fields[1].1.string().as_deref(), Ok("testing"));
        assert!(fields[0].1.string().is_err() && fields[1].1.number().is_err());
    }

    #[test]
    fn a_truncated_message_is_broken() {
        let bytes = [0x12, 7, b't', b'e'];
        for length in 1..bytes.len() {
            assert_eq!(Fields::new(&bytes[..length]).collect::<Vec<_>>(), [Err(Broken)], "{length}");
        }
        for wrong in [&[0x0b][..], &[0x00, 0x00], &[0xff; 11]] {
            assert_eq!(Fields::new(wrong).next(), Some(Err(Broken)), "{wrong:?}");
        }
    }
}
