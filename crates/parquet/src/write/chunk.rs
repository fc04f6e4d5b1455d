//! One column of a group: a dictionary, if the column has one, and pages.

use super::dictionary::Dictionary;
use super::{Field, Kind, Output, pages_of_group};
use crate::compression::{self, Codec};
use crate::encodings::{packed_flags, write_packed};
use crate::page_header::{PLAIN, PageHeader, PageKind, RLE, RLE_DICTIONARY};
use crate::thrift::write_varint;
use crate::values::{ColumnValues, Values};
use std::io;
use std::ops::Range;

/// The location of one column of a group.
#[derive(Clone, Copy, Debug, Default)]
pub struct Chunk {
    pub offset: u64,
    /// The bytes of the dictionary, which comes first.
    pub dictionary_bytes: u64,
    pub rows: usize,
    pub bytes: u64,
    pub unpacked_bytes: u64,
}

/// Writes one column of a group.
pub fn write(
    out: &mut Output<'_>,
    field: &Field,
    codec: Codec,
    rows: usize,
    values: &mut dyn FnMut(Range<usize>) -> ColumnValues,
) -> io::Result<Chunk> {
    let mut chunk = Chunk { offset: out.written, rows, ..Chunk::default() };
    if field.dictionary {
        write_with_dictionary(out, field, codec, &mut chunk, values)?;
    } else {
        for rows in pages_of_group(rows) {
            let values = checked(field, &rows, values(rows.clone()))?;
            let mut bytes = presence(field, &values);
            plain(&values, &mut bytes);
            chunk.unpacked_bytes += write_page(out, codec, PageKind::Data, PLAIN, rows.len(), &bytes)?;
        }
    }
    chunk.bytes = out.written - chunk.offset;
    Ok(chunk)
}

/// Collects the dictionary of the whole group, which precedes its pages, then writes the ids of its entries.
fn write_with_dictionary(
    out: &mut Output<'_>,
    field: &Field,
    codec: Codec,
    chunk: &mut Chunk,
    values: &mut dyn FnMut(Range<usize>) -> ColumnValues,
) -> io::Result<()> {
    let mut dictionary = Dictionary::new(field.kind)?;
    let mut pages = Vec::new();
    let mut ids = Vec::with_capacity(chunk.rows);
    for rows in pages_of_group(chunk.rows) {
        let values = checked(field, &rows, values(rows.clone()))?;
        let first = ids.len();
        dictionary.add(&values, &mut ids)?;
        pages.push((rows, presence(field, &values), first..ids.len()));
    }
    let entries = dictionary.entries();
    let mut bytes = Vec::new();
    plain(&entries, &mut bytes);
    chunk.unpacked_bytes += write_page(out, codec, PageKind::Dictionary, PLAIN, entries.len(), &bytes)?;
    chunk.dictionary_bytes = out.written - chunk.offset;
    let width = usize::BITS - entries.len().saturating_sub(1).leading_zeros();
    for (rows, mut bytes, ids_of_page) in pages {
        bytes.push(width as u8);
        write_packed(&mut bytes, &ids[ids_of_page], width);
        chunk.unpacked_bytes += write_page(out, codec, PageKind::Data, RLE_DICTIONARY, rows.len(), &bytes)?;
    }
    Ok(())
}

/// The values, if they are those of the column and of as many rows.
fn checked(field: &Field, rows: &Range<usize>, values: ColumnValues) -> io::Result<ColumnValues> {
    let is_right_type = matches!(
        (field.kind, &values.values),
        (Kind::Text, Values::Bytes(_))
            | (Kind::Bool, Values::Bool(_))
            | (Kind::I32 | Kind::U32, Values::I32(_))
            | (Kind::I64 | Kind::U64, Values::I64(_))
            | (Kind::F64, Values::F64(_))
    );
    let is_right_length = values.len() == rows.len() && [0, rows.len()].contains(&values.present.len());
    let has_all = field.nullable || values.first_missing().is_none();
    match is_right_type && is_right_length && has_all {
        true => Ok(values),
        false => Err(io::Error::other(format!("column {} does not have such values", field.name))),
    }
}

/// Definition levels, preceded by their length: runs of rows with or without a value. Nothing if none can be missing.
fn presence(field: &Field, values: &ColumnValues) -> Vec<u8> {
    if !field.nullable {
        return Vec::new();
    }
    let mut bytes = vec![0; 4];
    let mut add = |count: usize, is_present: bool| {
        write_varint(&mut bytes, (count as u64) << 1);
        bytes.push(u8::from(is_present));
    };
    match values.present.is_empty() {
        true => add(values.len(), true),
        false => values.present.chunk_by(|one, two| one == two).for_each(|run| add(run.len(), run[0])),
    }
    let length = bytes.len() as u32 - 4;
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    bytes
}

/// The rows that have a value.
pub fn present_rows(values: &ColumnValues) -> impl Iterator<Item = usize> {
    (0..values.len()).filter(|&row| values.is_present(row))
}

/// Appends the values that are there, one after the other.
fn plain(values: &ColumnValues, out: &mut Vec<u8>) {
    let rows = present_rows(values);
    match &values.values {
        Values::Bool(flags) => out.extend(packed_flags(rows.map(|row| flags[row]))),
        Values::I32(numbers) => rows.for_each(|row| out.extend(numbers[row].to_le_bytes())),
        Values::I64(numbers) => rows.for_each(|row| out.extend(numbers[row].to_le_bytes())),
        Values::F32(numbers) => rows.for_each(|row| out.extend(numbers[row].to_le_bytes())),
        Values::F64(numbers) => rows.for_each(|row| out.extend(numbers[row].to_le_bytes())),
        Values::Bytes(strings) => rows.for_each(|row| {
            let string = strings.get(row);
            out.extend((string.len() as u32).to_le_bytes());
            out.extend(string);
        }),
    }
}

/// Writes a page and returns its uncompressed length, including the header.
fn write_page(
    out: &mut Output<'_>,
    codec: Codec,
    kind: PageKind,
    encoding: i32,
    values: usize,
    bytes: &[u8],
) -> io::Result<u64> {
    let page = compression::pack(codec, bytes)?;
    let too_long = |length: usize| i32::try_from(length).is_err();
    if too_long(page.len()) || too_long(bytes.len()) || too_long(values) {
        return Err(io::Error::other("strings are too long for a Parquet page"));
    }
    let header = PageHeader {
        kind,
        unpacked_bytes: bytes.len(),
        bytes: page.len(),
        checksum: Some(crc32fast::hash(&page)),
        values,
        encoding,
        level_encoding: RLE,
    };
    let header = header.encode();
    out.add(&header)?;
    out.add(&page)?;
    Ok((header.len() + bytes.len()) as u64)
}
