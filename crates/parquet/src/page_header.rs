//! The header of a page. Field numbers and values are those of `parquet.thrift`.

use crate::thrift::{self, Decoder, Encoder, Wrong};

pub const PLAIN: i32 = 0;
pub const PLAIN_DICTIONARY: i32 = 2;
pub const RLE: i32 = 3;
pub const BIT_PACKED: i32 = 4;
pub const DELTA_BINARY_PACKED: i32 = 5;
pub const DELTA_LENGTH_BYTE_ARRAY: i32 = 6;
pub const DELTA_BYTE_ARRAY: i32 = 7;
pub const RLE_DICTIONARY: i32 = 8;
pub const BYTE_STREAM_SPLIT: i32 = 9;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PageKind {
    Data,
    Dictionary,
    /// A data page whose levels are not compressed.
    Data2 {
        level_bytes: usize,
        repetition_bytes: usize,
        is_compressed: bool,
    },
    /// An index, or a kind that is not known: it holds no values.
    Other,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageHeader {
    pub kind: PageKind,
    pub unpacked_bytes: usize,
    pub bytes: usize,
    /// CRC-32 of the bytes in the file.
    pub checksum: Option<u32>,
    pub values: usize,
    pub encoding: i32,
    pub level_encoding: i32,
}

impl PageHeader {
    /// Decodes the header at the start of the input.
    pub fn decode(input: &mut Decoder<'_>) -> Result<PageHeader, Wrong> {
        let (mut kind, mut unpacked_bytes, mut bytes, mut checksum) = (-1, -1, -1, None);
        let (mut part, mut last) = (None, 0);
        while let Some((number, field)) = input.field(&mut last)? {
            match (number, field) {
                (1, thrift::I32) => kind = input.i32()?,
                (2, thrift::I32) => unpacked_bytes = input.i32()?,
                (3, thrift::I32) => bytes = input.i32()?,
                (4, thrift::I32) => checksum = Some(input.i32()? as u32),
                (5, thrift::STRUCT) => part = Some((0, Part::decode(input, &[1, 2, 3])?)),
                (7, thrift::STRUCT) => part = Some((2, Part::decode(input, &[1, 2])?)),
                (8, thrift::STRUCT) => part = Some((3, Part::decode(input, &[1, 4, 3, 5, 6])?)),
                _ => input.skip(field)?,
            }
        }
        let size = |size: i32| usize::try_from(size).map_err(|_| Wrong::Invalid("a size is negative"));
        let mut header = PageHeader {
            kind: PageKind::Other,
            unpacked_bytes: size(unpacked_bytes)?,
            bytes: size(bytes)?,
            checksum,
            values: 0,
            encoding: PLAIN,
            level_encoding: RLE,
        };
        if !matches!(kind, 0 | 2 | 3) {
            return Ok(header);
        }
        let (_, part) =
            part.filter(|(of, _)| *of == kind).ok_or(Wrong::Invalid("its header is incomplete"))?;
        header.values = size(part.numbers[0])?;
        header.encoding = part.numbers[1];
        header.kind = match kind {
            0 => {
                header.level_encoding = part.numbers[2];
                PageKind::Data
            }
            2 => PageKind::Dictionary,
            _ => PageKind::Data2 {
                level_bytes: size(part.numbers[3])?,
                repetition_bytes: size(part.numbers[4])?,
                is_compressed: part.is_compressed,
            },
        };
        Ok(header)
    }

    /// Encodes the header of a data page or a dictionary.
    pub fn encode(&self) -> Vec<u8> {
        let is_dictionary = self.kind == PageKind::Dictionary;
        let mut out = Encoder::default();
        out.i32(1, if is_dictionary { 2 } else { 0 });
        out.i32(2, self.unpacked_bytes as i32);
        out.i32(3, self.bytes as i32);
        if let Some(checksum) = self.checksum {
            out.i32(4, checksum as i32);
        }
        out.open(if is_dictionary { 7 } else { 5 });
        out.i32(1, self.values as i32);
        out.i32(2, self.encoding);
        if !is_dictionary {
            out.i32(3, self.level_encoding);
            out.i32(4, RLE);
        }
        out.close();
        out.close();
        out.bytes
    }
}

/// The numbers of the part of a header that only one kind of page has.
struct Part {
    numbers: [i32; 5],
    is_compressed: bool,
}

impl Part {
    /// Decodes the fields that `wanted` lists, in its order. A number that is not there is -1.
    fn decode(input: &mut Decoder<'_>, wanted: &[i16]) -> Result<Part, Wrong> {
        let mut part = Part { numbers: [-1; 5], is_compressed: true };
        let mut last = 0;
        while let Some((number, kind)) = input.field(&mut last)? {
            match (wanted.iter().position(|&wanted| wanted == number), kind) {
                (Some(place), thrift::I32) => part.numbers[place] = input.i32()?,
                (_, thrift::FALSE) if number == 7 => part.is_compressed = false,
                _ => input.skip(kind)?,
            }
        }
        Ok(part)
    }
}
