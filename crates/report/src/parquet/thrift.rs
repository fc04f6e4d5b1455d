//! Thrift's compact protocol, as far as Parquet's metadata needs it.

const STOP: u8 = 0;
const TRUE: u8 = 1;
const FALSE: u8 = 2;
const I8: u8 = 3;
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// Writes a struct field by field, in the order of their numbers, until [`close`](Self::close).
#[derive(Default)]
pub struct Writer {
    pub bytes: Vec<u8>,
    /// The number of the last field of this struct, and of the enclosing ones.
    last: u8,
    around: Vec<u8>,
}

impl Writer {
    /// The rest of a struct whose fields up to `last` are written elsewhere.
    pub fn after(last: u8) -> Writer {
        Writer { last, ..Writer::default() }
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
        self.varint(text.len() as u64);
        self.bytes.extend(text.as_bytes());
    }

    fn list(&mut self, number: u8, kind: u8, length: usize) {
        self.field(number, LIST);
        match length {
            0..15 => self.bytes.push((length as u8) << 4 | kind),
            _ => {
                self.bytes.push(0xf0 | kind);
                self.varint(length as u64);
            }
        }
    }

    fn zigzag(&mut self, value: i64) {
        self.varint((value << 1 ^ value >> 63) as u64);
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }
}

/// Reads fields that must follow each other; returns `None` for anything else.
pub struct Cursor<'a>(pub &'a [u8]);

impl Cursor<'_> {
    /// Reads a field whose number is one more than that of the field before it.
    pub fn i32(&mut self) -> Option<i32> {
        self.expect(&[1 << 4 | I32])?;
        i32::try_from(self.zigzag()?).ok()
    }

    pub fn i64(&mut self) -> Option<u64> {
        self.expect(&[1 << 4 | I64])?;
        u64::try_from(self.zigzag()?).ok()
    }

    pub fn open(&mut self) -> Option<()> {
        self.expect(&[1 << 4 | STRUCT])
    }

    pub fn close(&mut self) -> Option<()> {
        self.expect(&[STOP])
    }

    pub fn expect(&mut self, bytes: &[u8]) -> Option<()> {
        self.0 = self.0.strip_prefix(bytes)?;
        Some(())
    }

    fn zigzag(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    pub fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for value in [0, 1, -1, 63, -64, 64, 1 << 20, i32::MAX, i32::MIN] {
            let mut writer = Writer::default();
            writer.i32(1, value);
            writer.i64(2, u64::from(value.unsigned_abs()) << 31);
            writer.close();
            let mut cursor = Cursor(&writer.bytes);
            assert_eq!(cursor.i32(), Some(value));
            assert_eq!(cursor.i64(), Some(u64::from(value.unsigned_abs()) << 31));
            assert_eq!(cursor.close(), Some(()));
            assert!(cursor.0.is_empty());
        }
    }

    /// The example of the protocol's specification: zigzag of 50399 in three bytes.
    #[test]
    fn bytes_are_those_of_the_specification() {
        let mut writer = Writer::default();
        writer.varint(50399);
        assert_eq!(writer.bytes, [0xDF, 0x89, 0x03]);
        let mut writer = Writer::default();
        writer.texts(3, &["ab"; 15]);
        assert_eq!(writer.bytes[..5], [0x39, 0xf8, 15, 2, b'a']);
    }
}
