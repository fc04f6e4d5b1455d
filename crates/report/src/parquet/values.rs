//! The values of a page, and their bytes.

use super::Kind;
use super::thrift::Cursor;

/// Some rows of one column.
#[derive(Clone, PartialEq, Debug)]
pub enum Values {
    Text(Texts),
    Bool(Vec<bool>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    OptionalU64(Vec<Option<u64>>),
    F64(Vec<f64>),
}

impl Values {
    /// Encodes the values as PLAIN, preceded by definition levels if values may be missing.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Values::Text(texts) => texts.encode(),
            Values::Bool(flags) => flags.chunks(8).map(packed).collect(),
            Values::U32(numbers) => numbers.iter().flat_map(|number| number.to_le_bytes()).collect(),
            Values::U64(numbers) => numbers.iter().flat_map(|number| number.to_le_bytes()).collect(),
            Values::F64(numbers) => numbers.iter().flat_map(|number| number.to_le_bytes()).collect(),
            Values::OptionalU64(numbers) => {
                let mut bytes = encode_presence(numbers);
                bytes.extend(numbers.iter().flatten().flat_map(|number| number.to_le_bytes()));
                bytes
            }
        }
    }

    /// Decodes exactly `rows` values; `None` if the bytes do not match.
    pub fn decode(kind: Kind, rows: usize, bytes: &[u8]) -> Option<Values> {
        Some(match kind {
            Kind::Text => Values::Text(Texts::decode(rows, bytes)?),
            Kind::Bool => Values::Bool(decode_flags(rows, bytes)?),
            Kind::U32 => Values::U32(decode_fixed(rows, bytes, u32::from_le_bytes)?),
            Kind::U64 => Values::U64(decode_fixed(rows, bytes, u64::from_le_bytes)?),
            Kind::F64 => Values::F64(decode_fixed(rows, bytes, f64::from_le_bytes)?),
            Kind::OptionalU64 => Values::OptionalU64(decode_optional(rows, bytes)?),
        })
    }
}

/// Up to eight flags, the first in the lowest bit.
fn packed(flags: &[bool]) -> u8 {
    flags.iter().rev().fold(0, |bits, &flag| bits << 1 | u8::from(flag))
}

fn decode_flags(rows: usize, bytes: &[u8]) -> Option<Vec<bool>> {
    (bytes.len() == rows.div_ceil(8))
        .then(|| (0..rows).map(|row| bytes[row / 8] >> (row % 8) & 1 == 1).collect())
}

fn decode_fixed<T, const N: usize>(rows: usize, bytes: &[u8], of: fn([u8; N]) -> T) -> Option<Vec<T>> {
    let (items, rest) = bytes.as_chunks::<N>();
    (items.len() == rows && rest.is_empty()).then(|| items.iter().map(|&item| of(item)).collect())
}

/// Definition levels, preceded by their length: runs of rows with or without a value.
fn encode_presence(numbers: &[Option<u64>]) -> Vec<u8> {
    let mut bytes = vec![0; 4];
    for run in numbers.chunk_by(|one, two| one.is_some() == two.is_some()) {
        let mut count = (run.len() as u64) << 1;
        while count >= 0x80 {
            bytes.push(count as u8 | 0x80);
            count >>= 7;
        }
        bytes.push(count as u8);
        bytes.push(u8::from(run[0].is_some()));
    }
    let length = bytes.len() as u32 - 4;
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    bytes
}

fn decode_optional(rows: usize, bytes: &[u8]) -> Option<Vec<Option<u64>>> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let (runs, numbers) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    let (numbers, left_over) = numbers.as_chunks::<8>();
    let mut numbers = numbers.iter().map(|&number| u64::from_le_bytes(number));
    let mut decoded = Vec::with_capacity(rows);
    let mut cursor = Cursor(runs);
    while !cursor.0.is_empty() {
        let count = cursor.varint()? >> 1;
        let (&present, rest) = cursor.0.split_first()?;
        cursor.0 = rest;
        if count > (rows - decoded.len()) as u64 {
            return None;
        }
        for _ in 0..count {
            decoded.push(if present == 1 { Some(numbers.next()?) } else { None });
        }
    }
    (decoded.len() == rows && numbers.next().is_none() && left_over.is_empty()).then_some(decoded)
}

/// Texts, stored one after the other.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Texts {
    all: String,
    ends: Vec<usize>,
}

impl Texts {
    /// The text of a row.
    pub fn get(&self, row: usize) -> &str {
        let begin = row.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.all[begin..self.ends[row]]
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.all.len() + 4 * self.ends.len());
        for row in 0..self.ends.len() {
            let text = self.get(row);
            bytes.extend((text.len() as u32).to_le_bytes());
            bytes.extend(text.as_bytes());
        }
        bytes
    }

    fn decode(rows: usize, mut bytes: &[u8]) -> Option<Texts> {
        let mut texts = Texts::default();
        for _ in 0..rows {
            let (length, rest) = bytes.split_first_chunk::<4>()?;
            let (text, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
            texts.extend([std::str::from_utf8(text).ok()?]);
            bytes = rest;
        }
        bytes.is_empty().then_some(texts)
    }
}

impl<T: AsRef<str>> Extend<T> for Texts {
    fn extend<I: IntoIterator<Item = T>>(&mut self, texts: I) {
        for text in texts {
            self.all.push_str(text.as_ref());
            self.ends.push(self.all.len());
        }
    }
}

impl<T: AsRef<str>> FromIterator<T> for Texts {
    fn from_iter<I: IntoIterator<Item = T>>(texts: I) -> Texts {
        let mut all = Texts::default();
        all.extend(texts);
        all
    }
}
