//! How the values of a page are encoded. A decoder is asked for some values at a time, so that a few bytes that stand
//! for millions of values cost no memory. It keeps its place in the page, not the page.

mod bits;
mod delta;
mod delta_strings;
mod hybrid;
mod plain;
mod stream_split;

pub use bits::packed_flags;
pub use hybrid::{Hybrid, write_packed};

use crate::error::Fault;
use crate::page_header as page;
use crate::schema::Physical;
use crate::values::Values;
use delta::Delta;
use delta_strings::{DeltaLengths, DeltaStrings};
use plain::Plain;
use stream_split::StreamSplit;

/// Decodes the values of one page.
#[derive(Debug)]
pub enum Decoder {
    Plain(Plain),
    Dictionary(Hybrid),
    Flags(Hybrid),
    Delta(Delta),
    DeltaLengths(DeltaLengths),
    DeltaStrings(DeltaStrings),
    StreamSplit(StreamSplit),
}

impl Decoder {
    /// A decoder for the bytes of a page from `at` on; `None` if the encoding is not known for this type. The page has at
    /// most `values` values.
    pub fn new(
        encoding: i32,
        physical: Physical,
        bytes: &[u8],
        at: usize,
        values: usize,
    ) -> Result<Option<Decoder>, Fault> {
        Ok(Some(match (encoding, physical) {
            (page::PLAIN, _) => Decoder::Plain(Plain::new(at)),
            // Of a page without values, not even the width of its ids may be there.
            (page::PLAIN_DICTIONARY | page::RLE_DICTIONARY, _) => Decoder::Dictionary(match bytes.get(at) {
                Some(&width) => Hybrid::new(width, at + 1, bytes.len())?,
                None => Hybrid::new(0, bytes.len(), bytes.len())?,
            }),
            (page::RLE, Physical::Bool) => Decoder::Flags(Hybrid::with_length(1, bytes, at)?.0),
            (page::DELTA_BINARY_PACKED, Physical::I32 | Physical::I64) => {
                Decoder::Delta(Delta::new(bytes, at, values)?)
            }
            (page::DELTA_LENGTH_BYTE_ARRAY, Physical::Bytes) => {
                Decoder::DeltaLengths(DeltaLengths::new(bytes, at, values)?)
            }
            (page::DELTA_BYTE_ARRAY, Physical::Bytes | Physical::Fixed(_)) => {
                Decoder::DeltaStrings(DeltaStrings::new(bytes, at, values)?)
            }
            (
                page::BYTE_STREAM_SPLIT,
                Physical::I32 | Physical::I64 | Physical::F32 | Physical::F64 | Physical::Fixed(_),
            ) => Decoder::StreamSplit(StreamSplit::new(bytes, at, physical)?),
            _ => return Ok(None),
        }))
    }

    /// Appends the next `count` values.
    pub fn read(
        &mut self,
        bytes: &[u8],
        count: usize,
        physical: Physical,
        dictionary: Option<&Values>,
        scratch: &mut Vec<u32>,
        out: &mut Values,
    ) -> Result<(), Fault> {
        match self {
            Decoder::Plain(plain) => plain.read(bytes, count, physical, out),
            Decoder::Dictionary(ids) => {
                scratch.resize(count, 0);
                ids.read(bytes, scratch)?;
                look_up(scratch, dictionary, out)
            }
            Decoder::Flags(flags) => {
                scratch.resize(count, 0);
                flags.read(bytes, scratch)?;
                let Values::Bool(out) = out else { return Err(OTHER_TYPE) };
                out.extend(scratch.iter().map(|&flag| flag != 0));
                Ok(())
            }
            Decoder::Delta(delta) => match out {
                Values::I32(out) => delta.read(bytes, count, |value| out.push(value as i32)),
                Values::I64(out) => delta.read(bytes, count, |value| out.push(value)),
                _ => Err(OTHER_TYPE),
            },
            Decoder::DeltaLengths(lengths) => match out {
                Values::Bytes(out) => lengths.read(bytes, count, out),
                _ => Err(OTHER_TYPE),
            },
            Decoder::DeltaStrings(strings) => match out {
                Values::Bytes(out) => strings.read(bytes, count, out),
                _ => Err(OTHER_TYPE),
            },
            Decoder::StreamSplit(streams) => streams.read(bytes, count, out),
        }
    }
}

const OTHER_TYPE: Fault = Fault::Borrowed("its values have another type than the column");
const ENDS_EARLY: Fault = Fault::Borrowed("it ends before its last value");

/// Appends the values with these ids. The dictionary of strings is in the pool of `out` already.
fn look_up(ids: &[u32], dictionary: Option<&Values>, out: &mut Values) -> Result<(), Fault> {
    let largest = ids.iter().fold(0, |largest, &id| largest.max(id)) as usize;
    let length = match (dictionary, &*out) {
        (_, Values::Bytes(strings)) => strings.dictionary,
        (Some(dictionary), _) => dictionary.len(),
        (None, _) => 0,
    };
    if !ids.is_empty() && largest >= length {
        return Err(match length {
            0 => "it needs a dictionary, which is missing".into(),
            _ => Fault::Owned(format!("it uses entry {largest} of a dictionary of {length} entries")),
        });
    }
    match (dictionary, out) {
        (_, Values::Bytes(out)) => out.ids.extend_from_slice(ids),
        (Some(Values::I32(from)), Values::I32(out)) => out.extend(ids.iter().map(|&id| from[id as usize])),
        (Some(Values::I64(from)), Values::I64(out)) => out.extend(ids.iter().map(|&id| from[id as usize])),
        (Some(Values::F32(from)), Values::F32(out)) => out.extend(ids.iter().map(|&id| from[id as usize])),
        (Some(Values::F64(from)), Values::F64(out)) => out.extend(ids.iter().map(|&id| from[id as usize])),
        (Some(Values::Bool(from)), Values::Bool(out)) => out.extend(ids.iter().map(|&id| from[id as usize])),
        (None, _) if ids.is_empty() => {}
        _ => return Err(OTHER_TYPE),
    }
    Ok(())
}

/// The number at `at`, in bytes of seven bits; and where it ends.
fn varint(bytes: &[u8], mut at: usize) -> Result<(u64, usize), Fault> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let &byte = bytes.get(at).ok_or(ENDS_EARLY)?;
        at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok((value, at));
        }
    }
    Err("a number in it exceeds 64 bits".into())
}
