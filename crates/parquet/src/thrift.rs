//! Thrift's compact protocol, as far as Parquet's metadata needs it.

const STOP: u8 = 0;
pub const TRUE: u8 = 1;
pub const FALSE: u8 = 2;
pub const I8: u8 = 3;
const I16: u8 = 4;
pub const I32: u8 = 5;
pub const I64: u8 = 6;
const DOUBLE: u8 = 7;
pub const BINARY: u8 = 8;
pub const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
pub const STRUCT: u8 = 12;
const UUID: u8 = 13;

/// Structs within structs that are skipped. Parquet's own go 5 deep.
const DEEPEST: u32 = 32;

/// Why bytes cannot be decoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wrong {
    /// They end too early. With more of them, they may be right.
    Ended,
    Invalid(&'static str),
}

impl Wrong {
    pub fn text(self) -> &'static str {
        match self {
            Wrong::Ended => "it ends too early",
            Wrong::Invalid(why) => why,
        }
    }
}

/// Reads structs field by field.
///
/// ```text
/// let mut last = 0;
/// while let Some((number, kind)) = input.field(&mut last)? {
///     match (number, kind) {
///         (1, thrift::I32) => ...,
///         _ => input.skip(kind)?,
///     }
/// }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Decoder<'a> {
    pub rest: &'a [u8],
}

impl<'a> Decoder<'a> {
    pub fn new(bytes: &'a [u8]) -> Decoder<'a> {
        Decoder { rest: bytes }
    }

    /// The number and the type of the next field; `None` at the end of the struct. `last` is the field before it, at
    /// first 0.
    pub fn field(&mut self, last: &mut i16) -> Result<Option<(i16, u8)>, Wrong> {
        let byte = self.byte()?;
        if byte == STOP {
            return Ok(None);
        }
        *last = match byte >> 4 {
            0 => i16::try_from(self.zigzag()?).map_err(|_| Wrong::Invalid("a field number is too large"))?,
            more => last.checked_add(i16::from(more)).ok_or(Wrong::Invalid("a field number is too large"))?,
        };
        Ok(Some((*last, byte & 0xf)))
    }

    pub fn i32(&mut self) -> Result<i32, Wrong> {
        i32::try_from(self.zigzag()?).map_err(|_| Wrong::Invalid("a number exceeds 32 bits"))
    }

    pub fn i64(&mut self) -> Result<i64, Wrong> {
        self.zigzag()
    }

    pub fn binary(&mut self) -> Result<&'a [u8], Wrong> {
        let length = usize::try_from(self.varint()?).map_err(|_| Wrong::Ended)?;
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or(Wrong::Ended)?;
        self.rest = rest;
        Ok(bytes)
    }

    /// The type of the items of a list and their number, which is at most that of the bytes left.
    pub fn list(&mut self) -> Result<(u8, usize), Wrong> {
        let byte = self.byte()?;
        let length = match byte >> 4 {
            15 => usize::try_from(self.varint()?).map_err(|_| Wrong::Ended)?,
            length => usize::from(length),
        };
        // Every item takes a byte or more.
        if length > self.rest.len() {
            return Err(Wrong::Ended);
        }
        Ok((byte & 0xf, length))
    }

    /// Skips a value of a field.
    pub fn skip(&mut self, kind: u8) -> Result<(), Wrong> {
        match kind {
            // The type of the field is the value.
            TRUE | FALSE => Ok(()),
            kind => self.skip_item(kind, DEEPEST),
        }
    }

    fn skip_item(&mut self, kind: u8, deepest: u32) -> Result<(), Wrong> {
        let deepest = deepest.checked_sub(1).ok_or(Wrong::Invalid("it is nested too deeply"))?;
        match kind {
            TRUE | FALSE | I8 => self.advance(1),
            I16 | I32 | I64 => self.varint().map(drop),
            DOUBLE => self.advance(8),
            UUID => self.advance(16),
            BINARY => self.binary().map(drop),
            LIST | SET => {
                let (kind, length) = self.list()?;
                (0..length).try_for_each(|_| self.skip_item(kind, deepest))
            }
            MAP => self.skip_map(deepest),
            STRUCT => {
                let mut last = 0;
                while let Some((_, kind)) = self.field(&mut last)? {
                    if kind != TRUE && kind != FALSE {
                        self.skip_item(kind, deepest)?;
                    }
                }
                Ok(())
            }
            _ => Err(Wrong::Invalid("a field has an unknown type")),
        }
    }

    fn skip_map(&mut self, deepest: u32) -> Result<(), Wrong> {
        let length = self.varint()?;
        if length == 0 {
            return Ok(());
        }
        let kinds = self.byte()?;
        for _ in 0..length {
            self.skip_item(kinds >> 4, deepest)?;
            self.skip_item(kinds & 0xf, deepest)?;
        }
        Ok(())
    }

    fn advance(&mut self, bytes: usize) -> Result<(), Wrong> {
        self.rest = self.rest.get(bytes..).ok_or(Wrong::Ended)?;
        Ok(())
    }

    fn byte(&mut self) -> Result<u8, Wrong> {
        let (&byte, rest) = self.rest.split_first().ok_or(Wrong::Ended)?;
        self.rest = rest;
        Ok(byte)
    }

    fn zigzag(&mut self) -> Result<i64, Wrong> {
        let value = self.varint()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    fn varint(&mut self) -> Result<u64, Wrong> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Wrong::Invalid("a number exceeds 64 bits"))
    }
}

/// Writes a struct field by field, in the order of their numbers, until [`close`](Self::close).
#[derive(Default)]
pub struct Encoder {
    pub bytes: Vec<u8>,
    /// The number of the last field of this struct, and of the enclosing ones.
    last: u8,
    around: Vec<u8>,
}

impl Encoder {
    /// The rest of a struct whose fields up to `last` are written elsewhere.
    pub fn after(last: u8) -> Encoder {
        Encoder { last, ..Encoder::default() }
    }

    fn field(&mut self, number: u8, kind: u8) {
        debug_assert!(number > self.last && number - self.last < 16);
        self.bytes.push((number - self.last) << 4 | kind);
        self.last = number;
    }

    pub fn bool(&mut self, number: u8, value: bool) {
        self.field(number, if value { TRUE } else { FALSE });
    }

    pub fn i8(&mut self, number: u8, value: u8) {
        self.field(number, I8);
        self.bytes.push(value);
    }

    pub fn i32(&mut self, number: u8, value: i32) {
        self.field(number, I32);
        self.zigzag(value.into());
    }

    pub fn i64(&mut self, number: u8, value: u64) {
        self.field(number, I64);
        self.zigzag(value as i64);
    }

    pub fn text(&mut self, number: u8, text: &str) {
        self.field(number, BINARY);
        self.text_item(text);
    }

    pub fn open(&mut self, number: u8) {
        self.field(number, STRUCT);
        self.open_item();
    }

    pub fn close(&mut self) {
        self.bytes.push(STOP);
        self.last = self.around.pop().unwrap_or(0);
    }

    pub fn structs(&mut self, number: u8, length: usize) {
        self.list(number, STRUCT, length);
    }

    pub fn i32s(&mut self, number: u8, items: &[i32]) {
        self.list(number, I32, items.len());
        items.iter().for_each(|&item| self.zigzag(item.into()));
    }

    pub fn texts(&mut self, number: u8, items: &[&str]) {
        self.list(number, BINARY, items.len());
        items.iter().for_each(|item| self.text_item(item));
    }

    /// Begins an item of a list of structs.
    pub fn open_item(&mut self) {
        self.around.push(self.last);
        self.last = 0;
    }

    fn text_item(&mut self, text: &str) {
        write_varint(&mut self.bytes, text.len() as u64);
        self.bytes.extend(text.as_bytes());
    }

    fn list(&mut self, number: u8, kind: u8, length: usize) {
        self.field(number, LIST);
        match length {
            0..15 => self.bytes.push((length as u8) << 4 | kind),
            _ => {
                self.bytes.push(0xf0 | kind);
                write_varint(&mut self.bytes, length as u64);
            }
        }
    }

    fn zigzag(&mut self, value: i64) {
        write_varint(&mut self.bytes, (value << 1 ^ value >> 63) as u64);
    }
}

/// Seven bits per byte, the lowest first; the last byte is below 128.
pub fn write_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for value in [0, 1, -1, 63, -64, 64, 1 << 20, i32::MAX, i32::MIN] {
            let long = u64::from(value.unsigned_abs()) << 31;
            let mut encoder = Encoder::default();
            encoder.i32(1, value);
            encoder.i64(12, long);
            encoder.close();
            let mut decoder = Decoder::new(&encoder.bytes);
            let mut last = 0;
            assert_eq!(decoder.field(&mut last), Ok(Some((1, I32))));
            assert_eq!(decoder.i32(), Ok(value));
            assert_eq!(decoder.field(&mut last), Ok(Some((12, I64))));
            assert_eq!(decoder.i64(), Ok(long as i64));
            assert_eq!(decoder.field(&mut last), Ok(None));
            assert!(decoder.rest.is_empty());
        }
    }

    /// The example of the protocol's specification: 50399 in three bytes.
    #[test]
    fn bytes_are_those_of_the_specification() {
        let mut bytes = Vec::new();
        write_varint(&mut bytes, 50399);
        assert_eq!(bytes, [0xDF, 0x89, 0x03]);
        let mut encoder = Encoder::default();
        encoder.texts(3, &["ab"; 15]);
        assert_eq!(encoder.bytes[..5], [0x39, 0xf8, 15, 2, b'a']);
    }

    #[test]
    fn deep_and_endless_structs_are_refused() {
        let deep = [0x1c; 100_000];
        assert!(Decoder::new(&deep).skip(STRUCT).is_err());
        let lists = [0x19; 100_000];
        assert!(Decoder::new(&lists).skip(LIST).is_err());
        // A list of 2^60 items in ten bytes, and a map of as many.
        let long = [0xf5, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10];
        assert_eq!(Decoder::new(&long).list(), Err(Wrong::Ended));
        assert_eq!(Decoder::new(&long[1..]).skip(MAP), Err(Wrong::Ended));
    }
}
